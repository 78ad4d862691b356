//! Every mechanism of the papers, calibrated to the least scale that provably keeps its promise.
//!
//! What it is: one file a mechanism, from its formula to its certificate. What it never does: accept a scale that no proof covers, or
//! charge for other noise than it adds.

mod counting_queries;
mod discrete_gaussian;
mod gaussian;
mod guarantee;
mod mechanism;
mod parameters;
mod random_scale_gaussian;
mod sensitivity_lattice;

pub use counting_queries::{
    CountingErrors, gaussian_counting_errors, gaussian_overtakes_laplace, laplace_counting_errors,
    randomized_response_counting_errors,
};
pub use discrete_gaussian::DiscreteGaussianMechanism;
pub use gaussian::{GaussianMechanism, GaussianMethod, GaussianProfile};
pub use guarantee::{Certificate, Guarantee, Notion};
pub use mechanism::{Errors, Mechanism, Releaser};
pub use parameters::{Delta, Distance, Epsilon, MechanismError, Scale};
pub use random_scale_gaussian::RandomScaleGaussianMechanism;
