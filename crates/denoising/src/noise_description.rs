//! What is publicly known about the noise in a release.

use crate::error::DenoisingError;
use crate::shape::Shape;
use reticent_events::Event;
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, GaussianMixture, GeneralizedGaussian, Jittered,
    RandomScaleLaplace, Staircase, Table, TruncatedLaplace,
};
use reticent_numerics::OutOfRange;
use reticent_numerics::require;

/// Independent noise on each value: one shape, and one scale for all values or one for each.
///
/// A value is `y_i = theta_i + s_i Z_i` with independent `Z_i` of the given [`Shape`].
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseDescription {
    shape: Shape,
    scales: Scales,
}

#[derive(Clone, Debug, PartialEq)]
enum Scales {
    Same(f64),
    Each(Vec<f64>),
}

/// Scales whose squares and reciprocals stay in range.
fn scale(value: f64) -> Result<f64, OutOfRange> {
    require((1e-75..=1e75).contains(&value), "scale", value, "a number from 1e-75 to 1e75")
}

impl NoiseDescription {
    /// Gaussian noise of the given standard deviation.
    ///
    /// # Errors
    /// If it is not a number from 1e-75 to 1e75.
    pub fn gaussian(sigma: f64) -> Result<Self, DenoisingError> {
        Self::new(Shape::Gaussian, sigma)
    }

    /// Laplace noise of the given scale `b`.
    ///
    /// # Errors
    /// If it is not a number from 1e-75 to 1e75.
    pub fn laplace(scale: f64) -> Result<Self, DenoisingError> {
        Self::new(Shape::Laplace, scale)
    }

    /// Noise of one scale.
    ///
    /// # Errors
    /// If the scale is not a number from 1e-75 to 1e75, or is not 1 for noise on the integers,
    /// whose scale is in its shape.
    pub fn new(shape: Shape, common: f64) -> Result<Self, DenoisingError> {
        scale(common)?;
        if shape.is_discrete() {
            require(common == 1.0, "scale", common, "1 for noise on the integers")?;
        }
        Ok(NoiseDescription { shape, scales: Scales::Same(common) })
    }

    /// Noise of one shape and a scale for each value.
    ///
    /// # Errors
    /// If a scale is not a number from 1e-75 to 1e75, or the noise is on the integers.
    pub fn with_scales(shape: Shape, scales: Vec<f64>) -> Result<Self, DenoisingError> {
        for &each in &scales {
            scale(each)?;
        }
        if shape.is_discrete() {
            return Err(DenoisingError::UnsuitedNoise {
                method: "a scale for each value",
                reason: "noise on the integers does not keep its shape when it is scaled",
            });
        }
        Ok(NoiseDescription { shape, scales: Scales::Each(scales) })
    }

    /// The noise of what ran.
    ///
    /// The rounding of released values to their lattice, and the widening of Gaussian noise for it,
    /// are below `2^-30` of the scale and left out.
    ///
    /// # Errors
    /// If what ran does not add independent noise to each value, or has a parameter that is not
    /// accepted.
    pub fn of_event(event: &Event) -> Result<Self, DenoisingError> {
        match event {
            Event::Gaussian { sigma, .. } => Self::gaussian(*sigma),
            Event::Laplace { scale, .. } => Self::laplace(*scale),
            Event::DiscreteLaplace { scale, .. } => {
                Self::new(Shape::DiscreteLaplace(DiscreteLaplace::new(*scale)?), 1.0)
            }
            Event::DiscreteGaussian { sigma, .. } => {
                Self::new(Shape::DiscreteGaussian(DiscreteGaussian::new(*sigma)?), 1.0)
            }
            Event::Staircase { epsilon, gamma, sensitivity } => {
                Self::new(Shape::Staircase(Staircase::new(*epsilon, *gamma)?), *sensitivity)
            }
            Event::TruncatedLaplace { scale, support_in_scales, .. } => {
                let noise = TruncatedLaplace::new(*support_in_scales)?;
                Self::new(Shape::TruncatedLaplace(noise), *scale)
            }
            Event::Tabulated { weights, spacing, .. } => {
                Self::new(Shape::Table(Jittered(Table::from_parts(weights)?)), *spacing)
            }
            // The same noise on each of several values.
            Event::Repetition { event, .. } => Self::of_event(event),
            Event::GeneralizedGaussian { order, scale, .. } => {
                Self::new(Shape::GeneralizedGaussian(GeneralizedGaussian::new(*order)?), *scale)
            }
            Event::RandomScaleGaussian { sigmas, .. } => {
                Self::new(Shape::GaussianMixture(GaussianMixture::new(sigmas.clone())?), 1.0)
            }
            Event::RandomScaleLaplace { inverse_scale, .. }
            | Event::RandomScaleLaplaceVector { inverse_scale, .. } => {
                let noise = RandomScaleLaplace::new(Shape::inverse_scale(inverse_scale)?);
                Self::new(Shape::RandomScaleLaplace(noise), 1.0)
            }
            Event::TruncatedGeneralizedGaussian { .. }
            | Event::InflatedGeneralizedGaussian { .. }
            | Event::RandomizedResponse { .. }
            | Event::Exponential { .. }
            | Event::PermuteAndFlip { .. }
            | Event::Approximate { .. }
            | Event::ZeroConcentrated { .. }
            | Event::PoissonSubsampled { .. }
            | Event::Composition { .. } => {
                Err(DenoisingError::NotAdditive { mechanism: event.mechanism().into() })
            }
        }
    }

