//! Denoising on a graph: neighbouring nodes have similar values, so a released vector can borrow
//! strength across edges.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod.rs`, `named.rs`, `edge_list.rs` | [`Graph`]: from edges, by name, from a file |
//! | `noisy_values.rs` | [`NoisyValues`]: released values and the deviation of their noise |
//! | `risk.rs` | [`GaussianRisk`]: squared error before and after, estimated without the truth |
//! | `spanning_tree.rs`, `tree_splitting.rs`, `wavelets.rs`, `wavelet_denoising.rs` | spanning-tree wavelets |
//! | `differences.rs`, `duality.rs` | the operators of trend filtering; the certified duality gap |
//! | `chain.rs`, `total_variation.rs`, `preflow.rs` | order 0, exactly: paths in linear time, graphs by minimum cuts |
//! | `sparse_factor.rs`, `interior_point.rs`, `alternating.rs` | orders 1 and 2: sparse Cholesky factors and the two methods that use them |
//! | `trend_filtering.rs`, `tuning.rs` | [`TrendFilter`], and the penalty chosen by unbiased risk |
//! | `denoisers.rs` | both as a [`Denoiser`](crate::Denoiser) of a release |

mod alternating;
mod chain;
mod denoisers;
mod differences;
mod duality;
mod edge_list;
mod error;
mod interior_point;
mod named;
mod noisy_values;
mod preflow;
mod risk;
mod spanning_tree;
mod sparse_factor;
mod total_variation;
mod tree_splitting;
mod trend_filtering;
mod tuning;
mod wavelet_denoising;
mod wavelets;

pub use denoisers::{GraphTrendFilter, GraphWavelets};
pub use edge_list::NodeLabels;
pub use error::GraphError;
pub use noisy_values::{NoiseDeviation, NoisyValues};
pub use risk::{GaussianRisk, Loss};
pub use spanning_tree::SpanningForest;
pub use trend_filtering::{Order, TrendFilter, TrendFit};
pub use tuning::PenaltyRule;
pub use wavelet_denoising::{Threshold, WaveletFit, denoise_with_wavelets};
pub use wavelets::Wavelets;

/// An undirected graph on the nodes `0, 1, ..., n - 1`, each the index of one released value.
///
/// # Rules
/// - A self loop says that a node is like itself: it adds `|x_u - x_u| = 0` to every penalty. It is
///   left out, and counted ([`Graph::loops_left_out`]).
/// - An edge that is listed again, in either direction, is one edge, and counted
///   ([`Graph::repeats_left_out`]). Listed again with another weight it is an error.
/// - A graph need not be connected. Penalties are sums over edges, so every component is denoised
///   by itself (but with the same tuning parameter), and a node without edges keeps its released
///   value.
/// - A weight `c > 0` multiplies the edge's penalty: the larger, the more alike the ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    nodes: usize,
    /// Sorted by tail, then head; the tail is the smaller end.
    edges: Vec<Edge>,
    /// The arcs of node `i` are `arcs[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    arcs: Vec<Arc>,
    loops_left_out: usize,
    repeats_left_out: usize,
}

/// An edge, `tail < head`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) tail: u32,
    pub(crate) head: u32,
    pub(crate) weight: f64,
}

/// An edge as seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arc {
    pub(crate) neighbour: u32,
    pub(crate) edge: u32,
}

/// Nodes and edges are counted in 32 bits; one value is kept for marks such as "no node".
const LARGEST_COUNT: usize = u32::MAX as usize - 1;

