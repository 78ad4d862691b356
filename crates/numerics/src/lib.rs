//! Certified numerics: every result is an enclosure that provably holds the exact value.
//!
//! What it is: directed rounding, intervals, special functions, quadrature and root finding on which
//! a privacy claim may rest. What it never does: return a point estimate as if it were a bound, or
//! draw a random number.

mod bounds;
mod enclosure;
mod normal;
mod normal_quantile;
pub mod rounding;
mod wide;

pub use bounds::Bounds;
pub use enclosure::Enclosure;
pub use normal::{
    Argument, erf, erfc, erfcx, ln_normal_cdf, ln_normal_sf, mills_ratio, normal_cdf, normal_density, normal_sf,
};
pub use normal_quantile::{normal_isf, normal_isf_from_ln, normal_quantile, normal_quantile_from_ln};
pub use wide::Wide;
