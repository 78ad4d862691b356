//! The sparse vector test: which is the first of many counts above a threshold.

use crate::{Contribution, WorkloadError};
use reticent_events::Event;
use reticent_mechanisms::Epsilon;
use reticent_noise::randomness::RandomBits;
use reticent_noise::{DiscreteLaplace, IntegerNoise, Jittered, Sampler};
use reticent_numerics::rounding::{add_up, div_up, mul_up};

/// Compares integers, one after the other, with a noisy threshold, until one is above.
///
/// # Distribution
/// One discrete Laplace number of scale `b1` is added to the threshold, and to each integer one of
/// its own of scale `b2`. The answer is whether the sum reaches the threshold's. After the first
/// `true` the test is over.
///
/// # Guarantee
/// If one unit moves every integer by at most `D`, all answers together, however many, are pure
/// `epsilon`-differentially private with `epsilon = D/b1 + 2 D/b2`. For the noise `r` on the
/// threshold, go over to `r + D`: the answers `false` become no less likely, whichever way the
/// integers moved, and the last one, `true`, by a factor of at most `exp(-2 D/b2)`. Integers that
/// are chosen from earlier answers are covered. Charged as [`Event::Approximate`] with no delta.
///
/// # References
/// Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li, *Understanding the sparse vector
/// technique for differential privacy*, 2017, Algorithm 7 with one answer `true`: from there the
/// split `b2/b1 = 2^(1/3)` (most published variants before it are not private).
#[derive(Clone, Debug)]
pub struct AboveThreshold {
    sensitivity: u32,
    threshold_noise: DiscreteLaplace,
    noise: DiscreteLaplace,
    sampler: Sampler<Jittered<DiscreteLaplace>>,
    threshold_sampler: Sampler<Jittered<DiscreteLaplace>>,
}

impl AboveThreshold {
    /// The test for integers that one row moves by at most 1.
    ///
    /// # Errors
    /// If `epsilon` is zero, or the noise too large to draw.
    pub fn new(contribution: Contribution, epsilon: Epsilon) -> Result<Self, WorkloadError> {
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        let distance = f64::from(contribution.rows());
        // With b2 = c b1: D/b1 (1 + 2/c) = epsilon; c^3 = 2 has the least variance of the sum.
        let ratio = 2f64.cbrt();
        let mut first = distance / epsilon * (1.0 + 2.0 / ratio);
        loop {
            let threshold_noise = DiscreteLaplace::new(first)?;
            let noise = DiscreteLaplace::new(first * ratio)?;
            let sampler = noise.sampler()?;
            let threshold_sampler = threshold_noise.sampler()?;
            let sensitivity = contribution.rows();
            let test =
                AboveThreshold { sensitivity, threshold_noise, noise, sampler, threshold_sampler };
            if test.epsilon() <= epsilon {
                return Ok(test);
            }
            first = first.next_up();
        }
    }

    /// The loss, rounded up, from the scales that are drawn from.
    pub fn epsilon(&self) -> f64 {
        let distance = f64::from(self.sensitivity);
        let of_threshold = div_up(distance, self.threshold_noise.scale());
        add_up(of_threshold, div_up(mul_up(2.0, distance), self.noise.scale()))
    }

    /// What is charged for one run, from the threshold's noise to the first `true`.
    pub fn event(&self) -> Event {
        Event::Approximate { epsilon: self.epsilon(), delta: 0.0 }
    }

    /// The threshold of one run.
    ///
    /// # Errors
    /// If random bits cannot be had.
    pub(crate) fn noisy_threshold<R: RandomBits + ?Sized>(
        &self,
        threshold: i128,
        random: &mut R,
    ) -> Result<i128, WorkloadError> {
        Ok(threshold.saturating_add(self.threshold_sampler.draw(random)?))
    }

    /// Whether an integer is above a noisy threshold. After `true` that threshold is used up.
    ///
    /// # Errors
    /// If random bits cannot be had.
    pub(crate) fn is_above<R: RandomBits + ?Sized>(
        &self,
        value: i128,
        noisy_threshold: i128,
        random: &mut R,
    ) -> Result<bool, WorkloadError> {
        Ok(value.saturating_add(self.sampler.draw(random)?) >= noisy_threshold)
    }

    /// The sizes that the threshold's noise, and that of each of `values` integers, exceed with
    /// probability at most `beta` each, in `runs` runs.
    pub(crate) fn noise_bounds(&self, runs: f64, values: f64, beta: f64) -> (f64, f64) {
        (
            tail_bound(self.threshold_noise.scale(), runs, beta),
            tail_bound(self.noise.scale(), values, beta),
        )
    }
}

