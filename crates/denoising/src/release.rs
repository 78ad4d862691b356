//! What goes into a denoiser and what comes out of it.

use crate::error::DenoisingError;
use crate::noise_description::NoiseDescription;
use serde::Serialize;

/// Released values with the description of their noise: `y_i = theta_i + s_i Z_i`.
///
/// This is all that a denoiser sees. Whatever it does is post-processing: it costs no privacy, for
/// the values were released before.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    values: Vec<f64>,
    noise: NoiseDescription,
}

/// Released values are at most this, so that their squares can be summed.
const LARGEST_VALUE: f64 = 1e150;

impl Release {
    /// Released values and their noise.
    ///
    /// # Errors
    /// If there are no values, one of them is not a finite number of magnitude at most 1e150, or
    /// there is not one scale for each.
    pub fn new(values: Vec<f64>, noise: NoiseDescription) -> Result<Self, DenoisingError> {
        if values.is_empty() {
            return Err(DenoisingError::Empty);
        }
        // NaN is in no range.
        if let Some(index) =
            values.iter().position(|value| !(-LARGEST_VALUE..=LARGEST_VALUE).contains(value))
        {
            return Err(DenoisingError::Value { index: index + 1, value: values[index] });
        }
        match noise.count() {
            Some(given) if given != values.len() => {
                Err(DenoisingError::Length { name: "scales", given, values: values.len() })
            }
            _ => Ok(Release { values, noise }),
        }
    }

    /// The released values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Their noise.
    pub fn noise(&self) -> &NoiseDescription {
        &self.noise
    }

    /// The variance of each value.
    pub fn variances(&self) -> Vec<f64> {
        self.noise.variances(self.values.len())
    }

    /// `E ||y - theta||^2`, the sum of the variances: the risk of the release as it is.
    pub fn risk(&self) -> f64 {
        let unit = self.noise.shape().variance();
        match self.noise.common_scale() {
            Some(scale) => unit * scale * scale * self.values.len() as f64,
            None => self.variances().iter().sum(),
        }
    }

    /// Some of the values, by their indices.
    pub(crate) fn subset(&self, indices: impl Iterator<Item = usize> + Clone) -> Release {
        let noise = self.noise.subset(indices.clone());
        Release {
            values: indices.filter_map(|index| self.values.get(index).copied()).collect(),
            noise,
        }
    }

    /// The variances, which must be finite and above zero.
    ///
    /// # Errors
    /// If they are not; the message names the method.
    pub(crate) fn finite_variances(
        &self,
        method: &'static str,
    ) -> Result<Vec<f64>, DenoisingError> {
        let variance = self.noise.shape().variance();
        if variance == f64::INFINITY {
            return Err(DenoisingError::UnsuitedNoise {
                method,
                reason: "its variance is infinite",
            });
        }
        // Noise on the integers of a tiny scale is zero but for a chance below all numbers.
        if variance > 0.0 {
            return Ok(self.variances());
        }
        Err(DenoisingError::UnsuitedNoise {
            method,
            reason: "its variance is too small to be told from zero",
        })
    }
}

/// An estimate of `E ||estimate - theta||^2`, made without `theta`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskEstimate {
    /// The estimate. An unbiased one can be negative.
    pub value: f64,
    /// How far it is from its expectation, as a standard deviation; estimated on the large side.
    pub standard_error: f64,
    /// Whether its expectation is the risk exactly, whatever `theta` is.
    pub unbiased: bool,
}

/// A denoised release.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Denoised {
    /// The improved values.
    pub values: Vec<f64>,
    /// The risk of the release as it was: the sum of the variances of its noise. Infinite if a
    /// variance is.
    pub risk_before: f64,
    /// The risk of the improved values. `None` where no estimate is known that its claim would hold
    /// for.
    pub risk_after: Option<RiskEstimate>,
    /// What was assumed besides the noise. If an assumption is wrong the values can be worse than
    /// before.
    pub assumptions: Vec<String>,
    /// What was done.
    pub method: String,
}

/// A way to improve a release.
///
/// The signature is the privacy argument: a denoiser is given a [`Release`] and what it was
/// constructed with, both public, and nothing else. It is post-processing, and differential privacy
/// is closed under that. (Probabilistic privacy is not, erratum L4; releases state the approximate
/// guarantee, which is.)
pub trait Denoiser: std::fmt::Debug {
    /// The improved release.
    ///
    /// # Errors
    /// If the method is not defined for this release.
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError>;
}

/// The release as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchanged;

impl Denoiser for Unchanged {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let risk = release.risk();
        let exact = RiskEstimate { value: risk, standard_error: 0.0, unbiased: true };
        Ok(Denoised {
            values: release.values.clone(),
            risk_before: risk,
            risk_after: risk.is_finite().then_some(exact),
            assumptions: Vec::new(),
            method: "none".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn values_that_are_no_numbers_are_refused_by_index() {
        let noise = NoiseDescription::gaussian(1.0).expect("valid");
        for bad in [f64::NAN, f64::INFINITY, -1e160] {
            let refused = Release::new(vec![0.0, bad], noise.clone()).expect_err("not a number");
            assert!(refused.to_string().contains("value 2"), "{refused}");
        }
        assert_eq!(Release::new(vec![], noise.clone()), Err(DenoisingError::Empty));
        let each = NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0]).expect("valid");
        assert!(Release::new(vec![0.0; 3], each.clone()).is_err());
        let release = Release::new(vec![5.0, 7.0], each).expect("valid");
        assert_eq!((release.risk(), release.subset([1].into_iter()).risk()), (5.0, 4.0));
        assert_eq!(Unchanged.denoise(&release).expect("always").values, [5.0, 7.0]);
    }
}
