//! What can go wrong with a query.

use crate::source::SourceError;
use datafusion::arrow::datatypes::DataType;
use reticent_noise::randomness::RandomnessError;
use reticent_release::ReleaseError;
use thiserror::Error;

/// Why there is no answer.
///
/// No message quotes data. What the engine below reports can quote a cell, so it is reduced to a kind here.
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
    /// The engine could not read or compute the rows.
    #[error("the rows of the query could not be computed: {kind}; nothing was released")]
    Read {
        /// What kind of failure, in words that do not depend on the data.
        kind: &'static str,
    },
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
