//! What is proved of matrices that were computed in `f64`.
//!
//! A product of matrices with inner dimension `n`, summed in any order, is off in each entry by at
//! most `g_n = n u/(1 - n u)`, `u = 2^-53`, times the product of the absolute values (Higham,
//! *Accuracy and stability of numerical algorithms*, 2002, section 3.5). Bounds built from sums of
//! terms that are not negative are multiplied by a factor that covers their own rounding.

use crate::WorkloadError;
use faer::Mat;
use reticent_numerics::rounding::{add_up, div_down, div_up, mul_down, mul_up, sub_down};

/// Covers the relative rounding of sums of fewer than `2^25` terms that are not negative.
pub(crate) const SUMS: f64 = 1.0 + 1e-8;

/// `g_n` with room for a few more operations.
pub(crate) fn rounding_of_products(n: usize) -> f64 {
    1.01 * (n as f64 + 4.0) * f64::EPSILON
}

/// A certified lower bound on `tr V X^-1` over all `X` with a diagonal of at most 1.
pub(crate) struct DualBound {
    pub(crate) limit: f64,
}

/// The bound of docs/proofs/linear_queries.md for the multipliers `y` and `U = W K`:
///
/// if `N = Y^(-1/2) K' V K Y^(-1/2)` has no eigenvalue above `1 + eta`, then
/// `tr V X^-1 >= (tr V K)^2/((1 + eta) sum y)`.
///
/// `N` is nearly a projection, so `eta` follows from how far its square is from it. Computed is an
/// `N'` with `||N - N'|| <= r` and `||N'^2 - N'|| <= c`; then an eigenvalue `1 + t` of `N` has
/// `t + t^2 <= c + (3 + 2 t + 3 r) r`, and `t <= 1.1 c + 4 r` for `r <= 0.02`.
///
/// # Errors
/// If the rounding is too large for a bound.
pub(crate) fn dual_bound(
    gram: &Mat<f64>,
    gram_rounding: f64,
    y: &[f64],
    k: &Mat<f64>,
) -> Result<DualBound, WorkloadError> {
    let n = y.len();
    // |V_ij| <= d_i d_j, so d'|h| bounds the sizes in V h.
    let d: Vec<f64> = (0..n).map(|i| gram[(i, i)].max(0.0).sqrt() * SUMS).collect();
    let size = |column: usize, scale: f64| -> f64 {
        (0..n).map(|i| d[i] * k[(i, column)].abs()).sum::<f64>() * scale * SUMS
    };
    // The multipliers are the exact squares of the inverses of these; their sum is covered by SUMS.
    let inverse: Vec<f64> = y.iter().map(|y| 1.0 / y.sqrt()).collect();
    let h = Mat::from_fn(n, n, |i, j| k[(i, j)] * inverse[j]);
    let product = gram * &h;
    let projected = h.transpose() * &product;
    // In H each entry is rounded once, in N = H' V H the sums of V H and of H' (V H), and V itself.
    let each = add_up(3.0 * rounding_of_products(n), gram_rounding) * SUMS;
    let sizes: f64 = (0..n).map(|j| size(j, inverse[j]).powi(2)).sum::<f64>() * SUMS;
    // The norm of a matrix with entries of at most s_i s_j is at most sum s_i^2.
    let of_projected = mul_up(each, sizes);
    let square = &projected * &projected;
    let mut excess = 0.0;
    let mut frobenius = 0.0;
    for j in 0..n {
        for i in 0..n {
            excess += (square[(i, j)] - projected[(i, j)]).powi(2);
            frobenius += projected[(i, j)].powi(2);
        }
    }
    // Rounding of the square itself: entries up to g_n times the product of two row lengths.
    let of_square = mul_up(rounding_of_products(n), frobenius * SUMS);
    let computed = add_up((excess * SUMS).sqrt() * SUMS, of_square);
    let eta = add_up(mul_up(1.1, computed), mul_up(4.0, of_projected));
    let mut trace = 0.0;
    let mut sizes = 0.0;
    for j in 0..n {
        for i in 0..n {
            trace += gram[(i, j)] * k[(i, j)];
            sizes += d[i] * d[j] * k[(i, j)].abs();
        }
    }
    // Of the n^2 terms of the trace, and of the entries of V.
    let rounding = add_up(rounding_of_products(n * n), gram_rounding);
    let trace = sub_down(trace, mul_up(rounding, sizes * SUMS));
    let sum = y.iter().sum::<f64>() * SUMS;
    let limit = div_down(mul_down(trace, trace), mul_up(add_up(1.0, eta), sum));
    if trace > 0.0 && of_projected <= 0.02 && limit > 0.0 && limit.is_finite() {
        Ok(DualBound { limit })
    } else {
        Err(WorkloadError::NotCertified {
            what: "the least error of the workload",
            reason: "its matrix is too badly conditioned; merge cells that no query tells apart",
        })
    }
}

