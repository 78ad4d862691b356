//! Minimum cuts by push-relabel, on a part of a graph.

use super::Graph;
use std::collections::VecDeque;

/// A label for nodes from which no deficit can be reached.
const UNREACHABLE: u32 = u32::MAX;

/// Flow on a graph's edges and the excess it leaves at each node.
///
/// A flow `f_e` from tail to head is feasible if `|f_e| <= cap_e`. A node has an excess that it
/// wants to send to nodes with a deficit. Unlike in a network with terminals, excess that cannot
/// reach a deficit may stay where it is: it only shows on which side of the cut it is.
#[derive(Clone, Debug)]
pub(crate) struct Preflow<'a> {
    graph: &'a Graph,
    capacities: &'a [f64],
    pub(crate) flow: Vec<f64>,
    pub(crate) excess: Vec<f64>,
    /// Which part of the graph a node is in: edges between parts carry a fixed flow.
    pub(crate) part: Vec<u32>,
    /// A lower bound on the number of residual edges to the nearest deficit.
    label: Vec<u32>,
    /// The arc at which scanning resumes; the arcs before it are inadmissible until the next
    /// relabelling.
    current: Vec<u32>,
    queued: Vec<bool>,
    queue: VecDeque<u32>,
}

impl<'a> Preflow<'a> {
    /// Starts from a flow, which is clamped to the capacities; all nodes in one part, without
    /// excess.
    pub(crate) fn new(graph: &'a Graph, capacities: &'a [f64], mut flow: Vec<f64>) -> Self {
        for (flow, cap) in flow.iter_mut().zip(capacities) {
            *flow = flow.clamp(-cap, *cap);
        }
        let nodes = graph.node_count();
        Preflow {
            graph,
            capacities,
            flow,
            excess: vec![0.0; nodes],
            part: vec![0; nodes],
            label: vec![0; nodes],
            current: vec![0; nodes],
            queued: vec![false; nodes],
            queue: VecDeque::new(),
        }
    }

    /// What flows out of a node, less what flows in.
    pub(crate) fn net_outflow(&self, node: usize) -> f64 {
        let signed = |arc: &super::Arc| {
            if node < arc.neighbour as usize {
                self.flow[arc.edge as usize]
            } else {
                -self.flow[arc.edge as usize]
            }
        };
        self.graph.arcs(node).iter().map(signed).sum()
    }

    /// How much more can flow along an edge away from `node`.
    #[inline]
    fn residual(&self, node: usize, neighbour: usize, edge: usize) -> f64 {
        if node < neighbour {
            self.capacities[edge] - self.flow[edge]
        } else {
            self.capacities[edge] + self.flow[edge]
        }
    }

    /// Sends excess to deficits inside the part `nodes` until no excess above `negligible` can
    /// reach a deficit above it.
    ///
    /// Goldberg and Tarjan, *A new approach to the maximum-flow problem* (1988): first in first
    /// out, with exact labels recomputed by a breadth-first search each time the scanning has cost
    /// as much as one. On grids and roads waiting four times as long costs a third more, and taking
    /// the highest label first many times as much.
    ///
    /// In `f64` a push either empties the node or fills the edge, and both are set to their exact
    /// values, so that every step makes progress whatever is rounded.
    pub(crate) fn send(&mut self, nodes: &[u32], negligible: f64) {
        let size: usize = nodes.iter().map(|&node| 1 + self.graph.arcs(node as usize).len()).sum();
        loop {
            self.relabel_exactly(nodes, negligible);
            for &node in nodes {
                if self.excess[node as usize] > negligible
                    && self.label[node as usize] != UNREACHABLE
                {
                    self.queued[node as usize] = true;
                    self.queue.push_back(node);
                }
            }
            if self.queue.is_empty() {
                return;
            }
            let mut work = 0;
            while let Some(node) = self.queue.pop_front() {
                self.queued[node as usize] = false;
                work += self.discharge(node as usize, nodes.len() as u32, negligible);
                if work > size {
                    break;
                }
            }
            for node in self.queue.drain(..) {
                self.queued[node as usize] = false;
            }
        }
    }

    /// Whether a node can still send to a deficit; right after [`Preflow::send`].
    pub(crate) fn reaches_deficit(&self, node: usize) -> bool {
        self.label[node] != UNREACHABLE
    }

