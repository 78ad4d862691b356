//! From values to steps of a public grid, a row at a time.

use crate::EngineError;
use crate::nan::has_nan;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use reticent_numerics::{OutOfRange, require};
use reticent_release::Grid;

/// `2^63`, exact.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Moves values to the nearest point of a grid, within its ends.
///
/// # The rule
/// `k(v) = clamp(round((v - centre) / step), lower, upper)`, halves to the even neighbour, NULL and
/// NaN have none. It is a function of the one value `v`, so that a row's part in any sum depends on
/// nothing but that row.
///
/// For whole numbers on a grid whose centre is a whole number the difference and the quotient are
/// exact, in integers. For floating-point numbers the difference is rounded once to 53 bits (`step`
/// is a power of two: the quotient is exact unless it overflows or is subnormal, where the ends and
/// zero take over); the result can then be the other neighbour of `v`, never a point outside.
/// Infinities are clamped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steps {
    grid: Grid,
    /// `1 / step`, exact: also a subnormal power of two is a number.
    per_step: f64,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Whole numbers, `step = 2^exponent`.
    Whole {
        centre: i64,
        exponent: i32,
    },
    /// Whole numbers on a grid whose centre is none: through `f64`.
    WholeAsFloat,
    Float,
    /// Floating-point numbers on a grid of at most `2^51` steps to each side.
    NarrowFloat,
}

/// `1.5 * 2^52`. Between `2^52` and `2^53` the numbers of an `f64` are the whole ones: to add this
/// to a `y` with `|y| <= 2^51` rounds `y` to the nearest, halves to the even, and leaves it in the
/// low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// How far [`SHIFT`] reaches.
const NARROW: i64 = 1 << 51;

impl Steps {
    /// The rule for a column of this type.
    ///
    /// # Errors
    /// If the type is not `Int64` or `Float64`, or the grid is none.
    pub(super) fn new(grid: Grid, column: &str, data_type: &DataType) -> Result<Self, EngineError> {
        let exponent = power_of_two(grid.step).ok_or_else(|| {
            OutOfRange::new("step of a grid", grid.step, "a power of two from 2^-1022 to 2^1023")
        })?;
        require(grid.centre.is_finite(), "centre of a grid", grid.centre, "a finite number")?;
        let (ordered, accepted) = (grid.lower <= grid.upper, "at most the upper end");
        require(ordered, "lower end of a grid", grid.lower as f64, accepted)?;
        let whole_centre = grid.centre == grid.centre.trunc()
            && grid.centre >= -TWO_TO_63
            && grid.centre < TWO_TO_63;
        let rule = match data_type {
            DataType::Int64 if whole_centre => Rule::Whole { centre: grid.centre as i64, exponent },
            DataType::Int64 => Rule::WholeAsFloat,
            DataType::Float64 if grid.lower >= -NARROW && grid.upper <= NARROW => Rule::NarrowFloat,
            DataType::Float64 => Rule::Float,
            other => {
                return Err(EngineError::ColumnType {
                    column: column.to_owned(),
                    found: other.clone(),
                    accepted: "sums and quantiles are computed of Int64 and Float64",
                });
            }
        };
        Ok(Self { grid, per_step: 1.0 / grid.step, rule })
    }

