//! Intervals of `f64`, rounded outward.

use crate::Enclosure;
use crate::rounding::*;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A lower and an upper bound on a real number: what every certified figure is reported as.
///
/// `lower <= upper`, neither is a NaN. A lower bound of `-inf` or an upper bound of `inf` says
/// nothing about that side. What is charged against a budget is the `upper` of a loss.
#[derive(Clone, Copy, PartialEq)]
pub struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// Nothing is known: the whole line.
    pub const WHOLE_LINE: Bounds = Bounds { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// Exactly zero.
    pub const ZERO: Bounds = Bounds { lower: 0.0, upper: 0.0 };

    /// Exactly one.
    pub const ONE: Bounds = Bounds { lower: 1.0, upper: 1.0 };

    /// The interval from `lower` to `upper`. Bounds in the wrong order, or a NaN, say nothing, and
    /// so become the whole line.
    #[inline]
    pub fn new(lower: f64, upper: f64) -> Self {
        // Phrased so that a NaN fails the test.
        if lower <= upper { Bounds { lower, upper } } else { Bounds::WHOLE_LINE }
    }

    /// The single number `value`; the whole line for a NaN or an infinity.
    #[inline]
    pub fn exact(value: f64) -> Self {
        if value.is_finite() { Bounds { lower: value, upper: value } } else { Bounds::WHOLE_LINE }
    }

    /// The lower bound.
    #[inline]
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper bound.
    #[inline]
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// A number inside, for display and for steering a search; it proves nothing.
    #[inline]
    pub fn estimate(&self) -> f64 {
        let middle = 0.5 * self.lower + 0.5 * self.upper;
        if middle.is_nan() { 0.0 } else { middle }
    }

    /// Whether the two bounds are the same finite number.
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }

    /// Whether both bounds are finite.
    #[inline]
    pub fn is_finite(&self) -> bool {
        self.lower.is_finite() && self.upper.is_finite()
    }

    /// Whether `value` lies between the bounds.
    #[inline]
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// `upper - lower`, rounded up.
    #[inline]
    pub fn width(&self) -> f64 {
        sub_up(self.upper, self.lower)
    }

    /// The width over the smallest magnitude inside; zero for an exact number and infinite where
    /// the interval touches zero or is unbounded.
    pub fn relative_width(&self) -> f64 {
        if self.is_exact() {
            return 0.0;
        }
        let least = if self.lower > 0.0 {
            self.lower
        } else if self.upper < 0.0 {
            -self.upper
        } else {
            0.0
        };
        if least == 0.0 || !self.is_finite() { f64::INFINITY } else { div_up(self.width(), least) }
    }

    /// The part inside `[lower, upper]`, for a number that is known on other grounds to lie there.
    /// Where the two do not meet, one of the two claims is wrong, and the whole line is returned.
    pub fn clamp(self, lower: f64, upper: f64) -> Self {
        Bounds::new(self.lower.max(lower), self.upper.min(upper))
    }

    /// The numbers common to both: two independent proofs about the same number.
    pub fn intersect(self, other: Bounds) -> Self {
        self.clamp(other.lower, other.upper)
    }

    /// An enclosure of a function that is increasing on the interval, from its value at the ends.
    #[inline]
    pub fn map_increasing(self, down: impl Fn(f64) -> f64, up: impl Fn(f64) -> f64) -> Self {
        Bounds::new(down(self.lower), up(self.upper))
    }

    /// An enclosure of a function that is decreasing on the interval, from its value at the ends.
    #[inline]
    pub fn map_decreasing(self, down: impl Fn(f64) -> f64, up: impl Fn(f64) -> f64) -> Self {
        Bounds::new(down(self.upper), up(self.lower))
    }

    /// The square, which is never negative.
    pub fn square(self) -> Self {
        let product = self * self;
        Bounds::new(product.lower.max(0.0), product.upper)
    }

    /// The absolute value.
    pub fn abs(self) -> Self {
        if self.lower >= 0.0 {
            self
        } else if self.upper <= 0.0 {
            -self
        } else {
            Bounds::new(0.0, self.upper.max(-self.lower))
        }
    }
}

