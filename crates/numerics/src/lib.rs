//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on which
//! a privacy claim may rest. What it never does: return a point estimate as if it were a bound, or
//! draw a random number.

mod bernoulli;
mod big;
mod bounds;
mod convergence;
mod enclosure;
pub mod error_function;
pub mod gamma;
pub mod incomplete_gamma;
pub mod incomplete_gamma_inverse;
mod incomplete_gamma_sums;
mod jet;
mod log_sum;
mod normal;
mod normal_quantile;
pub mod quadrature;
pub mod root;
pub mod rounding;
mod sum;
mod wide;

pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use error_function::normal_tail;
pub use gamma::gamma;
pub use incomplete_gamma::{gamma_q, upper_regularized};
pub use jet::Jet;
pub use log_sum::{LogSum, exact_log, ln_add_exp, ln_one_minus_exp, ln_one_plus_exp, ln_sub_exp, ln_sum_exp};
pub use normal::{
    Argument, erf, erfc, erfcx, ln_normal_cdf, ln_normal_sf, mills_ratio, normal_cdf, normal_density, normal_sf,
};
pub use normal_quantile::{normal_isf, normal_isf_from_ln, normal_quantile, normal_quantile_from_ln};
pub use sum::{ExactSum, sum_bounds};
pub use wide::Wide;
