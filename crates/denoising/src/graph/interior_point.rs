//! Order 1: a primal-dual interior-point method with a sparse Cholesky factor.

use super::GraphError;
use super::differences::laplacian;
use super::duality::Problem;
use super::sparse_factor::SquaredLaplacian;

/// A solution of order 1 with its proof.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) values: Vec<f64>,
    /// The dual vector, feasible.
    pub(crate) dual: Vec<f64>,
    /// The nodes at which the Laplacian of the solution is not zero.
    pub(crate) active: Vec<bool>,
}

/// Each iteration costs a factorisation; 20 to 40 are typical for gaps from 1e-6 to 1e-10.
const MOST_ITERATIONS: usize = 100;

/// Multipliers and slacks.
struct Iterate {
    dual: Vec<f64>,
    /// Multipliers of `u <= cap` and of `-u <= cap`.
    upper: Vec<f64>,
    lower: Vec<f64>,
}

/// Minimises `1/2 sum w (y - x)^2 + sum cap_i |(L x)_i|` down to a relative duality gap, as
/// estimated in `f64`.
///
/// # Derivation
/// The dual is `min_u 1/2 u^T A u - b^T u` with `A = L W^-1 L`, `b = L y`, `|u_i| <= cap_i`, and
/// `x = y - W^-1 L u`. With multipliers `p, q` of the two bounds and the slacks `s = cap - u`,
/// `r = cap + u`, the central path is `A u - b + p - q = 0`, `p s = q r = 1/t`. Eliminating the
/// steps of `p` and `q` leaves
///
/// ```text
/// (A + diag(p/s + q/r)) du = -(A u - b + (1/t)/s - (1/t)/r),
/// ```
///
/// in which only the diagonal changes from step to step (Kim, Koh, Boyd, Gorinevsky, *l1 trend
/// filtering*, SIAM Review 2009, on a line; here `A` is the squared Laplacian of a graph). `u`
/// stays inside its bounds, so it always proves a gap.
///
/// Why not alternating directions: on the 4091 junctions of Manhattan with `lambda = 50` those were
/// at a relative gap of 2.4e-4 after 3000 iterations, and a factorisation costs as much as ten of
/// them.
pub(crate) fn solve(problem: &Problem<'_>, relative_gap: f64) -> Result<Solved, GraphError> {
    let graph = problem.differences.graph;
    let (values, capacities) = (problem.values, problem.capacities);
    let inverse: Vec<f64> = problem.precisions.iter().map(|precision| 1.0 / precision).collect();
    let squared = SquaredLaplacian::new(graph, &inverse)?;
    let target = laplacian(graph, values);
    let start = target.iter().map(|value| value.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let nodes = values.len();
    let mut iterate =
        Iterate { dual: vec![0.0; nodes], upper: vec![start; nodes], lower: vec![start; nodes] };
    let mut x = values.to_vec();
    for _ in 0..MOST_ITERATIONS {
        let pull = laplacian(graph, &iterate.dual);
        for (node, x) in x.iter_mut().enumerate() {
            *x = values[node] - inverse[node] * pull[node];
        }
        if problem.estimate_relative_gap(&x, &iterate.dual) <= relative_gap {
            break;
        }
        // A u - b = -L x.
        let bend = laplacian(graph, &x);
        iterate.advance(&squared, capacities, &bend)?;
    }
    let bend = laplacian(graph, &x);
    let active = (0..nodes).map(|node| {
        // On the path p s = q r: the larger of a multiplier and its relative slack tells which of
        // the two vanishes.
        let slack = (capacities[node] - iterate.dual[node].abs()) / capacities[node];
        bend[node].abs() / start > slack
    });
    let active = active.collect();
    Ok(Solved { values: x, dual: iterate.dual, active })
}

impl Iterate {
    /// One step towards a point ten times further along the central path.
    fn advance(
        &mut self,
        squared: &SquaredLaplacian,
        capacities: &[f64],
        bend: &[f64],
    ) -> Result<(), GraphError> {
        let nodes = self.dual.len();
        let slack = |u: f64, cap: f64| (cap - u, cap + u);
        let complementarity: f64 = (0..nodes)
            .map(|node| {
                let (s, r) = slack(self.dual[node], capacities[node]);
                self.upper[node] * s + self.lower[node] * r
            })
            .sum();
        let centre = 0.1 * complementarity / (2 * nodes) as f64;
        let (mut diagonal, mut step) = (vec![0.0; nodes], vec![0.0; nodes]);
        for node in 0..nodes {
            let (s, r) = slack(self.dual[node], capacities[node]);
            diagonal[node] = self.upper[node] / s + self.lower[node] / r;
            step[node] = bend[node] - centre / s + centre / r;
        }
        squared.factor(1.0, &diagonal)?.solve(&mut step);
        let mut upper_step = vec![0.0; nodes];
        let mut lower_step = vec![0.0; nodes];
        let mut length = 1.0_f64;
        for node in 0..nodes {
            let (s, r) = slack(self.dual[node], capacities[node]);
            upper_step[node] = (centre + self.upper[node] * step[node]) / s - self.upper[node];
            lower_step[node] = (centre - self.lower[node] * step[node]) / r - self.lower[node];
            for (value, change) in [
                (s, -step[node]),
                (r, step[node]),
                (self.upper[node], upper_step[node]),
                (self.lower[node], lower_step[node]),
            ] {
                if change < 0.0 {
                    length = length.min(-0.99 * value / change);
                }
            }
        }
        for node in 0..nodes {
            self.dual[node] += length * step[node];
            self.upper[node] += length * upper_step[node];
            self.lower[node] += length * lower_step[node];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::super::differences::Differences;
    use super::super::trend_filtering::Order;
    use super::*;

    #[test]
    fn two_nodes_by_hand() {
        // L x = (x_0 - x_1) (1, -1), so the penalty is 2 lambda |x_0 - x_1|: with y = (3, -1) and
        // lambda = 1/4 each node moves by 1/2.
        let graph = Graph::line(2).expect("a line");
        let differences = Differences { graph: &graph, order: Order::Linear };
        let problem = |capacities| Problem {
            differences,
            values: &[3.0, -1.0],
            precisions: &[1.0, 1.0],
            capacities,
        };
        let apart = solve(&problem(&[0.25, 0.25]), 1e-12).expect("solved");
        assert!(
            (apart.values[0] - 2.5).abs() < 1e-5 && (apart.values[1] + 0.5).abs() < 1e-5,
            "{apart:?}"
        );
        assert_eq!(apart.active, [true, true]);
        let together = solve(&problem(&[5.0, 5.0]), 1e-12).expect("solved");
        assert!(together.values.iter().all(|value| (value - 1.0).abs() < 1e-5), "{together:?}");
        assert_eq!(together.active, [false, false]);
    }

    #[test]
    fn active_nodes_are_those_where_the_dual_is_at_its_bound() {
        let graph = Graph::grid(7, 8).expect("a grid");
        let values: Vec<f64> = (0..56)
            .map(|i| 3.0 * ((i * i) as f64).sin() + if i < 30 { 5.0 } else { 0.0 })
            .collect();
        let differences = Differences { graph: &graph, order: Order::Linear };
        let (ones, capacities) = ([1.0; 56], [0.8; 56]);
        let problem =
            Problem { differences, values: &values, precisions: &ones, capacities: &capacities };
        let solved = solve(&problem, 1e-10).expect("solved");
        let bend = laplacian(&graph, &solved.values);
        for ((dual, bend), &active) in solved.dual.iter().zip(&bend).zip(&solved.active) {
            assert_eq!(
                (dual.abs() > 0.8 - 1e-4, bend.abs() > 1e-4),
                (active, active),
                "{dual} {bend}"
            );
        }
        assert!(solved.active.contains(&true) && solved.active.contains(&false));
    }
}
