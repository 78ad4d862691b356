//! The regularised incomplete gamma functions, at any precision and in `f64`.
//!
//! ```text
//! P(a, x) = 1/Γ(a) integral_0^x   t^(a-1) e^-t dt       increasing in x, decreasing in a
//! Q(a, x) = 1/Γ(a) integral_x^inf t^(a-1) e^-t dt       = 1 - P(a, x)
//! ```
//!
//! They are the distribution function and the tail of the gamma distribution, and with it of every
//! generalised Gaussian: `|Z|^p` of a density proportional to `exp(-|z|^p)` is a gamma variable of
//! shape `1/p`.
//!
//! The generic functions take any [`Enclosure`]; [`gamma_p`], [`gamma_q`] and their logarithms take
//! [`Bounds`] and guarantee a width.

use crate::gamma::ln_gamma_to;
use crate::incomplete_gamma_sums::{ascending_sum, descending_sum};
use crate::{Bounds, Enclosure, Wide};

/// `P(a, x)` and `Q(a, x)` of one shape `a > 0`: what depends on `a` only is computed once.
///
/// # Error
/// Every result holds the exact value. Its relative width is about `2^-precision` times the largest
/// of
///
/// - `|a ln x|`, `x` and `z ln z` with `z = max(a, precision/4)`, from the exponent of
///   `x^a e^-x / Γ(a+1)`;
/// - `1/Q(a, x)`, for `Q` and `ln P`, where `x` is at most `3 + precision/50` or at most `a`: there
///   `Q = 1 - P` is what is computed. This is a matter of a few bits unless `a` is tiny, `Q` being
///   about `a ln(1/x)`.
///
/// Arguments out of range, or so large that the sums would not end (`a` beyond `10^9` with `x` near
/// it), give `[0, 1]`, or the whole line for a logarithm.
#[derive(Clone, Debug)]
pub struct RegularizedGamma<E> {
    shape: E,
    /// `ln Γ(a+1)`
    ln_gamma_above: E,
    /// The relative truncation error allowed is `2^-bits`.
    bits: u32,
}

/// Which sum is the accurate one.
enum Side {
    /// `x` is small: `P` from [`ascending_sum`].
    Lower,
    /// `x` is large: `Q` from [`descending_sum`].
    Upper,
    /// Outside the domain.
    Unknown,
}

impl<E: Enclosure> RegularizedGamma<E> {
    /// The functions of shape `a > 0`, to the precision of `shape`.
    pub fn new(shape: E) -> Self {
        let bits = shape.precision();
        RegularizedGamma::truncated_at(shape, bits)
    }

    fn truncated_at(shape: E, bits: u32) -> Self {
        // 1 - P may lose a third of the bits, see `complementary_sum`.
        let ln_gamma_above = ln_gamma_to(
            &(shape.clone() + shape.exactly(1.0)),
            (bits + bits / 3).min(shape.precision()),
        );
        RegularizedGamma { shape, ln_gamma_above, bits }
    }

    /// `P(a, x)` for `x >= 0`.
    pub fn lower(&self, x: &E) -> E {
        if let Some(x_upper) = self.upper_end_if_touching_zero(x) {
            return x.exactly(0.0).hull(if x_upper == 0.0 {
                x.exactly(0.0)
            } else {
                self.lower(&x.exactly(x_upper))
            });
        }
        part_of_unit_interval(match self.side(x) {
            Side::Lower => self.weight(x) * ascending_sum(&self.shape, x, self.bits),
            Side::Upper => x.exactly(1.0) - self.upper_from_tail(x),
            Side::Unknown => x.between(0.0, 1.0),
        })
    }

    /// `Q(a, x)` for `x >= 0`.
    pub fn upper(&self, x: &E) -> E {
        if let Some(x_upper) = self.upper_end_if_touching_zero(x) {
            return x.exactly(1.0).hull(if x_upper == 0.0 {
                x.exactly(1.0)
            } else {
                self.upper(&x.exactly(x_upper))
            });
        }
        part_of_unit_interval(match self.side(x) {
            Side::Lower => x.exactly(1.0) - self.weight(x) * self.complementary_sum(x),
            Side::Upper => self.upper_from_tail(x),
            Side::Unknown => x.between(0.0, 1.0),
        })
    }

    /// `ln P(a, x)` for `x > 0`, also where `P` is below every `f64`.
    pub fn ln_lower(&self, x: &E) -> E {
        match self.side(x) {
            Side::Lower => self.ln_weight(x) + self.complementary_sum(x).ln(),
            Side::Upper => (-self.upper_from_tail(x)).ln_1p(),
            Side::Unknown => x.exactly(f64::INFINITY),
        }
    }

