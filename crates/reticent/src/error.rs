//! Why there is no answer: one error for the whole library.

#[cfg(feature = "sql")]
use reticent_ledger::CostUnit;
#[cfg(feature = "sql")]
use reticent_numerics::digits::{exact, rounded_down, rounded_up};

/// What kind of failure an [`Error`] is: all that a front end needs to map it.
///
/// | kind | exit code | HTTP | SQLSTATE | Python |
/// |---|---|---|---|---|
/// | [`Refused`](ErrorKind::Refused) | 2 | 400 | 42000 | `ValueError` |
/// | [`Budget`](ErrorKind::Budget) | 3 | 403 | 53400 | `PermissionError` |
/// | [`Fault`](ErrorKind::Fault) | 1 | 500 | 58000 | `RuntimeError` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// What was asked for is wrong, is not offered, or cannot be proved. Nothing was spent.
    Refused,
    /// The privacy budget does not allow it. Nothing was spent.
    Budget,
    /// It was right, and something failed underneath: a file, the ledger, the source of entropy.
    /// What was reserved before stays spent.
    Fault,
}

impl ErrorKind {
    /// The exit code of a program that fails in this way.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Refused => 2,
            ErrorKind::Budget => 3,
            ErrorKind::Fault => 1,
        }
    }

    /// The status of an HTTP response that says so.
    pub fn http_status(self) -> u16 {
        match self {
            ErrorKind::Refused => 400,
            ErrorKind::Budget => 403,
            ErrorKind::Fault => 500,
        }
    }

    /// The SQLSTATE by which a database says so: a syntax error or a violated access rule; a limit
    /// of the configuration that was exceeded; an error outside the database.
    pub fn sqlstate(self) -> &'static str {
        match self {
            ErrorKind::Refused => "42000",
            ErrorKind::Budget => "53400",
            ErrorKind::Fault => "58000",
        }
    }
}

/// Why there is no answer. No message depends on private values, and none names an option of a
/// front end: parameters are named as parameters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy cannot be used.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Policy(#[from] reticent_policy::PolicyError),
    /// The query cannot be answered.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Query(#[from] reticent_query::QueryError),
    /// A table cannot be opened.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Source(#[from] reticent_query::SourceError),
    /// The ledger does not allow it.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Ledger(#[from] reticent_ledger::LedgerError),
    /// There is no ledger, or not the one that belongs to the data: without it nobody knows what is
    /// spent. Nothing was charged.
    #[cfg(feature = "sql")]
    #[error("{problem}")]
    NoLedger {
        /// What is wrong, and what to do about it.
        problem: String,
        /// What the owner of the data can decide.
        remedy: Option<Remedy>,
        /// The policy whose ledger it is.
        policy: std::path::PathBuf,
    },
    /// The budget cannot pay for the query. Nothing was charged.
    #[cfg(feature = "sql")]
    #[error(
        "the query costs {unit} {}, and of the budget of {} there is {} left. {}",
        rounded_up(*asked), exact(*limit), rounded_down(*remaining),
        advice(*unit, *remaining, *epsilon)
    )]
    Budget {
        /// Which cost it is.
        unit: CostUnit,
        /// What it costs, rounded up.
        asked: f64,
        /// What is left, rounded down.
        remaining: f64,
        /// The limit.
        limit: f64,
        /// The `epsilon` that was asked for.
        epsilon: f64,
    },
    /// The same query was paid for before and has no answer yet. Nothing was charged.
    #[error(
        "the same query was paid for before (entry {entry} of the ledger) and has no answer: it \
         is being computed elsewhere, or it was interrupted. Ask again later, or pay for a fresh \
         answer"
    )]
    Pending {
        /// The entry that paid.
        entry: u64,
    },
    /// A release file, or an answer, is not one.
    #[error("{0}")]
    ReleaseFile(String),
    /// A mechanism cannot be made, or cannot release a value.
    #[cfg(feature = "mechanisms")]
    #[error(transparent)]
    Mechanism(#[from] reticent_mechanisms::MechanismError),
    /// Random bits failed.
    #[cfg(feature = "mechanisms")]
    #[error(transparent)]
    Randomness(#[from] reticent_noise::randomness::RandomnessError),
    /// A composition cannot be accounted for.
    #[cfg(feature = "accounting")]
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::AccountingError),
    /// No mechanism can be chosen.
    #[cfg(feature = "choice")]
    #[error(transparent)]
    Choice(#[from] reticent_choice::ChoiceError),
    /// A release cannot be denoised.
    #[cfg(feature = "denoising")]
    #[error(transparent)]
    Denoising(#[from] reticent_denoising::DenoisingError),
    /// Something failed underneath.
    #[error("{0}")]
    Fault(String),
}

/// What the owner of the data can decide where there is no ledger to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Create the ledger.
    Create,
    /// Create a second ledger, and with it a second budget.
    CreateAnother,
    /// Let this ledger protect the tables, as a second budget.
    AdoptAnother,
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        use ErrorKind::{Budget, Fault, Refused};
        match self {
            #[cfg(feature = "sql")]
            Error::Policy(error) => {
                use reticent_policy::PolicyError as Policy;
                match error {
                    Policy::Unreadable { .. } => Fault,
                    Policy::Form(_)
                    | Policy::Unfinished { .. }
                    | Policy::Missing { .. }
                    | Policy::Invalid { .. } => Refused,
                }
            }
            #[cfg(feature = "sql")]
            Error::Query(error) => {
                use reticent_query::QueryError as Query;
                match error {
                    Query::Source(error) => kind_of_source(error),
                    Query::Refused(_) | Query::Syntax(_) | Query::Release(_) => Refused,
                    Query::Interrupted | Query::Engine(_) => Fault,
                }
            }
            #[cfg(feature = "sql")]
            Error::Source(error) => kind_of_source(error),
            #[cfg(feature = "sql")]
            Error::Ledger(error) => {
                use reticent_ledger::LedgerError as Ledger;
                match error {
                    Ledger::Exhausted { .. } => Budget,
                    Ledger::Parameter(_)
                    | Ledger::NotCovered(_)
                    | Ledger::OtherLimits { .. }
                    | Ledger::OtherTables { .. }
                    | Ledger::BelowSpent { .. }
                    | Ledger::Exists { .. } => Refused,
                    Ledger::NotReserved { .. }
                    | Ledger::Missing { .. }
                    | Ledger::Unusable { .. }
                    | Ledger::Damaged(_)
                    | Ledger::NotAnchored { .. }
                    | Ledger::Busy
                    | Ledger::Storage(_)
                    | Ledger::Closed => Fault,
                }
            }
            #[cfg(feature = "sql")]
            Error::NoLedger { .. } => Refused,
            #[cfg(feature = "sql")]
            Error::Budget { .. } => Budget,
            Error::ReleaseFile(_) => Refused,
            #[cfg(feature = "mechanisms")]
            Error::Mechanism(_) => Refused,
            #[cfg(feature = "mechanisms")]
            Error::Randomness(_) => Fault,
            #[cfg(feature = "accounting")]
            Error::Accounting(reticent_accounting::AccountingError::Contradiction { .. }) => Fault,
            #[cfg(feature = "accounting")]
            Error::Accounting(_) => Refused,
            #[cfg(feature = "choice")]
            Error::Choice(_) => Refused,
            #[cfg(feature = "denoising")]
            Error::Denoising(_) => Refused,
            Error::Pending { .. } | Error::Fault(_) => Fault,
        }
    }
}

