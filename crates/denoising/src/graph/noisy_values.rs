//! Released values with the deviation of their noise, in units of that noise.

use super::GraphError;
use reticent_numerics::require;

/// The standard deviation of the noise on a released vector, a public fact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseDeviation<'a> {
    /// The same for every value.
    Same(f64),
    /// One for each value.
    Each(&'a [f64]),
}

/// A released vector `y` with independent noise of known standard deviations `sigma_i`,
/// standardised.
///
/// With `s = (mean of 1/sigma_i^2)^(-1/2)`, which is `sigma` if all are equal, this keeps `y_i / s`
/// and the precisions `w_i = s^2 / sigma_i^2`, whose mean is 1. Everything is then free of units: a
/// denoiser that works on these numbers commutes with a change of units, and a penalty of 1 means
/// the same for every release. Accepted: up to 1e100 deviations from zero, and deviations that
/// differ by a factor of at most 1e6.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyValues {
    unit: f64,
    values: Vec<f64>,
    precisions: Vec<f64>,
    equal: bool,
}

impl NoisyValues {
    /// Checks and standardises a release.
    ///
    /// # Errors
    /// If there are no values, a value is not finite or beyond 1e100 deviations, a deviation is not
    /// a number from 1e-150 to 1e150, there are not as many deviations as values, or the largest
    /// deviation is more than 1e6 times the smallest.
    ///
    /// # Example
    /// ```
    /// use reticent_denoising::graph::{NoiseDeviation, NoisyValues};
    ///
    /// assert!(NoisyValues::new(&[3.0, 8.5], NoiseDeviation::Same(2.0)).is_ok());
    /// assert!(NoisyValues::new(&[3.0, f64::NAN], NoiseDeviation::Same(2.0)).is_err());
    /// ```
    pub fn new(values: &[f64], deviation: NoiseDeviation<'_>) -> Result<Self, GraphError> {
        const ACCEPTED: &str = "a number from 1e-150 to 1e150";
        if values.is_empty() {
            return Err(GraphError::Size { what: "values", given: 0, accepted: "at least 1" });
        }
        let (unit, precisions) = match deviation {
            NoiseDeviation::Same(sigma) => (
                require((1e-150..=1e150).contains(&sigma), "deviation", sigma, ACCEPTED)?,
                vec![1.0; values.len()],
            ),
            NoiseDeviation::Each(sigmas) => {
                if sigmas.len() != values.len() {
                    return Err(GraphError::Length {
                        what: "deviations",
                        given: sigmas.len(),
                        expected: values.len(),
                        each: "value",
                    });
                }
                if let Some(position) =
                    sigmas.iter().position(|sigma| !(1e-150..=1e150).contains(sigma))
                {
                    let value = sigmas[position];
                    return Err(GraphError::Entry {
                        name: "deviations",
                        position,
                        value,
                        accepted: ACCEPTED,
                    });
                }
                let least = sigmas.iter().copied().fold(f64::INFINITY, f64::min);
                let ratio = sigmas.iter().copied().fold(0.0, f64::max) / least;
                require(
                    ratio <= 1e6,
                    "ratio of the largest deviation to the smallest",
                    ratio,
                    "at most 1e6",
                )?;
                // Relative to the least deviation every term is in [1e-12, 1], so nothing
                // overflows.
                let relative: Vec<f64> =
                    sigmas.iter().map(|sigma| (least / sigma).powi(2)).collect();
                let mean = relative.iter().sum::<f64>() / relative.len() as f64;
                (least / mean.sqrt(), relative.iter().map(|term| term / mean).collect())
            }
        };
        let standardised: Vec<f64> = values.iter().map(|value| value / unit).collect();
        if let Some(position) =
            standardised.iter().position(|value| !(-1e100..=1e100).contains(value))
        {
            let accepted = "a finite number within 1e100 deviations of zero";
            return Err(GraphError::Entry {
                name: "values",
                position,
                value: values[position],
                accepted,
            });
        }
        let equal = precisions.iter().all(|precision| *precision == precisions[0]);
        if equal {
            return Ok(NoisyValues {
                unit,
                values: standardised,
                precisions: vec![1.0; values.len()],
                equal,
            });
        }
        Ok(NoisyValues { unit, values: standardised, precisions, equal })
    }

    /// How many values there are; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a release is never empty")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// `s`, the unit of the standardised values.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// `y_i / s`.
    pub fn standardised(&self) -> &[f64] {
        &self.values
    }

    /// `w_i = s^2 / sigma_i^2`.
    pub fn precisions(&self) -> &[f64] {
        &self.precisions
    }

    /// Whether all values have the same noise.
    pub fn has_equal_noise(&self) -> bool {
        self.equal
    }

    /// The vector in the units of the release.
    pub(crate) fn in_release_units(&self, standardised: &[f64]) -> Vec<f64> {
        standardised.iter().map(|value| value * self.unit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precisions_average_to_one_and_invert_the_variances() {
        let noisy =
            NoisyValues::new(&[1.0, 2.0, 3.0], NoiseDeviation::Each(&[1e-90, 2e-90, 4e-90]))
                .expect("a release");
        let mean = noisy.precisions().iter().sum::<f64>() / 3.0;
        assert!((mean - 1.0).abs() < 1e-15, "{mean}");
        for (precision, sigma) in noisy.precisions().iter().zip([1e-90, 2e-90, 4e-90]) {
            assert!((noisy.unit() / precision.sqrt() / sigma - 1.0_f64).abs() < 1e-14);
        }
        for (back, value) in
            noisy.in_release_units(noisy.standardised()).iter().zip([1.0, 2.0, 3.0])
        {
            assert!((back / value - 1.0_f64).abs() < 1e-15);
        }
    }

    #[test]
    fn equal_deviations_are_the_same_as_one() {
        let each =
            NoisyValues::new(&[1.0, 2.0], NoiseDeviation::Each(&[3.0, 3.0])).expect("a release");
        assert_eq!(
            each,
            NoisyValues::new(&[1.0, 2.0], NoiseDeviation::Same(3.0)).expect("a release")
        );
    }

    #[test]
    fn hostile_releases_are_refused() {
        fn refused(values: &[f64], deviation: NoiseDeviation<'_>) -> String {
            NoisyValues::new(values, deviation).expect_err("must be refused").to_string()
        }
        assert!(refused(&[], NoiseDeviation::Same(1.0)).contains("0 values"));
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-151] {
            assert!(
                refused(&[1.0], NoiseDeviation::Same(sigma)).contains("`deviation`"),
                "{sigma}"
            );
            assert!(
                refused(&[1.0, 1.0], NoiseDeviation::Each(&[1.0, sigma])).contains("entry 1"),
                "{sigma}"
            );
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e101] {
            assert!(
                refused(&[0.0, value], NoiseDeviation::Same(1.0)).contains("entry 1 of `values`"),
                "{value}"
            );
        }
        assert!(refused(&[1.0, 1.0], NoiseDeviation::Each(&[1.0])).contains("one for each value"));
        assert!(refused(&[1.0, 1.0], NoiseDeviation::Each(&[1.0, 2e6])).contains("at most 1e6"));
    }
}
