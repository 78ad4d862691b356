//! Several numbers between bounds of their own: releases have the distribution that is claimed,
//! and do not contradict the guarantee of the whole vector.
//!
//! # Error rates
//! Six p-values at 1e-6 each, and two claims at 1e-6 each: some test here fails for a correct
//! library with probability at most 8e-6 over the choice of seeds, which are fixed. The same
//! samples reject a scale that is 3% off, and a guarantee that is 20% stronger.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    BoundedVector, Bounding, Budget, Mechanism, Neighbours, Order, Sensitivity, TruncatedMethod,
};
use reticent_noise::randomness::SeededRandom;
use stat_tests::audit::{Claim, contradicts};
use stat_tests::chi_square::goodness_of_fit;

const ALPHA: f64 = 1e-6;
const SAMPLES: usize = 200_000;
const BOUNDS: [(f64, f64); 2] = [(0.0, 1.0), (10.0, 14.0)];
const BINS: usize = 40;

fn calibrated(bounding: Bounding, p: f64, moves: &[f64; 2], epsilon: f64) -> BoundedVector {
    let sensitivity = Sensitivity::per_element(moves, Neighbours::AddRemove).unwrap();
    BoundedVector::calibrate(
        bounding,
        Order::new(p).unwrap(),
        TruncatedMethod::Exact,
        &BOUNDS,
        &sensitivity,
        Budget::new(epsilon, None).unwrap(),
    )
    .unwrap()
}

fn released(mechanism: &BoundedVector, answer: [f64; 2], seed: u64) -> Vec<[f64; 2]> {
    let releasers = mechanism.releasers(2, 2).unwrap();
    let mut random = SeededRandom::new(seed);
    let mut one = |k: usize| releasers[k].release(answer[k], &mut random).unwrap();
    (0..SAMPLES).map(|_| [one(0), one(1)]).collect()
}

/// The probabilities of the bins of one number, by the midpoint rule on a fine grid; with atoms at
/// the bounds for clamped noise.
fn expected(bounding: Bounding, p: f64, b: f64, (low, high): (f64, f64), s: f64) -> Vec<f64> {
    const FINE: usize = 200;
    let density = |y: f64| (-((y - s).abs() / b).powf(p)).exp();
    let width = (high - low) / (BINS * FINE) as f64;
    let cell = |i: usize| width * density(low + (i as f64 + 0.5) * width);
    let mut bins: Vec<f64> =
        (0..BINS).map(|bin| (0..FINE).map(|i| cell(bin * FINE + i)).sum()).collect();
    if bounding == Bounding::Inflated {
        let beyond = |from: f64, outward: f64| -> f64 {
            let step = 30.0 * b / 100_000.0;
            (0..100_000).map(|i| step * density(from + outward * (i as f64 + 0.5) * step)).sum()
        };
        bins.insert(0, beyond(low, -1.0));
        bins.push(beyond(high, 1.0));
    }
    let all: f64 = bins.iter().sum();
    bins.iter().map(|bin| bin / all).collect()
}

fn counted(bounding: Bounding, values: &[f64], (low, high): (f64, f64)) -> Vec<u64> {
    let atoms = usize::from(bounding == Bounding::Inflated);
    let mut counts = vec![0; BINS + 2 * atoms];
    for &value in values {
        let bin = (((value - low) / (high - low) * BINS as f64) as usize).min(BINS - 1);
        let index = match value {
            value if atoms == 1 && value <= low => 0,
            value if atoms == 1 && value >= high => BINS + 1,
            _ => bin + atoms,
        };
        counts[index] += 1;
    }
    counts
}

#[test]
fn each_number_has_the_noise_of_its_own_bounds() {
    for (bounding, p, seed) in [(Bounding::Truncated, 2.0, 1), (Bounding::Inflated, 3.0, 2)] {
        let mechanism = calibrated(bounding, p, &[0.5, 1.0], 3.0);
        let answer = [0.3, 13.5];
        let samples = released(&mechanism, answer, seed);
        for k in 0..2 {
            let values: Vec<f64> = samples.iter().map(|pair| pair[k]).collect();
            let counts = counted(bounding, &values, BOUNDS[k]);
            let p_value = |scale: f64| {
                goodness_of_fit(&counts, &expected(bounding, p, scale, BOUNDS[k], answer[k]))
            };
            assert!(p_value(mechanism.scale()) > ALPHA, "{bounding:?} {k}");
            // The narrow range is nearly flat under this noise: a scale that is off shows in the
            // wide one.
            assert!(k == 0 || p_value(1.03 * mechanism.scale()) < ALPHA, "no power: {bounding:?}");
        }
        // Independent: four quadrants, each as likely as the halves say.
        let middle = |k: usize| (BOUNDS[k].0 + BOUNDS[k].1) / 2.0;
        let above = |pair: &[f64; 2], k: usize| usize::from(pair[k] > middle(k));
        let (mut quadrants, mut halves) = ([0u64; 4], [0.0; 2]);
        for pair in &samples {
            quadrants[2 * above(pair, 0) + above(pair, 1)] += 1;
            for (k, half) in halves.iter_mut().enumerate() {
                *half += above(pair, k) as f64 / SAMPLES as f64;
            }
        }
        let side = |k: usize, above: usize| if above == 1 { halves[k] } else { 1.0 - halves[k] };
        let product: Vec<f64> = (0..4).map(|q| side(0, q / 2) * side(1, q % 2)).collect();
        assert!(goodness_of_fit(&quadrants, &product) > ALPHA, "{bounding:?}");
    }
}

#[test]
fn the_guarantee_of_the_vector_is_not_contradicted_and_a_stronger_one_is() {
    for (bounding, p, seed) in [(Bounding::Truncated, 2.0, 3), (Bounding::Inflated, 2.0, 4)] {
        // The whole epsilon is lost in the corners alone: it is large, so that outputs lie there.
        let mechanism = calibrated(bounding, p, &[1.0, 4.0], 3.0);
        // What an output tells: the difference of the exponents, which increases with both numbers.
        let told = |pair: [f64; 2]| -> i128 {
            let exponent = |k: usize, s: f64| ((pair[k] - s).abs() / mechanism.scale()).powf(p);
            let sum: f64 =
                (0..2).map(|k| exponent(k, BOUNDS[k].0) - exponent(k, BOUNDS[k].1)).sum();
            (sum * 1e6).round() as i128
        };
        let outputs = [[0.0, 10.0], [1.0, 14.0]]
            .map(|answer| released(&mechanism, answer, seed).into_iter().map(told).collect());
        let outputs: [Vec<i128>; 2] = outputs;
        let sides = [&outputs[0][..], &outputs[1][..]];
        let claim = Claim { epsilon: mechanism.guarantee().epsilon, delta: 0.0 };
        assert!(!contradicts(sides, claim, ALPHA), "{bounding:?}");
        let too_strong = Claim { epsilon: 0.8 * claim.epsilon, ..claim };
        assert!(contradicts(sides, too_strong, ALPHA), "no power: {bounding:?}");
    }
}
