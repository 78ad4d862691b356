//! The risks that graph methods claim, against the truth, over seeded releases.
//!
//! Each check compares a mean over releases with zero by its own standard error. The bound of 6
//! standard errors is crossed with probability 2e-9 by a normal mean; for means over 2000 releases
//! or more of figures with light tails the probability stays far below 1e-6. There are 18 checks.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_denoising::graph::{
    GaussianRisk, Graph, Loss, NoiseDeviation, NoisyValues, Order, SpanningForest, Threshold,
    TrendFilter, Wavelets, denoise_with_wavelets,
};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{Gaussian, Lattice, Sampler};

const MOST_STANDARD_ERRORS: f64 = 6.0;

/// A grid of 8 by 8 with a plateau, a slope and a peak.
fn truth() -> Vec<f64> {
    let at = |row: usize, column: usize| {
        let plateau = if row < 4 && column < 4 { 9.0 } else { 0.0 };
        plateau + column as f64 * 0.5 + if (row, column) == (6, 6) { 12.0 } else { 0.0 }
    };
    (0..64).map(|node| at(node / 8, node % 8)).collect()
}

/// The mean of `figures` in units of its standard error.
fn standard_errors(figures: &[f64]) -> f64 {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let variance =
        figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean / (variance / count).sqrt()
}

/// Estimate less loss for each of many releases, and its square less the claimed mean square.
fn errors_of_the_estimate(
    releases: u64,
    deviations: &[f64],
    overstated: f64,
    denoise: impl Fn(&NoisyValues) -> (Vec<f64>, GaussianRisk),
) -> (Vec<f64>, Vec<f64>) {
    let lattice = Lattice::for_scale(1.0).unwrap();
    let sampler = Sampler::new(Gaussian, 1.0, lattice).unwrap();
    let (truth, mut errors, mut excess) = (truth(), Vec::new(), Vec::new());
    for seed in 0..releases {
        let mut random = SeededRandom::new(seed);
        let mut noise = |sigma: f64| sigma * lattice.value(sampler.draw(&mut random).unwrap());
        let noisy: Vec<f64> =
            truth.iter().zip(deviations).map(|(theta, &sigma)| theta + noise(sigma)).collect();
        let stated: Vec<f64> = deviations.iter().map(|sigma| sigma * overstated).collect();
        let (values, risk) =
            denoise(&NoisyValues::new(&noisy, NoiseDeviation::Each(&stated)).unwrap());
        let squares = values.iter().zip(&truth).map(|(value, theta)| (value - theta).powi(2));
        let loss: f64 = match risk.loss {
            Loss::SquaredError => squares.sum(),
            _ => squares.zip(&stated).map(|(square, sigma)| square / (sigma * sigma)).sum(),
        };
        assert!(risk.after.unbiased);
        errors.push(risk.after.value - loss);
        excess.push((risk.after.value - loss).powi(2) - risk.after.standard_error.powi(2));
    }
    (errors, excess)
}

fn check(
    name: &str,
    releases: u64,
    deviations: &[f64],
    denoise: impl Fn(&NoisyValues) -> (Vec<f64>, GaussianRisk),
) {
    let (errors, excess) = errors_of_the_estimate(releases, deviations, 1.0, &denoise);
    let bias = standard_errors(&errors);
    assert!(bias.abs() < MOST_STANDARD_ERRORS, "{name}: biased by {bias} standard errors");
    let too_large = standard_errors(&excess);
    assert!(
        too_large < MOST_STANDARD_ERRORS,
        "{name}: the claimed standard error is too small, by {too_large}"
    );
    let mean_square = errors.iter().map(|error| error * error).sum::<f64>();
    assert!(
        -excess.iter().sum::<f64>() < mean_square,
        "{name}: the claimed mean square is more than twice the true one"
    );
    // Power: noise that is stated 10% too large must be noticed.
    let (wrong, _) = errors_of_the_estimate(releases, deviations, 1.1, &denoise);
    let bias = standard_errors(&wrong);
    assert!(bias.abs() > MOST_STANDARD_ERRORS, "{name}: a wrong deviation passes with {bias}");
}

fn equal() -> Vec<f64> {
    vec![2.0; 64]
}

fn unequal() -> Vec<f64> {
    (0..64).map(|node| 1.0 + (node % 5) as f64 * 0.5).collect()
}

fn trend(order: Order, lambda: f64) -> impl Fn(&NoisyValues) -> (Vec<f64>, GaussianRisk) {
    let graph = Graph::grid(8, 8).unwrap();
    move |noisy| {
        let fit = TrendFilter::new(&graph, order).fit(noisy, lambda).unwrap();
        (fit.values().to_vec(), fit.risk_if_gaussian())
    }
}

#[test]
fn order_0_is_unbiased() {
    check("equal noise", 10_000, &equal(), trend(Order::Constant, 0.7));
    check("unequal noise", 10_000, &unequal(), trend(Order::Constant, 0.7));
}

#[test]
fn order_1_is_unbiased() {
    check("equal noise", 2_000, &equal(), trend(Order::Linear, 0.4));
    check("unequal noise", 2_000, &unequal(), trend(Order::Linear, 0.4));
}

#[test]
fn order_2_is_unbiased() {
    check("equal noise", 2_000, &equal(), trend(Order::Quadratic, 0.2));
}

#[test]
fn wavelets_are_unbiased_with_one_tree_and_with_several() {
    let graph = Graph::grid(8, 8).unwrap();
    for trees in [1, 4] {
        let mut random = SeededRandom::new(9);
        let draw = |_| Wavelets::new(&SpanningForest::uniform(&graph, &mut random).unwrap());
        let bases: Vec<Wavelets> = (0..trees).map(draw).collect();
        let denoise = |noisy: &NoisyValues| {
            let fit = denoise_with_wavelets(noisy, &bases, Threshold::Fixed(1.3)).unwrap();
            (fit.values().to_vec(), fit.risk_if_gaussian())
        };
        check("equal noise", 10_000, &equal(), denoise);
        check("unequal noise", 10_000, &unequal(), denoise);
    }
}
