//! The denoiser of least estimated risk.

use crate::bayes::Deconvolution;
use crate::consistency::Within;
use crate::cross_fit::{CrossFitted, Fit};
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate, Unchanged};
use crate::shape::Shape;
use crate::shrinkage::{JamesStein, LinearShrinkage, SureThreshold, ThresholdKind, Towards};
use reticent_numerics::normal_quantile::normal_quantile;

/// Picks among denoisers by their estimated risk, and leaves the release as it is unless one of them is better with confidence.
///
/// # Choice
/// Each candidate has an estimate `R` of its risk with a standard error `e`; the risk of the release itself is known. Of the candidates whose `R + z e` is below the risk of doing
/// nothing the one with the least is taken, where `z` is the normal quantile of `1 - 0.01/K` for `K` candidates. So the chance that some candidate's risk is above its `R + z e` is about
/// 1% for all of them together, and it does not matter that the choice looked at all of them: `R + z e`, with 0 for a negative `R`, is what is reported, as a bound and not as an unbiased estimate.
/// An estimate that does not claim to be unbiased, such as the least of a family of them, is too small by something of the order of its standard error, and counts with `2 z e`.
/// A candidate without an estimate, or with one that fails, is no candidate.
///
/// # Candidates
/// What is public decides: the noise, the number of values, bounds if given, and whatever is added with [`Auto::with`]. By itself: linear shrinkage towards zero and the
/// mean, thresholds of least estimated risk, empirical Bayes, all cross-fitted, and James-Stein for Gaussian noise.
#[derive(Debug, Default)]
pub struct Auto {
    bounds: Option<(f64, f64)>,
    added: Vec<Box<dyn Denoiser>>,
}

/// How often some reported bound may be below the risk.
const DOUBT: f64 = 0.01;

/// Folds of the cross-fitted candidates.
const FOLDS: usize = 4;

/// Empirical Bayes tries its hand at this many values or more, and at no more than this.
const VALUES_FOR_EMPIRICAL_BAYES: std::ops::RangeInclusive<usize> = 64..=2_000_000;

impl Auto {
    /// The candidates that need no more than the release.
    pub fn new() -> Self {
        Self::default()
    }

    /// All true values lie within public bounds, of which one may be infinite: results are moved into them.
    #[must_use]
    pub fn within(self, lower: f64, upper: f64) -> Self {
        Auto { bounds: Some((lower, upper)), ..self }
    }

    /// One more candidate, such as a denoiser that knows a graph. It is chosen only if it estimates its own risk.
    #[must_use]
    pub fn with(mut self, candidate: Box<dyn Denoiser>) -> Self {
        self.added.push(candidate);
        self
    }

    fn cross_fitted<F: Fit + 'static>(&self, family: F) -> Result<Box<dyn Denoiser>, DenoisingError> {
        let fitted = CrossFitted::new(family, FOLDS)?;
        Ok(match self.bounds {
            Some((lower, upper)) => Box::new(fitted.within(lower, upper)?),
            None => Box::new(fitted),
        })
    }

    fn candidates(&self, release: &Release) -> Result<Vec<Box<dyn Denoiser>>, DenoisingError> {
        let shape = release.noise().shape();
        let mut candidates: Vec<Box<dyn Denoiser>> = Vec::new();
        if let Some((lower, upper)) = self.bounds {
            candidates.push(Box::new(Within::new(lower, upper)?));
        }
        if self.bounds.is_none() && shape == &Shape::Gaussian {
            candidates.push(Box::new(JamesStein::positive_part()));
        }
        for towards in [Towards::Zero, Towards::Mean] {
            candidates.push(self.cross_fitted(LinearShrinkage { towards })?);
        }
        for kind in [ThresholdKind::Soft, ThresholdKind::Hard] {
            candidates.push(self.cross_fitted(SureThreshold { kind })?);
        }
        let has_identity = matches!(shape, Shape::Gaussian | Shape::Laplace | Shape::DiscreteLaplace(_));
        if has_identity && VALUES_FOR_EMPIRICAL_BAYES.contains(&release.values().len()) {
            candidates.push(self.cross_fitted(Deconvolution)?);
        }
        Ok(candidates)
    }
}

