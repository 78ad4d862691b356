//! Sparse Cholesky factors of `L S L` plus a diagonal, for the Laplacian `L`.

use super::{Graph, GraphError};
use faer::Side;
use faer::col::ColMut;
use faer::prelude::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};

/// `L S L` has an entry for every pair of nodes with a common neighbour. A hub with a million
/// neighbours would make it a dense matrix.
const MOST_ENTRIES: usize = 100_000_000;

/// The matrix `L S L` with a diagonal `S`; its ordering and pattern are analysed once, and every
/// diagonal added to it is factorised anew.
#[derive(Debug)]
pub(crate) struct SquaredLaplacian {
    matrix: SparseColMat<usize, f64>,
    /// Where in the values the diagonal is.
    diagonal: Vec<usize>,
    symbolic: SymbolicLlt<usize>,
}

/// A factor of `scale * L S L + diagonal`.
#[derive(Debug)]
pub(crate) struct Factor {
    cholesky: Llt<usize, f64>,
}

impl SquaredLaplacian {
    /// Analyses `L S L`.
    ///
    /// # Errors
    /// If there are more than 1e8 entries, or memory runs out.
    pub(crate) fn new(graph: &Graph, middle: &[f64]) -> Result<Self, GraphError> {
        let failed = |reason: String| GraphError::Factorisation { reason };
        let nodes = graph.node_count();
        let entries: usize = (0..nodes)
            .map(|node| graph.arcs(node).len() + 1)
            .fold(0, |sum, row| sum.saturating_add(row.saturating_mul(row + 1) / 2));
        if entries > MOST_ENTRIES {
            return Err(failed(format!(
                "some nodes have so many neighbours that there would be {entries} entries, and at \
                 most {MOST_ENTRIES} are accepted; use order 0"
            )));
        }
        let mut triplets = Vec::with_capacity(entries);
        for (node, &middle) in middle.iter().enumerate() {
            let row = laplacian_row(graph, node);
            for &(i, left) in &row {
                triplets.extend(
                    row.iter()
                        .filter(|(j, _)| *j <= i)
                        .map(|&(j, right)| Triplet::new(i, j, left * middle * right)),
                );
            }
        }
        let matrix = SparseColMat::try_new_from_triplets(nodes, nodes, &triplets)
            .map_err(|error| failed(format!("{error:?}")))?;
        let pattern = matrix.symbolic();
        let index =
            |node: usize| pattern.col_range(node).find(|&index| pattern.row_idx()[index] == node);
        let diagonal = (0..nodes).filter_map(index).collect();
        let symbolic = SymbolicLlt::try_new(pattern, Side::Lower)
            .map_err(|error| failed(error.to_string()))?;
        Ok(SquaredLaplacian { matrix, diagonal, symbolic })
    }

    /// Factorises `scale * L S L + diagonal`, which is positive definite if `diagonal` is positive.
    ///
    /// # Errors
    /// If rounding makes it indefinite.
    pub(crate) fn factor(&self, scale: f64, diagonal: &[f64]) -> Result<Factor, GraphError> {
        let mut matrix = self.matrix.clone();
        let values = matrix.val_mut();
        values.iter_mut().for_each(|value| *value *= scale);
        for (&index, addend) in self.diagonal.iter().zip(diagonal) {
            values[index] += addend;
        }
        let cholesky =
            Llt::try_new_with_symbolic(self.symbolic.clone(), matrix.as_ref(), Side::Lower)
                .map_err(|error| GraphError::Factorisation { reason: format!("{error:?}") })?;
        Ok(Factor { cholesky })
    }
}

impl Factor {
    /// Solves in place.
    pub(crate) fn solve(&self, right: &mut [f64]) {
        self.cholesky.solve_in_place(ColMut::from_slice_mut(right));
    }
}

/// The entries of one row of `L`, the diagonal last.
fn laplacian_row(graph: &Graph, node: usize) -> Vec<(usize, f64)> {
    let weight = |edge: u32| graph.edge_list()[edge as usize].weight;
    let arcs = graph.arcs(node);
    let off_diagonal = arcs.iter().map(|arc| (arc.neighbour as usize, -weight(arc.edge)));
    let degree = arcs.iter().map(|arc| weight(arc.edge)).sum();
    off_diagonal.chain([(node, degree)]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::differences::laplacian;
    use super::*;

    /// `(scale * L S L + diagonal) x`, by applying the operators.
    fn apply(graph: &Graph, middle: &[f64], scale: f64, diagonal: &[f64], x: &[f64]) -> Vec<f64> {
        let inner: Vec<f64> =
            laplacian(graph, x).iter().zip(middle).map(|(value, middle)| value * middle).collect();
        laplacian(graph, &inner)
            .iter()
            .zip(diagonal.iter().zip(x))
            .map(|(value, (d, x))| scale * value + d * x)
            .collect()
    }

    #[test]
    fn solutions_solve() {
        let weighted =
            Graph::weighted(7, [(0, 1, 2.0), (1, 2, 0.5), (2, 0, 3.0), (3, 2, 1.0), (5, 6, 4.0)])
                .expect("a graph");
        for graph in [Graph::grid(7, 9).expect("a grid"), weighted, Graph::line(1).expect("a node")]
        {
            let nodes = graph.node_count();
            let numbers =
                |seed: f64| (0..nodes).map(|i| 1.5 + (seed * i as f64).sin()).collect::<Vec<f64>>();
            let (middle, diagonal, right) = (numbers(1.0), numbers(2.0), numbers(3.0));
            let mut x = right.clone();
            SquaredLaplacian::new(&graph, &middle)
                .expect("analysed")
                .factor(0.7, &diagonal)
                .expect("factorised")
                .solve(&mut x);
            let back = apply(&graph, &middle, 0.7, &diagonal, &x);
            assert!(
                back.iter().zip(&right).all(|(a, b)| (a - b).abs() < 1e-12),
                "{back:?} {right:?}"
            );
        }
    }

    #[test]
    fn a_hub_that_would_fill_the_matrix_is_refused() {
        let star = Graph::new(20_000, (1..20_000).map(|leaf| (0, leaf))).expect("a star");
        let error = SquaredLaplacian::new(&star, &[1.0; 20_000]).expect_err("too many entries");
        assert!(error.to_string().contains("use order 0"), "{error}");
    }
}
