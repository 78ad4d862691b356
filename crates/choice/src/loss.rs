//! What an error costs.

use reticent_mechanisms::StaircaseAim;
use reticent_numerics::rounding::{add_down, add_up, div_up, mul_down, mul_up, sub_down};
use std::fmt::Debug;

/// A loss of `|error|`: zero or more, and never less for a larger error.
///
/// Every function takes distances from the true answer, `0 <= from <= to`, and bounds the loss in
/// the direction that its name says. So a limit computed from lower bounds stays a limit, and an
/// error computed from upper bounds is never too small.
pub trait Loss: Debug + Send + Sync {
    /// A lower bound of the loss of every error in `[from, to]`.
    fn least_on(&self, from: f64, to: f64) -> f64;

    /// An upper bound of the loss of every error in `[from, to]`; infinity where none is known.
    fn greatest_on(&self, from: f64, to: f64) -> f64;

    /// `v_k`, not decreasing in `k`: what an error that was rounded to `k h`, a multiple of a
    /// spacing `h`, may be charged, so that noise is never charged more than its loss on average.
    /// There are two ways to do the rounding, and a loss takes one of them for all `k`:
    ///
    /// - to the nearest multiple (a tie by a fair coin). Then `v_k` is a lower bound of the loss
    ///   within half a step; this is what is done unless a loss knows better.
    /// - at random to one of the two neighbouring multiples, without bias. Then the line from
    ///   `(k h, v_k)` to `((k + 1) h, v_(k+1))` must nowhere be above the loss. A loss that is
    ///   linear there, as the absolute error, loses nothing, and one with bounded curvature only a
    ///   second-order term.
    fn below_at_knot(&self, k: u64, spacing: f64) -> f64 {
        let near = mul_down((k as f64 - 0.5).max(0.0), spacing);
        self.least_on(near, mul_up(k as f64 + 0.5, spacing))
    }

    /// An upper bound of the mean loss of an error that is uniform on `[from, to]`.
    fn greatest_mean_on(&self, from: f64, to: f64) -> f64 {
        self.greatest_on(from, to)
    }

    /// An upper bound of what an integer error `n` gains on average by being spread evenly over
    /// `[n - 1/2, n + 1/2]`, for every `n`; infinity where none is known.
    ///
    /// Integer noise that is spread so is real noise that keeps the same guarantee. A limit for
    /// real noise, less this, is one for integer noise.
    fn greatest_gain_of_spreading(&self) -> f64 {
        f64::INFINITY
    }

    /// The distance beyond which the loss is one and up to which it is zero, if it is such a loss:
    /// a lattice is then made for it.
    fn jump(&self) -> Option<f64> {
        None
    }

    /// The aim of the staircase whose error is known in closed form and is this loss, if there is
    /// one.
    fn staircase_aim(&self) -> Option<StaircaseAim> {
        None
    }
}

/// `|error|`, whose expectation is the mean absolute error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsoluteError;

impl Loss for AbsoluteError {
    fn least_on(&self, from: f64, _to: f64) -> f64 {
        from
    }

    fn greatest_on(&self, _from: f64, to: f64) -> f64 {
        to
    }

    fn below_at_knot(&self, k: u64, spacing: f64) -> f64 {
        mul_down(k as f64, spacing)
    }

    fn greatest_mean_on(&self, from: f64, to: f64) -> f64 {
        0.5 * add_up(from, to)
    }

    /// One quarter, at zero; nothing elsewhere.
    fn greatest_gain_of_spreading(&self) -> f64 {
        0.25
    }

    fn staircase_aim(&self) -> Option<StaircaseAim> {
        Some(StaircaseAim::MeanAbsolute)
    }
}

/// `error^2`, whose expectation is the mean square error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquaredError;

impl Loss for SquaredError {
    fn least_on(&self, from: f64, _to: f64) -> f64 {
        mul_down(from, from)
    }

    fn greatest_on(&self, _from: f64, to: f64) -> f64 {
        mul_up(to, to)
    }

    /// `(k^2 - 1/4) h^2`: the line is the tangent at the middle of the interval.
    fn below_at_knot(&self, k: u64, spacing: f64) -> f64 {
        let k = k as f64;
        let knot = sub_down(mul_down(k, k), 0.25);
        // The greater magnitude for the negative one, at k = 0.
        if knot < 0.0 {
            mul_down(knot, mul_up(spacing, spacing))
        } else {
            mul_down(knot, mul_down(spacing, spacing))
        }
    }

    /// `(a^2 + a b + b^2)/3`.
    fn greatest_mean_on(&self, from: f64, to: f64) -> f64 {
        div_up(add_up(add_up(mul_up(from, from), mul_up(from, to)), mul_up(to, to)), 3.0)
    }

    /// The variance of the position in the interval, 1/12.
    fn greatest_gain_of_spreading(&self) -> f64 {
        div_up(1.0, 12.0)
    }

    fn staircase_aim(&self) -> Option<StaircaseAim> {
        Some(StaircaseAim::MeanSquare)
    }
}

/// One for an error beyond a distance, zero otherwise: its expectation is one less the usefulness
/// `P[|error| <= t]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// `t`.
    pub distance: f64,
}

