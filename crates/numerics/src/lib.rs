//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on which
//! a privacy claim may rest. What it never does: return a point estimate as if it were a bound, or
//! draw a random number.

mod big;
mod bounds;
mod enclosure;
mod log_sum;
pub mod rounding;
mod sum;

pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use log_sum::{LogSum, exact_log, ln_add_exp, ln_one_minus_exp, ln_one_plus_exp, ln_sub_exp, ln_sum_exp};
pub use sum::{ExactSum, sum_bounds};
