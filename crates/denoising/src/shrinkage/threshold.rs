//! Thresholds: small values become zero.

use crate::consistency::within_bounds;
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::ruled::{ByRules, Ruled, clamped_rule};
use crate::shape::Shape;
use reticent_numerics::require;

/// How large a value must be to survive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// What the noise seldom exceeds in so many values: `sigma sqrt(2 ln d)` for Gaussian noise,
    /// and the quantile of the same probability for any other ([`Shape::universal_threshold`]).
    Universal,
    /// This many scales of the noise.
    Scales(f64),
}

/// Bounds that bound nothing.
const UNBOUNDED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// What becomes of a value that survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdKind {
    /// It moves by the threshold: `sign(y) max(|y| - t, 0)`.
    Soft,
    /// It stays as it is.
    Hard,
}

impl ThresholdKind {
    /// The rule with a threshold in scales. On the integers a hard threshold moves to the next half
    /// integer above, which treats every integer the same.
    pub(crate) fn rule(self, threshold: f64, shape: &Shape) -> PiecewiseLinear {
        match self {
            ThresholdKind::Soft => PiecewiseLinear::soft_threshold(threshold),
            ThresholdKind::Hard if shape.is_discrete() => {
                PiecewiseLinear::hard_threshold(threshold.floor() + 0.5)
            }
            ThresholdKind::Hard => PiecewiseLinear::hard_threshold(threshold),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ThresholdKind::Soft => "soft threshold",
            ThresholdKind::Hard => "hard threshold",
        }
    }
}

/// Soft or hard thresholding with a threshold that does not depend on the values.
///
/// # Risk
/// Unbiased for soft thresholds under Gaussian, Laplace and discrete Laplace noise, and for hard
/// thresholds under the last two. There is none for a hard threshold under Gaussian noise: the rule
/// jumps, so that `E[Z rho(Y)] = sigma^2 E[rho'(Y)]` holds with a `rho'` that is not a function.
/// See [`crate::unbiased`].
///
/// # References
/// Donoho and Johnstone, *Ideal spatial adaptation by wavelet shrinkage*, 1994; Balle and Wang,
/// Theorem 12.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholding {
    kind: ThresholdKind,
    threshold: Threshold,
    bounds: (f64, f64),
}

impl Thresholding {
    /// A threshold of a kind.
    ///
    /// # Errors
    /// If the threshold is not a number from 0 to 1e75.
    pub fn new(kind: ThresholdKind, threshold: Threshold) -> Result<Self, DenoisingError> {
        if let Threshold::Scales(scales) = threshold {
            require(
                (0.0..=1e75).contains(&scales),
                "threshold",
                scales,
                "a number of scales from 0 to 1e75",
            )?;
        }
        Ok(Thresholding { kind, threshold, bounds: UNBOUNDED })
    }

    /// The soft universal threshold.
    pub fn soft_universal() -> Self {
        let (kind, threshold) = (ThresholdKind::Soft, Threshold::Universal);
        Thresholding { kind, threshold, bounds: UNBOUNDED }
    }

    /// The same, with results moved into public bounds; infinite ones bound nothing.
    ///
    /// # Errors
    /// If the bounds are not two numbers in order.
    pub fn within(self, lower: f64, upper: f64) -> Result<Self, DenoisingError> {
        require(lower < upper, "upper bound", upper, "larger than the lower bound")?;
        Ok(Thresholding { bounds: (lower, upper), ..self })
    }

    /// The threshold in scales, for this release.
    fn scales(&self, release: &Release) -> Result<f64, DenoisingError> {
        match self.threshold {
            Threshold::Universal => {
                release.noise().shape().universal_threshold(release.values().len())
            }
            Threshold::Scales(scales) => Ok(scales),
        }
    }
}

impl ByRules for Thresholding {
    fn ruled(&self, release: &Release) -> Result<Ruled, DenoisingError> {
        let rule = self.kind.rule(self.scales(release)?, release.noise().shape());
        let rule = clamped_rule(&rule, self.bounds, release.noise(), self.kind.name())?;
        Ok(Ruled::apply(&[rule], release))
    }
}

impl Denoiser for Thresholding {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let ruled = self.ruled(release)?;
        let (lower, upper) = self.bounds;
        let mut assumptions = vec!["most true values are zero or close to it".into()];
        if lower.is_finite() || upper.is_finite() {
            assumptions.push(within_bounds(lower, upper));
        }
        let universal = match self.threshold {
            Threshold::Universal => "universal ",
            Threshold::Scales(_) => "",
        };
        let threshold = self.scales(release)?;
        Ok(Denoised {
            risk_before: release.risk(),
            risk_after: ruled.risk(release),
            values: ruled.values,
            assumptions,
            method: format!("{universal}{}, {threshold} scales", self.kind.name()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    #[test]
    fn thresholds_are_in_scales_of_each_value() {
        let noise =
            NoiseDescription::with_scales(Shape::Laplace, vec![1.0, 10.0, 1.0]).expect("valid");
        let release = Release::new(vec![5.0, 5.0, -1.5], noise).expect("valid");
        let soft = Thresholding::new(ThresholdKind::Soft, Threshold::Scales(2.0)).expect("valid");
        assert_eq!(soft.denoise(&release).expect("valid").values, [3.0, 0.0, 0.0]);
        let hard = Thresholding::new(ThresholdKind::Hard, Threshold::Scales(2.0)).expect("valid");
        let denoised = hard.denoise(&release).expect("valid");
        assert_eq!(denoised.values, [5.0, 0.0, 0.0]);
        assert!(denoised.risk_after.expect("Laplace noise has one").unbiased);
    }

    #[test]
    fn one_value_is_not_thresholded_and_gaussian_hard_thresholds_claim_no_risk() {
        let noise = NoiseDescription::gaussian(1.0).expect("valid");
        let one = Release::new(vec![0.3], noise.clone()).expect("valid");
        assert_eq!(Thresholding::soft_universal().denoise(&one).expect("valid").values, [0.3]);
        let hard = Thresholding::new(ThresholdKind::Hard, Threshold::Universal).expect("valid");
        let zeros = Release::new(vec![0.0; 9], noise).expect("valid");
        assert_eq!(hard.denoise(&zeros).expect("valid").risk_after, None);
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(
                Thresholding::new(ThresholdKind::Soft, Threshold::Scales(bad)).is_err(),
                "{bad}"
            );
        }
    }
}
