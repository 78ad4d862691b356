//! What is wrong with a parameter, said so that a person can mend it.

use crate::randomness::RandomnessError;
use reticent_numerics::{OutOfRange, require};

/// Why a distribution could not be made or drawn from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoiseError {
    /// A parameter is outside what the distribution is defined for.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// No random bits could be had, so nothing was drawn.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// The certified bounds were too wide to build the sampler's table. Nothing was drawn.
    #[error(
        "the noise distribution {distribution} cannot be sampled: its certified bounds are too \
         wide ({reason})"
    )]
    Table {
        /// The distribution, with its (public) parameters.
        distribution: String,
        /// What could not be proved.
        reason: &'static str,
    },
}

/// A finite number above zero that is not so extreme that its reciprocal or square leaves `f64`.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, OutOfRange> {
    require((1e-150..=1e150).contains(&value), name, value, "a number from 1e-150 to 1e150")
}
