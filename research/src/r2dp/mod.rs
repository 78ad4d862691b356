//! Mohammady, *Randomized privacy budget differential privacy* (R2DP): Laplace noise whose inverse
//! scale is random, and Gaussian noise of random scale.

mod algorithm_1;
pub(crate) mod counting;
pub(crate) mod gaussian;
pub(crate) mod small_epsilon;
pub(crate) mod usefulness;