    /// Fills `steps` with one number per row, 0 for those without.
    pub(super) fn fill(&self, column: &ArrayRef, steps: &mut Vec<i64>) {
        steps.clear();
        match self.rule {
            Rule::Whole { centre, exponent: 0 } => {
                let (lower, upper) = (self.grid.lower, self.grid.upper);
                // The saturated difference has the sign of the exact one and lies beyond the ends
                // with it, or at them.
                let step = |value: i64| value.saturating_sub(centre).clamp(lower, upper);
                steps.extend(
                    column.as_primitive::<Int64Type>().values().iter().map(|&value| step(value)),
                );
            }
            Rule::Whole { centre, exponent } => {
                let values = column.as_primitive::<Int64Type>().values();
                steps.extend(
                    values
                        .iter()
                        .map(|&value| self.whole(i128::from(value) - i128::from(centre), exponent)),
                );
            }
            Rule::WholeAsFloat => {
                let values = column.as_primitive::<Int64Type>().values();
                steps.extend(values.iter().map(|&value| self.float(value as f64)));
            }
            Rule::NarrowFloat => {
                // Without a conversion that saturates, for which processors have no vector
                // instruction. The ends are whole: it is the same to clamp before the rounding. A
                // NaN becomes the lower end, and is taken out below.
                let (lower, upper) = (self.grid.lower as f64, self.grid.upper as f64);
                let values = column.as_primitive::<Float64Type>().values();
                steps.extend(values.iter().map(|&value| {
                    let exact = ((value - self.grid.centre) * self.per_step).max(lower).min(upper);
                    (exact + SHIFT).to_bits() as i64 - SHIFT.to_bits() as i64
                }));
            }
            Rule::Float => {
                let values = column.as_primitive::<Float64Type>().values();
                steps.extend(values.iter().map(|&value| self.float(value)));
            }
        }
        if let Some(floats) =
            column.as_primitive_opt::<Float64Type>().filter(|floats| has_nan(floats.values()))
        {
            let with_nan =
                steps.iter_mut().zip(floats.values()).filter(|(_, value)| value.is_nan());
            with_nan.for_each(|(step, _)| *step = 0);
        }
        if let Some(nulls) = column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            steps.iter_mut().zip(nulls.iter()).for_each(|(step, valid)| *step *= i64::from(valid));
        }
    }

    #[inline(always)]
    fn float(&self, value: f64) -> i64 {
        let nearest = ((value - self.grid.centre) * self.per_step).round_ties_even();
        // The conversion saturates and takes NaN to 0.
        (nearest as i64).clamp(self.grid.lower, self.grid.upper)
    }

    /// `clamp(round(difference / 2^exponent))` without an error: `|difference| < 2^65`.
    fn whole(&self, difference: i128, exponent: i32) -> i64 {
        let (lower, upper) = (i128::from(self.grid.lower), i128::from(self.grid.upper));
        let steps =
            if exponent > 66 {
                // Less than a quarter of a step.
                0
            } else if exponent > 0 {
                let floor = difference >> exponent;
                let rest = difference - (floor << exponent);
                let half = 1_i128 << (exponent - 1);
                floor + i128::from(rest > half || (rest == half && floor & 1 == 1))
            } else if exponent > -62 {
                difference << -exponent
            } else {
                // At least 2^62 steps for each unit of the difference: the exact product needs more
                // bits only beyond the ends.
                difference
                    .checked_mul(1_i128 << (-exponent).min(126))
                    .unwrap_or(if difference > 0 { upper } else { lower })
            };
        steps.clamp(lower, upper) as i64
    }
}

/// Fills `present` with 1 for rows whose value is neither NULL nor NaN, for a column of any type.
pub(super) fn fill_present(column: &ArrayRef, present: &mut Vec<u8>) {
    present.clear();
    match column.data_type() {
        DataType::Float64 if has_nan(column.as_primitive::<Float64Type>().values()) => {
            let values = column.as_primitive::<Float64Type>().values();
            present.extend(values.iter().map(|value| u8::from(!value.is_nan())));
        }
        _ => present.resize(column.len(), 1),
    }
    if let Some(nulls) = column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        present
            .iter_mut()
            .zip(nulls.iter())
            .for_each(|(present, valid)| *present &= u8::from(valid));
    }
}

