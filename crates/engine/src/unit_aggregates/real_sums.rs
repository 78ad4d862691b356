//! Exact sums of reals by group, and means, rounded once.

use super::groups::{column, for_each_value, states_of_rows};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, ListBuilder,
    PrimitiveBuilder,
};
use datafusion::arrow::datatypes::Float64Type;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use reticent_numerics::ExactSum;
use reticent_sources::mutation::{Mend, is_out};
use std::num::NonZeroU64;
use std::sync::Arc;

/// What is asked of the values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Sum,
    Mean,
}

/// From here on a term is kept scaled down: fewer than `2^63` terms below it stay below `2^963`.
const HUGE: f64 = f64::from_bits((1023 + 900) << 52);

/// The scale of huge terms: exact, as they are far from zero, and fewer than `2^63` of them stay
/// below `2^(1024 - 64 + 63) = 2^1023`.
const SCALED_DOWN: f64 = f64::from_bits((1023 - ExactSum::BEYOND as u64) << 52);

/// `a + b`, rounded, and what rounding left out, exactly, unless the sum overflows (Knuth, *The Art
/// of Computer Programming* 2, 4.2.2, Theorem B).
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// Adds a term to numbers that do not overlap, in the order of their magnitude, keeping their exact
/// sum (Shewchuk, *Adaptive Precision Floating-Point Arithmetic*, 1997, Grow-Expansion without
/// zeros). The range of `f64` has room for some forty that do not overlap.
fn grow(parts: &mut Vec<f64>, mut term: f64) {
    let mut kept = 0;
    for index in 0..parts.len() {
        let (sum, left_out) = two_sum(parts[index], term);
        if left_out != 0.0 {
            parts[kept] = left_out;
            kept += 1;
        }
        term = sum;
    }
    parts.truncate(kept);
    if term != 0.0 {
        parts.push(term);
    }
}

/// The values of a group: `high + low` and what is in its [`Rest`] are together their exact sum,
/// where `high` is `high + low` rounded. An infinite `high` says that a value was infinite, for
/// good.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    high: f64,
    low: f64,
    count: u64,
}

/// What two floats do not hold of a sum.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// The bits below.
    small: Vec<f64>,
    /// Huge terms, scaled down.
    huge: Vec<f64>,
}

impl Rest {
    fn bytes(&self) -> usize {
        size_of::<Rest>() + (self.small.capacity() + self.huge.capacity()) * size_of::<f64>()
    }
}

/// The sums of the groups. Terms whose magnitudes differ by less than `2^53`, as those of most
/// units, need no [`Rest`].
#[derive(Debug)]
pub(super) struct RealSums {
    asked: Asked,
    sums: Vec<Sum>,
    /// Of the groups up to the last that needs one.
    rests: Vec<Option<Box<Rest>>>,
    /// Bytes of what `rests` points to.
    heap: usize,
}

impl RealSums {
    pub(super) fn new(asked: Asked) -> Self {
        RealSums { asked, sums: Vec::new(), rests: Vec::new(), heap: 0 }
    }

    fn with_groups(&mut self, groups: usize) {
        self.sums.resize(groups, Sum::default());
    }

    /// Adds a term, which is not NaN, to the sum of a group.
    #[inline]
    fn add(&mut self, group: usize, term: f64) {
        let sum = &mut self.sums[group];
        if is_out(Mend::ExactSums) {
            sum.high += term;
            return;
        }
        let (first, left_out) = two_sum(sum.high, term);
        let (second, left_out) = two_sum(sum.low, left_out);
        // NaN, after an infinity, is not zero either.
        if left_out == 0.0 && term.abs() < HUGE {
            (sum.high, sum.low) = two_sum(first, second);
        } else {
            self.add_to_rest(group, term);
        }
    }

    #[cold]
    fn add_to_rest(&mut self, group: usize, term: f64) {
        let sum = &mut self.sums[group];
        if sum.high.is_infinite() {
            return;
        }
        if term.is_infinite() {
            (sum.high, sum.low) = (f64::INFINITY, 0.0);
            return;
        }
        if term.abs() >= HUGE {
            return self.add_huge(group, term * SCALED_DOWN);
        }
        let (first, left_out) = two_sum(sum.high, term);
        let (second, left_out) = two_sum(sum.low, left_out);
        (sum.high, sum.low) = two_sum(first, second);
        self.with_rest(group, |rest| grow(&mut rest.small, left_out));
    }

    /// Adds `2^BEYOND` times a finite term.
    fn add_huge(&mut self, group: usize, scaled: f64) {
        self.with_rest(group, |rest| grow(&mut rest.huge, scaled));
    }

    fn with_rest(&mut self, group: usize, change: impl FnOnce(&mut Rest)) {
        if self.rests.len() <= group {
            self.rests.resize(group + 1, None);
        }
        let slot = &mut self.rests[group];
        self.heap -= slot.as_ref().map_or(0, |rest| rest.bytes());
        let rest = slot.get_or_insert_default();
        change(rest);
        self.heap += rest.bytes();
    }

