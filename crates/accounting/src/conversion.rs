//! From Rényi divergences to `(epsilon, delta)`.
//!
//! # Theorem
//! If the Rényi divergence of order `alpha > 1` between the outputs of neighbours is at most `R`,
//! then at every `epsilon >= 0`
//!
//! ```text
//! delta <= exp((alpha - 1)(R - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha
//!        = exp(m - (alpha - 1) epsilon) * (1 - 1/alpha)^(alpha - 1) / alpha,   m = (alpha - 1) R
//! ```
//!
//! and, solved for the other side, `epsilon <= [m - ln delta - ln alpha]/(alpha - 1) + ln(1 -
//! 1/alpha)` (Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, 2020,
//! Proposition 12; Asoodeh et al. 2020; Balle et al. 2020, Theorem 21). It holds because
//! `max(0, 1 - e^(epsilon - z))` is at most a multiple of `e^((alpha-1) z)`, and the multiple above
//! is the least.
//!
//! # Direction
//! Each order gives a bound, whatever led to it: the search for the best one is plain `f64`, the
//! value at each order tried is rounded up, and the least of those is taken.

use reticent_numerics::rounding::mul_up;
use reticent_numerics::{Bounds, Enclosure, nearest};

/// How a moment runs between orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Smoothly.
    Smooth,
    /// With a kink at each integer up to this one.
    KinksUpTo(u32),
}

/// `alpha - 1` is looked for from `1e-8` to `1e12`, first at seven points a decade.
const FIRST_DECADE: i32 = -8;
const LAST_DECADE: i32 = 12;
const POINTS_A_DECADE: i32 = 7;
/// Golden sections on each side of the best of those: the minimum is flat, so more are not told
/// apart by `f64`.
const SECTIONS: u32 = 24;

/// The least value over orders of `figure(alpha - 1)`, an upper bound at every order.
fn least_over_orders(shape: Shape, mut figure: impl FnMut(f64) -> f64) -> f64 {
    let indices = FIRST_DECADE * POINTS_A_DECADE..=LAST_DECADE * POINTS_A_DECADE;
    let mut excesses: Vec<f64> = indices
        .map(|index| nearest::pow(10.0, f64::from(index) / f64::from(POINTS_A_DECADE)))
        .collect();
    if let Shape::KinksUpTo(last) = shape {
        let mut order = 2;
        while order <= last {
            excesses.push(f64::from(order - 1));
            order += 1 + order / 16;
        }
        excesses.sort_by(f64::total_cmp);
    }
    let (mut best, mut least) = (0, f64::INFINITY);
    for (index, &excess) in excesses.iter().enumerate() {
        let value = figure(excess);
        if value < least {
            (best, least) = (index, value);
        }
    }
    for pair in excesses[best.saturating_sub(1)..(best + 2).min(excesses.len())].windows(2) {
        least = least.min(golden_section(pair[0], pair[1], &mut figure));
    }
    least
}

/// The least value that a golden-section search meets.
fn golden_section(mut low: f64, mut high: f64, figure: &mut impl FnMut(f64) -> f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (figure(left), figure(right));
    let mut least = at_left.min(at_right);
    for _ in 0..SECTIONS {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = figure(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = figure(right);
        }
        least = least.min(at_left).min(at_right);
    }
    least
}

/// An upper bound on `epsilon` at a `delta`, from `moment(alpha - 1) >= (alpha - 1) R`.
pub(crate) fn loss_from_moments(
    shape: Shape,
    delta: f64,
    mut moment: impl FnMut(f64) -> f64,
) -> f64 {
    if delta.is_nan() || delta <= 0.0 {
        return f64::INFINITY;
    }
    least_over_orders(shape, |excess| loss_at_order(excess, moment(excess), delta)).max(0.0)
}

