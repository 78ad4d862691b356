//! Which noise hurts an answer least.
//!
//! What it is: for what is released, a budget and a measure of error, a ranking of every mechanism, and the least error that any could reach. What it never
//! does: see data, or call an estimate a limit.

mod limit;
mod loss;
mod optimal;

pub use limit::{LimitError, ScalarQuery, limit, pure_limit};
pub use loss::{AbsoluteError, Beyond, Loss, SquaredError};
pub use optimal::{Optimum, optimum};
