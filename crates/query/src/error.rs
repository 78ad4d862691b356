//! What can go wrong with a query.

use reticent_engine::EngineError;
use reticent_release::ReleaseError;
use reticent_sources::SourceError;
use thiserror::Error;

/// Why there is no answer.
///
/// No message quotes private data: what can go wrong once a private row may have been read is one
/// variant without words of its own, [`QueryError::Interrupted`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QueryError {
    /// The query asks for something that is not offered; the message says what to write instead.
    #[error("{0}")]
    Refused(String),
    /// The text is not SQL.
    #[error("the SQL cannot be read: {0}")]
    Syntax(String),
    /// A source cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The noise cannot be planned, or drawn.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The query was paid for, rows may have been read, and it could not be finished. Whatever the
    /// cause, this is all that is said: see docs/proofs/units_apart.md.
    #[error(
        "the query could not be finished after its tables had been opened: nothing was released, \
         and what it costs stays \
         spent. See that the files of its tables can be read to their ends before asking again"
    )]
    Interrupted,
    /// The engine cannot compute what was planned.
    #[error(transparent)]
    Engine(EngineError),
}

impl From<EngineError> for QueryError {
    fn from(error: EngineError) -> QueryError {
        match error {
            EngineError::Refused(message) => QueryError::Refused(message),
            EngineError::Interrupted => QueryError::Interrupted,
            EngineError::Source(error) => QueryError::Source(error),
            EngineError::Parameter(_)
            | EngineError::ColumnType { .. }
            | EngineError::Capacity { .. }
            | EngineError::Randomness(_)
            | EngineError::Fault { .. } => QueryError::Engine(error),
        }
    }
}
