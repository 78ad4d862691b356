//! Every mechanism of the papers, calibrated to the least scale that provably keeps its guarantee.
//!
//! What it is: one file a mechanism, from its formula to its certificate. What it never does:
//! accept a scale that no proof covers, or charge for more noise than it adds.

mod additive;
mod binomial_interval;
mod bounded_query;
mod bounded_vector;
mod budget;
mod check;
mod clamped;
mod counting_limits;
mod counting_queries;
mod discrete_gaussian;
mod discrete_laplace;
mod exponential;
mod exponential_continuous;
mod for_each;
mod gaussian;
mod generalized_gaussian;
mod guarantee;
mod inflated;
mod inflated_error;
mod kind;
mod laplace;
mod mechanism;
mod named;
mod parameters;
mod permute_and_flip;
mod random_scale_gaussian;
mod random_scale_laplace;
mod randomized_response;
mod rounded;
mod sensitivity;
mod sensitivity_lattice;
mod sharp;
mod spec;
mod staircase;
mod tabulated;
mod tabulated_error;
mod truncated;
mod truncated_error;
mod truncated_laplace;
mod truncated_loss;
mod truncated_profile;

pub use binomial_interval::binomial_interval;
pub use bounded_query::BoundedQuery;
pub use bounded_vector::{BoundedVector, Bounding, utility_sensitivity_of_vector};
pub use budget::Budget;
pub use check::{Check, check};
pub use clamped::Clamped;
pub use counting_limits::{approximate_counting_limit, local_counting_limit, pure_counting_limit};
pub use counting_queries::{
    CountingErrors, gaussian_counting_errors, gaussian_overtakes_laplace, laplace_counting_errors,
    randomized_response_counting_errors,
};
pub use discrete_gaussian::DiscreteGaussianMechanism;
pub use discrete_laplace::DiscreteLaplace;
pub use exponential::{Exponential, UtilityChange};
pub use exponential_continuous::{ContinuousExponential, lemma_10, utility_sensitivity};
pub use for_each::ForEach;
pub use gaussian::{
    ClassicalFailure, GaussianMechanism, GaussianMethod, GaussianProfile, classical_failure,
    classical_limit,
};
pub use generalized_gaussian::{GeneralizedGaussian, Method as GeneralizedGaussianMethod, Order};
pub use guarantee::{Certificate, Guarantee, Notion};
pub use inflated::InflatedGeneralizedGaussian;
pub use kind::MechanismKind;
pub use laplace::Laplace;
pub use mechanism::{Errors, Mechanism, Releaser};
pub use parameters::{Delta, Distance, Epsilon, MechanismError, Scale};
pub use permute_and_flip::PermuteAndFlip;
pub use random_scale_gaussian::RandomScaleGaussianMechanism;
pub use random_scale_laplace::{
    Boost, MOST_COORDINATES, RandomScaleLaplace, average_leakage, can_boost, independent_epsilon,
    reused_epsilon, scalar_epsilon, shared_epsilon,
};
pub use randomized_response::{FrequencyEstimate, RandomizedResponse};
pub use rounded::RoundedToIntegers;
pub use sensitivity::{Neighbours, Sensitivity};
pub use spec::{MechanismSpec, Stretch, described, inverse_scale_of};
pub use staircase::{Staircase, StaircaseAim};
pub use tabulated::Tabulated;
pub use truncated::{TruncatedGeneralizedGaussian, TruncatedMethod};
pub use truncated_laplace::{Support, TruncatedLaplace};
