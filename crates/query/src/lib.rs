//! Differentially private SQL.
//!
//! What it is: a query under a policy, computed by an embedded engine over rows whose influence is
//! bounded per privacy unit, and released with certified noise. What it never does: let a row
//! decide whether a query succeeds, what an error says, or how other people's rows count.
//!
//! ```text
//! SQL --prepare--> Prepared: rows | private aggregate | rest, noise planned and priced;
//!                  nothing private is open yet
//!     --run------> exact totals of bounded contributions --noise--> released figures
//!     --rest-----> Answer
//! ```

mod answer;
mod error;
mod figures;
mod preferences;
mod prepare;
mod sql;
mod tables;
#[cfg(test)]
mod tests;
mod workload;

pub use answer::{Answer, Opened};
pub use error::QueryError;
pub use prepare::{Prepared, prepare};
pub use reticent_engine::EngineError;
pub use reticent_release::{AnswerMetric, Comparison, NoiseName};
pub use reticent_sources::{MemorySource, Source, SourceError, TableSources, draft};
pub use sql::{Aggregation, Formula, Key, Options, Output};
pub use workload::{
    Attribute, OpenedWorkload, PreparedWorkload, WorkloadQuestion, prepare_workload,
};
