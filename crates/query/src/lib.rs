//! Differentially private SQL.

pub mod engine;
mod error;

pub use error::QueryError;