impl fmt::Debug for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:e}, {:e}]", self.lower, self.upper)
    }
}

impl From<f64> for Bounds {
    fn from(value: f64) -> Self {
        Bounds::exact(value)
    }
}

impl Neg for Bounds {
    type Output = Bounds;
    #[inline]
    fn neg(self) -> Bounds {
        Bounds { lower: -self.upper, upper: -self.lower }
    }
}

impl Add for Bounds {
    type Output = Bounds;
    #[inline]
    fn add(self, other: Bounds) -> Bounds {
        Bounds { lower: add_down(self.lower, other.lower), upper: add_up(self.upper, other.upper) }
    }
}

impl Sub for Bounds {
    type Output = Bounds;
    #[inline]
    fn sub(self, other: Bounds) -> Bounds {
        self + -other
    }
}

impl Mul for Bounds {
    type Output = Bounds;
    #[inline]
    fn mul(self, other: Bounds) -> Bounds {
        if self.lower >= 0.0 && other.lower >= 0.0 {
            return Bounds {
                lower: mul_down(self.lower, other.lower),
                upper: mul_up(self.upper, other.upper),
            };
        }
        let corners = [
            (self.lower, other.lower),
            (self.lower, other.upper),
            (self.upper, other.lower),
            (self.upper, other.upper),
        ];
        Bounds {
            lower: corners.iter().map(|&(a, b)| mul_down(a, b)).fold(f64::INFINITY, f64::min),
            upper: corners.iter().map(|&(a, b)| mul_up(a, b)).fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl Div for Bounds {
    type Output = Bounds;
    #[inline]
    fn div(self, other: Bounds) -> Bounds {
        if other.lower <= 0.0 && other.upper >= 0.0 {
            return Bounds::WHOLE_LINE;
        }
        if self.lower >= 0.0 && other.lower > 0.0 {
            return Bounds::new(div_down(self.lower, other.upper), div_up(self.upper, other.lower));
        }
        let corners = [
            (self.lower, other.lower),
            (self.lower, other.upper),
            (self.upper, other.lower),
            (self.upper, other.upper),
        ];
        Bounds::new(
            corners.iter().map(|&(a, b)| div_down(a, b)).fold(f64::INFINITY, f64::min),
            corners.iter().map(|&(a, b)| div_up(a, b)).fold(f64::NEG_INFINITY, f64::max),
        )
    }
}

impl Enclosure for Bounds {
    #[inline]
    fn exactly(&self, value: f64) -> Self {
        Bounds::exact(value)
    }

    fn precision(&self) -> u32 {
        f64::MANTISSA_DIGITS
    }

    #[inline]
    fn bounds(&self) -> Bounds {
        *self
    }

    #[inline]
    fn exp(self) -> Self {
        self.map_increasing(exp_down, exp_up)
    }

    #[inline]
    fn exp_m1(self) -> Self {
        self.map_increasing(exp_m1_down, exp_m1_up)
    }

    #[inline]
    fn ln(self) -> Self {
        if self.lower < 0.0 { Bounds::WHOLE_LINE } else { self.map_increasing(ln_down, ln_up) }
    }

    #[inline]
    fn ln_1p(self) -> Self {
        if self.lower < -1.0 {
            Bounds::WHOLE_LINE
        } else {
            self.map_increasing(ln_1p_down, ln_1p_up)
        }
    }

    #[inline]
    fn sqrt(self) -> Self {
        // The number itself is not negative; a lower bound may be, by rounding.
        if self.upper < 0.0 {
            Bounds::WHOLE_LINE
        } else {
            Bounds::new(sqrt_down(self.lower.max(0.0)), sqrt_up(self.upper))
        }
    }

    fn pi(&self) -> Self {
        // std's PI is the f64 just below.
        Bounds { lower: std::f64::consts::PI, upper: std::f64::consts::PI.next_up() }
    }

    #[inline]
    fn hull(self, other: Self) -> Self {
        Bounds { lower: self.lower.min(other.lower), upper: self.upper.max(other.upper) }
    }

    fn times_power_of_two(self, exponent: i32) -> Self {
        if (-1022..=1022).contains(&exponent) {
            let power = f64::from_bits(((exponent + 1023) as u64) << 52);
            let inverse = f64::from_bits(((1023 - exponent) as u64) << 52);
            let scale = |x: f64, moved: fn(f64, f64) -> f64| {
                // A result that scales back to where it came from lost nothing.
                let scaled = x * power;
                if scaled * inverse == x { scaled } else { moved(x, power) }
            };
            Bounds { lower: scale(self.lower, mul_down), upper: scale(self.upper, mul_up) }
        } else {
            let half = exponent / 2;
            // Past the range of f64 both steps saturate; the recursion is as deep as the exponent
            // is long.
            self.times_power_of_two(half).times_power_of_two(exponent - half)
        }
    }

    #[inline]
    fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.upper < other.lower {
            Some(Ordering::Less)
        } else if self.lower > other.upper {
            Some(Ordering::Greater)
        } else if self.is_exact() && self == other {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    #[inline]
    fn pow(self, exponent: f64) -> Self {
        if !(self.lower >= 0.0 && exponent.is_finite()) || (self.lower == 0.0 && exponent < 0.0) {
            return Bounds::WHOLE_LINE;
        }
        if exponent >= 0.0 {
            self.map_increasing(|x| pow_down(x, exponent), |x| pow_up(x, exponent))
        } else {
            self.map_decreasing(|x| pow_down(x, exponent), |x| pow_up(x, exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_becomes_the_whole_line_and_never_a_number() {
        let line = Bounds::WHOLE_LINE;
        assert_eq!(Bounds::new(f64::NAN, 1.0), line);
        assert_eq!(Bounds::new(0.0, f64::NAN), line);
        assert_eq!(Bounds::new(2.0, 1.0), line);
        assert_eq!(Bounds::exact(f64::INFINITY), line);
        assert_eq!(Bounds::ONE / Bounds::new(-1.0, 1.0), line);
        assert_eq!(Bounds::new(-1.0, 2.0).ln(), line);
        assert_eq!(Bounds::exact(1.0).clamp(2.0, 3.0), line);
        assert_eq!(Bounds::new(-1.0, 1.0).pow(0.5), line);
    }

    #[test]
    fn products_of_mixed_sign_take_the_extreme_corner() {
        let product = Bounds::new(-2.0, 3.0) * Bounds::new(-5.0, 4.0);
        assert_eq!(product, Bounds::new(-15.0, 12.0));
        assert_eq!(Bounds::new(-2.0, 3.0).square(), Bounds::new(0.0, 9.0));
        assert_eq!(Bounds::new(1.0, 2.0) / Bounds::new(-4.0, -2.0), Bounds::new(-1.0, -0.25));
    }

    #[test]
    fn integers_beyond_the_mantissa_are_enclosed() {
        let big = (1i128 << 90) + 1;
        let bounds = Bounds::ONE.integer(-big);
        assert!(bounds.lower() <= -(2f64.powi(90)) && bounds.upper() >= -(2f64.powi(90)));
        assert!(!bounds.is_exact());
        assert_eq!(Bounds::ONE.integer(12345), Bounds::exact(12345.0));
    }

    #[test]
    fn scaling_by_powers_of_two_is_exact_inside_the_range() {
        assert_eq!(Bounds::exact(3.0).times_power_of_two(-4), Bounds::exact(0.1875));
        assert_eq!(
            Bounds::exact(1e-300).times_power_of_two(1500).times_power_of_two(-1500),
            Bounds::exact(1e-300)
        );
        let gone = Bounds::ONE.times_power_of_two(-3000);
        assert!(gone.lower() == 0.0 && gone.upper() > 0.0);
    }
}
