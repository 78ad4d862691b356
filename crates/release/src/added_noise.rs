//! Noise that is added to integers.

use crate::error::ReleaseError;
use crate::rounded_gaussian::RoundedGaussian;
use reticent_events::Event;
use reticent_mechanisms::{DiscreteLaplace, Epsilon, Mechanism, Neighbours, Sensitivity, Staircase, StaircaseAim};
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{IntegerNoise, Lattice, Sampler, Spread};
use reticent_numerics::{Bounds, Enclosure};

/// A distribution of integer noise, with its cost and its error. The noise that is drawn and the event that is charged come from the same value.
///
/// # Real noise on integers
/// Gaussian and staircase noise are real numbers `X`; what is added is `round(X)`. For an integer `v` this is `round(v + X)`, because rounding commutes with
/// adding an integer (ties have probability zero): the release is a function of the ideal real-valued one and keeps its promise, whatever the size of `v`. Nothing
/// else is rounded, so that the sensitivity stays what it is. The sum is made in `i128`.
///
/// # Why not the discrete Gaussian
/// Rounded Gaussians compose exactly, by the sum of `mu^2`; for vectors of discrete ones no such theorem is known, and the variance gained is below 1/12.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AddedNoise {
    DiscreteLaplace(DiscreteLaplace),
    Staircase { mechanism: Staircase, sensitivity: u64, epsilon: f64 },
    Gaussian(RoundedGaussian),
}

impl AddedNoise {
    /// The pure noise of least mean square error.
    ///
    /// If one unit moves one integer only (`k = 1`) by up to `s > 1`, staircase noise with steps `s` wide is the best there is (Geng and Viswanath 2016); for `s = 1` that is
    /// discrete Laplace noise, and for vectors discrete Laplace noise of scale `k s / epsilon` is what is known.
    ///
    /// Truncated Laplace noise is not considered: for `epsilon >= 0.01` and `delta <= 1e-6` its mean square error is less than 1% below, and it would cost a `delta`.
    pub(crate) fn pure(per_group: u64, l1: u64, epsilon: f64) -> Result<Self, ReleaseError> {
        let laplace = AddedNoise::DiscreteLaplace(DiscreteLaplace::calibrate(l1, Epsilon::positive(epsilon)?)?);
        if per_group != l1 || per_group == 1 {
            return Ok(laplace);
        }
        // Where the staircase cannot be made, at extreme losses, the other noise serves.
        let better = |staircase: &AddedNoise| staircase.mean_square().upper() < laplace.mean_square().upper();
        Ok(integer_staircase(per_group, epsilon).filter(better).unwrap_or(laplace))
    }

    /// What is charged.
    pub(crate) fn event(&self) -> Event {
        match self {
            AddedNoise::DiscreteLaplace(mechanism) => mechanism.event(),
            AddedNoise::Staircase { mechanism, .. } => mechanism.event(),
            AddedNoise::Gaussian(noise) => noise.event(),
        }
    }

