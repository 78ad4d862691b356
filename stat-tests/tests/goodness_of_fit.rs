//! Every distribution against its textbook formula, over scales and lattices.
//!
//! # Error rates
//! Each case is one or two chi-square tests at `ALPHA` = 1e-6: the shape, in bins cut at lattice
//! points and symmetric about zero, and on fine lattices the uniformity of the low bits. There are
//! 177 cases (each test function counts its own), at most 354 tests, so a new seed raises a false
//! alarm about three times in ten thousand; the seeds are fixed, so in fact it is never or always.
//!
//! # Power
//! The same draws are tested against the distribution with a scale that is 2% larger, and 2%
//! smaller, and must be rejected at the same level. The few cases where 2% cannot be seen say why.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::random_scale::{
    Combined, GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{
    Bernoulli, DiscreteGaussian, DiscreteLaplace, Gaussian, GaussianMixture, GeneralizedGaussian,
    IntegerNoise, Laplace, Lattice, Noise, Probability, RandomScaleLaplace, Sampler, Staircase,
    Truncated,
};
use reticent_numerics::Enclosure;
use stat_tests::battery::low_bits_p_value;
use stat_tests::bins::Bins;
use stat_tests::chi_square::goodness_of_fit;
use stat_tests::oracle::{
    self, DiscreteGaussianTail, DiscreteLaplaceTail, RealTail, Rounded, UpperTail,
};

const ALPHA: f64 = 1e-6;
const DRAWS: usize = 1_500_000;
const SCALES: [f64; 6] = [1e-3, 0.37, 1.0, 7.3, 1e3, 1e9];

/// Whether a scale that is 2% off must be noticed.
#[derive(Clone, Copy, PartialEq)]
enum Power {
    Required,
    /// No sample of a feasible size shows it, for the reason given.
    Impossible(&'static str),
}

/// Draws, and tests the draws against the oracle at the scale and 2% beside it.
fn check<'a, N: Noise>(
    name: &str,
    sampler: &Sampler<N>,
    draws: usize,
    seed: u64,
    power: Power,
    oracle: impl Fn(f64) -> Box<dyn UpperTail + 'a>,
) {
    let seeded = SeededRandom::new(seed);
    let mut pilot_random = seeded.stream(1);
    let bins = Bins::from_pilot((0..20_000).map(|_| sampler.draw(&mut pilot_random).unwrap()), 20);
    let mut random = seeded.stream(0);
    let draws: Vec<i128> = (0..draws).map(|_| sampler.draw(&mut random).unwrap()).collect();
    let counts = bins.histogram(draws.iter().copied());
    let p = |factor: f64| goodness_of_fit(&counts, &bins.probabilities(&*oracle(factor)));
    let fit = p(1.0);
    assert!(fit > ALPHA, "{name}: p = {fit:e}");
    if oracle(1.0).probability(0) < 1e-9 {
        let low_bits = low_bits_p_value(draws.into_iter());
        assert!(low_bits > ALPHA, "{name}: low bits, p = {low_bits:e}");
    }
    for factor in [0.98, 1.02] {
        let wrong = p(factor);
        match power {
            Power::Required => assert!(
                wrong < ALPHA,
                "{name}: no power against a factor of {factor}, p = {wrong:e}"
            ),
            // Where the sample does show it, the exclusion is out of date.
            Power::Impossible(reason) => assert!(wrong > ALPHA, "{name}: not so: {reason}"),
        }
    }
}

/// Cases, counted: three lattices for each.
struct Cases {
    seed: u64,
    count: usize,
}

impl Cases {
    fn new(seed: u64) -> Self {
        Cases { seed, count: 0 }
    }

    fn next_seed(&mut self) -> u64 {
        self.count += 1;
        self.seed + self.count as u64
    }

    /// Real noise on the default lattice, on one that is coarser than the noise, and on the finest.
    fn real<N: Noise>(&mut self, noise: N, tail: RealTail, scale: f64, draws: usize) {
        let size = scale * noise.magnitude();
        let size_exponent = size.log2().ceil() as i32;
        let default = Lattice::for_scale(size).unwrap();
        let coarse = Lattice::of_spacing_power(size_exponent + 1).unwrap();
        let fine = Lattice::of_spacing_power(size_exponent - 44).unwrap();
        for lattice in [default, coarse, fine] {
            let sampler = Sampler::new(noise.clone(), scale, lattice).unwrap();
            let name =
                format!("{noise:?} of scale {scale:e} on multiples of 2^{}", lattice.exponent());
            let exponent = lattice.exponent();
            check(&name, &sampler, draws, self.next_seed(), Power::Required, |factor| {
                Box::new(Rounded { tail: &tail, scale: scale * factor, exponent })
            });
        }
    }

