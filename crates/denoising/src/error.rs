//! Why there is no denoised vector.

use reticent_noise::NoiseError;
use reticent_numerics::OutOfRange;

/// Why a release was not denoised. Messages may name released values and public facts; there is
/// nothing else to name.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DenoisingError {
    /// A parameter is outside what the method is defined for.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// A released value that is no number.
    #[error(
        "released value {index} (counting from 1) is {value}, but it must be finite and at most \
         1e150 in magnitude"
    )]
    Value {
        /// Which one, counting from 1.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// A release without values.
    #[error("the release holds no values, but it must hold at least one")]
    Empty,
    /// Two lists that belong together differ in length.
    #[error(
        "there are {given} of `{name}`, but the release has {values} values: there must be as \
         many, one for each"
    )]
    Length {
        /// The list.
        name: &'static str,
        /// Its length.
        given: usize,
        /// The number of released values.
        values: usize,
    },
    /// The method needs more values.
    #[error(
        "{method} needs at least {least} values in each block, and the release (or a block of it) \
         has {given}"
    )]
    TooFew {
        /// The method.
        method: &'static str,
        /// The least number of values.
        least: usize,
        /// What there was.
        given: usize,
    },
    /// The release is not data plus independent noise.
    #[error(
        "a release by `{mechanism}` is not a number plus independent noise, so there is no noise \
         to remove"
    )]
    NotAdditive {
        /// The mechanism.
        mechanism: String,
    },
    /// The noise is known, but not of the kind the method can use.
    #[error("{method} cannot be used with this noise: {reason}")]
    UnsuitedNoise {
        /// The method.
        method: &'static str,
        /// What stands in the way.
        reason: &'static str,
    },
    /// Public constraints that no vector satisfies.
    #[error("no vector satisfies the constraints: {reason}")]
    Infeasible {
        /// The contradiction.
        reason: String,
    },
    /// An iteration ended before it had proved that it was close.
    #[error("{method} did not converge: {reason}")]
    NoConvergence {
        /// The method.
        method: &'static str,
        /// How far it came.
        reason: String,
    },
    /// A graph, or a vector or parameter for it, is not accepted.
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
    /// The description of the noise has a parameter that is not accepted.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
