//! What is known of the size of an error.

use crate::excess::Excess;
use reticent_mechanisms::{Errors, Mechanism};
use reticent_noise::Noise;
use reticent_noise::error::exceedance;
use reticent_numerics::Bounds;
use reticent_numerics::quadrature::{Options, integrate_convex, integrate_monotone};
use reticent_numerics::root::Direction;
use std::fmt::Debug;

/// The distribution of `|error|`, through the figures by which every metric is expressed.
///
/// # Contract
/// Each figure encloses the truth. For a mechanism whose error depends on the answer they are those
/// of the worst answer.
pub trait ErrorLaw: Debug + Send + Sync {
    /// `P[|error| > t]` for `t >= 0`.
    fn exceedance(&self, t: f64) -> Bounds;

    /// `E(|error| - t)_+` for `t >= 0`.
    fn excess(&self, t: f64) -> Bounds;

    /// `E error^2`.
    fn mean_square(&self) -> Bounds;

    /// The differential entropy, or Shannon's for integers, in nats.
    fn entropy(&self) -> Bounds;

    /// Whether errors are integers.
    fn is_integer(&self) -> bool {
        false
    }

    /// The density at `x`, or the probability of the integer next to it. An estimate, for pictures.
    fn density(&self, x: f64) -> f64;
}

/// Additive noise of a scale.
#[derive(Debug)]
pub struct Additive<N> {
    noise: N,
    scale: f64,
    mean_square: Bounds,
    entropy: Bounds,
}

impl<N: Noise> Additive<N> {
    /// The law of `scale X`. The moments come from the mechanism that adds it.
    pub fn new(noise: N, scale: f64, errors: &Errors) -> Self {
        Self::with_moments(noise, scale, errors.root_mean_square.square(), errors.entropy)
    }

    /// The law of `scale X`, with its mean square and its entropy; the whole line stands for one
    /// that is not needed.
    pub fn with_moments(noise: N, scale: f64, mean_square: Bounds, entropy: Bounds) -> Self {
        Additive { noise, scale, mean_square, entropy }
    }
}

impl<N: Excess> ErrorLaw for Additive<N> {
    fn exceedance(&self, t: f64) -> Bounds {
        exceedance(&self.noise, self.scale, t)
    }

    fn excess(&self, t: f64) -> Bounds {
        let scale = Bounds::exact(self.scale);
        self.noise.excess(Bounds::exact(t) / scale) * scale
    }

    fn mean_square(&self) -> Bounds {
        self.mean_square
    }

    fn entropy(&self) -> Bounds {
        self.entropy
    }

    fn density(&self, x: f64) -> f64 {
        let at = Bounds::exact(x.abs()) / Bounds::exact(self.scale);
        let mass = self.noise.mass(&Bounds::ONE).estimate() * self.scale;
        self.noise.density_bounds(at).estimate() / mass
    }
}

/// An error that stays below a range, known by what the mechanism says of its worst answer.
#[derive(Debug)]
pub struct WorstAnswer<M> {
    mechanism: M,
    range: f64,
    errors: Errors,
}

impl<M: Mechanism> WorstAnswer<M> {
    /// The law of a bounded mechanism's error, if it is known.
    pub fn new(mechanism: M, range: f64) -> Option<Self> {
        let errors = mechanism.errors()?;
        Some(WorstAnswer { mechanism, range, errors })
    }
}

impl<M: Mechanism> ErrorLaw for WorstAnswer<M> {
    fn exceedance(&self, t: f64) -> Bounds {
        let within = self.mechanism.usefulness(t).unwrap_or(Bounds::new(0.0, 1.0));
        (Bounds::ONE - within).clamp(0.0, 1.0)
    }

    /// The worst answer for one threshold need not be the worst for another, so that the integral
    /// of the worst tails is an upper bound alone. It is that of a function that falls.
    fn excess(&self, t: f64) -> Bounds {
        if t <= 0.0 {
            return self.errors.mean_absolute;
        }
        if t >= self.range {
            return Bounds::ZERO;
        }
        let options = Options { relative_tolerance: 1e-6, pieces: 4000, ..Options::default() };
        let integral = integrate_monotone(
            |t| self.exceedance(t),
            Direction::Decreasing,
            t,
            self.range,
            &options,
        );
        Bounds::new(0.0, integral.upper())
    }

    fn mean_square(&self) -> Bounds {
        self.errors.root_mean_square.square()
    }

    fn entropy(&self) -> Bounds {
        self.errors.entropy
    }

    fn density(&self, x: f64) -> f64 {
        let step = 1e-4 * self.range;
        let (near, far) =
            (self.exceedance((x.abs() - step).max(0.0)), self.exceedance(x.abs() + step));
        let width = if x.abs() < step { x.abs() + step } else { 2.0 * step };
        // Both signs share it.
        0.5 * (near.estimate() - far.estimate()) / width
    }
}

/// Noise of which only the convex tail and the mean are known in closed form:
/// `E(|X| - t)_+ = E|X| - integral of P[|X| > s] from 0 to t`.
#[derive(Debug)]
pub struct Integrated<N> {
    noise: N,
    scale: f64,
    errors: Errors,
}

impl<N: Noise> Integrated<N> {
    /// The law of `scale X`. The moments come from the mechanism that adds it.
    pub fn new(noise: N, scale: f64, errors: &Errors) -> Self {
        Integrated { noise, scale, errors: *errors }
    }
}

impl<N: Noise> ErrorLaw for Integrated<N> {
    fn exceedance(&self, t: f64) -> Bounds {
        exceedance(&self.noise, self.scale, t)
    }

    fn excess(&self, t: f64) -> Bounds {
        let options = Options { relative_tolerance: 1e-11, pieces: 20_000, ..Options::default() };
        let near = integrate_convex(|s| self.exceedance(s), 0.0, t, &options);
        (self.errors.mean_absolute - near).clamp(0.0, f64::INFINITY)
    }

    fn mean_square(&self) -> Bounds {
        self.errors.root_mean_square.square()
    }

    fn entropy(&self) -> Bounds {
        self.errors.entropy
    }

    fn density(&self, x: f64) -> f64 {
        let at = Bounds::exact(x.abs()) / Bounds::exact(self.scale);
        self.noise.density_bounds(at).estimate()
            / (self.noise.mass(&Bounds::ONE).estimate() * self.scale)
    }
}