    fn integer<N: IntegerNoise>(
        &mut self,
        noise: N,
        draws: usize,
        power: Power,
        oracle: impl Fn(f64) -> Box<dyn UpperTail>,
    ) {
        let sampler = noise.sampler().unwrap();
        check(&format!("{noise:?}"), &sampler, draws, self.next_seed(), power, oracle);
    }
}

#[test]
fn laplace_and_gaussian_over_all_scales() {
    let mut cases = Cases::new(100);
    for scale in SCALES {
        cases.real(Laplace, oracle::laplace(), scale, DRAWS);
        cases.real(Gaussian, oracle::gaussian(), scale, DRAWS);
    }
    assert_eq!(cases.count, 36);
}

#[test]
fn generalized_gaussian_of_every_order() {
    let mut cases = Cases::new(200);
    for (order, scale) in
        [1.0, 1.5, 2.0, 3.0, 4.7, 10.0, 0.5].into_iter().zip(SCALES.into_iter().cycle())
    {
        let noise = GeneralizedGaussian::new(order).unwrap();
        cases.real(noise, oracle::generalized_gaussian(order), scale, DRAWS);
    }
    assert_eq!(cases.count, 21);
}

#[test]
fn staircase_with_flat_steep_and_degenerate_steps() {
    let mut cases = Cases::new(300);
    let parameters = [
        (1.0, 0.3),
        (1.0, 0.0),
        (1.0, 1.0),
        (0.01, 0.5),
        (0.01, 0.0),
        (20.0, 0.5),
        (20.0, 0.0),
        (20.0, 1.0),
        (4.0, 0.119),
    ];
    for ((epsilon, gamma), scale) in parameters.into_iter().zip(SCALES.into_iter().cycle()) {
        let noise = Staircase::new(epsilon, gamma).unwrap();
        cases.real(noise, oracle::staircase(epsilon, gamma), scale, DRAWS);
    }
    assert_eq!(cases.count, 27);
}

/// A narrow peak on a wide foot, and the many standard deviations of an optimised mixture.
#[test]
fn gaussian_of_random_scale() {
    let mut cases = Cases::new(1500);
    let many = vec![(0.2, 0.1), (0.5, 0.2), (1.0, 0.35), (1.8, 0.25), (3.0, 0.0995), (4.5, 0.0005)];
    for (sigmas, scale) in [(vec![(0.3, 0.4), (4.0, 0.6)], 7.3), (many, 1e-3)] {
        let noise = GaussianMixture::new(sigmas.clone()).unwrap();
        cases.real(noise, oracle::gaussian_mixture(sigmas), scale, DRAWS);
    }
    assert_eq!(cases.count, 6);
}

#[test]
fn laplace_of_two_point_scale() {
    let mut cases = Cases::new(400);
    let parameters = [
        (0.5, 2.0, 0.3),
        (0.01, 5.0, 0.5),
        (0.01, 5.0, 0.05),
        (0.7, 3.0, 0.0),
        (0.7, 3.0, 1.0),
        (1.0, 1.0, 0.4),
    ];
    for ((first, second, weight), scale) in parameters.into_iter().zip(SCALES) {
        let noise = RandomScaleLaplace::new(TwoPointScale::new(first, second, weight).unwrap());
        let points = vec![(weight, first), (1.0 - weight, second)];
        cases.real(noise, oracle::laplace_mixture(points), scale, DRAWS);
    }
    assert_eq!(cases.count, 18);
}

#[test]
fn laplace_of_gamma_scale() {
    let mut cases = Cases::new(500);
    for ((shape, theta), scale) in
        [(0.5, 1.0), (1.0, 2.0), (3.0, 0.2), (50.0, 0.02)].into_iter().zip(SCALES)
    {
        let noise = RandomScaleLaplace::new(GammaScale::new(shape, theta).unwrap());
        // The information on the scale is k/(k+2) a draw: a heavy tail says little.
        let draws = if shape < 1.0 { 4 * DRAWS } else { DRAWS };
        cases.real(noise, oracle::laplace_of_gamma_scale(shape, theta), scale, draws);
    }
    assert_eq!(cases.count, 12);
}

#[test]
fn laplace_of_uniform_scale() {
    let mut cases = Cases::new(600);
    for ((lower, upper), scale) in
        [(0.0, 1.0), (0.5, 1.5), (0.0, 30.0), (2.0, 2.001)].into_iter().zip(SCALES)
    {
        let noise = RandomScaleLaplace::new(UniformScale::new(lower, upper).unwrap());
        cases.real(noise, oracle::laplace_of_uniform_scale(lower, upper), scale, 2 * DRAWS);
    }
    assert_eq!(cases.count, 12);
}

