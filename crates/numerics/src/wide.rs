//! Double-double balls: about 100 bits at a few nanoseconds per operation.

mod exponential;

use crate::rounding::{add_down, add_up, sub_up, two_product, two_sum};
use crate::{Bounds, Enclosure};
use exponential::{exp_m1_series, exp_scaled, ln_1p_series};
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Every real number within `error` of the exact sum `hi + lo`.
///
/// # Representation
/// `hi` is the `f64` nearest to `hi + lo`, so `|lo| <= 2^-53 |hi|` and the pair is unique. An
/// infinite `error` is the whole line, and is then the only thing known: `hi = lo = 0`.
///
/// # Error
/// The operations are those of Joldes, Muller, Popescu (*Tight and rigorous error bounds for basic
/// building blocks of double-word arithmetic*, 2017), but their a-priori bounds are not relied on:
/// each operation adds up what its own roundings can have lost, at most `u = 2^-53` of each rounded
/// intermediate result, so that a sum or product that happens to be exact stays a single point. The
/// new radius is computed in round-to-nearest and then widened by `UPWARD` and, where an
/// intermediate result may have been subnormal, by `UNDERFLOW`.
///
/// A ball whose radius is not small beside its midpoint is multiplied, divided and so on as the
/// interval it is, so that signs survive: the product of two enclosures of `[0, 1]` is `[0, 1]`.
///
/// The exponent range is that of `f64`: where `|hi| < 2^-960`, `lo` is subnormal and the
/// precision decreases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide {
    hi: f64,
    lo: f64,
    error: f64,
}

/// The unit roundoff `u = 2^-53`.
const U: f64 = 0.5 * f64::EPSILON;

/// Covers the roundings in the computation of a radius: each is at most a relative `u`, all terms
/// are non-negative, and no expression here has more than sixteen of them, while this is `1 + 32u`.
/// It covers `|hi + lo| <= (1 + u) |hi|` as well.
const UPWARD: f64 = 1.0 + 32.0 * U;

/// `2^-1068`, more than the absolute errors that subnormal results add in one operation: at most
/// `2^-1075` each, and fewer than sixteen.
const UNDERFLOW: f64 = f64::from_bits(1 << 6);

/// Products at least this large (`2^-900`) of two `f64` have an exact error term.
const TWO_PRODUCT_IS_EXACT_ABOVE: f64 = power_of_two(-900);

/// A ball with a larger ratio of radius to midpoint is treated as an interval of `f64`, whose ends
/// are then accurate enough.
const WIDE_RATIO: f64 = power_of_two(-20);

/// `2^exponent` for an exponent of the normal range.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// `a + b` and its exact error for `|a| >= |b|` or `a = 0` (Dekker).
#[inline(always)]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

impl Wide {
    /// Nothing is known: the whole line.
    pub const WHOLE_LINE: Wide = Wide { hi: 0.0, lo: 0.0, error: f64::INFINITY };

    /// Exactly zero.
    pub const ZERO: Wide = Wide { hi: 0.0, lo: 0.0, error: 0.0 };

    /// Exactly one.
    pub const ONE: Wide = Wide { hi: 1.0, lo: 0.0, error: 0.0 };

    /// The natural logarithm of two.
    pub const LN_2: Wide = Wide::constant(std::f64::consts::LN_2, 2.3190468138462996e-17);

    /// The circle's constant.
    pub const PI: Wide = Wide::constant(std::f64::consts::PI, 1.2246467991473532e-16);

    /// The single number `value`; the whole line for a NaN or an infinity.
    #[inline]
    pub const fn exact(value: f64) -> Self {
        if value.is_finite() { Wide { hi: value, lo: 0.0, error: 0.0 } } else { Wide::WHOLE_LINE }
    }

    /// The numbers between two bounds; the whole line if one of them is infinite. A lower bound
    /// that is not negative gives a ball without negative numbers, and likewise on the other side.
    pub fn from_bounds(bounds: Bounds) -> Self {
        // Halves are exact except among the subnormals, where they move outward.
        let (mut low, mut high) = (0.5 * bounds.lower(), 0.5 * bounds.upper());
        if low + low > bounds.lower() {
            low = low.next_down();
        }
        if high + high < bounds.upper() {
            high = high.next_up();
        }
        // With 0 <= low, the radius is at most `high`, because that is representable and at least
        // the exact difference. The midpoint is exact, so that it stays at or above the radius.
        let (hi, lo) = two_sum(low, high);
        Wide::ball(hi, lo, sub_up(high, low))
    }