    /// `ln Q(a, x)` for `x > 0`, also where `Q` is below every `f64`.
    pub fn ln_upper(&self, x: &E) -> E {
        match self.side(x) {
            Side::Lower => (-(self.weight(x) * self.complementary_sum(x))).ln_1p(),
            Side::Upper => {
                let sum =
                    self.shape.clone() * descending_sum(&self.shape, x, self.bits) / x.clone();
                self.ln_weight(x) + sum.ln()
            }
            Side::Unknown => x.exactly(f64::INFINITY),
        }
    }

    /// The upper end of an `x` that may be zero; there the logarithm of `x` says nothing, but both
    /// functions are monotone.
    fn upper_end_if_touching_zero(&self, x: &E) -> Option<f64> {
        let near = x.bounds();
        (near.lower() <= 0.0 && near.upper() >= 0.0 && near.upper() < f64::INFINITY)
            .then_some(near.upper())
    }

    fn side(&self, x: &E) -> Side {
        let (a, x) = (self.shape.bounds(), x.bounds());
        // Phrased so that an infinity fails the test.
        if !(a.lower() > 0.0
            && x.lower() > 0.0
            && a.upper() < f64::INFINITY
            && x.upper() < f64::INFINITY)
        {
            return Side::Unknown;
        }
        // The fraction behind Q converges slowly for small x, in `bits^2 / 33 x` levels, while 1 -
        // P loses `x / ln 2` bits there.
        let crossover = 3.0 + f64::from(self.bits.min(10_000)) / 50.0;
        if x.lower() > a.upper().max(crossover) { Side::Upper } else { Side::Lower }
    }

    /// `ln(x^a e^-x / Γ(a+1))`
    fn ln_weight(&self, x: &E) -> E {
        self.shape.clone() * x.clone().ln() - x.clone() - self.ln_gamma_above.clone()
    }

    /// `x^a e^-x / Γ(a+1)`
    fn weight(&self, x: &E) -> E {
        self.ln_weight(x).exp()
    }

    fn upper_from_tail(&self, x: &E) -> E {
        // The weight may be close to underflow: it is the last factor.
        self.weight(x)
            * (self.shape.clone() * descending_sum(&self.shape, x, self.bits) / x.clone())
    }

    /// The sum in `P`, accurate enough for `1 - P` to have the bits asked for: as many more as
    /// `1/Q` has. For `x > a` that is at most `x / ln 2 + log2(1/a)` and a few.
    fn complementary_sum(&self, x: &E) -> E {
        let (a, x_middle) = (self.shape.bounds().estimate(), x.bounds().estimate());
        let lost_to_tail = if x_middle > a { 1.45 * x_middle } else { 0.0 };
        let lost_to_shape = (1.0 / a).log2().clamp(0.0, 1100.0);
        let more = (lost_to_tail + lost_to_shape).ceil() as u32 + 3;
        ascending_sum(&self.shape, x, (self.bits + more).min(self.shape.precision().max(self.bits)))
    }
}

/// Keeps a result that lost all its digits to what is known anyway.
fn part_of_unit_interval<E: Enclosure>(probability: E) -> E {
    let near = probability.bounds();
    if near.lower() < -1.0 || near.upper() > 2.0 {
        probability.between(0.0, 1.0)
    } else {
        probability
    }
}

/// `P(a, x)` for `a > 0`, `x >= 0`; see [`RegularizedGamma`] for the error.
pub fn lower_regularized<E: Enclosure>(a: &E, x: &E) -> E {
    RegularizedGamma::new(a.clone()).lower(x)
}

/// `Q(a, x)` for `a > 0`, `x >= 0`; see [`RegularizedGamma`] for the error.
pub fn upper_regularized<E: Enclosure>(a: &E, x: &E) -> E {
    RegularizedGamma::new(a.clone()).upper(x)
}

/// `ln P(a, x)` for `a > 0`, `x > 0`; see [`RegularizedGamma`] for the error.
pub fn ln_lower_regularized<E: Enclosure>(a: &E, x: &E) -> E {
    RegularizedGamma::new(a.clone()).ln_lower(x)
}

/// `ln Q(a, x)` for `a > 0`, `x > 0`; see [`RegularizedGamma`] for the error.
pub fn ln_upper_regularized<E: Enclosure>(a: &E, x: &E) -> E {
    RegularizedGamma::new(a.clone()).ln_upper(x)
}

/// `P(a, x)` and `Q(a, x)` in `f64`, for one exactly known shape `a` and many `x`.
///
/// # Guarantee
/// For `10^-3 <= a <= 10^5` and any exact `x`, the relative width of a result is at most `10^-14`:
/// of `P` and of `Q` where the exact value is a normal `f64`, of `ln P` where `Q` is at least
/// `10^-300`, and of `ln Q` where `P` is. Measured, the widths are two units in the last place.
/// Elsewhere the results hold the exact value all the same.
#[derive(Clone, Debug)]
pub struct GammaTails(RegularizedGamma<Wide>);

impl GammaTails {
    /// Ten bits beyond those of `f64`: what is left out does not show.
    const BITS: u32 = 60;

