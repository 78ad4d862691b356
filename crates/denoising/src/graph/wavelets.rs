//! The orthonormal wavelet basis of a spanning forest.

use super::tree_splitting::{Hierarchy, split};
use super::{GraphError, SpanningForest};

/// Haar wavelets on a hierarchy of sets of nodes.
///
/// # Formula
/// Two sets `A` and `B` that are joined give the basis vector
///
/// ```text
/// b = sqrt(|A| |B| / (|A| + |B|)) (1_A / |A| - 1_B / |B|),
/// ```
///
/// and each tree of the forest its constant, `1 / sqrt(n)` on its `n` nodes. They are orthonormal:
/// `b` has mean zero and norm one, and of two sets one holds the other or they are disjoint.
///
/// # Cost
/// `O(n log n)` to make, `O(n)` to transform: sums of sets are sums of their parts.
///
/// # Reference
/// Sharpnack, Krishnamurthy, Singh, *Detecting activations over graphs using spanning tree wavelet
/// bases*, AISTATS 2013.
///
/// # Example
/// ```
/// use reticent_denoising::graph::{Graph, SpanningForest, Wavelets};
///
/// let wavelets = Wavelets::new(&SpanningForest::breadth_first(&Graph::line(4)?));
/// let coefficients = wavelets.transform(&[1.0, 1.0, 5.0, 5.0])?;
/// assert_eq!(coefficients.iter().filter(|c| c.abs() > 1e-12).count(), 2);
/// # Ok::<(), reticent_denoising::graph::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wavelets {
    nodes: usize,
    hierarchy: Hierarchy,
    /// How many nodes each set has.
    sizes: Vec<f64>,
}

impl Wavelets {
    /// The basis of a forest.
    pub fn new(forest: &SpanningForest) -> Self {
        let hierarchy = split(forest);
        let nodes = forest.node_count();
        let mut sizes = vec![1.0; nodes];
        for merge in &hierarchy.merges {
            sizes.push(sizes[merge.left as usize] + sizes[merge.right as usize]);
        }
        Wavelets { nodes, hierarchy, sizes }
    }

    /// How many basis vectors there are: as many as nodes.
    #[expect(clippy::len_without_is_empty, reason = "a graph has at least one node")]
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// How many of them are constants of a component; they come last.
    pub fn constants(&self) -> usize {
        self.hierarchy.roots.len()
    }

    /// `B^T x`: first the coefficients of the splits, then those of the constants.
    ///
    /// # Errors
    /// If `x` does not have one entry for each node.
    pub fn transform(&self, x: &[f64]) -> Result<Vec<f64>, GraphError> {
        self.require_length("values", x.len())?;
        // Means rather than sums: they stay as large as the values.
        let means = self.upwards(x, |left, right, a, b| (a * left + b * right) / (a + b));
        let mut coefficients: Vec<f64> = self
            .hierarchy
            .merges
            .iter()
            .map(|merge| {
                let (left, right) = (merge.left as usize, merge.right as usize);
                self.height(left, right) * (means[left] - means[right])
            })
            .collect();
        coefficients.extend(
            self.hierarchy
                .roots
                .iter()
                .map(|&root| means[root as usize] * self.sizes[root as usize].sqrt()),
        );
        Ok(coefficients)
    }

    /// `B c`, the inverse of [`Wavelets::transform`].
    ///
    /// # Errors
    /// If `coefficients` does not have one entry for each node.
    pub fn inverse(&self, coefficients: &[f64]) -> Result<Vec<f64>, GraphError> {
        self.require_length("coefficients", coefficients.len())?;
        let merges = &self.hierarchy.merges;
        let mut levels = vec![0.0; self.nodes + merges.len()];
        for (&root, coefficient) in self.hierarchy.roots.iter().zip(&coefficients[merges.len()..]) {
            levels[root as usize] = coefficient / self.sizes[root as usize].sqrt();
        }
        for (index, merge) in merges.iter().enumerate().rev() {
            let (left, right) = (merge.left as usize, merge.right as usize);
            let level = levels[self.nodes + index];
            let height = self.height(left, right) * coefficients[index];
            levels[left] = level + height / self.sizes[left];
            levels[right] = level - height / self.sizes[right];
        }
        levels.truncate(self.nodes);
        Ok(levels)
    }

    /// The variance of each coefficient of a vector whose entries have these variances and are
    /// uncorrelated: `sum_i B_ij^2 variance_i`.
    ///
    /// # Errors
    /// If `variances` does not have one entry for each node.
    pub fn variances(&self, variances: &[f64]) -> Result<Vec<f64>, GraphError> {
        self.require_length("variances", variances.len())?;
        let sums = self.upwards(variances, |left, right, _, _| left + right);
        let merges = self.hierarchy.merges.iter().map(|merge| {
            let (left, right) = (merge.left as usize, merge.right as usize);
            let height = self.height(left, right);
            height
                * height
                * (sums[left] / self.sizes[left].powi(2) + sums[right] / self.sizes[right].powi(2))
        });
        let roots = self
            .hierarchy
            .roots
            .iter()
            .map(|&root| sums[root as usize] / self.sizes[root as usize]);
        Ok(merges.chain(roots).collect())
    }

