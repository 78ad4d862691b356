//! Why a choice could not be made.

use reticent_mechanisms::MechanismError;

/// Why a choice could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// A parameter is outside what is accepted.
    #[error("the parameter `{name}` is {value:e}, but it must be {accepted}")]
    Parameter {
        /// The parameter, as the user knows it.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would be accepted.
        accepted: &'static str,
    },
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

/// The number, if it is what is accepted.
pub(crate) fn require(holds: bool, name: &'static str, value: f64, accepted: &'static str) -> Result<f64, ChoiceError> {
    if holds { Ok(value) } else { Err(ChoiceError::Parameter { name, value, accepted }) }
}
