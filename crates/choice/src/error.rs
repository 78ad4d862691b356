//! Why a choice could not be made.

use reticent_mechanisms::MechanismError;
use reticent_numerics::OutOfRange;

/// Why a choice could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChoiceError {
    /// A parameter is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// The parts of the request are fine one by one but mean nothing together.
    #[error("{0}")]
    Meaningless(String),
    /// No mechanism can serve the request; the reasons are listed.
    #[error("no mechanism fits: {0}")]
    NothingFits(String),
    /// A mechanism refused its parameters.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
}
