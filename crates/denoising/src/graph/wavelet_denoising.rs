//! Soft thresholding of spanning-tree wavelet coefficients.

use super::{GaussianRisk, GraphError, Loss, NoisyValues, Wavelets};
use reticent_numerics::require;

/// How far coefficients are pulled towards zero, in deviations of their noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// `sqrt(2 ln n)`, which noise alone rarely exceeds (Donoho and Johnstone 1994). It needs the
    /// variance of the noise, and tails no heavier than a Gaussian's to do what it is meant to do.
    Universal,
    /// The one of least unbiased risk, at most `sqrt(2 ln n)` (Donoho and Johnstone, *Adapting to
    /// unknown smoothness via wavelet shrinkage*, JASA 1995). It assumes Gaussian noise.
    UnbiasedRisk,
    /// A given one.
    Fixed(f64),
}

/// A vector denoised by wavelets.
#[derive(Clone, Debug)]
pub struct WaveletFit {
    values: Vec<f64>,
    thresholds: Vec<f64>,
    gaussian_risk: GaussianRisk,
}

impl WaveletFit {
    /// The denoised vector, in the units of the release.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The threshold used with each basis, in deviations of a coefficient's noise.
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// Stein's unbiased estimate of the squared error, if the noise is Gaussian; meaningless if
    /// not.
    pub fn risk_if_gaussian(&self) -> GaussianRisk {
        self.gaussian_risk
    }
}

/// Soft thresholding in each of several wavelet bases, averaged.
///
/// # Formula
/// A coefficient `c_j = (B^T y)_j` whose noise has deviation `s_j` becomes
/// `sign(c_j) max(|c_j| - t s_j, 0)`. Constants of components are kept. The results for several
/// bases, say of several random spanning trees, are averaged.
///
/// # Risk
/// The noise of the coefficients is `N(0, B^T Sigma B)`, and as each one is treated by itself only
/// the diagonal `s_j^2` enters Stein's identity:
///
/// ```text
/// risk(t) = sum_j s_j^2 (1 - 2 [|c_j| <= t s_j] + min(|c_j| / s_j, t)^2),
/// ```
///
/// unbiased for each fixed `t`, with unequal noise too. For the average `x` of `K` results `x_k`,
/// `|x - theta|^2` is the mean of `|x_k - theta|^2` less the mean of `|x_k - x|^2`: exactly, so the
/// estimate stays unbiased, and its standard error is at most the mean of theirs.
///
/// In the formula of [`GaussianRisk`] for one basis, `g'` is 1 where a coefficient is kept and -1
/// where it is not, so with `Sigma_c = B^T Sigma B` the mean square is at most
/// `4 f^T Sigma f + 2 tr Sigma^2 - 4 sum s_j^4` over the coefficients that became zero; for equal
/// noise it is that.
///
/// # Errors
/// If there is no basis, a basis has another length than the release, or a fixed threshold is not a
/// number from 0 to 1e100.
pub fn denoise_with_wavelets(
    released: &NoisyValues,
    bases: &[Wavelets],
    threshold: Threshold,
) -> Result<WaveletFit, GraphError> {
    if bases.is_empty() {
        return Err(GraphError::Size { what: "wavelet bases", given: 0, accepted: "at least 1" });
    }
    let variances: Vec<f64> =
        released.precisions().iter().map(|precision| 1.0 / precision).collect();
    let share = 1.0 / bases.len() as f64;
    let (mut average, mut thresholds, mut results) =
        (vec![0.0; released.len()], Vec::new(), Vec::new());
    let (mut risk, mut standard_error) = (0.0, 0.0);
    let squares: f64 = variances.iter().map(|variance| variance * variance).sum();
    for wavelets in bases {
        let coefficients = Coefficients {
            values: wavelets.transform(released.standardised())?,
            variances: wavelets.variances(&variances)?,
            kept: wavelets.constants(),
        };
        let limit = (2.0 * (released.len() as f64).ln()).sqrt();
        let chosen = match threshold {
            Threshold::Universal => limit,
            Threshold::UnbiasedRisk => coefficients.threshold_of_least_risk(limit),
            Threshold::Fixed(given) => require(
                (0.0..=1e100).contains(&given),
                "threshold",
                given,
                "a number from 0 to 1e100",
            )?,
        };
        risk += share * coefficients.risk(chosen);
        let result = wavelets.inverse(&coefficients.thresholded(chosen))?;
        let moved = result
            .iter()
            .zip(released.standardised())
            .zip(&variances)
            .map(|((x, y), v)| v * (x - y).powi(2));
        let mean_square =
            4.0 * moved.sum::<f64>() + 2.0 * squares - 4.0 * coefficients.squares_of_zeroed(chosen);
        standard_error += share * mean_square.max(squares).sqrt();
        for (sum, value) in average.iter_mut().zip(&result) {
            *sum += share * value;
        }
        thresholds.push(chosen);
        results.push(result);
    }
    for result in &results {
        risk -= share
            * result.iter().zip(&average).map(|(value, mean)| (value - mean).powi(2)).sum::<f64>();
    }
    let before = variances.iter().sum::<f64>();
    let estimate =
        GaussianRisk::unbiased(Loss::SquaredError, before, risk, standard_error.powi(2), 0.0);
    let estimate = estimate.scaled(released.unit().powi(2));
    let gaussian_risk =
        if threshold == Threshold::UnbiasedRisk { estimate.after_choice() } else { estimate };
    Ok(WaveletFit { values: released.in_release_units(&average), thresholds, gaussian_risk })
}

