//! Graph trend filtering: the released vector made piecewise constant, linear or quadratic over the
//! graph.

use super::differences::Differences;
use super::duality::{Certificate, Problem};
use super::risk::{risk_of_fused, risk_of_projection, weighted_residual};
use super::{
    GaussianRisk, Graph, GraphError, NoisyValues, alternating, interior_point, total_variation,
};
use reticent_numerics::require;

/// What the vector is pulled towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Order 0: piecewise constant, by total variation (the fused lasso).
    Constant,
    /// Order 1: piecewise linear; on a general graph, harmonic but for a few nodes.
    Linear,
    /// Order 2: piecewise quadratic; the Laplacian is piecewise constant.
    Quadratic,
}

/// Graph trend filtering of one order on one graph.
///
/// # Formula
/// With the released values `y` in units `s` of their noise and precisions `w` ([`NoisyValues`]),
///
/// ```text
/// x = s argmin_v  1/2 sum_i w_i (y_i / s - v_i)^2 + lambda sum_e c_e |(D v)_e|,
/// ```
///
/// where `D` is the difference operator of order `k + 1` (`E`, `L = E^T C E` or `E L`). `lambda`
/// has no unit: with noise of equal deviation `sigma` it is the paper's penalty divided by `sigma`.
///
/// # Solvers
/// Order 0: dynamic programming on paths, minimum cuts elsewhere; both exact. Order 1: an
/// interior-point method. Order 2: alternating directions. In each case the duality gap is
/// certified in interval arithmetic, and a result whose gap is larger than asked for is an error.
///
/// # Reference
/// Wang, Sharpnack, Smola, Tibshirani, *Trend filtering on graphs*, Journal of Machine Learning
/// Research 17 (2016).
///
/// # Example
/// ```
/// use reticent_denoising::graph::{
///     Graph, NoiseDeviation, NoisyValues, Order, PenaltyRule, TrendFilter,
/// };
///
/// let line = Graph::line(6)?;
/// let released = NoisyValues::new(&[0.3, -0.8, 0.1, 9.2, 10.4, 9.6], NoiseDeviation::Same(1.0))?;
/// let fit = TrendFilter::new(&line, Order::Constant).tuned(&released, PenaltyRule::UnbiasedRisk)?;
/// assert!(fit.relative_gap() <= 1e-6);
/// assert!(fit.risk_if_gaussian().after.value < fit.risk_if_gaussian().before);
/// # Ok::<(), reticent_denoising::graph::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TrendFilter<'g> {
    pub(super) differences: Differences<'g>,
    pub(super) relative_gap: f64,
}

/// A denoised vector, with what is known about it.
#[derive(Clone, Debug)]
pub struct TrendFit {
    pub(super) values: Vec<f64>,
    pub(super) lambda: f64,
    pub(super) degrees_of_freedom: usize,
    pub(super) relative_gap: f64,
    pub(super) residual: f64,
    pub(super) gaussian_risk: GaussianRisk,
    pub(super) warm: WarmStart,
}

/// What the solver hands from one penalty to the next.
#[derive(Clone, Debug)]
pub(super) enum WarmStart {
    None,
    Flow(Vec<f64>),
    Alternating(alternating::State),
}

impl<'g> TrendFilter<'g> {
    /// Trend filtering within a relative duality gap of 1e-6.
    pub fn new(graph: &'g Graph, order: Order) -> Self {
        TrendFilter { differences: Differences { graph, order }, relative_gap: 1e-6 }
    }

    /// The same with another relative duality gap.
    ///
    /// # Errors
    /// If it is not a number from 1e-12 to 1.
    pub fn with_relative_gap(self, relative_gap: f64) -> Result<Self, GraphError> {
        let accepted = "a number from 1e-12 to 1";
        Ok(TrendFilter {
            relative_gap: require(
                (1e-12..=1.0).contains(&relative_gap),
                "relative_gap",
                relative_gap,
                accepted,
            )?,
            ..self
        })
    }

