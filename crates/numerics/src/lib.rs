//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on which
//! a privacy claim may rest. What it never does: return a point estimate as if it were a bound, or
//! draw a random number.

mod big;
mod bounds;
mod enclosure;
pub mod rounding;
mod sum;

pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use sum::{ExactSum, sum_bounds};
