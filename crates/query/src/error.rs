//! What can go wrong, in words that a person can act on and that no private value can change.

/// An error of a private query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query asks for something that is not offered; the message says what to write instead.
    #[error("{0}")]
    Refused(String),
    /// The text is not SQL.
    #[error("the SQL cannot be read: {0}")]
    Syntax(String),
    /// A source cannot be opened or read. The message names the source, never what is in it.
    #[error("{0}")]
    Source(String),
    /// The engine failed while it ran. What it was computing is private, so this says no more.
    #[error("the query could not be computed; what was reserved for it stays spent")]
    Engine,
    /// The noise cannot be planned.
    #[error(transparent)]
    Release(#[from] reticent_release::ReleaseError),
}
