//! Samples on neighbouring inputs do not contradict the true guarantee of any distribution, and do
//! contradict one that is 20% too strong.
//!
//! # Error rates
//! Each true claim is contradicted with probability at most `ALPHA` = 1e-6, by exact binomial
//! bounds; there are 15 of them. Each false claim (`0.8 epsilon`, the same `delta`) must be
//! contradicted by the very same samples.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::random_scale::{
    Combined, GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GeneralizedGaussian, IntegerNoise, Laplace,
    Lattice, Noise, RandomScaleLaplace, Sampler, Staircase, Truncated,
};
use stat_tests::audit::{Claim, contradicts};
use stat_tests::oracle::{self, DiscreteGaussianTail, RealTail, Rounded, UpperTail};

const ALPHA: f64 = 1e-6;
const SAMPLES: usize = 1_000_000;

fn audit(name: &str, outputs: [Vec<i128>; 2], claim: Claim) {
    let outputs = [&outputs[0][..], &outputs[1][..]];
    assert!(!contradicts(outputs, claim, ALPHA), "{name}: {claim:?} is contradicted");
    let too_strong = Claim { epsilon: 0.8 * claim.epsilon, ..claim };
    assert!(contradicts(outputs, too_strong, ALPHA), "{name}: no power against {too_strong:?}");
}

fn outputs_of<N: Noise>(
    sampler: &Sampler<N>,
    moved: i128,
    samples: usize,
    seed: u64,
) -> [Vec<i128>; 2] {
    let mut random = SeededRandom::new(seed);
    [0, moved]
        .map(|value| (0..samples).map(|_| value + sampler.draw(&mut random).unwrap()).collect())
}

/// Noise of scale 1 on the default lattice, for the inputs 0 and 1.
fn audit_pure<N: Noise>(noise: N, epsilon: f64, samples: usize, seed: u64) {
    let name = format!("{noise:?}");
    let sampler = Sampler::new(noise, 1.0, Lattice::for_scale(1.0).unwrap()).unwrap();
    let one = sampler.lattice().nearest(1.0).unwrap();
    audit(&name, outputs_of(&sampler, one, samples, seed), Claim { epsilon, delta: 0.0 });
}

/// `delta(epsilon) = sum_y max(0, P[N = y - moved] - e^epsilon P[N = y])`, from the definition,
/// over a window that holds all but a negligible part.
fn exact_delta(noise: &dyn UpperTail, moved: i128, epsilon: f64, window: i128) -> f64 {
    let probabilities: Vec<f64> =
        (0..=window + moved).map(|n| noise.probability(n).to_f64()).collect();
    let at = |n: i128| probabilities[n.unsigned_abs() as usize];
    (-window..=window).map(|y| (at(y - moved) - epsilon.exp() * at(y)).max(0.0)).sum()
}

#[test]
fn noise_with_a_pure_guarantee() {
    audit_pure(Laplace, 1.0, SAMPLES, 1);
    audit_pure(Staircase::new(1.0, 0.4).unwrap(), 1.0, SAMPLES, 2);
    audit_pure(Staircase::new(0.3, 1.0).unwrap(), 0.3, 2 * SAMPLES, 3);
    // |x - 1|^p <= |x|^p + 1 for p <= 1, with equality at x = 0 alone: the loss is all in the peak, and takes more samples to see.
    audit_pure(GeneralizedGaussian::new(0.5).unwrap(), 1.0, 8 * SAMPLES, 4);
}

