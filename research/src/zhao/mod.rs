//! Zhao et al., *Reviewing and improving the Gaussian mechanism for differential privacy*
//! (abstract).

pub(crate) mod classical;
pub(crate) mod closed_forms;
