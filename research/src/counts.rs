//! Sanitised histograms as Liu makes them, and how far they are from the original.

use crate::ReproductionError;
use reticent_mechanisms::Releaser;
use reticent_noise::randomness::RandomBits;

/// The pseudo-count of each cell in the divergence: Jeffreys' 1/2. The paper names the function
/// `KL.Dirichlet` and not its pseudo-counts.
const PSEUDO_COUNT: f64 = 0.5;

/// A release of every cell.
pub(crate) fn released(
    original: &[f64],
    releaser: &dyn Releaser,
    random: &mut dyn RandomBits,
) -> Result<Vec<f64>, ReproductionError> {
    Ok(original.iter().map(|count| releaser.release(*count, random)).collect::<Result<_, _>>()?)
}

/// The release clamped to `[0, n]` and scaled to the public total `n`, as in Section 4 of Liu. Both
/// are post-processing, which keeps the approximate guarantee and not the probabilistic one
/// (erratum L4).
pub(crate) fn normalised(released: &[f64], total: f64) -> Vec<f64> {
    let clamped: Vec<f64> = released.iter().map(|count| count.clamp(0.0, total)).collect();
    let sum: f64 = clamped.iter().sum();
    if sum > 0.0 {
        clamped.iter().map(|count| count * total / sum).collect()
    } else {
        // Every cell fell to zero: nothing is known but the total.
        vec![total / clamped.len() as f64; clamped.len()]
    }
}

/// `sum of |a - b|`.
pub(crate) fn l1_distance(original: &[f64], sanitised: &[f64]) -> f64 {
    original.iter().zip(sanitised).map(|(a, b)| (a - b).abs()).sum()
}

/// The Kullback-Leibler divergence of the sanitised from the original distribution,
/// `sum of p ln(p/q)`, each with a pseudo-count of 1/2 in every cell.
pub(crate) fn divergence(original: &[f64], sanitised: &[f64]) -> f64 {
    let total = |counts: &[f64]| counts.iter().map(|count| count + PSEUDO_COUNT).sum::<f64>();
    let (all, all_sanitised) = (total(original), total(sanitised));
    let term = |(a, b): (&f64, &f64)| {
        let (p, q) = ((a + PSEUDO_COUNT) / all, (b + PSEUDO_COUNT) / all_sanitised);
        p * (p / q).ln()
    };
    original.iter().zip(sanitised).map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sanitised_counts_lie_in_bounds_and_sum_up() {
        let counts = normalised(&[-3.0, 2.0, 900.0, 4.0], 10.0);
        assert!((counts.iter().sum::<f64>() - 10.0).abs() < 1e-12 && counts[0] == 0.0);
        assert!(
            (counts[2] / counts[1] - 5.0).abs() < 1e-12,
            "clamped to the total first: {counts:?}"
        );
        assert_eq!(normalised(&[-1.0, -2.0], 10.0), [5.0, 5.0]);
    }

    #[test]
    fn distances_are_those_of_their_formulas() {
        let (a, b) = ([3.0, 0.0, 1.0], [1.0, 2.0, 1.0]);
        assert_eq!(l1_distance(&a, &b), 4.0);
        // p = (3.5, 0.5, 1.5)/5.5 and q = (1.5, 2.5, 1.5)/5.5.
        let plain = 3.5 / 5.5 * (3.5f64 / 1.5).ln() + 0.5 / 5.5 * (0.5f64 / 2.5).ln();
        assert!((divergence(&a, &b) - plain).abs() < 1e-14);
        assert_eq!(divergence(&a, &a), 0.0);
    }
}
