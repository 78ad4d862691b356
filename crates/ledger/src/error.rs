//! Why the ledger does not do what was asked.

use crate::{Anchor, CostUnit, Limits, Protected};
use reticent_accounting::AccountingError;
use reticent_numerics::OutOfRange;
use reticent_numerics::digits::{exact, rounded_down, rounded_up};
use std::path::PathBuf;

/// Why the ledger does not do what was asked. In every case: no answer may be shown.
///
/// No message depends on private values: a ledger never sees any.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The caller was wrong.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// An event cannot be charged in the currency of the budget.
    #[error(transparent)]
    NotCovered(#[from] AccountingError),
    /// The budget refuses. Nothing was charged.
    #[error(
        "the release costs {unit} {}, but {} of {} remains",
        rounded_up(*asked), rounded_down(*remaining), exact(*limit)
    )]
    Exhausted {
        /// Which cost it is.
        unit: CostUnit,
        /// What the release costs, rounded up.
        asked: f64,
        /// What is left, rounded down.
        remaining: f64,
        /// The limit.
        limit: f64,
    },
    /// The ledger was made for other limits than the caller's.
    #[error(
        "the ledger allows {stored}, but the policy says {given}: put the policy's budget back, \
         or, if the owner of the data decides so, record the new one with an amendment"
    )]
    OtherLimits {
        /// What the ledger allows.
        stored: Limits,
        /// What the caller expected.
        given: Limits,
    },
    /// The ledger protects other tables than the caller's.
    #[error(
        "the ledger {} is not for the policy's private tables: {}. Put the policy back as it was, \
         or, if the owner of the data decides so, let the ledger protect the policy's tables from \
         now on; what is spent stays spent",
        path.display(),
        stored.differences(given).join("; ")
    )]
    OtherTables {
        /// The ledger.
        path: PathBuf,
        /// What the ledger protects.
        stored: Box<Protected>,
        /// What the caller expected.
        given: Box<Protected>,
    },
    /// An amendment would take back what is spent.
    #[error(
        "{unit} {} is spent already: the new limit of {} is below that",
        rounded_up(*spent), exact(*limit)
    )]
    BelowSpent {
        /// Which cost it is.
        unit: CostUnit,
        /// What is spent, rounded up.
        spent: f64,
        /// The limit that was asked for.
        limit: f64,
    },
    /// A reservation that the ledger does not hold open: of another ledger, or one that was given
    /// up.
    #[error("entry {number} is not an open reservation of this ledger")]
    NotReserved {
        /// The number of the entry.
        number: u64,
    },
    /// There is no file to open.
    #[error("there is no ledger at {}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is a file where a new ledger was to be made.
    #[error("{} exists already; a ledger is never replaced", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be a ledger that is safe to use.
    #[error("{} {problem}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// The file is not what ledgers write: it is damaged, or somebody changed it.
    #[error("the ledger is damaged: {0}")]
    Damaged(String),
    /// The file is not the continuation of what an anchor stands for: an older copy was put there
    /// instead, or it was rewritten.
    #[error("the ledger does not contain what the anchor {anchor} stands for: {problem}")]
    NotAnchored {
        /// The anchor.
        anchor: Anchor,
        /// In what way.
        problem: String,
    },
    /// Another process kept the ledger locked for too long. Nothing was changed; asking again is
    /// safe.
    #[error("another process keeps the ledger locked; nothing was changed, try again")]
    Busy,
    /// The disk, or the store on it, failed. The ledger is closed.
    #[error("the ledger could not be read or written, and is closed: {0}")]
    Storage(String),
    /// An earlier failure closed the ledger.
    #[error("the ledger was closed by an earlier failure; open it again")]
    Closed,
}

impl LedgerError {
    /// Whether the handle may be used after this. What was refused before anything was written
    /// leaves it as it was.
    pub(crate) fn closes(&self) -> bool {
        matches!(
            self,
            LedgerError::Damaged(_)
                | LedgerError::Storage(_)
                | LedgerError::Closed
                | LedgerError::NotAnchored { .. }
                | LedgerError::Unusable { .. }
                | LedgerError::Missing { .. }
        )
    }
}

impl From<std::io::Error> for LedgerError {
    fn from(error: std::io::Error) -> Self {
        LedgerError::Storage(error.to_string())
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => LedgerError::Busy,
            Some(DatabaseCorrupt | NotADatabase) => LedgerError::Damaged(error.to_string()),
            _ => LedgerError::Storage(error.to_string()),
        }
    }
}
