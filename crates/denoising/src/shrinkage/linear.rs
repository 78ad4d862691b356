//! Linear shrinkage by the method of moments, for any noise of known variance.

use crate::cross_fit::Fit;
use crate::error::DenoisingError;
use crate::release::Release;
use crate::rule::PiecewiseLinear;

/// What a linear rule shrinks towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Zero.
    Zero,
    /// The mean of the values it is fitted to.
    Mean,
}

/// `m + a (y - m)` with `a = max(0, 1 - sum v_i / sum (y_i - m)^2)`.
///
/// The factor minimises the unbiased risk `(1-a)^2 sum (y_i - m)^2 + (2a - 1) sum v_i` over `a`; it
/// needs the variance of the noise and nothing else about it. Fitted and applied to the same values
/// that minimum is no estimate of the risk any more; [`crate::CrossFitted`] applies it to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearShrinkage {
    /// What it shrinks towards.
    pub towards: Towards,
}

impl Fit for LinearShrinkage {
    fn name(&self) -> &'static str {
        match self.towards {
            Towards::Zero => "linear shrinkage towards zero",
            Towards::Mean => "linear shrinkage towards the mean",
        }
    }

    fn fit(&self, release: &Release) -> Result<PiecewiseLinear, DenoisingError> {
        let noise: f64 = release.finite_variances(self.name())?.iter().sum();
        let count = release.values().len() as f64;
        let (mean, scale) = match (self.towards, release.noise().common_scale()) {
            (Towards::Zero, _) => (0.0, 1.0),
            (Towards::Mean, Some(scale)) => (release.values().iter().sum::<f64>() / count, scale),
            (Towards::Mean, None) => {
                let reason =
                    "its scales differ, and then no one line shrinks all values towards the mean";
                return Err(DenoisingError::UnsuitedNoise { method: self.name(), reason });
            }
        };
        let size: f64 = release.values().iter().map(|value| (value - mean).powi(2)).sum();
        let kept = if size > noise { 1.0 - noise / size } else { 0.0 };
        Ok(PiecewiseLinear::affine((1.0 - kept) * mean / scale, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    #[test]
    fn the_factor_minimises_the_unbiased_risk() {
        let noise = NoiseDescription::laplace(2.0).expect("valid");
        let release = Release::new(vec![9.0, 2.0, 7.0, -3.0, 1.0], noise).expect("valid");
        for towards in [Towards::Zero, Towards::Mean] {
            let rule = LinearShrinkage { towards }.fit(&release).expect("finite variance");
            let mean = if towards == Towards::Mean { 3.2 } else { 0.0 };
            let risk = |kept: f64| {
                release
                    .values()
                    .iter()
                    .map(|y| ((1.0 - kept) * (y - mean)).powi(2) + (2.0 * kept - 1.0) * 8.0)
                    .sum::<f64>()
            };
            let kept = rule.constant_slope().expect("affine");
            assert!(
                risk(kept) < risk(kept + 1e-4) && risk(kept) < risk((kept - 1e-4).max(0.0)),
                "{kept}"
            );
            assert!((2.0 * rule.apply(mean / 2.0) - mean).abs() < 1e-14);
        }
    }
}
