//! What can go wrong with a query.

use crate::source::SourceError;
use datafusion::arrow::datatypes::DataType;
use reticent_noise::randomness::RandomnessError;
use reticent_release::ReleaseError;
use thiserror::Error;

/// Why there is no answer.
///
/// No message quotes private data: what can go wrong once a private row may have been read is one variant without words of its own, [`QueryError::Interrupted`].
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
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
    /// The query was paid for, rows may have been read, and it could not be finished. Whatever the cause, this is all that is said: see docs/proofs/units_apart.md.
    #[error(
        "the query could not be finished after its tables had been opened: nothing was released, and what it costs stays \
         spent. See that the files of its tables can be read to their ends before asking again"
    )]
    Interrupted,
    /// A parameter of the computation is not acceptable.
    #[error("{parameter} is {value}: {accepted}")]
    Parameter {
        /// Which one.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// A column has a type with which it cannot be used as asked.
    #[error("column {column} has the type {found}: {accepted}")]
    ColumnType {
        /// The column's name.
        column: String,
        /// Its type.
        found: DataType,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// More distinct units or groups than can be numbered, or more text in group keys than a column can hold.
    #[error("there are too many {of} for one answer: {limit}")]
    Capacity {
        /// Of what.
        of: &'static str,
        /// The limit in words.
        limit: &'static str,
    },
    /// No random bits.
    #[error("no secret key could be drawn for the choice of groups: {0}")]
    Randomness(#[from] RandomnessError),
    /// A bug of this program.
    #[error("internal fault in {place}: please report it; nothing was released")]
    Fault {
        /// Where.
        place: &'static str,
    },
}
