//! Better answers from the same release.
//!
//! What it is: post-processing of released values with public facts: the noise, a graph, a prior,
//! constraints. What it never does: see data, or draw on a privacy budget.
//!
//! A [`Release`] is a vector `y_i = theta_i + s_i Z_i` with the description of its noise. A
//! [`Denoiser`] makes a [`Denoised`] of it: better values, the risk `E ||estimate - theta||^2`
//! before and after, and what was assumed. The risk is estimated from the release itself, where an
//! estimate is known whose claim holds, and otherwise not given.

mod auto;
pub mod bayes;
mod comparison;
pub mod consistency;
mod cross_fit;
mod error;
pub mod graph;
mod noise_description;
mod release;
mod rule;
mod ruled;
mod shape;
pub mod shrinkage;
pub mod unbiased;

pub use auto::Auto;
pub use cross_fit::{CrossFitted, Fit};
pub use error::DenoisingError;
pub use noise_description::NoiseDescription;
pub use release::{Denoised, Denoiser, Release, RiskEstimate, Unchanged};
pub use rule::PiecewiseLinear;
pub use shape::Shape;
