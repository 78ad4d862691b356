//! What every mechanism releases on neighbouring inputs does not contradict its guarantee, and does
//! contradict one that is 20% stronger.
//!
//! # Error rates
//! Each guarantee is the one that the mechanism itself states ([`Mechanism::guarantee`]), and the
//! samples come from its public release function. A true guarantee is contradicted with probability
//! at most `ALPHA` = 1e-6, by exact binomial bounds; there are 25 of them, so that some test here
//! fails for a correct library with probability at most 2.5e-5 over the choice of seeds. The seeds
//! are fixed: what passes once passes always.
//!
//! # Power
//! The very same samples must contradict the same guarantee with `0.8 epsilon`. Neighbours,
//! parameters and sample sizes are chosen so that they do, most of them by a wide margin: a
//! mechanism whose noise were a fifth too small would be found out. Where a guarantee has room by
//! its nature (a probabilistic one, which implies more than the approximate notion that samples can
//! test), it is the certified profile that is put to the test instead, at the same epsilon.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    BoundedQuery, Delta, DiscreteGaussianMechanism, DiscreteLaplace, Distance, Epsilon,
    Exponential, GaussianMechanism, GaussianMethod, GeneralizedGaussian, GeneralizedGaussianMethod,
    InflatedGeneralizedGaussian, Laplace, Mechanism, Neighbours, Notion, Order, PermuteAndFlip,
    RandomScaleGaussianMechanism, RandomScaleLaplace, RandomizedResponse, Sensitivity, Staircase,
    StaircaseAim, TruncatedGeneralizedGaussian, TruncatedMethod, UtilityChange,
};
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::SeededRandom;
use stat_tests::audit::{Claim, contradicts};

const ALPHA: f64 = 1e-6;
const SAMPLES: usize = 400_000;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn one() -> Distance {
    Distance::new(1.0).unwrap()
}

fn order(p: f64) -> Order {
    Order::new(p).unwrap()
}

fn scalar() -> Sensitivity {
    Sensitivity::scalar(1.0, Neighbours::AddRemove).unwrap()
}

/// What the mechanism lets one claim of it in terms of events: its guarantee, or its profile at the
/// guaranteed epsilon where the guarantee is probabilistic.
fn claim(mechanism: &dyn Mechanism) -> Claim {
    let guarantee = mechanism.guarantee();
    let delta = match guarantee.notion {
        Notion::Probabilistic => mechanism.delta(guarantee.epsilon).unwrap().upper(),
        Notion::Pure | Notion::Approximate => guarantee.delta,
    };
    Claim { epsilon: guarantee.epsilon, delta }
}

fn judge(name: &str, outputs: &[Vec<i128>; 2], claim: Claim) {
    let outputs = [&outputs[0][..], &outputs[1][..]];
    assert!(!contradicts(outputs, claim, ALPHA), "{name}: {claim:?} is contradicted");
    let too_strong = Claim { epsilon: 0.8 * claim.epsilon, ..claim };
    assert!(contradicts(outputs, too_strong, ALPHA), "{name}: no power against {too_strong:?}");
}

/// Releases both values with the mechanism's releaser, in steps of its lattice.
fn audit(mechanism: &dyn Mechanism, values: [f64; 2], samples: usize, seed: u64) {
    let releaser = mechanism.releaser().unwrap();
    let mut random = SeededRandom::new(seed);
    let outputs = values.map(|value| {
        assert!(releaser.accepts(value));
        let steps = |y: f64| (y / releaser.spacing()).round() as i128;
        (0..samples).map(|_| steps(releaser.release(value, &mut random).unwrap())).collect()
    });
    judge(&format!("{mechanism:?}"), &outputs, claim(mechanism));
}

#[test]
fn randomized_response() {
    audit(&RandomizedResponse::new(2, epsilon(1.0)).unwrap(), [0.0, 1.0], SAMPLES, 1);
    audit(&RandomizedResponse::new(5, epsilon(2.0)).unwrap(), [1.0, 4.0], SAMPLES, 2);
    // The same through the function for categories.
    let survey = RandomizedResponse::new(3, epsilon(1.0)).unwrap();
    let mut random = SeededRandom::new(3);
    let mut responses = |truth: u64| {
        (0..SAMPLES).map(|_| i128::from(survey.respond(truth, &mut random).unwrap())).collect()
    };
    let outputs = [responses(0), responses(2)];
    judge("three categories", &outputs, claim(&survey));
}

#[test]
fn laplace_discrete_laplace_and_staircase() {
    audit(&Laplace::calibrate(&scalar(), epsilon(1.0)).unwrap(), [10.0, 11.0], SAMPLES, 4);
    let discrete = DiscreteLaplace::calibrate(&Sensitivity::whole(2), epsilon(1.0)).unwrap();
    audit(&discrete, [7.0, 9.0], SAMPLES, 5);
    // The bounds gather all that is below 0 and above 5.
    audit(&discrete.clamped(0, 5).unwrap(), [1.0, 3.0], SAMPLES, 6);
    for (aim, seed) in [
        (StaircaseAim::MeanAbsolute, 7),
        (StaircaseAim::MeanSquare, 8),
        (StaircaseAim::Usefulness(0.3), 9),
    ] {
        audit(
            &Staircase::calibrate(aim, &scalar(), epsilon(1.0)).unwrap(),
            [0.0, 1.0],
            SAMPLES,
            seed,
        );
    }
}

