//! The pair of Laplace noise.

use super::super::pair::{Pair, Point};
use reticent_numerics::{Bounds, Enclosure};

/// Laplace noise moved by `D`, with `e = D / b`. For `-e <= x < e` the loss exceeds `x` left of
/// `t = (D - b x)/2`, which has the probabilities `P[L > x] = 1 - exp((x - e)/2)/2` and
/// `Q[L > x] = exp(-(x + e)/2)/2`. A vector moved by `D` in the l1 norm is dominated by the scalar
/// (proof at `reticent_mechanisms::Laplace`).
///
/// Where `e` is known to an ulp only, `x` may lie just outside. The test is sound all the same: it
/// is still the set left of `t`, and by `cosh >= 1` the expressions are then below `P` and above
/// `Q` of that set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaplacePair {
    epsilon: Bounds,
}

impl LaplacePair {
    /// Of `e = D / b`.
    pub(crate) fn new(epsilon: Bounds) -> Self {
        LaplacePair { epsilon }
    }
}

impl Pair for LaplacePair {
    fn at(&self, loss: f64) -> Point {
        if loss >= self.epsilon.upper() {
            return Point::NOTHING;
        }
        if loss < -self.epsilon.upper() {
            return Point::everything(loss);
        }
        let half = Bounds::exact(0.5);
        let x = Bounds::exact(loss);
        let p = Bounds::ONE - half * ((x - self.epsilon) * half).exp();
        let q = half * (-(x + self.epsilon) * half).exp();
        Point::from_tails(loss, p, q)
    }

    fn greatest_loss(&self) -> f64 {
        self.epsilon.upper()
    }

    fn atoms(&self) -> Vec<f64> {
        vec![self.epsilon.lower()]
    }
}
