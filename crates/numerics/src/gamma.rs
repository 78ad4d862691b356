//! The gamma function of a positive number and its logarithm.
//!
//! ```text
//! ln Γ(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + sum_{k=1}^{K} c_k / z^(2k-1) + R_K(z),
//! c_k = B_2k/(2k (2k-1))
//! ```
//!
//! For real `z > 0` the series is enveloping: the remainder `R_K` lies between zero and the first
//! omitted term, `c_(K+1) / z^(2K+1)` (DLMF 5.11(ii); Whittaker, Watson, *A course of modern
//! analysis*, 12.33). A small argument is moved up first,
//!
//! ```text
//! Γ(x) = Γ(x + n) / (x (x+1) ... (x+n-1)).
//! ```

use crate::bernoulli::{COEFFICIENTS, stirling_coefficient};
use crate::convergence::{DOUBLE_BITS, levels_until};
use crate::{Bounds, Enclosure};
use std::f64::consts::TAU;

/// `ln Γ(x)` for `x > 0`, at the precision of `x`; the whole line when `x` may be zero or negative.
///
/// The error is absolute, a few units of `2^-precision` times `z ln z` with
/// `z = max(x, precision/4)`: near the zeros 1 and 2 of the function few relative digits remain.
/// [`ln_gamma_of_bounds`] keeps them, in `f64`.
pub fn ln_gamma<E: Enclosure>(x: &E) -> E {
    ln_gamma_to(x, x.precision())
}

/// `ln Γ(x)` with what is left of the series below `2^-bits`.
pub(crate) fn ln_gamma_to<E: Enclosure>(x: &E, bits: u32) -> E {
    match stirling(x, bits) {
        Some(Stirling { exponent, factor }) => exponent + factor.ln(),
        None => whole_line(x),
    }
}

/// `Γ(x)` for `x > 0`, at the precision of `x`; the whole line when `x` may be zero or negative.
///
/// The relative error is a few units of `2^-precision` times `z ln z` with
/// `z = max(x, precision/4)`.
pub fn gamma<E: Enclosure>(x: &E) -> E {
    match stirling(x, x.precision()) {
        Some(Stirling { exponent, factor }) => exponent.exp() * factor,
        None => whole_line(x),
    }
}

/// Where `Γ` has its minimum on the positive numbers, to the last bit (1.46163214496836234126...).
const MINIMUM_AT: f64 = 1.461_632_144_968_362_2;

/// `Γ` on an interval of positive numbers, each end within one unit in the last place of the
/// extreme value, wherever that is finite.
pub fn gamma_of_bounds(x: Bounds) -> Bounds {
    if x.lower() < 0.0 || x.upper() == 0.0 {
        return Bounds::WHOLE_LINE;
    }
    valley(x, core_math::tgamma, |argument| argument.fract() == 0.0 && argument <= 18.0)
}

/// `ln Γ` on an interval of positive numbers, each end within one unit in the last place of the
/// extreme value: near the zeros 1 and 2 too.
pub fn ln_gamma_of_bounds(x: Bounds) -> Bounds {
    if x.lower() < 0.0 || x.upper() == 0.0 {
        return Bounds::WHOLE_LINE;
    }
    valley(x, core_math::lgamma, |argument| argument == 1.0 || argument == 2.0)
}

/// The range on `x` of a correctly rounded `function` that falls up to [`MINIMUM_AT`] and rises
/// from there. Within a unit in the last place around the minimum the function moves by less than
/// `1e-31`, far less than the half unit by which `next_down` is below a correctly rounded value.
fn valley(x: Bounds, function: impl Fn(f64) -> f64, is_exact: impl Fn(f64) -> bool) -> Bounds {
    let down = |argument: f64| {
        let rounded = function(argument);
        if is_exact(argument) {
            rounded
        } else if rounded == f64::INFINITY {
            f64::MAX
        } else {
            rounded.next_down()
        }
    };
    let up = |argument: f64| {
        let rounded = function(argument);
        if argument <= 0.0 || argument.is_infinite() {
            f64::INFINITY
        } else if is_exact(argument) {
            rounded
        } else {
            rounded.next_up()
        }
    };
    Bounds::new(down(MINIMUM_AT.clamp(x.lower(), x.upper())), up(x.lower()).max(up(x.upper())))
}

fn whole_line<E: Enclosure>(like: &E) -> E {
    like.exactly(f64::INFINITY)
}

/// `Γ(x) = factor e^exponent`.
struct Stirling<E> {
    /// `(z - 1/2) ln z - z` and the series, where `z = x + n`
    exponent: E,
    /// `sqrt(2 pi) / (x (x+1) ... (x+n-1))`
    factor: E,
}

fn stirling<E: Enclosure>(x: &E, bits: u32) -> Option<Stirling<E>> {
    let near = x.bounds();
    if !(near.lower() > 0.0 && near.upper() < f64::INFINITY) {
        return None;
    }
    let steps = (least_argument(bits) - near.lower()).ceil().max(0.0) as u32;
    let mut factor = x.pi().times_power_of_two(1).sqrt();
    if steps > 0 {
        let product = (1..steps)
            .fold(x.clone(), |product, i| product * (x.clone() + x.exactly(f64::from(i))));
        factor = factor / product;
    }
    let z = x.clone() + x.exactly(f64::from(steps));
    let exponent =
        (z.clone() - x.exactly(0.5)) * z.clone().ln() - z.clone() + stirling_series(&z, bits);
    Some(Stirling { exponent, factor })
}

