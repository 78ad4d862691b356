//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on which
//! a privacy claim may rest. What it never does: return a point estimate as if it were a bound, or
//! draw a random number.

mod big;
mod bounds;
mod enclosure;
mod jet;
pub mod quadrature;
pub mod root;
pub mod rounding;
mod wide;

pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use jet::Jet;
pub use wide::Wide;
