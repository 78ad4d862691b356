//! Nanoseconds per draw.

use crate::timing::{Contender, best_of};
use rand_core::UnwrapErr;
use rand_distr::{Distribution, Exp1, StandardNormal};
use reticent_noise::random_scale::{
    GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::{SecureRandom, SecureStreams};
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GeneralizedGaussian, IntegerNoise, Laplace,
    Lattice, Noise, RandomScaleLaplace, Sampler, Staircase, fill_with_threads,
};
use serde::Serialize;
use std::fmt;

const ROUNDS: usize = 9;
const DRAWS: usize = 400_000;

/// What the run found.
#[derive(Serialize)]
pub struct Report {
    /// Plain f64 samplers on the same ChaCha20 generator.
    baseline: Vec<Baseline>,
    /// Exact draws.
    exact: Vec<Exact>,
    /// The slowest over the fastest of each distribution's scales.
    flatness: Vec<Flatness>,
    /// Filling a slice of a million draws.
    fill: Vec<Fill>,
}

#[derive(Serialize)]
struct Baseline {
    name: &'static str,
    nanoseconds: f64,
}

#[derive(Serialize)]
struct Exact {
    name: &'static str,
    scale: f64,
    nanoseconds: f64,
    /// Which of the plain samplers it is compared with.
    against: &'static str,
    ratio: f64,
    /// The most that the ratio is meant to be.
    target: f64,
}

#[derive(Serialize)]
struct Flatness {
    name: &'static str,
    slowest_over_fastest: f64,
}

#[derive(Serialize)]
struct Fill {
    name: &'static str,
    draws: usize,
    threads: usize,
    speed_up: f64,
}

type Error = Box<dyn std::error::Error>;

fn draws<N: Noise + 'static>(sampler: Sampler<N>) -> Result<Contender<'static>, Error> {
    let mut random = SecureRandom::new()?;
    Ok(Box::new(move |runs| {
        let mut sum = 0i128;
        for _ in 0..runs {
            // A generator that fails ends the measurement with an absurd figure rather than a good
            // one.
            sum = sum.wrapping_add(sampler.draw(&mut random).unwrap_or(i128::MAX));
        }
        sum as f64
    }))
}

fn continuous<N: Noise + 'static>(noise: N, scale: f64) -> Result<Contender<'static>, Error> {
    let lattice = Lattice::for_scale(scale * noise.magnitude())?;
    draws(Sampler::new(noise, scale, lattice)?)
}

/// Runs everything.
pub fn measure() -> Result<Report, Error> {
    let mut generator = UnwrapErr(SecureRandom::new()?);
    let mut second = UnwrapErr(SecureRandom::new()?);
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|runs| {
            let normal = StandardNormal;
            (0..runs).map(|_| -> f64 { normal.sample(&mut generator) }).sum()
        }),
        Box::new(|runs| (0..runs).map(|_| -> f64 { Exp1.sample(&mut second) }).sum()),
    ];
    let mut labels: Vec<(&'static str, f64, &'static str, f64)> = Vec::new();
    let mut add = |name, scale, against, target, contender: Contender<'static>| {
        labels.push((name, scale, against, target));
        contenders.push(contender);
    };
    let (normal, exponential) = ("StandardNormal", "Exp1");
    for scale in [1e-3, 1.0, 1e3, 1e6, 1e9] {
        add(
            "discrete-laplace",
            scale,
            exponential,
            3.0,
            draws(DiscreteLaplace::new(scale)?.sampler()?)?,
        );
        add("laplace", scale, exponential, 3.0, continuous(Laplace, scale)?);
        add("gaussian", scale, normal, 3.0, continuous(Gaussian, scale)?);
        add(
            "discrete-gaussian",
            scale,
            normal,
            3.0,
            draws(DiscreteGaussian::new(scale)?.sampler()?)?,
        );
        add(
            "generalized-gaussian p=3",
            scale,
            normal,
            6.0,
            continuous(GeneralizedGaussian::new(3.0)?, scale)?,
        );
        add(
            "staircase eps=1",
            scale,
            exponential,
            6.0,
            continuous(Staircase::new(1.0, 0.378)?, scale)?,
        );
        let two_point = RandomScaleLaplace::new(TwoPointScale::new(0.5, 5.0, 0.3)?);
        add(
            "random-scale-laplace two-point",
            scale,
            exponential,
            6.0,
            continuous(two_point, scale)?,
        );
        let gamma = RandomScaleLaplace::new(GammaScale::new(3.0, 0.5)?);
        add("random-scale-laplace gamma", scale, exponential, 6.0, continuous(gamma, scale)?);
        let uniform = RandomScaleLaplace::new(UniformScale::new(0.5, 3.0)?);
        add("random-scale-laplace uniform", scale, exponential, 6.0, continuous(uniform, scale)?);
        let truncated = RandomScaleLaplace::new(TruncatedGaussianScale::new(1.0, 1.0, 0.5, 3.0)?);
        add(
            "random-scale-laplace truncated-gaussian",
            scale,
            exponential,
            6.0,
            continuous(truncated, scale)?,
        );
    }
    let times = best_of(ROUNDS, DRAWS, &mut contenders);
    let baseline = vec![
        Baseline { name: normal, nanoseconds: times[0] },
        Baseline { name: exponential, nanoseconds: times[1] },
    ];
    let exact: Vec<Exact> = labels
        .into_iter()
        .zip(&times[2..])
        .map(|((name, scale, against, target), &nanoseconds)| {
            let ratio = nanoseconds / if against == normal { times[0] } else { times[1] };
            Exact { name, scale, nanoseconds, against, ratio, target }
        })
        .collect();
    Ok(Report { baseline, flatness: flatness(&exact), exact, fill: fills()? })
}

