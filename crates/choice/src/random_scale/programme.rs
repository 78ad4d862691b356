//! The best distribution of the inverse scale: a linear programme with one constraint.
//!
//! Laplace noise of inverse scale `T` has the loss `epsilon` if `E[T e^(-T D)] >= e^-epsilon E[T]`,
//! that is `E[g(T)] >= 0` with `g(t) = t (e^(-t D) - e^-epsilon)` (Theorem 4.3 of Mohammady;
//! erratum R1 for the two-point case). The error `E[c(T)]` is linear in the distribution of `T`
//! too. A linear programme with one constraint besides the total mass has a solution with two
//! points at most: so a two-point `T` is the best of all (erratum R3, where the paper says that it
//! "brings nothing"), or one point, which is Laplace noise with `t = epsilon/D`.
//!
//! **The certificate.** For every `lambda >= 0` and every admissible `T`, `E[c(T)] >= E[c(T) -
//! lambda g(T)] >= inf over t of c(t) - lambda g(t)`. At the optimal `lambda` the infimum is the
//! optimum, and interval arithmetic (`certificate.rs`) bounds it from below over all `t > 0`.

use super::certificate::proved_floor;
use super::conditional_loss::ConditionalLoss;
use reticent_numerics::{Bounds, Enclosure, Jet};

/// The points of the first search on each side of `epsilon/D`.
const GRID: i32 = 300;

/// The best distribution of the inverse scale for a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct BestInverseScale {
    /// `(t_1, t_2, w)`, with the probability `w` of `t_1`; `None` where Laplace noise is the best.
    pub two_point: Option<(f64, f64, f64)>,
    /// The error of Laplace noise.
    pub laplace: Bounds,
    /// The error of the best: Laplace's, or that of the two points with the weight that `epsilon`
    /// allows.
    pub cost: Bounds,
    /// No distribution of the inverse scale has a smaller error: proved.
    pub floor: f64,
    /// The multiplier of the proof.
    pub multiplier: f64,
}

/// The best distribution of the inverse scale of Laplace noise for `epsilon` and a sensitivity,
/// with its certificate.
pub fn best_inverse_scale(
    loss: &ConditionalLoss,
    epsilon: f64,
    sensitivity: f64,
) -> BestInverseScale {
    let problem = Problem { loss, epsilon, sensitivity };
    let middle = epsilon / sensitivity;
    // The middle is rounded, and its noise is that of Laplace's own mechanism but for that.
    let laplace = loss.at(&(Bounds::exact(epsilon) / Bounds::exact(sensitivity)));
    let pair = problem
        .coarse(middle)
        .map(|pair| problem.polished(pair))
        .and_then(|pair| problem.two_point(pair));
    if let Some((points, cost)) = pair
        && cost.upper() < laplace.lower()
    {
        let multiplier = problem.multiplier((points.0, points.1));
        let floor = proved_floor(&problem, multiplier, cost.lower());
        return BestInverseScale { two_point: Some(points), laplace, cost, floor, multiplier };
    }
    // c'(t) = lambda g'(t) at the only point.
    let (slope, gain) = (problem.derivatives(middle).0, problem.gain_derivative(middle));
    let multiplier = (slope / gain).max(0.0);
    let floor = proved_floor(&problem, multiplier, laplace.lower());
    BestInverseScale { two_point: None, laplace, cost: laplace, floor, multiplier }
}

/// A loss, an epsilon and a sensitivity.
pub(super) struct Problem<'a> {
    pub(super) loss: &'a ConditionalLoss,
    pub(super) epsilon: f64,
    pub(super) sensitivity: f64,
}

