//! The error function and the normal distribution, within a few units in the last place.
//!
//! Notation: `φ(x) = exp(-x²/2)/√(2π)`, `Q(x) = ∫_x^∞ φ = erfc(x/√2)/2`, `Φ(x) = Q(-x)`, Mills'
//! ratio `Q/φ`.
//!
//! Every function takes an `f64`, meant exactly, or [`Bounds`], and returns bounds on the value or
//! on all values in between. An infinite argument stands for the limit; a NaN says nothing, and the
//! result is then the range of the function. The widths guaranteed are those above `1e-290`; they
//! grow to `4e-15` at the end of the normal range, and to sixteen times the least subnormal below
//! it.
//!
//! CORE-MATH gives `erfc` and `exp` correctly rounded. What remains is that their arguments are not
//! `f64`: `erfc(x/√2)` changes by a relative `x²` times the relative change of its argument, which
//! is a thousand units in the last place at the far end. So the argument is carried as a pair, and
//! the effect of its low part is added to first order.

use crate::Bounds;
use crate::rounding::{neighbours, two_product};
use std::f64::consts::FRAC_1_SQRT_2;

/// What the functions of one real number here accept: an exact `f64`, or bounds on the number.
pub trait Argument: Copy {
    /// The least and the greatest value of the argument, in order and without NaN.
    fn ends(self) -> (f64, f64);
}

impl Argument for f64 {
    #[inline]
    fn ends(self) -> (f64, f64) {
        if self.is_nan() { (f64::NEG_INFINITY, f64::INFINITY) } else { (self, self) }
    }
}

impl Argument for Bounds {
    #[inline]
    fn ends(self) -> (f64, f64) {
        (self.lower(), self.upper())
    }
}

/// The range of an increasing function over an argument, from the function at the ends.
#[inline]
pub(crate) fn increasing(argument: impl Argument, at: impl Fn(f64) -> Bounds) -> Bounds {
    let (low, high) = argument.ends();
    if low == high { at(low) } else { Bounds::new(at(low).lower(), at(high).upper()) }
}

/// The range of a decreasing function over an argument, from the function at the ends.
#[inline]
pub(crate) fn decreasing(argument: impl Argument, at: impl Fn(f64) -> Bounds) -> Bounds {
    let (low, high) = argument.ends();
    if low == high { at(low) } else { Bounds::new(at(high).lower(), at(low).upper()) }
}

/// `erf(x) = 2/√π ∫_0^x exp(-t²) dt`, between the neighbours of the correctly rounded value.
pub fn erf(x: impl Argument) -> Bounds {
    increasing(x, |x| {
        let (down, up) = neighbours(core_math::erf(x), x == 0.0 || x.is_infinite());
        Bounds::new(down.max(-1.0), up.min(1.0))
    })
}

/// `erfc(x) = 1 - erf(x)`, between the neighbours of the correctly rounded value.
pub fn erfc(x: impl Argument) -> Bounds {
    decreasing(x, |x| {
        let (down, up) = neighbours(core_math::erfc(x), x == 0.0 || x.is_infinite());
        Bounds::new(down.max(0.0), up.min(2.0))
    })
}

/// `exp(x²) erfc(x)`, which decreases like `1/(x√π)`; relative width below `1.4e-15`, infinite
/// upper bound where the value is above the range of `f64` (`x < -26.6`).
pub fn erfcx(x: impl Argument) -> Bounds {
    decreasing(x, erfcx_at)
}

/// Mills' ratio `Q(x)/φ(x) = √(π/2) erfcx(x/√2)`, which decreases like `1/x`; relative width below
/// `2e-15`, infinite upper bound where the value is above the range of `f64` (`x < -37.6`).
pub fn mills_ratio(x: impl Argument) -> Bounds {
    decreasing(x, mills_ratio_at)
}

/// The density `φ(x) = exp(-x²/2)/√(2π)`; relative width below `1.2e-15`.
pub fn normal_density(x: impl Argument) -> Bounds {
    let (low, high) = x.ends();
    let magnitude = if low >= 0.0 {
        (low, high)
    } else if high <= 0.0 {
        (-high, -low)
    } else {
        (0.0, high.max(-low))
    };
    let nearest = density_at(magnitude.0);
    if magnitude.0 == magnitude.1 {
        nearest
    } else {
        Bounds::new(density_at(magnitude.1).lower(), nearest.upper())
    }
}

/// The distribution function `Φ(x)`; relative width below `1e-15`.
pub fn normal_cdf(x: impl Argument) -> Bounds {
    increasing(x, |x| upper_tail_at(-x))
}

/// The upper tail `Q(x) = 1 - Φ(x)`; relative width below `1e-15`.
pub fn normal_sf(x: impl Argument) -> Bounds {
    decreasing(x, upper_tail_at)
}

