//! Exact totals of bounded contributions, in one pass over the rows.
//!
//! What it is: rows in, for each group the exact value of each statistic out, with every unit's part bounded. What it never does: release anything, sum in
//! floating point, or let a value of a row become an error.
//!
//! ```text
//! rows of a partition ─ identity ─ interner ─┬─ each row a unit:  counters by group
//!                                            └─ a column of units: kept groups ─ counters by unit and group
//! partitions ─ merge ─ totals by group ─ groups in the order of the answer
//! ```
//!
//! **Rules for rows.** A row whose unit is NULL is left out. A NULL value is not part of statistics about it, and NaN is NULL; infinities and numbers outside are
//! clamped to the ends of the public grid. A NULL key is a group of its own, -0.0 and 0.0 are one key, and so are all NaN.
//!
//! **Nothing depends on the order of rows, batches, partitions or threads**: the same rows and the same key give the same totals. Sums are sums of integers, kept
//! groups and samples are the lowest in an order that the key and the values define, and groups that were found are sorted.

mod bounded;
mod counters;
mod each_row;
mod groups;
mod identity;
mod interner;
mod kept_groups;
mod layout;
#[cfg(test)]
mod model;
mod sample;
mod secret_key;
mod steps;
#[cfg(test)]
mod tests;

pub use groups::GroupKeys;
pub use layout::{Layout, Measure};
pub use secret_key::SecretKey;

use crate::QueryError;
use bounded::Bounded;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use each_row::EachRow;
use futures::StreamExt;
use groups::Groups;
use identity::Identity;
use layout::Tracks;
use reticent_release::{Exact, Totals};
use std::sync::Arc;
use tokio::task::JoinSet;

/// The keys of the groups and the exact totals of each, with every unit's part bounded.
///
/// Partitions run in parallel, each with a state of its own; `progress` is told the number of rows of each batch when it has been added.
///
/// # Errors
/// For a layout that does not fit the rows, if rows cannot be read, and for more than `2^32 - 1` units or groups. No error depends on a value.
pub async fn exact_totals(
    input: Arc<dyn ExecutionPlan>,
    layout: &Layout,
    groups: GroupKeys,
    context: Arc<TaskContext>,
    key: SecretKey,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<(RecordBatch, Exact), QueryError> {
    let schema = input.schema();
    let tracks = Arc::new(Tracks::new(layout, &schema)?);
    let groups = Groups::new(&layout.keys, groups, &schema, key)?;
    let unit = match layout.unit {
        None => None,
        Some(column) => Some(Arc::new(Identity::new(std::iter::once(schema.field(column)))?)),
    };
    let start = |groups| match &unit {
        None => State::EachRow(Box::new(EachRow::new(tracks.clone(), groups, key))),
        Some(unit) => {
            State::Bounded(Box::new(Bounded::new(tracks.clone(), unit.clone(), groups, layout.max_groups, key)))
        }
    };
    let progress = Arc::new(progress);
    let mut parts = JoinSet::new();
    for partition in 0..input.output_partitioning().partition_count() {
        let mut rows = input.execute(partition, context.clone()).map_err(read_error)?;
        let mut state = start(groups.another(key)?);
        let (unit, keys, progress) = (layout.unit, layout.keys.clone(), progress.clone());
        parts.spawn(async move {
            while let Some(batch) = rows.next().await {
                let batch = batch.map_err(read_error)?;
                state.absorb(&batch, unit, &keys)?;
                progress(batch.num_rows() as u64);
            }
            Ok::<State, QueryError>(state)
        });
    }
    let mut whole: Option<State> = None;
    while let Some(part) = parts.join_next().await {
        let part = part.map_err(|_| QueryError::Fault { place: "a task that reads rows" })??;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.merge(part)?,
        }
    }
    whole.unwrap_or_else(|| start(groups)).finish()
}

/// The totals of a part of the rows.
#[derive(Debug)]
enum State {
    EachRow(Box<EachRow>),
    Bounded(Box<Bounded>),
}

impl State {
    fn absorb(&mut self, batch: &RecordBatch, unit: Option<usize>, keys: &[usize]) -> Result<(), QueryError> {
        let keys: Vec<ArrayRef> = keys.iter().map(|&column| batch.column(column).clone()).collect();
        match (self, unit) {
            (State::EachRow(rows), None) => rows.absorb(batch, &keys),
            (State::Bounded(units), Some(unit)) => units.absorb(batch, batch.column(unit), &keys),
            _ => Err(MIXED),
        }
    }

    fn merge(&mut self, other: Self) -> Result<(), QueryError> {
        match (self, other) {
            (State::EachRow(one), State::EachRow(other)) => one.merge(*other),
            (State::Bounded(one), State::Bounded(other)) => one.merge(*other),
            _ => Err(MIXED),
        }
    }

    fn finish(self) -> Result<(RecordBatch, Exact), QueryError> {
        let (groups, units, mut totals) = match self {
            State::EachRow(rows) => rows.finish(),
            State::Bounded(units) => units.finish(),
        };
        let (keys, order) = groups.answer(&units)?;
        for totals in &mut totals {
            match totals {
                Totals::Integers(all) => *all = order.iter().map(|&group| all[group as usize]).collect(),
                Totals::Values(all) => {
                    *all = order.iter().map(|&group| std::mem::take(&mut all[group as usize])).collect()
                }
            }
        }
        let units = order.iter().map(|&group| units[group as usize]).collect();
        Ok((keys, Exact { units, totals }))
    }
}

const MIXED: QueryError = QueryError::Fault { place: "the totals of a partition" };

/// What went wrong below, without its words: they can quote a value.
fn read_error(error: DataFusionError) -> QueryError {
    let kind = match error.find_root() {
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => "a file could not be read",
        DataFusionError::ParquetError(_) => "a Parquet file is damaged or of an unknown kind",
        DataFusionError::ArrowError(..) => "a file does not have the declared columns, or is damaged",
        DataFusionError::ResourcesExhausted(_) => "the memory that the engine may use is exhausted",
        _ => "the engine failed",
    };
    QueryError::Read { kind }
}