    /// Pushes from one node and relabels it once if need be. Returns the arcs scanned.
    fn discharge(&mut self, node: usize, largest: u32, negligible: f64) -> usize {
        let arcs = self.graph.arcs(node);
        let (part, label) = (self.part[node], self.label[node]);
        let mut index = self.current[node] as usize;
        let mut work = 1;
        while index < arcs.len() {
            let (neighbour, edge) = (arcs[index].neighbour as usize, arcs[index].edge as usize);
            work += 1;
            if label > 0 && self.part[neighbour] == part && self.label[neighbour] == label - 1 {
                self.push(node, neighbour, edge, negligible);
                if self.excess[node] <= negligible {
                    self.current[node] = index as u32;
                    return work;
                }
            }
            index += 1;
        }
        let least = arcs
            .iter()
            .filter(|arc| {
                let neighbour = arc.neighbour as usize;
                self.part[neighbour] == part
                    && self.residual(node, neighbour, arc.edge as usize) > 0.0
            })
            .map(|arc| self.label[arc.neighbour as usize])
            .min()
            .unwrap_or(UNREACHABLE);
        self.current[node] = 0;
        // A shortest path has fewer edges than the part has nodes.
        self.label[node] = if least >= largest { UNREACHABLE } else { least + 1 };
        if self.label[node] != UNREACHABLE {
            self.queued[node] = true;
            self.queue.push_back(node as u32);
        }
        work + arcs.len()
    }

    fn push(&mut self, node: usize, neighbour: usize, edge: usize, negligible: f64) {
        let room = self.residual(node, neighbour, edge);
        if room <= 0.0 {
            return;
        }
        let sign = if node < neighbour { 1.0 } else { -1.0 };
        let amount = room.min(self.excess[node]);
        self.flow[edge] = if amount == room {
            sign * self.capacities[edge]
        } else {
            self.flow[edge] + sign * amount
        };
        self.excess[node] -= amount;
        self.excess[neighbour] += amount;
        if self.excess[neighbour] > negligible && !self.queued[neighbour] {
            self.queued[neighbour] = true;
            self.queue.push_back(neighbour as u32);
        }
    }

    /// Labels every node of the part with its distance to the nearest deficit.
    fn relabel_exactly(&mut self, nodes: &[u32], negligible: f64) {
        self.queue.clear();
        for &node in nodes {
            self.current[node as usize] = 0;
            if self.excess[node as usize] < -negligible {
                self.label[node as usize] = 0;
                self.queue.push_back(node);
            } else {
                self.label[node as usize] = UNREACHABLE;
            }
        }
        while let Some(node) = self.queue.pop_front() {
            let node = node as usize;
            for arc in self.graph.arcs(node) {
                let neighbour = arc.neighbour as usize;
                if self.label[neighbour] == UNREACHABLE
                    && self.part[neighbour] == self.part[node]
                    && self.residual(neighbour, node, arc.edge as usize) > 0.0
                {
                    self.label[neighbour] = self.label[node] + 1;
                    self.queue.push_back(neighbour as u32);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest `sum_S excess - cut(S)` over all sets, by trying them all.
    fn best_set_by_enumeration(graph: &Graph, capacities: &[f64], excess: &[f64]) -> f64 {
        let nodes = graph.node_count();
        (0..1_u32 << nodes)
            .map(|set| {
                let inside = |node: u32| set >> node & 1 == 1;
                let gain: f64 =
                    (0..nodes).filter(|&node| inside(node as u32)).map(|node| excess[node]).sum();
                let cut: f64 = graph
                    .edge_list()
                    .iter()
                    .zip(capacities)
                    .filter(|(edge, _)| inside(edge.tail) != inside(edge.head))
                    .map(|(_, cap)| cap)
                    .sum();
                gain - cut
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn cuts_are_least_among_all_sets() {
        // Values from a fixed linear congruence: multiples of 1/8, so that all sums are exact.
        let mut state = 12345_u64;
        let mut eighths = move |range: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % range) as f64 / 8.0
        };
        for _ in 0..200 {
            let nodes = 9;
            let mut edges = Vec::new();
            for tail in 0..nodes {
                for head in tail + 1..nodes {
                    if eighths(8) < 0.375 {
                        edges.push((tail, head, 0.125 + eighths(16)));
                    }
                }
            }
            let graph = Graph::weighted(nodes, edges).expect("a graph");
            let capacities: Vec<f64> = graph.edges().map(|edge| edge.2).collect();
            let excess: Vec<f64> = (0..nodes).map(|_| eighths(64) - 4.0).collect();
            let mut preflow = Preflow::new(&graph, &capacities, vec![0.0; graph.edge_count()]);
            preflow.excess.copy_from_slice(&excess);
            preflow.send(&(0..nodes as u32).collect::<Vec<_>>(), 0.0);
            let stuck: f64 = (0..nodes)
                .filter(|&node| !preflow.reaches_deficit(node))
                .map(|node| preflow.excess[node])
                .sum();
            assert_eq!(stuck, best_set_by_enumeration(&graph, &capacities, &excess));
            for (node, excess) in excess.iter().enumerate() {
                assert_eq!(preflow.excess[node], excess - preflow.net_outflow(node));
                assert!(if preflow.reaches_deficit(node) {
                    preflow.excess[node] <= 0.0
                } else {
                    preflow.excess[node] >= 0.0
                });
            }
            assert!(preflow.flow.iter().zip(&capacities).all(|(flow, cap)| flow.abs() <= *cap));
        }
    }
}
