//! Exact sums of integers by group.

use super::groups::{column, for_each_value, states_of_rows};
use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, PrimitiveArray, UInt64Array,
};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::marker::PhantomData;
use std::sync::Arc;

/// The sum of each group, if it has a value, in 128 bits: fewer than `2^63` values of 64 bits fit.
pub(super) struct IntegerSums<T> {
    sums: Vec<Option<i128>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Default for IntegerSums<T> {
    fn default() -> Self {
        IntegerSums { sums: Vec::new(), of: PhantomData }
    }
}

impl<T> IntegerSums<T> {
    fn add(&mut self, group: usize, value: i128) {
        *self.sums[group].get_or_insert(0) += value;
    }
}

impl<T> GroupsAccumulator for IntegerSums<T>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128> + TryFrom<i128>,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.sums.resize(groups, None);
        let values: &PrimitiveArray<T> = column(values, 0)?;
        for_each_value(values, group_indices, filter, |row, group| {
            self.add(group, values.value(row).into())
        });
        Ok(())
    }

    /// A sum that is not of the type is NULL, like an overflow in arithmetic.
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        let results = sums.into_iter().map(|sum| T::Native::try_from(sum?).ok());
        Ok(Arc::new(results.collect::<PrimitiveArray<T>>()))
    }

    /// The upper and the lower 64 bits; NULL without a value.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        let upper: Int64Array = sums.iter().map(|sum| sum.map(|sum| (sum >> 64) as i64)).collect();
        let lower: UInt64Array = sums.iter().map(|sum| sum.map(|sum| sum as u64)).collect();
        Ok(vec![Arc::new(upper), Arc::new(lower)])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.sums.resize(groups, None);
        let (upper, lower): (&Int64Array, &UInt64Array) = (column(values, 0)?, column(values, 1)?);
        for_each_value(upper, group_indices, None, |row, group| {
            self.add(group, i128::from(upper.value(row)) << 64 | i128::from(lower.value(row)));
        });
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        states_of_rows(Self::default(), values, filter)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<i128>>()
    }
}