#[test]
fn laplace_of_truncated_gaussian_scale() {
    let mut cases = Cases::new(700);
    // In the middle of its interval, cut at zero, and with both ends on one side of the mean.
    for ((mu, sigma, lower, upper), scale) in
        [(1.0, 0.3, 0.2, 2.0), (0.2, 1.0, 0.0, 3.0), (-1.0, 0.5, 0.3, 2.0)].into_iter().zip(SCALES)
    {
        let noise =
            RandomScaleLaplace::new(TruncatedGaussianScale::new(mu, sigma, lower, upper).unwrap());
        let tail = oracle::laplace_of_truncated_gaussian_scale(mu, sigma, lower, upper);
        cases.real(noise, tail, scale, DRAWS);
    }
    assert_eq!(cases.count, 9);
}

#[test]
fn laplace_of_combined_scale() {
    let mut cases = Cases::new(800);
    // a S + b T with S in {0.5, 2} and T in {0.3, 4}: a mixture of four.
    let (a, b) = (0.7, 1.5);
    let first = TwoPointScale::new(0.5, 2.0, 0.3).unwrap();
    let second = TwoPointScale::new(0.3, 4.0, 0.6).unwrap();
    let four = [(0.3, 0.5), (0.7, 2.0)]
        .into_iter()
        .flat_map(|(p, s)| [(0.6, 0.3), (0.4, 4.0)].map(|(q, t)| (p * q, a * s + b * t)))
        .collect();
    let noise = RandomScaleLaplace::new(
        Combined::new(vec![(a, first.into()), (b, second.into())]).unwrap(),
    );
    cases.real(noise, oracle::laplace_mixture(four), 7.3, 2 * DRAWS);

    let gamma = GammaScale::new(2.0, 0.5).unwrap();
    let uniform = UniformScale::new(0.0, 1.0).unwrap();
    let noise = RandomScaleLaplace::new(
        Combined::new(vec![(a, gamma.into()), (b, uniform.into())]).unwrap(),
    );
    let tail = oracle::laplace_of_sum(
        (a, oracle::laplace_of_gamma_scale(2.0, 0.5)),
        (b, oracle::laplace_of_uniform_scale(0.0, 1.0)),
    );
    cases.real(noise, tail, 1e-3, DRAWS);
    assert_eq!(cases.count, 6);
}

#[test]
fn discrete_laplace_and_gaussian() {
    let mut cases = Cases::new(900);
    for scale in [1e-3, 0.1, 0.5, 1.0, 7.3, 1e3, 1e9] {
        // At 0.1, one draw in ten thousand is not zero, and 2% change that by a fifth.
        let draws = if scale == 0.1 { 20 * DRAWS } else { DRAWS };
        let power = if scale < 0.1 {
            Power::Impossible("zero but once in e^1000 draws")
        } else {
            Power::Required
        };
        let noise = DiscreteLaplace::new(scale).unwrap();
        cases.integer(noise, draws, power, |factor| Box::new(DiscreteLaplaceTail(scale * factor)));
    }
    for sigma in [1e-3, 0.1, 0.5, 1.0, 7.3, 1e3, 1e9] {
        let power = if sigma < 0.3 {
            Power::Impossible("zero but once in e^50 draws")
        } else {
            Power::Required
        };
        let noise = DiscreteGaussian::new(sigma).unwrap();
        cases.integer(noise, DRAWS, power, |factor| {
            Box::new(DiscreteGaussianTail::new(sigma * factor))
        });
    }
    assert_eq!(cases.count, 14);
}

