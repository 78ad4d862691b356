//! What noise is judged by, and which noise is compared.

use crate::error::ReleaseError;
use crate::split::Number;
use reticent_choice::{ChoiceError, Considered, Metric};
use reticent_numerics::rounding::{div_down, mul_up};
use std::fmt;
use std::str::FromStr;

/// By what the noise of each number of an answer can be judged and chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnswerMetric {
    /// `l1`: the mean absolute error.
    MeanAbsolute,
    /// `l2`: the root mean square error.
    RootMeanSquare,
    /// `entropy`: that of the noise, in steps of its grid.
    Entropy,
    /// `usefulness:T`: how often an error is above `T`, in units of the answer.
    Usefulness(f64),
    /// `quantile:Q`: what the error is within with probability `Q`.
    Quantile(f64),
}

impl AnswerMetric {
    fn metric(self) -> Metric {
        match self {
            AnswerMetric::MeanAbsolute => Metric::MeanAbsolute,
            AnswerMetric::RootMeanSquare => Metric::RootMeanSquare,
            AnswerMetric::Entropy => Metric::Entropy,
            AnswerMetric::Usefulness(distance) => Metric::Usefulness(distance),
            AnswerMetric::Quantile(q) => Metric::Quantile(q),
        }
    }
}

impl fmt::Display for AnswerMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.metric().fmt(f)
    }
}

impl FromStr for AnswerMetric {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let refused = || {
            ReleaseError::Refused(format!(
                "the metric is `{text}`: l1, l2, entropy, usefulness:T and quantile:Q are \
                 accepted, with numbers T and Q, and each number of an answer is judged by itself"
            ))
        };
        match text.parse::<Metric>() {
            Ok(Metric::MeanAbsolute) => Ok(AnswerMetric::MeanAbsolute),
            Ok(Metric::RootMeanSquare) => Ok(AnswerMetric::RootMeanSquare),
            Ok(Metric::Entropy) => Ok(AnswerMetric::Entropy),
            Ok(Metric::Usefulness(distance)) => Ok(AnswerMetric::Usefulness(distance)),
            Ok(Metric::Quantile(q)) => Ok(AnswerMetric::Quantile(q)),
            Ok(Metric::Maximum | Metric::MaximumQuantile(_) | Metric::Loss(_)) => Err(refused()),
            Err(ChoiceError::Parameter(parameter)) => Err(parameter.into()),
            Err(_) => Err(refused()),
        }
    }
}

/// A metric, in units of the answer, and what is compared by it.
///
/// Each number of a release is judged by itself, in each group. Numbers are put together by the
/// root of the weighted mean of squares, each error relative to what one unit can do in one group
/// ([`Aim::relative`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Aim {
    pub(crate) metric: AnswerMetric,
    pub(crate) considered: Considered,
}

impl Aim {
    /// The aim, if the number of the metric is accepted.
    pub(crate) fn new(metric: AnswerMetric, considered: Considered) -> Result<Self, ReleaseError> {
        metric.metric().checked()?;
        Ok(Aim { metric, considered })
    }

    /// The metric for a number that is counted in steps. A distance is rounded down, so that no
    /// error is taken for smaller than it is.
    pub(crate) fn in_steps(&self, step: f64) -> Metric {
        match self.metric {
            AnswerMetric::Usefulness(distance) => Metric::Usefulness(div_down(distance, step)),
            other => other.metric(),
        }
    }

    /// An error in steps in the units of the answer, rounded up. A probability and an entropy have
    /// none: the entropy is that of the steps.
    pub(crate) fn in_units(&self, error: f64, step: f64) -> f64 {
        match self.metric {
            AnswerMetric::Usefulness(_) | AnswerMetric::Entropy => error,
            AnswerMetric::MeanAbsolute
            | AnswerMetric::RootMeanSquare
            | AnswerMetric::Quantile(_) => mul_up(error, step),
        }
    }

    /// An error in steps, relative to what one unit can do in one group; a probability is what it
    /// is, and of an entropy `h` the width `e^h` counts.
    pub(crate) fn relative(&self, error: f64, number: &Number) -> f64 {
        let per_group = number.influence.per_group as f64;
        match self.metric {
            AnswerMetric::Usefulness(_) => error,
            AnswerMetric::Entropy => error.exp() / per_group,
            AnswerMetric::MeanAbsolute
            | AnswerMetric::RootMeanSquare
            | AnswerMetric::Quantile(_) => error / per_group,
        }
    }

    /// What is compared, in words.
    pub(crate) fn in_words(&self) -> String {
        match self.metric {
            AnswerMetric::MeanAbsolute => "mean absolute error".into(),
            AnswerMetric::Entropy => "width by entropy".into(),
            AnswerMetric::Usefulness(distance) => {
                format!("probability of an error above {distance}")
            }
            AnswerMetric::Quantile(q) => format!("{q} quantile of the error"),
            AnswerMetric::RootMeanSquare => "root mean square error".into(),
        }
    }
}