    /// The name of the noise.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            AddedNoise::DiscreteLaplace(_) => "discrete-laplace",
            AddedNoise::Staircase { .. } => "staircase",
            AddedNoise::Gaussian(_) => "gaussian",
        }
    }

    /// `b`, the width of a stair, or `sigma`, in steps.
    pub(crate) fn scale(&self) -> f64 {
        match self {
            AddedNoise::DiscreteLaplace(mechanism) => mechanism.scale(),
            AddedNoise::Staircase { mechanism, .. } => mechanism.scale(),
            AddedNoise::Gaussian(noise) => noise.sigma(),
        }
    }

    /// Bounds on `E N^2`, in steps.
    pub(crate) fn mean_square(&self) -> Bounds {
        let known = |mechanism: &dyn Mechanism| {
            mechanism.errors().map_or(Bounds::new(0.0, f64::INFINITY), |errors| errors.root_mean_square.square())
        };
        match self {
            AddedNoise::DiscreteLaplace(mechanism) => known(mechanism),
            // The steps end at half integers, so that the density is constant in each cell, and X is N and an independent uniform number: E X^2 = E N^2 + 1/12.
            AddedNoise::Staircase { mechanism, .. } => {
                (known(mechanism) - Bounds::ONE / Bounds::exact(12.0)).clamp(0.0, f64::INFINITY)
            }
            AddedNoise::Gaussian(noise) => noise.mean_square(),
        }
    }

    /// The least integer `t` that is proved to have `P[|N| <= t] >= 0.95`.
    pub(crate) fn quantile_95(&self) -> f64 {
        let known = |mechanism: &dyn Mechanism| mechanism.errors().map_or(f64::INFINITY, |e| e.quantile_95.upper());
        let least = match self {
            AddedNoise::DiscreteLaplace(mechanism) => known(mechanism),
            // |round(X)| <= t exactly if |X| <= t + 1/2.
            AddedNoise::Staircase { mechanism, .. } => (known(mechanism) - 0.5).ceil().max(0.0),
            AddedNoise::Gaussian(noise) => noise.quantile_95(),
        };
        // A zero that was rounded up from below is shown without its sign.
        least + 0.0
    }

    /// An upper bound on `P[N >= t]` for an integer `t >= 1`.
    pub(crate) fn tail(&self, t: i64) -> f64 {
        // P[N >= t] is half of P[|N| > t - 1].
        let half_beyond = |within: Option<Bounds>| {
            within.map_or(1.0, |within| (Bounds::ONE - within).times_power_of_two(-1).clamp(0.0, 1.0).upper())
        };
        match self {
            AddedNoise::DiscreteLaplace(mechanism) => {
                // q^t / (1 + q), without the cancellation of 1 - usefulness.
                let rate = Bounds::ONE / Bounds::exact(mechanism.scale());
                let power = (-(rate * Bounds::ONE.integer(i128::from(t)))).exp();
                (power / (Bounds::ONE + (-rate).exp())).upper()
            }
            AddedNoise::Staircase { mechanism, .. } => half_beyond(mechanism.usefulness(t as f64 - 0.5)),
            AddedNoise::Gaussian(noise) => noise.tail(t),
        }
    }

    /// What draws it.
    pub(crate) fn sampler(&self) -> Result<NoiseSampler, ReleaseError> {
        Ok(match self {
            AddedNoise::DiscreteLaplace(mechanism) => {
                NoiseSampler::DiscreteLaplace(reticent_noise::DiscreteLaplace::new(mechanism.scale())?.sampler()?)
            }
            AddedNoise::Staircase { mechanism, sensitivity, epsilon } => {
                let noise = reticent_noise::Staircase::new(*epsilon, mechanism.gamma())?;
                NoiseSampler::Staircase(Sampler::new(noise, *sensitivity as f64, Lattice::INTEGERS)?)
            }
            AddedNoise::Gaussian(noise) => NoiseSampler::Gaussian(noise.sampler()?),
        })
    }
}

/// Staircase noise whose steps end at half integers, the best of the two next to the real optimum; `None` where it cannot be made.
fn integer_staircase(sensitivity: u64, epsilon: f64) -> Option<AddedNoise> {
    let distance = sensitivity as f64;
    let known = Sensitivity::scalar(distance, Neighbours::AddRemove).ok()?.of_integers();
    let loss = Epsilon::positive(epsilon).ok()?;
    let real = Staircase::calibrate(&known, loss, StaircaseAim::MeanSquare).ok()?.gamma() * distance;
    let below = (real - 0.5).floor().clamp(0.0, distance - 1.0);
    let made = [below, (below + 1.0).min(distance - 1.0)].into_iter().filter_map(|whole| {
        let mechanism = Staircase::with_gamma(&known, loss, (whole + 0.5) / distance).ok()?;
        // The quotient must be exact for the error figures: it is, up to the last bit, which moves a step by less than 1e-15 of it.
        let noise = AddedNoise::Staircase { mechanism, sensitivity, epsilon };
        (noise.scale() == distance && noise.sampler().is_ok()).then_some(noise)
    });
    made.min_by(|a, b| a.mean_square().upper().total_cmp(&b.mean_square().upper()))
}

/// Draws noise for integers.
#[derive(Debug)]
pub(crate) enum NoiseSampler {
    DiscreteLaplace(Sampler<Spread<reticent_noise::DiscreteLaplace>>),
    Staircase(Sampler<reticent_noise::Staircase>),
    Gaussian(Sampler<reticent_noise::Gaussian>),
}

