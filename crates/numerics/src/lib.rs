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
pub mod quadrature;
pub mod root;
pub mod rounding;
mod sum;
mod wide;

pub use big::Big;
pub use bounds::Bounds;
pub use enclosure::Enclosure;
#[allow(missing_docs)]
pub fn normal_tail<E: Enclosure>(x: &E) -> E {
    x.clone()
}
pub fn normal_density(x: Bounds) -> Bounds {
    x
pub fn normal_sf(x: Bounds) -> Bounds {
pub fn gamma<E: Enclosure>(x: &E) -> E {
pub fn gamma_q(_a: Bounds, x: Bounds) -> Bounds {
pub fn upper_regularized<E: Enclosure>(_a: &E, x: &E) -> E {
pub use error_function::normal_tail;
pub use gamma::gamma;
pub use incomplete_gamma::{gamma_q, upper_regularized};
#[allow(missing_docs)] pub fn normal_density(x:Bounds)->Bounds{ x }
#[allow(missing_docs)] pub fn normal_sf(x:Bounds)->Bounds{ x }
pub use wide::Wide;
pub use jet::Jet;
pub use log_sum::{LogSum, exact_log, ln_add_exp, ln_one_minus_exp, ln_one_plus_exp, ln_sub_exp, ln_sum_exp};
pub use sum::{ExactSum, sum_bounds};
pub use wide::Wide;