impl Loss for Beyond {
    fn least_on(&self, from: f64, _to: f64) -> f64 {
        if from > self.distance { 1.0 } else { 0.0 }
    }

    fn greatest_on(&self, _from: f64, to: f64) -> f64 {
        if to > self.distance { 1.0 } else { 0.0 }
    }

    fn jump(&self) -> Option<f64> {
        Some(self.distance)
    }

    /// The share of the interval that lies beyond the distance.
    fn greatest_mean_on(&self, from: f64, to: f64) -> f64 {
        if from >= self.distance || to <= self.distance {
            return self.greatest_on(from, to);
        }
        let (beyond, whole) = (add_up(to, -self.distance), add_down(to, -from));
        if whole > 0.0 { div_up(beyond, whole).min(1.0) } else { 1.0 }
    }

    fn staircase_aim(&self) -> Option<StaircaseAim> {
        Some(StaircaseAim::Usefulness(self.distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Formula = fn(f64) -> f64;

    fn losses() -> Vec<(Box<dyn Loss>, Formula)> {
        vec![
            (Box::new(AbsoluteError), |x| x),
            (Box::new(SquaredError), |x| x * x),
            (Box::new(Beyond { distance: 0.7 }), |x| f64::from(u8::from(x > 0.7))),
        ]
    }

    #[test]
    fn bounds_hold_on_every_interval() {
        for (loss, exact) in losses() {
            for (from, to) in
                [(0.0, 0.0), (0.0, 1.0), (0.3, 0.7), (0.7, 0.7), (0.6, 0.9), (2.0, 2.5)]
            {
                let points: Vec<f64> =
                    (0..=1000).map(|i| from + (to - from) * f64::from(i) / 1000.0).collect();
                let values = points.iter().map(|&x| exact(x));
                assert!(
                    values.clone().fold(f64::INFINITY, f64::min) >= loss.least_on(from, to),
                    "{loss:?} {from} {to}"
                );
                assert!(
                    values.clone().fold(0.0, f64::max) <= loss.greatest_on(from, to),
                    "{loss:?} {from} {to}"
                );
                let mean = values.sum::<f64>() / 1001.0;
                let claimed = loss.greatest_mean_on(from, to);
                assert!(
                    (mean - claimed).abs() < 2e-3 * (1.0 + mean),
                    "{loss:?} {from} {to}: {mean} {claimed}"
                );
            }
        }
    }

    #[test]
    fn rounded_errors_are_charged_no_more_than_their_loss_and_nearly_all_of_it() {
        for spacing in [0.125, 0.3, 1.0] {
            for (loss, exact) in losses() {
                let charge = |k: u64| loss.below_at_knot(k, spacing);
                let without_bias =
                    !matches!(loss.staircase_aim(), Some(StaircaseAim::Usefulness(_)));
                let mut least_gap = f64::INFINITY;
                for k in 0..40u64 {
                    assert!(charge(k + 1) >= charge(k), "{loss:?}");
                    for i in 0..=20 {
                        let share = f64::from(i) / 20.0;
                        let charged = if without_bias {
                            charge(k) * (1.0 - share) + charge(k + 1) * share
                        } else {
                            charge(k + u64::from(i >= 10))
                        };
                        let gap = exact((k as f64 + share) * spacing) - charged;
                        // The line itself is evaluated with rounding.
                        assert!(gap >= -1e-12, "{loss:?} {spacing} {k} {share}: {gap}");
                        least_gap = least_gap.min(gap);
                    }
                }
                assert!(least_gap.abs() < 1e-12, "{loss:?} {spacing}: {least_gap}");
            }
        }
    }

    #[test]
    fn a_loss_of_which_little_is_known_is_charged_half_a_step_nearer() {
        #[derive(Debug)]
        struct Root;
        impl Loss for Root {
            fn least_on(&self, from: f64, _: f64) -> f64 {
                from.sqrt().next_down().max(0.0)
            }
            fn greatest_on(&self, _: f64, to: f64) -> f64 {
                to.sqrt().next_up()
            }
        }
        assert_eq!(Root.below_at_knot(0, 0.5), 0.0);
        assert!((Root.below_at_knot(5, 0.5) - 1.5).abs() < 1e-15);
        assert!((Root.greatest_mean_on(1.0, 4.0) - 2.0).abs() < 1e-15);
        assert_eq!(
            (Root.greatest_gain_of_spreading(), Root.staircase_aim()),
            (f64::INFINITY, None)
        );
    }

    #[test]
    fn spreading_gains_no_more_than_claimed() {
        for (loss, exact) in losses() {
            for n in 0..5 {
                let (n, steps) = (f64::from(n), 2000);
                let spread: f64 = (0..steps)
                    .map(|i| exact((n - 0.5 + (f64::from(i) + 0.5) / f64::from(steps)).abs()))
                    .sum();
                let gain = spread / f64::from(steps) - exact(n);
                assert!(gain <= loss.greatest_gain_of_spreading() + 1e-6, "{loss:?} {n}: {gain}");
            }
        }
    }
}
