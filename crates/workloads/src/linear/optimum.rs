//! The convex programme of the Gaussian matrix mechanism.
//!
//! `minimise tr V X^-1 over X with X_jj <= 1`, `V = W'W`. At the optimum
//! `X = Y^(-1/2) (Y^(1/2) V Y^(1/2))^(1/2) Y^(-1/2)` for the multipliers `y >= 0` of the
//! constraints, and its diagonal is 1 where `y > 0`. So `y` is a fixed point of
//! `y -> diag (Y^(1/2) V Y^(1/2))^(1/2)` (Denisov, McMahan, Rush, Smith, Thakurta 2022), and also
//! of `y -> y r^2` with `r` the diagonal of `X`: for a diagonal `V` that is one step, and on
//! prefixes it takes half as many. What comes out is a guess of `X` and `y`; the certificates do
//! not depend on how it was found.

use super::certificate::{DualBound, dual_bound};
use super::chain::Chain;
use super::workload::LinearWorkload;
use crate::WorkloadError;
use faer::{Mat, Side};

/// An `X` that is nearly the best, with a diagonal of at most 1 but for rounding, and a certified
/// lower bound on the least `tr V X^-1`.
pub(crate) struct Optimum {
    pub(crate) information: Mat<f64>,
    pub(crate) limit: f64,
}

/// The iteration ends when `tr V X^-1` is within this of the dual value.
const GAP: f64 = 2e-4;

/// At most so many steps.
pub(crate) const MOST_STEPS: usize = 60;

/// Eigenvalues below this, relative to the largest, are taken for zero.
const NEGLIGIBLE: f64 = 1e-9;

/// The optimum of a workload.
///
/// # Errors
/// If eigenvalues cannot be computed, or no bound is proved.
pub(crate) fn optimum(workload: &LinearWorkload) -> Result<Optimum, WorkloadError> {
    if let Some(chain) = Chain::of(workload) {
        let (information, limit) = (chain.information(), chain.limit());
        return Ok(Optimum { information, limit });
    }
    let (gram, rounding) = workload.gram();
    let n = workload.cells();
    let mut y: Vec<f64> = (0..n).map(|i| gram[(i, i)]).collect();
    for _ in 0..MOST_STEPS {
        let root = Root::of(&gram, &y)?;
        let diagonal = root.diagonal();
        let ratio = |i: usize| diagonal[i] / y[i];
        let most = (0..n).map(ratio).fold(0.0, f64::max);
        let (trace, sum) = (diagonal.iter().sum::<f64>(), y.iter().sum::<f64>());
        if most * sum <= trace * (1.0 + GAP) {
            break;
        }
        y = (0..n).map(|i| y[i] * ratio(i).powi(2)).collect();
    }
    let root = Root::of(&gram, &y)?;
    let DualBound { limit } = dual_bound(&gram, rounding, &y, &root.inverse_between(&y))?;
    let mut information = root.between(&y);
    let most = (0..n).map(|i| information[(i, i)]).fold(0.0, f64::max);
    for column in 0..n {
        for row in 0..n {
            information[(row, column)] /= most;
        }
    }
    Ok(Optimum { information, limit })
}

/// `M^(1/2)` for `M = Y^(1/2) V Y^(1/2)`, by its eigenvectors.
struct Root {
    vectors: Mat<f64>,
    roots: Vec<f64>,
}

impl Root {
    fn of(gram: &Mat<f64>, y: &[f64]) -> Result<Self, WorkloadError> {
        let n = y.len();
        let scaled = Mat::from_fn(n, n, |i, j| (y[i] * y[j]).sqrt() * gram[(i, j)]);
        let eigen =
            scaled.self_adjoint_eigen(Side::Lower).map_err(|_| WorkloadError::NotCertified {
                what: "the strategy of least error",
                reason: "the eigenvalues of the workload could not be computed",
            })?;
        let values = eigen.S().column_vector();
        let largest = (0..n).map(|k| values[k]).fold(0.0, f64::max);
        let roots = (0..n)
            .map(|k| if values[k] > NEGLIGIBLE * largest { values[k].sqrt() } else { 0.0 })
            .collect();
        Ok(Root { vectors: eigen.U().to_owned(), roots })
    }

    fn diagonal(&self) -> Vec<f64> {
        let n = self.roots.len();
        let entry = |i: usize| (0..n).map(|k| self.vectors[(i, k)].powi(2) * self.roots[k]).sum();
        (0..n).map(entry).collect()
    }

    /// `Y^(-1/2) M^(1/2) Y^(-1/2)`.
    fn between(&self, y: &[f64]) -> Mat<f64> {
        self.with(|root| root, |i| 1.0 / y[i].sqrt())
    }

    /// `Y^(1/2) M^(-1/2) Y^(1/2)`, where eigenvalues that are zero stay so.
    fn inverse_between(&self, y: &[f64]) -> Mat<f64> {
        self.with(|root| if root > 0.0 { 1.0 / root } else { 0.0 }, |i| y[i].sqrt())
    }

    fn with(&self, f: impl Fn(f64) -> f64, side: impl Fn(usize) -> f64) -> Mat<f64> {
        let n = self.roots.len();
        let left = Mat::from_fn(n, n, |i, k| side(i) * self.vectors[(i, k)] * f(self.roots[k]));
        let right = Mat::from_fn(n, n, |k, j| self.vectors[(j, k)] * side(j));
        left * right
    }
}
