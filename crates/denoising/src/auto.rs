//! The denoiser of least estimated risk.

use crate::bayes::Deconvolution;
use crate::comparison::{Difference, Version};
use crate::consistency::Within;
use crate::cross_fit::{CrossFitted, Fit};
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate, Unchanged};
use crate::ruled::ByRules;
use crate::shape::Shape;
use crate::shrinkage::{
    JamesStein, LinearShrinkage, SureThreshold, Target, ThresholdKind, Thresholding, Towards,
};
use reticent_numerics::normal_quantile::normal_quantile;

/// Picks among denoisers by their estimated squared error, and leaves the release as it is unless
/// one of them is better with confidence.
///
/// # Choice
/// The alternative is the release as it is, or, where bounds are public, the release moved into
/// them, which makes no error larger. For each candidate the difference between its squared error
/// and that of the alternative is estimated, on this release and not only on average, together with
/// the standard deviation of that estimate's error (`comparison.rs`). A candidate qualifies if it
/// is better though the estimate be off by 1.645 of these deviations, which a normal error exceeds
/// with probability 5%, and if its risk is below that of the release with confidence: `R + z e` is,
/// with the estimate `R`, its standard error `e` and the normal quantile `z` of `1 - 0.01/K` for
/// `K` candidates. Estimates that do not claim to be unbiased, such as the least of a family of
/// them, count with twice these factors.
///
/// Candidates are tried from simple to flexible, and one that qualifies replaces another only if it
/// is better by a deviation of their own difference: flexible ones have noisier estimates, and the
/// least of many noisy estimates belongs to the luckiest.
///
/// `R + z e`, with 0 for a negative `R`, is what is reported, as a bound and not as an unbiased
/// estimate. A candidate without an estimate, or with one that fails, is no candidate.
///
/// # Candidates
/// What is public decides: the noise, the number of values, bounds if given, and whatever is added
/// with [`Auto::with`]. By itself: linear shrinkage towards zero and the mean, thresholds,
/// empirical Bayes, all cross-fitted, and James-Stein for Gaussian noise.
#[derive(Debug, Default)]
pub struct Auto {
    bounds: Option<(f64, f64)>,
    added: Vec<Box<dyn Denoiser>>,
}

/// How often some reported bound may be below the risk.
const DOUBT: f64 = 0.01;

/// How many standard deviations the estimated gain may be off: the normal quantile of 95%. In
/// seeded releases of real counts (docs/benchmarks/denoising.md) less than 1 in 300 became worse.
const CONFIDENCE: f64 = 1.645;

/// By how many standard deviations of their difference one candidate must be better than a simpler
/// one.
const ADVANTAGE: f64 = 1.0;

/// Folds of the cross-fitted candidates.
const FOLDS: usize = 4;

/// Empirical Bayes tries its hand at this many values or more, and at no more than this.
const VALUES_FOR_EMPIRICAL_BAYES: std::ops::RangeInclusive<usize> = 64..=2_000_000;

/// A candidate.
enum Candidate<'a> {
    /// With a rule for each value, which keeps the bounds.
    Own(Box<dyn ByRules>),
    /// Any other.
    Whole(&'a dyn Denoiser),
}

impl Candidate<'_> {
    /// What it makes of the release, if it is defined for it and estimates its risk.
    fn of(&self, release: &Release) -> Option<(Denoised, Version)> {
        match self {
            Candidate::Own(own) => {
                let version = own.ruled(release).ok()?.version()?;
                Some((own.denoise(release).ok()?, version))
            }
            Candidate::Whole(whole) => {
                let denoised = whole.denoise(release).ok()?;
                let risk = denoised.risk_after?.value;
                let version = Version::of_risk(denoised.values.clone(), risk, release);
                Some((denoised, version))
            }
        }
    }
}

impl Auto {
    /// The candidates that need no more than the release.
    pub fn new() -> Self {
        Self::default()
    }

    /// All true values lie within public bounds, of which one may be infinite: results are moved
    /// into them.
    #[must_use]
    pub fn within(self, lower: f64, upper: f64) -> Self {
        Auto { bounds: Some((lower, upper)), ..self }
    }

    /// One more candidate, such as a denoiser that knows a graph. It is chosen only if it estimates
    /// its own risk. Simple ones are added before flexible ones.
    #[must_use]
    pub fn with(mut self, candidate: Box<dyn Denoiser>) -> Self {
        self.added.push(candidate);
        self
    }

