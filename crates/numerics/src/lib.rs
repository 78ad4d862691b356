//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on
//! which a privacy claim may rest. What it never does: return a point estimate as if it were a
//! bound, or draw a random number.

mod bernoulli;
mod big;
mod bounds;
mod convergence;
pub mod digits;
mod enclosure;
pub mod error_function;
pub mod gamma;
pub mod incomplete_gamma;
pub mod incomplete_gamma_inverse;
mod incomplete_gamma_sums;
mod jet;
pub mod log_sum;
pub mod nearest;
pub mod normal;
pub mod normal_quantile;
mod out_of_range;
pub mod quadrature;
pub mod root;
pub mod rounding;
mod sum;
mod wide;

// Enclosures, from the fastest to the sharpest.
pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use jet::Jet;
pub use wide::Wide;

// Sums that do not widen.
pub use sum::{ExactSum, sum_bounds};

// Parameters that are refused.
pub use out_of_range::{OutOfRange, require};
