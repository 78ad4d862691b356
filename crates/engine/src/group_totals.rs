//! The exact totals of all groups, and how those of parts of the units add up.

use crate::EngineError;
use crate::totals::add_values;
use datafusion::arrow::array::{ArrayRef, UInt32Array};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::row::{RowConverter, SortField};
use reticent_release::{Exact, Totals};

/// The keys of the groups of an answer, and the exact totals of each, with every unit's
/// contribution bounded.
///
/// # Parts
/// Below the aggregate no operator mixes units, and a total is a sum over units. So if a table is
/// divided such that all rows of a unit are in one part, the totals of the whole are the sums of
/// those of the parts: exactly, since they are integers, and in any order
/// (docs/proofs/units_apart.md, section 5).
///
/// It holds private numbers: its `Debug` shows none.
#[derive(Clone, PartialEq)]
pub struct GroupTotals {
    /// One row for each group. If the groups are public these are all of them, in the order of the
    /// answer; otherwise those that occur, sorted.
    pub keys: RecordBatch,
    /// The totals, in the order of the keys.
    pub exact: Exact,
}

impl std::fmt::Debug for GroupTotals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "GroupTotals {{ {:?} }}", self.exact)
    }
}

const FAULT: EngineError = EngineError::Fault { part: "the totals of a part of the units" };

const TOO_MUCH: EngineError =
    EngineError::Capacity { of: "rows", limit: "a total has at most 127 bits" };

impl GroupTotals {
    /// The totals of the whole from those of parts in which each unit is whole, in any order. With
    /// public groups every part has all of them; without, a group is in the parts in which it
    /// occurs.
    ///
    /// # Errors
    /// If the parts are not of one query: their keys have other types, or their totals are of other
    /// kinds. If there is none.
    pub fn merged(
        parts: impl IntoIterator<Item = GroupTotals>,
    ) -> Result<GroupTotals, EngineError> {
        let parts: Vec<GroupTotals> = parts.into_iter().collect();
        let Some(first) = parts.first() else { return Err(FAULT) };
        let schema = first.keys.schema();
        if parts.iter().any(|part| part.keys.schema() != schema) {
            return Err(FAULT);
        }
        if parts.iter().all(|part| part.keys == first.keys) {
            // Public groups, which have an order of their own.
            let (keys, groups) = (first.keys.clone(), first.exact.units.len());
            let numbers: Vec<Vec<usize>> = vec![(0..groups).collect(); parts.len()];
            return Ok(GroupTotals { keys, exact: added(parts, groups, &numbers)? });
        }
        let (keys, numbers) = united(&parts)?;
        let exact = added(parts, keys.num_rows(), &numbers)?;
        Ok(GroupTotals { keys, exact })
    }
}

/// The keys that occur, sorted, each once, and for each part where its groups are among them.
fn united(parts: &[GroupTotals]) -> Result<(RecordBatch, Vec<Vec<usize>>), EngineError> {
    let schema = parts[0].keys.schema();
    let fields = schema.fields().iter().map(|field| SortField::new(field.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).map_err(|_| FAULT)?;
    let mut columns: Vec<ArrayRef> = Vec::new();
    for column in 0..schema.fields().len() {
        let of_parts: Vec<_> = parts.iter().map(|part| part.keys.column(column).as_ref()).collect();
        columns.push(concat(&of_parts).map_err(|_| FAULT)?);
    }
    let rows = converter.convert_columns(&columns).map_err(|_| FAULT)?;
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    order.sort_unstable_by(|&one, &other| rows.row(one as usize).cmp(&rows.row(other as usize)));
    let mut firsts: Vec<u32> = Vec::new();
    let mut number_of = vec![0; order.len()];
    for &row in &order {
        let known =
            firsts.last().is_some_and(|&first| rows.row(first as usize) == rows.row(row as usize));
        if !known {
            firsts.push(row);
        }
        number_of[row as usize] = firsts.len() - 1;
    }
    let groups = firsts.len();
    let firsts = UInt32Array::from(firsts);
    let columns: Result<Vec<ArrayRef>, _> =
        columns.iter().map(|column| take(column, &firsts, None)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(groups));
    let keys = RecordBatch::try_new_with_options(schema, columns.map_err(|_| FAULT)?, &options);
    let mut numbers = Vec::new();
    let mut rest = number_of.as_slice();
    for part in parts {
        let (own, others) = rest.split_at(part.keys.num_rows());
        numbers.push(own.to_vec());
        rest = others;
    }
    Ok((keys.map_err(|_| FAULT)?, numbers))
}

/// The sums of the parts, given where the groups of each are among all.
fn added(
    parts: Vec<GroupTotals>,
    groups: usize,
    numbers: &[Vec<usize>],
) -> Result<Exact, EngineError> {
    let mut units = vec![0_u64; groups];
    let mut totals: Vec<Totals> = match parts.first() {
        None => Vec::new(),
        Some(part) => part
            .exact
            .totals
            .iter()
            .map(|totals| match totals {
                Totals::Integers(_) => Totals::Integers(vec![0; groups]),
                Totals::Values(_) => Totals::Values(vec![Vec::new(); groups]),
            })
            .collect(),
    };
    for (part, numbers) in parts.into_iter().zip(numbers) {
        if part.exact.totals.len() != totals.len() || part.exact.units.len() != numbers.len() {
            return Err(FAULT);
        }
        for (&group, more) in numbers.iter().zip(part.exact.units) {
            units[group] = units[group].checked_add(more).ok_or(TOO_MUCH)?;
        }
        for (all, more) in totals.iter_mut().zip(part.exact.totals) {
            match (all, more) {
                (Totals::Integers(all), Totals::Integers(more)) if more.len() == numbers.len() => {
                    for (&group, more) in numbers.iter().zip(more) {
                        all[group] = all[group].checked_add(more).ok_or(TOO_MUCH)?;
                    }
                }
                (Totals::Values(all), Totals::Values(more)) if more.len() == numbers.len() => {
                    for (&group, more) in numbers.iter().zip(more) {
                        all[group] = add_values(std::mem::take(&mut all[group]), more);
                    }
                }
                (Totals::Integers(_) | Totals::Values(_), _) => return Err(FAULT),
            }
        }
    }
    Ok(Exact { units, totals })
}
