//! Why a workload, a plan or a measurement was refused.

use reticent_mechanisms::MechanismError;
use reticent_noise::NoiseError;
use reticent_noise::randomness::RandomnessError;
use reticent_numerics::OutOfRange;

/// Why a workload, a plan or a measurement was refused. Nothing has been released or spent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// A parameter is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// The public domain cannot be used.
    #[error("the domain cannot be used: {0}")]
    Domain(String),
    /// The workload cannot be answered.
    #[error("the workload cannot be answered: {0}")]
    Workload(String),
    /// The text of a workload cannot be read.
    #[error("`{statement}` is not a workload: {problem}")]
    Text {
        /// The statement.
        statement: String,
        /// What is wrong with it, and what would be read.
        problem: String,
    },
    /// The budget is so small that the noise would exceed every count.
    #[error(
        "the budget is too small to say anything: the noise of one measurement would have a \
         standard deviation of {sigma:e}, and {largest:e} is the largest that is drawn"
    )]
    BudgetTooSmall {
        /// The standard deviation that the budget asks for.
        sigma: f64,
        /// The largest that is drawn.
        largest: f64,
    },
    /// A figure could not be proved.
    #[error("{what} could not be certified: {reason}")]
    NotCertified {
        /// Which figure.
        what: &'static str,
        /// What went wrong.
        reason: &'static str,
    },
    /// The counts are not those of the plan: other attributes or sizes.
    #[error("the counts are not those of the plan: {0}")]
    Counts(&'static str),
    /// The budget of a session is used up.
    #[error("{0}")]
    Exhausted(&'static str),
    /// A mechanism could not be made.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// The noise could not be made or drawn.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

impl From<RandomnessError> for WorkloadError {
    fn from(error: RandomnessError) -> Self {
        WorkloadError::Noise(error.into())
    }
}
