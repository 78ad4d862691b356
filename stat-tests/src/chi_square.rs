//! Pearson's chi-square tests: do counts follow given probabilities, do two sets of counts follow
//! the same ones.
//!
//! # Error rate
//! The p-value is the upper tail of the chi-square distribution, `Q(d/2, X^2/2)` for `d` degrees of
//! freedom, from the certified upper bound of [`gamma_q`]. That the statistic has this distribution
//! is an approximation; neighbouring bins are pooled until each expects at least [`LEAST_EXPECTED`]
//! counts, where at a level of 1e-6 it is off by a factor of a few at most.

use reticent_numerics::Bounds;
use reticent_numerics::incomplete_gamma::gamma_q;

/// The counts that a pooled bin expects, at least.
pub const LEAST_EXPECTED: f64 = 20.0;

/// The p-value of `counts` under `probabilities`, bin by bin.
///
/// An outcome of probability zero that was observed makes it zero; a single bin left after pooling
/// makes it 1.
pub fn goodness_of_fit(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len(), "one probability a bin");
    let total = counts.iter().sum::<u64>() as f64;
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "the probabilities sum to {sum:e}");
    let impossible = counts
        .iter()
        .zip(probabilities)
        .any(|(&count, &probability)| count > 0 && probability <= 0.0);
    if impossible {
        return 0.0;
    }
    let pairs = counts
        .iter()
        .zip(probabilities)
        .map(|(&count, &probability)| [count as f64, probability * total]);
    let pooled = pool(pairs, |bin: &[f64; 2]| bin[1]);
    let statistic =
        pooled.iter().map(|[observed, expected]| (observed - expected).powi(2) / expected).sum();
    upper_tail(statistic, pooled.len() - 1)
}

/// The p-value of "both sets of counts come from the same distribution".
pub fn homogeneity(first: &[u64], second: &[u64]) -> f64 {
    assert_eq!(first.len(), second.len(), "the same bins");
    let sizes = [first, second].map(|counts| counts.iter().sum::<u64>() as f64);
    let all = sizes[0] + sizes[1];
    let smaller = sizes[0].min(sizes[1]) / all;
    let pairs = first.iter().zip(second).map(|(&a, &b)| [a as f64, b as f64]);
    let pooled = pool(pairs, |bin: &[f64; 2]| (bin[0] + bin[1]) * smaller);
    let statistic = pooled
        .iter()
        .flat_map(|bin| {
            let expected = sizes.map(|size| (bin[0] + bin[1]) * size / all);
            [0, 1].map(|i| (bin[i] - expected[i]).powi(2) / expected[i])
        })
        .sum();
    upper_tail(statistic, pooled.len() - 1)
}

/// `P[chi^2_d >= statistic]`, rounded up.
pub fn upper_tail(statistic: f64, degrees_of_freedom: usize) -> f64 {
    if degrees_of_freedom == 0 {
        return 1.0;
    }
    gamma_q(Bounds::exact(degrees_of_freedom as f64 / 2.0), Bounds::exact(statistic / 2.0)).upper()
}

/// Joins neighbours until each bin expects enough; what is left over at the end joins the last bin.
fn pool(
    bins: impl Iterator<Item = [f64; 2]>,
    expected: impl Fn(&[f64; 2]) -> f64,
) -> Vec<[f64; 2]> {
    let mut pooled: Vec<[f64; 2]> = Vec::new();
    let mut open = [0.0, 0.0];
    for bin in bins {
        open = [open[0] + bin[0], open[1] + bin[1]];
        if expected(&open) >= LEAST_EXPECTED {
            pooled.push(open);
            open = [0.0, 0.0];
        }
    }
    match pooled.last_mut() {
        Some(last) => *last = [last[0] + open[0], last[1] + open[1]],
        None => pooled.push(open),
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values of the chi-square distribution at 0.001 (Abramowitz and Stegun, Table 26.8).
    #[test]
    fn tail_agrees_with_the_printed_table() {
        for (degrees, critical) in [(1, 10.828), (2, 13.816), (10, 29.588), (30, 59.703)] {
            let p = upper_tail(critical, degrees);
            assert!((p / 0.001 - 1.0).abs() < 1e-3, "{degrees}: {p:e}");
        }
    }

    #[test]
    fn the_statistic_is_the_printed_sum() {
        // (60-50)^2/50 + (40-50)^2/50 = 4, and P[chi^2_1 >= 4] = erfc(sqrt 2).
        let p = goodness_of_fit(&[60, 40], &[0.5, 0.5]);
        assert!((p - 0.045_500_263_896_358_4).abs() < 1e-12, "{p:e}");
        // The 2x2 table [[60, 40], [40, 60]]: expected 50 everywhere, 4 * 100/50 = 8.
        let p = homogeneity(&[60, 40], &[40, 60]);
        assert!((p - 0.004_677_734_981_047_27).abs() < 1e-12, "{p:e}");
    }

    #[test]
    fn small_bins_are_pooled_and_impossible_ones_are_not() {
        // 19 and 1 expected: pooled to one bin of 20, and the rest.
        let p = goodness_of_fit(&[0, 20, 80], &[0.19, 0.01, 0.8]);
        assert_eq!(p, 1.0);
        assert_eq!(goodness_of_fit(&[50, 49, 1], &[0.5, 0.5, 0.0]), 0.0);
        assert_eq!(goodness_of_fit(&[7, 5], &[0.5, 0.5]), 1.0);
    }
}
