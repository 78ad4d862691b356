//! The pair of Gaussian noise.

use super::super::pair::{Pair, Point};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;

/// `P = N(mu, 1)` and `Q = N(0, 1)`, `mu = D / sigma`: the loss is `N(mu^2/2, mu^2)` under `P`, so that
/// `P[L > x] = Phi(mu/2 - x/mu)` and `Q[L > x] = Phi(-mu/2 - x/mu)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GaussianPair {
    mu: Bounds,
}

impl GaussianPair {
    /// Of a `mu > 0`.
    pub(crate) fn new(mu: Bounds) -> Self {
        GaussianPair { mu }
    }
}

impl Pair for GaussianPair {
    fn at(&self, loss: f64) -> Point {
        let distance = Bounds::exact(loss) / self.mu;
        let half = self.mu * Bounds::exact(0.5);
        Point::from_tails(loss, normal_sf(distance - half), normal_sf(distance + half))
    }
}