/// `epsilon = ln(E[T] / E[T exp(-T)])`, with both means by hand.
#[test]
fn laplace_of_random_scale() {
    let loss = |mean: f64, tilted: f64| (mean / tilted).ln();

    let two_point = TwoPointScale::new(0.5, 2.0, 0.5).unwrap();
    let tilted = 0.5 * 0.5 * (-0.5f64).exp() + 0.5 * 2.0 * (-2f64).exp();
    audit_pure(RandomScaleLaplace::new(two_point), loss(1.25, tilted), 2 * SAMPLES, 5);

    // k theta (1 + theta)^(-k-1)
    let gamma = GammaScale::new(3.0, 0.5).unwrap();
    audit_pure(RandomScaleLaplace::new(gamma), loss(1.5, 1.5 * 1.5f64.powi(-4)), 2 * SAMPLES, 6);

    // The integral of t exp(-t) is -(1 + t) exp(-t).
    let uniform = UniformScale::new(0.5, 1.5).unwrap();
    let tilted = 1.5 * (-0.5f64).exp() - 2.5 * (-1.5f64).exp();
    audit_pure(RandomScaleLaplace::new(uniform), loss(1.0, tilted), 2 * SAMPLES, 7);

    let (mu, sigma, lower, upper) = (1.0, 0.3, 0.2, 2.0);
    let truncated = TruncatedGaussianScale::new(mu, sigma, lower, upper).unwrap();
    let mean_of = |value: &dyn Fn(f64) -> f64| -> f64 {
        let points = (0..100_000).map(|i| lower + (upper - lower) * (f64::from(i) + 0.5) / 1e5);
        points.map(|t| value(t) * (-((t - mu) / sigma).powi(2) / 2.0).exp()).sum()
    };
    let epsilon = loss(mean_of(&|t| t), mean_of(&|t| t * (-t).exp()));
    audit_pure(RandomScaleLaplace::new(truncated), epsilon, 2 * SAMPLES, 8);

    // T = 0.7 S + 0.3 with S two-point: the values 0.65 and 1.7.
    let constant = TwoPointScale::new(0.3, 0.3, 1.0).unwrap();
    let combined = Combined::new(vec![(0.7, two_point.into()), (1.0, constant.into())]).unwrap();
    let tilted = 0.5 * 0.65 * (-0.65f64).exp() + 0.5 * 1.7 * (-1.7f64).exp();
    audit_pure(RandomScaleLaplace::new(combined), loss(1.175, tilted), 2 * SAMPLES, 9);
}

/// Noise whose guarantee has a `delta`, which is computed from the definition on a lattice of
/// sixteenths.
#[test]
fn noise_with_an_approximate_guarantee() {
    let lattice = Lattice::of_spacing_power(-4).unwrap();
    let check = |name: &str, outputs: [Vec<i128>; 2], tail: &RealTail, epsilon: f64| {
        let delta = exact_delta(&Rounded { tail, scale: 1.0, exponent: -4 }, 16, epsilon, 16 * 12);
        audit(name, outputs, Claim { epsilon, delta });
    };
    let sampler = Sampler::new(Gaussian, 1.0, lattice).unwrap();
    check("Gaussian", outputs_of(&sampler, 16, SAMPLES, 10), &oracle::gaussian(), 1.0);
    for (order, seed) in [(1.5, 11), (3.0, 12)] {
        let sampler = Sampler::new(GeneralizedGaussian::new(order).unwrap(), 1.0, lattice).unwrap();
        let outputs = outputs_of(&sampler, 16, SAMPLES, seed);
        check(&format!("order {order}"), outputs, &oracle::generalized_gaussian(order), 1.0);
    }
}

#[test]
fn integer_noise() {
    let sampler = DiscreteLaplace::new(2.0).unwrap().sampler().unwrap();
    audit(
        "discrete Laplace",
        outputs_of(&sampler, 1, SAMPLES, 13),
        Claim { epsilon: 0.5, delta: 0.0 },
    );
    let sampler = DiscreteGaussian::new(1.5).unwrap().sampler().unwrap();
    let delta = exact_delta(&DiscreteGaussianTail::new(1.5), 1, 0.5, 60);
    audit("discrete Gaussian", outputs_of(&sampler, 1, SAMPLES, 14), Claim { epsilon: 0.5, delta });
}

/// Truncated Laplace noise for the inputs at a bound and one scale inside. The normaliser moves
/// too: with `C` the cell probabilities, `epsilon = max_y |ln (C(y - v) Z(w) / (C(y - w) Z(v)))|`.
#[test]
fn truncated_noise() {
    let (lower, upper, moved) = (0i128, 64, 16);
    let tail = oracle::laplace();
    let noise = Rounded { tail: &tail, scale: 1.0, exponent: -4 };
    let cell = |n: i128| noise.probability(n).to_f64();
    let inside = |value: i128| -> f64 { (lower..=upper).map(|y| cell(y - value)).sum() };
    let (z_bound, z_inside) = (inside(lower), inside(lower + moved));
    let epsilon = (lower..=upper)
        .map(|y| (cell(y) / z_bound / (cell(y - moved) / z_inside)).ln().abs())
        .fold(0.0, f64::max);
    let sampler = Sampler::new(Laplace, 1.0, Lattice::of_spacing_power(-4).unwrap()).unwrap();
    let truncated = Truncated::new(sampler, lower, upper).unwrap();
    let mut random = SeededRandom::new(15);
    let outputs = [lower, lower + moved].map(|value| {
        (0..SAMPLES).map(|_| truncated.release(value, &mut random).unwrap()).collect()
    });
    audit("truncated Laplace", outputs, Claim { epsilon, delta: 0.0 });
}
