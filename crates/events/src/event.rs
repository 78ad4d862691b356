//! What ran, as plain data.

use crate::{TextError, Words, written};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A release, described completely enough that an accountant needs no other source.
///
/// Variants are only ever added and never change their meaning. Whoever reads events names every
/// variant: one that is added does not compile until each accountant says what it knows of it. All
/// parameters are those that were certified, not those that were asked for; the noise that is drawn
/// is at least this much. `sensitivity` is the most by which one privacy unit moves the released
/// value, in the norm that the variant names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case")]
pub enum Event {
    /// Laplace noise on each coordinate; l1 sensitivity.
    Laplace {
        /// `b`.
        scale: f64,
        /// The l1 sensitivity.
        sensitivity: f64,
    },
    /// Discrete Laplace noise on each coordinate; l1 sensitivity.
    DiscreteLaplace {
        /// `b`.
        scale: f64,
        /// The l1 sensitivity.
        sensitivity: u64,
    },
    /// Staircase noise on a scalar.
    Staircase {
        /// The loss over one sensitivity.
        epsilon: f64,
        /// Where a step ends, as a share of the sensitivity.
        gamma: f64,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// Laplace noise on a scalar, given that it is at most `support_in_scales` times its scale.
    TruncatedLaplace {
        /// `b`.
        scale: f64,
        /// `A/b`: the largest noise there is, divided by the scale. In units of the answer it is
        /// this times `scale`.
        support_in_scales: f64,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// Noise on a scalar from a table of exact weights: the step `k`, and the step `-k`, with
    /// probability `w_k / (w_0 + 2 w_1 + 2 w_2 + ...)`, the weights not increasing. Noise on real
    /// numbers is uniform within half a step of the step that was drawn; its privacy is that of the
    /// steps.
    Tabulated {
        /// `w_k = a 2^b` as `(a, b)`, from `k = 0` on; zero beyond.
        weights: Vec<(u64, u32)>,
        /// The sensitivity, in steps.
        sensitivity_steps: u64,
        /// A step, in units of the answer.
        spacing: f64,
    },
    /// Gaussian noise on each coordinate; l2 sensitivity.
    Gaussian {
        /// The standard deviation.
        sigma: f64,
        /// The l2 sensitivity.
        sensitivity: f64,
    },
    /// Discrete Gaussian noise on an integer.
    DiscreteGaussian {
        /// The parameter `sigma`.
        sigma: f64,
        /// The sensitivity.
        sensitivity: u64,
    },
    /// Generalized Gaussian noise with independent coordinates.
    GeneralizedGaussian {
        /// `p`.
        order: f64,
        /// `b`.
        scale: f64,
        /// The most by which each coordinate moves, all at once; one entry for a scalar.
        sensitivities: Vec<f64>,
    },
    /// Generalized Gaussian noise given that the released scalar stays in a range.
    TruncatedGeneralizedGaussian {
        /// `p`.
        order: f64,
        /// `b`.
        scale: f64,
        /// The width of the range.
        range: f64,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// Generalized Gaussian noise, the released scalar clamped to a range.
    InflatedGeneralizedGaussian {
        /// `p`.
        order: f64,
        /// `b`.
        scale: f64,
        /// The width of the range.
        range: f64,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// k-ary randomized response.
    RandomizedResponse {
        /// The loss.
        epsilon: f64,
        /// How many answers there are.
        categories: u64,
    },
    /// Laplace noise of random scale on a scalar.
    RandomScaleLaplace {
        /// The distribution of the inverse scale.
        inverse_scale: InverseScale,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// Laplace noise on each coordinate, each with a random scale of its own; l1 sensitivity.
    RandomScaleLaplaceVector {
        /// The distribution of each inverse scale.
        inverse_scale: InverseScale,
        /// How many coordinates there are.
        coordinates: u64,
        /// The l1 sensitivity.
        sensitivity: f64,
    },
    /// Gaussian noise of random scale on a scalar.
    RandomScaleGaussian {
        /// The possible standard deviations with their probabilities.
        sigmas: Vec<(f64, f64)>,
        /// The sensitivity.
        sensitivity: f64,
    },
    /// A choice by the exponential mechanism.
    Exponential {
        /// The loss.
        epsilon: f64,
    },
    /// A choice by permute-and-flip.
    PermuteAndFlip {
        /// The loss.
        epsilon: f64,
    },
    /// Some mechanism of which nothing is known but that it is `(epsilon, delta)`-differentially
    /// private. A probabilistic guarantee is written this way too, with the same numbers: that is
    /// what its post-processing keeps (erratum L4).
    Approximate {
        /// The loss.
        epsilon: f64,
        /// A small probability `delta`; 0 for pure DP.
        delta: f64,
    },
    /// Some mechanism of which nothing is known but that it is `rho`-zero-concentrated
    /// differentially private.
    ZeroConcentrated {
        /// The Rényi divergence of every order `alpha` is at most `alpha * rho`.
        rho: f64,
    },
    /// Another event, run on a secret sample that each privacy unit enters with probability `rate`,
    /// independently of all others. Neighbours add or remove one unit.
    PoissonSubsampled {
        /// The probability of entering the sample.
        rate: f64,
        /// What ran on the sample.
        event: Box<Event>,
    },
    /// Several events about the same units.
    Composition {
        /// What ran, in any order.
        events: Vec<Event>,
    },
    /// One event, several times, with fresh randomness each time.
    Repetition {
        /// How many times.
        times: u64,
        /// What ran.
        event: Box<Event>,
    },
}

written! {
    Event, "mechanism", mechanism, also &["subsample", "times"];
    Laplace => "laplace" { scale, sensitivity = 1.0 }
    DiscreteLaplace => "discrete-laplace" { scale, sensitivity = 1 }
    Staircase => "staircase" { epsilon, gamma, sensitivity = 1.0 }
    TruncatedLaplace => "truncated-laplace" { scale, support_in_scales, sensitivity = 1.0 }
    Tabulated => "tabulated" { weights, sensitivity_steps = 1, spacing = 1.0 }
    Gaussian => "gaussian" { sigma, sensitivity = 1.0 }
    DiscreteGaussian => "discrete-gaussian" { sigma, sensitivity = 1 }
    GeneralizedGaussian => "generalized-gaussian" { order, scale, sensitivities = vec![1.0] }
    TruncatedGeneralizedGaussian => "truncated-generalized-gaussian" {
        order, scale, range, sensitivity = 1.0
    }
    InflatedGeneralizedGaussian => "inflated-generalized-gaussian" {
        order, scale, range, sensitivity = 1.0
    }
    RandomizedResponse => "randomized-response" { epsilon, categories }
    RandomScaleLaplace => "random-scale-laplace" { inverse_scale, sensitivity = 1.0 }
    RandomScaleLaplaceVector => "random-scale-laplace-vector" {
        inverse_scale, coordinates, sensitivity = 1.0
    }
    RandomScaleGaussian => "random-scale-gaussian" { sigmas, sensitivity = 1.0 }
    Exponential => "exponential" { epsilon }
    PermuteAndFlip => "permute-and-flip" { epsilon }
    Approximate => "approximate" { epsilon, delta }
    ZeroConcentrated => "zero-concentrated" { rho }
    PoissonSubsampled => "poisson-subsampled" { rate, event }
    Composition => "composition" { events }
    Repetition => "repetition" { times, event }
}

impl Event {
    /// The most by which one privacy unit moves the released value, in the norm of the variant;
    /// none where the event has none, or one for each of several coordinates.
    pub fn sensitivity(&self) -> Option<f64> {
        match self {
            Event::Laplace { sensitivity, .. }
            | Event::Staircase { sensitivity, .. }
            | Event::TruncatedLaplace { sensitivity, .. }
            | Event::Gaussian { sensitivity, .. }
            | Event::TruncatedGeneralizedGaussian { sensitivity, .. }
            | Event::InflatedGeneralizedGaussian { sensitivity, .. }
            | Event::RandomScaleLaplace { sensitivity, .. }
            | Event::RandomScaleLaplaceVector { sensitivity, .. }
            | Event::RandomScaleGaussian { sensitivity, .. } => Some(*sensitivity),
            Event::DiscreteLaplace { sensitivity, .. }
            | Event::DiscreteGaussian { sensitivity, .. } => Some(*sensitivity as f64),
            Event::GeneralizedGaussian { sensitivities, .. } => {
                sensitivities.first().copied().filter(|_| sensitivities.len() == 1)
            }
            Event::Tabulated { sensitivity_steps, spacing, .. } => {
                Some(*sensitivity_steps as f64 * spacing)
            }
            Event::RandomizedResponse { .. }
            | Event::Exponential { .. }
            | Event::PermuteAndFlip { .. }
            | Event::Approximate { .. }
            | Event::ZeroConcentrated { .. }
            | Event::PoissonSubsampled { .. }
            | Event::Composition { .. }
            | Event::Repetition { .. } => None,
        }
    }
}

/// Reads what [`std::fmt::Display`] writes, such as `gaussian sigma=2 sensitivity=1`.
///
/// A sensitivity that is left out is 1. `subsample=RATE` and `times=N` after any event stand for
/// [`Event::PoissonSubsampled`] around it and [`Event::Repetition`] around that. Whether the
/// numbers are those of a mechanism is for accountants to say.
impl FromStr for Event {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let words = Words::split(text)?;
        let mut event = Event::from_words(&words)?;
        // The number of times is a repetition's own parameter.
        let times =
            if let Event::Repetition { .. } = event { None } else { words.optional("times")? };
        if let Some(rate) = words.optional("subsample")? {
            event = Event::PoissonSubsampled { rate, event: Box::new(event) };
        }
        Ok(match times {
            Some(times) => Event::Repetition { times, event: Box::new(event) },
            None => event,
        })
    }
}

/// The distribution of the inverse scale of [`Event::RandomScaleLaplace`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "kebab-case")]
pub enum InverseScale {
    /// `first` with probability `weight`, otherwise `second`.
    TwoPoint {
        /// The first value.
        first: f64,
        /// The second value.
        second: f64,
        /// The probability of the first.
        weight: f64,
    },
    /// A gamma distribution.
    Gamma {
        /// `k`.
        shape: f64,
        /// The scale of this distribution: of inverse scales, not of the noise.
        theta: f64,
    },
    /// Uniform on an interval.
    Uniform {
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// A normal distribution truncated to an interval.
    TruncatedGaussian {
        /// The mean before truncation.
        mu: f64,
        /// The standard deviation before truncation.
        sigma: f64,
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// A sum of independent parts with weights.
    Combined {
        /// The parts and their weights.
        parts: Vec<(f64, InverseScale)>,
    },
}

written! {
    InverseScale, "family", family, also &[];
    TwoPoint => "two-point" { first, second, weight }
    Gamma => "gamma" { shape, theta }
    Uniform => "uniform" { lower, upper }
    TruncatedGaussian => "truncated-gaussian" { mu, sigma, lower, upper }
    Combined => "combined" { parts }
}

/// Reads what [`std::fmt::Display`] writes, such as `gamma shape=2 theta=0.5`.
impl FromStr for InverseScale {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        InverseScale::from_words(&Words::split(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_serialisation_and_names_its_mechanism() {
        let event = Event::RandomScaleLaplace {
            inverse_scale: InverseScale::Combined {
                parts: vec![(2.0, InverseScale::Gamma { shape: 3.0, theta: 0.5 })],
            },
            sensitivity: 1.0,
        };
        let text = serde_json::to_string(&event).expect("plain data");
        assert!(text.starts_with(r#"{"mechanism":"random-scale-laplace""#), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("round trip"), event);
    }

    #[test]
    fn a_table_survives_serialisation_to_the_last_bit() {
        let weights = vec![(u64::MAX, 62), ((1 << 53) + 1, 40), (1, 0), (0, 0)];
        let event = Event::Tabulated { weights, sensitivity_steps: 3, spacing: 0.1 };
        let text = serde_json::to_string(&event).expect("plain data");
        assert!(text.contains("[18446744073709551615,62],[9007199254740993,40]"), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("round trip"), event);
        assert_eq!(event.mechanism(), "tabulated");
    }
}
