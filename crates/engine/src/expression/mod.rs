//! Expressions over rows, computed by kernels of our own.
//!
//! What it is: a closed language of operations, each of which has a value or NULL for every row and
//! computes it from that row alone. What it never does: fail on a row, look at another row, or
//! leave any part of an expression to the engine's kernels.
//!
//! Two things follow by construction, whatever the engine does in this version or the next:
//!
//! - **Total.** No value of a row is an error. Kernels return `Option`; see [`computed`] for what
//!   happens should one fail all the same.
//! - **Units apart.** The value in a row does not depend on the rest of its batch. (Kernels that
//!   look at a whole array first do not have this property: Arrow's `ILIKE` takes another path,
//!   with other answers, if any text of the array is not ASCII.)
//!
//! ```text
//! planner's expression --compile--> Node: operations over six kinds of values
//!                      --computed-> one opaque function of columns, evaluated in batches
//! ```

mod arithmetic;
mod calendar;
mod compare;
mod compile;
mod computed;
mod convert;
mod functions;
mod kind;
mod node;
mod pattern;
#[cfg(test)]
mod tests;
mod text;
mod values;
mod written;

pub use compile::{Total, constant};
pub use functions::functions;
pub use written::{plan_as_written, written};
