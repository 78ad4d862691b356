//! Differentially private SQL.
//!
//! What it is: a query under a policy, computed by an embedded engine over rows whose influence is bounded per privacy unit, and released with certified noise. What it never does: let a row decide whether a query
//! succeeds, what an error says, or how other people's rows count.
//!
//! ```text
//! SQL --prepare--> Prepared: rows | private aggregate | rest, noise planned and priced; nothing private is open yet
//!     --run------> exact totals of bounded contributions --noise--> released figures --rest--> Answer
//! ```

mod answer;
mod draft;
mod engine;
mod error;
mod expression;
mod figures;
mod mutation;
mod nan;
mod preferences;
mod prepare;
mod rules;
mod source;
mod sql;
mod tables;
#[cfg(test)]
mod tests;
mod unit_aggregates;

pub use answer::{Answer, Opened};
pub use draft::draft;
pub use engine::Measure;
pub use error::QueryError;
pub use prepare::{Prepared, prepare};
pub use source::SourceError;
pub use sql::{Aggregation, Formula, Key, Options, Output};