/// `ln Φ(x)`; relative width below `1.6e-15` at both ends of the line, also where `Φ(x)` itself is
/// far below the range of `f64`. Lower bound `-inf` for `x < -1.8e154`.
pub fn ln_normal_cdf(x: impl Argument) -> Bounds {
    increasing(x, |x| ln_upper_tail_at(-x))
}

/// `ln Q(x)`, see [`ln_normal_cdf`].
pub fn ln_normal_sf(x: impl Argument) -> Bounds {
    decreasing(x, ln_upper_tail_at)
}

/// The unit roundoff `u = 2^-53`.
pub(crate) const U: f64 = 0.5 * f64::EPSILON;

/// Below this, intermediate results may have been subnormal.
const NEAR_UNDERFLOW: f64 = f64::MIN_POSITIVE / U;

/// From here on (with room) `Q(x)` and `φ(x)` are below the least subnormal.
const TAIL_VANISHES: f64 = 39.0;

/// From here on the asymptotic series of [`asymptotic_sum`] is used.
const ASYMPTOTIC_FROM: f64 = 20.0;

/// `1/√2` is `FRAC_1_SQRT_2` plus this, to a relative `2^-106`.
const INVERSE_ROOT_2_LOW: f64 = -4.833646656726457e-17;

/// `1/√(2π)`, and the relative error of that `f64`.
const INVERSE_ROOT_2_PI: (f64, f64) = (0.3989422804014327, -6.247337834861335e-17);

/// `√(π/2)`, and the relative error of that `f64`.
const ROOT_HALF_PI: (f64, f64) = (1.2533141373155003, -7.312045493924426e-17);

const INVERSE_ROOT_PI: f64 = 0.5641895835477563;

/// `ln √(2π)`.
const LN_ROOT_2_PI: f64 = 0.9189385332046728;

/// A number from its approximation `value >= 0`, right to a relative `(units - 1) u`: the last unit
/// pays for the rounding here. Among the subnormals, right to four times the least of them as well.
#[inline]
fn around(value: f64, units: f64) -> Bounds {
    let margin = value * (units * U);
    if value >= NEAR_UNDERFLOW {
        Bounds::new(value - margin, value + margin)
    } else {
        let margin = margin + 4.0 * f64::from_bits(1);
        Bounds::new((value - margin).max(0.0), value + margin)
    }
}

/// What is known of a value whose approximation, right to a few units in the last place, is above
/// `1e308`.
fn overflowed() -> Bounds {
    Bounds::new(9.9e307, f64::INFINITY)
}

/// `Q(x)` right to a relative `2.5u` (and to `2^-1073`), for `0 <= x < 39`.
///
/// With `x/√2 = z + δ`, `|δ| <= 2uz`: the logarithmic derivative of `erfc` is `-R`,
/// `z + √(z² + 4/π) <= R(z) <= z + √(z² + 2)` for `z >= 0` (Abramowitz and Stegun 7.1.13), and
/// `0 < R' < 2`. Hence `erfc(z + δ) = erfc(z)(1 - δR)` up to a relative `δ² + (δR)² < 2^-80`. With
/// the number between `4/π` and 2 halfway instead of either, `R` is off by at most `0.364/2z`,
/// which is `0.37u` in the result; `erfc` and the last operation round by `u` each.
#[inline]
pub(crate) fn upper_tail_value(x: f64) -> f64 {
    let (z, low) = two_product(x, FRAC_1_SQRT_2);
    let delta = x.mul_add(INVERSE_ROOT_2_LOW, low);
    let tail = 0.5 * core_math::erfc(z);
    let slope = z + z.mul_add(z, 1.6366).sqrt();
    (-tail).mul_add(delta * slope, tail)
}

fn upper_tail_at(x: f64) -> Bounds {
    if x > 0.0 {
        if x < TAIL_VANISHES {
            around(upper_tail_value(x), 3.5)
        } else {
            Bounds::new(0.0, if x.is_infinite() { 0.0 } else { f64::from_bits(1) })
        }
    } else if x == 0.0 {
        Bounds::exact(0.5)
    } else if x.is_infinite() {
        Bounds::ONE
    } else {
        // erfc is between 1 and 2 and changes by at most 2/√π exp(-z²) |δ| <= 0.97u; it rounds by
        // u.
        let bounds = around(0.5 * core_math::erfc(x * FRAC_1_SQRT_2), 3.25);
        Bounds::new(bounds.lower(), bounds.upper().min(1.0))
    }
}

/// `exp(-x²/2)` at the exact square `h + l`: `exp(-h)(1 - l)` up to `l² < 2^-80`. Three roundings
/// (exp, product and sum) and the constant's own error, which is taken into account.
fn density_at(x: f64) -> Bounds {
    if x >= TAIL_VANISHES {
        return Bounds::new(0.0, if x.is_infinite() { 0.0 } else { f64::from_bits(1) });
    }
    let (h, l) = two_product(0.5 * x, x);
    let density = core_math::exp(-h) * INVERSE_ROOT_2_PI.0;
    around(density.mul_add(INVERSE_ROOT_2_PI.1 - l, density), 4.25)
}