impl Problem<'_> {
    /// `g(t)`; the difference of exponentials without cancellation.
    pub(super) fn gain<E: Enclosure>(&self, t: &E) -> E {
        let rest = t.exactly(self.epsilon) - t.clone() * t.exactly(self.sensitivity);
        t.clone() * t.exactly(-self.epsilon).exp() * rest.exp_m1()
    }

    /// `c(t) - lambda g(t)`.
    pub(super) fn lagrangian<E: Enclosure>(&self, multiplier: f64, t: &E) -> E {
        self.loss.at(t) - t.exactly(multiplier) * self.gain(t)
    }

    fn pair_at(&self, t: f64) -> (f64, f64) {
        let t = Bounds::exact(t);
        (self.gain(&t).estimate(), self.loss.at(&t).estimate())
    }

    /// `c'` and `c''`, estimated.
    fn derivatives(&self, t: f64) -> (f64, f64) {
        let jet = self.loss.at(&Jet::variable(Bounds::exact(t), 2));
        (jet.coefficient(1).estimate(), 2.0 * jet.coefficient(2).estimate())
    }

    fn gain_derivative(&self, t: f64) -> f64 {
        self.gain(&Jet::variable(Bounds::exact(t), 1)).coefficient(1).estimate()
    }

    /// The best pair of a grid that is dense next to the middle, where the points of a solution
    /// part.
    fn coarse(&self, middle: f64) -> Option<(f64, f64)> {
        let offset = |i: i32| 3e-4 * 10f64.powf(4.8 * f64::from(i) / f64::from(GRID));
        let side = |sign: f64| -> Vec<(f64, f64, f64)> {
            let points = (0..=GRID).map(|i| middle * (sign * offset(i)).exp());
            points.map(|t| (t, self.pair_at(t).0, self.pair_at(t).1)).collect()
        };
        let (left, right) = (side(-1.0), side(1.0));
        let mut best: Option<(f64, f64, f64)> = None;
        for &(t1, g1, c1) in &left {
            for &(t2, g2, c2) in &right {
                if !(g1 > 0.0 && g2 < 0.0) {
                    continue;
                }
                let cost = (c1 * -g2 + c2 * g1) / (g1 - g2);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, t1, t2));
                }
            }
        }
        best.map(|(_, t1, t2)| (t1, t2))
    }

    /// `lambda = (c_1 - c_2)/(g_1 - g_2)`, at which both points have the same Lagrangian.
    fn multiplier(&self, (t1, t2): (f64, f64)) -> f64 {
        let ((g1, c1), (g2, c2)) = (self.pair_at(t1), self.pair_at(t2));
        ((c1 - c2) / (g1 - g2)).max(0.0)
    }

    /// Newton's steps to where both points are stationary. The multiplier depends on them to second
    /// order only, so that the steps of the two points can be made apart.
    fn polished(&self, mut pair: (f64, f64)) -> (f64, f64) {
        for _ in 0..60 {
            let multiplier = self.multiplier(pair);
            let step = |t: f64| {
                let jet = self.lagrangian(multiplier, &Jet::variable(Bounds::exact(t), 2));
                let (first, second) =
                    (jet.coefficient(1).estimate(), 2.0 * jet.coefficient(2).estimate());
                // At most a tenth of the way to zero or as far up; downhill where it is not convex.
                let newton = if second > 0.0 { first / second } else { first.signum() * 0.02 * t };
                t - newton.clamp(-0.1 * t, 0.1 * t)
            };
            let next = (step(pair.0), step(pair.1));
            let moved = ((next.0 / pair.0 - 1.0).abs()).max((next.1 / pair.1 - 1.0).abs());
            if !(moved.is_finite() && next.0 > 0.0 && next.0 < next.1) {
                break;
            }
            pair = next;
            if moved < 1e-15 {
                break;
            }
        }
        pair
    }

    /// The two points with the weight at which `E[g(T)] = 0`, and their cost.
    fn two_point(&self, (t1, t2): (f64, f64)) -> Option<((f64, f64, f64), Bounds)> {
        let at = |t: f64| (self.gain(&Bounds::exact(t)), self.loss.at(&Bounds::exact(t)));
        let ((g1, c1), (g2, c2)) = (at(t1), at(t2));
        if !(g1.lower() > 0.0 && g2.upper() < 0.0) {
            return None;
        }
        let weight = -g2 / (g1 - g2);
        let cost = (c2 * g1 - c1 * g2) / (g1 - g2);
        Some(((t1, t2, weight.estimate().clamp(0.0, 1.0)), cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piecewise_loss::PiecewiseLoss;

    fn reference() -> serde_json::Value {
        serde_json::from_str(include_str!("../../../../reference/r2dp.json")).expect("JSON")
    }

    fn number(value: &serde_json::Value) -> f64 {
        value.as_str().and_then(|text| text.parse().ok()).expect("a number")
    }

    fn loss_named(metric: &str) -> ConditionalLoss {
        match metric {
            "l1" => ConditionalLoss::Real(PiecewiseLoss::absolute()),
            "l2" => ConditionalLoss::Real(PiecewiseLoss::square()),
            tail => ConditionalLoss::Exceedance(tail[1..].parse().expect("a number")),
        }
    }

    #[test]
    fn every_optimum_of_the_reference_is_found_and_proved() {
        let reference = reference();
        let rows = reference["optimised"]["rows"].as_array().expect("rows");
        assert!(rows.len() >= 32);
        for row in rows {
            let epsilon = number(&row["eps"]);
            let best = best_inverse_scale(
                &loss_named(row["metric"].as_str().expect("a name")),
                epsilon,
                1.0,
            );
            let laplace = number(&row["laplace_cost"]);
            assert!((best.laplace.estimate() / laplace - 1.0).abs() < 1e-13, "{row}: {best:?}");
            match &row["two_point"] {
                serde_json::Value::Null => assert_eq!(best.two_point, None, "{row}"),
                truth => {
                    let (t1, t2, weight) = best.two_point.expect("a pair");
                    assert!(
                        (best.cost.estimate() / number(&truth["cost"]) - 1.0).abs() < 1e-13,
                        "{row}: {best:?}"
                    );
                    // The optimum is flat in all three.
                    for (found, key) in [(t1, "tau1"), (t2, "tau2"), (weight, "w1")] {
                        assert!(
                            (found / number(&truth[key]) - 1.0).abs() < 1e-7,
                            "{row}: {best:?}"
                        );
                    }
                    assert!(best.cost.upper() < best.laplace.lower());
                }
            }
            assert!(best.floor >= best.cost.lower() * (1.0 - 1e-9), "{row}: {best:?}");
            assert!(best.floor <= best.cost.upper(), "{row}: {best:?}");
        }
    }

    #[test]
    fn laplace_is_beaten_from_the_thresholds_of_the_reference_on() {
        let reference = reference();
        let thresholds =
            reference["eps_threshold_to_beat_laplace"]["values"].as_object().expect("a table");
        assert!(thresholds.len() >= 13);
        for (metric, threshold) in thresholds {
            let (loss, threshold) = (loss_named(metric), number(threshold));
            let below = best_inverse_scale(&loss, threshold * (1.0 - 1e-3), 1.0);
            assert_eq!(below.two_point, None, "{metric} below {threshold}");
            assert!(below.floor >= below.laplace.lower() * (1.0 - 1e-9), "{metric}: {below:?}");
            let above = best_inverse_scale(&loss, threshold * (1.0 + 1e-3), 1.0);
            assert!(above.two_point.is_some(), "{metric} above {threshold}: {above:?}");
        }
    }

    #[test]
    fn whole_numbers_of_sensitivities_and_small_losses_leave_laplace_the_best() {
        // Erratum R8: "effective for small epsilon" is the opposite of what holds.
        for epsilon in [0.01, 0.3, 1.0] {
            for loss in ["l1", "l2", "u0.01", "u0.3", "u1", "u2.5"] {
                assert_eq!(
                    best_inverse_scale(&loss_named(loss), epsilon, 1.0).two_point,
                    None,
                    "{loss} {epsilon}"
                );
            }
        }
        for epsilon in [2.0, 10.0, 30.0] {
            assert_eq!(
                best_inverse_scale(&loss_named("u1"), epsilon, 1.0).two_point,
                None,
                "{epsilon}"
            );
        }
    }

    #[test]
    fn the_sensitivity_is_a_unit() {
        let (one, four) = (
            best_inverse_scale(&loss_named("l1"), 5.0, 1.0),
            best_inverse_scale(&loss_named("l1"), 5.0, 4.0),
        );
        assert!((four.cost.estimate() / one.cost.estimate() / 4.0 - 1.0).abs() < 1e-13);
        let (a, b) = (one.two_point.expect("a pair"), four.two_point.expect("a pair"));
        assert!((b.0 * 4.0 / a.0 - 1.0).abs() < 1e-6 && (b.2 / a.2 - 1.0).abs() < 1e-6);
    }
}