    /// The fit for one penalty.
    ///
    /// # Errors
    /// If `lambda` is not a number from 1e-9 to 1e12, the vector does not fit the graph, or the gap
    /// is not reached.
    pub fn fit(&self, released: &NoisyValues, lambda: f64) -> Result<TrendFit, GraphError> {
        self.fit_from(released, lambda, None)
    }

    /// The fit for one penalty, starting from the fit for another.
    pub(super) fn fit_from(
        &self,
        released: &NoisyValues,
        lambda: f64,
        start: Option<&TrendFit>,
    ) -> Result<TrendFit, GraphError> {
        require((1e-9..=1e12).contains(&lambda), "lambda", lambda, "a number from 1e-9 to 1e12")?;
        self.differences.graph.require_length("values", released.len())?;
        let capacities = self.differences.capacities(lambda);
        let problem = Problem {
            differences: self.differences,
            values: released.standardised(),
            precisions: released.precisions(),
            capacities: &capacities,
        };
        match self.differences.order {
            Order::Constant => self.fit_constant(released, problem, lambda, start),
            Order::Linear => self.fit_linear(released, problem, lambda),
            Order::Quadratic => self.fit_quadratic(released, problem, lambda, start),
        }
    }

    fn fit_constant(
        &self,
        released: &NoisyValues,
        problem: Problem<'_>,
        lambda: f64,
        start: Option<&TrendFit>,
    ) -> Result<TrendFit, GraphError> {
        let graph = self.differences.graph;
        let (values, precisions) = (problem.values, problem.precisions);
        let zero;
        let flow = match start.map(|fit| &fit.warm) {
            Some(WarmStart::Flow(flow)) => flow,
            _ => {
                zero = vec![0.0; graph.edge_count()];
                &zero
            }
        };
        let fused = total_variation::solve(graph, values, precisions, problem.capacities, flow);
        let certificate = problem.certify(&fused.values, &fused.flow);
        let risk = risk_of_fused(released, &fused);
        self.finish(
            released,
            &fused.values,
            lambda,
            fused.sets,
            certificate,
            risk,
            WarmStart::Flow(fused.flow),
        )
    }

    fn fit_linear(
        &self,
        released: &NoisyValues,
        problem: Problem<'_>,
        lambda: f64,
    ) -> Result<TrendFit, GraphError> {
        let solved = interior_point::solve(&problem, 0.5 * self.relative_gap)?;
        let certificate = problem.certify(&solved.values, &solved.dual);
        // `(L x)_i = 0` outside the active nodes leaves their values free, and the harmonic
        // extension of those: one dimension for each. A component without any is constant.
        let active = |component: &Vec<usize>| {
            component.iter().filter(|&&node| solved.active[node]).count().max(1)
        };
        let freedom = self.differences.graph.components().iter().map(active).sum();
        let risk = risk_of_projection(released, &solved.values, freedom);
        self.finish(released, &solved.values, lambda, freedom, certificate, risk, WarmStart::None)
    }

    fn fit_quadratic(
        &self,
        released: &NoisyValues,
        problem: Problem<'_>,
        lambda: f64,
        start: Option<&TrendFit>,
    ) -> Result<TrendFit, GraphError> {
        let state = match start.map(|fit| &fit.warm) {
            Some(WarmStart::Alternating(state)) => Some(state.clone()),
            _ => None,
        };
        let solved = alternating::solve(&problem, lambda, state, 0.5 * self.relative_gap)?;
        let certificate = problem.certify(&solved.values, &solved.state.flow);
        // `z = L x` is constant on each set and sums to zero over each component, and `x` is then
        // known up to a constant for each component: as many dimensions as sets.
        let risk = risk_of_projection(released, &solved.values, solved.sets);
        let warm = WarmStart::Alternating(solved.state);
        self.finish(released, &solved.values, lambda, solved.sets, certificate, risk, warm)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a fit, each computed by a different solver"
    )]
    fn finish(
        &self,
        released: &NoisyValues,
        standardised: &[f64],
        lambda: f64,
        degrees_of_freedom: usize,
        certificate: Certificate,
        gaussian_risk: GaussianRisk,
        warm: WarmStart,
    ) -> Result<TrendFit, GraphError> {
        let relative_gap = certificate.relative_gap();
        if relative_gap <= self.relative_gap {
            let residual = weighted_residual(released, standardised);
            let values = released.in_release_units(standardised);
            Ok(TrendFit {
                values,
                lambda,
                degrees_of_freedom,
                relative_gap,
                residual,
                gaussian_risk,
                warm,
            })
        } else {
            Err(GraphError::NotConverged {
                lambda,
                reached: relative_gap,
                wanted: self.relative_gap,
            })
        }
    }
}