    /// The midpoint as an unevaluated sum, the larger part first.
    #[inline]
    pub fn midpoint(&self) -> (f64, f64) {
        (self.hi, self.lo)
    }

    /// How far the number can be from the midpoint.
    #[inline]
    pub fn radius(&self) -> f64 {
        self.error
    }

    /// The nearest pair to a constant that is not a pair.
    const fn constant(hi: f64, lo: f64) -> Self {
        // The third part is at most half an ulp of the second, which is at most half an ulp of the
        // first: 2^-106 |hi|.
        Wide { hi, lo, error: hi.abs() * power_of_two(-105) }
    }

    /// A ball around a normalised pair; the whole line if any part is infinite or a NaN.
    #[inline(always)]
    fn ball(hi: f64, lo: f64, error: f64) -> Self {
        if (hi + lo).is_finite() && error < f64::INFINITY {
            Wide { hi, lo, error }
        } else {
            Wide::WHOLE_LINE
        }
    }

    /// The same midpoint, with a radius that is larger by `more`.
    #[inline]
    fn widened(self, more: f64) -> Self {
        Wide::ball(self.hi, self.lo, add_up(self.error, more))
    }

    /// The midpoint alone.
    #[inline]
    fn centre(self) -> Self {
        Wide { error: 0.0, ..self }
    }

    /// Whether the radius is so large that the ends as `f64` say as much as the ball.
    #[inline(always)]
    fn is_wide(&self) -> bool {
        self.error > WIDE_RATIO * self.hi.abs()
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.hi == 0.0 && self.error == 0.0
    }

    /// Without the negative numbers, for a number known to have none.
    #[inline]
    fn nonnegative(self) -> Self {
        if self.error <= 0.5 * self.hi {
            self
        } else {
            Wide::from_bounds(self.bounds().clamp(0.0, f64::INFINITY))
        }
    }

    /// `f(self)` for a narrow ball with `|self| < 2^-600` and a function with `|f(z) - z| <= z²`.
    fn nearly_itself(self) -> Self {
        if self.is_zero() {
            self
        } else {
            self.widened(self.hi.abs() * power_of_two(-598) + f64::from_bits(1))
        }
    }
}

impl From<f64> for Wide {
    fn from(value: f64) -> Self {
        Wide::exact(value)
    }
}

impl Neg for Wide {
    type Output = Wide;
    #[inline]
    fn neg(self) -> Wide {
        Wide { hi: -self.hi, lo: -self.lo, error: self.error }
    }
}

impl Add for Wide {
    type Output = Wide;

    /// The accurate sum of pairs (algorithm 6 of the paper cited at [`Wide`]). Two of its additions
    /// round; their errors are recovered exactly and added to the radius.
    #[inline]
    fn add(self, other: Wide) -> Wide {
        if self.is_wide() && other.is_wide() {
            return Wide::from_bounds(self.bounds() + other.bounds());
        }
        let (s, s_low) = two_sum(self.hi, other.hi);
        let (t, t_low) = two_sum(self.lo, other.lo);
        let (c, c_lost) = two_sum(s_low, t);
        let (v, v_low) = two_sum(s, c);
        let (w, w_lost) = two_sum(t_low, v_low);
        let (hi, lo) = two_sum(v, w);
        // No term for underflow: sums of subnormals are exact.
        Wide::ball(hi, lo, (self.error + other.error + c_lost.abs() + w_lost.abs()) * UPWARD)
    }
}

impl Sub for Wide {
    type Output = Wide;
    #[inline]
    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;

