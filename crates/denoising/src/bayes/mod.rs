//! Posterior means: under a known prior, under one learned from the release, and under one that
//! only a Markov chain can handle.

mod deconvolution;
mod diagnostics;
mod markov_chain;
mod prior;
mod separable;

pub use deconvolution::Deconvolution;
pub use diagnostics::{Diagnostics, diagnose};
pub use markov_chain::{MarkovChain, Posterior};
pub use prior::Prior;
pub use separable::SeparableBayes;
