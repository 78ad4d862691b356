//! Every mechanism of the papers, calibrated to the least scale that provably keeps its promise.
//!
//! What it is: one file a mechanism, from its formula to its certificate. What it never does: accept a scale that no proof covers, or
//! charge for other noise than it adds.

mod exponential;
mod guarantee;
mod mechanism;
mod parameters;
mod permute_and_flip;
mod random_scale_laplace;

pub use exponential::{Exponential, UtilityChange};
pub use guarantee::{Certificate, Guarantee, Notion};
pub use mechanism::{Errors, Mechanism, Releaser};
pub use parameters::{Delta, Distance, Epsilon, MechanismError, Scale};
pub use permute_and_flip::PermuteAndFlip;
pub use random_scale_laplace::{
    MOST_COORDINATES, RandomScaleLaplace, independent_epsilon, reused_epsilon, scalar_epsilon, shared_epsilon,
};
