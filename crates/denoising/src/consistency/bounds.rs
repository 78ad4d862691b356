//! Values within public bounds.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::ruled::{ByRules, Ruled};
use reticent_numerics::require;

/// Every value moved to the nearest point of `[lower, upper]`, of which one end may be infinite.
///
/// No error grows, whatever the noise is, if the true values are within. The risk is unbiased for
/// Gaussian, Laplace and discrete Laplace noise.
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

impl ByRules for Within {
    fn ruled(&self, release: &Release) -> Result<Ruled, DenoisingError> {
        let (noise, identity) = (release.noise(), PiecewiseLinear::affine(0.0, 1.0));
        let clamped = |scale: f64| identity.clamped(self.lower / scale, self.upper / scale);
        let rules = match noise.common_scale() {
            Some(scale) => vec![clamped(scale)],
            None => (0..release.values().len()).map(|index| clamped(noise.scale(index))).collect(),
        };
        let mut ruled = Ruled::apply(&rules, release);
        // The rule is in scales, which rounds; the bounds are met exactly.
        for (value, released) in ruled.values.iter_mut().zip(release.values()) {
            *value = released.max(self.lower).min(self.upper);
        }
        Ok(ruled)
    }
}

impl Denoiser for Within {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let ruled = self.ruled(release)?;
        Ok(Denoised {
            risk_before: release.risk(),
            risk_after: ruled.risk(release),
            values: ruled.values,
            assumptions: vec![within_bounds(self.lower, self.upper)],
            method: "values moved into bounds".into(),
        })
    }
}

/// The assumption of public bounds, in words.
pub(crate) fn within_bounds(lower: f64, upper: f64) -> String {
    match (lower.is_finite(), upper.is_finite()) {
        (true, false) if lower == 0.0 => "no true value is negative".into(),
        (true, false) => format!("every true value is {lower} or more"),
        (false, true) => format!("every true value is {upper} or less"),
        _ => format!("every true value lies from {lower} to {upper}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoiseDescription, Shape};

    #[test]
    fn values_are_clamped_and_the_risk_is_that_of_stein() {
        let noise =
            NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0, 1.0]).expect("valid");
        let release = Release::new(vec![-1.0, 3.0, 9.0], noise).expect("valid");
        let denoised = Within::new(0.0, 5.0).expect("valid").denoise(&release).expect("valid");
        assert_eq!(denoised.values, [0.0, 3.0, 5.0]);
        // (0+1)^2 - 1, then the variance 4, then (5-9)^2 - 1.
        assert!((denoised.risk_after.expect("Gaussian").value - (0.0 + 4.0 + 15.0)).abs() < 1e-12);
        assert!(Within::new(1.0, 1.0).is_err() && Within::new(f64::NAN, 1.0).is_err());
    }
}
