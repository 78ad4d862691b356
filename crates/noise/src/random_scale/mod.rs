//! Laplace noise whose scale is itself random (R2DP).

mod combined;
mod gamma;
mod moments;
mod truncated_gaussian;
mod two_point;
mod uniform;

pub use combined::Combined;
pub use gamma::GammaScale;
pub use truncated_gaussian::TruncatedGaussianScale;
pub use two_point::TwoPointScale;
pub use uniform::UniformScale;

use crate::NoiseError;
use crate::noise::Noise;
use reticent_numerics::rounding::{add_down, mul_down};
use reticent_numerics::{Bounds, Enclosure};

/// The distribution of `T = 1/b`, the random inverse scale of a Laplace draw, through the two
/// integrals by which everything about the mixture is expressed.
#[derive(Clone, Debug, PartialEq)]
pub enum InverseScale {
    /// One of two values.
    TwoPoint(TwoPointScale),
    /// A gamma distribution.
    Gamma(GammaScale),
    /// Uniform on an interval.
    Uniform(UniformScale),
    /// A normal distribution truncated to an interval.
    TruncatedGaussian(TruncatedGaussianScale),
    /// A sum of independent parts with positive weights.
    Combined(Combined),
}

impl InverseScale {
    /// `E[exp(-x T)]` for `x >= 0`: the moment generating function `M` at `-x`.
    pub fn transform<E: Enclosure>(&self, x: &E) -> E {
        match self {
            InverseScale::TwoPoint(family) => family.transform(x),
            InverseScale::Gamma(family) => family.transform(x),
            InverseScale::Uniform(family) => family.transform(x),
            InverseScale::TruncatedGaussian(family) => family.transform(x),
            InverseScale::Combined(family) => family.transform(x),
        }
    }

    /// `E[T^j exp(-x T)] / j!` for `j = 0 ..= order` and `x >= 0`: up to sign the Taylor
    /// coefficients of the transform at `x`.
    ///
    /// As functions of `x` all of them are positive and decrease: the transform is completely
    /// monotone.
    pub fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        match self {
            InverseScale::TwoPoint(family) => family.tilted_moments(order, x),
            InverseScale::Gamma(family) => family.tilted_moments(order, x),
            InverseScale::Uniform(family) => family.tilted_moments(order, x),
            InverseScale::TruncatedGaussian(family) => family.tilted_moments(order, x),
            InverseScale::Combined(family) => family.tilted_moments(order, x),
        }
    }

    /// The same shape with every `T` divided by `factor`, and so the noise multiplied by it, up to
    /// the rounding of the parameters.
    ///
    /// # Errors
    /// If a parameter leaves the range that its family accepts.
    pub fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        Ok(match self {
            InverseScale::TwoPoint(family) => family.divided(factor)?.into(),
            InverseScale::Gamma(family) => family.divided(factor)?.into(),
            InverseScale::Uniform(family) => family.divided(factor)?.into(),
            InverseScale::TruncatedGaussian(family) => family.divided(factor)?.into(),
            InverseScale::Combined(family) => family.divided(factor)?.into(),
        })
    }

    /// The largest number that `T` is never below, rounded down.
    pub fn least(&self) -> f64 {
        match self {
            InverseScale::TwoPoint(family) => family.least(),
            InverseScale::Gamma(_) => 0.0,
            InverseScale::Uniform(family) => family.lower(),
            InverseScale::TruncatedGaussian(family) => family.lower(),
            InverseScale::Combined(family) => family
                .parts()
                .iter()
                .fold(0.0, |sum, (weight, part)| add_down(sum, mul_down(*weight, part.least()))),
        }
    }

    /// `E[T exp(-x T)]` for `x >= 0`: the derivative `M'` at `-x`.
    pub fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        match self {
            InverseScale::TwoPoint(family) => family.tilted_mean(x),
            InverseScale::Gamma(family) => family.tilted_mean(x),
            InverseScale::Uniform(family) => family.tilted_mean(x),
            InverseScale::TruncatedGaussian(family) => family.tilted_mean(x),
            InverseScale::Combined(family) => family.tilted_mean(x),
        }
    }
}

impl InverseScale {
    /// [`InverseScale::tilted_mean`] between two `f64`, by a faster way where there is one.
    fn tilted_mean_bounds(&self, x: Bounds) -> Bounds {
        match self {
            InverseScale::TruncatedGaussian(family) => family.tilted_mean_bounds(x),
            other => other.tilted_mean(&x),
        }
    }
}

macro_rules! family_into_inverse_scale {
    ($($family:ident => $variant:ident),+ $(,)?) => {$(
        impl From<$family> for InverseScale {
            fn from(family: $family) -> Self {
                InverseScale::$variant(family)
            }
        }
    )+};
}

family_into_inverse_scale!(
    TwoPointScale => TwoPoint,
    GammaScale => Gamma,
    UniformScale => Uniform,
    TruncatedGaussianScale => TruncatedGaussian,
    Combined => Combined,
);

/// A Laplace draw whose inverse scale `T` is drawn afresh, in secret, for each release.
///
/// # Distribution
/// `f(x) = E[T exp(-|x| T)] / 2` and `P[X > x] = E[exp(-x T)] / 2` for `x >= 0`. The two stages are
/// never carried out: the sampler draws from the mixture itself, so that no drawn scale exists that
/// could be kept or reused (erratum R7).
///
/// # Guarantee
/// Pure differential privacy with `epsilon = ln(E[T] / E[T exp(-D T)])` for a scalar query of
/// sensitivity `D` (Theorem 4.3), because the mixture is log-convex on each side and so loses most
/// at its peak. A moment generating function need not exist for positive arguments (erratum R5);
/// only `E[T]` must be finite.
///
/// # References
/// Mohammady, *Randomized privacy budget differential privacy*, 2018, Theorems 4.1 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomScaleLaplace {
    inverse_scale: InverseScale,
}

impl RandomScaleLaplace {
    /// Noise with the given distribution of the inverse scale.
    pub fn new(inverse_scale: impl Into<InverseScale>) -> Self {
        RandomScaleLaplace { inverse_scale: inverse_scale.into() }
    }

    /// The distribution of the inverse scale.
    pub fn inverse_scale(&self) -> &InverseScale {
        &self.inverse_scale
    }
}

impl Noise for RandomScaleLaplace {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        self.inverse_scale.tilted_mean(x).times_power_of_two(-1)
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        self.inverse_scale.transform(x).times_power_of_two(-1)
    }

    fn density_bounds(&self, x: Bounds) -> Bounds {
        self.inverse_scale.tilted_mean_bounds(x).times_power_of_two(-1)
    }

    fn magnitude(&self) -> f64 {
        // The mean inverse scale sets the height of the peak, and so the width of the middle.
        let mean = self.inverse_scale.tilted_mean_bounds(Bounds::ZERO).estimate();
        (1.0 / mean).clamp(1e-150, 1e150)
    }
}