impl Denoiser for Auto {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let own = self.candidates(release)?;
        let count = own.len() + self.added.len();
        let factor = normal_quantile(1.0 - DOUBT / count.max(1) as f64).estimate();
        // Moving values into bounds never makes an error larger, so that the risk before is a bound for it without doubt.
        let mut best = match self.bounds {
            Some((lower, upper)) => Denoised { risk_after: None, ..Within::new(lower, upper)?.denoise(release)? },
            None => Unchanged.denoise(release)?,
        };
        let fallback = best.method.clone();
        let before = best.risk_before;
        let mut least = f64::INFINITY;
        for candidate in own.iter().chain(&self.added) {
            // A candidate that is not defined for this release is none.
            let Ok(denoised) = candidate.denoise(release) else { continue };
            let Some(estimate) = denoised.risk_after else { continue };
            let doubt = if estimate.unbiased { factor } else { 2.0 * factor };
            let margin = doubt * estimate.standard_error;
            let bound = estimate.value.max(0.0) + margin;
            // Compared without the cut at zero: what the estimates have in common, the noise of sum y^2, cancels in the comparison.
            let score = estimate.value + margin;
            if bound < before && score < least {
                least = score;
                let risk_after = Some(RiskEstimate { value: bound, unbiased: false, ..estimate });
                best = Denoised { risk_after, ..denoised };
            }
        }
        if let Some((lower, upper)) = self.bounds {
            // Added candidates do not know the bounds. The bound on the risk stays one.
            for value in &mut best.values {
                *value = value.max(lower).min(upper);
            }
        }
        let chosen = std::mem::take(&mut best.method);
        if chosen != fallback {
            best.assumptions.push(format!(
                "the risk is an upper bound at {}% for the choice among {count} candidates",
                100.0 * (1.0 - DOUBT)
            ));
        }
        best.method = format!("auto: {chosen}");
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;
    use reticent_noise::randomness::SeededRandom;
    use reticent_noise::{Lattice, Sampler};

    fn laplace(theta: &[f64], scale: f64, seed: u64) -> Release {
        let lattice = Lattice::for_scale(scale).expect("valid");
        let sampler = Sampler::new(reticent_noise::Laplace, scale, lattice).expect("valid");
        let mut random = SeededRandom::new(seed);
        let noisy =
            theta.iter().map(|truth| truth + lattice.value(sampler.draw(&mut random).expect("seeded bits"))).collect();
        Release::new(noisy, NoiseDescription::laplace(scale).expect("valid")).expect("valid")
    }

    fn error(denoised: &Denoised, theta: &[f64]) -> f64 {
        denoised.values.iter().zip(theta).map(|(value, truth)| (value - truth).powi(2)).sum()
    }

    #[test]
    fn sparse_signals_are_found_and_the_bound_holds() {
        let theta: Vec<f64> = (0..2000).map(|index| if index % 50 == 0 { 60.0 } else { 0.0 }).collect();
        let release = laplace(&theta, 3.0, 5);
        let denoised = Auto::new().denoise(&release).expect("candidates");
        let risk = denoised.risk_after.expect("a bound");
        assert!(error(&denoised, &theta) < 0.1 * denoised.risk_before, "{}", denoised.method);
        assert!(risk.value > error(&denoised, &theta) && !risk.unbiased, "{risk:?}");
    }

    #[test]
    fn what_cannot_be_improved_is_left_alone() {
        let theta: Vec<f64> = (0..300).map(|index| 1e4 * f64::from(index * index)).collect();
        let release = laplace(&theta, 1.0, 6);
        let denoised = Auto::new().denoise(&release).expect("candidates");
        assert!(denoised.method == "auto: none" && denoised.values == release.values(), "{}", denoised.method);
    }

    #[test]
    fn few_values_and_zeros_are_no_error() {
        for count in 1..8 {
            let noise = NoiseDescription::gaussian(1.0).expect("valid");
            let zeros = Release::new(vec![0.0; count], noise).expect("valid");
            let denoised = Auto::new().denoise(&zeros).expect("never fails");
            assert_eq!(denoised.values, vec![0.0; count]);
        }
    }

    #[test]
    fn bounds_are_kept() {
        let release = laplace(&vec![0.0; 400], 2.0, 7);
        let denoised = Auto::new().within(0.0, f64::INFINITY).denoise(&release).expect("candidates");
        assert!(denoised.method != "auto: none" && denoised.values.iter().all(|value| *value >= 0.0));
    }
}