/// A truncated release against `C(y - value) / Z`, with `C` from the oracle.
fn check_truncated<N: Noise>(
    sampler: Sampler<N>,
    tail: &RealTail,
    [lower, value, upper]: [i128; 3],
    draws: usize,
    seed: u64,
    power: Power,
) {
    let (scale, exponent) = (sampler.scale(), sampler.lattice().exponent());
    let name = format!("{:?} of scale {scale} on {lower}..={upper} at {value}", sampler.noise());
    let truncated = Truncated::new(sampler, lower, upper).unwrap();
    let seeded = SeededRandom::new(seed);
    let mut release = {
        let mut random = seeded.stream(0);
        move || truncated.release(value, &mut random).unwrap()
    };
    let mut pilot: Vec<i128> = (0..2_000).map(|_| release()).collect();
    pilot.sort_unstable();
    // Bin `i` ends with the output `ends[i]`.
    let mut ends: Vec<i128> =
        (1..16).map(|i| pilot[i * pilot.len() / 16]).chain([lower, upper]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut counts = vec![0; ends.len()];
    for _ in 0..draws {
        let output = release();
        assert!((lower..=upper).contains(&output), "{name}: {output}");
        counts[ends.partition_point(|&end| end < output)] += 1;
    }
    let p = |factor: f64| {
        let noise = Rounded { tail, scale: scale * factor, exponent };
        let at_most = |steps: i128| {
            if steps >= 0 {
                1u32 - noise.at_least(steps as u128 + 1)
            } else {
                noise.at_least(steps.unsigned_abs())
            }
        };
        let below = at_most(lower - 1 - value);
        let inside = at_most(upper - value) - &below;
        let cumulative: Vec<_> =
            ends.iter().map(|end| (at_most(end - value) - &below) / &inside).collect();
        let probabilities: Vec<f64> = (0..ends.len())
            .map(|i| {
                if i == 0 {
                    cumulative[0].to_f64()
                } else {
                    (cumulative[i].clone() - &cumulative[i - 1]).to_f64()
                }
            })
            .collect();
        goodness_of_fit(&counts, &probabilities)
    };
    let fit = p(1.0);
    assert!(fit > ALPHA, "{name}: p = {fit:e}");
    for factor in [0.98, 1.02] {
        let wrong = p(factor);
        match power {
            Power::Required => assert!(
                wrong < ALPHA,
                "{name}: no power against a factor of {factor}, p = {wrong:e}"
            ),
            Power::Impossible(reason) => assert!(wrong > ALPHA, "{name}: not so: {reason}"),
        }
    }
}

#[test]
fn truncated_in_the_middle_near_and_at_a_bound() {
    let sixteenths = Lattice::of_spacing_power(-4).unwrap();
    let default = Lattice::for_scale(1.0).unwrap();
    let one = 1i128 << 40;
    let flat = Power::Impossible(
        "within a sixteenth of the scale the noise is almost uniform, whatever the scale",
    );
    let mut seed = 1000;
    let mut next = || {
        seed += 1;
        seed
    };
    let laplace = |lattice| Sampler::new(Laplace, 1.0, lattice).unwrap();
    let gaussian = |lattice| Sampler::new(Gaussian, 1.0, lattice).unwrap();
    for value in [0, 90, 96] {
        check_truncated(
            laplace(sixteenths),
            &oracle::laplace(),
            [-96, value, 96],
            400_000,
            next(),
            Power::Required,
        );
        check_truncated(
            gaussian(sixteenths),
            &oracle::gaussian(),
            [-96, value, 96],
            300_000,
            next(),
            Power::Required,
        );
    }
    for value in [0, -one + 7, -one] {
        let bounds = [-one, value, one];
        // A range of one scale to each side has the less to say about it the more central the value
        // is.
        let draws = if value == 0 { 4_000_000 } else { 1_000_000 };
        check_truncated(
            laplace(default),
            &oracle::laplace(),
            bounds,
            draws,
            next(),
            Power::Required,
        );
    }
    for value in [0, 1] {
        check_truncated(
            laplace(sixteenths),
            &oracle::laplace(),
            [-1, value, 1],
            100_000,
            next(),
            flat,
        );
        check_truncated(
            gaussian(sixteenths),
            &oracle::gaussian(),
            [-1, value, 1],
            100_000,
            next(),
            flat,
        );
    }
    assert_eq!(seed - 1000, 13);
}

struct InverseOfE;
struct OneThird;
struct QuarterOfPi;

impl Probability for InverseOfE {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(-1.0).exp()
    }
}

impl Probability for OneThird {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(1.0) / like.exactly(3.0)
    }
}

impl Probability for QuarterOfPi {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        like.pi().times_power_of_two(-2)
    }
}

#[test]
fn bernoulli_of_real_probabilities() {
    fn heads<P: Probability>(probability: P, seed: u64) -> [u64; 2] {
        let coin = Bernoulli::new(probability);
        let mut random = SeededRandom::new(seed);
        let heads = (0..DRAWS).filter(|_| coin.draw(&mut random).unwrap()).count() as u64;
        [heads, DRAWS as u64 - heads]
    }
    let cases = [
        (heads(InverseOfE, 1101), oracle::float(-1).exp().to_f64()),
        (heads(OneThird, 1102), 1.0 / 3.0),
        (heads(QuarterOfPi, 1103), (oracle::pi() / 4u32).to_f64()),
    ];
    for (counts, probability) in cases {
        let p = |probability: f64| goodness_of_fit(&counts, &[probability, 1.0 - probability]);
        assert!(p(probability) > ALPHA, "{probability}");
        assert!(
            p(probability * 0.98) < ALPHA && p(probability * 1.02) < ALPHA,
            "no power at {probability}"
        );
    }
}
