//! Order 0 on paths, exactly and in linear time.

use super::Graph;
use super::total_variation::Fused;

/// Solves the fused lasso on a graph whose components are paths, or says that it is none.
///
/// # Derivation
/// Johnson, *A dynamic programming algorithm for the fused lasso and L0-segmentation* (2013), with
/// weights. Let `h_i(b)` be the least objective of the nodes up to `i` given `x_i = b`, without the
/// penalty to the right. Its derivative is increasing and piecewise linear:
///
/// ```text
/// h_i'(b) = w_i (b - y_i) + clamp(h_(i-1)'(b), -cap_(i-1), cap_(i-1)).
/// ```
///
/// Let `h_i'` reach `-cap_i` at `low_i` and `+cap_i` at `high_i`. Then `x_n` is the zero of `h_n'`,
/// and `x_i = clamp(x_(i+1), low_i, high_i)` going back. Each step adds two knots, and removes
/// those that it clamps away: linear in total.
pub(crate) fn solve(
    graph: &Graph,
    values: &[f64],
    precisions: &[f64],
    capacities: &[f64],
) -> Option<Fused> {
    let nodes = graph.node_count();
    if (0..nodes).any(|node| graph.arcs(node).len() > 2) {
        return None;
    }
    let mut fused = Fused {
        values: vec![0.0; nodes],
        flow: vec![0.0; graph.edge_count()],
        set: vec![0; nodes],
        sets: 0,
    };
    let mut visited = 0;
    for end in 0..nodes {
        if graph.arcs(end).len() < 2 {
            let path = Path::from(graph, end);
            // A path has two ends; it is walked from the smaller one.
            if path.nodes.last().is_some_and(|&other| other as usize >= end) {
                visited += path.nodes.len();
                path.solve(values, precisions, capacities, &mut fused);
            }
        }
    }
    (visited == nodes).then_some(fused)
}

/// A path of the graph, from one end to the other.
struct Path {
    nodes: Vec<u32>,
    edges: Vec<u32>,
}

/// A corner of a piecewise linear function: to the right of `at`, `slope * b + intercept` is added.
#[derive(Clone, Copy)]
struct Knot {
    at: f64,
    slope: f64,
    intercept: f64,
}

impl Path {
    fn from(graph: &Graph, end: usize) -> Self {
        let mut path = Path { nodes: vec![end as u32], edges: Vec::new() };
        let mut node = end;
        while let Some(arc) =
            graph.arcs(node).iter().find(|arc| path.edges.last() != Some(&arc.edge))
        {
            path.nodes.push(arc.neighbour);
            path.edges.push(arc.edge);
            node = arc.neighbour as usize;
        }
        path
    }

    fn solve(&self, values: &[f64], precisions: &[f64], capacities: &[f64], fused: &mut Fused) {
        let length = self.nodes.len();
        let capacity =
            |step: usize| self.edges.get(step).map_or(0.0, |&edge| capacities[edge as usize]);
        // Knots are added at both ends only: a deque that starts in the middle of its space.
        let mut knots = vec![Knot { at: 0.0, slope: 0.0, intercept: 0.0 }; 2 * length + 2];
        let (mut first, mut past) = (length + 1, length + 1);
        let (mut low, mut high) = (vec![0.0; length], vec![0.0; length]);
        let mut before = 0.0;
        for step in 0..length {
            let node = self.nodes[step] as usize;
            let (weight, pull) = (precisions[node], -precisions[node] * values[node]);
            let cap = capacity(step);
            // From the left: the clamped message is -before there. Walk to where the derivative
            // is -cap.
            let (mut slope, mut intercept) = (weight, pull - before);
            while first < past && slope * knots[first].at + intercept <= -cap {
                slope += knots[first].slope;
                intercept += knots[first].intercept;
                first += 1;
            }
            low[step] = (-cap - intercept) / slope;
            let left = Knot { at: low[step], slope, intercept: intercept + cap };
            // From the right, where the clamped message is +before, to where the derivative
            // is +cap.
            let (mut slope, mut intercept) = (weight, pull + before);
            while first < past && slope * knots[past - 1].at + intercept >= cap {
                slope -= knots[past - 1].slope;
                intercept -= knots[past - 1].intercept;
                past -= 1;
            }
            high[step] = ((cap - intercept) / slope).max(low[step]);
            first -= 1;
            knots[first] = left;
            knots[past] = Knot { at: high[step], slope: -slope, intercept: cap - intercept };
            past += 1;
            before = cap;
        }
        // Behind the last node there is no edge: its capacity is 0, and low = high is the zero of
        // the derivative.
        let mut value = low[length - 1];
        for step in (0..length).rev() {
            value = f64::clamp(value, low[step], high[step]);
            fused.values[self.nodes[step] as usize] = value;
        }
        self.flows_and_sets(values, precisions, capacities, fused);
    }

    /// The flow that makes `w (y - x)` the net outflow of every node, from one end to the other;
    /// and the runs of equal values.
    fn flows_and_sets(
        &self,
        values: &[f64],
        precisions: &[f64],
        capacities: &[f64],
        fused: &mut Fused,
    ) {
        let mut flow = 0.0;
        for (step, &node) in self.nodes.iter().enumerate() {
            let node = node as usize;
            if step == 0 || fused.values[self.nodes[step - 1] as usize] != fused.values[node] {
                fused.sets += 1;
            }
            fused.set[node] = fused.sets as u32 - 1;
            flow += precisions[node] * (values[node] - fused.values[node]);
            if let Some(&edge) = self.edges.get(step) {
                let (edge, next) = (edge as usize, self.nodes[step + 1] as usize);
                // Between two runs the flow is at its capacity: that takes away what rounding has
                // gathered along the run.
                if fused.values[node] != fused.values[next] {
                    flow = capacities[edge].copysign(fused.values[node] - fused.values[next]);
                }
                flow = flow.clamp(-capacities[edge], capacities[edge]);
                fused.flow[edge] = if node < next { flow } else { -flow };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_move_towards_each_other_until_they_meet() {
        let line = Graph::line(2).expect("a line");
        let solved =
            |cap: f64| solve(&line, &[3.0, -1.0], &[1.0, 1.0], &[cap]).expect("a path").values;
        assert_eq!(solved(0.5), [2.5, -0.5]);
        assert_eq!(solved(2.0), [1.0, 1.0]);
        assert_eq!(solved(50.0), [1.0, 1.0]);
        // With precisions 3 and 1 a pull of 1.5 moves the nodes by 1/2 and 3/2; they meet at the
        // weighted mean.
        let weighted =
            |cap: f64| solve(&line, &[3.0, -1.0], &[3.0, 1.0], &[cap]).expect("a path").values;
        assert_eq!(weighted(1.5), [2.5, 0.5]);
        assert_eq!(weighted(3.5), [2.0, 2.0]);
    }

    #[test]
    fn only_unions_of_paths_are_taken() {
        let solvable = |nodes, edges: &[(usize, usize)]| {
            let graph = Graph::new(nodes, edges.iter().copied()).expect("a graph");
            let (values, ones) = (vec![1.0; nodes], vec![1.0; nodes]);
            solve(&graph, &values, &ones, &vec![1.0; graph.edge_count()]).is_some()
        };
        assert!(solvable(6, &[(3, 0), (0, 5), (1, 4)]));
        assert!(!solvable(3, &[(0, 1), (1, 2), (2, 0)]), "a cycle");
        assert!(!solvable(5, &[(0, 1), (2, 3), (3, 4), (4, 2)]), "a path and a cycle");
        assert!(!solvable(4, &[(0, 1), (0, 2), (0, 3)]), "a star");
    }
}
