//! The duality gap of trend filtering, certified.

use super::differences::Differences;
use reticent_numerics::Bounds;

/// The problem: minimise over `x`
///
/// ```text
/// P(x) = 1/2 sum w_i (y_i - x_i)^2 + sum_e cap_e |(D x)_e|.
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) differences: Differences<'a>,
    pub(crate) values: &'a [f64],
    pub(crate) precisions: &'a [f64],
    /// `lambda c_e`, as rounded: the problem that is solved is the one with these numbers.
    pub(crate) capacities: &'a [f64],
}

/// How far a vector is from the optimum, proved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Certificate {
    /// At least `P(x) - min P`.
    pub(crate) gap: f64,
    /// At most `P(x)`.
    pub(crate) objective: f64,
    /// What the gap is compared with at least.
    pub(crate) floor: f64,
}

/// A thousandth of a noise variance for each value, if the noise is equal: where the objective is
/// below that, as for a constant vector, its own rounding is all there is to compare with.
fn floor_of(values: usize) -> f64 {
    1e-3 * values as f64
}

impl Certificate {
    /// `gap / max(P(x), n/1000)`, rounded up; infinite if nothing is proved.
    pub(crate) fn relative_gap(&self) -> f64 {
        reticent_numerics::rounding::div_up(self.gap, self.objective.max(self.floor))
    }
}

impl Problem<'_> {
    /// Certifies `x` by the dual vector `u`, which is first clamped to `|u_e| <= cap_e`.
    ///
    /// # Derivation
    /// For a feasible `u` the dual objective is `D(u) = min_v 1/2 sum w (y - v)^2 + u^T D v`,
    /// attained at `v = y - W^-1 D^T u`. The function that is minimised is quadratic, so at `x` it
    /// is `D(u) + 1/2 sum w (x - v)^2`. Subtracting it from `P(x)`,
    ///
    /// ```text
    /// P(x) - D(u) = sum_i r_i^2 / (2 w_i) + sum_e (cap_e |d_e| - u_e d_e),
    /// r = W (y - x) - D^T u,  d = D x.
    /// ```
    ///
    /// No term is negative, so nothing cancels between terms, and weak duality gives
    /// `P(x) - min P <= P(x) - D(u)`. As `P` is strongly convex, `1/2 sum w (x - x*)^2` is at most
    /// the gap too.
    ///
    /// # Direction of error
    /// Evaluated in intervals: the gap is rounded up, the objective down.
    pub(crate) fn certify(&self, x: &[f64], u: &[f64]) -> Certificate {
        let feasible: Vec<Bounds> = u
            .iter()
            .zip(self.capacities)
            .map(|(u, cap)| Bounds::exact(u.clamp(-cap, *cap)))
            .collect();
        let enclosed: Vec<Bounds> = x.iter().copied().map(Bounds::exact).collect();
        let pull = self.differences.transposed(&feasible);
        let steps = self.differences.apply(&enclosed);
        let half = Bounds::exact(0.5);
        let (mut gap, mut objective) = (Bounds::ZERO, Bounds::ZERO);
        for (node, &pull) in pull.iter().enumerate() {
            let weight = Bounds::exact(self.precisions[node]);
            let residual = weight * (Bounds::exact(self.values[node]) - enclosed[node]);
            gap = gap + half * (residual - pull).square() / weight;
            objective = objective + half * residual.square() / weight;
        }
        for ((step, cap), u) in steps.iter().zip(self.capacities).zip(&feasible) {
            // cap |d| - u d is (cap - u) d or (cap + u) (-d); where the sign of d is open both are
            // bounded.
            let penalty = Bounds::exact(*cap) * step.abs();
            let slack = if step.lower() >= 0.0 {
                (Bounds::exact(*cap) - *u) * *step
            } else if step.upper() <= 0.0 {
                (Bounds::exact(*cap) + *u) * -*step
            } else {
                penalty - *u * *step
            };
            gap = gap + slack;
            objective = objective + penalty;
        }
        Certificate {
            gap: gap.upper().max(0.0),
            objective: objective.lower().max(0.0),
            floor: floor_of(self.values.len()),
        }
    }

    /// The same gap in plain `f64`, to decide when to stop.
    pub(crate) fn estimate_relative_gap(&self, x: &[f64], u: &[f64]) -> f64 {
        let feasible: Vec<f64> =
            u.iter().zip(self.capacities).map(|(u, cap)| u.clamp(-cap, *cap)).collect();
        let pull = self.differences.transposed(&feasible);
        let steps = self.differences.apply(x);
        let (mut gap, mut objective) = (0.0, 0.0);
        for (node, pull) in pull.iter().enumerate() {
            let residual = self.precisions[node] * (self.values[node] - x[node]);
            gap += 0.5 * (residual - pull).powi(2) / self.precisions[node];
            objective += 0.5 * residual * residual / self.precisions[node];
        }
        for ((step, cap), u) in steps.iter().zip(self.capacities).zip(&feasible) {
            gap += cap * step.abs() - u * step;
            objective += cap * step.abs();
        }
        gap.max(0.0) / f64::max(objective, floor_of(self.values.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::super::trend_filtering::Order;
    use super::*;

    /// Two nodes: `P(x) = 1/2 (x_0 - 3)^2 + 1/2 (x_1 + 1)^2 + |x_0 - x_1|`, least at `(2, 0)` with
    /// `u = 1`.
    fn with_two_nodes(check: impl Fn(Problem<'_>)) {
        let graph = Graph::line(2).expect("a line");
        let differences = Differences { graph: &graph, order: Order::Constant };
        check(Problem {
            differences,
            values: &[3.0, -1.0],
            precisions: &[1.0, 1.0],
            capacities: &[1.0],
        });
    }

    #[test]
    fn the_optimum_is_certified_exactly() {
        with_two_nodes(|problem| {
            assert_eq!(
                problem.certify(&[2.0, 0.0], &[1.0]),
                Certificate { gap: 0.0, objective: 3.0, floor: 0.002 }
            );
            // A dual vector beyond the capacity is clamped, so it proves no more.
            assert_eq!(problem.certify(&[2.0, 0.0], &[7.0]).gap, 0.0);
        });
    }

    #[test]
    fn any_other_point_has_its_distance_in_the_gap() {
        with_two_nodes(|problem| {
            for (x, u) in [
                ([2.1, 0.0], [1.0]),
                ([2.0, 0.0], [0.9]),
                ([1.0, 1.0], [1.0]),
                ([3.0, -1.0], [0.0]),
            ] {
                let certificate = problem.certify(&x, &u);
                let value = |x: [f64; 2]| {
                    0.5 * (x[0] - 3.0_f64).powi(2)
                        + 0.5 * (x[1] + 1.0_f64).powi(2)
                        + (x[0] - x[1]).abs()
                };
                assert!(certificate.gap >= value(x) - 3.0, "{x:?} {u:?}: {certificate:?}");
                assert!(certificate.gap > 0.0 && certificate.objective <= value(x));
                let estimate = problem.estimate_relative_gap(&x, &u);
                assert!((estimate / certificate.relative_gap() - 1.0).abs() < 1e-12, "{estimate}");
            }
        });
    }

    #[test]
    fn nothing_is_proved_by_nothing() {
        with_two_nodes(|problem| {
            assert_eq!(problem.certify(&[f64::NAN, 0.0], &[1.0]).relative_gap(), f64::INFINITY);
        });
    }
}
