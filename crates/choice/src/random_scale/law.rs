//! The law of Laplace noise of random scale, whose figures are worked out as they are asked for.

use crate::error_law::ErrorLaw;
use crate::excess::Excess;
use reticent_mechanisms::RandomScaleLaplace;
use reticent_noise::error::exceedance;
use reticent_noise::random_scale::InverseScale;
use reticent_noise::{Noise, RandomScaleLaplace as MixtureNoise};
use reticent_numerics::Bounds;
use reticent_numerics::quadrature::{Options, integrate_convex};
use std::sync::OnceLock;

/// The law of a mechanism's error: its tail is a formula, some of its moments are integrals.
#[derive(Debug)]
pub struct RandomScaleLaw {
    mechanism: RandomScaleLaplace,
    noise: MixtureNoise,
    mean_absolute: OnceLock<Bounds>,
}

impl RandomScaleLaw {
    /// The law of each number that a mechanism releases.
    pub fn new(mechanism: &RandomScaleLaplace) -> Self {
        let noise = MixtureNoise::new(mechanism.inverse_scale().clone());
        RandomScaleLaw { mechanism: mechanism.clone(), noise, mean_absolute: OnceLock::new() }
    }

    fn mean_absolute(&self) -> Bounds {
        *self.mean_absolute.get_or_init(|| self.mechanism.mean_absolute_error())
    }
}

impl ErrorLaw for RandomScaleLaw {
    fn exceedance(&self, t: f64) -> Bounds {
        exceedance(&self.noise, 1.0, t)
    }

    /// In closed form, or `E|X|` less the integral of the convex `P[|X| > s]` from 0 to `t`.
    fn excess(&self, t: f64) -> Bounds {
        match self.mechanism.inverse_scale() {
            InverseScale::TwoPoint(_) | InverseScale::Gamma(_) => {
                self.noise.excess(Bounds::exact(t))
            }
            InverseScale::Uniform(_)
            | InverseScale::TruncatedGaussian(_)
            | InverseScale::Combined(_) => {
                let all = self.mean_absolute();
                if t <= 0.0 || !all.is_finite() {
                    return all;
                }
                let options =
                    Options { relative_tolerance: 1e-10, pieces: 20_000, ..Options::default() };
                let near = integrate_convex(|s| self.exceedance(s), 0.0, t, &options);
                (all - near).clamp(0.0, f64::INFINITY)
            }
        }
    }

    fn mean_square(&self) -> Bounds {
        self.mechanism.mean_square_error()
    }

    fn entropy(&self) -> Bounds {
        self.mechanism.entropy()
    }

    fn density(&self, x: f64) -> f64 {
        self.noise.density_bounds(Bounds::exact(x.abs())).estimate()
    }
}
