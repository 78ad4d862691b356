//! Differentially private SQL.

mod draft;
mod source;

pub use draft::draft;
pub use source::{SourceError, engine_type, open};
