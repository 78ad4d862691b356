//! The least error of any integer noise under pure differential privacy.
//!
//! Integer noise `N` that is private for integer moves up to `D` becomes real noise `N + U`, `U`
//! uniform on `[-1/2, 1/2)`, that is private for real moves up to `D`, as rounding moves two
//! numbers that are `D` apart to integers that are `D` apart. So the limit for integers is that for
//! real noise and the loss `l(|round(x)|)` (see [`crate::least_loss`]), which is constant between
//! half integers. There `A` is straight and the expected loss a quotient of linear functions, least
//! at an end: the best steps are at `(r - 1/2)/D` for one of `r = 1 ... D`, and rounding that
//! staircase to the integers is the optimal integer noise. For `D = 1` it is the discrete Laplace
//! distribution.

use crate::piecewise_loss::PiecewiseLoss;
use crate::staircase_limit::{Programme, StaircaseLimit, least_exceedance};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// The largest sensitivity for which all steps are tried.
pub const LARGEST_SENSITIVITY: u32 = 20_000;

/// The step at `(r - 1/2)/D`.
pub fn step(r: u32, sensitivity: u32) -> f64 {
    (f64::from(r) - 0.5) / f64::from(sensitivity)
}

/// The least expected loss of integer noise, by trying every step; `None` for a sensitivity
/// above 20000.
pub fn least_integer_loss(
    epsilon: f64,
    sensitivity: u32,
    loss: &PiecewiseLoss,
) -> Option<StaircaseLimit> {
    if !(1..=LARGEST_SENSITIVITY).contains(&sensitivity) {
        return None;
    }
    let programme = Programme::new(epsilon, f64::from(sensitivity), loss);
    let width = Wide::ONE / Wide::from(f64::from(sensitivity));
    let at = |n: u32| programme.at(Wide::from(f64::from(n)) * width) * width;
    let half = |x: Wide| x.times_power_of_two(-1);
    // A at each step in turn; the integers 0 and D have half a cell each.
    let mut integrals = vec![half(at(0))];
    for n in 1..sensitivity {
        let before = integrals[integrals.len() - 1];
        integrals.push(before + at(n));
    }
    let whole = integrals[integrals.len() - 1] + half(at(sensitivity));
    let costs = integrals.iter().zip(1u32..).map(|(&integral, r)| {
        let gamma = (Wide::from(f64::from(r)) - Wide::from(0.5)) * width;
        (r, programme.quotient(integral, gamma, whole))
    });
    let first = (1, Bounds::new(f64::INFINITY, f64::INFINITY));
    let (best, least) = costs.fold(first, |(best, least): (u32, Bounds), (r, cost)| {
        let both = Bounds::new(least.lower().min(cost.lower()), least.upper().min(cost.upper()));
        (if cost.upper() < least.upper() { r } else { best }, both)
    });
    Some(StaircaseLimit { gamma: step(best, sensitivity), least })
}

/// The least `P[|N| > t]`: that of real noise at the half integer where an error is rounded to more
/// than `t`.
pub fn least_integer_exceedance(epsilon: f64, sensitivity: u32, t: f64) -> StaircaseLimit {
    least_exceedance(epsilon, f64::from(sensitivity), t.floor() + 0.5)
}