    /// `sqrt(|A| |B| / (|A| + |B|))`.
    fn height(&self, left: usize, right: usize) -> f64 {
        let (a, b) = (self.sizes[left], self.sizes[right]);
        (a * b / (a + b)).sqrt()
    }

    /// A figure for every set from those of its two parts and their sizes.
    fn upwards(&self, leaves: &[f64], join: impl Fn(f64, f64, f64, f64) -> f64) -> Vec<f64> {
        let mut figures = leaves.to_vec();
        for merge in &self.hierarchy.merges {
            let (left, right) = (merge.left as usize, merge.right as usize);
            figures.push(join(figures[left], figures[right], self.sizes[left], self.sizes[right]));
        }
        figures
    }

    fn require_length(&self, what: &'static str, given: usize) -> Result<(), GraphError> {
        if given == self.nodes {
            Ok(())
        } else {
            Err(GraphError::Length { what, given, expected: self.nodes, each: "node of the graph" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn bases() -> Vec<Wavelets> {
        let scattered = Graph::new(40, (0..60).map(|i| (i * 7 % 37, i * i % 31))).expect("a graph");
        let graphs = [
            Graph::line(33),
            Graph::grid(6, 7),
            Graph::new(9, (1..9).map(|i| (0, i))),
            Graph::line(1),
            Ok(scattered),
        ];
        let graphs = graphs.map(|graph| graph.expect("a graph"));
        let forests = graphs.iter().flat_map(|graph| {
            let uniform =
                SpanningForest::uniform(graph, &mut SeededRandom::new(5)).expect("a tree");
            [SpanningForest::breadth_first(graph), SpanningForest::depth_first(graph), uniform]
        });
        forests.map(|forest| Wavelets::new(&forest)).collect()
    }

    /// The matrix `B`, one basis vector after the other.
    fn matrix(wavelets: &Wavelets) -> Vec<Vec<f64>> {
        let unit =
            |j: usize| (0..wavelets.len()).map(|i| f64::from(u8::from(i == j))).collect::<Vec<_>>();
        (0..wavelets.len()).map(|j| wavelets.inverse(&unit(j)).expect("a basis vector")).collect()
    }

    #[test]
    fn the_basis_is_orthonormal() {
        for wavelets in bases() {
            let basis = matrix(&wavelets);
            for (i, left) in basis.iter().enumerate() {
                for (j, right) in basis.iter().enumerate() {
                    let product: f64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
                    assert!(
                        (product - f64::from(u8::from(i == j))).abs() < 1e-12,
                        "{i} {j}: {product}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_transform_is_the_transpose_and_the_inverse_undoes_it() {
        for wavelets in bases() {
            let x: Vec<f64> = (0..wavelets.len()).map(|i| ((i * i) as f64).sin() * 100.0).collect();
            let coefficients = wavelets.transform(&x).expect("coefficients");
            for (vector, coefficient) in matrix(&wavelets).iter().zip(&coefficients) {
                let product: f64 = vector.iter().zip(&x).map(|(a, b)| a * b).sum();
                assert!((product - coefficient).abs() < 1e-10);
            }
            let back = wavelets.inverse(&coefficients).expect("the vector");
            assert!(back.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12 * 100.0), "{back:?}");
        }
    }

    #[test]
    fn variances_are_those_of_the_matrix() {
        for wavelets in bases() {
            let variances: Vec<f64> = (0..wavelets.len()).map(|i| 1.0 + i as f64).collect();
            let fast = wavelets.variances(&variances).expect("variances");
            for (vector, fast) in matrix(&wavelets).iter().zip(fast) {
                let slow: f64 = vector.iter().zip(&variances).map(|(b, v)| b * b * v).sum();
                assert!((fast / slow - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn one_changed_edge_gives_few_coefficients() {
        let wavelets =
            Wavelets::new(&SpanningForest::breadth_first(&Graph::line(1024).expect("a line")));
        let step: Vec<f64> = (0..1024).map(|i| if i < 300 { 0.0 } else { 1.0 }).collect();
        let coefficients = wavelets.transform(&step).expect("coefficients");
        assert!(coefficients.iter().filter(|c| c.abs() > 1e-12).count() <= 12);
    }

    #[test]
    fn other_lengths_are_refused() {
        let wavelets =
            Wavelets::new(&SpanningForest::breadth_first(&Graph::line(3).expect("a line")));
        for result in
            [wavelets.transform(&[1.0; 4]), wavelets.inverse(&[]), wavelets.variances(&[1.0; 2])]
        {
            assert!(matches!(result, Err(GraphError::Length { expected: 3, .. })));
        }
    }
}
