//! Gaussian noise whose standard deviation is itself random.

use crate::NoiseError;
use crate::noise::Noise;
use crate::parameter::positive;
use reticent_numerics::error_function::normal_tail;
use reticent_numerics::normal::{normal_density, normal_sf};
use reticent_numerics::{Bounds, Enclosure, require};

/// A normal draw whose standard deviation is drawn afresh, in secret, for each release.
///
/// # Distribution
/// With standard deviations `s_i` and weights `w_i`: `f(x) = sum w_i phi(x/s_i)/s_i` and
/// `P[X > x] = sum w_i Q(x/s_i)`, both up to the factor `c = sum w_i`, so that the weights need not
/// add up to one exactly. As a mixture of symmetric unimodal densities about the same point it is
/// symmetric and unimodal. The two stages are never carried out: the sampler draws from the mixture
/// itself, so that no drawn scale exists that could be kept or reused.
///
/// # Guarantee
/// Approximate differential privacy; the loss is not monotone in general, so the profile is that of
/// the mixture itself.
///
/// # References
/// Mohammady, *Randomized privacy budget differential privacy*, 2018, Eqns 4, 5, 8 and 9.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixture {
    components: Vec<(f64, f64)>,
}

impl GaussianMixture {
    /// The standard deviations with their weights.
    ///
    /// # Errors
    /// If there are none or more than 1000, a standard deviation is not from 1e-150 to 1e150, a
    /// weight is not from 1e-300 to 1, or the weights do not add up to 1 within 1e-9.
    pub fn new(components: Vec<(f64, f64)>) -> Result<Self, NoiseError> {
        let count = components.len();
        require(
            (1..=1000).contains(&count),
            "number of standard deviations",
            count as f64,
            "from 1 to 1000",
        )?;
        for &(sigma, weight) in &components {
            positive("standard deviation", sigma)?;
            require(
                (1e-300..=1.0).contains(&weight),
                "weight",
                weight,
                "a number from 1e-300 to 1",
            )?;
        }
        let sum: f64 = components.iter().map(|&(_, weight)| weight).sum();
        require((sum - 1.0).abs() <= 1e-9, "sum of the weights", sum, "1, to within 1e-9")?;
        Ok(GaussianMixture { components })
    }

    /// The standard deviations with their weights.
    pub fn components(&self) -> &[(f64, f64)] {
        &self.components
    }

    /// `sum w_i value(s_i)`.
    pub fn weighted<E: Enclosure>(&self, like: &E, value: impl Fn(E) -> E) -> E {
        self.components.iter().fold(like.exactly(0.0), |sum, &(sigma, weight)| {
            sum + like.exactly(weight) * value(like.exactly(sigma))
        })
    }
}

impl Noise for GaussianMixture {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        let root = x.pi().times_power_of_two(1).sqrt();
        let sum = self.weighted(x, |sigma| {
            let z = x.clone() / sigma.clone();
            (-(z.clone() * z).times_power_of_two(-1)).exp() / sigma
        });
        sum / root
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        self.weighted(x, |sigma| normal_tail(&(x.clone() / sigma)))
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        self.weighted(like, |sigma| sigma.exactly(1.0))
    }

    fn density_bounds(&self, x: Bounds) -> Bounds {
        self.weighted(&x, |sigma| normal_density(x / sigma) / sigma)
    }

    fn tail_bounds(&self, x: Bounds) -> Bounds {
        self.weighted(&x, |sigma| normal_sf(x / sigma))
    }

    fn magnitude(&self) -> f64 {
        // The width of the middle: the reciprocal of the peak.
        let peak: f64 = self.components.iter().map(|&(sigma, weight)| weight / sigma).sum();
        (1.0 / peak).clamp(1e-150, 1e150)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomness::SeededRandom;
    use crate::{Lattice, Sampler};
    use reticent_numerics::Big;

    fn mixture() -> GaussianMixture {
        GaussianMixture::new(vec![(1.0, 0.75), (10.0, 0.25)]).expect("valid")
    }

    #[test]
    fn precisions_agree_and_narrow() {
        for x in [0.0, 0.3, 2.0, 30.0, 200.0] {
            let sharp =
                (mixture().density(&Big::exact(x, 200)), mixture().tail(&Big::exact(x, 200)));
            let fast = (
                mixture().density_bounds(Bounds::exact(x)),
                mixture().tail_bounds(Bounds::exact(x)),
            );
            assert!(
                fast.0.intersect(sharp.0.bounds()).is_finite()
                    && fast.1.intersect(sharp.1.bounds()).is_finite()
            );
            assert!(fast.0.relative_width() < 1e-12 && fast.1.relative_width() < 1e-12, "{x}");
        }
    }

    #[test]
    fn draws_follow_the_tail_of_the_mixture() {
        let lattice = Lattice::of_spacing_power(-30).expect("within range");
        let sampler = Sampler::new(mixture(), 1.0, lattice).expect("valid");
        let mut random = SeededRandom::new(11);
        let count = 40_000;
        let draws: Vec<f64> = (0..count)
            .map(|_| lattice.value(sampler.draw(&mut random).expect("seeded bits")))
            .collect();
        for x in [0.5, 1.0, 3.0, 10.0, 20.0] {
            let tail = 2.0 * mixture().tail_bounds(Bounds::exact(x)).estimate();
            let seen = draws.iter().filter(|draw| draw.abs() > x).count() as f64 / f64::from(count);
            // Six standard deviations: 2e-9 in each of 5 cases.
            assert!(
                (seen - tail).abs() < 6.0 * (tail * (1.0 - tail) / f64::from(count)).sqrt(),
                "{x}: {seen} {tail}"
            );
        }
    }

    #[test]
    fn bad_mixtures_are_refused() {
        for bad in [
            vec![],
            vec![(1.0, 0.5)],
            vec![(1.0, 0.5), (f64::NAN, 0.5)],
            vec![(0.0, 1.0)],
            vec![(1.0, -0.5), (2.0, 1.5)],
            vec![(1.0, f64::NAN)],
        ] {
            assert!(GaussianMixture::new(bad.clone()).is_err(), "{bad:?}");
        }
    }
}
