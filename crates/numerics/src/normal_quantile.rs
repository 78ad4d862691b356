//! Inverses of the normal distribution function, its tail, and their logarithms.
//!
//! An iteration in plain `f64` proposes `x`; it is never trusted. One certified evaluation at `x`
//! and the mean value theorem then say how far from `x` the solution can be: with
//! `f(x) = ln Q(x) - ln p`, `f' = -h` and `h = φ/Q`, the solution is `x + f(x)/h(ξ)` for some `ξ`
//! in between.

use crate::normal::{
    Argument, U, asymptotic_minus_ln_tail, decreasing, erf, increasing, ln_normal_sf, normal_sf,
    upper_tail_value,
};
use crate::rounding::{ln_down, ln_up, sqrt_up};
use crate::{Bounds, Enclosure};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI};

/// The upper quantile: the `x` with `Q(x) = p`.
///
/// Infinite where `p <= 0` or `p >= 1`. The relative width is below `2e-15`, for `p` near one half
/// as well (where `x` is near zero).
pub fn normal_isf(p: impl Argument) -> Bounds {
    decreasing(p, upper_quantile_at)
}

/// The quantile: the `x` with `Φ(x) = p`; see [`normal_isf`].
pub fn normal_quantile(p: impl Argument) -> Bounds {
    increasing(p, |p| -upper_quantile_at(p))
}

/// The `x` with `ln Q(x) = ln_p`, also for `p` far outside the range of `f64`.
///
/// Infinite where `ln_p >= 0`. The relative width is below `3e-15`, except that near `x = 0` the
/// absolute width is.
pub fn normal_isf_from_ln(ln_p: impl Argument) -> Bounds {
    decreasing(ln_p, upper_quantile_from_ln_at)
}

/// The `x` with `ln Φ(x) = ln_p`; see [`normal_isf_from_ln`].
pub fn normal_quantile_from_ln(ln_p: impl Argument) -> Bounds {
    increasing(ln_p, |ln_p| -upper_quantile_from_ln_at(ln_p))
}

/// Beyond every finite number.
fn infinite() -> Bounds {
    Bounds::new(f64::MAX, f64::INFINITY)
}

fn upper_quantile_at(p: f64) -> Bounds {
    if p <= 0.0 {
        infinite()
    } else if p >= 1.0 {
        -infinite()
    } else if p <= 0.5 {
        upper_quantile_of_tail(p)
    } else {
        // Exact, as p is between 1/2 and 1.
        -upper_quantile_of_tail(1.0 - p)
    }
}

fn upper_quantile_from_ln_at(ln_p: f64) -> Bounds {
    if ln_p >= 0.0 {
        -infinite()
    } else if ln_p == f64::NEG_INFINITY {
        infinite()
    } else if ln_p > -TINY {
        // 1 - p = -ln(p) (1 - θ) with 0 < θ < TINY, and ln(1 - θ) > -2θ.
        -tiny_tail_root(-ln_p, Bounds::new(-2.0 * TINY, 0.0))
    } else if ln_p > -LN_2 {
        // p is near one; its complement is not.
        let complement = -Bounds::exact(ln_p).exp_m1();
        -decreasing(complement, upper_quantile_at)
    } else if ln_p > -1.25 {
        decreasing(Bounds::exact(ln_p).exp(), upper_quantile_at)
    } else {
        far_root(ln_p, |x| ln_normal_sf(x) - Bounds::exact(ln_p))
    }
}

/// The upper quantile for `0 < p <= 1/2`.
fn upper_quantile_of_tail(p: f64) -> Bounds {
    if p > 0.25 {
        return central_root(1.0 - 2.0 * p);
    }
    if p < TINY {
        return tiny_tail_root(p, Bounds::ZERO);
    }
    far_root(core_math::log(p), |x| {
        // ln(Q/p) = ln(1 + t), and t - t² <= ln(1 + t) <= t for |t| <= 1/2.
        let p = Bounds::exact(p);
        let t = (normal_sf(x) - p) / p;
        let most = t.lower().abs().max(t.upper());
        if most <= 0.5 {
            Bounds::new((t - t.square()).lower(), t.upper())
        } else {
            Bounds::WHOLE_LINE
        }
    })
}

/// Below this, a little above the subnormals, `Q` is inverted through its logarithm.
const TINY: f64 = 1e-290;

/// The `x` with `ln Q(x) = ln p + offset`.
fn tiny_tail_root(p: f64, offset: Bounds) -> Bounds {
    let target = Bounds::new(ln_down(p), ln_up(p)) + offset;
    far_root(core_math::log(p), |x| ln_normal_sf(x) - target)
}

/// `(ln Q(x), h(x))` in plain `f64`, for the iteration.
fn ln_tail_and_hazard(x: f64) -> (f64, f64) {
    if x < 20.0 {
        let tail = upper_tail_value(x);
        let density = core_math::exp(-0.5 * x * x) * FRAC_1_SQRT_2 / PI.sqrt();
        (core_math::log(tail), density / tail)
    } else {
        // h = x (1 + 1/x² - 2/x⁴ + ...).
        let y = 1.0 / (x * x);
        (-asymptotic_minus_ln_tail(x), x * (1.0 + y * (1.0 - 2.0 * y * (1.0 - 5.0 * y))))
    }
}

