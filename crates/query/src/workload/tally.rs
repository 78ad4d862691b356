//! From the joint cells that occur to the tables of a plan. The one place where a workload meets
//! exact counts: nothing here is shown.

use super::attributes::Read;
use crate::answer::closed;
use crate::error::QueryError;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::row::{RowConverter, SortField};
use reticent_engine::{EngineError, GroupTotals};
use reticent_release::Totals;
use reticent_workloads::{ExactTables, Tally, WorkloadPlan};
use std::collections::HashMap;

const PART: &str = "the tables of a workload";

/// Tallies the totals of the joint cells. A cell with a value that is not public counts nowhere.
pub(super) fn counted(
    read: &Read,
    plan: &WorkloadPlan,
    totals: GroupTotals,
) -> Result<ExactTables, QueryError> {
    let fault = || QueryError::from(EngineError::Fault { part: PART });
    let GroupTotals { keys, exact } = totals;
    let Some(Totals::Integers(counts)) = exact.totals.first() else { return Err(fault()) };
    if keys.num_columns() != read.attributes.len() || keys.num_rows() != counts.len() {
        return Err(fault());
    }
    let mut columns = Vec::with_capacity(read.attributes.len());
    for (attribute, column) in read.attributes.iter().zip(keys.columns()) {
        columns.push(indices(&attribute.values, column)?);
    }
    let mut tally = Tally::new(&read.domain, plan.tables_needed())?;
    let mut row = vec![0; columns.len()];
    for (group, &count) in counts.iter().enumerate() {
        for (value, column) in row.iter_mut().zip(&columns) {
            *value = column[group];
        }
        tally.add_times(&row, u64::try_from(count).unwrap_or(0))?;
    }
    Ok(tally.finish())
}

/// For each value of a column its index among the public ones, or what is beyond every domain.
fn indices(public: &ArrayRef, column: &ArrayRef) -> Result<Vec<u64>, QueryError> {
    let fault = closed(PART);
    let failed = |error: datafusion::arrow::error::ArrowError| fault(error.into());
    let converter =
        RowConverter::new(vec![SortField::new(public.data_type().clone())]).map_err(failed)?;
    let known = converter.convert_columns(std::slice::from_ref(public)).map_err(failed)?;
    let known: HashMap<_, u64> =
        known.iter().zip(0..).map(|(row, index)| (row.owned(), index)).collect();
    let column = cast(column, public.data_type()).map_err(failed)?;
    let found = converter.convert_columns(&[column]).map_err(failed)?;
    Ok(found.iter().map(|row| known.get(&row.owned()).copied().unwrap_or(u64::MAX)).collect())
}
