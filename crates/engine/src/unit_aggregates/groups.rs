//! What the accumulators of groups share.

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::fmt;

/// An accumulator of groups that threads may share.
pub(super) type Groups = Box<dyn GroupsAccumulator + Sync>;

/// The column at `index` of a state or of the arguments, in its type.
pub(super) fn column<T: Array + 'static>(columns: &[ArrayRef], index: usize) -> Result<&T> {
    let found = columns.get(index).and_then(|column| column.as_any().downcast_ref());
    found.ok_or_else(|| {
        DataFusionError::Internal(format!("column {index} of an aggregate has another type"))
    })
}

/// Calls `each` with the row and the group of every row that is not NULL and passes the filter.
pub(super) fn for_each_value(
    values: &dyn Array,
    group_indices: &[usize],
    filter: Option<&BooleanArray>,
    mut each: impl FnMut(usize, usize),
) {
    let pairs = group_indices.iter().enumerate();
    if values.null_count() == 0 && filter.is_none() {
        return pairs.for_each(|(row, &group)| each(row, group));
    }
    let passes = |row| filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
    pairs
        .filter(|&(row, _)| values.is_valid(row) && passes(row))
        .for_each(|(row, &group)| each(row, group));
}

/// The state of each row as if it were a group of its own, by way of an accumulator without groups.
pub(super) fn states_of_rows(
    mut fresh: impl GroupsAccumulator,
    values: &[ArrayRef],
    filter: Option<&BooleanArray>,
) -> Result<Vec<ArrayRef>> {
    let rows = values.first().map_or(0, |values| values.len());
    let apart: Vec<usize> = (0..rows).collect();
    fresh.update_batch(values, &apart, filter, rows)?;
    fresh.state(EmitTo::All)
}

/// An accumulator of one group. Aggregates by unit have keys, and then the engine asks for
/// accumulators of many; it may ask for this one where it plans otherwise.
pub(super) struct OneGroup(Groups);

impl OneGroup {
    pub(super) fn new(mut groups: Groups) -> Result<Self> {
        // Merging no states makes one group without values.
        let none = groups.state(EmitTo::All)?;
        groups.merge_batch(&none, &[], 1)?;
        Ok(OneGroup(groups))
    }
}

impl fmt::Debug for OneGroup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("OneGroup")
    }
}

fn length(columns: &[ArrayRef]) -> usize {
    columns.first().map_or(0, |column| column.len())
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &vec![0; length(values)], None, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = self.0.state(EmitTo::All)?;
        state.iter().map(|column| ScalarValue::try_from_array(column, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &vec![0; length(states)], 1)
    }
}
