//! Balle and Wang, Section 5.2, regenerated: the l2 error of a private mean by dimension, as it is released and denoised.
//!
//! `cargo run --release -p reticent-denoising --example mean_estimation`
//!
//! 500 points in a public cube of side 1 about a centre drawn from `N(0, I)`; Gaussian noise of the least variance for `delta = 1e-4` and replace-one sensitivity `sqrt(d)/500` (erratum
//! B3), and Laplace noise for `d/500`. Means over 20 seeded data sets.

use reticent_denoising::shrinkage::{JamesStein, Thresholding};
use reticent_denoising::{Auto, Denoiser, NoiseDescription, Release, Unchanged};
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{Gaussian, Laplace, Lattice, Noise, Sampler};
use std::error::Error;

const POINTS: f64 = 500.0;
const REPETITIONS: u64 = 20;

fn draws<N: Noise>(noise: N, scale: f64, count: usize, seed: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let lattice = Lattice::for_scale(scale)?;
    let sampler = Sampler::new(noise, scale, lattice)?;
    let mut random = SeededRandom::new(seed);
    (0..count).map(|_| Ok(lattice.value(sampler.draw(&mut random)?))).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>7} {:>6} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "epsilon", "d", "laplace", "gaussian", "james-stein", "threshold", "auto"
    );
    for epsilon in [0.01, 0.1, 1.0] {
        for d in [10, 100, 1000, 10_000] {
            let (l1, l2) = (d as f64 / POINTS, (d as f64).sqrt() / POINTS);
            let budget = (Epsilon::new(epsilon)?, Delta::new(1e-4)?);
            let mechanism =
                GaussianMechanism::calibrate(GaussianMethod::Analytic, budget.0, budget.1, Distance::new(l2)?)?;
            let (sigma, b) = (mechanism.scale(), l1 / epsilon);
            let mut errors = [0.0; 5];
            for seed in 0..REPETITIONS {
                // The mean of the points' offsets is normal but for a part that is far below what is seen here.
                let centres = draws(Gaussian, 1.0, d, 3 * seed)?;
                let offsets = draws(Gaussian, (1.0 / 12.0 / POINTS).sqrt(), d, 3 * seed + 1)?;
                let truth: Vec<f64> = centres.iter().zip(&offsets).map(|(centre, offset)| centre + offset).collect();
                let noisy = |noise: Vec<f64>| truth.iter().zip(noise).map(|(truth, noise)| truth + noise).collect();
                let gaussian =
                    Release::new(noisy(draws(Gaussian, sigma, d, 3 * seed + 2)?), NoiseDescription::gaussian(sigma)?)?;
                let laplace = Release::new(noisy(draws(Laplace, b, d, 3 * seed + 2)?), NoiseDescription::laplace(b)?)?;
                let runs: [(&Release, &dyn Denoiser); 5] = [
                    (&laplace, &Unchanged),
                    (&gaussian, &Unchanged),
                    (&gaussian, &JamesStein::positive_part()),
                    (&gaussian, &Thresholding::soft_universal()),
                    (&gaussian, &Auto::new()),
                ];
                for (error, (release, denoiser)) in errors.iter_mut().zip(runs) {
                    let values = denoiser.denoise(release)?.values;
                    let square: f64 = values.iter().zip(&truth).map(|(value, truth)| (value - truth).powi(2)).sum();
                    *error += square.sqrt() / REPETITIONS as f64;
                }
            }
            let cells: String = errors.iter().map(|error| format!(" {error:>11.4}")).collect();
            println!("{epsilon:>7} {d:>6}{cells}");
        }
    }
    Ok(())
}
