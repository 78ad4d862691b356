//! Gaussian noise of random standard deviation (R2DP, Case II), optimised for a metric.
//!
//! `minimise E[c(sigma)]` over all distributions of `sigma` whose mixture keeps `(epsilon, delta)`,
//! which replaces Eqns 4, 5, 8 and 9 of Mohammady's paper: `delta` there is an average over the
//! scales, and `e^epsilon` too, neither of which is what the mixture loses (erratum R2).
//!
//! The guarantee is a family of linear constraints: for every set `A` of outputs, or randomized
//! test of them, `E[k_A(sigma)] <= delta` with `k_A(sigma) = P_sigma(A) - e^epsilon P_sigma(A +
//! D)`. So the optimum is found by a linear programme (`programme.rs`), and its prices prove how
//! far any distribution could go (`certificate.rs`). When plain Gaussian noise cannot be beaten is
//! a matter of one such proof (docs/proofs/random_scale_gaussian.md).

mod certificate;
mod families;
mod losing;
mod loss;
mod optimise;
mod programme;

pub use families::SigmaFamily;
pub use loss::SigmaLoss;

pub use optimise::{
    BestOfFamily, OptimisedGaussian, optimise_gaussian, optimise_gaussian_families,
};
pub(crate) use optimise::{law_of, quick_two_points};
pub use programme::{BestSigmas, best_sigmas};
