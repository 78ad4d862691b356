//! Why a command ended without an answer, and the exit code that says so.

use reticent::ledger::LedgerError;
use reticent::policy::PolicyError;
use reticent::{Error, ErrorKind, Remedy};
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// A command that ended without an answer. Its message is one sentence that the user can act on.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// What was asked for is wrong or cannot be proved.
    Usage(String),
    /// The privacy budget does not allow it, and nothing was spent.
    Budget(String),
    /// It was right, but something failed underneath, such as a file or the entropy source.
    Fault(String),
}

impl Failure {
    /// A wrong request.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// A failure of reading or writing.
    pub fn while_doing(what: &str, error: &std::io::Error) -> Self {
        // `kind` and not the error itself: for some errors the system's text is empty or quotes
        // what it met.
        Failure::Fault(format!("{what} failed: {}", error.kind()))
    }

    /// The documented exit code.
    pub fn exit_code(&self) -> ExitCode {
        let kind = match self {
            Failure::Usage(_) => ErrorKind::Refused,
            Failure::Budget(_) => ErrorKind::Budget,
            Failure::Fault(_) => ErrorKind::Fault,
        };
        ExitCode::from(kind.exit_code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Budget(message) | Failure::Fault(message) => {
                f.write_str(message)
            }
        }
    }
}

/// A command of the program about a policy, as one would type it.
pub fn command(words: &str, policy: &Path) -> String {
    let path = policy.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,=@:".contains(c);
    let quoted = if !path.is_empty() && path.chars().all(plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    };
    format!("`reticent {words} --policy {quoted}`")
}

/// What to type, where the library says what to decide.
fn hint(error: &Error) -> Option<String> {
    Some(match error {
        Error::NoLedger { remedy: Some(remedy), policy, .. } => {
            let words = match remedy {
                Remedy::Create => "ledger create",
                Remedy::CreateAnother => "ledger create --another-budget",
                Remedy::AdoptAnother => "ledger adopt --another-budget",
            };
            format!("with {}", command(words, policy))
        }
        Error::Ledger(LedgerError::OtherLimits { .. }) => {
            "with `reticent budget --amend` and the same --policy".to_owned()
        }
        Error::Ledger(LedgerError::OtherTables { .. }) => {
            "with `reticent ledger adopt` and the same --policy".to_owned()
        }
        Error::Pending { .. } => "with --fresh".to_owned(),
        _ => return None,
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = match &error {
            Error::Policy(PolicyError::Unreadable { path, .. }) if !path.exists() => format!(
                "there is no policy at {}: --policy names it, and `reticent init DATA` drafts one",
                path.display()
            ),
            _ => match hint(&error) {
                Some(hint) => format!("{error}, {hint}"),
                None => error.to_string(),
            },
        };
        match error.kind() {
            ErrorKind::Refused => Failure::Usage(message),
            ErrorKind::Budget => Failure::Budget(message),
            ErrorKind::Fault => Failure::Fault(message),
        }
    }
}

macro_rules! failures {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Error::from(error).into()
            }
        })*
    };
}

failures!(
    LedgerError,
    reticent::accounting::AccountingError,
    reticent::choice::ChoiceError,
    reticent::denoising::DenoisingError,
    reticent::mechanisms::MechanismError,
    reticent::noise::randomness::RandomnessError,
    reticent::query::SourceError
);