    /// The functions of shape `a > 0`.
    pub fn new(shape: f64) -> Self {
        GammaTails(RegularizedGamma::truncated_at(Wide::exact(shape), GammaTails::BITS))
    }

    /// `P(a, x)` for every `x >= 0` of the interval.
    pub fn lower(&self, x: Bounds) -> Bounds {
        monotone(x, Bounds::ZERO, Bounds::ONE, |x| {
            above_underflow(self.0.lower(x), || self.0.ln_lower(x))
        })
        .clamp(0.0, 1.0)
    }

    /// `Q(a, x)` for every `x >= 0` of the interval.
    pub fn upper(&self, x: Bounds) -> Bounds {
        monotone(x, Bounds::ONE, Bounds::ZERO, |x| {
            above_underflow(self.0.upper(x), || self.0.ln_upper(x))
        })
        .clamp(0.0, 1.0)
    }

    /// `ln P(a, x)` for every `x >= 0` of the interval; unbounded below at zero.
    pub fn ln_lower(&self, x: Bounds) -> Bounds {
        monotone(x, below_every_number(), Bounds::ZERO, |x| self.0.ln_lower(x).bounds())
            .clamp(f64::NEG_INFINITY, 0.0)
    }

    /// `ln Q(a, x)` for every `x >= 0` of the interval.
    pub fn ln_upper(&self, x: Bounds) -> Bounds {
        monotone(x, Bounds::ZERO, below_every_number(), |x| self.0.ln_upper(x).bounds())
            .clamp(f64::NEG_INFINITY, 0.0)
    }
}

/// Near the subnormal numbers [`Wide`] has fewer bits; there the value is taken from its logarithm,
/// away from them, and moved back by a power of two.
fn above_underflow(value: Wide, logarithm: impl FnOnce() -> Wide) -> Bounds {
    const AWAY: i32 = 400;
    let near = value.bounds();
    if near.upper() > 1e-280 || near.upper() <= 0.0 {
        return near;
    }
    let away = (logarithm() + Wide::LN_2 * Wide::exact(f64::from(AWAY))).exp().bounds();
    near.intersect(away.times_power_of_two(-AWAY))
}

/// The logarithm of a number that is zero, or as small as one likes.
fn below_every_number() -> Bounds {
    Bounds::new(f64::NEG_INFINITY, f64::MIN)
}

/// A monotone function on an interval of non-negative numbers, from its values at the ends;
/// `at_zero` and `at_infinity` are its limits.
fn monotone(
    x: Bounds,
    at_zero: Bounds,
    at_infinity: Bounds,
    function: impl Fn(&Wide) -> Bounds,
) -> Bounds {
    if x.upper() < 0.0 {
        return Bounds::WHOLE_LINE;
    }
    let at = |end: f64| {
        if end <= 0.0 {
            at_zero
        } else if end == f64::INFINITY {
            at_infinity
        } else {
            function(&Wide::exact(end))
        }
    };
    let first = at(x.lower());
    if x.is_exact() { first } else { first.hull(at(x.upper())) }
}

/// A function that is monotone in `a`, on an interval of `a`, from its values at the ends.
fn monotone_in_shape(a: Bounds, function: impl Fn(GammaTails) -> Bounds) -> Bounds {
    if !(a.lower() > 0.0 && a.upper() < f64::INFINITY) {
        return Bounds::WHOLE_LINE;
    }
    let first = function(GammaTails::new(a.lower()));
    if a.is_exact() { first } else { first.hull(function(GammaTails::new(a.upper()))) }
}

/// `P(a, x)` for `a > 0`, `x >= 0`, in `f64`: [`GammaTails`] has the guarantee, and is the way to
/// evaluate many `x`.
pub fn gamma_p(a: Bounds, x: Bounds) -> Bounds {
    monotone_in_shape(a, |tails| tails.lower(x)).clamp(0.0, 1.0)
}

/// `Q(a, x)` for `a > 0`, `x >= 0`, in `f64`: [`GammaTails`] has the guarantee, and is the way to
/// evaluate many `x`.
pub fn gamma_q(a: Bounds, x: Bounds) -> Bounds {
    monotone_in_shape(a, |tails| tails.upper(x)).clamp(0.0, 1.0)
}

/// `ln P(a, x)` for `a > 0`, `x > 0`, in `f64`: [`GammaTails`] has the guarantee, and is the way to
/// evaluate many `x`.
pub fn ln_gamma_p(a: Bounds, x: Bounds) -> Bounds {
    monotone_in_shape(a, |tails| tails.ln_lower(x)).clamp(f64::NEG_INFINITY, 0.0)
}

/// `ln Q(a, x)` for `a > 0`, `x >= 0`, in `f64`: [`GammaTails`] has the guarantee, and is the way
/// to evaluate many `x`.
pub fn ln_gamma_q(a: Bounds, x: Bounds) -> Bounds {
    monotone_in_shape(a, |tails| tails.ln_upper(x)).clamp(f64::NEG_INFINITY, 0.0)
}
