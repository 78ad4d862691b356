//! Why there is no answer.

use reticent_ledger::LedgerError;
use reticent_policy::PolicyError;
use reticent_query::QueryError;

/// Why there is no answer. No message depends on private values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The query cannot be answered.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The ledger does not allow it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There is no ledger, or not the one that belongs to the data: without it nobody knows what is
    /// spent. Nothing was charged.
    #[error("{0}")]
    NoLedger(String),
    /// The budget cannot pay for the query. Nothing was charged.
    #[error("{0}")]
    Budget(String),
    /// Something failed underneath.
    #[error("{0}")]
    Fault(String),
}
