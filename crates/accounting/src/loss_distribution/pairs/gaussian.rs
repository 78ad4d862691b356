//! The pair of Gaussian noise.

use super::super::pair::{Pair, Point};
use reticent_numerics::Bounds;
use reticent_numerics::normal::{mills_ratio, normal_density, normal_sf};

/// `P = N(mu, 1)` and `Q = N(0, 1)`, `mu = D / sigma`: the loss is `N(mu^2/2, mu^2)` under `P`, so
/// that `P[L > x] = Phi(mu/2 - x/mu)` and `Q[L > x] = Phi(-mu/2 - x/mu)`.
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
        let (near, far) = (distance - half, distance + half);
        let point = Point::from_tails(loss, normal_sf(near), normal_sf(far));
        if loss < LARGE {
            return point;
        }
        // As e^x phi(far) = phi(near), the second term is phi(near) times Mills' ratio at `far`,
        // and nothing overflows.
        let delta = normal_sf(near) - normal_density(near) * mills_ratio(far);
        Point { delta: Point::delta(loss, delta), ..point }
    }
}

/// From here on `e^x` is not multiplied with a probability that may be below the least `f64`.
const LARGE: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::normal::ln_normal_sf;

    /// Losses whose exponential overflows: `delta` is at most `P[L > x]`, and at least that less
    /// `Q[L > x - 1]` times `e^x`, from logarithms.
    #[test]
    fn large_losses_have_a_profile() {
        for (mu, loss) in
            [(50.0, 1400.0), (38.0, 900.0), (333.3, 57_000.0), (20.0, 299.0), (20.0, 301.0)]
        {
            let delta = GaussianPair::new(Bounds::exact(mu)).at(loss).delta;
            let (near, far) = (loss / mu - 0.5 * mu, loss / mu + 0.5 * mu);
            let p = ln_normal_sf(near).estimate().exp();
            let exact = p - (loss + ln_normal_sf(far).estimate()).exp();
            assert!(
                (delta.estimate() / exact - 1.0).abs() < 1e-8,
                "{mu} {loss}: {delta:?} {exact:e}"
            );
            assert!(
                delta.relative_width() < 1e-9 && delta.upper() < p,
                "{mu} {loss}: {delta:?} {p:e}"
            );
        }
    }
}
