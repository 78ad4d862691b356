//! Spanning trees and forests.

use super::{Graph, GraphError};
use reticent_noise::randomness::RandomBits;

/// A mark for nodes that have no parent.
const ROOT: u32 = u32::MAX;

/// A spanning tree of every component of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningForest {
    parents: Vec<u32>,
    /// Every node after its parent, one tree after the other.
    order: Vec<u32>,
}

impl SpanningForest {
    /// Trees of shortest paths (in edges) from the first node of each component: shallow, with many
    /// children.
    pub fn breadth_first(graph: &Graph) -> Self {
        let mut parents = vec![ROOT; graph.node_count()];
        let mut seen = vec![false; graph.node_count()];
        let mut order = Vec::with_capacity(graph.node_count());
        for root in 0..graph.node_count() {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut scanned = order.len();
            order.push(root as u32);
            while scanned < order.len() {
                let node = order[scanned];
                scanned += 1;
                for arc in graph.arcs(node as usize) {
                    if !std::mem::replace(&mut seen[arc.neighbour as usize], true) {
                        parents[arc.neighbour as usize] = node;
                        order.push(arc.neighbour);
                    }
                }
            }
        }
        SpanningForest { parents, order }
    }

    /// Trees of a depth-first search from the first node of each component: deep, with few
    /// children.
    pub fn depth_first(graph: &Graph) -> Self {
        let mut parents = vec![ROOT; graph.node_count()];
        let mut seen = vec![false; graph.node_count()];
        let mut order = Vec::with_capacity(graph.node_count());
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..graph.node_count() {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            order.push(root as u32);
            path.push((root as u32, 0));
            while let Some((node, next)) = path.last_mut() {
                let Some(arc) = graph.arcs(*node as usize).get(*next) else {
                    path.pop();
                    continue;
                };
                *next += 1;
                if !std::mem::replace(&mut seen[arc.neighbour as usize], true) {
                    parents[arc.neighbour as usize] = *node;
                    order.push(arc.neighbour);
                    path.push((arc.neighbour, 0));
                }
            }
        }
        SpanningForest { parents, order }
    }

    /// Trees drawn uniformly among all spanning trees, whatever the weights.
    ///
    /// Wilson, *Generating random spanning trees more quickly than the cover time* (1996): from
    /// each node walk at random until the tree is met, and keep the walk without its loops. A
    /// component that is a tree has one spanning tree, and no walk is made. The draw is a public
    /// choice: it protects nothing, and any generator will do.
    ///
    /// # Errors
    /// If random bits cannot be had, or after 1000 steps for each node and edge: on graphs with
    /// long cycles a walk takes the square of their length.
    pub fn uniform(graph: &Graph, random: &mut impl RandomBits) -> Result<Self, GraphError> {
        let breadth_first = SpanningForest::breadth_first(graph);
        let mut next = breadth_first.parents.clone();
        let allowed = 1000 * (graph.node_count() + graph.edge_count()) as u64;
        let mut steps = 0;
        let mut in_tree = vec![false; graph.node_count()];
        for tree in breadth_first.trees() {
            let degrees: usize = tree.iter().map(|&node| graph.arcs(node as usize).len()).sum();
            let is_tree = degrees == 2 * (tree.len() - 1);
            in_tree[tree[0] as usize] = true;
            for &start in tree {
                if is_tree {
                    continue;
                }
                let mut node = start;
                while !in_tree[node as usize] {
                    if steps == allowed {
                        return Err(GraphError::WalkTooLong { steps });
                    }
                    steps += 1;
                    let arcs = graph.arcs(node as usize);
                    // Leaving a node again overwrites the earlier exit: this is what removes the
                    // loops.
                    next[node as usize] =
                        arcs[below(arcs.len() as u64, random)? as usize].neighbour;
                    node = next[node as usize];
                }
                let mut node = start;
                while !std::mem::replace(&mut in_tree[node as usize], true) {
                    node = next[node as usize];
                }
            }
        }
        Ok(SpanningForest::from_parents(next))
    }

