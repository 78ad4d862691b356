//! Least-squares projections onto what is publicly known to be true.
//!
//! If the true vector lies in a closed convex set, the projection of the release onto it, in the
//! norm that weighs each value by the inverse of its variance, is never farther from the truth in
//! that norm: it costs nothing and can only help. Integers are not convex; rounding to them is a
//! matter of form.

mod bounds;
mod integer;
mod linear;
mod monotone;
mod non_negative_equations;
mod total;

pub use bounds::Within;
pub(crate) use bounds::within_bounds;
pub use integer::Integers;
pub use linear::{Constraint, LinearConstraints};
pub use monotone::{Direction, Monotone};
pub use non_negative_equations::NonNegativeConstraints;
pub use total::{NoisyTotal, Total};
