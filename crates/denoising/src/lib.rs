//! Better answers from the same release.
//!
//! What it is: post-processing of released values with public facts: the noise, a graph, a prior, constraints. What it never does: see data, or draw on a
//! privacy budget.

pub mod graph;
