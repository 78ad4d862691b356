//! Discrete Laplace noise (the two-sided geometric distribution).

use crate::NoiseError;
use crate::integer_noise::IntegerNoise;
use reticent_numerics::{Enclosure, require};

/// The discrete Laplace distribution of scale `b`.
///
/// # Distribution
/// `P[N = n] = (1 - q) / (1 + q) q^|n|` with `q = exp(-1/b)`; `P[N >= n] = q^n / (1 + q)` for
/// `n >= 1`.
///
/// # Guarantee
/// Pure epsilon-differential privacy with `epsilon = D / b` for integer answers that move by at
/// most `D`, and this is tight.
///
/// # References
/// Ghosh, Roughgarden, Sundararajan, *Universally utility-maximizing privacy mechanisms*, 2009.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLaplace {
    scale: f64,
}

impl DiscreteLaplace {
    /// Noise of scale `b`.
    ///
    /// # Errors
    /// If the scale is not a number from 1e-3 to 2^60.
    pub fn new(scale: f64) -> Result<Self, NoiseError> {
        let accepted = "a number from 1e-3 to 2^60 (about 1.15e18)";
        require((1e-3..=1_152_921_504_606_846_976.0).contains(&scale), "scale", scale, accepted)?;
        Ok(DiscreteLaplace { scale })
    }

    /// `b`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// `q^n`.
    fn power<E: Enclosure>(&self, n: u128, like: &E) -> E {
        // Numbers beyond 2^126 are not drawn, see `Sampler::draw`.
        (-(like.integer(n.min(i128::MAX as u128) as i128) / like.exactly(self.scale))).exp()
    }
}

/// Not normalised: `c = (1 + q) / (1 - q)`, so that `P[N = 0]` becomes 1.
impl IntegerNoise for DiscreteLaplace {
    fn probability<E: Enclosure>(&self, n: u128, like: &E) -> E {
        self.power(n, like)
    }

    fn upper_tail<E: Enclosure>(&self, n: u128, like: &E) -> E {
        // q^n (1 + q + q^2 + ...)
        self.power(n, like) / -(-like.exactly(1.0) / like.exactly(self.scale)).exp_m1()
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        let exponent = -like.exactly(1.0) / like.exactly(self.scale);
        (like.exactly(1.0) + exponent.clone().exp()) / -exponent.exp_m1()
    }

    fn magnitude(&self) -> f64 {
        self.scale
    }
}