/// A first approximation to the `x` with `ln Q(x) = ln_p <= ln(1/4)`.
fn far_start(ln_p: f64) -> f64 {
    let t = 2f64.sqrt() * (-ln_p).sqrt();
    if t < 39.0 {
        // Hastings' formula (Abramowitz and Stegun 26.2.23), right to 4.5e-4.
        let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
        let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
        t - numerator / denominator
    } else {
        // x² = -2 ln p - ln(2π x²) + O(1/x²).
        let gap = (2.0 * PI).ln() + 2.0 * t.ln();
        t * (1.0 - gap / t / t).sqrt()
    }
}

/// `(x + √(x² + 8/π))/2 <= h(x) <= (x + √(x² + 4))/2` for `x >= 0` (Abramowitz and Stegun 7.1.13).
fn hazard_bounds(x: f64) -> Bounds {
    // Each side rounds fewer than four times. Where the square overflows, the two are neighbours of
    // x.
    let square = (x * x).min(f64::MAX);
    let (least, most) = (0.5 * (x + (square + 2.5464).sqrt()), 0.5 * (x + (square + 4.0).sqrt()));
    Bounds::new(least * (1.0 - 4.0 * U), most.max(x) * (1.0 + 4.0 * U))
}

/// The `x` with `ln Q(x) = ln_p <= ln(1/4)` (nearly), where `residual(x)` is certified to hold
/// `ln Q(x) - ln p`.
///
/// # Proof of the bracket
/// Let `r` be the residual at `x >= 0`, `|r| <= h(x)²/1000`, and `D` the distance of the solution.
/// `h` increases with `0 < h' < 1`. To the right of `x`, `|r| = ∫h >= D h(x)`; to the left,
/// `|r| >= D h(x) - D²/2`, hence `D <= h - √(h² - 2|r|) <= 1.01 |r|/h`. So `h(ξ)` is within `D` of
/// `h(x)`.
fn far_root(ln_p: f64, residual: impl Fn(f64) -> Bounds) -> Bounds {
    let mut x = far_start(ln_p);
    // Halley's step, with f''/f' = h - x. Cubic convergence: the error after a step is far
    // below the cube of its size, and from 5e-4 two steps are enough.
    for _ in 0..8 {
        let (ln_tail, hazard) = ln_tail_and_hazard(x);
        let newton = (ln_tail - ln_p) / hazard;
        let step = newton / (1.0 + 0.5 * newton * (hazard - x));
        x = (x + step).max(0.0);
        if step.abs() <= 1e-6 * x {
            break;
        }
    }
    let residual = residual(x);
    let most = residual.upper().max(-residual.lower());
    let hazard = hazard_bounds(x);
    if most.is_finite() && most <= 1e-3 * hazard.lower() * hazard.lower() {
        let distance = 1.02 * most / hazard.lower();
        Bounds::exact(x) + residual / (hazard + Bounds::new(-distance, distance))
    } else {
        // Q(x) <= exp(-x²/2): without an approximation, at least a bound.
        Bounds::new(0.0, 2.0 * sqrt_up(-0.5 * ln_p.next_down()))
    }
}

/// The `x >= 0` with `erf(x/√2) = c`, that is `Q(x) = (1 - c)/2`, for `0 <= c < 1/2`.
///
/// # Proof of the bracket
/// With `z = x/√2`, below 0.477, the solution is `z + (c - erf(z))/erf'(ξ)`, and `erf'` is at least
/// 0.88 up to 0.49. So `ξ` is within `D = |c - erf(z)|/0.88` of `z`, and `erf'(ξ)` within a
/// relative `2D` of `erf'(z)`, because the logarithmic derivative of `erf' = 2/√π exp(-z²)` is
/// `-2z`, less than one, and `D` is small.
fn central_root(c: f64) -> Bounds {
    if c == 0.0 {
        return Bounds::ZERO;
    }
    // The series of the inverse error function.
    let y = 0.25 * PI * c * c;
    let mut z =
        0.5 * PI.sqrt() * c * (1.0 + y * (1.0 / 3.0 + y * (7.0 / 30.0 + y * 127.0 / 630.0)));
    for _ in 0..2 {
        z += (c - core_math::erf(z)) / (FRAC_2_SQRT_PI * core_math::exp(-z * z));
    }
    let residual = Bounds::exact(c) - erf(z);
    let most = residual.upper().max(-residual.lower());
    // Phrased so that a NaN fails the test.
    if (0.0..=0.49).contains(&z) && most <= 1e-3 {
        let slope = Bounds::new(FRAC_2_SQRT_PI.next_down(), FRAC_2_SQRT_PI.next_up())
            * (-Bounds::exact(z).square()).exp();
        let slope = slope * Bounds::new(1.0 - 3.0 * most, 1.0 + 3.0 * most);
        (Bounds::exact(z) + residual / slope) * Bounds::exact(2.0).sqrt()
    } else {
        Bounds::new(0.0, 0.6745)
    }
}
