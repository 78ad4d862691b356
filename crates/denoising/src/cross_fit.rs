//! Rules fitted to some of the values and applied to the others.

use crate::consistency::within_bounds;
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::ruled::{ByRules, Ruled, clamped_rule};
use reticent_numerics::require;

/// A family of rules from which one is chosen by looking at released values.
pub trait Fit: std::fmt::Debug {
    /// What the family is called.
    fn name(&self) -> &'static str;

    /// The rule, in scales of the noise.
    ///
    /// # Errors
    /// If the family has none for this release.
    fn fit(&self, release: &Release) -> Result<PiecewiseLinear, DenoisingError>;
}

/// A fitted rule whose estimated risk is unbiased all the same.
///
/// The values are dealt into folds by their indices, which are public. The rule for a fold is
/// fitted to the other folds. Their noise is independent of this fold's, so that for this fold the
/// rule is fixed, and the unbiased estimate of a fixed rule's risk ([`crate::unbiased`]) holds: the
/// choice costs no bias, however flexible the family is. What it costs is that each rule sees fewer
/// values.
#[derive(Debug)]
pub struct CrossFitted<F> {
    family: F,
    folds: usize,
    bounds: (f64, f64),
}

impl<F: Fit> CrossFitted<F> {
    /// A family in a number of folds.
    ///
    /// # Errors
    /// If there are fewer than 2 folds or more than 100.
    pub fn new(family: F, folds: usize) -> Result<Self, DenoisingError> {
        require((2..=100).contains(&folds), "folds", folds as f64, "from 2 to 100")?;
        Ok(CrossFitted { family, folds, bounds: (f64::NEG_INFINITY, f64::INFINITY) })
    }

    /// The same, with results moved into public bounds; infinite ones bound nothing.
    ///
    /// # Errors
    /// If the bounds are not two numbers in order.
    pub fn within(self, lower: f64, upper: f64) -> Result<Self, DenoisingError> {
        require(lower < upper, "upper bound", upper, "larger than the lower bound")?;
        Ok(CrossFitted { bounds: (lower, upper), ..self })
    }
}

impl<F: Fit> ByRules for CrossFitted<F> {
    fn ruled(&self, release: &Release) -> Result<Ruled, DenoisingError> {
        let (method, count) = ("a cross-fitted rule", release.values().len());
        if count < 2 * self.folds {
            let least = 2 * self.folds;
            return Err(DenoisingError::TooFew { method, least, given: count });
        }
        let rules = (0..self.folds).map(|fold| {
            let others = release.subset((0..count).filter(|index| index % self.folds != fold));
            clamped_rule(&self.family.fit(&others)?, self.bounds, release.noise(), method)
        });
        Ok(Ruled::apply(&rules.collect::<Result<Vec<_>, _>>()?, release))
    }
}

impl<F: Fit> Denoiser for CrossFitted<F> {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let ruled = self.ruled(release)?;
        let (lower, upper) = self.bounds;
        let mut assumptions = Vec::new();
        if lower.is_finite() || upper.is_finite() {
            assumptions.push(within_bounds(lower, upper));
        }
        Ok(Denoised {
            risk_before: release.risk(),
            risk_after: ruled.risk(release),
            values: ruled.values,
            assumptions,
            method: format!("{}, fitted in {} folds", self.family.name(), self.folds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;
    use crate::shrinkage::{LinearShrinkage, SureThreshold, ThresholdKind, Towards};

    #[test]
    fn a_fold_is_denoised_by_the_others() {
        let noise = NoiseDescription::gaussian(1.0).expect("valid");
        // Even indices are large, odd indices small: the even ones get the rule of the odd ones,
        // which erases, and the other way round.
        let values: Vec<f64> =
            (0..20).map(|index| if index % 2 == 0 { 100.0 } else { 0.1 }).collect();
        let release = Release::new(values, noise).expect("valid");
        let fitted =
            CrossFitted::new(LinearShrinkage { towards: Towards::Zero }, 2).expect("valid");
        let denoised = fitted.denoise(&release).expect("valid");
        assert_eq!(denoised.values[0], 0.0);
        assert!((denoised.values[1] - 0.1 * (1.0 - 1e-4)).abs() < 1e-12);
        // And the risk says so: it is that of erasing ten values of 100.
        assert!(denoised.risk_after.expect("affine").value > 9e4);
    }

    #[test]
    fn bounds_are_kept_and_bad_ones_refused() {
        let noise = NoiseDescription::laplace(1.0).expect("valid");
        let values: Vec<f64> = (0..40).map(|index| f64::from(index % 7) * 2.0 - 6.0).collect();
        let release = Release::new(values, noise).expect("valid");
        let family =
            || CrossFitted::new(SureThreshold { kind: ThresholdKind::Soft }, 2).expect("valid");
        let bounded = family().within(0.0, 4.0).expect("valid").denoise(&release).expect("valid");
        assert!(
            bounded.values.iter().all(|value| (0.0..=4.0).contains(value))
                && bounded.risk_after.is_some()
        );
        assert!(family().within(1.0, 1.0).is_err() && family().within(f64::NAN, 1.0).is_err());
        assert!(CrossFitted::new(SureThreshold { kind: ThresholdKind::Soft }, 1).is_err());
        let few = Release::new(vec![1.0; 3], NoiseDescription::laplace(1.0).expect("valid"))
            .expect("valid");
        assert!(family().denoise(&few).is_err());
    }
}