/// `1 - y + 3y² - 15y³ ± ... + 19!! y^10` for `0 <= y <= 1/400`: with `y = 1/x²`, the asymptotic
/// series of `x Q(x)/φ(x)`, right to a relative `1.1u`.
///
/// For positive `x` the error of a partial sum is less than the first omitted term and has its sign
/// (Abramowitz and Stegun 7.1.24): `21!!/400^11 < 0.003u`. The roundings inside are multiplied by
/// `y`; only the last counts.
#[inline]
fn asymptotic_sum(y: f64) -> f64 {
    [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0]
        .iter()
        .fold(1.0, |sum: f64, k: &f64| (-k * y).mul_add(sum, 1.0))
}

/// Mills' ratio right to a relative `2.1u`, for `x >= 20`.
#[inline]
fn asymptotic_mills_ratio(x: f64) -> f64 {
    asymptotic_sum(1.0 / (x * x)) / x
}

fn mills_ratio_at(x: f64) -> Bounds {
    if x >= ASYMPTOTIC_FROM {
        // At infinity, zero exactly.
        return if x.is_infinite() {
            Bounds::ZERO
        } else {
            around(asymptotic_mills_ratio(x), 3.25)
        };
    }
    // √(π/2) exp(h + l) 2Q(x), with x²/2 = h + l. Roundings: 2.5u in the tail (or u, and 0.97u from
    // its argument, for negative x), and u each in exp, the two products and the last operation.
    let tail = if x > 0.0 { 2.0 * upper_tail_value(x) } else { core_math::erfc(x * FRAC_1_SQRT_2) };
    let (h, l) = two_product(0.5 * x, x);
    let ratio = core_math::exp(h) * tail * ROOT_HALF_PI.0;
    // Beyond 1e308 the last operation could overflow in its intermediate results.
    if ratio < 1e308 {
        around(ratio.mul_add(ROOT_HALF_PI.1 + l, ratio), 7.75)
    } else {
        overflowed()
    }
}

fn erfcx_at(x: f64) -> Bounds {
    if x >= ASYMPTOTIC_FROM * FRAC_1_SQRT_2 {
        if x.is_infinite() {
            return Bounds::ZERO;
        }
        // Roundings: 1.1u in the sum, and u each in 1/√π, its product and the quotient.
        return around(asymptotic_sum(0.5 / (x * x)) * INVERSE_ROOT_PI / x, 5.25);
    }
    if x == 0.0 {
        return Bounds::ONE;
    }
    // exp(h + l) erfc(x), with x² = h + l. Roundings: u each in erfc, exp, the product, the last
    // operation.
    let (h, l) = two_product(x, x);
    let value = core_math::exp(h) * core_math::erfc(x);
    if value < 1e308 { around(value.mul_add(l, value), 5.25) } else { overflowed() }
}

/// `-ln Q(x)` for `x >= 20`, right to a relative `1.5u`; infinite where it overflows.
///
/// `-ln Q = x²/2 + ln √(2π) - ln(Q/φ)`, a sum of positive terms with `x²/2 = h + l`. The sum rounds
/// by `u`; the other terms are at most a fiftieth of it (from 3.9 of 204 on), or `|l| <= uh`, and
/// are right to `5u` of that.
#[inline]
pub(crate) fn asymptotic_minus_ln_tail(x: f64) -> f64 {
    let (h, l) = two_product(0.5 * x, x);
    if h.is_infinite() {
        h
    } else {
        h + (LN_ROOT_2_PI - core_math::log(asymptotic_mills_ratio(x)) + l)
    }
}

fn ln_upper_tail_at(x: f64) -> Bounds {
    if x >= ASYMPTOTIC_FROM {
        let value = asymptotic_minus_ln_tail(x);
        return -if value < 1e308 { around(value, 2.5) } else { overflowed() };
    }
    if x >= 0.0 {
        // ln of a value right to 2.5u, rounded by u of itself, and the additions here by as much.
        let value = core_math::log(upper_tail_value(x));
        let margin = 2.5 * U - 2.25 * U * value;
        return Bounds::new(value - margin, value + margin);
    }
    if x <= -TAIL_VANISHES {
        return Bounds::new(if x.is_infinite() { 0.0 } else { -2.0 * f64::from_bits(1) }, 0.0);
    }
    // ln(1 - p) with p = Q(-x) <= 1/2 right to 2.5u: its relative error is at most 1/ln 2 times
    // that.
    -around(-core_math::log1p(-upper_tail_value(-x)), 5.75)
}
