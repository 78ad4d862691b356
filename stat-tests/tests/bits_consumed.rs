//! The number of random words that a truncated release consumes does not depend on the value.
//!
//! # Error rates
//! A chi-square test of homogeneity at 1e-6 for each of 7 cases, on the counts of words for a value
//! in the middle and for one at the bound. The same test must reject the obvious loop, which draws
//! until the sum is inside.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::randomness::{RandomBits, RandomnessError, SeededRandom};
use reticent_noise::{Gaussian, Laplace, Lattice, Noise, Sampler, Truncated};
use stat_tests::chi_square::homogeneity;
use stat_tests::counting::Counting;

const ALPHA: f64 = 1e-6;
const RELEASES: usize = 200_000;

/// How often each number of words was consumed.
fn words_consumed(
    seed: u64,
    mut release: impl FnMut(&mut Counting<SeededRandom>) -> Result<i128, RandomnessError>,
) -> Vec<u64> {
    let mut random = Counting::new(SeededRandom::new(seed));
    let mut counts = vec![0; 4096];
    for _ in 0..RELEASES {
        release(&mut random).unwrap();
        let words = random.take_count() as usize;
        counts[words.min(4095)] += 1;
    }
    counts
}

fn check<N: Noise>(sampler: &Sampler<N>, half_width: i128, seed: u64) {
    let truncated = Truncated::new(sampler.clone(), -half_width, half_width).unwrap();
    let name = format!(
        "{:?} within {half_width} steps of 2^{}",
        sampler.noise(),
        sampler.lattice().exponent()
    );
    let counts = [0, half_width].map(|value| {
        words_consumed(seed + value as u64, |random| truncated.release(value, random))
    });
    let p = homogeneity(&counts[0], &counts[1]);
    assert!(p > ALPHA, "{name}: p = {p:e}");
}

fn naive<N: Noise, R: RandomBits>(
    sampler: &Sampler<N>,
    half_width: i128,
    value: i128,
    random: &mut R,
) -> i128 {
    loop {
        let output = value + sampler.draw(random).unwrap();
        if output.abs() <= half_width {
            return output;
        }
    }
}

#[test]
fn words_do_not_tell_where_the_value_is() {
    let sixteenths = Lattice::of_spacing_power(-4).unwrap();
    let default = Lattice::for_scale(1.0).unwrap();
    let one = 1i128 << 40;
    check(&Sampler::new(Laplace, 1.0, sixteenths).unwrap(), 80, 1);
    check(&Sampler::new(Laplace, 1.0, sixteenths).unwrap(), 2, 2);
    check(&Sampler::new(Laplace, 1.0, Lattice::of_spacing_power(-2).unwrap()).unwrap(), 1, 7);
    check(&Sampler::new(Laplace, 1.0, default).unwrap(), 5 * one, 3);
    check(&Sampler::new(Laplace, 1.0, default).unwrap(), one / 8, 4);
    check(&Sampler::new(Gaussian, 1.0, sixteenths).unwrap(), 40, 5);
    check(&Sampler::new(Gaussian, 1.0, default).unwrap(), 2 * one, 6);
}

#[test]
fn words_of_the_obvious_loop_do() {
    let sampler = Sampler::new(Laplace, 1.0, Lattice::of_spacing_power(-4).unwrap()).unwrap();
    let counts = [0, 80].map(|value| {
        words_consumed(7 + value as u64, |random| Ok(naive(&sampler, 80, value, random)))
    });
    let p = homogeneity(&counts[0], &counts[1]);
    assert!(p < ALPHA, "p = {p:e}");
}
