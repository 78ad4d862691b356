//! The far tails, which ordinary samples do not reach: the second level of the sampler's table and
//! the inversion beyond the last.
//!
//! A bent generator sends every draw there. Of these, the draws beyond a point that is further out
//! than the table's edges must follow the oracle's tail, given that they are beyond:
//! `P[N >= n | N >= n_0] = S(n) / S(n_0)`, and both signs alike.
//!
//! # Error rates
//! Chi-square tests at 1e-6, for 11 distributions at two or three depths: 23 tests. The same draws
//! must be rejected with a scale that is half or twice the right one, but for a power law, whose
//! tail looks the same at every scale.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::random_scale::{
    GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GeneralizedGaussian, IntegerNoise, Laplace,
    Lattice, Noise, RandomScaleLaplace, Sampler, Staircase,
};
use rug::Float;
use stat_tests::bins::Bins;
use stat_tests::chi_square::goodness_of_fit;
use stat_tests::forced::Forced;
use stat_tests::oracle::{
    self, DiscreteGaussianTail, DiscreteLaplaceTail, RealTail, Rounded, UpperTail,
};

const ALPHA: f64 = 1e-6;
const TRIES: usize = 80_000;

/// What the tail is like.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    /// It falls exponentially, or nearly so.
    Light,
    /// A power law, which looks the same at every scale.
    PowerLaw,
    /// A power law so heavy that something is left at the table's limit, `2^58` times the size of
    /// the noise, to be drawn by inversion.
    BeyondTheTable,
}

/// How a draw is sent outward: the least column at each level.
#[derive(Clone, Copy, Debug)]
enum Route {
    /// Always to the last column.
    Levels(usize),
    /// To the second level, and there to where the tail is.
    Columns,
}

impl Tail {
    /// Routes, with the exponent of a tail probability that lies beyond all they skip. The first
    /// level of the table ends where less than a column is left, at most `2^-9` and never further
    /// out than `2^-11`; the second covers the rest up to the table's limit, what is beyond `2^-17`
    /// with a few columns. With `P[X > x]` about `x^-0.5 / 2`, the limit is at `2^-30.5`.
    fn depths(self) -> Vec<(Route, i32)> {
        let mut depths = vec![(Route::Levels(1), -11), (Route::Columns, -17)];
        if self == Tail::BeyondTheTable {
            depths.push((Route::Levels(3), -31));
        }
        depths
    }
}

/// Draws beyond a lattice point, made on a route: signed distances, 1 for the point itself.
struct Outward<'a, N> {
    sampler: &'a Sampler<N>,
    start: u128,
    random: Forced<SeededRandom>,
}

impl<N: Noise> Outward<'_, N> {
    fn draws(&mut self, tries: usize, least_columns: &[u8]) -> Vec<i128> {
        let mut found = Vec::new();
        for _ in 0..tries {
            self.random.restrict(least_columns);
            let draw = self.sampler.draw(&mut self.random).unwrap();
            if draw.unsigned_abs() >= self.start {
                found.push(draw.signum() * (draw.unsigned_abs() - self.start + 1) as i128);
            }
        }
        found
    }

    /// The least columns of a route. For [`Route::Columns`] those from which most draws arrive, and
    /// ten more before them: they skip nothing of a tail that a few columns hold. (Were it not so,
    /// the chi-square test would say so.)
    fn least_columns(&mut self, route: Route) -> Vec<u8> {
        match route {
            Route::Levels(count) => vec![255; count],
            Route::Columns => {
                let arrivals = |column: &u8| self.draws(2_000, &[255, *column]).len();
                let most = (10..=250).step_by(8).max_by_key(arrivals).unwrap();
                vec![255, most - 10]
            }
        }
    }
}

/// The tail beyond `n_0`: its steps are counted from there, so that `n_0` itself is 1. There is no
/// zero.
struct Beyond<'a> {
    noise: &'a dyn UpperTail,
    start: u128,
}

impl UpperTail for Beyond<'_> {
    fn at_least(&self, n: u128) -> Float {
        self.noise.at_least(self.start - 1 + n) / self.noise.at_least(self.start) / 2u32
    }
}

/// The least `n` with `P[N >= n] <= 2^exponent`.
fn start_of_tail(noise: &dyn UpperTail, exponent: i32) -> u128 {
    let is_beyond = |n: u128| noise.at_least(n) <= 2f64.powi(exponent);
    let mut beyond = 1;
    while !is_beyond(beyond) {
        beyond *= 2;
    }
    let mut before = beyond / 2;
    while beyond - before > 1 {
        let middle = before + (beyond - before) / 2;
        if is_beyond(middle) { beyond = middle } else { before = middle }
    }
    beyond
}