/// A file that cannot be read is a fault; one that is not what the policy says is refused.
#[cfg(feature = "sql")]
fn kind_of_source(error: &reticent_query::SourceError) -> ErrorKind {
    use reticent_query::SourceError as Source;
    match error {
        Source::Missing { .. }
        | Source::Unreadable { .. }
        | Source::Damaged { .. }
        | Source::Changed { .. }
        | Source::Scan { .. } => ErrorKind::Fault,
        Source::NoFiles { .. }
        | Source::Pattern { .. }
        | Source::UnknownFormat { .. }
        | Source::SeveralFormats { .. }
        | Source::Nesting { .. }
        | Source::NoHeader { .. }
        | Source::Encoding { .. }
        | Source::Compression { .. }
        | Source::MissingColumn { .. }
        | Source::RepeatedColumn { .. }
        | Source::ColumnType { .. }
        | Source::ReadOnce { .. }
        | Source::NoSuchTable { .. }
        | Source::NoColumns { .. } => ErrorKind::Refused,
    }
}

#[cfg(feature = "sql")]
fn advice(unit: CostUnit, remaining: f64, epsilon: f64) -> String {
    if remaining == 0.0 {
        return "Only what was answered before can still be asked".to_owned();
    }
    match unit {
        CostUnit::Epsilon => "Ask with a smaller epsilon".to_owned(),
        CostUnit::Rho => format!(
            "Ask with a smaller epsilon: this query asks for {epsilon} (the ledger counts in \
             zero-concentration, under which many small queries cost less, and a large one more, \
             than their epsilon)"
        ),
        CostUnit::Delta => {
            "Ask with a smaller delta, or group by keys with public values, which need none".into()
        }
    }
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    #[test]
    fn every_front_end_tells_the_kinds_apart() {
        let kinds = [ErrorKind::Refused, ErrorKind::Budget, ErrorKind::Fault];
        assert_eq!(kinds.map(ErrorKind::exit_code), [2, 3, 1]);
        assert_eq!(kinds.map(ErrorKind::http_status), [400, 403, 500]);
        assert_eq!(kinds.map(ErrorKind::sqlstate), ["42000", "53400", "58000"]);
    }

    #[test]
    fn a_refusal_never_looks_as_if_the_query_fitted() {
        let refused = |unit, remaining| {
            let error = Error::Budget { unit, asked: 0.25, remaining, limit: 2.0, epsilon: 0.5 };
            assert_eq!((error.kind(), error.kind().exit_code()), (ErrorKind::Budget, 3));
            error.to_string()
        };
        assert_eq!(
            refused(CostUnit::Epsilon, 0.1 + 0.02),
            "the query costs epsilon 0.25, and of the budget of 2 there is 0.12 left. Ask with a \
             smaller epsilon"
        );
        assert!(refused(CostUnit::Epsilon, 0.25f64.next_down()).contains("there is 0.249999 left"));
        assert!(
            refused(CostUnit::Epsilon, 0.0)
                .ends_with("what was answered before can still be asked")
        );
        assert!(refused(CostUnit::Rho, 0.1).contains("this query asks for 0.5"));
        assert!(refused(CostUnit::Delta, 1e-9).contains("there is 1e-9 left"));
    }
}