    /// The first groups, with their rests.
    fn take(&mut self, emit_to: EmitTo) -> (Vec<Sum>, Vec<Option<Box<Rest>>>) {
        let sums = emit_to.take_needed(&mut self.sums);
        let mut rests = match emit_to {
            EmitTo::First(groups) if groups < self.rests.len() => {
                emit_to.take_needed(&mut self.rests)
            }
            _ => std::mem::take(&mut self.rests),
        };
        self.heap -= rests.iter().flatten().map(|rest| rest.bytes()).sum::<usize>();
        rests.resize(sums.len(), None);
        (sums, rests)
    }

    /// The exact sum, or its quotient by the count, rounded to the nearest `f64`. NULL without a
    /// value, if a value is infinite, and beyond the largest `f64`.
    fn result(&self, sum: &Sum, rest: Option<&Rest>) -> Option<f64> {
        let count = NonZeroU64::new(sum.count)?;
        if sum.high.is_infinite() {
            return None;
        }
        let divisor = match self.asked {
            Asked::Sum => NonZeroU64::MIN,
            Asked::Mean => count,
        };
        let rounded = match (rest, divisor.get()) {
            (None, 1) => sum.high,
            // A quotient of two floats is rounded once.
            (None, divisor) if sum.low == 0.0 && divisor < 1 << 53 => sum.high / divisor as f64,
            _ => {
                let mut exact = ExactSum::new();
                [sum.high, sum.low].into_iter().for_each(|term| exact.add(term));
                if let Some(rest) = rest {
                    rest.small.iter().for_each(|term| exact.add(*term));
                    rest.huge.iter().for_each(|term| exact.add_scaled_up(*term));
                }
                exact.nearest_quotient(divisor)
            }
        };
        // Without the sign of a zero.
        rounded.is_finite().then_some(rounded + 0.0)
    }
}

/// One list a group of some of the numbers of its rest; NULL where there is none.
fn lists(rests: &[Option<Box<Rest>>], of: impl Fn(&Rest) -> &[f64]) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
    for rest in rests {
        if let Some(rest) = rest {
            lists.values().append_slice(of(rest));
        }
        lists.append(rest.is_some());
    }
    Arc::new(lists.finish())
}

/// The numbers in the list of a row.
fn listed(lists: &ListArray, row: usize) -> &[f64] {
    if lists.is_null(row) {
        return &[];
    }
    let ends = lists.value_offsets();
    &lists.values().as_primitive::<Float64Type>().values()
        [ends[row] as usize..ends[row + 1] as usize]
}

impl GroupsAccumulator for RealSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.with_groups(groups);
        let values: &Float64Array = column(values, 0)?;
        for_each_value(values, group_indices, filter, |row, group| {
            let value = values.value(row);
            if !value.is_nan() {
                self.sums[group].count += 1;
                self.add(group, value);
            }
        });
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (sums, rests) = self.take(emit_to);
        let results = sums.iter().zip(&rests).map(|(sum, rest)| self.result(sum, rest.as_deref()));
        Ok(Arc::new(results.collect::<Float64Array>()))
    }

    /// The count, and numbers whose exact sum is the sum; of the last list, scaled up.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, rests) = self.take(emit_to);
        // A count of rows is below 2^63.
        let counts = Int64Array::from_iter_values(sums.iter().map(|sum| sum.count as i64));
        let high = Float64Array::from_iter_values(sums.iter().map(|sum| sum.high));
        let low = Float64Array::from_iter_values(sums.iter().map(|sum| sum.low));
        let (small, huge) = (lists(&rests, |rest| &rest.small), lists(&rests, |rest| &rest.huge));
        Ok(vec![Arc::new(counts), Arc::new(high), Arc::new(low), small, huge])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.with_groups(groups);
        let counts: &Int64Array = column(values, 0)?;
        let (high, low): (&Float64Array, &Float64Array) = (column(values, 1)?, column(values, 2)?);
        let (small, huge): (&ListArray, &ListArray) = (column(values, 3)?, column(values, 4)?);
        for_each_value(counts, group_indices, None, |row, group| {
            self.sums[group].count += counts.value(row) as u64;
            self.add(group, high.value(row));
            self.add(group, low.value(row));
            listed(small, row).iter().for_each(|term| self.add(group, *term));
            listed(huge, row).iter().for_each(|term| self.add_huge(group, *term));
        });
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        states_of_rows(RealSums::new(self.asked), values, filter)
    }

    fn size(&self) -> usize {
        let rests = self.rests.capacity() * size_of::<Option<Box<Rest>>>();
        self.sums.capacity() * size_of::<Sum>() + rests + self.heap
    }
}