fn check<'a, N: Noise>(
    sampler: &Sampler<N>,
    tail: Tail,
    seed: u64,
    oracle: impl Fn(f64) -> Box<dyn UpperTail + 'a>,
) {
    for (route, exponent) in tail.depths() {
        let name = format!("{:?} beyond 2^{exponent}", sampler.noise());
        let noise = oracle(1.0);
        let start = start_of_tail(&*noise, exponent);
        let mut outward = Outward { sampler, start, random: Forced::new(SeededRandom::new(seed)) };
        let least_columns = outward.least_columns(route);
        let bins = Bins::from_pilot(outward.draws(TRIES / 4, &least_columns), 6);
        let draws = outward.draws(TRIES, &least_columns);
        assert!(draws.len() > TRIES / 300, "{name}: only {} draws", draws.len());
        let counts = bins.histogram(draws);
        let p = |factor: f64| {
            let noise = oracle(factor);
            goodness_of_fit(&counts, &bins.probabilities(&Beyond { noise: &*noise, start }))
        };
        let fit = p(1.0);
        assert!(fit > ALPHA, "{name}: p = {fit:e}");
        for factor in [0.5, 2.0] {
            let wrong = p(factor);
            assert!(
                tail != Tail::Light || wrong < ALPHA,
                "{name}: no power against a factor of {factor}, p = {wrong:e}"
            );
        }
    }
}

fn check_real<N: Noise>(noise: N, tail: RealTail, exponent: i32, reach: Tail, seed: u64) {
    let sampler = Sampler::new(noise, 3.0, Lattice::of_spacing_power(exponent).unwrap()).unwrap();
    check(&sampler, reach, seed, |factor| {
        Box::new(Rounded { tail: &tail, scale: 3.0 * factor, exponent })
    });
}

#[test]
fn tails_of_real_noise() {
    check_real(Laplace, oracle::laplace(), -38, Tail::Light, 1);
    check_real(Gaussian, oracle::gaussian(), -38, Tail::Light, 2);
    check_real(
        GeneralizedGaussian::new(0.5).unwrap(),
        oracle::generalized_gaussian(0.5),
        -20,
        Tail::Light,
        3,
    );
    check_real(
        GeneralizedGaussian::new(3.0).unwrap(),
        oracle::generalized_gaussian(3.0),
        -38,
        Tail::Light,
        4,
    );
    check_real(Staircase::new(0.7, 0.3).unwrap(), oracle::staircase(0.7, 0.3), -5, Tail::Light, 5);
}

#[test]
fn tails_of_random_scale_laplace() {
    let two_point = TwoPointScale::new(0.5, 2.0, 0.3).unwrap();
    let tail = oracle::laplace_mixture(vec![(0.3, 0.5), (0.7, 2.0)]);
    check_real(RandomScaleLaplace::new(two_point), tail, -30, Tail::Light, 6);
    let gamma = GammaScale::new(0.5, 1.0).unwrap();
    check_real(
        RandomScaleLaplace::new(gamma),
        oracle::laplace_of_gamma_scale(0.5, 1.0),
        -38,
        Tail::BeyondTheTable,
        7,
    );
    let uniform = UniformScale::new(0.0, 1.0).unwrap();
    check_real(
        RandomScaleLaplace::new(uniform),
        oracle::laplace_of_uniform_scale(0.0, 1.0),
        -10,
        Tail::PowerLaw,
        8,
    );
    let truncated = TruncatedGaussianScale::new(1.0, 0.3, 0.2, 2.0).unwrap();
    let tail = oracle::laplace_of_truncated_gaussian_scale(1.0, 0.3, 0.2, 2.0);
    check_real(RandomScaleLaplace::new(truncated), tail, -20, Tail::Light, 9);
}

#[test]
fn tails_of_integer_noise() {
    let sampler = DiscreteLaplace::new(7.3).unwrap().sampler().unwrap();
    check(&sampler, Tail::Light, 10, |factor| Box::new(DiscreteLaplaceTail(7.3 * factor)));
    let sampler = DiscreteGaussian::new(30.0).unwrap().sampler().unwrap();
    check(&sampler, Tail::Light, 11, |factor| Box::new(DiscreteGaussianTail::new(30.0 * factor)));
}
