//! Order 2: the alternating direction method, with minimum cuts for one half and a sparse Cholesky
//! factor for the other.

use super::GraphError;
use super::differences::{laplacian, net_outflow};
use super::duality::Problem;
use super::sparse_factor::SquaredLaplacian;
use super::total_variation;

/// A solution of order 2 with its proof, and the state to start the next one from.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) values: Vec<f64>,
    /// How many connected sets share one Laplacian.
    pub(crate) sets: usize,
    pub(crate) state: State,
}

/// Where the method stands, in units that do not depend on the step size.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// `z`, which becomes `L x`.
    bends: Vec<f64>,
    /// The dual vector, on edges: always feasible for the penalty it was computed with.
    pub(crate) flow: Vec<f64>,
}

const MOST_ITERATIONS: usize = 3000;

/// How often the gap is looked at, in iterations, and the step size reconsidered.
const CHECK_EVERY: usize = 20;

/// Over-relaxation; 1.5 to 1.8 is the usual advice (Boyd et al. 2011, Section 3.4.3).
const RELAXATION: f64 = 1.7;

/// Minimises `1/2 sum w (y - x)^2 + sum_e cap_e |(E L x)_e|` down to a relative duality gap, as
/// estimated in `f64`.
///
/// # Derivation
/// With `z = L x` the penalty is the total variation of `z`. For even orders Wang et al. 2016
/// (Section 5.2) alternate
///
/// ```text
/// x = (W + rho L^2)^-1 (W y + L (rho z - v)),
/// z = argmin rho/2 |L x + v/rho - z|^2 + sum cap_e |(E z)_e|,
/// v = v + rho (L x - z).
/// ```
///
/// The second step is trend filtering of order 0, solved exactly; the flow `f` that proves it has
/// `E^T f = v`, `|f_e| <= cap_e`. So `f` is feasible for the dual of the whole, and gives a gap at
/// every iteration. `rho` starts at `lambda`, as the paper recommends, and is doubled or halved
/// where one of the two residuals is three times the other.
pub(crate) fn solve(
    problem: &Problem<'_>,
    lambda: f64,
    start: Option<State>,
    relative_gap: f64,
) -> Result<Solved, GraphError> {
    let graph = problem.differences.graph;
    let nodes = graph.node_count();
    let ones = vec![1.0; nodes];
    let squared = SquaredLaplacian::new(graph, &ones)?;
    let mut rho = lambda;
    let mut factor = squared.factor(rho, problem.precisions)?;
    let mut state = start.unwrap_or_else(|| State {
        bends: laplacian(graph, problem.values),
        flow: vec![0.0; graph.edge_count()],
    });
    let mut x = problem.values.to_vec();
    let mut sets = nodes;
    for iteration in 1..=MOST_ITERATIONS {
        let pull = net_outflow(graph, &state.flow);
        let aim: Vec<f64> = state.bends.iter().zip(&pull).map(|(z, v)| rho * z - v).collect();
        for ((x, aim), (w, y)) in x
            .iter_mut()
            .zip(laplacian(graph, &aim))
            .zip(problem.precisions.iter().zip(problem.values))
        {
            *x = w * y + aim;
        }
        factor.solve(&mut x);
        let bend = laplacian(graph, &x);
        let relaxed: Vec<f64> = bend
            .iter()
            .zip(state.bends.iter().zip(&pull))
            .map(|(bend, (z, v))| RELAXATION * bend + (1.0 - RELAXATION) * z + v / rho)
            .collect();
        let capacities: Vec<f64> = problem.capacities.iter().map(|cap| cap / rho).collect();
        let flow: Vec<f64> = state.flow.iter().map(|flow| flow / rho).collect();
        let fused = total_variation::solve(graph, &relaxed, &ones, &capacities, &flow);
        sets = fused.sets;
        let change: Vec<f64> =
            fused.values.iter().zip(&state.bends).map(|(new, old)| rho * (new - old)).collect();
        state =
            State { bends: fused.values, flow: fused.flow.iter().map(|flow| rho * flow).collect() };
        if iteration % CHECK_EVERY == 0 {
            if problem.estimate_relative_gap(&x, &state.flow) <= relative_gap {
                break;
            }
            let primal = norm(bend.iter().zip(&state.bends).map(|(bend, z)| bend - z));
            let dual = norm(laplacian(graph, &change).into_iter());
            let factor_of_change = if primal > 3.0 * dual {
                2.0
            } else if dual > 3.0 * primal {
                0.5
            } else {
                continue;
            };
            // Changing the step size for ever would forfeit convergence.
            if iteration % (2 * CHECK_EVERY) == 0 && iteration <= MOST_ITERATIONS / 2 {
                rho *= factor_of_change;
                factor = squared.factor(rho, problem.precisions)?;
            }
        }
    }
    Ok(Solved { values: x, sets, state })
}

fn norm(entries: impl Iterator<Item = f64>) -> f64 {
    entries.map(|entry| entry * entry).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::super::differences::Differences;
    use super::super::trend_filtering::Order;
    use super::*;

    #[test]
    fn two_nodes_by_hand() {
        // E L x = 2 (x_0 - x_1): with y = (3, -1) and lambda = 1/4 the penalty is |x_0 - x_1| / 2,
        // and each node moves by 1/2.
        let graph = Graph::line(2).expect("a line");
        let differences = Differences { graph: &graph, order: Order::Quadratic };
        let problem = Problem {
            differences,
            values: &[3.0, -1.0],
            precisions: &[1.0, 1.0],
            capacities: &[0.25],
        };
        let solved = solve(&problem, 0.25, None, 1e-12).expect("solved");
        assert!(
            (solved.values[0] - 2.5).abs() < 1e-5 && (solved.values[1] + 0.5).abs() < 1e-5,
            "{solved:?}"
        );
        assert_eq!(solved.sets, 2);
    }

    #[test]
    fn a_start_from_another_penalty_ends_at_the_same_place() {
        let graph = Graph::grid(7, 8).expect("a grid");
        let values: Vec<f64> = (0..56)
            .map(|i| 3.0 * ((i * i) as f64).sin() + if i < 30 { 5.0 } else { 0.0 })
            .collect();
        let differences = Differences { graph: &graph, order: Order::Quadratic };
        let ones = [1.0; 56];
        let solved = |lambda: f64, start| {
            let capacities = differences.capacities(lambda);
            let problem = Problem {
                differences,
                values: &values,
                precisions: &ones,
                capacities: &capacities,
            };
            let solved = solve(&problem, lambda, start, 1e-10).expect("solved");
            assert!(problem.certify(&solved.values, &solved.state.flow).relative_gap() < 1e-9);
            solved
        };
        let cold = solved(0.4, None);
        let warm = solved(0.4, Some(solved(1.1, None).state));
        assert!(cold.values.iter().zip(&warm.values).all(|(a, b)| (a - b).abs() < 1e-3));
        assert_eq!(cold.sets, warm.sets);
    }
}