struct Coefficients {
    values: Vec<f64>,
    variances: Vec<f64>,
    /// How many, at the end, are not touched.
    kept: usize,
}

impl Coefficients {
    /// The coefficients that are thresholded, with their variances.
    fn shrunk(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let count = self.values.len() - self.kept;
        self.values[..count].iter().copied().zip(self.variances[..count].iter().copied())
    }

    fn thresholded(&self, threshold: f64) -> Vec<f64> {
        let shrunk = self.shrunk().map(|(value, variance)| {
            let magnitude = value.abs() - threshold * variance.sqrt();
            if magnitude > 0.0 { magnitude.copysign(value) } else { 0.0 }
        });
        shrunk.chain(self.values[self.values.len() - self.kept..].iter().copied()).collect()
    }

    fn risk(&self, threshold: f64) -> f64 {
        let kept: f64 = self.variances[self.variances.len() - self.kept..].iter().sum();
        let shrunk = self.shrunk().map(|(value, variance)| {
            let size = value.abs() / variance.sqrt();
            variance
                * if size <= threshold { size * size - 1.0 } else { 1.0 + threshold * threshold }
        });
        kept + shrunk.sum::<f64>()
    }

    fn squares_of_zeroed(&self, threshold: f64) -> f64 {
        let zeroed =
            self.shrunk().filter(|(value, variance)| value.abs() <= threshold * variance.sqrt());
        zeroed.map(|(_, variance)| variance * variance).sum()
    }