impl TrendFit {
    /// The denoised vector, in the units of the release.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The penalty, in units of the noise.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The dimension of the space that the fit was projected onto. Order 0: how many connected sets
    /// share one value. Order 1: how many nodes have a Laplacian other than zero, at least one for
    /// each component. Order 2: how many connected sets share one Laplacian.
    pub fn degrees_of_freedom(&self) -> usize {
        self.degrees_of_freedom
    }

    /// A proved bound on `(P(x) - min P) / max(P(x), n/1000)` for the objective `P`, which counts
    /// in noise variances.
    pub fn relative_gap(&self) -> f64 {
        self.relative_gap
    }

    /// `sum (y_i - x_i)^2 / sigma_i^2`.
    pub fn scaled_residual(&self) -> f64 {
        self.residual
    }

    /// Stein's unbiased estimate of the risk, if the noise is Gaussian; meaningless if not.
    pub fn risk_if_gaussian(&self) -> GaussianRisk {
        self.gaussian_risk
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoiseDeviation;
    use super::*;
    use reticent_numerics::OutOfRange;

    const ORDERS: [Order; 3] = [Order::Constant, Order::Linear, Order::Quadratic];

    fn wavy(nodes: usize) -> Vec<f64> {
        (0..nodes)
            .map(|i| 3.0 * ((i * i) as f64 * 0.7).sin() + if i % 5 < 2 { 4.0 } else { 0.0 })
            .collect()
    }

    fn graphs() -> Vec<Graph> {
        let scattered = (0..60).map(|i| (i * 7 % 25, i * i % 23, 0.5 + (i % 4) as f64));
        vec![
            Graph::line(24).expect("a line"),
            Graph::grid(5, 6).expect("a grid"),
            Graph::new(12, (0..12).map(|i| (i, (i + 1) % 12))).expect("a cycle"),
            Graph::new(10, (1..10).map(|i| (0, i))).expect("a star"),
            Graph::weighted(27, scattered.filter(|edge| edge.0 < edge.1))
                .expect("a scattered graph"),
        ]
    }

    /// An independent slow solver: accelerated projected gradient on the dual (Beck and Teboulle
    /// 2009), restarted when the objective rises.
    fn slow_solution(problem: &Problem<'_>) -> Vec<f64> {
        let rows = problem.capacities.len();
        let primal = |u: &[f64]| -> Vec<f64> {
            let pull = problem.differences.transposed(u);
            (0..problem.values.len())
                .map(|i| problem.values[i] - pull[i] / problem.precisions[i])
                .collect()
        };
        // The norm of D W^-1 D^T by Gershgorin would need its rows; the power method with a margin
        // is enough here.
        let mut direction: Vec<f64> = (0..rows).map(|e| 1.0 + (e as f64).cos()).collect();
        let mut norm = 1.0;
        for _ in 0..500 {
            let pull = problem.differences.transposed(&direction);
            let scaled: Vec<f64> =
                pull.iter().zip(problem.precisions).map(|(p, w)| p / w).collect();
            direction = problem.differences.apply(&scaled);
            norm = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            direction.iter_mut().for_each(|d| *d /= norm);
        }
        let step = 1.0 / (1.1 * norm);
        let (mut u, mut v, mut t) = (vec![0.0; rows], vec![0.0; rows], 1.0_f64);
        for _ in 0..200_000 {
            let gradient = problem.differences.apply(&primal(&v));
            let next: Vec<f64> = (0..rows)
                .map(|e| {
                    (v[e] + step * gradient[e]).clamp(-problem.capacities[e], problem.capacities[e])
                })
                .collect();
            let uphill: f64 = (0..rows).map(|e| (v[e] - next[e]) * (next[e] - u[e])).sum();
            let following =
                if uphill > 0.0 { 1.0 } else { (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0 };
            v = (0..rows)
                .map(|e| {
                    next[e]
                        + if uphill > 0.0 { 0.0 } else { (t - 1.0) / following * (next[e] - u[e]) }
                })
                .collect();
            (u, t) = (next, following);
        }
        primal(&u)
    }

    #[test]
    fn solvers_agree_with_a_slow_one() {
        for graph in graphs() {
            let nodes = graph.node_count();
            let deviations: Vec<f64> = (0..nodes).map(|i| 1.0 + 0.5 * (i as f64).sin()).collect();
            let released = NoisyValues::new(&wavy(nodes), NoiseDeviation::Each(&deviations))
                .expect("a release");
            for order in ORDERS {
                for lambda in [0.1, 0.7, 4.0] {
                    let filter =
                        TrendFilter::new(&graph, order).with_relative_gap(1e-10).expect("a filter");
                    let fit = filter.fit(&released, lambda).expect("a fit");
                    let capacities = filter.differences.capacities(lambda);
                    let problem = Problem {
                        differences: filter.differences,
                        values: released.standardised(),
                        precisions: released.precisions(),
                        capacities: &capacities,
                    };
                    let slow = released.in_release_units(&slow_solution(&problem));
                    let worst = fit
                        .values()
                        .iter()
                        .zip(&slow)
                        .map(|(a, b)| (a - b).abs())
                        .fold(0.0, f64::max);
                    assert!(worst < 1e-5, "{order:?}, lambda {lambda}, {nodes} nodes: {worst:e}");
                }
            }
        }
    }

    #[test]
    fn large_penalties_leave_the_weighted_mean_of_each_component() {
        let graph = Graph::new(7, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)]).expect("a graph");
        let values = [1.0, 2.0, 6.0, -3.0, 5.0, 4.0, 9.0];
        let deviations = [1.0, 1.0, 0.5, 2.0, 1.0, 1.0, 3.0];
        let released =
            NoisyValues::new(&values, NoiseDeviation::Each(&deviations)).expect("a release");
        let mean = |nodes: &[usize]| {
            let weight = |i: usize| 1.0_f64 / (deviations[i] * deviations[i]);
            nodes.iter().map(|&i| weight(i) * values[i]).sum::<f64>()
                / nodes.iter().map(|&i| weight(i)).sum::<f64>()
        };
        let (first, second) = (mean(&[0, 1, 2]), mean(&[3, 4, 5]));
        for order in ORDERS {
            let filter = TrendFilter::new(&graph, order).with_relative_gap(1e-9).expect("a filter");
            let fit = filter.fit(&released, 1e4).expect("a fit");
            let expected = [first, first, first, second, second, second, 9.0];
            for (value, expected) in fit.values().iter().zip(expected) {
                assert!((value - expected).abs() < 1e-3, "{order:?}: {fit:?}");
            }
            assert_eq!(fit.degrees_of_freedom(), 3, "{order:?}");
        }
    }

