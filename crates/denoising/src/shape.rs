//! The shape of noise of scale 1: density, tails, moments, as estimates.
//!
//! Denoising guarantees no privacy, so that plain `f64` figures are enough here; where they come
//! from the certified bounds of `reticent-noise` the middle of the bounds is taken.

use crate::error::DenoisingError;
use reticent_noise::error::{exceedance, quantile};
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GaussianMixture, GeneralizedGaussian, Jittered,
    Laplace, Noise, RandomScaleLaplace, Staircase, Table, TruncatedLaplace,
};
use reticent_numerics::Bounds;
use reticent_numerics::gamma::gamma;
use reticent_numerics::normal::normal_sf;

/// A symmetric noise distribution of scale 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// The standard normal distribution.
    Gaussian,
    /// The Laplace distribution of scale 1, variance 2.
    Laplace,
    /// Density proportional to `exp(-|z|^p)`.
    GeneralizedGaussian(GeneralizedGaussian),
    /// Steps of a sensitivity of 1.
    Staircase(Staircase),
    /// Normal with a random standard deviation.
    GaussianMixture(GaussianMixture),
    /// Laplace with a random scale.
    RandomScaleLaplace(RandomScaleLaplace),
    /// Two-sided geometric noise on the integers.
    DiscreteLaplace(DiscreteLaplace),
    /// Discrete Gaussian noise on the integers.
    DiscreteGaussian(DiscreteGaussian),
    /// Laplace noise of scale 1 that ends.
    TruncatedLaplace(TruncatedLaplace),
    /// Noise from a table, uniform within half a step of each step. On integers the noise is the
    /// step itself, whose variance is a twelfth less.
    Table(Jittered<Table>),
}

/// Runs a generic function of the underlying distribution.
macro_rules! with_noise {
    ($shape:expr, $noise:ident => $body:expr) => {
        match $shape {
            Shape::Gaussian => {
                let $noise = &Gaussian;
                $body
            }
            Shape::Laplace => {
                let $noise = &Laplace;
                $body
            }
            Shape::GeneralizedGaussian($noise) => $body,
            Shape::Staircase($noise) => $body,
            Shape::GaussianMixture($noise) => $body,
            Shape::RandomScaleLaplace($noise) => $body,
            Shape::TruncatedLaplace($noise) => $body,
            Shape::Table($noise) => $body,
            Shape::DiscreteLaplace(noise) => {
                let $noise = &Jittered(*noise);
                $body
            }
            Shape::DiscreteGaussian(noise) => {
                let $noise = &Jittered(*noise);
                $body
            }
        }
    };
}