    /// `(a + a')(b + b') = ab + ab' + a'b + a'b'` with the first product exact (algorithm 12 of the
    /// paper cited at [`Wide`]), and for the radius
    /// `|xy - x₀y₀| <= |x₀| e_y + |y₀| e_x + e_x e_y`.
    #[inline]
    fn mul(self, other: Wide) -> Wide {
        if self.is_wide() || other.is_wide() {
            return Wide::from_bounds(self.bounds() * other.bounds());
        }
        let (product, product_low) = two_product(self.hi, other.hi);
        if self.lo == 0.0 && other.lo == 0.0 && self.error == 0.0 && other.error == 0.0 {
            let exact =
                product.abs() >= TWO_PRODUCT_IS_EXACT_ABOVE || self.hi == 0.0 || other.hi == 0.0;
            return Wide::ball(product, product_low, if exact { 0.0 } else { UNDERFLOW });
        }
        if self.is_zero() || other.is_zero() {
            return Wide::ZERO;
        }
        let lows = self.lo * other.lo;
        let cross = self.hi.mul_add(other.lo, lows);
        let crosses = self.lo.mul_add(other.hi, cross);
        let correction = product_low + crosses;
        let (hi, lo) = fast_two_sum(product, correction);
        let rounding = U * (lows.abs() + cross.abs() + crosses.abs() + correction.abs());
        let propagated = self.hi.abs() * other.error + (other.hi.abs() + other.error) * self.error;
        // Above 2^-900 a part of the product exceeds UNDERFLOW, and spares the slow subnormal
        // addition.
        let underflow = if product.abs() >= TWO_PRODUCT_IS_EXACT_ABOVE {
            product.abs() * (U * U * U)
        } else {
            UNDERFLOW
        };
        Wide::ball(hi, lo, (propagated + rounding + underflow) * UPWARD)
    }
}

/// The range in which a quotient is formed without scaling: far from any overflow or underflow.
const QUOTIENT_RANGE: std::ops::RangeInclusive<f64> = power_of_two(-400)..=power_of_two(400);

