//! Every mechanism of the papers, calibrated to the least scale that provably keeps its promise.
//!
//! What it is: one file a mechanism, from its formula to its certificate. What it never does: accept a scale that no proof covers, or
//! charge for other noise than it adds.

mod additive;
mod discrete_gaussian;
mod discrete_laplace;
mod exponential;
mod gaussian;
mod guarantee;
mod laplace;
mod mechanism;
mod parameters;
mod permute_and_flip;
mod random_scale_laplace;
mod randomized_response;
mod sensitivity;
mod sensitivity_lattice;
mod staircase;

pub use discrete_gaussian::DiscreteGaussianMechanism;
pub use discrete_laplace::DiscreteLaplace;
pub use exponential::{Exponential, UtilityChange};
pub use gaussian::{GaussianMechanism, GaussianMethod, GaussianProfile};
pub use guarantee::{Certificate, Guarantee, Notion};
pub use laplace::Laplace;
pub use mechanism::{Errors, Mechanism, Releaser};
pub use parameters::{Delta, Distance, Epsilon, MechanismError, Scale};
pub use permute_and_flip::PermuteAndFlip;
pub use random_scale_laplace::{
    MOST_COORDINATES, RandomScaleLaplace, independent_epsilon, reused_epsilon, scalar_epsilon, shared_epsilon,
};
pub use randomized_response::{FrequencyEstimate, RandomizedResponse};
pub use sensitivity::{Neighbours, Sensitivity};
pub use staircase::{Staircase, StaircaseAim};
