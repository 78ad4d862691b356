//! What can go wrong on the way from a plan to totals.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DataFusionError;
use reticent_noise::randomness::RandomnessError;
use reticent_numerics::OutOfRange;
use reticent_sources::SourceError;
use thiserror::Error;

/// Why there are no totals.
///
/// No message quotes private data: what can go wrong once a private row may have been read is one
/// variant without words of its own, [`EngineError::Interrupted`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum EngineError {
    /// The query asks for something that is not offered; the message says what to write instead.
    #[error("{0}")]
    Refused(String),
    /// Rows may have been read, and the totals could not be finished. Whatever the cause, this is
    /// all that is said: see docs/proofs/units_apart.md.
    #[error("the totals could not be computed to the end")]
    Interrupted,
    /// A source cannot be read as asked.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A parameter of the computation is not acceptable.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
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
    /// More distinct units or groups than can be numbered, or more text in group keys than a column
    /// can hold.
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
    #[error("internal fault in {part}: please report it; nothing was released")]
    Fault {
        /// Where.
        part: &'static str,
    },
}

/// A refusal.
pub(crate) fn refused<T>(message: impl Into<String>) -> Result<T, EngineError> {
    Err(EngineError::Refused(message.into()))
}

/// A message of the planner, which sees the query and the policy and no data.
#[must_use]
pub fn planner(error: DataFusionError) -> EngineError {
    EngineError::Refused(in_plain_words(&error.strip_backtrace()))
}

/// The planner's message without its own names for kinds of errors, and without guesses, which
/// differ from run to run.
fn in_plain_words(message: &str) -> String {
    let kinds = [
        "type_coercion\ncaused by\n",
        "Error during planning: ",
        "Schema error: ",
        "Internal error: ",
    ];
    let mut words = message;
    while let Some(rest) = kinds.iter().find_map(|kind| words.strip_prefix(kind)) {
        words = rest;
    }
    if let Some(what) = words.strip_prefix("This feature is not implemented: ") {
        return format!("this is not offered: {what}; see docs/sql.md for what is");
    }
    if let Some((call, _)) = words.split_once(" failed to match any signature") {
        return format!(
            "{call} does not take arguments of these types; see docs/sql.md for what is offered"
        );
    }
    if words.starts_with("Schema contains duplicate") {
        return format!(
            "{words}: casts are not part of a name; compute one of the two in a sub-query"
        );
    }
    let words = words.split("\nDid you mean").next().unwrap_or(words);
    // It tells of settings that nobody can change here.
    let lines: Vec<&str> = words
        .lines()
        .filter(|line| !line.starts_with("Column names are case sensitive."))
        .collect();
    lines.join("\n").replace("datafusion.public.", "").replace("datafusion.", "")
}