    /// Puts every node after its parent.
    fn from_parents(parents: Vec<u32>) -> Self {
        let edges: Vec<(usize, usize)> = (0..parents.len())
            .filter(|&node| parents[node] != ROOT)
            .map(|node| (parents[node] as usize, node))
            .collect();
        let mut first_child = vec![0_usize; parents.len() + 1];
        for &(parent, _) in &edges {
            first_child[parent + 1] += 1;
        }
        for node in 0..parents.len() {
            first_child[node + 1] += first_child[node];
        }
        let mut children = vec![0_u32; edges.len()];
        let mut index = first_child.clone();
        for &(parent, child) in &edges {
            children[index[parent]] = child as u32;
            index[parent] += 1;
        }
        let mut order = Vec::with_capacity(parents.len());
        for root in (0..parents.len()).filter(|&node| parents[node] == ROOT) {
            let mut scanned = order.len();
            order.push(root as u32);
            while scanned < order.len() {
                let node = order[scanned] as usize;
                scanned += 1;
                order.extend_from_slice(&children[first_child[node]..first_child[node + 1]]);
            }
        }
        SpanningForest { parents, order }
    }

    /// The parent of a node; none for the root of a tree.
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parents.get(node).filter(|&&parent| parent != ROOT).map(|&parent| parent as usize)
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.parents.len()
    }

    /// Every node after its parent, one tree after the other.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The nodes of each tree, the root first.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &[u32]> {
        self.order.chunk_by(|_, &next| self.parents[next as usize] != ROOT)
    }
}

/// A uniform integer below `bound`, exactly: Lemire, *Fast random integer generation in an
/// interval* (2019).
fn below(bound: u64, random: &mut impl RandomBits) -> Result<u64, GraphError> {
    loop {
        let product = u128::from(random.next_u64()?) * u128::from(bound);
        if product as u64 >= bound.wrapping_neg() % bound {
            return Ok((product >> 64) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;
    use std::collections::HashMap;

    fn assert_spans(graph: &Graph, forest: &SpanningForest) {
        let mut seen = vec![false; graph.node_count()];
        for &node in forest.order() {
            if let Some(parent) = forest.parent(node as usize) {
                assert!(seen[parent], "a node comes before its parent");
                assert!(
                    graph.arcs(node as usize).iter().any(|arc| arc.neighbour as usize == parent)
                );
            }
            assert!(!std::mem::replace(&mut seen[node as usize], true));
        }
        assert!(seen.into_iter().all(|seen| seen));
        assert_eq!(forest.trees().count(), graph.components().len());
    }

    #[test]
    fn every_kind_spans_every_component() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (5, 6), (6, 7), (7, 8), (8, 5), (5, 7)];
        for graph in [Graph::new(10, edges), Graph::line(7), Graph::grid(5, 6), Graph::new(1, [])] {
            let graph = graph.expect("a graph");
            assert_spans(&graph, &SpanningForest::breadth_first(&graph));
            assert_spans(&graph, &SpanningForest::depth_first(&graph));
            assert_spans(
                &graph,
                &SpanningForest::uniform(&graph, &mut SeededRandom::new(1)).expect("a tree"),
            );
        }
    }

    #[test]
    fn shapes_are_as_named() {
        let complete =
            Graph::new(6, (0..6).flat_map(|i| (0..i).map(move |j| (i, j)))).expect("a graph");
        assert!(
            (1..6).all(|node| SpanningForest::breadth_first(&complete).parent(node) == Some(0))
        );
        assert!(
            (1..6)
                .all(|node| SpanningForest::depth_first(&complete).parent(node) == Some(node - 1))
        );
    }

    #[test]
    fn uniform_trees_are_uniform() {
        // A square with a diagonal has 8 spanning trees. 80000 draws: each count has mean 10000 and
        // deviation 93.5; six deviations on either side are crossed with probability 2e-9, 1.6e-8
        // for all eight.
        let graph = Graph::new(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]).expect("a graph");
        let mut counts = HashMap::new();
        let mut random = SeededRandom::new(20);
        for _ in 0..80_000 {
            let forest = SpanningForest::uniform(&graph, &mut random).expect("a tree");
            *counts.entry(forest.parents).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 8);
        assert!(counts.values().all(|count| (count - 10_000).abs() < 562), "{counts:?}");
    }

    #[test]
    fn long_cycles_are_refused_and_long_lines_are_not() {
        let cycle =
            Graph::new(30_000, (0..30_000).map(|i| (i, (i + 1) % 30_000))).expect("a cycle");
        let error =
            SpanningForest::uniform(&cycle, &mut SeededRandom::new(3)).expect_err("too long");
        assert!(matches!(error, GraphError::WalkTooLong { steps: 60_000_000 }), "{error}");
        let line = Graph::line(1_000_000).expect("a line");
        assert!(SpanningForest::uniform(&line, &mut SeededRandom::new(3)).is_ok());
    }
}
