//! A fixed seed gives the same draws, on every machine and with any number of threads.
//!
//! Recorded computations can then be reproduced. The draws depend on the generator, the order in
//! which bits are used, and the sampler's table, and so on how tight the certified bounds are. A
//! change of any value here is a change that users see: announce it in the changelog,
//! under **Guarantees**.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::random_scale::{
    Combined, GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::{SeededRandom, SeededStreams};
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GeneralizedGaussian, IntegerNoise, Laplace,
    Lattice, Noise, RandomScaleLaplace, Sampler, Staircase, Truncated, fill_with_threads,
};

const SEED: u64 = 20_260_101;

/// The first four draws and the exclusive or of the first 100 000, which also has those that take
/// the rare paths.
type Draws = ([i128; 4], i128);

fn first_draws(mut draw: impl FnMut(&mut SeededRandom) -> i128) -> Draws {
    let mut random = SeededRandom::new(SEED);
    let first = std::array::from_fn(|_| draw(&mut random));
    (
        first,
        (4..100_000)
            .fold(first.iter().fold(0, |all, draw| all ^ draw), |all, _| all ^ draw(&mut random)),
    )
}

/// Noise of scale 3 on the multiples of `2^-20`.
fn of_real<N: Noise>(noise: N) -> Draws {
    let sampler = Sampler::new(noise, 3.0, Lattice::of_spacing_power(-20).unwrap()).unwrap();
    first_draws(|random| sampler.draw(random).unwrap())
}

fn of_integer<N: IntegerNoise>(noise: N) -> Draws {
    let sampler = noise.sampler().unwrap();
    first_draws(|random| sampler.draw(random).unwrap())
}

fn of_truncated(lower: i128, upper: i128) -> Draws {
    let sampler = Sampler::new(Laplace, 3.0, Lattice::of_spacing_power(-20).unwrap()).unwrap();
    let truncated = Truncated::new(sampler, lower, upper).unwrap();
    first_draws(|random| truncated.release(lower, random).unwrap())
}

#[test]
fn a_seed_gives_the_same_draws() {
    let two_point = TwoPointScale::new(0.5, 2.0, 0.3).unwrap();
    let gamma = GammaScale::new(3.0, 0.5).unwrap();
    let uniform = UniformScale::new(0.5, 1.5).unwrap();
    let truncated = TruncatedGaussianScale::new(1.0, 0.3, 0.2, 2.0).unwrap();
    let combined = Combined::new(vec![(0.7, two_point.into()), (1.5, gamma.into())]).unwrap();
    let drawn = [
        ("Laplace", of_real(Laplace)),
        ("Gaussian", of_real(Gaussian)),
        ("generalized Gaussian, p = 0.5", of_real(GeneralizedGaussian::new(0.5).unwrap())),
        ("generalized Gaussian, p = 3", of_real(GeneralizedGaussian::new(3.0).unwrap())),
        ("staircase", of_real(Staircase::new(1.0, 0.3).unwrap())),
        ("two-point scale", of_real(RandomScaleLaplace::new(two_point))),
        ("gamma scale", of_real(RandomScaleLaplace::new(gamma))),
        ("uniform scale", of_real(RandomScaleLaplace::new(uniform))),
        ("truncated Gaussian scale", of_real(RandomScaleLaplace::new(truncated))),
        ("combined scale", of_real(RandomScaleLaplace::new(combined))),
        ("discrete Laplace", of_integer(DiscreteLaplace::new(1e6).unwrap())),
        ("discrete Gaussian", of_integer(DiscreteGaussian::new(1e6).unwrap())),
        ("truncated Laplace, wide", of_truncated(0, 10 << 20)),
        ("truncated Laplace, narrow", of_truncated(-100, 100)),
    ];
    let report: String =
        drawn.iter().map(|(name, draws)| format!("    (\"{name}\", {draws:?}),\n")).collect();
    assert!(drawn == EXPECTED, "the draws are now\n{report}");
}

#[rustfmt::skip]
const EXPECTED: [(&str, Draws); 14] = [
    ("Laplace", ([975817, -1202208, 6299500, -712742], -36680507)),
    ("Gaussian", ([1071200, -1286445, 4697212, -807628], -1902057)),
    ("generalized Gaussian, p = 0.5", ([3183065, -4124418, 38868537, -2171861], 38410464)),
    ("generalized Gaussian, p = 3", ([750582, -896036, 2875523, -569456], 6921827)),
    ("staircase", ([739356, -880585, 6269313, -561987], 50292187)),
    ("two-point scale", ([652434, -810808, 5880663, -471966], 110635339)),
    ("gamma scale", ([687850, -857983, 6029842, -495270], -55145494)),
    ("uniform scale", ([989974, -1223518, 6927449, -720451], 12461693)),
    ("truncated Gaussian scale", ([988211, -1221510, 6961973, -719053], 20077668)),
    ("combined scale", ([301294, -373548, 2267288, -218458], -66505294)),
    ("discrete Laplace", ([310204, -382171, 2002557, -226574], -10243086)),
    ("discrete Gaussian", ([340525, -408950, 1493203, -256738], -3900754)),
    ("truncated Laplace, wide", ([975817, 71991, 3891675, 677636], 10122768)),
    ("truncated Laplace, narrow", ([75, -88, 44, -43], -40)),
];

#[test]
fn the_number_of_threads_does_not_matter() {
    let sampler = Sampler::new(Gaussian, 3.0, Lattice::of_spacing_power(-20).unwrap()).unwrap();
    // Several pieces, the last one short.
    let filled = [1, 2, 3, 8].map(|threads| {
        let mut out = vec![0; 100_001];
        fill_with_threads(&sampler, &mut out, &SeededStreams::new(SEED), threads).unwrap();
        out
    });
    assert!(filled.windows(2).all(|pair| pair[0] == pair[1]));
    // Stream 0 serves the first piece: the same draws as one by one.
    let mut random = SeededRandom::new(SEED);
    assert!(filled[0][..1000].iter().all(|&filled| filled == sampler.draw(&mut random).unwrap()));
    let mut distinct = filled[0].clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 90_000, "pieces do not repeat each other");
}