    /// The shape that all values share.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The scale of all values, if they have one in common.
    pub fn common_scale(&self) -> Option<f64> {
        match &self.scales {
            Scales::Same(scale) => Some(*scale),
            Scales::Each(scales) => {
                scales.first().copied().filter(|first| scales.iter().all(|scale| scale == first))
            }
        }
    }

    /// The scale of value `index`; values beyond the list repeat its last scale, and
    /// [`crate::Release::new`] sees to it that there are none.
    pub fn scale(&self, index: usize) -> f64 {
        match &self.scales {
            Scales::Same(scale) => *scale,
            Scales::Each(scales) => scales.get(index).or(scales.last()).copied().unwrap_or(1.0),
        }
    }

    /// How many scales there are, if there is one for each value.
    pub(crate) fn count(&self) -> Option<usize> {
        match &self.scales {
            Scales::Same(_) => None,
            Scales::Each(scales) => Some(scales.len()),
        }
    }

    /// The variances of the first `count` values.
    pub(crate) fn variances(&self, count: usize) -> Vec<f64> {
        let unit = self.shape.variance();
        (0..count).map(|index| unit * self.scale(index).powi(2)).collect()
    }

    /// The description of some of the values.
    pub(crate) fn subset(&self, indices: impl Iterator<Item = usize>) -> Self {
        let scales = match &self.scales {
            Scales::Same(scale) => Scales::Same(*scale),
            Scales::Each(scales) => {
                Scales::Each(indices.filter_map(|index| scales.get(index).copied()).collect())
            }
        };
        NoiseDescription { shape: self.shape.clone(), scales }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_add_noise_are_understood_and_others_named() {
        let laplace = NoiseDescription::of_event(&Event::Laplace { scale: 3.0, sensitivity: 1.0 })
            .expect("additive");
        assert_eq!(laplace, NoiseDescription::laplace(3.0).expect("valid"));
        assert_eq!(laplace.variances(2), [18.0, 18.0]);
        let steps = Event::Staircase { epsilon: 1.0, gamma: 0.4, sensitivity: 2.0 };
        assert_eq!(NoiseDescription::of_event(&steps).expect("additive").scale(0), 2.0);
        let many = Event::Repetition { times: 5, event: Box::new(steps.clone()) };
        assert_eq!(NoiseDescription::of_event(&many), NoiseDescription::of_event(&steps));
        let ended =
            Event::TruncatedLaplace { scale: 3.0, support_in_scales: 40.0, sensitivity: 1.0 };
        let ended = NoiseDescription::of_event(&ended).expect("additive");
        assert!((ended.variances(1)[0] - 18.0).abs() < 1e-9, "the tail is all but whole");
        let table =
            Event::Tabulated { weights: vec![(2, 0), (1, 0)], sensitivity_steps: 1, spacing: 0.5 };
        let table = NoiseDescription::of_event(&table).expect("additive");
        assert!((table.variances(1)[0] - 0.25 * (0.5 + 1.0 / 12.0)).abs() < 1e-12);
        let choice = NoiseDescription::of_event(&Event::Exponential { epsilon: 1.0 });
        assert!(choice.expect_err("no noise").to_string().contains("`exponential`"));
    }

    #[test]
    fn hostile_scales_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-80, 1e80] {
            assert!(NoiseDescription::gaussian(bad).is_err(), "{bad}");
            assert!(
                NoiseDescription::with_scales(Shape::Laplace, vec![1.0, bad]).is_err(),
                "{bad}"
            );
            assert!(
                NoiseDescription::of_event(&Event::Laplace { scale: bad, sensitivity: 1.0 })
                    .is_err(),
                "{bad}"
            );
        }
        let integers = Shape::DiscreteLaplace(DiscreteLaplace::new(2.0).expect("valid"));
        assert!(NoiseDescription::new(integers.clone(), 2.0).is_err());
        assert!(NoiseDescription::with_scales(integers, vec![1.0]).is_err());
    }
}