/// An upper bound on `tr V (A'A)^-1` for an invertible `A`, from an approximate inverse `B` and the
/// sum `squares >= ||W B||^2`.
///
/// With `A B = I + F` and `||F|| <= f < 1`, `A^-1 = B (I + F)^-1`, so that
/// `||W A^-1|| <= ||W B||/(1 - f)`.
///
/// # Errors
/// If `f` is not small.
pub(crate) fn error_above(a: &Mat<f64>, b: &Mat<f64>, squares: f64) -> Result<f64, WorkloadError> {
    let n = a.nrows();
    let product = a * b;
    let (mut off, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for j in 0..n {
        for i in 0..n {
            off += (product[(i, j)] - f64::from(u8::from(i == j))).powi(2);
            of_a += a[(i, j)].powi(2);
            of_b += b[(i, j)].powi(2);
        }
    }
    let sizes = (of_a * SUMS).sqrt() * (of_b * SUMS).sqrt() * SUMS;
    let f = add_up((off * SUMS).sqrt() * SUMS, mul_up(rounding_of_products(n), sizes));
    if f < 0.01 {
        let rest = sub_down(1.0, f);
        Ok(div_up(mul_up(squares, SUMS), mul_down(rest, rest)))
    } else {
        Err(WorkloadError::NotCertified {
            what: "the expected error",
            reason: "the strategy is too badly conditioned",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For `V = I` everything is known: the least error is `n`, with `y = 1` and `K = I`.
    #[test]
    fn the_identity_is_its_own_optimum() {
        let identity = Mat::<f64>::identity(5, 5);
        let bound = dual_bound(&identity, 0.0, &[1.0; 5], &identity).expect("exact").limit;
        assert!(bound <= 5.0 && bound > 5.0 * (1.0 - 1e-7), "{bound}");
        let error = error_above(&identity, &identity, 5.0).expect("exact");
        assert!((5.0..5.0 * (1.0 + 1e-7)).contains(&error), "{error}");
    }

    /// Wrong multipliers or a wrong `K` make the bound smaller, never larger than the truth.
    #[test]
    fn no_guess_proves_more_than_is_true() {
        let identity = Mat::<f64>::identity(3, 3);
        for y in [[1.0, 2.0, 3.0], [1e-3, 1.0, 1.0], [5.0, 5.0, 5.0]] {
            for stretch in [0.5, 0.9, 1.0, 1.1, 2.0] {
                let k = Mat::from_fn(3, 3, |i, j| if i == j { stretch } else { 0.01 });
                if let Ok(bound) = dual_bound(&identity, 0.0, &y, &k) {
                    assert!(bound.limit <= 3.0, "{y:?} {stretch}: {}", bound.limit);
                }
            }
        }
        let far = Mat::from_fn(3, 3, |i, j| if i == j { 1.5 } else { 0.0 });
        assert!(error_above(&identity, &far, 6.75).is_err());
    }
}
