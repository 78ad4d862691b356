//! Order 0 on any graph, exactly: divide and conquer by minimum cuts.

use super::preflow::Preflow;
use super::{Graph, chain};
use std::ops::Range;

/// A minimiser of `1/2 sum w_i (y_i - x_i)^2 + sum_e cap_e |x_tail - x_head|` with the flow that
/// proves it.
#[derive(Clone, Debug)]
pub(crate) struct Fused {
    pub(crate) values: Vec<f64>,
    /// The dual vector: `|flow_e| <= cap_e`, and `w_i (y_i - x_i)` is the net outflow of node `i`,
    /// up to rounding.
    pub(crate) flow: Vec<f64>,
    /// The connected sets of nodes that share one value; which one each node is in.
    pub(crate) set: Vec<u32>,
    /// How many sets there are: the degrees of freedom.
    pub(crate) sets: usize,
}

/// Excess below this part of the largest excess or capacity in a set is rounding: it is not sent
/// anywhere.
const NEGLIGIBLE: f64 = 1e-13;

/// Solves the fused lasso: on paths in linear time, on other graphs by [`by_cuts`] starting from
/// the flow `start`.
pub(crate) fn solve(
    graph: &Graph,
    values: &[f64],
    precisions: &[f64],
    capacities: &[f64],
    start: &[f64],
) -> Fused {
    chain::solve(graph, values, precisions, capacities)
        .unwrap_or_else(|| by_cuts(graph, values, precisions, capacities, start.to_vec()))
}

/// Solves the fused lasso on a graph.
///
/// # Derivation
/// For a threshold `t` the set `{x > t}` of the solution maximises `sum_S w_i (y_i - t) - cut(S)`
/// (Hochbaum 2001; Chambolle and Darbon 2009), a minimum cut. Take a connected set whose value is
/// sought, with the flows on the edges that leave it known, and `t` the value that it would have if
/// it had only one: the mean of `y` less the net outflow, weighted. Send excess to deficits inside
/// it. Either everything can be sent: then the set has the one value `t`, and the flow is the
/// proof. Or some excess is stuck: the nodes that cannot reach a deficit are above `t`, the others
/// below, all edges between them are full, and both sides are solved by themselves with those flows
/// fixed. Each split starts from the flow of the one before.
///
/// # Direction of error
/// The result is as exact as `f64` sums are; the caller certifies the gap with the flow that is
/// returned.
fn by_cuts(
    graph: &Graph,
    values: &[f64],
    precisions: &[f64],
    capacities: &[f64],
    start: Vec<f64>,
) -> Fused {
    let nodes = graph.node_count();
    let mut preflow = Preflow::new(graph, capacities, start);
    let mut solution = vec![0.0; nodes];
    let mut pieces = Pieces::of(graph, &mut preflow.part);
    let mut sets = 0;
    let mut finished = vec![0_u32; nodes];
    while let Some(range) = pieces.pending.pop() {
        let members = &pieces.order[range.clone()];
        // Relative to one of the values, so that equal values have themselves as their mean.
        let pivot = values[members[0] as usize];
        let (mut balance, mut weight, mut largest) = (0.0, 0.0, 0.0_f64);
        for &node in members {
            let node = node as usize;
            preflow.excess[node] =
                precisions[node] * (values[node] - pivot) - preflow.net_outflow(node);
            balance += preflow.excess[node];
            weight += precisions[node];
        }
        let shift = balance / weight;
        let mean = pivot + shift;
        for &node in members {
            let node = node as usize;
            preflow.excess[node] -= precisions[node] * shift;
            largest = largest
                .max(preflow.excess[node].abs())
                .max(precisions[node] * values[node].abs() * 1e-2);
        }
        let negligible = NEGLIGIBLE * largest;
        if members.len() > 1 {
            preflow.send(members, negligible);
            let stuck = members.iter().any(|&node| preflow.excess[node as usize] > negligible);
            let wanting = members.iter().any(|&node| preflow.reaches_deficit(node as usize));
            if stuck && wanting {
                pieces.divide(graph, range, &mut preflow);
                continue;
            }
        }
        for &node in members {
            solution[node as usize] = mean;
            finished[node as usize] = sets;
        }
        sets += 1;
    }
    Fused { values: solution, flow: preflow.flow, set: finished, sets: sets as usize }
}

/// A partition of the nodes into connected pieces, refined step by step.
struct Pieces {
    /// The nodes, those of a piece next to each other.
    order: Vec<u32>,
    /// The pieces that are not solved yet, as ranges of `order`.
    pending: Vec<Range<usize>>,
    next_part: u32,
    side: Vec<bool>,
}

impl Pieces {
    /// The connected components of the graph.
    fn of(graph: &Graph, part: &mut [u32]) -> Self {
        let nodes = graph.node_count();
        let mut pieces = Pieces {
            order: (0..nodes as u32).collect(),
            pending: Vec::new(),
            next_part: 1,
            side: vec![false; nodes],
        };
        pieces.connected_parts(graph, 0..nodes, part);
        pieces
    }

