//! Laplace noise that ends at a distance.

use crate::NoiseError;
use crate::noise::Noise;
use reticent_numerics::{Enclosure, require};
use std::cmp::Ordering;

/// The Laplace distribution of scale 1, given that it lies within `a` of zero, its support in
/// scales.
///
/// # Distribution
/// `f(x) = exp(-|x|) / (2 (1 - exp(-a)))` for `|x| <= a`, and zero beyond. Not normalised here:
/// `c = 2 (1 - exp(-a))`, so that the density is `exp(-|x|)` and the tail `exp(-x) - exp(-a)`.
///
/// # References
/// Geng, Ding, Guo, Kumar, *Tight analysis of privacy and utility tradeoff in approximate
/// differential privacy*, 2020.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedLaplace {
    support_in_scales: f64,
}

impl TruncatedLaplace {
    /// Noise that ends at `support_in_scales` times its scale.
    ///
    /// # Errors
    /// If that is not a number from 1e-12 to 1e6.
    pub fn new(support_in_scales: f64) -> Result<Self, NoiseError> {
        require(
            (1e-12..=1e6).contains(&support_in_scales),
            "support in scales",
            support_in_scales,
            "a number from 1e-12 to 1e6",
        )?;
        Ok(TruncatedLaplace { support_in_scales })
    }

    /// `a`.
    pub fn support_in_scales(&self) -> f64 {
        self.support_in_scales
    }
}

impl Noise for TruncatedLaplace {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        let zero = x.exactly(0.0);
        match x.compare(&x.exactly(self.support_in_scales)) {
            Some(Ordering::Less) => (-x.clone()).exp(),
            Some(_) => zero,
            None => (-x.clone()).exp().hull(zero),
        }
    }

    /// `exp(-a) (exp(a - x) - 1)`, without cancellation near the end.
    fn tail<E: Enclosure>(&self, x: &E) -> E {
        let (zero, support) = (x.exactly(0.0), x.exactly(self.support_in_scales));
        let inside = || {
            let rest = support.clone() - x.clone();
            // exp(a - x) overflows where exp(-a) vanishes; the plain difference is as good there.
            if self.support_in_scales > 300.0 {
                (-x.clone()).exp() - (-support.clone()).exp()
            } else {
                (-support.clone()).exp() * rest.exp_m1()
            }
        };
        match x.compare(&support) {
            Some(Ordering::Less) => inside(),
            Some(_) => zero,
            None => inside().hull(zero),
        }
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        (-like.exactly(-self.support_in_scales).exp_m1()).times_power_of_two(1)
    }

    fn magnitude(&self) -> f64 {
        self.support_in_scales.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomness::SeededRandom;
    use crate::{Lattice, Sampler};
    use reticent_numerics::{Bounds, Wide};

    #[test]
    fn the_tail_is_the_integral_of_the_density() {
        for support in [1e-9, 0.3, 2.0, 40.0, 500.0] {
            let noise = TruncatedLaplace::new(support).expect("valid");
            let whole = noise.tail(&Wide::ZERO).bounds();
            let half_mass = noise.mass(&Wide::ONE).bounds().times_power_of_two(-1);
            assert!((whole.estimate() / half_mass.estimate() - 1.0).abs() < 1e-14, "{support}");
            for share in [0.0, 0.2, 0.77, 0.999] {
                let x = share * support;
                let formula = (-x).exp() - (-support).exp();
                let tail = noise.tail_bounds(Bounds::exact(x));
                assert!(
                    (tail.estimate() - formula).abs() <= 1e-15 * (1.0 + x) && tail.lower() >= 0.0,
                    "{support} {share} {tail:?}"
                );
            }
            assert_eq!(noise.density_bounds(Bounds::exact(support)), Bounds::ZERO);
            assert_eq!(noise.tail_bounds(Bounds::exact(2.0 * support)), Bounds::ZERO);
            let edge = noise.density_bounds(Bounds::new(support * 0.5, support * 2.0));
            assert!(
                edge.lower() <= 0.0 && edge.upper() >= (-support * 0.5).exp(),
                "an edge in doubt is both"
            );
        }
    }

    #[test]
    fn draws_stay_within_the_support_and_follow_the_law() {
        for (seed, support) in [(1, 0.01), (2, 1.5), (3, 12.0)] {
            let noise = TruncatedLaplace::new(support).expect("valid");
            let lattice = Lattice::for_scale(support.min(1.0)).expect("valid");
            let sampler = Sampler::new(noise, 1.0, lattice).expect("a table");
            assert!(sampler.acceptance() > 0.9, "{support}: {}", sampler.acceptance());
            let mut random = SeededRandom::new(seed);
            let draws: Vec<f64> = (0..60_000)
                .map(|_| lattice.value(sampler.draw(&mut random).expect("seeded")))
                .collect();
            assert!(draws.iter().all(|x| x.abs() <= support * (1.0 + 1e-12)), "{support}");
            // Each of 20 cells of equal probability, by P[|X| <= t] = (1 - e^-t)/(1 - e^-a), six
            // standard deviations: a false alarm once in 2.5e7 seeds.
            let cell = |x: f64, support: f64| {
                ((20.0 * (-x.abs()).exp_m1() / (-support).exp_m1()) as usize).min(19)
            };
            let worst = |support: f64| {
                let mut counts = [0f64; 20];
                draws.iter().for_each(|&x| counts[cell(x, support)] += 1.0);
                counts
                    .iter()
                    .map(|count| (count - 3000.0).abs() / (60_000f64 * 0.05 * 0.95).sqrt())
                    .fold(0.0, f64::max)
            };
            assert!(worst(support) < 6.0, "{support}: {}", worst(support));
            // Power: a support 10% off is noticed, where the end of the noise can be seen at all.
            assert!(
                support > 10.0 || worst(1.1 * support) > 6.0,
                "{support}: {}",
                worst(1.1 * support)
            );
        }
    }

    #[test]
    fn what_is_no_support_is_refused() {
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY, 1e-13, 1e7] {
            assert!(
                TruncatedLaplace::new(bad)
                    .is_err_and(|error| error.to_string().contains("support in scales")),
                "{bad}"
            );
        }
    }
}