/// The least integer `n` with `P[|N| > n] <= outside`, and the steps that reach it; `None` beyond a
/// million.
pub fn least_integer_quantile(
    epsilon: f64,
    sensitivity: u32,
    outside: Bounds,
) -> Option<StaircaseLimit> {
    let beyond = |n: f64| least_integer_exceedance(epsilon, sensitivity, n).least;
    // The tail falls with n: the first integer that is proved to reach the level, and the first
    // that is not proved to miss it.
    let first = |reached: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (-1.0f64, 1.0f64);
        while !reached(high) {
            low = high;
            high *= 2.0;
            if high > 1e6 {
                return None;
            }
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if reached(middle) { high = middle } else { low = middle }
        }
        Some(high)
    };
    let upper = first(&|n| beyond(n).upper() <= outside.lower())?;
    let lower = first(&|n| beyond(n).lower() <= outside.upper())?;
    let gamma = least_integer_exceedance(epsilon, sensitivity, upper).gamma;
    Some(StaircaseLimit { gamma, least: Bounds::new(lower, upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_sensitivity_one_the_limit_is_discrete_laplace_noise() {
        for epsilon in [0.1f64, 1.0, 3.0] {
            let q = (-epsilon).exp();
            let absolute =
                least_integer_loss(epsilon, 1, &PiecewiseLoss::absolute()).expect("small").least;
            assert!(
                (absolute.estimate() / (2.0 * q / (1.0 - q * q)) - 1.0).abs() < 1e-14,
                "{epsilon}: {absolute:?}"
            );
            let square =
                least_integer_loss(epsilon, 1, &PiecewiseLoss::square()).expect("small").least;
            let truth = 2.0 * q / ((1.0 - q) * (1.0 - q));
            assert!((square.estimate() / truth - 1.0).abs() < 1e-14, "{epsilon}: {square:?}");
            let tail = least_integer_exceedance(epsilon, 1, 2.0).least;
            assert!(
                (tail.estimate() / (2.0 * q.powi(3) / (1.0 + q)) - 1.0).abs() < 1e-14,
                "{epsilon}: {tail:?}"
            );
        }
    }

    /// All integer noises with levels `b^j`, the middle one `2r - 1` long and the others `D` on
    /// each side, summed plainly.
    fn by_brute_force(epsilon: f64, sensitivity: u32, loss: impl Fn(f64) -> f64) -> f64 {
        let cost = |r: u32| {
            let level = |n: u32| if n < r { 0 } else { (n - r) / sensitivity + 1 };
            let weight =
                |n: u32| (-epsilon * f64::from(level(n))).exp() * if n == 0 { 1.0 } else { 2.0 };
            let total: f64 = (0..4000).map(weight).sum();
            (0..4000).map(|n| weight(n) * loss(f64::from(n))).sum::<f64>() / total
        };
        (1..=sensitivity).map(cost).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn larger_sensitivities_agree_with_the_sums_over_integers() {
        let table = PiecewiseLoss::table(&[(0.5, 1.0), (2.5, 2.0), (6.0, 9.0)]).expect("valid");
        for (epsilon, sensitivity) in [(0.5, 2), (1.0, 3), (2.0, 7), (4.0, 10), (0.3, 5)] {
            for loss in [&PiecewiseLoss::absolute(), &PiecewiseLoss::square(), &table] {
                let limit = least_integer_loss(epsilon, sensitivity, loss).expect("small").least;
                let plain = by_brute_force(epsilon, sensitivity, |n| loss.at(n).estimate());
                assert!(
                    (limit.estimate() / plain - 1.0).abs() < 1e-12,
                    "{epsilon} {sensitivity}: {limit:?} {plain}"
                );
            }
            for t in [0.0, 1.0, 2.5, 4.0, 11.0] {
                let limit = least_integer_exceedance(epsilon, sensitivity, t).least;
                let plain = by_brute_force(epsilon, sensitivity, |n| f64::from(u8::from(n > t)));
                assert!(
                    (limit.estimate() / plain - 1.0).abs() < 1e-12,
                    "{epsilon} {sensitivity}: {limit:?} {plain}"
                );
            }
        }
    }

    #[test]
    fn quantiles_are_the_first_integer_that_reaches_the_level() {
        for (epsilon, sensitivity) in [(0.5, 1), (1.0, 3), (4.0, 10)] {
            for outside in [0.3, 0.05, 1e-3] {
                let limit = least_integer_quantile(epsilon, sensitivity, Bounds::exact(outside))
                    .expect("small")
                    .least;
                let tail =
                    |n: f64| least_integer_exceedance(epsilon, sensitivity, n).least.estimate();
                assert!(limit.is_exact() && tail(limit.upper()) <= outside, "{limit:?}");
                assert!(limit.upper() == 0.0 || tail(limit.upper() - 1.0) > outside, "{limit:?}");
            }
        }
    }
}