    /// Divides a piece into what reaches a deficit and what does not, and both into connected
    /// pieces.
    fn divide(&mut self, graph: &Graph, range: Range<usize>, preflow: &mut Preflow<'_>) {
        for &node in &self.order[range.clone()] {
            self.side[node as usize] = preflow.reaches_deficit(node as usize);
        }
        self.connected_parts(graph, range, &mut preflow.part);
    }

    /// Finds the connected parts of the nodes in a range that are on one side, and makes them
    /// pending pieces.
    fn connected_parts(&mut self, graph: &Graph, range: Range<usize>, part: &mut [u32]) {
        let members = self.order[range.clone()].to_vec();
        let Some(&first) = members.first() else { return };
        let old = part[first as usize];
        let mut end = range.start;
        for &seed in &members {
            if part[seed as usize] != old {
                continue;
            }
            let new = self.next_part;
            self.next_part += 1;
            let start = end;
            part[seed as usize] = new;
            self.order[end] = seed;
            end += 1;
            let mut scanned = start;
            while scanned < end {
                let node = self.order[scanned] as usize;
                scanned += 1;
                for arc in graph.arcs(node) {
                    let neighbour = arc.neighbour as usize;
                    if part[neighbour] == old && self.side[neighbour] == self.side[node] {
                        part[neighbour] = new;
                        self.order[end] = arc.neighbour;
                        end += 1;
                    }
                }
            }
            self.pending.push(start..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences::Differences;
    use super::super::duality::Problem;
    use super::super::trend_filtering::Order;
    use super::*;

    fn wavy(nodes: usize) -> Vec<f64> {
        (0..nodes)
            .map(|i| 3.0 * ((i * i) as f64 * 0.7).sin() + if i % 50 < 20 { 4.0 } else { 0.0 })
            .collect()
    }

    #[test]
    fn cuts_and_dynamic_programming_agree_on_lines() {
        let line = Graph::line(500).expect("a line");
        let precisions: Vec<f64> = (0..500).map(|i| 1.5 + (i as f64).cos()).collect();
        for scale in [0.01, 0.3, 2.0, 40.0, 1e4] {
            let capacities: Vec<f64> =
                (0..499).map(|e| scale * (1.2 + (2.0 * e as f64).sin())).collect();
            let cuts = by_cuts(&line, &wavy(500), &precisions, &capacities, vec![0.0; 499]);
            let chain = chain::solve(&line, &wavy(500), &precisions, &capacities)
                .expect("a line is a path");
            assert!(
                cuts.values.iter().zip(&chain.values).all(|(a, b)| (a - b).abs() < 1e-12),
                "{scale}"
            );
            assert_eq!(cuts.sets, chain.sets, "{scale}");
        }
    }

    #[test]
    fn gaps_vanish_from_any_start() {
        let grid = Graph::grid(30, 40).expect("a grid");
        let (values, ones) = (wavy(1200), vec![1.0; 1200]);
        for lambda in [0.05, 0.5, 3.0, 100.0] {
            let capacities = vec![lambda; grid.edge_count()];
            let differences = Differences { graph: &grid, order: Order::Constant };
            let problem = Problem {
                differences,
                values: &values,
                precisions: &ones,
                capacities: &capacities,
            };
            let far: Vec<f64> = (0..grid.edge_count()).map(|e| 1e3 * (e as f64).sin()).collect();
            for start in [vec![0.0; grid.edge_count()], far] {
                let fused = by_cuts(&grid, &values, &ones, &capacities, start);
                let certificate = problem.certify(&fused.values, &fused.flow);
                assert!(certificate.relative_gap() < 1e-20, "{lambda}: {certificate:?}");
            }
        }
    }

    #[test]
    fn sets_are_connected_and_share_their_value() {
        let grid = Graph::grid(12, 12).expect("a grid");
        let fused = solve(
            &grid,
            &wavy(144),
            &[1.0; 144],
            &vec![0.8; grid.edge_count()],
            &vec![0.0; grid.edge_count()],
        );
        let within = grid
            .edges()
            .filter(|(from, to, _)| fused.set[*from] == fused.set[*to])
            .map(|(from, to, _)| (from, to));
        let pieces = Graph::new(144, within).expect("the sets").components();
        assert_eq!(pieces.len(), fused.sets);
        assert!(fused.sets > 2 && fused.sets < 100, "{}", fused.sets);
        for piece in pieces {
            assert!(piece.iter().all(|&node| fused.values[node] == fused.values[piece[0]]));
        }
    }

    #[test]
    fn one_node_keeps_its_value() {
        let node = Graph::line(1).expect("a node");
        assert_eq!(by_cuts(&node, &[4.5], &[1.0], &[], vec![]).values, [4.5]);
    }
}