/// From where on the series delivers `precision` bits.
///
/// Up to 128 bits sixteen terms are taken; the seventeenth, `c_17 / z^33` with `c_17 < 2^29`, is
/// below `2^-(precision + 4)` from this `z` on. Beyond, the least term of the series is about
/// `exp(-2 pi z)` and `z = precision/4` leaves it far behind; past the coefficients that there are
/// (some 2000 bits) the argument has to grow instead.
fn least_argument(precision: u32) -> f64 {
    let bits = f64::from(precision);
    if precision <= 128 {
        return ((bits + 33.0) / 33.0).exp2();
    }
    let mut z = bits / 4.0;
    while terms_for(precision, z).is_none() && z < 1e6 {
        z *= 1.25;
    }
    z
}

/// How many terms after the first, `c_1/z = 1/(12 z)`, bring the next one below
/// `2^-(precision + 2)` at `z`.
fn terms_for(precision: u32, z: f64) -> Option<u32> {
    levels_until(bits_after_first(precision, z), COEFFICIENTS - 1, |k| term_ratio(k, z))
}

fn bits_after_first(precision: u32, z: f64) -> f64 {
    f64::from(precision + 2) - (12.0 * z).log2()
}

/// `|c_(k+1) / z^(2k+1)| / |c_k / z^(2k-1)|`, from `|c_k| = 2 (2k-2)! zeta(2k) / (2 pi)^2k`: below
/// 1 up to `k = pi z`.
fn term_ratio(k: u32, z: f64) -> f64 {
    f64::from(2 * k) * f64::from(2 * k - 1) / (TAU * z).powi(2)
}

/// `sum_k c_k / z^(2k-1)`, all of it: the remainder is inside.
fn stirling_series<E: Enclosure>(z: &E, bits: u32) -> E {
    let inverse = z.exactly(1.0) / z.clone();
    let inverse_square = inverse.clone() * inverse.clone();
    horner_from(&inverse_square, 1, bits, z.bounds().lower()) * inverse
}

/// `y_first`, where `y_k = c_k + w y_(k+1)` with `w = 1/z^2`, to an absolute `2^-bits` after
/// division by `z`, for `first = 1`, and to a relative one otherwise. The terms whose leading 53
/// bits suffice are summed in [`Bounds`], as long as their coefficients are in its range.
fn horner_from<E: Enclosure>(w: &E, first: u32, bits: u32, z: f64) -> E {
    let ratio = |n: u32| term_ratio(first + n - 1, z);
    let in_doubles = bits > DOUBLE_BITS && bits <= 800;
    let wanted = match (in_doubles, first) {
        (true, _) => bits_after_first(bits, z) - 46.0,
        (false, 1) => bits_after_first(bits, z),
        (false, _) => f64::from(bits),
    };
    let growing_from = (0.5 * TAU * z).min(1e9) as u32;
    let limit = growing_from.min(COEFFICIENTS - 1).saturating_sub(first);
    let levels = levels_until(wanted, limit, ratio).unwrap_or(limit);
    let next = first + levels;
    let mut y = if in_doubles {
        let tail = horner_from(&w.bounds(), next, DOUBLE_BITS, z);
        w.between(tail.lower(), tail.upper())
    } else {
        // Enveloping: what follows the last term is between zero and the next term.
        w.exactly(0.0).hull(stirling_coefficient(w, next))
    };
    for k in (first..next).rev() {
        y = stirling_coefficient(w, k) + w.clone() * y;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut off early, the series encloses what it leaves out: the remainder shows there only.
    #[test]
    fn a_cut_off_series_encloses_its_remainder() {
        for z in [2.5, 4.0, 7.0, 20.0] {
            let at = |bits| stirling_series(&Bounds::exact(z), bits);
            // ln Γ(z) - (z - 1/2) ln z + z - ln(2 pi)/2, from the recurrence at 100 + z where a few
            // terms give all digits.
            let moved =
                (0..100).fold(Bounds::ZERO, |sum, i| sum + Bounds::exact(z + f64::from(i)).ln());
            let plain = |z: f64| {
                (Bounds::exact(z) - Bounds::exact(0.5)) * Bounds::exact(z).ln() - Bounds::exact(z)
            };
            let far = stirling_series(&Bounds::exact(z + 100.0), DOUBLE_BITS);
            let truth = plain(z + 100.0) + far - moved - plain(z);
            for bits in [0, 5, 8, 11, 14] {
                let series = at(bits);
                assert_eq!(
                    series.hull(truth),
                    series,
                    "z = {z}, {bits} bits: {series:?} misses {truth:?}"
                );
                assert!(
                    series.width() > 1e-9 || z > 10.0,
                    "z = {z}, {bits} bits: {series:?} is not cut off"
                );
            }
        }
    }
}
