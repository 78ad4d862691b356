//! The error function and the normal tail at any precision.
//!
//! With the sums of the incomplete gamma functions at `a = 1/2`, where the powers and
//! `Γ(3/2) = sqrt(pi)/2` need no logarithm: for `x > 0`
//!
//! ```text
//! erf(x)  = P(1/2, x^2) = 2 x e^(-x^2) / sqrt(pi) * S(1/2, x^2)
//! erfc(x) = Q(1/2, x^2) = e^(-x^2) / (x sqrt(pi)) * G(1/2, x^2)              (DLMF 7.11.1, 7.11.2)
//! ```
//!
//! with `S` and `G` as in the module `incomplete_gamma_sums`. A relative width is about
//! `2^-precision max(1, x^2)`, for `erfc` the larger of that and `2^-precision / erfc(x)` while
//! `x^2 <= 3 + precision/50`.

use crate::Enclosure;
use crate::incomplete_gamma_sums::{ascending_sum, descending_sum};

/// `erf(x) = 2/sqrt(pi) integral_0^x exp(-t^2) dt`.
pub fn erf<E: Enclosure>(x: &E) -> E {
    odd_part(x, |size| {
        if is_large(size) { size.exactly(1.0) - erfc_of_large(size) } else { erf_of_small(size) }
    })
}

/// `erfc(x) = 1 - erf(x)`, to its relative precision for large `x`.
pub fn erfc<E: Enclosure>(x: &E) -> E {
    if x.bounds().lower() > 0.0 && is_large(x) { erfc_of_large(x) } else { x.exactly(1.0) - erf(x) }
}

/// `P[Z > x] = erfc(x / sqrt 2)/2` of a standard normal `Z`.
pub fn normal_tail<E: Enclosure>(x: &E) -> E {
    erfc(&(x.clone() / x.exactly(2.0).sqrt())).times_power_of_two(-1)
}

/// An odd increasing function from its values at positive numbers.
fn odd_part<E: Enclosure>(x: &E, of_positive: impl Fn(&E) -> E) -> E {
    let near = x.bounds();
    if !near.is_finite() {
        return x.between(-1.0, 1.0);
    }
    if near.lower() > 0.0 {
        return of_positive(x);
    }
    if near.upper() < 0.0 {
        return -of_positive(&-x.clone());
    }
    let at_end =
        |size: f64| if size == 0.0 { x.exactly(0.0) } else { of_positive(&x.exactly(size)) };
    (-at_end(-near.lower())).hull(at_end(near.upper()))
}

/// Whether the fraction for `erfc` converges in fewer levels than `1 - erf` loses bits.
fn is_large<E: Enclosure>(x: &E) -> bool {
    let lower = x.bounds().lower();
    lower * lower > 3.0 + f64::from(x.precision().min(10_000)) / 50.0
}

fn erf_of_small<E: Enclosure>(x: &E) -> E {
    let square = x.clone() * x.clone();
    let weight = x.clone().times_power_of_two(1) * (-square.clone()).exp() / x.pi().sqrt();
    let bits = x.precision() + (1.45 * square.bounds().upper().min(1e6)) as u32;
    weight * ascending_sum(&x.exactly(0.5), &square, bits)
}

/// Its square is still an `f64`.
const FAR: f64 = 1e150;

fn erfc_of_large<E: Enclosure>(x: &E) -> E {
    if x.bounds().lower() >= FAR {
        // 0 < erfc(x) <= exp(-x^2) <= exp(-FAR^2)
        let square = x.exactly(FAR) * x.exactly(FAR);
        return x.exactly(0.0).hull((-square).exp());
    }
    let square = x.clone() * x.clone();
    let weight = (-square.clone()).exp() / (x.clone() * x.pi().sqrt());
    weight * descending_sum(&x.exactly(0.5), &square, x.precision())
}
