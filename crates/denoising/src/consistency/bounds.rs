//! Values within public bounds.

use crate::error::{DenoisingError, require};
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::unbiased::{UnbiasedRisk, estimate_from_terms};

/// Every value moved to the nearest point of `[lower, upper]`, of which one end may be infinite.
///
/// No error grows, whatever the noise is, if the true values are within. The risk is unbiased for Gaussian, Laplace and discrete Laplace noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    lower: f64,
    upper: f64,
}

impl Within {
    /// The bounds.
    ///
    /// # Errors
    /// If they are not two numbers in order.
    pub fn new(lower: f64, upper: f64) -> Result<Self, DenoisingError> {
        require(lower < upper, "upper bound", upper, "a number larger than the lower bound")?;
        Ok(Within { lower, upper })
    }

    /// Zero or more.
    pub fn non_negative() -> Self {
        Within { lower: 0.0, upper: f64::INFINITY }
    }
}

impl Denoiser for Within {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let noise = release.noise();
        let risk_of = |rule: &PiecewiseLinear, value: f64, scale: f64| {
            UnbiasedRisk::new(rule, noise.shape()).map(|risk| scale * scale * risk.at(value / scale))
        };
        let identity = PiecewiseLinear::affine(0.0, 1.0);
        let terms: Option<Vec<f64>> = match noise.common_scale() {
            Some(scale) => {
                let rule = identity.clamped(self.lower / scale, self.upper / scale);
                let unbiased = UnbiasedRisk::new(&rule, noise.shape());
                unbiased
                    .map(|risk| release.values().iter().map(|value| scale * scale * risk.at(value / scale)).collect())
            }
            None => release
                .values()
                .iter()
                .enumerate()
                .map(|(index, value)| {
                    let scale = noise.scale(index);
                    risk_of(&identity.clamped(self.lower / scale, self.upper / scale), *value, scale)
                })
                .collect(),
        };
        Ok(Denoised {
            values: release.values().iter().map(|value| value.max(self.lower).min(self.upper)).collect(),
            risk_before: release.risk(),
            risk_after: terms.map(|terms| estimate_from_terms(terms.into_iter())),
            assumptions: vec![format!("every true value lies from {} to {}", self.lower, self.upper)],
            method: "values moved into bounds".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoiseDescription, Shape};

    #[test]
    fn values_are_clamped_and_the_risk_is_that_of_stein() {
        let noise = NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0, 1.0]).expect("valid");
        let release = Release::new(vec![-1.0, 3.0, 9.0], noise).expect("valid");
        let denoised = Within::new(0.0, 5.0).expect("valid").denoise(&release).expect("valid");
        assert_eq!(denoised.values, [0.0, 3.0, 5.0]);
        // (0+1)^2 - 1, then the variance 4, then (5-9)^2 - 1.
        assert!((denoised.risk_after.expect("Gaussian").value - (0.0 + 4.0 + 15.0)).abs() < 1e-12);
        assert!(Within::new(1.0, 1.0).is_err() && Within::new(f64::NAN, 1.0).is_err());
    }
}
