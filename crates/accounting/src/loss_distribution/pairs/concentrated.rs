//! The curve above all zero-concentrated mechanisms.

use super::super::pair::{Pair, Point};
use crate::conversion::delta_of_zero_concentrated;
use reticent_numerics::{Bounds, Enclosure};

/// At every loss at least the `delta` of every `rho`-zero-concentrated mechanism. No one of them
/// reaches it everywhere; Gaussian noise is one of them.
///
/// It need not be the profile of a pair itself. Put on a grid, it is: the profile of each mechanism
/// is convex in `e^x` and below the curve at grid points, hence below the lines between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcentratedPair {
    rho: f64,
}

impl ConcentratedPair {
    /// Of a `rho > 0`.
    pub(crate) fn new(rho: f64) -> Self {
        ConcentratedPair { rho }
    }
}

impl Pair for ConcentratedPair {
    fn effort(&self) -> f64 {
        100.0
    }

    fn at(&self, loss: f64) -> Point {
        let above = Bounds::new(0.0, delta_of_zero_concentrated(self.rho, loss.abs()));
        let x = Bounds::exact(loss);
        let delta = if loss >= 0.0 { above } else { x.exp() * above - x.exp_m1() };
        Point { delta: Point::delta(loss, delta), test: None }
    }
}