/// The exponent of `x` within the normal range; subnormals and zero count as `2^-1023`.
fn exponent_of(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

impl Div for Wide {
    type Output = Wide;

    /// Long division: `q₀ = fl(a/b)`, then `q₁` from the remainder.
    ///
    /// With `x = a + a'`, `y = b + b'`, the remainder is `R = x - q₀y = (a - q₀b) + (a' - q₀b')`.
    /// The first bracket is exact, the second (`t`) and their sum (`r`) round, then `q₁ = fl(r/b)`
    /// rounds and has `b` for `y`. Hence `|x/y - q₀ - q₁| <= (u|t| + u|r|)/|y| + |r| |1/y - 1/b| +
    /// u|q₁|`, where `|t| <= 2u(1+2u)|a|` and `|1/y - 1/b| <= u(1+2u)/|b|`; this is below
    /// `4u|q₁| + 4u²|q₀|`, and `t = 0` if `a' = b' = 0`. For the radius,
    /// `|x/y - x₀/y₀| <= (e_x + |x₀/y₀| e_y) / (|y₀| - e_y)`.
    #[inline]
    fn div(self, other: Wide) -> Wide {
        if other.error >= other.hi.abs() {
            return Wide::WHOLE_LINE;
        }
        if self.is_zero() {
            return Wide::ZERO;
        }
        if self.is_wide() || other.is_wide() {
            return Wide::from_bounds(self.bounds() / other.bounds());
        }
        if !QUOTIENT_RANGE.contains(&self.hi.abs()) || !QUOTIENT_RANGE.contains(&other.hi.abs()) {
            let (m, n) = (exponent_of(self.hi), exponent_of(other.hi));
            return (self.times_power_of_two(-m) / other.times_power_of_two(-n))
                .times_power_of_two(m - n);
        }
        let quotient = self.hi / other.hi;
        let rest = (-quotient).mul_add(other.hi, self.hi) + (-quotient).mul_add(other.lo, self.lo);
        let correction = rest / other.hi;
        let (hi, lo) = fast_two_sum(quotient, correction);
        if self.lo == 0.0
            && other.lo == 0.0
            && correction == 0.0
            && self.error == 0.0
            && other.error == 0.0
        {
            return Wide { hi, lo, error: 0.0 };
        }
        // In this range what underflows is below 2^-200 of the quotient; the doubled constants hold
        // it.
        let rounding = 8.0 * U * correction.abs() + 8.0 * U * U * quotient.abs();
        // |y₀| - e_y >= |b| (1 - 2^-53 - 2^-20) and the quotient's own correction is far smaller.
        let propagated = (self.error + quotient.abs() * other.error)
            / (other.hi.abs() * (1.0 - WIDE_RATIO) - other.error);
        Wide::ball(hi, lo, (propagated + rounding) * UPWARD)
    }
}

impl Enclosure for Wide {
    #[inline]
    fn exactly(&self, value: f64) -> Self {
        Wide::exact(value)
    }

    fn precision(&self) -> u32 {
        96
    }

    fn bounds(&self) -> Bounds {
        if self.error == f64::INFINITY {
            return Bounds::WHOLE_LINE;
        }
        // hi + (lo ∓ error) as three parts with an exact sum, added from the small end.
        let (below, below_low) = two_sum(self.lo, -self.error);
        let (lower, lower_low) = two_sum(self.hi, below);
        let (above, above_low) = two_sum(self.lo, self.error);
        let (upper, upper_low) = two_sum(self.hi, above);
        Bounds::new(
            add_down(lower, add_down(lower_low, below_low)),
            add_up(upper, add_up(upper_low, above_low)),
        )
    }

    /// `exp(x₀ ± e) = exp(x₀) (1 ± (exp(e) - 1))`, with `exp(e) - 1 <= e (1 + e)` for `e <= 1`.
    fn exp(self) -> Self {
        // Below -720, so far into the subnormal results that the bounds are no worse.
        if self.error > WIDE_RATIO || self.hi > 709.78 || self.hi < -720.0 {
            return Wide::from_bounds(self.bounds().exp());
        }
        // A midpoint that the series cannot take, below 2^-600, becomes part of the radius.
        let (centre, error) = if self.hi.abs() < power_of_two(-600) {
            (Wide::ZERO, (self.hi.abs() + self.error) * UPWARD)
        } else {
            (self.centre(), self.error)
        };
        let (mantissa, exponent) = exp_scaled(centre);
        let propagated = mantissa.hi * error * (1.0 + 2.0 * WIDE_RATIO);
        let propagated = if error == 0.0 { 0.0 } else { propagated + UNDERFLOW };
        mantissa.widened(propagated).times_power_of_two(exponent).nonnegative()
    }

    fn exp_m1(self) -> Self {
        if self.is_wide() || self.error > WIDE_RATIO || self.hi > 709.78 {
            return Wide::from_bounds(self.bounds().exp_m1());
        }
        if self.hi.abs() < power_of_two(-600) {
            return self.nearly_itself();
        }
        if self.hi.abs() > 0.0108 {
            return self.exp() - Wide::ONE;
        }
        exp_m1_series(self)
    }

    /// With `y = fl(ln(hi))`, `ln(x) = y + ln(1 + d)` where `d = x exp(-y) - 1` is at most `2^-43`.
    /// Near one this would lose what cancels, and [`Enclosure::ln_1p`] of the exact `x - 1` is
    /// used.
    fn ln(self) -> Self {
        if self.hi <= 0.0 || self.is_wide() {
            return Wide::from_bounds(self.bounds().ln());
        }
        if (0.75..=1.5).contains(&self.hi) {
            return (self - Wide::ONE).ln_1p();
        }
        let y = core_math::log(self.hi);
        let (mantissa, exponent) = exp_scaled(Wide::exact(-y));
        let d = self.times_power_of_two(exponent) * mantissa - Wide::ONE;
        Wide::exact(y) + ln_1p_series(d)
    }

    /// With `y = fl(ln(1 + hi))`, `ln(1 + z) = y + ln(1 + d)` where `d = (1 + z) exp(-y) - 1`,
    /// formed as `z + (1 + z)(exp(-y) - 1)` from two terms of the size of `z`.
    fn ln_1p(self) -> Self {
        if self.is_wide() {
            return Wide::from_bounds(self.bounds().ln_1p());
        }
        if self.is_zero() {
            return self;
        }
        if !(self.hi > -0.9 && self.hi < 4.0) {
            return (self + Wide::ONE).ln();
        }
        if self.hi.abs() < power_of_two(-600) {
            return self.nearly_itself();
        }
        if self.hi.abs() < power_of_two(-60) {
            return ln_1p_series(self);
        }
        let y = core_math::log1p(self.hi);
        let centre = self.centre();
        let d = centre + (Wide::ONE + centre) * Wide::exact(-y).exp_m1();
        // The derivative is at most 1/(1 + z - e), and e <= 2^-20 |z| <= 2^-16.8 (1 + z) here.
        let propagated = self.error / (1.0 + self.hi) * (1.0 + power_of_two(-15));
        (Wide::exact(y) + ln_1p_series(d)).widened(propagated)
    }

    /// With `s = fl(√hi)` and `r = x - s²`, `√x = s + r/(√x + s)`; the correction is taken as
    /// `r/2s`.
    ///
    /// `|r| <= 3us²` gives a correction `c` of at most `1.5us`. It rounds twice, by `2u|c|`, and
    /// having `2s` for `√x + s` changes it by `c²/2s`: in all less than `5u²s`. The radius becomes
    /// `e/(√x + √(x - e)) <= e/2s (1 + 2^-19)`.
    fn sqrt(self) -> Self {
        if self.is_zero() {
            return Wide::ZERO;
        }
        if self.is_wide() || self.hi < 0.0 {
            return Wide::from_bounds(self.bounds().sqrt());
        }
        if self.hi < power_of_two(-600) {
            return self.times_power_of_two(600).sqrt().times_power_of_two(-300);
        }
        let root = self.hi.sqrt();
        let rest = (-root).mul_add(root, self.hi) + self.lo;
        let (hi, lo) = fast_two_sum(root, rest / (2.0 * root));
        if rest == 0.0 && self.error == 0.0 {
            return Wide { hi, lo, error: 0.0 };
        }
        let propagated = self.error / root * (0.5 + WIDE_RATIO);
        Wide::ball(hi, lo, (propagated + 8.0 * U * U * root) * UPWARD)
    }

    fn pi(&self) -> Self {
        Wide::PI
    }

    fn hull(self, other: Self) -> Self {
        let coarse = Wide::from_bounds(self.bounds().hull(other.bounds()));
        if coarse.is_wide() {
            return coarse;
        }
        let end = |of: Wide, side: f64| of.centre() + Wide::exact(side * of.error);
        let by_midpoint = |a: &Wide, b: &Wide| a.hi.total_cmp(&b.hi).then(a.lo.total_cmp(&b.lo));
        let (lower, lower_other) = (end(self, -1.0), end(other, -1.0));
        let (upper, upper_other) = (end(self, 1.0), end(other, 1.0));
        // The ends as computed may be off by their own radii; the largest of those covers the
        // choice.
        let slack = [lower, lower_other, upper, upper_other]
            .iter()
            .map(|end| end.error)
            .fold(0.0, f64::max);
        let lower =
            std::cmp::min_by(lower, lower_other, by_midpoint).centre().times_power_of_two(-1);
        let upper =
            std::cmp::max_by(upper, upper_other, by_midpoint).centre().times_power_of_two(-1);
        let half_width = (upper - lower).bounds().upper();
        (lower + upper).widened(half_width).widened(slack)
    }

    /// Exact unless a part becomes subnormal.
    fn times_power_of_two(self, exponent: i32) -> Self {
        // Past 2200 everything but zero overflows, or vanishes into the radius.
        let exponent = exponent.clamp(-2200, 2200);
        if !(-1022..=1022).contains(&exponent) {
            let half = exponent / 2;
            return self.times_power_of_two(half).times_power_of_two(exponent - half);
        }
        let (power, inverse) = (power_of_two(exponent), power_of_two(-exponent));
        let (hi, lo, error) = (self.hi * power, self.lo * power, self.error * power);
        if hi * inverse == self.hi && lo * inverse == self.lo && error * inverse == self.error {
            return Wide::ball(hi, lo, error);
        }
        let (hi, lo) = two_sum(hi, lo);
        Wide::ball(hi, lo, error + UNDERFLOW)
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        // Two points are equal or not; otherwise the bounds decide what is far apart (and their
        // difference could overflow), the difference what is close.
        let points = self.error == 0.0 && other.error == 0.0;
        if points && self.hi == other.hi && self.lo == other.lo {
            return Some(Ordering::Equal);
        }
        self.bounds().compare(&other.bounds()).filter(|order| order.is_ne()).or_else(|| {
            let difference = (*self - *other).bounds();
            if difference.lower() > 0.0 {
                Some(Ordering::Greater)
            } else if difference.upper() < 0.0 {
                Some(Ordering::Less)
            } else {
                None
            }
        })
    }
}

#[cfg(test)]
mod tests;