impl NoiseSampler {
    /// An integer and its noise.
    ///
    /// The value is clamped to `2^125` first, which moves no two values further apart, and the sum again, which is post-processing: nothing overflows, and what is
    /// released is a function of the ideal sum.
    pub(crate) fn add<R: RandomBits + ?Sized>(&self, value: i128, random: &mut R) -> Result<i128, RandomnessError> {
        let noise = match self {
            NoiseSampler::DiscreteLaplace(sampler) => sampler.draw(random)?,
            NoiseSampler::Staircase(sampler) => sampler.draw(random)?,
            NoiseSampler::Gaussian(sampler) => sampler.draw(random)?,
        };
        Ok(Lattice::INTEGERS.add(value, noise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn gaussian(sigma: f64) -> AddedNoise {
        AddedNoise::Gaussian(RoundedGaussian::new(sigma, 1.0).expect("valid"))
    }

    fn draws(noise: &AddedNoise, value: i128, count: usize, seed: u64) -> Vec<i128> {
        let (sampler, mut random) = (noise.sampler().expect("a sampler"), SeededRandom::new(seed));
        (0..count).map(|_| sampler.add(value, &mut random).expect("seeded") - value).collect()
    }

    #[test]
    fn noise_that_is_mostly_zero_has_a_half_width_of_zero_without_a_sign() {
        for noise in [AddedNoise::pure(1, 1, 50.0), AddedNoise::pure(8, 8, 300.0), AddedNoise::pure(3, 15, 90.0)] {
            let width = noise.expect("valid").quantile_95();
            assert!(width == 0.0 && width.is_sign_positive(), "{width}");
        }
        assert!(gaussian(0.1).quantile_95().is_sign_positive());
    }

    #[test]
    fn drawn_noise_has_the_variance_the_quantile_and_the_tail_that_are_claimed() {
        let noises = [
            AddedNoise::pure(1, 1, 0.7).expect("valid"),
            AddedNoise::pure(3, 15, 2.0).expect("valid"),
            AddedNoise::pure(8, 8, 3.0).expect("valid"),
            gaussian(0.4),
            gaussian(6.3),
            gaussian(1e6),
        ];
        let count = 100_000;
        for (seed, noise) in noises.iter().enumerate() {
            // Far beyond 2^53: nothing passes through an f64.
            let values = draws(noise, (1 << 90) + 1, count, seed as u64);
            let squares: Vec<f64> = values.iter().map(|&n| (n as f64).powi(2)).collect();
            let mean = squares.iter().sum::<f64>() / count as f64;
            let fourth = squares.iter().map(|s| s * s).sum::<f64>() / count as f64;
            let deviation = ((fourth - mean * mean) / count as f64).sqrt();
            let claimed = noise.mean_square();
            assert!(claimed.relative_width() < 1e-6, "{noise:?}: {claimed:?}");
            // Six standard deviations of the mean square; heavy tails make that about 1e-8 a case, six cases.
            assert!((mean - claimed.estimate()).abs() < 6.0 * deviation, "{noise:?}: {mean} {claimed:?}");
            // Power: a scale 5% off is noticed.
            assert!((mean - 1.05 * 1.05 * claimed.estimate()).abs() > 6.0 * deviation, "{noise:?}");
            let t = noise.quantile_95();
            let within = |t: f64| values.iter().filter(|&&n| (n as f64).abs() <= t).count() as f64 / count as f64;
            // Six deviations of a share of 0.95, sqrt(0.95 0.05 / 1e5) = 6.9e-4: 1e-9 a case.
            assert!(within(t) > 0.95 - 6.0 * 6.9e-4, "{noise:?}: {}", within(t));
            assert!(t == 0.0 || within(0.9 * t - 1.0) < 0.95, "{noise:?}: the half-width is too wide");
            let above = values.iter().filter(|&&n| n as f64 >= t.max(1.0)).count() as f64 / count as f64;
            let tail = noise.tail(t.max(1.0) as i64);
            assert!((above - tail).abs() < 6.0 * (tail / count as f64).sqrt() + 1e-5, "{noise:?}: {above} {tail}");
        }
    }

    #[test]
    fn the_staircase_is_chosen_where_it_is_better_and_only_for_one_integer() {
        assert_eq!(AddedNoise::pure(1, 1, 1.0).expect("valid").name(), "discrete-laplace");
        assert_eq!(AddedNoise::pure(10, 20, 1.0).expect("valid").name(), "discrete-laplace");
        let stair = AddedNoise::pure(10, 10, 3.0).expect("valid");
        assert_eq!(stair.name(), "staircase");
        let laplace = DiscreteLaplace::calibrate(10, Epsilon::new(3.0).expect("valid")).expect("valid");
        let laplace = laplace.errors().expect("additive").root_mean_square.square();
        assert!(stair.mean_square().upper() < 0.9 * laplace.lower(), "{stair:?}");
        // At an extreme loss there is still noise.
        assert!(AddedNoise::pure(10, 10, 700.0).is_ok());
    }

    #[test]
    fn sums_saturate_and_never_overflow() {
        let noise = gaussian(5e17);
        let (sampler, mut random) = (noise.sampler().expect("a sampler"), SeededRandom::new(3));
        for value in [i128::MAX, i128::MIN] {
            let released = sampler.add(value, &mut random).expect("seeded");
            assert!(released.unsigned_abs() <= 1 << 125 && released.unsigned_abs() > 1 << 124);
        }
    }
}