fn flatness(exact: &[Exact]) -> Vec<Flatness> {
    let mut found: Vec<(&'static str, f64, f64)> = Vec::new();
    for row in exact {
        match found.iter_mut().find(|(name, ..)| *name == row.name) {
            Some((_, fastest, slowest)) => {
                *fastest = fastest.min(row.nanoseconds);
                *slowest = slowest.max(row.nanoseconds);
            }
            None => found.push((row.name, row.nanoseconds, row.nanoseconds)),
        }
    }
    found
        .into_iter()
        .map(|(name, fastest, slowest)| Flatness { name, slowest_over_fastest: slowest / fastest })
        .collect()
}

fn fills() -> Result<Vec<Fill>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let laplace = Sampler::new(Laplace, 1.0, Lattice::for_scale(1.0)?)?;
    let gaussian = Sampler::new(Gaussian, 1.0, Lattice::for_scale(1.0)?)?;
    Ok(vec![
        fill_speed_up("laplace", &laplace, threads),
        fill_speed_up("gaussian", &gaussian, threads),
    ])
}

fn fill_speed_up<N: Noise>(name: &'static str, sampler: &Sampler<N>, threads: usize) -> Fill {
    const MILLION: usize = 1_000_000;
    let contender = |threads: usize| -> Contender<'_> {
        let mut out = vec![0i128; MILLION];
        Box::new(move |_| {
            let outcome = fill_with_threads(sampler, &mut out, &SecureStreams, threads);
            // As above: a failure is not a fast fill.
            outcome.map_or(f64::NAN, |()| out[MILLION - 1] as f64)
        })
    };
    let times = best_of(15, MILLION, &mut [contender(1), contender(threads)]);
    Fill { name, draws: MILLION, threads, speed_up: times[0] / times[1] }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plain f64 samplers of rand_distr, on the same ChaCha20 generator")?;
        for row in &self.baseline {
            writeln!(f, "  {:<42} {:>18.1} ns", row.name, row.nanoseconds)?;
        }
        writeln!(
            f,
            "exact draws                                   scale        ns    ratio   (target)"
        )?;
        for row in &self.exact {
            let Exact { name, scale, nanoseconds, against, ratio, target } = row;
            writeln!(
                f,
                "  {name:<40} {scale:>8.0e} {nanoseconds:>9.1} {ratio:>8.2}   ({target} x \
                 {against})"
            )?;
        }
        writeln!(f, "slowest over fastest scale (target 2)")?;
        for row in &self.flatness {
            writeln!(f, "  {:<40} {:>18.2}", row.name, row.slowest_over_fastest)?;
        }
        writeln!(f, "filling a slice of a million on all cores (target 1.7 on two)")?;
        for row in &self.fill {
            writeln!(f, "  {:<32} {} threads {:>15.2} x", row.name, row.threads, row.speed_up)?;
        }
        Ok(())
    }
}
