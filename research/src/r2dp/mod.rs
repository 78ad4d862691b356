//! Mohammady, *Randomized privacy budget differential privacy* (R2DP): Laplace noise whose inverse
//! scale is random.

mod algorithm_1;
pub(crate) mod counting;
pub(crate) mod small_epsilon;
pub(crate) mod usefulness;
