//! An inverse scale with a gamma distribution.

use crate::NoiseError;
use crate::parameter::positive;
use reticent_numerics::{Enclosure, require};

/// `T` with density proportional to `t^(k-1) exp(-t / theta)`.
///
/// `E[exp(-x T)] = (1 + theta x)^-k`: the noise has the tail of a power law. Its mean absolute
/// value is finite for `k > 1` and its variance for `k > 2` only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaScale {
    shape: f64,
    scale: f64,
}

impl GammaScale {
    /// The shape `k` and the scale `theta`.
    ///
    /// # Errors
    /// If the shape is not a number from 0.1 to 1e6 or the scale not from 1e-150 to 1e150.
    pub fn new(shape: f64, scale: f64) -> Result<Self, NoiseError> {
        require((0.1..=1e6).contains(&shape), "shape", shape, "a number from 0.1 to 1e6")?;
        positive("scale", scale)?;
        Ok(GammaScale { shape, scale })
    }

    /// `k`.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// `theta`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    pub(super) fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        GammaScale::new(self.shape, self.scale / factor)
    }

    /// `E[T^j exp(-x T)] / j! = k (k+1) ... (k+j-1) / j! * theta^j (1 + theta x)^(-k-j)`.
    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let factor = x.exactly(self.scale) / (x.exactly(1.0) + x.exactly(self.scale) * x.clone());
        let mut moments = vec![self.transform(x)];
        for j in 1..=order {
            let rise = (x.exactly(self.shape) + x.exactly((j - 1) as f64)) / x.exactly(j as f64);
            moments.push(moments[j - 1].clone() * rise * factor.clone());
        }
        moments
    }

    /// `ln(1 + theta x)`.
    fn logarithm<E: Enclosure>(&self, x: &E) -> E {
        (x.exactly(self.scale) * x.clone()).ln_1p()
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        (-(x.exactly(self.shape) * self.logarithm(x))).exp()
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        // k theta (1 + theta x)^(-k-1)
        let exponent = x.exactly(self.shape) + x.exactly(1.0);
        x.exactly(self.shape) * x.exactly(self.scale) * (-(exponent * self.logarithm(x))).exp()
    }
}
