//! Multiplicative weights: many counting queries from a hypothesis that is corrected where it is
//! found to be wrong.

mod above_threshold;
mod hypothesis;
mod loss;
mod mwem;
mod online;

pub use above_threshold::AboveThreshold;
pub use mwem::{Mwem, MwemPlan, Selection};
pub use online::{OnlineAnswer, OnlineBounds, OnlineWeights};

use crate::{LinearQuery, WorkloadError};

/// Checks that a query counts cells of a histogram, each at most once.
fn check_counting(query: &LinearQuery, cells: usize) -> Result<(), WorkloadError> {
    if query.terms().iter().any(|&(_, weight)| weight != 1.0) {
        return Err(WorkloadError::Workload(
            "multiplicative weights answer counting queries: every weight must be 1".into(),
        ));
    }
    match query.terms().iter().find(|&&(cell, _)| cell >= cells) {
        Some((cell, _)) => Err(WorkloadError::Workload(format!(
            "a query names the cell {cell}, but there are only {cells}"
        ))),
        None => Ok(()),
    }
}

/// The exact answer of a counting query.
fn exact_count(query: &LinearQuery, counts: &[u64]) -> i128 {
    query.terms().iter().filter_map(|&(cell, _)| counts.get(cell)).map(|&n| i128::from(n)).sum()
}
