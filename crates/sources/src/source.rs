//! The contract of a source.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::error::{Failure, SourceError};

/// Where the rows of a table come from: files, data in memory, a database.
///
/// Noise covers what rows add to totals and nothing else, so that a source must not tell of rows in
/// any other manner. What every implementation keeps, and the conformance suite tries:
///
/// - **No content of a row is an error**, nor a panic, nor a change of types. What is no value of
///   the declared type is NULL. The rules are those of docs/policy.md: [`engine_type`] has the
///   types, [`field`](crate::field) the values of texts, and
///   [`MemorySource`](crate::MemorySource) converts every type of Arrow by them.
/// - **A row is read from its own bytes.** What is read of it does not depend on other rows, on
///   statistics over rows, or on where in the source it is.
/// - **Every row is read, once.** A source is told which columns are wanted, and no condition and
///   no limit: nothing is pushed down.
/// - **Order has no part.** Rows may come in any order, in any batches and shares; whoever uses
///   them must not depend on it.
/// - **Errors** tell of names, types, locations and faults of the machine: a file or a connection
///   that cannot be read, or that is not what it was when it was opened. What can be wrong with
///   names and types is found by the constructor, before a row is read: then it may be shown.
///   Errors of [`Share::rows`] come after the payment, and the caller hides their text.
///
/// [`engine_type`]: crate::engine_type
pub trait Source: Debug + Send + Sync {
    /// The declared columns in the engine's types, all of which may be NULL.
    fn schema(&self) -> SchemaRef;

    /// All rows, divided into at most `threads` shares (at least one is assumed), with the columns
    /// of the schema at these indices. No row is read yet.
    ///
    /// # Errors
    /// If the rows can be read once, and were asked for before.
    fn shares(&self, columns: &[usize], threads: usize)
    -> Result<Vec<Arc<dyn Share>>, SourceError>;
}

/// A part of the rows of a source that is read on one thread.
pub trait Share: Debug + Send + Sync {
    /// Its rows in batches of about so many, with the wanted columns in the engine's types.
    ///
    /// # Errors
    /// If the rows cannot be read; see [`Source`] for what may be a reason.
    fn rows(&self, batch_rows: usize) -> Result<Batches, SourceError>;
}

/// Batches of rows in the engine's types.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, SourceError>>>;

/// Batches of a file.
pub(crate) type FileBatches = Box<dyn Iterator<Item = Result<RecordBatch, Failure>>>;
