//! Arithmetic with an answer for every row: what overflows, and what is divided by zero, is NULL.

use super::kind::Kind;
use super::values::{Values, each};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array};
use reticent_sources::mutation::{Mend, is_out};

/// An operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn apply(self, kind: Kind, left: &Values, right: &Values, rows: usize) -> ArrayRef {
        if kind == Kind::Integer {
            let (a, b) = (left.integers(), right.integers());
            let exact = match self {
                Arithmetic::Add => i64::checked_add,
                Arithmetic::Subtract => i64::checked_sub,
                Arithmetic::Multiply => i64::checked_mul,
                Arithmetic::Divide => i64::checked_div,
                Arithmetic::Remainder => i64::checked_rem,
            };
            return each::<Int64Array, _>(rows, |row| exact(a.get(row)?, b.get(row)?));
        }
        let (a, b) = (left.reals(), right.reals());
        let rounded: fn(f64, f64) -> f64 = match self {
            Arithmetic::Add => |a, b| a + b,
            Arithmetic::Subtract => |a, b| a - b,
            Arithmetic::Multiply => |a, b| a * b,
            Arithmetic::Divide => |a, b| a / b,
            Arithmetic::Remainder => |a, b| a % b,
        };
        each::<Float64Array, _>(rows, |row| finite(rounded(a.get(row)?, b.get(row)?)))
    }
}

/// `-x`: the least integer has no opposite.
pub(super) fn negated(kind: Kind, values: &Values, rows: usize) -> ArrayRef {
    if kind == Kind::Integer {
        let a = values.integers();
        return each::<Int64Array, _>(rows, |row| a.get(row)?.checked_neg());
    }
    let a = values.reals();
    each::<Float64Array, _>(rows, |row| Some(0.0 - a.get(row)?))
}

/// The number with one zero, if it is one.
#[inline]
pub(super) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number + 0.0)
}

/// A whole number rounded to `10^-digits`, a half away from zero; NULL where 64 bits do not hold
/// it.
pub(super) fn rounded_integer(number: i64, digits: i64) -> Option<i64> {
    let rounded = scaled_integer(number, digits, |number, unit| {
        let half = unit / 2;
        (number + number.signum() * half) / unit * unit
    });
    assert!(rounded.is_some() || !is_out(Mend::Rounding), "what is taken out fails");
    rounded
}

/// A whole number cut to `10^-digits`, towards zero.
pub(super) fn cut_integer(number: i64, digits: i64) -> Option<i64> {
    scaled_integer(number, digits, |number, unit| number / unit * unit)
}

fn scaled_integer(number: i64, digits: i64, rounding: fn(i128, i128) -> i128) -> Option<i64> {
    if digits >= 0 {
        return Some(number);
    }
    // Beyond 20 digits every number of 64 bits is less than half a unit.
    let digits = u32::try_from(digits.unsigned_abs()).unwrap_or(u32::MAX).min(20);
    i64::try_from(rounding(number.into(), 10_i128.pow(digits))).ok()
}

/// A number rounded to `10^-digits` by `whole`, which rounds to whole numbers.
pub(super) fn rounded_real(number: f64, digits: i64, whole: fn(f64) -> f64) -> f64 {
    // Powers beyond these are infinite or zero, and reals have no digits there.
    let factor = 10_f64.powi(digits.clamp(-400, 400) as i32);
    let scaled = number * factor;
    if factor == 0.0 {
        0.0
    } else if scaled.is_finite() {
        whole(scaled) / factor
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_a_whole_number_overflows_to_null() {
        assert_eq!(rounded_integer(i64::MAX, -1), None, "9223372036854775810");
        assert_eq!(rounded_integer(i64::MIN, -1), None, "-9223372036854775810");
        assert_eq!(rounded_integer(i64::MAX - 7, -1), Some(9_223_372_036_854_775_800));
        assert_eq!(rounded_integer(i64::MAX, -18), Some(9_000_000_000_000_000_000));
        assert_eq!(rounded_integer(i64::MAX, -19), None);
        assert_eq!(rounded_integer(i64::MAX, i64::MIN), Some(0));
        assert_eq!(
            [15, 14, -15, -14].map(|number| rounded_integer(number, -1)),
            [20, 10, -20, -10].map(Some)
        );
        assert_eq!([19, -19].map(|number| cut_integer(number, -1)), [10, -10].map(Some));
        assert_eq!(cut_integer(i64::MIN, -18), Some(-9_000_000_000_000_000_000));
        assert_eq!(rounded_integer(17, 3), Some(17));
    }

    #[test]
    fn reals_without_digits_there_stay_or_vanish() {
        assert_eq!(rounded_real(2.345, 2, f64::round), 2.35);
        assert_eq!(rounded_real(-25.0, -1, f64::round), -30.0);
        assert_eq!(rounded_real(1e300, 300, f64::round), 1e300);
        assert_eq!(rounded_real(1e300, -400, f64::trunc), 0.0);
        assert_eq!(rounded_real(f64::MAX, i64::MAX, f64::trunc), f64::MAX);
        assert_eq!(rounded_real(0.0, 400, f64::round).to_bits() & !(1 << 63), 0);
    }
}
