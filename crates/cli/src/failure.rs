//! Why a command ended without an answer, and the exit code that says so.

use reticent_accounting::AccountingError;
use reticent_choice::ChoiceError;
use reticent_denoising::DenoisingError;
use reticent_ledger::LedgerError;
use reticent_mechanisms::MechanismError;
use reticent_noise::randomness::RandomnessError;
use reticent_policy::PolicyError;
use reticent_query::{QueryError, SourceError};
use reticent_session::SessionError;
use std::fmt;
use std::process::ExitCode;

/// A command that ended without an answer. Its message is one sentence that the user can act on.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// What was asked for is wrong or cannot be proved: exit code 2.
    Usage(String),
    /// The privacy budget does not allow it, and nothing was spent: exit code 3.
    Budget(String),
    /// It was right, but something failed underneath, such as a file or the entropy source: exit code 1.
    Fault(String),
}

impl Failure {
    /// A wrong request.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// A failure of reading or writing.
    pub fn while_doing(what: &str, error: &std::io::Error) -> Self {
        // `kind` and not the error itself: for some errors the system's text is empty or quotes what it met.
        Failure::Fault(format!("{what} failed: {}", error.kind()))
    }

    /// The documented exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Budget(_) => ExitCode::from(3),
            Failure::Fault(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Budget(message) | Failure::Fault(message) => f.write_str(message),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Exhausted { .. } => Failure::Budget(error.to_string()),
            LedgerError::OtherLimits { .. } => {
                Failure::Usage(format!("{error} (`reticent budget --amend`, with the same --policy, does that)"))
            }
            LedgerError::OtherTables { .. } => {
                Failure::Usage(format!("{error} (`reticent ledger adopt`, with the same --policy, does that)"))
            }
            LedgerError::Parameter { .. }
            | LedgerError::NotCovered(_)
            | LedgerError::BelowSpent { .. }
            | LedgerError::Exists { .. } => Failure::Usage(error.to_string()),
            other => Failure::Fault(other.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Ledger(error) => error.into(),
            SessionError::Budget(message) => Failure::Budget(message),
            SessionError::NoLedger(message) => Failure::Usage(message),
            SessionError::Policy(PolicyError::Unreadable { path, .. }) if !path.exists() => Failure::Fault(format!(
                "there is no policy at {}: --policy names it, and `reticent init DATA` drafts one",
                path.display()
            )),
            SessionError::Policy(error @ PolicyError::Unreadable { .. }) => Failure::Fault(error.to_string()),
            SessionError::Policy(error) => Failure::Usage(error.to_string()),
            SessionError::Query(QueryError::Source(error)) => error.into(),
            SessionError::Query(error) => match error {
                QueryError::Refused(_) | QueryError::Syntax(_) | QueryError::Release(_) => {
                    Failure::Usage(error.to_string())
                }
                other => Failure::Fault(other.to_string()),
            },
            other => Failure::Fault(other.to_string()),
        }
    }
}

impl From<SourceError> for Failure {
    /// A file that cannot be read is a fault; one that is not what the policy or the command line says is wrong usage.
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Missing { .. }
            | SourceError::Unreadable { .. }
            | SourceError::Damaged { .. }
            | SourceError::Changed { .. }
            | SourceError::Scan { .. } => Failure::Fault(error.to_string()),
            other => Failure::Usage(other.to_string()),
        }
    }
}

impl From<MechanismError> for Failure {
    fn from(error: MechanismError) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<DenoisingError> for Failure {
    fn from(error: DenoisingError) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<AccountingError> for Failure {
    fn from(error: AccountingError) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<RandomnessError> for Failure {
    fn from(error: RandomnessError) -> Self {
        Failure::Fault(error.to_string())
    }
}
