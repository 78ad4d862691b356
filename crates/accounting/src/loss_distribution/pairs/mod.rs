//! Dominating pairs, one kind a file.

mod atoms;
mod by_profile;
mod concentrated;
mod discrete;
mod gaussian;
mod laplace;
mod of_event;
mod subsampled;
mod tabulated;

pub(crate) use of_event::{Term, pairs_of};