/// With `delta = 0.05` at `epsilon = 1`, a claim of `0.8` at the same delta is false by more than
/// 0.01.
#[test]
fn gaussian_noise() {
    for (method, seed) in
        [(GaussianMethod::Analytic, 10), (GaussianMethod::ProbabilisticOneSided, 11)]
    {
        let mechanism =
            GaussianMechanism::calibrate(method, &one().into(), (epsilon(1.0), delta(0.05)))
                .unwrap();
        audit(&mechanism, [3.0, 4.0], SAMPLES, seed);
    }
    audit(
        &DiscreteGaussianMechanism::calibrate(&Sensitivity::whole(2), (epsilon(1.0), delta(0.05)))
            .unwrap(),
        [3.0, 5.0],
        SAMPLES,
        12,
    );
    let shape = vec![(1.0, 0.7), (2.0, 0.3)];
    let mixture =
        RandomScaleGaussianMechanism::calibrate(shape, &one().into(), (epsilon(1.0), delta(0.05)))
            .unwrap();
    audit(&mixture, [3.0, 4.0], SAMPLES, 13);
    // As Case II of R2DP is optimised: a narrow middle on a wide foot.
    let shape = vec![(0.3, 0.2), (0.8, 0.4), (1.5, 0.4)];
    let peaked =
        RandomScaleGaussianMechanism::calibrate(shape, &one().into(), (epsilon(1.0), delta(0.05)))
            .unwrap();
    audit(&peaked, [3.0, 4.0], SAMPLES, 19);
}

#[test]
fn generalized_gaussian_noise() {
    for (p, seed) in [(1.5, 14), (3.0, 15)] {
        let method = GeneralizedGaussianMethod::Exact;
        let mechanism = GeneralizedGaussian::calibrate(
            order(p),
            method,
            &Sensitivity::from(&[one()][..]),
            (epsilon(1.0), delta(0.05)),
        )
        .unwrap();
        audit(&mechanism, [0.0, 1.0], SAMPLES, seed);
    }
    // The loss is all in the peak, and takes more samples to see.
    let pure = GeneralizedGaussian::calibrate(
        order(0.5),
        GeneralizedGaussianMethod::Exact,
        &Sensitivity::from(&[one()][..]),
        epsilon(1.0),
    )
    .unwrap();
    audit(&pure, [0.0, 1.0], 8_000_000, 16);
}

/// Order 2, answers from 0 to 1 that move from one bound to the other, which is the worst case; a
/// quarter of a million outputs at a bound tell.
#[test]
fn bounded_generalized_gaussian_noise() {
    let query = BoundedQuery::new(0.0, 1.0, one()).unwrap();
    let exact = TruncatedMethod::Exact;
    let truncated = TruncatedGeneralizedGaussian::calibrate(
        order(2.0),
        exact,
        query.bounds(),
        &query.into(),
        epsilon(2.0),
    )
    .unwrap();
    audit(&truncated, [0.0, 1.0], SAMPLES, 17);
    let inflated = InflatedGeneralizedGaussian::calibrate(
        order(2.0),
        query.bounds(),
        &query.into(),
        epsilon(1.0),
    )
    .unwrap();
    audit(&inflated, [0.0, 1.0], SAMPLES, 18);
}

#[test]
fn laplace_noise_of_random_scale() {
    let gamma = GammaScale::new(3.0, 0.5).unwrap();
    let constant = UniformScale::new(0.2, 0.4).unwrap();
    let cut = TruncatedGaussianScale::new(-4.0, 2.0, 0.5, 12.0).unwrap();
    let families: [InverseScale; 6] = [
        TwoPointScale::new(0.5, 2.0, 0.5).unwrap().into(),
        gamma.into(),
        UniformScale::new(0.5, 1.5).unwrap().into(),
        TruncatedGaussianScale::new(1.0, 0.3, 0.2, 2.0).unwrap().into(),
        Combined::new(vec![(0.7, gamma.into()), (1.0, constant.into())]).unwrap().into(),
        // The three parts of Algorithm 1.
        Combined::new(vec![(1.0, gamma.into()), (1.0, constant.into()), (1.0, cut.into())])
            .unwrap()
            .into(),
    ];
    for (family, seed) in families.into_iter().zip(20..) {
        audit(
            &RandomScaleLaplace::calibrate(family, &one().into(), epsilon(1.0)).unwrap(),
            [0.0, 1.0],
            2 * SAMPLES,
            seed,
        );
    }
}

/// Utilities that part by twice the sensitivity, at the distance for which one candidate's loss is
/// nearly all of epsilon.
#[test]
fn choices_by_utility() {
    let utilities = [[0.0, 8.0], [1.0, 7.0]];
    let either_way = UtilityChange::EitherWay;
    let exponential = Exponential::calibrate(either_way, &one().into(), epsilon(1.0)).unwrap();
    let flip = PermuteAndFlip::calibrate(either_way, &one().into(), epsilon(1.0)).unwrap();
    let mut random = SeededRandom::new(30);
    let outputs = utilities.map(|u| {
        (0..2 * SAMPLES)
            .map(|_| exponential.choose(&u, &mut random).unwrap() as i128)
            .collect::<Vec<_>>()
    });
    judge("exponential", &outputs, claim(&exponential));
    let outputs = utilities.map(|u| {
        (0..2 * SAMPLES).map(|_| flip.choose(&u, &mut random).unwrap() as i128).collect::<Vec<_>>()
    });
    judge("permute and flip", &outputs, claim(&flip));
}
