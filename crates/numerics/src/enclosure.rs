//! One formula, any precision: the arithmetic that every certified computation is written in.

use crate::Bounds;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A set of reals that is known to hold one particular real number.
///
/// # Contract
/// If every operand holds its number, then the result of an operation holds the result of that
/// operation on those numbers. An operation that is not defined everywhere on its operands (a
/// division by an enclosure that touches zero, the logarithm of one that touches the negatives)
/// returns an enclosure of the whole line, never a panic and never something smaller.
///
/// Formulas are written once, generic over this trait, and run at three precisions:
///
/// | type | precision | one product | used for |
/// |---|---|---|---|
/// | [`Bounds`] | 53 bits | 1 ns | everything fast: the samplers' comparisons, plots, searches |
/// | [`crate::Wide`] | about 100 bits | 5 ns | results that must be `f64` to the last bits |
/// | [`crate::Big`] | as many as asked for | 1 us | comparisons that the other two leave open |
///
/// A value carries its precision with it; [`Enclosure::exactly`] makes constants of the same kind.
pub trait Enclosure:
    Clone
    + Debug
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// The number `value`, carried at the precision of `self`. A NaN or an infinity gives an
    /// enclosure of the whole line.
    fn exactly(&self, value: f64) -> Self;

    /// The bits that one operation keeps: its result is wider than it must be by a relative
    /// `2^-precision` or so.
    fn precision(&self) -> u32;

    /// The same set, or a little more, between two `f64`.
    fn bounds(&self) -> Bounds;

    /// `exp(self)`.
    fn exp(self) -> Self;

    /// `exp(self) - 1`, without cancellation near zero.
    fn exp_m1(self) -> Self;

    /// The natural logarithm, for a positive enclosure.
    fn ln(self) -> Self;

    /// `ln(1 + self)`, without cancellation near zero, for an enclosure above -1.
    fn ln_1p(self) -> Self;

    /// The square root, for an enclosure of a non-negative number.
    fn sqrt(self) -> Self;

    /// The circle's constant, at the precision of `self`.
    fn pi(&self) -> Self;

    /// The least enclosure that can be represented and holds both.
    fn hull(self, other: Self) -> Self;

    /// `self * 2^exponent`.
    fn times_power_of_two(self, exponent: i32) -> Self;

    /// How the two numbers compare, or `None` where the enclosures overlap. Equality is answered
    /// only for two enclosures of the same single point.
    fn compare(&self, other: &Self) -> Option<Ordering>;

    /// `self^exponent` for a positive enclosure and a finite exponent.
    fn pow(self, exponent: f64) -> Self {
        let exponent = self.exactly(exponent);
        (self.ln() * exponent).exp()
    }

    /// `self^exponent` by repeated squaring.
    fn powi(self, exponent: u32) -> Self {
        let mut result = self.exactly(1.0);
        let (mut square, mut rest) = (self, exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result * square.clone();
            }
            rest >>= 1;
            if rest > 0 {
                square = square.clone() * square;
            }
        }
        result
    }

    /// The integer `value`, carried at the precision of `self`.
    fn integer(&self, value: i128) -> Self {
        let magnitude = value.unsigned_abs();
        let mut sum = self.exactly(0.0);
        // 48-bit pieces are exact as f64; three of them make 128 bits.
        for piece in [96, 48, 0] {
            let bits = ((magnitude >> piece) & 0xffff_ffff_ffff) as f64;
            if bits != 0.0 {
                sum = sum + self.exactly(bits).times_power_of_two(piece);
            }
        }
        if value < 0 { -sum } else { sum }
    }

    /// Every number between the two enclosures' extremes: used where a function is monotone and its
    /// values at two ends are known.
    fn between(&self, lower: f64, upper: f64) -> Self {
        self.exactly(lower).hull(self.exactly(upper))
    }

    /// The larger of the two numbers.
    fn max(self, other: Self) -> Self {
        match self.compare(&other) {
            Some(Ordering::Less) => other,
            Some(_) => self,
            None => self.hull(other),
        }
    }
}
