//! Balle and Wang, Section 4: risks on balls, measured against the bounds and rates.
#![allow(clippy::unwrap_used, clippy::panic)]

mod simulation;

use reticent_denoising::shrinkage::{
    Ball, MinimaxOnBall, ProjectionOnBall, Thresholding, dense_rate, soft_threshold_bound,
    sparse_rate, universal_threshold_bound,
};
use reticent_denoising::{Denoiser, NoiseDescription};
use simulation::{Mean, gaussian, simulate};

const SIGMA: f64 = 2.0;
const RELEASES: usize = 60;

fn risk(denoiser: &dyn Denoiser, theta: &[f64], seed: u64) -> Mean {
    let noise = NoiseDescription::gaussian(SIGMA).unwrap();
    simulate(denoiser, theta, &noise, &mut gaussian(SIGMA, seed), RELEASES).0
}

/// Vectors on the surface of the ball: one spike, spikes of the size of the threshold, all equal.
fn surface(ball: &Ball, d: usize) -> Vec<Vec<f64>> {
    let (p, radius) = (ball.order(), ball.radius());
    let spikes = |count: usize| {
        let size = radius / (count as f64).powf(1.0 / p);
        (0..d).map(|index| if index < count { size } else { 0.0 }).collect::<Vec<f64>>()
    };
    let middle = (radius / (3.0 * SIGMA)).powf(p).round().clamp(1.0, d as f64) as usize;
    vec![spikes(1), spikes(middle), spikes(d)]
}

/// The risk over the ball is at most what is proved, and for Theorem 12 at most its bound with any
/// upper bound of the minimax risk in it. Means of 60 releases, 6 standard errors: 1e-9 for each of
/// 90 comparisons.
#[test]
fn measured_risks_are_never_above_the_bounds() {
    let d = 400;
    for (index, p) in [0.5, 1.0, 2.0].into_iter().enumerate() {
        for signal in [2.0, 8.0, 30.0, 120.0, 500.0] {
            let ball = Ball::new(p, SIGMA * signal).unwrap();
            let minimax = MinimaxOnBall { ball };
            let noise = NoiseDescription::gaussian(SIGMA).unwrap();
            let release = reticent_denoising::Release::new(vec![0.0; d], noise).unwrap();
            let greatest = minimax.greatest_risk(&release).unwrap();
            assert!(greatest <= soft_threshold_bound(&ball, SIGMA, d).1 * (1.0 + 1e-12));
            let theorem_12 = universal_threshold_bound(greatest, SIGMA, d).unwrap();
            for theta in surface(&ball, d) {
                let seed = 40 + index as u64;
                let near = risk(&minimax, &theta, seed);
                assert!(
                    near.value - 6.0 * near.standard_error() <= greatest,
                    "{p} {signal}: {near:?} {greatest}"
                );
                let universal = risk(&Thresholding::soft_universal(), &theta, seed);
                assert!(
                    universal.value - 6.0 * universal.standard_error() <= theorem_12,
                    "{p} {signal}: {universal:?} {theorem_12}"
                );
            }
        }
    }
}

/// Eqn 7: with `d sigma^p / B^p` fixed the risk grows like `B^p`; the worst of the surface, within
/// the constants, which for this estimator are from a fifth to four times.
#[test]
fn the_risk_on_sparse_balls_has_the_rate_of_equation_7() {
    for p in [0.5, 1.0] {
        let ratios = [16usize, 64, 256].map(|spikes| {
            let d = 50 * spikes;
            let ball = Ball::new(p, SIGMA * 3.0 * (spikes as f64).powf(1.0 / p)).unwrap();
            let worst = surface(&ball, d)
                .iter()
                .map(|theta| risk(&MinimaxOnBall { ball }, theta, 50).value)
                .fold(0.0, f64::max);
            worst / sparse_rate(&ball, SIGMA, d).unwrap()
        });
        // The slope in B: 16 times the spikes, and so of B^p, leave the ratio as it is.
        assert!((ratios[2] / ratios[0] - 1.0).abs() < 0.15, "{p}: {ratios:?}");
        assert!(ratios.iter().all(|ratio| (0.2..4.0).contains(ratio)), "{p}: {ratios:?}");
    }
}

/// For `p = 2` the linear estimator has the stated risk exactly on the surface.
#[test]
fn the_risk_on_dense_balls_is_the_rate() {
    let d = 100;
    for signal in [1.0, 10.0, 100.0] {
        let ball = Ball::new(2.0, SIGMA * signal).unwrap();
        let expected = dense_rate(&ball, SIGMA, d).unwrap();
        let theta = vec![ball.radius() / 10.0; d];
        let measured = risk(&MinimaxOnBall { ball }, &theta, 60);
        assert!(measured.value < expected + 6.0 * measured.standard_error(), "{measured:?}");
        let larger = Ball::new(4.0, SIGMA * signal).unwrap();
        assert!(dense_rate(&larger, SIGMA, d).unwrap() > expected, "erratum B5");
    }
}

/// A projection on a ball that holds the truth makes errors smaller.
#[test]
fn projections_help() {
    let theta: Vec<f64> = (0..200).map(|index| if index < 5 { 20.0 } else { 0.0 }).collect();
    for (p, radius) in [(1.0, 100.0), (2.0, 2000f64.sqrt())] {
        let ball = ProjectionOnBall::new(Ball::new(p, radius).unwrap()).unwrap();
        let projected = risk(&ball, &theta, 70);
        assert!(projected.value < 0.85 * 200.0 * SIGMA * SIGMA, "{p}: {projected:?}");
    }
}
