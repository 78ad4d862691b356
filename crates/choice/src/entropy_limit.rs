//! The least entropy that noise can have under approximate differential privacy.
//!
//! For real numbers there is none: a narrow spike with probability `delta` lowers the differential
//! entropy without limit, so that a ranking by it compares the mechanisms that it lists and says
//! nothing about others. For integers of sensitivity `D`, with `b = e^-epsilon`, `eta = 2 D delta`
//! and `T_k` the probability of all but the `k` likeliest values,
//! `T_(k+2D) >= b (T_k - eta)` and `T_k >= 2D b (1 - eta)/(k (1 - b) + 2D b)` for `k <= 2D`; the
//! law of the greatest convex function below these bounds majorizes every other, and its Shannon
//! entropy is the bound. The proof is in docs/proofs/entropy_limit.md.

use reticent_numerics::rounding::{add_down, add_up, div_down, mul_down, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure};

/// The most values whose probabilities are bounded one by one.
const MOST_VALUES: f64 = 4e6;

/// By how much, relatively, the bounds on `T` are lowered: more than the rounding errors of the
/// convex function below them.
const MARGIN: f64 = 1e-12;

/// A proved lower bound of the Shannon entropy, in nats, of every integer noise that keeps
/// `(epsilon, delta)` for moves up to `sensitivity`; with a `delta` of zero of every noise that
/// keeps the pure guarantee. `None` where its probabilities are too many to go through.
pub fn least_integer_entropy(epsilon: f64, delta: f64, sensitivity: u32) -> Option<f64> {
    let tails = Tails::new(epsilon, delta, sensitivity)?;
    let hull = convex_below(tails.lowered());
    // Each segment spreads its probability evenly over its values.
    let term = |segment: &[(f64, f64)]| {
        let (from, to) = (segment[0], segment[1]);
        let mass = Bounds::exact(from.1) - Bounds::exact(to.1);
        // Terms are not negative, so that one which is not known to be positive may be left out.
        if mass.lower() <= 0.0 {
            0.0
        } else {
            (mass * (Bounds::exact(to.0 - from.0) / mass).ln()).lower().max(0.0)
        }
    };
    Some(hull.windows(2).map(term).fold(0.0, add_down))
}

/// The lower bounds on `T_0, T_1, ...`, up to the first that is zero.
struct Tails {
    /// `T_1, ..., T_2D`.
    first: Vec<f64>,
    decay: f64,
    taken: f64,
}

impl Tails {
    fn new(epsilon: f64, delta: f64, sensitivity: u32) -> Option<Tails> {
        let exponent = Bounds::exact(-epsilon);
        // The bounds grow with b and fall with eta.
        let (decay, rest) = (exponent.exp().lower(), (-exponent.exp_m1()).upper());
        let greatest_decay = exponent.exp().upper();
        let width = 2.0 * f64::from(sensitivity);
        let taken = mul_up(width, delta).min(1.0);
        let periods = if taken > 0.0 { (rest / taken).ln_1p() / epsilon } else { 50.0 / epsilon };
        let values = width * (periods + 2.0);
        if sensitivity == 0 || values.is_nan() || values > MOST_VALUES {
            return None;
        }
        let at = |k: u32| {
            let above = mul_down(mul_down(width, decay), sub_down(1.0, taken));
            let below = add_up(mul_up(f64::from(k), rest), mul_up(width, greatest_decay));
            div_down(above, below).max(0.0)
        };
        Some(Tails { first: (1..=2 * sensitivity).map(at).collect(), decay, taken })
    }

    /// The points `(k, T_k)`, each a little below what is proved, the first `(0, 1)` and the last
    /// at zero.
    fn lowered(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let mut period = self.first.clone();
        let width = period.len();
        let mut ended = false;
        let rest = (0..).map_while(move |index: usize| {
            if ended {
                return None;
            }
            let value = &mut period[index % width];
            let shown = mul_down(*value, 1.0 - MARGIN);
            *value = mul_down(self.decay, sub_down(*value, self.taken)).max(0.0);
            // Nothing below the smallest probability that matters: to end early is to claim less.
            ended = shown <= 1e-22 || index as f64 >= MOST_VALUES;
            Some((index as f64 + 1.0, if ended { 0.0 } else { shown }))
        });
        std::iter::once((0.0, 1.0)).chain(rest)
    }
}