    /// Between two neighbouring sizes `|c_j| / s_j` the risk grows with `t`, and at a size it
    /// drops: the least is at 0 or at a size. Sorted, every candidate costs a constant.
    fn threshold_of_least_risk(&self, limit: f64) -> f64 {
        let mut sizes: Vec<(f64, f64)> = self
            .shrunk()
            .map(|(value, variance)| (value.abs() / variance.sqrt(), variance))
            .collect();
        sizes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut above: f64 = sizes.iter().map(|(_, variance)| variance).sum();
        let (mut best, mut least, mut below) = (0.0, above, 0.0);
        for (size, variance) in sizes.into_iter().take_while(|(size, _)| *size <= limit) {
            above -= variance;
            below += variance * (size * size - 1.0);
            let risk = below + above * (1.0 + size * size);
            if risk < least {
                (best, least) = (size, risk);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Graph, NoiseDeviation, SpanningForest};
    use super::*;
    use reticent_numerics::OutOfRange;

    fn basis(graph: &Graph) -> Wavelets {
        Wavelets::new(&SpanningForest::breadth_first(graph))
    }

    #[test]
    fn no_threshold_changes_nothing_and_a_large_one_leaves_the_means() {
        let graph = Graph::new(5, [(0, 1), (1, 2), (3, 4)]).expect("two components");
        let released = NoisyValues::new(&[1.0, 2.0, 6.0, -4.0, 8.0], NoiseDeviation::Same(2.0))
            .expect("a release");
        let fit = |threshold| {
            denoise_with_wavelets(&released, &[basis(&graph)], threshold).expect("a fit")
        };
        let untouched = fit(Threshold::Fixed(0.0));
        assert!(
            untouched
                .values()
                .iter()
                .zip([1.0, 2.0, 6.0, -4.0, 8.0])
                .all(|(a, b)| (a - b).abs() < 1e-14)
        );
        assert!(
            (untouched.risk_if_gaussian().after.value - untouched.risk_if_gaussian().before).abs()
                < 1e-12
        );
        let flat = fit(Threshold::Fixed(1e6));
        assert!(
            flat.values().iter().zip([3.0, 3.0, 3.0, 2.0, 2.0]).all(|(a, b)| (a - b).abs() < 1e-14)
        );
    }

    #[test]
    fn the_chosen_threshold_has_the_least_risk_of_a_fine_grid() {
        let graph = Graph::grid(9, 9).expect("a grid");
        let values: Vec<f64> = (0..81)
            .map(|i| ((i * i) as f64).sin() * 3.0 + if i % 9 < 4 { 8.0 } else { 0.0 })
            .collect();
        let deviations: Vec<f64> = (0..81).map(|i| 1.0 + f64::from(i % 3)).collect();
        let released =
            NoisyValues::new(&values, NoiseDeviation::Each(&deviations)).expect("a release");
        let bases = [basis(&graph)];
        let fit = |threshold| denoise_with_wavelets(&released, &bases, threshold).expect("a fit");
        let best = fit(Threshold::UnbiasedRisk);
        let limit = fit(Threshold::Universal).thresholds()[0];
        assert!(
            (limit - (2.0 * 81_f64.ln()).sqrt()).abs() < 1e-15 && best.thresholds()[0] <= limit
        );
        for step in 0..=1000 {
            let other = fit(Threshold::Fixed(limit * f64::from(step) / 1000.0));
            assert!(
                best.risk_if_gaussian().after.value <= other.risk_if_gaussian().after.value + 1e-9,
                "{step}"
            );
        }
    }

    #[test]
    fn hostile_thresholds_and_bases_are_refused() {
        let graph = Graph::line(3).expect("a line");
        let released =
            NoisyValues::new(&[1.0, 2.0, 3.0], NoiseDeviation::Same(1.0)).expect("a release");
        for threshold in [-1.0, f64::NAN, f64::INFINITY] {
            let result =
                denoise_with_wavelets(&released, &[basis(&graph)], Threshold::Fixed(threshold));
            assert!(
                matches!(result, Err(GraphError::Parameter(OutOfRange { name: "threshold", .. }))),
                "{threshold}"
            );
        }
        assert!(denoise_with_wavelets(&released, &[], Threshold::Universal).is_err());
        let other = basis(&Graph::line(4).expect("a line"));
        assert!(denoise_with_wavelets(&released, &[other], Threshold::Universal).is_err());
        let single = NoisyValues::new(&[4.0], NoiseDeviation::Same(1.0)).expect("a release");
        let alone = denoise_with_wavelets(
            &single,
            &[basis(&Graph::line(1).expect("a node"))],
            Threshold::UnbiasedRisk,
        );
        assert_eq!(alone.expect("one node").values(), [4.0]);
    }
}