/// `Some(e)` if `step = 2^e` is a normal number.
fn power_of_two(step: f64) -> Option<i32> {
    let bits = step.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    (1..2047).contains(&exponent).then_some(exponent - 1023).filter(|_| fraction == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, Int64Array};
    use std::sync::Arc;

    fn grid(centre: f64, step: f64, lower: i64, upper: i64) -> Grid {
        Grid { centre, step, lower, upper }
    }

    fn on(grid: Grid, column: ArrayRef) -> (Vec<i64>, Vec<u8>) {
        let rule = Steps::new(grid, "x", column.data_type()).expect("a valid grid");
        let (mut steps, mut present) = (vec![9], vec![9]);
        rule.fill(&column, &mut steps);
        fill_present(&column, &mut present);
        (steps, present)
    }

    fn whole(grid: Grid, values: &[i64]) -> Vec<i64> {
        on(grid, Arc::new(Int64Array::from(values.to_vec()))).0
    }

    fn float(grid: Grid, values: &[f64]) -> Vec<i64> {
        on(grid, Arc::new(Float64Array::from(values.to_vec()))).0
    }

    #[test]
    fn values_go_to_the_nearest_point_within_the_ends() {
        let quarters = grid(10.0, 0.25, -8, 8);
        assert_eq!(
            float(quarters, &[10.0, 10.25, 10.3, 10.38, 9.0, 12.0, 13.0, 7.0]),
            [0, 1, 1, 2, -4, 8, 8, -8]
        );
        assert_eq!(whole(quarters, &[10, 11, 12, 13, 9, -5]), [0, 4, 8, 8, -4, -8]);
        let tens = grid(0.0, 8.0, -3, 3);
        // Halves to the even neighbour, in both types.
        let halves = [-28, -20, -12, -4, 4, 12, 20, 28, 5, 3];
        let expected = [-3, -2, -2, 0, 0, 2, 2, 3, 1, 0];
        assert_eq!(whole(tens, &halves), expected);
        assert_eq!(float(tens, &halves.map(|v| v as f64)), expected);
    }

    #[test]
    fn whole_numbers_are_exact_to_the_limits() {
        let full = grid(0.0, 1.0, i64::MIN, i64::MAX);
        let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
        assert_eq!(whole(full, &extremes), extremes);
        // Beyond the range of an i64 the difference saturates, and the ends are the answer.
        assert_eq!(
            whole(grid(1e18, 1.0, i64::MIN, i64::MAX), &[i64::MIN, 0]),
            [i64::MIN, -1_000_000_000_000_000_000]
        );
        assert_eq!(whole(grid(-TWO_TO_63, 1.0, -5, 5), &[i64::MIN, i64::MIN + 3, 0]), [0, 3, 5]);
        for exponent in [-1022, -400, -126, -80, -62, -61, -1, 1, 62, 63, 64, 66, 67, 500, 1023] {
            let steps =
                whole(grid(0.0, 2_f64.powi(exponent), -100, 100), &[i64::MIN, -1, 0, 1, i64::MAX]);
            let expected = [i64::MIN, -1, 0, 1, i64::MAX].map(|value| {
                // |value| < 2^64, so that an f64 decides on which side of the ends the quotient lies.
                (value as f64 / 2_f64.powi(exponent)).round_ties_even().clamp(-100.0, 100.0) as i64
            });
            assert_eq!(steps, expected, "step 2^{exponent}");
        }
    }

    #[test]
    fn the_whole_and_the_floating_rule_agree_where_both_are_exact() {
        for exponent in -8..8 {
            for centre in [-7.0, 0.0, 100.0] {
                let grid = grid(centre, 2_f64.powi(exponent), -5000, 5000);
                let values: Vec<i64> = (-600..600).map(|v| v * 7 + 3).collect();
                let floats: Vec<f64> = values.iter().map(|&v| v as f64).collect();
                assert_eq!(whole(grid, &values), float(grid, &floats), "{grid:?}");
            }
        }
        assert_eq!(whole(grid(0.5, 1.0, -9, 9), &[3, -3]), [2, -4]);
    }

    #[test]
    fn the_narrow_rule_is_the_wide_one() {
        for (step, end) in
            [(1.0, NARROW), (0.25, 1000), (1024.0, NARROW - 7), (2_f64.powi(-40), NARROW)]
        {
            let narrow = grid(3.0, step, -end, end);
            let wide = grid(3.0, step, -NARROW - 1, NARROW + 1);
            let mut values: Vec<f64> =
                (-4000..4000).map(|n| f64::from(n) * 0.125 * step + 3.0).collect();
            values.extend(
                [end, end - 1, NARROW]
                    .iter()
                    .flat_map(|&k| [-1.0, -0.5, 0.0, 0.5].map(|d| (k as f64 + d) * step)),
            );
            values.extend(values.clone().iter().map(|value| -value));
            let expected: Vec<i64> =
                float(wide, &values).iter().map(|&k| k.clamp(-end, end)).collect();
            assert_eq!(float(narrow, &values), expected);
        }
    }

    #[test]
    fn strange_floats_have_a_public_fate() {
        let subnormal = f64::from_bits(1);
        let values =
            [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, subnormal, -0.0, f64::NAN, 2.0];
        let column: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        for step in [1.0, 2_f64.powi(-1022), 2_f64.powi(1023)] {
            let (steps, present) = on(grid(0.0, step, -7, 7), column.clone());
            assert_eq!(steps[..2], [7, -7]);
            assert_eq!(steps[5..7], [0, 0]);
            assert_eq!(present, [1, 1, 1, 1, 1, 1, 0, 1]);
            assert!(steps.iter().all(|step| (-7..=7).contains(step)));
        }
        // Also where the difference overflows.
        assert_eq!(
            float(grid(f64::MAX, 1.0, -7, 7), &[f64::MIN, f64::NEG_INFINITY, f64::INFINITY]),
            [-7, -7, 7]
        );
    }

    #[test]
    fn null_and_nan_are_absent_and_count_zero_steps() {
        let column: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(5.0), None, Some(f64::NAN), Some(1.0)]));
        // Zero lies outside of this grid: an absent value must not become its lower end.
        assert_eq!(on(grid(0.0, 1.0, 2, 9), column.clone()), (vec![5, 0, 0, 2], vec![1, 0, 0, 1]));
        let mut present = Vec::new();
        fill_present(&column, &mut present);
        assert_eq!(present, [1, 0, 0, 1]);
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        for bad in [
            grid(0.0, 3.0, 0, 1),
            grid(0.0, 0.0, 0, 1),
            grid(0.0, -1.0, 0, 1),
            grid(0.0, f64::NAN, 0, 1),
        ] {
            assert!(Steps::new(bad, "x", &DataType::Int64).is_err(), "{bad:?}");
        }
        assert!(Steps::new(grid(f64::NAN, 1.0, 0, 1), "x", &DataType::Int64).is_err());
        assert!(Steps::new(grid(0.0, 1.0, 1, 0), "x", &DataType::Int64).is_err());
        let refused = Steps::new(grid(0.0, 1.0, 0, 1), "x", &DataType::Utf8).expect_err("text");
        assert_eq!(
            refused.to_string(),
            "column x has the type Utf8: sums and quantiles are computed of Int64 and Float64"
        );
    }
}