/// An integer that none of `count` discrete Laplace numbers of scale `b` exceeds in size but with
/// probability `beta`: `P[|N| > t] <= 2 exp(-(t + 1)/b)`.
pub(crate) fn tail_bound(scale: f64, count: f64, beta: f64) -> f64 {
    (scale * (2.0 * count / beta).ln() * (1.0 + 1e-9)).ceil().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_mechanisms::Neighbours;
    use reticent_noise::randomness::SeededRandom;

    fn test(rows: u32, epsilon: f64) -> AboveThreshold {
        let unit = Contribution::new(rows, Neighbours::AddRemove).expect("valid");
        AboveThreshold::new(unit, Epsilon::new(epsilon).expect("valid")).expect("valid")
    }

    /// `P[N >= n]`.
    fn tail(scale: f64, n: i64) -> f64 {
        let q = (-1.0 / scale).exp();
        if n >= 1 { q.powi(n as i32) / (1.0 + q) } else { 1.0 - q.powi((1 - n) as i32) / (1.0 + q) }
    }

    /// The exact probability that the first `true` comes at the last of some integers, summed over
    /// the noise of the threshold.
    fn probability(test: &AboveThreshold, values: &[i64], threshold: i64) -> f64 {
        let (first, second) = (test.threshold_noise.scale(), test.noise.scale());
        let q = (-1.0 / first).exp();
        let (last, before) = values.split_last().expect("not empty");
        (-400i64..=400)
            .map(|noise| {
                let own = (1.0 - q) / (1.0 + q) * q.powi(noise.unsigned_abs() as i32);
                let above = |value: &i64| tail(second, threshold + noise - value);
                own * before.iter().map(|value| 1.0 - above(value)).product::<f64>() * above(last)
            })
            .sum()
    }

    /// The guarantee, by exact probabilities of every outcome on the worst neighbours; and it is
    /// nearly used up: a claim of four fifths would be refuted.
    #[test]
    fn no_outcome_tells_more_than_epsilon() {
        for rows in [1u32, 3] {
            let test = test(rows, 1.0);
            assert!(test.epsilon() <= 1.0 && test.epsilon() > 1.0 - 1e-12);
            let distance = i64::from(rows);
            let mut worst: f64 = 0.0;
            for falses in [0usize, 1, 2, 10, 60] {
                for threshold in [-10i64, 0, 5, 12] {
                    for moves in
                        [(distance, -distance), (-distance, distance), (distance, distance)]
                    {
                        let mut values = vec![0i64; falses + 1];
                        let base = probability(&test, &values, threshold);
                        values.iter_mut().for_each(|value| *value = moves.0);
                        values[falses] = moves.1;
                        let moved = probability(&test, &values, threshold);
                        worst = worst.max((base / moved).ln().abs());
                    }
                }
            }
            assert!(worst <= 1.0 + 1e-9, "{worst}");
            assert!(worst > 0.8, "{worst}");
        }
    }

    /// Frequencies of the outcome against the exact probability.
    #[test]
    fn the_test_draws_what_it_says() {
        let test = test(1, 2.0);
        let values = [0i64, 3, 6];
        let mut random = SeededRandom::new(21);
        let runs = 20_000;
        let mut found = [0.0; 3];
        for _ in 0..runs {
            let threshold = test.noisy_threshold(4, &mut random).expect("seeded");
            for (index, &value) in values.iter().enumerate() {
                if test.is_above(value.into(), threshold, &mut random).expect("seeded") {
                    found[index] += 1.0 / f64::from(runs);
                    break;
                }
            }
        }
        for (index, share) in found.iter().enumerate() {
            let expected = probability(&test, &values[..=index], 4);
            // Six deviations of sqrt(p/20000) < 0.0061: a false alarm once in 5e8 seeds.
            assert!((share - expected).abs() < 0.025, "{index}: {share} {expected}");
        }
    }

    #[test]
    fn bounds_on_noise_are_bounds() {
        for (scale, count, beta) in [(1.0, 1.0, 0.1), (7.3, 1000.0, 0.01), (200.0, 1e5, 1e-6)] {
            let bound = tail_bound(scale, count, beta);
            assert!(count * 2.0 * tail(scale, bound as i64 + 1) <= beta, "{scale}");
        }
    }
}