    fn cross_fitted<F: Fit + 'static>(
        &self,
        family: F,
    ) -> Result<Candidate<'static>, DenoisingError> {
        let fitted = CrossFitted::new(family, FOLDS)?;
        Ok(Candidate::Own(match self.bounds {
            Some((lower, upper)) => Box::new(fitted.within(lower, upper)?),
            None => Box::new(fitted),
        }))
    }

    /// From simple to flexible.
    fn candidates(&self, release: &Release) -> Result<Vec<Candidate<'_>>, DenoisingError> {
        let shape = release.noise().shape();
        let mut candidates = Vec::new();
        if self.bounds.is_none() && shape == &Shape::Gaussian {
            candidates.push(Candidate::Whole(&JAMES_STEIN));
        }
        for towards in [Towards::Zero, Towards::Mean] {
            candidates.push(self.cross_fitted(LinearShrinkage { towards })?);
        }
        let (lower, upper) = self.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let universal = Thresholding::soft_universal().within(lower, upper)?;
        candidates.push(Candidate::Own(Box::new(universal)));
        for kind in [ThresholdKind::Soft, ThresholdKind::Hard] {
            candidates.push(self.cross_fitted(SureThreshold { kind })?);
        }
        let has_identity =
            matches!(shape, Shape::Gaussian | Shape::Laplace | Shape::DiscreteLaplace(_));
        if has_identity && VALUES_FOR_EMPIRICAL_BAYES.contains(&release.values().len()) {
            candidates.push(self.cross_fitted(Deconvolution)?);
        }
        candidates.extend(self.added.iter().map(|added| Candidate::Whole(added.as_ref())));
        Ok(candidates)
    }

    /// The alternative to all candidates, and what is known of it.
    fn alternative(
        &self,
        release: &Release,
    ) -> Result<(Denoised, Option<Version>), DenoisingError> {
        match self.bounds {
            Some((lower, upper)) => {
                let within = Within::new(lower, upper)?;
                Ok((within.denoise(release)?, within.ruled(release)?.version()))
            }
            None => Ok((Unchanged.denoise(release)?, Some(Version::unchanged(release)))),
        }
    }
}

/// The candidate for Gaussian noise.
const JAMES_STEIN: JamesStein =
    JamesStein { target: Target::Zero, positive_part: true, block: None };

impl Denoiser for Auto {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let (mut best, alternative) = self.alternative(release)?;
        let fallback = best.method.clone();
        if let Some(alternative) = alternative {
            let candidates = self.candidates(release)?;
            let quantile = normal_quantile(1.0 - DOUBT / candidates.len().max(1) as f64).estimate();
            let mut leader: Option<Version> = None;
            for candidate in candidates {
                let Some((denoised, version)) = candidate.of(release) else { continue };
                let Some(risk) = denoised.risk_after else { continue };
                let doubt = if risk.unbiased { 1.0 } else { 2.0 };
                let leads = leader.as_ref().is_none_or(|leader| {
                    Difference::between(&version, leader, release).is_gain(ADVANTAGE)
                });
                let gain = Difference::between(&version, &alternative, release);
                let value = risk.value.max(0.0) + doubt * quantile * risk.standard_error;
                if leads && gain.is_gain(doubt * CONFIDENCE) && value < best.risk_before {
                    let bound = RiskEstimate { value, unbiased: false, ..risk };
                    best = Denoised { risk_after: Some(bound), ..denoised };
                    leader = Some(version);
                }
            }
        }
        if let Some((lower, upper)) = self.bounds {
            // Added candidates do not know the bounds. Moving values into them makes no error
            // larger.
            for value in &mut best.values {
                *value = value.max(lower).min(upper);
            }
        }
        let chosen = std::mem::take(&mut best.method);
        if chosen != fallback {
            best.assumptions.push(
                "the risk is an upper bound at 99% for the choice among all candidates".into(),
            );
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
        let noisy = theta
            .iter()
            .map(|truth| truth + lattice.value(sampler.draw(&mut random).expect("seeded bits")))
            .collect();
        Release::new(noisy, NoiseDescription::laplace(scale).expect("valid")).expect("valid")
    }

    fn error(denoised: &Denoised, theta: &[f64]) -> f64 {
        denoised.values.iter().zip(theta).map(|(value, truth)| (value - truth).powi(2)).sum()
    }

    #[test]
    fn sparse_signals_are_found_and_the_bound_holds() {
        let theta: Vec<f64> =
            (0..2000).map(|index| if index % 50 == 0 { 60.0 } else { 0.0 }).collect();
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
        assert!(
            denoised.method == "auto: none" && denoised.values == release.values(),
            "{}",
            denoised.method
        );
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
        let denoised =
            Auto::new().within(0.0, f64::INFINITY).denoise(&release).expect("candidates");
        assert!(
            denoised.method != "auto: none" && denoised.values.iter().all(|value| *value >= 0.0)
        );
    }
}
