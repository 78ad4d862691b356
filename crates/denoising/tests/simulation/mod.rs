//! Seeded releases and what became of them.
#![allow(dead_code, reason = "each test file uses its part")]

use reticent_denoising::{Denoiser, NoiseDescription, Release};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{DiscreteLaplace, Gaussian, IntegerNoise, Laplace, Lattice, Noise, Sampler};

/// A mean over seeded repetitions, with its standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    count: f64,
    pub value: f64,
    squares: f64,
}

impl Mean {
    pub fn add(&mut self, term: f64) {
        self.count += 1.0;
        let off = term - self.value;
        self.value += off / self.count;
        self.squares += off * (term - self.value);
    }

    pub fn standard_error(&self) -> f64 {
        (self.squares / (self.count - 1.0) / self.count).sqrt()
    }

    /// Six standard errors: false alarms have probability 2e-9 for each comparison and a new seed.
    pub fn agrees_with(&self, expected: f64) -> bool {
        (self.value - expected).abs() <= 6.0 * self.standard_error()
    }
}

/// Draws of a noise of a scale.
pub struct Draws<N> {
    sampler: Sampler<N>,
    random: SeededRandom,
}

impl<N: Noise> Draws<N> {
    pub fn new(noise: N, scale: f64, seed: u64) -> Self {
        let sampler = Sampler::new(noise, scale, Lattice::for_scale(scale).unwrap()).unwrap();
        Draws { sampler, random: SeededRandom::new(seed) }
    }

    pub fn next(&mut self) -> f64 {
        self.sampler.lattice().value(self.sampler.draw(&mut self.random).unwrap())
    }
}

/// Draws of Gaussian noise.
pub fn gaussian(sigma: f64, seed: u64) -> Draws<Gaussian> {
    Draws::new(Gaussian, sigma, seed)
}

/// Draws of Laplace noise.
pub fn laplace(scale: f64, seed: u64) -> Draws<Laplace> {
    Draws::new(Laplace, scale, seed)
}

/// Draws of discrete Laplace noise.
pub fn discrete_laplace(scale: f64, seed: u64) -> Draws<reticent_noise::Jittered<DiscreteLaplace>> {
    let sampler = DiscreteLaplace::new(scale).unwrap().sampler().unwrap();
    Draws { sampler, random: SeededRandom::new(seed) }
}

pub fn squared_error(values: &[f64], theta: &[f64]) -> f64 {
    values.iter().zip(theta).map(|(value, truth)| (value - truth).powi(2)).sum()
}

/// The mean squared error of a denoiser, and the mean of its own estimate of that, over so many
/// releases.
pub fn simulate<N: Noise>(
    denoiser: &dyn Denoiser,
    theta: &[f64],
    noise: &NoiseDescription,
    draws: &mut Draws<N>,
    releases: usize,
) -> (Mean, Mean, Mean) {
    let (mut error, mut estimate, mut difference) =
        (Mean::default(), Mean::default(), Mean::default());
    for _ in 0..releases {
        let values = theta.iter().map(|truth| truth + draws.next()).collect();
        let denoised = denoiser.denoise(&Release::new(values, noise.clone()).unwrap()).unwrap();
        let loss = squared_error(&denoised.values, theta);
        error.add(loss);
        if let Some(risk) = denoised.risk_after {
            estimate.add(risk.value);
            difference.add(risk.value - loss);
        }
    }
    (error, estimate, difference)
}
