//! Every mechanism of the papers, calibrated to the least scale that provably keeps its promise.
//!
//! What it is: one file a mechanism, from its formula to its certificate. What it never does: accept a scale that no proof covers, or
//! charge for other noise than it adds.

mod bounded_query;
mod clamped;
mod exponential_continuous;
mod generalized_gaussian;
mod guarantee;
mod inflated;
mod inflated_error;
mod mechanism;
mod parameters;
mod sharp;
mod truncated;
mod truncated_error;
mod truncated_loss;

pub use bounded_query::BoundedQuery;
pub use clamped::Clamped;
pub use exponential_continuous::{ContinuousExponential, utility_sensitivity};
pub use generalized_gaussian::{GeneralizedGaussian, Method as GeneralizedGaussianMethod, Order};
pub use guarantee::{Certificate, Guarantee, Notion};
pub use inflated::InflatedGeneralizedGaussian;
pub use mechanism::{Errors, Mechanism, Releaser};
pub use parameters::{Delta, Distance, Epsilon, MechanismError, Scale};
pub use truncated::{TruncatedGeneralizedGaussian, TruncatedMethod};