    #[test]
    fn a_line_stays_a_line_at_order_one() {
        // Inside a line the Laplacian of a linear vector is zero; at the two ends it is the slope,
        // which a penalty on `L x` shrinks.
        let graph = Graph::line(40).expect("a line");
        let values: Vec<f64> = (0..40).map(|i| 2.0 * f64::from(i)).collect();
        let released = NoisyValues::new(&values, NoiseDeviation::Same(1.0)).expect("a release");
        let fit = TrendFilter::new(&graph, Order::Linear).fit(&released, 3.0).expect("a fit");
        assert!(fit.degrees_of_freedom() <= 4, "{}", fit.degrees_of_freedom());
    }

    #[test]
    fn a_change_of_units_changes_the_units() {
        let graph = Graph::grid(5, 6).expect("a grid");
        let (values, scaled) = (wavy(30), wavy(30).iter().map(|y| y * 1e-40).collect::<Vec<_>>());
        for order in ORDERS {
            let filter = TrendFilter::new(&graph, order);
            let fit = |values: &[f64], sigma| {
                let released =
                    NoisyValues::new(values, NoiseDeviation::Same(sigma)).expect("a release");
                filter.fit(&released, 0.8).expect("a fit")
            };
            let (one, other) = (fit(&values, 1.0), fit(&scaled, 1e-40));
            assert!(
                one.values().iter().zip(other.values()).all(|(a, b)| (a - b * 1e40).abs() < 1e-2),
                "{order:?}"
            );
            let ratio = other.risk_if_gaussian().after.value / one.risk_if_gaussian().after.value;
            assert!((ratio * 1e80 - 1.0).abs() < 1e-2, "{order:?}: {ratio:e}");
        }
    }

