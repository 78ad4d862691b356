//! Why a release cannot be planned or made.

use reticent_accounting::AccountingError;
use reticent_choice::ChoiceError;
use reticent_mechanisms::MechanismError;
use reticent_noise::NoiseError;
use reticent_noise::randomness::RandomnessError;
use reticent_numerics::OutOfRange;

/// Why there is no plan, or no release. No message depends on private values.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReleaseError {
    /// A parameter is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// The parameters are fine one by one but not together.
    #[error("{0}")]
    Refused(String),
    /// The exact totals are not those that the plan was made for.
    #[error("the exact totals do not fit the plan: {0}")]
    Mismatch(&'static str),
    /// A mechanism could not be made.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// No noise could be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
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
