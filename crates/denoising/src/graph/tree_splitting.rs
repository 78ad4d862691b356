//! Balanced hierarchies of a tree's nodes.

use super::Arc;
use super::SpanningForest;
use super::arcs_by_node;

/// Two sets of nodes that become one. Sets below the number of nodes are single nodes; the set that
/// merge `m` makes is `nodes + m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// A hierarchy of the nodes of a forest.
#[derive(Clone, Debug)]
pub(crate) struct Hierarchy {
    /// Every set after the two that it is made of.
    pub(crate) merges: Vec<Merge>,
    /// For each tree the set of all of its nodes.
    pub(crate) roots: Vec<u32>,
}

/// Splits every tree of a forest, and the parts again, down to single nodes (Sharpnack,
/// Krishnamurthy, Singh, *Detecting activations over graphs using spanning tree wavelet bases*,
/// AISTATS 2013, Algorithm 1).
///
/// A tree is split at a balancing node, without which no part has more than half of the nodes; the
/// node itself goes to the smallest part. The parts are joined in pairs, the joined ones in pairs
/// again. With `d` the largest degree, a node is then in at most about `log d log n` sets, and an
/// edge of the tree crosses as many splits: a vector that changes across few edges has few
/// coefficients.
pub(crate) fn split(forest: &SpanningForest) -> Hierarchy {
    let nodes = forest.node_count();
    let edges: Vec<(u32, u32)> = (0..nodes)
        .filter_map(|node| forest.parent(node).map(|parent| (parent as u32, node as u32)))
        .collect();
    let (starts, arcs) = arcs_by_node(nodes, edges.iter().copied());
    let mut splitter = Splitter {
        starts,
        arcs,
        part: vec![0; nodes],
        parts: 1,
        parent: vec![0; nodes],
        weight: vec![0; nodes],
        merges: Vec::with_capacity(nodes),
    };
    let roots = forest.trees().map(|tree| {
        splitter.parts += 1;
        for &node in tree {
            splitter.part[node as usize] = splitter.parts;
        }
        splitter.hierarchy(tree.to_vec())
    });
    let roots = roots.collect();
    Hierarchy { merges: splitter.merges, roots }
}

struct Splitter {
    starts: Vec<usize>,
    arcs: Vec<Arc>,
    /// The connected part that a node is in now.
    part: Vec<u64>,
    parts: u64,
    parent: Vec<u32>,
    /// How many nodes hang below a node, itself included.
    weight: Vec<u32>,
    merges: Vec<Merge>,
}

impl Splitter {
    fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let part = self.part[node as usize];
        let arcs = &self.arcs[self.starts[node as usize]..self.starts[node as usize + 1]];
        arcs.iter()
            .map(|arc| arc.neighbour)
            .filter(move |&neighbour| self.part[neighbour as usize] == part)
    }

    /// The set of all of `members`, a connected part. The recursion is as deep as the logarithm of
    /// their number.
    fn hierarchy(&mut self, members: Vec<u32>) -> u32 {
        if let [single] = members[..] {
            return single;
        }
        let pieces = self.pieces_around_balance(&members);
        drop(members);
        let mut sets: Vec<u32> = pieces.into_iter().map(|piece| self.hierarchy(piece)).collect();
        while sets.len() > 1 {
            let joined = sets.chunks(2).map(|pair| match *pair {
                [left, right] => {
                    self.merges.push(Merge { left, right });
                    (self.part.len() + self.merges.len() - 1) as u32
                }
                _ => pair[0],
            });
            sets = joined.collect();
        }
        sets[0]
    }

    /// Removes a balancing node, adds it to the smallest piece, and marks the pieces as parts of
    /// their own.
    fn pieces_around_balance(&mut self, members: &[u32]) -> Vec<Vec<u32>> {
        let order = self.outwards_from(members[0]);
        let centre = self.balancing_node(&order);
        let mut pieces = Vec::new();
        let around: Vec<u32> = self.neighbours(centre).collect();
        self.parts += 1;
        self.part[centre as usize] = self.parts;
        for neighbour in around {
            let piece = self.outwards_from(neighbour);
            self.parts += 1;
            for &node in &piece {
                self.part[node as usize] = self.parts;
            }
            pieces.push(piece);
        }
        // A part of two nodes has one piece, and the node stands alone; otherwise pieces stay below
        // the whole.
        match pieces.iter_mut().min_by_key(|piece| piece.len()) {
            Some(smallest) if members.len() > 2 => {
                self.part[centre as usize] = self.part[smallest[0] as usize];
                smallest.push(centre);
            }
            _ => pieces.push(vec![centre]),
        }
        pieces
    }

    /// The nodes of the part of `root`, each after its parent.
    fn outwards_from(&mut self, root: u32) -> Vec<u32> {
        self.parent[root as usize] = root;
        let mut order = vec![root];
        let mut scanned = 0;
        while scanned < order.len() {
            let node = order[scanned];
            scanned += 1;
            let before = order.len();
            let parent = self.parent[node as usize];
            order.extend(self.neighbours(node).filter(|&neighbour| neighbour != parent));
            for &child in &order[before..] {
                self.parent[child as usize] = node;
            }
        }
        order
    }

    /// A node whose removal leaves no piece with more than half of the nodes: the last one, from
    /// the root, with at least half below it.
    fn balancing_node(&mut self, order: &[u32]) -> u32 {
        for &node in order {
            self.weight[node as usize] = 1;
        }
        for &node in order[1..].iter().rev() {
            self.weight[self.parent[node as usize] as usize] += self.weight[node as usize];
        }
        let heavy = |node: &&u32| 2 * self.weight[**node as usize] as usize >= order.len();
        order.iter().rev().find(heavy).copied().unwrap_or(order[0])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::*;

    fn sets_above_the_deepest_node(hierarchy: &Hierarchy, nodes: usize) -> u32 {
        let mut depth = vec![0; nodes + hierarchy.merges.len()];
        for (index, merge) in hierarchy.merges.iter().enumerate().rev() {
            for set in [merge.left, merge.right] {
                depth[set as usize] = depth[nodes + index] + 1;
            }
        }
        depth[..nodes].iter().copied().max().unwrap_or(0)
    }

    #[test]
    fn every_set_but_the_roots_is_used_once() {
        let graph = Graph::new(9, [(0, 1), (1, 2), (1, 3), (3, 4), (6, 7)]).expect("a graph");
        let hierarchy = split(&SpanningForest::breadth_first(&graph));
        let mut uses = vec![0; 9 + hierarchy.merges.len()];
        for (index, merge) in hierarchy.merges.iter().enumerate() {
            for set in [merge.left, merge.right] {
                assert!((set as usize) < 9 + index, "a set is used before it is made");
                uses[set as usize] += 1;
            }
        }
        for root in &hierarchy.roots {
            uses[*root as usize] += 1;
        }
        assert!(uses.iter().all(|&uses| uses == 1), "{uses:?}");
        assert_eq!((hierarchy.merges.len(), hierarchy.roots.len()), (5, 4));
    }

    #[test]
    fn hierarchies_are_shallow() {
        for (graph, deepest) in
            [(Graph::line(1 << 14), 15), (Graph::new(4097, (1..4097).map(|i| (0, i))), 13)]
        {
            let graph = graph.expect("a graph");
            let hierarchy = split(&SpanningForest::breadth_first(&graph));
            assert!(sets_above_the_deepest_node(&hierarchy, graph.node_count()) <= deepest);
        }
    }
}