/// The corners of the greatest convex function that is nowhere above the points, which come from
/// left to right.
fn convex_below(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..] {
            // The slopes must rise.
            let (left, right) = (
                (last.1 - before.1) * (point.0 - last.0),
                (point.1 - last.1) * (last.0 - before.0),
            );
            if left < right {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entropy(probabilities: impl Iterator<Item = f64>) -> f64 {
        probabilities.filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum()
    }

    /// `ln` of the sum and the mean level of the staircase with `middle` integers on top and `2D`
    /// on each level below.
    fn staircase(epsilon: f64, sensitivity: u32, middle: u32) -> f64 {
        let level = |n: u32| if n < middle { 0 } else { (n - middle) / (2 * sensitivity) + 1 };
        let weight = |n: u32| (-epsilon * f64::from(level(n))).exp();
        let total: f64 = (0..200_000).map(weight).sum();
        entropy((0..200_000).map(|n| weight(n) / total))
    }

    #[test]
    fn for_counts_the_bound_is_the_discrete_laplace_distribution() {
        for epsilon in [0.1f64, 0.5, 1.0, 3.0] {
            let truth = staircase(epsilon, 1, 1);
            for (delta, close) in [(0.0, 1e-9), (1e-12, 1e-8), (1e-6, 1e-3)] {
                let bound = least_integer_entropy(epsilon, delta, 1).expect("few values");
                assert!(
                    bound <= truth && bound > truth * (1.0 - close),
                    "{epsilon} {delta}: {bound} {truth}"
                );
            }
        }
    }

    #[test]
    fn no_staircase_is_below_it_and_the_best_is_near() {
        for (epsilon, sensitivity, near) in
            [(0.2, 3, 0.06), (1.0, 4, 0.25), (2.0, 10, 0.5), (0.5, 7, 0.15)]
        {
            let best = (1..=2 * sensitivity).map(|middle| staircase(epsilon, sensitivity, middle));
            let best = best.fold(f64::INFINITY, f64::min);
            let bound = least_integer_entropy(epsilon, 0.0, sensitivity).expect("few values");
            assert!(
                bound <= best && bound > best - near,
                "{epsilon} {sensitivity}: {bound} {best}"
            );
        }
    }

    #[test]
    fn a_spike_keeps_the_bound_and_comes_near_it_when_it_is_large() {
        // Zero with probability delta, discrete Laplace noise otherwise.
        for (epsilon, delta) in [(0.5f64, 0.3f64), (1.0, 0.1), (0.1, 0.5), (2.0, 1e-3)] {
            let b = (-epsilon).exp();
            let at = |n: i32| {
                (1.0 - delta) * (1.0 - b) / (1.0 + b) * b.powi(n.abs())
                    + f64::from(u8::from(n == 0)) * delta
            };
            let spiked = entropy((-3000..=3000).map(at));
            let bound = least_integer_entropy(epsilon, delta, 1).expect("few values");
            assert!((0.0..=spiked).contains(&bound), "{epsilon} {delta}: {bound} {spiked}");
        }
        let bound = |delta| least_integer_entropy(1.0, delta, 2).expect("few values");
        assert!(bound(1e-9) > bound(1e-3) && bound(1e-3) > bound(0.1) && bound(0.1) > bound(0.2));
        // A delta that covers everything leaves nothing to prove.
        assert_eq!(bound(0.5), 0.0);
    }

    #[test]
    fn what_is_too_wide_is_not_claimed() {
        assert_eq!(least_integer_entropy(1e-9, 1e-12, 100), None);
        assert_eq!(least_integer_entropy(1.0, 1e-6, 0), None);
    }

    #[test]
    fn the_convex_function_is_below_every_point_and_above_every_other() {
        let points = [(0.0, 1.0), (1.0, 0.5), (2.0, 0.45), (3.0, 0.2), (4.0, 0.1), (5.0, 0.0)];
        let hull = convex_below(points.into_iter());
        assert_eq!(hull, [(0.0, 1.0), (1.0, 0.5), (3.0, 0.2), (5.0, 0.0)]);
    }
}
