//! Exact noise: distributions that bound their own density and tails, and draws that follow them to
//! the last bit.
//!
//! What it is: the random part of every release. What it never does: decide a probability by a
//! rounded number, or continue without entropy. Additive noise is drawn without seeing the private
//! value; the two draws that depend on it are [`Truncated`] and [`choose`].
//!
//! One trait carries the design: a [`Noise`] bounds its density and tails at any precision, and
//! generic code makes the rest of it. The proof of exactness is in `docs/noise.md`; it is short.

mod bernoulli;
mod choice;
#[cfg(test)]
mod cover_oracle;
mod discrete_gaussian;
mod discrete_laplace;
pub mod error;
mod fill;
#[cfg(test)]
mod forced_ambiguity;
mod gaussian;
mod gaussian_mixture;
mod generalized_gaussian;
mod integer_noise;
mod integer_part;
mod laplace;
mod lattice;
mod lazy_uniform;
mod noise;
mod parameter;
pub mod privacy;
pub mod random_scale;
pub mod randomness;
mod sampler;
mod staircase;
mod strips;
mod table;
mod truncated;
mod truncated_laplace;

pub use bernoulli::{Bernoulli, Probability};
pub use choice::{Weights, choose};
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use fill::{fill, fill_with_threads};
pub use gaussian::Gaussian;
pub use gaussian_mixture::GaussianMixture;
pub use generalized_gaussian::GeneralizedGaussian;
pub use integer_noise::{IntegerNoise, Jittered};
pub use laplace::Laplace;
pub use lattice::{LARGEST_VALUE, Lattice};
pub use noise::Noise;
pub use parameter::NoiseError;
pub use random_scale::RandomScaleLaplace;
pub use sampler::{LARGEST_DRAW, Sampler};
pub use staircase::Staircase;
pub use strips::Strips;
pub use table::Table;
pub use truncated::Truncated;
pub use truncated_laplace::TruncatedLaplace;
