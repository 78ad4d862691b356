//! What every accountant answers.

use crate::{AccountingError, Composition};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use std::fmt::Debug;

/// A way to bound what releases cost together.
///
/// Every answer is a pair of bounds on the exact figure: the least `epsilon` at a `delta`, or the
/// least `delta` at an `epsilon`, that all releases together keep. An accountant that knows nothing
/// from below says 0 there. An upper bound may be infinite; it is never too small.
pub trait Accountant: Debug {
    /// The name by which tables and the command line know it.
    fn name(&self) -> &'static str;

    /// Bounds on the least `epsilon >= 0` at this `delta`.
    ///
    /// # Errors
    /// If it cannot read one of the events, or can prove nothing.
    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError>;

    /// Bounds on the least `delta` at this `epsilon`.
    ///
    /// # Errors
    /// As for [`Accountant::epsilon`].
    fn delta(&self, composition: &Composition, epsilon: Epsilon)
    -> Result<Bounds, AccountingError>;
}
