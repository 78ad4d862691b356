//! Why a release cannot be planned or made.

use reticent_accounting::AccountingError;
use reticent_mechanisms::MechanismError;
use reticent_noise::NoiseError;
use reticent_noise::randomness::RandomnessError;

/// Why there is no plan, or no release. No message depends on private values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
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
    /// The parameters are fine one by one but not together.
    #[error("{0}")]
    Refused(String),
    /// The exact totals are not those that the plan was made for.
    #[error("the exact totals do not fit the plan: {0}")]
    Mismatch(&'static str),
    /// A mechanism could not be made.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// The noise could not be made.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The cost could not be bounded.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    /// No random bits. Nothing is released then.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

pub(crate) fn require(holds: bool, name: &'static str, value: f64, accepted: &'static str) -> Result<(), ReleaseError> {
    if holds { Ok(()) } else { Err(ReleaseError::Parameter { name, value, accepted }) }
}