    #[test]
    fn a_gap_out_of_reach_is_an_error_that_says_how_far_it_got() {
        let graph = Graph::grid(5, 6).expect("a grid");
        let released = NoisyValues::new(&wavy(30), NoiseDeviation::Same(1.0)).expect("a release");
        let capacities = vec![1.0; 30];
        let filter = TrendFilter::new(&graph, Order::Linear);
        let problem = Problem {
            differences: filter.differences,
            values: released.standardised(),
            precisions: released.precisions(),
            capacities: &capacities,
        };
        let unproved = problem.certify(released.standardised(), &[0.0; 30]);
        let risk = risk_of_projection(&released, released.standardised(), 30);
        let result = filter.finish(
            &released,
            released.standardised(),
            1.0,
            30,
            unproved,
            risk,
            WarmStart::None,
        );
        let message = result.expect_err("no proof").to_string();
        assert!(message.contains("duality gap of 1.000000000000"), "{message}");
    }

    #[test]
    fn hostile_parameters_are_refused() {
        let graph = Graph::line(3).expect("a line");
        let filter = TrendFilter::new(&graph, Order::Constant);
        let released = |values: &[f64]| {
            NoisyValues::new(values, NoiseDeviation::Same(1.0)).expect("a release")
        };
        for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e13] {
            let error =
                filter.fit(&released(&[1.0, 2.0, 3.0]), lambda).expect_err("must be refused");
            assert!(
                matches!(error, GraphError::Parameter(OutOfRange { name: "lambda", .. })),
                "{lambda}"
            );
        }
        assert!(matches!(
            filter.fit(&released(&[1.0, 2.0]), 1.0),
            Err(GraphError::Length { expected: 3, .. })
        ));
        for gap in [0.0, -1.0, f64::NAN, 2.0] {
            assert!(filter.with_relative_gap(gap).is_err(), "{gap}");
        }
    }

    #[test]
    fn extreme_vectors_never_panic() {
        let graphs = graphs();
        for graph in &graphs {
            let nodes = graph.node_count();
            let alternating: Vec<f64> =
                (0..nodes).map(|i| if i % 2 == 0 { 1e100 } else { -1e100 }).collect();
            let geometric: Vec<f64> = (0..nodes).map(|i| 10_f64.powi(i as i32 % 30 - 15)).collect();
            for values in [vec![0.0; nodes], vec![1e100; nodes], alternating, geometric] {
                let released =
                    NoisyValues::new(&values, NoiseDeviation::Same(1.0)).expect("a release");
                for order in ORDERS {
                    for lambda in [1e-9, 1.0, 1e12] {
                        if let Ok(fit) = TrendFilter::new(graph, order).fit(&released, lambda) {
                            assert!(
                                fit.values().iter().all(|value| value.is_finite())
                                    && fit.relative_gap() <= 1e-6
                            );
                        } else {
                            assert_ne!(
                                order,
                                Order::Constant,
                                "order 0 is exact: {values:?}, lambda {lambda}"
                            );
                        }
                    }
                }
            }
        }
    }
}