/// An upper bound on `epsilon` at a `delta` where the divergence of the order `1 + excess`, and so
/// of all lower ones, is at most `divergence`.
pub(crate) fn loss_up_to_order(excess: f64, divergence: f64, delta: f64) -> f64 {
    let lower = loss_from_moments(Shape::Smooth, delta, |lower| {
        if lower <= excess { mul_up(lower, divergence) } else { f64::INFINITY }
    });
    lower.min(loss_at_order(excess, mul_up(excess, divergence), delta).max(0.0))
}

/// The theorem at one order.
fn loss_at_order(excess: f64, moment: f64, delta: f64) -> f64 {
    if !moment.is_finite() {
        return f64::INFINITY;
    }
    let (excess, ln_delta) = (Bounds::exact(excess), Bounds::exact(delta).ln());
    let order = excess + Bounds::ONE;
    ((Bounds::exact(moment) - ln_delta - order.ln()) / excess - excess_over_order(excess)).upper()
}

/// An upper bound on `delta` at an `epsilon`, from `moment(alpha - 1) >= (alpha - 1) R`.
pub(crate) fn delta_from_moments(
    shape: Shape,
    epsilon: f64,
    mut moment: impl FnMut(f64) -> f64,
) -> f64 {
    let best = least_over_orders(shape, |excess| {
        let moment = moment(excess);
        if !moment.is_finite() {
            return f64::INFINITY;
        }
        let excess = Bounds::exact(excess);
        let order = excess + Bounds::ONE;
        (Bounds::exact(moment)
            - excess * (Bounds::exact(epsilon) + excess_over_order(excess))
            - order.ln())
        .upper()
    });
    Bounds::new(best.min(0.0), best.min(0.0)).exp().upper().min(1.0)
}

/// `-ln(1 - 1/alpha) = ln(1 + 1/(alpha - 1))`.
fn excess_over_order(excess: Bounds) -> Bounds {
    (Bounds::ONE / excess).ln_1p()
}

/// `alpha (alpha - 1) rho`, rounded up.
pub(crate) fn moment_of_zero_concentrated(rho: f64, excess: f64) -> f64 {
    let excess = Bounds::exact(excess);
    (excess * (excess + Bounds::ONE) * Bounds::exact(rho)).upper()
}

/// An upper bound on the loss of a `rho`-zero-concentrated mechanism at a `delta`.
pub(crate) fn loss_of_zero_concentrated(rho: f64, delta: f64) -> f64 {
    loss_from_moments(Shape::Smooth, delta, |excess| moment_of_zero_concentrated(rho, excess))
}

/// An upper bound on the `delta` of a `rho`-zero-concentrated mechanism at a loss.
pub(crate) fn delta_of_zero_concentrated(rho: f64, epsilon: f64) -> f64 {
    delta_from_moments(Shape::Smooth, epsilon, |excess| moment_of_zero_concentrated(rho, excess))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_concentration_converts_as_published_and_better_than_the_first_bound() {
        // dp-accounting's RdpAccountant over 20001 orders for Gaussian noise of sigma 1, which is
        // 1/2-zero-concentrated and no better at any order.
        let loss = loss_of_zero_concentrated(0.5, 1e-5);
        assert!((loss / 4.728387036610246 - 1.0).abs() < 1e-7, "{loss}");
        let first = 0.5 + 2.0 * (0.5 * 1e5f64.ln()).sqrt();
        assert!(loss < first);
        let back = delta_of_zero_concentrated(0.5, loss);
        assert!((back / 1e-5 - 1.0).abs() < 1e-6, "{back:e}");
    }

    #[test]
    fn nothing_is_known_without_a_moment_or_a_delta() {
        assert_eq!(loss_from_moments(Shape::Smooth, 1e-6, |_| f64::INFINITY), f64::INFINITY);
        assert_eq!(delta_from_moments(Shape::KinksUpTo(9), 1.0, |_| f64::NAN), 1.0);
        assert_eq!(loss_of_zero_concentrated(0.5, 0.0), f64::INFINITY);
        assert_eq!(loss_of_zero_concentrated(0.5, f64::NAN), f64::INFINITY);
        assert_eq!(delta_of_zero_concentrated(f64::INFINITY, 1.0), 1.0);
    }
}