impl Shape {
    /// The density at `z`. For noise on the integers the probability of the nearest integer, which
    /// is the density of the noise with each integer's mass spread evenly around it.
    pub fn density(&self, z: f64) -> f64 {
        let z = z.abs();
        match self {
            Shape::Gaussian => (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt(),
            Shape::Laplace => 0.5 * (-z).exp(),
            shape => with_noise!(shape, noise => {
                let mass = noise.mass(&Bounds::ONE).estimate();
                noise.density_bounds(Bounds::exact(z)).estimate() / mass
            }),
        }
    }

    /// `P[|Z| > z]` for `z >= 0`.
    pub fn exceedance(&self, z: f64) -> f64 {
        with_noise!(self, noise => exceedance(noise, 1.0, z).estimate())
    }

    /// `E[Z^2]`; infinite where it is.
    pub fn variance(&self) -> f64 {
        self.moment(2)
    }

    /// `E[Z^4]`; infinite where it is.
    pub fn fourth_moment(&self) -> f64 {
        self.moment(4)
    }

    /// `E[Z^4] - 3 E[Z^2]^2`, the fourth cumulant: 0 for Gaussian noise, 12 for Laplace.
    pub fn fourth_cumulant(&self) -> f64 {
        match self {
            Shape::Gaussian => 0.0,
            shape => shape.fourth_moment() - 3.0 * shape.variance() * shape.variance(),
        }
    }

    /// Whether draws are integers.
    pub fn is_discrete(&self) -> bool {
        matches!(self, Shape::DiscreteLaplace(_) | Shape::DiscreteGaussian(_))
    }

    /// The threshold that `count` draws of pure noise exceed as seldom as Gaussian draws exceed
    /// Donoho and Johnstone's `sqrt(2 ln count)`: the `t` with
    /// `P[|Z| > t] = 2 Q(sqrt(2 ln count))`.
    ///
    /// For Gaussian noise it is `sqrt(2 ln count)` itself. For Laplace noise it is about
    /// `ln count + ln(pi ln count)/2`: the Gaussian formula, with the same standard deviation,
    /// would let `count exp(-2 sqrt(ln count))` values of pure noise through, 5 of a thousand and
    /// 590 of a million.
    ///
    /// # Errors
    /// If the tails of the noise are not known well enough.
    pub fn universal_threshold(&self, count: usize) -> Result<f64, DenoisingError> {
        let gaussian = (2.0 * (count.max(1) as f64).ln()).sqrt();
        if matches!(self, Shape::Gaussian) || gaussian == 0.0 {
            return Ok(gaussian);
        }
        let outside = 2.0 * normal_sf(gaussian).estimate();
        if let Shape::Laplace = self {
            return Ok(-outside.ln());
        }
        let found = with_noise!(self, noise => quantile(noise, 1.0, 1.0 - outside));
        found.map(|bounds| bounds.estimate()).map_err(|_| DenoisingError::UnsuitedNoise {
            method: "a threshold",
            reason: "its tails are not known well enough to say what it seldom exceeds",
        })
    }

    /// `E[Z^order]` for `order` 2 or 4.
    fn moment(&self, order: i32) -> f64 {
        let is_square = order == 2;
        match self {
            Shape::Gaussian => [1.0, 3.0][usize::from(!is_square)],
            Shape::Laplace => [2.0, 24.0][usize::from(!is_square)],
            Shape::GeneralizedGaussian(noise) => {
                // E|Z|^k = Gamma((k+1)/p) / Gamma(1/p).
                let ratio = |k: f64| gamma(&(Bounds::exact(k) / Bounds::exact(noise.order())));
                (ratio(f64::from(order) + 1.0) / ratio(1.0)).estimate()
            }
            Shape::GaussianMixture(noise) => {
                let factor = if is_square { 1.0 } else { 3.0 };
                let mass: f64 = noise.components().iter().map(|&(_, weight)| weight).sum();
                let sum: f64 = noise
                    .components()
                    .iter()
                    .map(|&(sigma, weight)| weight * sigma.powi(order))
                    .sum();
                factor * sum / mass
            }
            Shape::Staircase(noise) => staircase_moment(noise, is_square),
            Shape::DiscreteLaplace(noise) => {
                let q = (-1.0 / noise.scale()).exp();
                let rest = -(-1.0 / noise.scale()).exp_m1();
                if is_square {
                    2.0 * q / (rest * rest)
                } else {
                    2.0 * q * (1.0 + 11.0 * q + 11.0 * q * q + q * q * q)
                        / (rest.powi(4) * (1.0 + q))
                }
            }
            Shape::DiscreteGaussian(noise) => discrete_gaussian_moment(noise.sigma(), order),
            Shape::RandomScaleLaplace(noise) => random_scale_moment(noise, order),
            Shape::TruncatedLaplace(noise) => {
                // E|Z|^m = m! - e^-a/(1 - e^-a) sum over j = 1 .. m of a^j m!/j!.
                let a = noise.support_in_scales();
                let (terms, whole) = if is_square {
                    (a * (a + 2.0), 2.0)
                } else {
                    (a * (24.0 + a * (12.0 + a * (4.0 + a))), 24.0)
                };
                whole - terms / a.exp_m1()
            }
            Shape::Table(Jittered(table)) => table_moment(table, is_square),
        }
    }

    /// The distribution of an inverse scale that an event describes.
    pub(crate) fn inverse_scale(
        event: &reticent_events::InverseScale,
    ) -> Result<InverseScale, DenoisingError> {
        use reticent_events::InverseScale as Described;
        Ok(match event {
            Described::TwoPoint { first, second, weight } => {
                TwoPointScale::new(*first, *second, *weight)?.into()
            }
            Described::Gamma { shape, theta } => GammaScale::new(*shape, *theta)?.into(),
            Described::Uniform { lower, upper } => UniformScale::new(*lower, *upper)?.into(),
            Described::TruncatedGaussian { mu, sigma, lower, upper } => {
                TruncatedGaussianScale::new(*mu, *sigma, *lower, *upper)?.into()
            }
            Described::Combined { parts } => {
                let parts =
                    parts.iter().map(|(weight, part)| Ok((*weight, Self::inverse_scale(part)?)));
                Combined::new(parts.collect::<Result<_, DenoisingError>>()?)?.into()
            }
        })
    }
}

/// `2 a sum_k b^k [((k+g)^(m+1) - k^(m+1)) + b ((k+1)^(m+1) - (k+g)^(m+1))] / (m+1)`, the powers of
/// `k` summed in closed form.
fn staircase_moment(noise: &Staircase, is_square: bool) -> f64 {
    let (b, rest) = ((-noise.epsilon()).exp(), -(-noise.epsilon()).exp_m1());
    let peak = noise.peak(&Bounds::ONE).estimate();
    // sum_k k^j b^k for j = 0 .. 4 (Eulerian polynomials).
    let sums = [
        1.0 / rest,
        b / rest.powi(2),
        b * (1.0 + b) / rest.powi(3),
        b * (1.0 + 4.0 * b + b * b) / rest.powi(4),
        b * (1.0 + 11.0 * b + 11.0 * b * b + b * b * b) / rest.powi(5),
    ];
    let binomials: &[f64] = if is_square { &[1.0, 3.0, 3.0] } else { &[1.0, 5.0, 10.0, 10.0, 5.0] };
    // (k + x)^n - k^n = sum_j C(n, j) k^j x^(n-j), j < n.
    let n = binomials.len();
    let grown =
        |x: f64| -> f64 { (0..n).map(|j| binomials[j] * sums[j] * x.powi((n - j) as i32)).sum() };
    let upper_half = grown(noise.gamma());
    2.0 * peak * (upper_half + b * (grown(1.0) - upper_half)) / n as f64
}

/// `E (N + U)^m` for a step `N` and `U` uniform on `[-1/2, 1/2)`.
fn table_moment(table: &Table, is_square: bool) -> f64 {
    let sum = |power: i32| -> f64 {
        let term = |(k, weight): (usize, &u128)| 2.0 * (k as f64).powi(power) * *weight as f64;
        table.weights().iter().enumerate().map(term).sum::<f64>() / table.total() as f64
    };
    if is_square { sum(2) + 1.0 / 12.0 } else { sum(4) + 0.5 * sum(2) + 1.0 / 80.0 }
}

/// Summed where the sum is short; beyond `sigma = 6` the difference from the normal moments is
/// below `exp(-2 pi^2 sigma^2) < 1e-300`.
fn discrete_gaussian_moment(sigma: f64, order: i32) -> f64 {
    if sigma > 6.0 {
        return if order == 2 { sigma * sigma } else { 3.0 * sigma.powi(4) };
    }
    let weight = |n: f64| (-0.5 * (n / sigma).powi(2)).exp();
    let range = 1..=(40.0 * sigma).ceil() as u32;
    let mass = 1.0 + 2.0 * range.clone().map(|n| weight(f64::from(n))).sum::<f64>();
    2.0 * range.map(|n| f64::from(n).powi(order) * weight(f64::from(n))).sum::<f64>() / mass
}

/// `E[Z^m] = 2 m int x^(m-1) P[Z > x] dx`, by the trapezoidal rule in `ln x`, which converges
/// geometrically for tails that are analytic as those of a mixture of Laplace distributions are.
/// Infinite where the integrand has not become negligible `e^60` magnitudes out.
fn random_scale_moment(noise: &RandomScaleLaplace, order: i32) -> f64 {
    const STEP: f64 = 0.125;
    let unit = noise.magnitude();
    let term = |j: i32| {
        let x = unit * (STEP * f64::from(j)).exp();
        x.powi(order) * noise.tail_bounds(Bounds::exact(x)).estimate()
    };
    let terms: Vec<f64> = (-320..=480).map(term).collect();
    let largest = terms.iter().copied().fold(0.0, f64::max);
    let last = terms.last().copied().unwrap_or(f64::INFINITY);
    if !largest.is_finite() || last > 1e-9 * largest {
        return f64::INFINITY;
    }
    2.0 * f64::from(order) * STEP * terms.iter().sum::<f64>() / noise.mass(&Bounds::ONE).estimate()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::Gaussian,
            Shape::Laplace,
            Shape::GeneralizedGaussian(GeneralizedGaussian::new(3.0).expect("valid")),
            Shape::Staircase(Staircase::new(0.7, 0.3).expect("valid")),
            Shape::GaussianMixture(
                GaussianMixture::new(vec![(1.0, 0.75), (4.0, 0.25)]).expect("valid"),
            ),
            Shape::RandomScaleLaplace(RandomScaleLaplace::new(
                TwoPointScale::new(0.5, 2.0, 0.4).expect("valid"),
            )),
            Shape::TruncatedLaplace(TruncatedLaplace::new(4.0).expect("valid")),
            Shape::Table(Jittered(Table::new(vec![40, 30, 30, 5, 4, 1]).expect("valid"))),
        ]
    }

    /// The moments by the plainest quadrature of the density.
    #[test]
    fn moments_are_those_of_the_density() {
        for shape in shapes() {
            let (mut mass, mut square, mut fourth) = (0.0, 0.0, 0.0);
            let step = 1e-3;
            for k in 0..100_000 {
                let z = step * (f64::from(k) + 0.5);
                let weight = 2.0 * step * shape.density(z);
                mass += weight;
                square += weight * z * z;
                fourth += weight * z.powi(4);
            }
            assert!((mass - 1.0).abs() < 1e-5, "{shape:?}: {mass}");
            assert!(
                (square / shape.variance() - 1.0).abs() < 1e-5,
                "{shape:?}: {square} {}",
                shape.variance()
            );
            assert!((fourth / shape.fourth_moment() - 1.0).abs() < 1e-5, "{shape:?}: {fourth}");
        }
    }

    #[test]
    fn integer_noise_has_the_moments_of_its_probabilities() {
        for shape in [
            Shape::DiscreteLaplace(DiscreteLaplace::new(2.5).expect("valid")),
            Shape::DiscreteGaussian(DiscreteGaussian::new(0.8).expect("valid")),
            Shape::DiscreteGaussian(DiscreteGaussian::new(7.0).expect("valid")),
        ] {
            let sum = |power: i32| -> f64 {
                (1..=200)
                    .map(|n| 2.0 * shape.density(f64::from(n)) * f64::from(n).powi(power))
                    .sum()
            };
            assert!((shape.variance() / sum(2) - 1.0).abs() < 1e-12, "{shape:?}");
            assert!((shape.fourth_moment() / sum(4) - 1.0).abs() < 1e-12, "{shape:?}");
        }
    }

    #[test]
    fn an_infinite_variance_is_infinite() {
        let heavy = Shape::RandomScaleLaplace(RandomScaleLaplace::new(
            GammaScale::new(1.8, 1.0).expect("valid"),
        ));
        assert_eq!(heavy.variance(), f64::INFINITY);
        // Gamma(k, theta): 2 E[1/T^2] = 2 / (theta^2 (k-1)(k-2)), and the fourth moment is infinite
        // for k <= 4.
        let lighter = Shape::RandomScaleLaplace(RandomScaleLaplace::new(
            GammaScale::new(3.5, 0.5).expect("valid"),
        ));
        assert!(
            (lighter.variance() / (2.0 / (0.25 * 2.5 * 1.5)) - 1.0).abs() < 1e-6,
            "{}",
            lighter.variance()
        );
        assert_eq!(lighter.fourth_moment(), f64::INFINITY);
    }

    #[test]
    fn universal_thresholds_are_exceeded_equally_seldom() {
        let outside = Shape::Gaussian.exceedance((2.0f64 * 1000f64.ln()).sqrt());
        for shape in shapes() {
            let threshold = shape.universal_threshold(1000).expect("known tails");
            assert!((shape.exceedance(threshold) / outside - 1.0).abs() < 1e-9, "{shape:?}");
        }
        assert_eq!(Shape::Laplace.universal_threshold(1), Ok(0.0));
    }
}
