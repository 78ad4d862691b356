//! What is publicly known about each true value before the release.

use crate::error::DenoisingError;
use reticent_numerics::{OutOfRange, require};
use std::fmt;
use std::sync::Arc;

/// A distribution of one true value; the values are taken to be independent draws from it.
#[derive(Clone)]
pub struct Prior {
    kind: Kind,
    name: String,
}

#[derive(Clone)]
enum Kind {
    /// The logarithm of a density, up to a constant, and the range outside of which it is
    /// negligible.
    Density { ln_density: Arc<dyn Fn(f64) -> f64 + Send + Sync>, lower: f64, upper: f64 },
    /// Points of equal weight, in order.
    Sample(Vec<f64>),
}

impl fmt::Debug for Prior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prior").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where the priors by name end: a normal density is `e^-50` of its peak there, a Laplace density
/// `e^-40`.
const NORMAL_REACH: f64 = 10.0;
const LAPLACE_REACH: f64 = 40.0;

impl Prior {
    /// A prior given by the logarithm of its density, up to a constant, on a range. Minus infinity
    /// is zero density; the density must have no feature that is narrower than a thousandth of the
    /// range or of the noise, whichever is narrower.
    ///
    /// # Errors
    /// If the range is not two numbers in order.
    pub fn from_ln_density(
        ln_density: impl Fn(f64) -> f64 + Send + Sync + 'static,
        lower: f64,
        upper: f64,
    ) -> Result<Self, DenoisingError> {
        Self::density("a prior density".into(), ln_density, lower, upper)
    }

    fn density(
        name: String,
        ln_density: impl Fn(f64) -> f64 + Send + Sync + 'static,
        lower: f64,
        upper: f64,
    ) -> Result<Self, DenoisingError> {
        require(
            lower.abs() <= 1e150,
            "lower end of the prior",
            lower,
            "a number from -1e150 to 1e150",
        )?;
        require(
            upper.abs() <= 1e150,
            "upper end of the prior",
            upper,
            "a number from -1e150 to 1e150",
        )?;
        require(lower < upper, "upper end of the prior", upper, "larger than its lower end")?;
        Ok(Prior { kind: Kind::Density { ln_density: Arc::new(ln_density), lower, upper }, name })
    }

    /// `N(mean, deviation^2)`.
    ///
    /// # Errors
    /// If the mean is beyond 1e75 or the deviation not from 1e-75 to 1e75.
    pub fn gaussian(mean: f64, deviation: f64) -> Result<Self, DenoisingError> {
        centred(mean, deviation)?;
        let ln_density = move |x: f64| -0.5 * ((x - mean) / deviation).powi(2);
        let reach = NORMAL_REACH * deviation;
        Self::density(
            format!("a normal prior, mean {mean}, deviation {deviation}"),
            ln_density,
            mean - reach,
            mean + reach,
        )
    }

    /// A Laplace distribution.
    ///
    /// # Errors
    /// If the mean is beyond 1e75 or the scale not from 1e-75 to 1e75.
    pub fn laplace(mean: f64, scale: f64) -> Result<Self, DenoisingError> {
        centred(mean, scale)?;
        let ln_density = move |x: f64| -((x - mean) / scale).abs();
        let reach = LAPLACE_REACH * scale;
        Self::density(
            format!("a Laplace prior, mean {mean}, scale {scale}"),
            ln_density,
            mean - reach,
            mean + reach,
        )
    }

    /// Uniform on a range.
    ///
    /// # Errors
    /// If the range is not two numbers in order.
    pub fn uniform(lower: f64, upper: f64) -> Result<Self, DenoisingError> {
        Self::density(format!("a uniform prior from {lower} to {upper}"), |_| 0.0, lower, upper)
    }

    /// The empirical distribution of a public sample.
    ///
    /// # Errors
    /// If it is empty, or holds anything but numbers of magnitude at most 1e150.
    pub fn sample(mut sample: Vec<f64>) -> Result<Self, DenoisingError> {
        if sample.is_empty() {
            return Err(OutOfRange::new("size of the sample", 0.0, "at least 1").into());
        }
        if let Some(index) = sample.iter().position(|value| !(-1e150..=1e150).contains(value)) {
            return Err(DenoisingError::Value { index: index + 1, value: sample[index] });
        }
        sample.sort_unstable_by(f64::total_cmp);
        let name = format!("a sample of {}", sample.len());
        Ok(Prior { kind: Kind::Sample(sample), name })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Points with the logarithms of their weights that stand for the prior within `reach` of `y`;
    /// for all of it, if there is nothing of it so near.
    ///
    /// A density is summed over the midpoints of [`CELLS`] cells of the part of its range that is
    /// near.
    pub(crate) fn points_near(&self, y: f64, reach: f64) -> Vec<(f64, f64)> {
        match &self.kind {
            Kind::Density { ln_density, lower, upper } => {
                let (near, far) = ((y - reach).max(*lower), (y + reach).min(*upper));
                let (near, far) = if near < far { (near, far) } else { (*lower, *upper) };
                let cell = (far - near) / f64::from(CELLS);
                let points = (0..CELLS).map(|index| near + cell * (f64::from(index) + 0.5));
                points.map(|point| (point, ln_density(point))).collect()
            }
            Kind::Sample(sample) => {
                let first = sample.partition_point(|point| *point < y - reach);
                let after = sample.partition_point(|point| *point <= y + reach);
                let near = if first < after { &sample[first..after] } else { sample };
                near.iter().map(|point| (*point, 0.0)).collect()
            }
        }
    }
}

/// Cells of the midpoint rule. Its error falls with their square; at 2000 cells it is below `1e-6`
/// of the narrower of noise and prior for smooth densities.
const CELLS: u32 = 2000;

fn centred(mean: f64, width: f64) -> Result<(), DenoisingError> {
    require(mean.abs() <= 1e75, "mean of the prior", mean, "a number from -1e75 to 1e75")?;
    require(
        (1e-75..=1e75).contains(&width),
        "width of the prior",
        width,
        "a number from 1e-75 to 1e75",
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_cover_what_is_near_and_all_if_nothing_is() {
        let uniform = Prior::uniform(0.0, 10.0).expect("valid");
        let points = uniform.points_near(9.0, 2.0);
        assert!(points.iter().all(|point| (7.0..10.0).contains(&point.0)));
        assert!(uniform.points_near(50.0, 1.0).iter().all(|point| (0.0..10.0).contains(&point.0)));
        let sample = Prior::sample(vec![5.0, 1.0, 2.0]).expect("valid");
        assert_eq!(sample.points_near(1.4, 0.7), [(1.0, 0.0), (2.0, 0.0)]);
        assert_eq!(sample.points_near(90.0, 1.0).len(), 3);
    }

    #[test]
    fn hostile_priors_are_refused() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(Prior::gaussian(bad, 1.0).is_err() && Prior::laplace(0.0, bad).is_err());
            assert!(Prior::uniform(0.0, bad).is_err() && Prior::sample(vec![bad]).is_err());
        }
        assert!(
            Prior::uniform(1.0, 1.0).is_err()
                && Prior::sample(vec![]).is_err()
                && Prior::gaussian(0.0, 0.0).is_err()
        );
    }
}
