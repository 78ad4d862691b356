//! Gaussian noise.

use crate::NoiseError;
use crate::noise::Noise;
use crate::strips::Strips;
use reticent_numerics::error_function::normal_tail;
use reticent_numerics::normal::{normal_density, normal_sf};
use reticent_numerics::{Bounds, Enclosure};
use std::sync::{Arc, OnceLock};

/// The standard normal distribution.
///
/// # Distribution
/// `f(x) = exp(-x^2 / 2) / sqrt(2 pi)`, `P[X > x] = erfc(x / sqrt 2) / 2`.
///
/// # Guarantee
/// With standard deviation `s`, for a query of l2 sensitivity `D`, `(epsilon, delta)`-differential
/// privacy with `delta = Phi(D/2s - epsilon s/D) - e^epsilon Phi(-D/2s - epsilon s/D)`, exactly. A
/// scalar sensitivity is the worst case of every dimension.
///
/// # References
/// Balle and Wang, *Improving the Gaussian mechanism for differential privacy*, 2018, Theorem 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaussian;

impl Noise for Gaussian {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        let two_pi = x.pi().times_power_of_two(1);
        (-(x.clone() * x.clone()).times_power_of_two(-1)).exp() / two_pi.sqrt()
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        normal_tail(x)
    }

    fn density_bounds(&self, x: Bounds) -> Bounds {
        normal_density(x)
    }

    fn tail_bounds(&self, x: Bounds) -> Bounds {
        normal_sf(x)
    }

    fn magnitude(&self) -> f64 {
        1.0
    }

    fn strips(&self) -> Result<Arc<Strips>, NoiseError> {
        static STRIPS: OnceLock<Result<Arc<Strips>, NoiseError>> = OnceLock::new();
        STRIPS.get_or_init(|| Strips::build(self).map(Arc::new)).clone()
    }
}