impl Graph {
    /// The graph with `nodes` nodes and these edges, all of weight 1.
    ///
    /// # Errors
    /// If there is no node, or more than `2^32 - 2` nodes or edges, or an edge ends in a node that
    /// does not exist.
    ///
    /// # Example
    /// ```
    /// use reticent_denoising::graph::Graph;
    ///
    /// let triangle_and_a_node = Graph::new(4, [(0, 1), (1, 2), (2, 0)])?;
    /// assert_eq!(triangle_and_a_node.edge_count(), 3);
    /// assert_eq!(triangle_and_a_node.components().len(), 2);
    /// assert!(Graph::new(4, [(0, 4)]).is_err());
    /// # Ok::<(), reticent_denoising::graph::GraphError>(())
    /// ```
    pub fn new(
        nodes: usize,
        edges: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self, GraphError> {
        Graph::weighted(nodes, edges.into_iter().map(|(from, to)| (from, to, 1.0)))
    }

    /// The graph with `nodes` nodes and these edges with their weights.
    ///
    /// # Errors
    /// As [`Graph::new`], or if a weight is not a number from 1e-9 to 1e9, or an edge is listed
    /// with two weights.
    pub fn weighted(
        nodes: usize,
        edges: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Result<Self, GraphError> {
        if nodes == 0 || nodes > LARGEST_COUNT {
            return Err(GraphError::Size {
                what: "nodes",
                given: nodes,
                accepted: "from 1 to 2^32 - 2",
            });
        }
        let mut kept = Vec::new();
        let mut loops_left_out = 0;
        for (position, (from, to, weight)) in edges.into_iter().enumerate() {
            let edge = position + 1;
            if let Some(missing) = [from, to].into_iter().find(|&node| node >= nodes) {
                let accepted = format!("0 to {}", nodes - 1);
                return Err(GraphError::MissingNode { edge, node: missing.to_string(), accepted });
            }
            if !(1e-9..=1e9).contains(&weight) {
                return Err(GraphError::Weight { edge, value: weight });
            }
            if from == to {
                loops_left_out += 1;
            } else {
                kept.push(Edge { tail: from.min(to) as u32, head: from.max(to) as u32, weight });
            }
        }
        if kept.len() > LARGEST_COUNT / 2 {
            return Err(GraphError::Size {
                what: "edges",
                given: kept.len(),
                accepted: "at most 2^31 - 1",
            });
        }
        kept.sort_unstable_by_key(|edge| (edge.tail, edge.head));
        let listed = kept.len();
        if let Some(pair) = kept
            .windows(2)
            .find(|pair| pair[0].ends() == pair[1].ends() && pair[0].weight != pair[1].weight)
        {
            return Err(GraphError::ConflictingWeights {
                from: pair[0].tail as usize,
                to: pair[0].head as usize,
                first: pair[0].weight,
                second: pair[1].weight,
            });
        }
        kept.dedup_by_key(|edge| edge.ends());
        let repeats_left_out = listed - kept.len();
        let (starts, arcs) = arcs_by_node(nodes, kept.iter().map(|edge| edge.ends()));
        Ok(Graph { nodes, edges: kept, starts, arcs, loops_left_out, repeats_left_out })
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// How many edges there are, each pair of neighbours counted once.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The edges with their weights, the smaller end first, sorted.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (usize, usize, f64)> + '_ {
        self.edges.iter().map(|edge| (edge.tail as usize, edge.head as usize, edge.weight))
    }

    /// How many self loops were listed and left out.
    pub fn loops_left_out(&self) -> usize {
        self.loops_left_out
    }

    /// How often an edge was listed again and left out.
    pub fn repeats_left_out(&self) -> usize {
        self.repeats_left_out
    }

    /// The connected components, each a list of nodes.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let forest = SpanningForest::breadth_first(self);
        let mut components: Vec<Vec<usize>> = Vec::new();
        for &node in forest.order() {
            if forest.parent(node as usize).is_none() {
                components.push(Vec::new());
            }
            if let Some(component) = components.last_mut() {
                component.push(node as usize);
            }
        }
        components
    }

    pub(crate) fn edge_list(&self) -> &[Edge] {
        &self.edges
    }

    pub(crate) fn arcs(&self, node: usize) -> &[Arc] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    pub(crate) fn require_length(
        &self,
        what: &'static str,
        given: usize,
    ) -> Result<(), GraphError> {
        if given == self.nodes {
            Ok(())
        } else {
            Err(GraphError::Length { what, given, expected: self.nodes, each: "node of the graph" })
        }
    }
}

impl Edge {
    fn ends(&self) -> (u32, u32) {
        (self.tail, self.head)
    }
}

/// Groups edges by end: counting sort, so that the arcs of a node are in the order of the edges.
pub(crate) fn arcs_by_node(
    nodes: usize,
    edges: impl ExactSizeIterator<Item = (u32, u32)> + Clone,
) -> (Vec<usize>, Vec<Arc>) {
    let mut starts = vec![0_usize; nodes + 1];
    for (tail, head) in edges.clone() {
        starts[tail as usize + 1] += 1;
        starts[head as usize + 1] += 1;
    }
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let mut next = starts.clone();
    let mut arcs = vec![Arc { neighbour: 0, edge: 0 }; 2 * edges.len()];
    for (index, (tail, head)) in edges.enumerate() {
        for (node, neighbour) in [(tail, head), (head, tail)] {
            arcs[next[node as usize]] = Arc { neighbour, edge: index as u32 };
            next[node as usize] += 1;
        }
    }
    (starts, arcs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_repeats_are_left_out_and_counted() {
        let graph = Graph::new(3, [(0, 1), (1, 0), (1, 1), (1, 2), (0, 1)]).expect("a graph");
        assert_eq!(
            (graph.edge_count(), graph.loops_left_out(), graph.repeats_left_out()),
            (2, 1, 2)
        );
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 1.0), (1, 2, 1.0)]);
        assert_eq!(graph.arcs(1).iter().map(|arc| arc.neighbour).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn a_repeated_edge_with_another_weight_is_refused() {
        let same = Graph::weighted(2, [(0, 1, 2.0), (1, 0, 2.0)]).expect("the same edge twice");
        assert_eq!(same.edge_count(), 1);
        let error = Graph::weighted(2, [(0, 1, 2.0), (1, 0, 3.0)]).expect_err("two weights");
        assert!(error.to_string().contains("the weights 2e0 and 3e0"), "{error}");
    }

    #[test]
    fn hostile_edges_and_sizes_are_named() {
        let message =
            |result: Result<Graph, GraphError>| result.expect_err("must be refused").to_string();
        assert!(message(Graph::new(0, [])).contains("0 nodes"));
        assert!(message(Graph::new(usize::MAX, [])).contains("from 1 to 2^32 - 2"));
        assert_eq!(
            message(Graph::new(3, [(0, 1), (2, 3)])),
            "edge 2 names the node `3`, but the nodes are 0 to 2"
        );
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 1e10] {
            assert!(
                message(Graph::weighted(2, [(0, 1, weight)])).starts_with("edge 1 has the weight"),
                "{weight}"
            );
        }
    }

    #[test]
    fn components_partition_the_nodes() {
        let graph = Graph::new(6, [(0, 2), (2, 4), (3, 5)]).expect("a graph");
        assert_eq!(graph.components(), [vec![0, 2, 4], vec![1], vec![3, 5]]);
    }
}
