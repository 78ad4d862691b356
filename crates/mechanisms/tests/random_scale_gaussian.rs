//! Gaussian noise of random scale: its own profile, and the bounds that are and are not bounds.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianProfile, Mechanism, MechanismError,
    RandomScaleGaussianMechanism, Scale,
};
use reticent_numerics::Bounds;

fn mixture(components: &[(f64, f64)]) -> RandomScaleGaussianMechanism {
    let (one, epsilon) = (Distance::new(1.0).unwrap(), Epsilon::new(1.0).unwrap());
    RandomScaleGaussianMechanism::new(components.to_vec(), one, epsilon).unwrap()
}

fn gaussian(sigma: f64, epsilon: f64) -> Bounds {
    GaussianProfile::new(Scale::new(sigma).unwrap(), Distance::new(1.0).unwrap())
        .delta(epsilon)
        .unwrap()
}

fn density(components: &[(f64, f64)], x: f64) -> f64 {
    let root = (2.0 * std::f64::consts::PI).sqrt();
    components.iter().map(|&(s, w)| w * (-0.5 * (x / s).powi(2)).exp() / (s * root)).sum()
}

/// The definition by plain midpoint sums, which know nothing of runs or tails.
fn plain_delta(components: &[(f64, f64)], epsilon: f64) -> f64 {
    let largest = components.iter().map(|part| part.0).fold(0.0, f64::max);
    let reach = 12.0 * largest + 2.0;
    let cells = 2_000_000;
    let width = 2.0 * reach / f64::from(cells);
    (0..cells)
        .map(|cell| {
            let x = -reach + (f64::from(cell) + 0.5) * width;
            (density(components, x) - epsilon.exp() * density(components, x + 1.0)).max(0.0) * width
        })
        .sum()
}

const SHAPES: [&[(f64, f64)]; 4] = [
    &[(0.5, 0.5), (2.0, 0.5)],
    &[(0.2, 0.9), (5.0, 0.1)],
    &[(0.1, 0.99), (1.0, 0.005), (30.0, 0.005)],
    &[(1.0, 0.25), (1.5, 0.25), (2.0, 0.5)],
];

#[test]
fn one_component_is_the_gaussian() {
    for (sigma, epsilon) in
        [(1.0, 0.0), (1.0, 1.0), (5.0, 3.0), (0.2, 30.0), (1.0, 30.0), (100.0, 0.1)]
    {
        let (single, exact) =
            (mixture(&[(sigma, 1.0)]).delta(epsilon).unwrap(), gaussian(sigma, epsilon));
        assert!(
            single.intersect(exact).is_finite() && single.relative_width() < 1e-11,
            "{sigma} {epsilon}: {single:?}"
        );
        let split = mixture(&[(sigma, 0.25), (sigma, 0.75)]).delta(epsilon).unwrap();
        assert!(
            split.intersect(exact).is_finite() && split.relative_width() < 1e-10,
            "{sigma} {epsilon}: {split:?}"
        );
    }
}

#[test]
fn the_profile_is_the_hockey_stick_divergence_of_the_density() {
    for shape in SHAPES {
        for epsilon in [0.0, 0.3, 1.0, 4.0] {
            let (exact, plain) =
                (mixture(shape).delta(epsilon).unwrap(), plain_delta(shape, epsilon));
            assert!(
                (exact.estimate() - plain).abs() < 1e-6 * plain + 1e-12,
                "{shape:?} {epsilon}: {exact:?} {plain}"
            );
            assert!(exact.relative_width() < 1e-10, "{shape:?} {epsilon}: {exact:?}");
        }
    }
}

#[test]
fn small_and_large_deltas_are_sharp() {
    for shape in SHAPES {
        for epsilon in [20.0, 100.0, 700.0] {
            let delta = mixture(shape).delta(epsilon).unwrap();
            assert!(
                delta.upper() < 1e-300 || delta.relative_width() < 1e-10,
                "{shape:?} {epsilon}: {delta:?}"
            );
        }
    }
}

#[test]
fn extreme_losses_give_bounds_and_no_panic() {
    for shape in SHAPES {
        for epsilon in [1e-300, 1e6, 1e150, f64::MAX] {
            let delta = mixture(shape).delta(epsilon).unwrap();
            assert!(delta.lower() >= 0.0 && delta.upper() <= 1.0, "{shape:?} {epsilon}: {delta:?}");
        }
        assert!(mixture(shape).delta(1e6).unwrap().upper() < 1e-300, "{shape:?}");
    }
}

#[test]
fn the_loss_of_a_mixture_is_not_monotone() {
    // Just outside the narrow component the loss is large; where the wide one takes over it is
    // small again.
    let shape = [(0.1, 0.99), (30.0, 0.01)];
    let loss = |x: f64| (density(&shape, x) / density(&shape, x + 1.0)).ln();
    assert!(
        loss(0.0) > 5.0 && loss(3.0) < 0.1 && loss(900.0) > 0.9,
        "{} {} {}",
        loss(0.0),
        loss(3.0),
        loss(900.0)
    );
    // So one half line, as for log-concave noise, would miss the narrow part, and nearly all of
    // delta.
    let delta = mixture(&shape).delta(1.0).unwrap();
    assert!(delta.lower() > 0.9, "{delta:?}");
}

#[test]
fn the_average_of_delta_at_one_epsilon_is_a_bound() {
    for shape in SHAPES {
        for epsilon in [0.0, 0.1, 1.0, 3.0, 10.0] {
            let mechanism = mixture(shape);
            let (exact, averaged) =
                (mechanism.delta(epsilon).unwrap(), mechanism.averaged_delta(epsilon).unwrap());
            assert!(
                exact.lower() <= averaged.upper(),
                "{shape:?} {epsilon}: {exact:?} {averaged:?}"
            );
        }
    }
    let mechanism = mixture(SHAPES[1]);
    assert!(
        mechanism.delta(1.0).unwrap().upper() < mechanism.averaged_delta(1.0).unwrap().lower(),
        "it has room"
    );
}

/// The `epsilon` of a single Gaussian at `delta`, by bisection from above.
fn epsilon_of(sigma: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if gaussian(sigma, middle).upper() <= delta { high = middle } else { low = middle }
    }
    high
}

#[test]
fn erratum_r2_the_average_of_e_to_the_epsilon_is_not_a_bound() {
    // Eqns 3 to 7: e^epsilon of the mixture as the mean of the e^epsilon_i, here all at one delta.
    // A component so wide that it is hardly there halves the mean of e^epsilon. It also halves the
    // mixture's delta, but at this epsilon, ln 2 below what the other component needs, that one's
    // delta is more than ten times the budget.
    let (shape, budget) = ([(1.0, 0.5), (1e9, 0.5)], 1e-6);
    let mean: f64 =
        shape.iter().map(|&(sigma, weight)| weight * epsilon_of(sigma, budget).exp()).sum();
    let real = mixture(&shape).delta(mean.ln()).unwrap();
    assert!(real.lower() > 5.0 * budget, "{} {real:?}", mean.ln());
    // The average of delta at one epsilon does hold there.
    assert!(real.lower() <= mixture(&shape).averaged_delta(mean.ln()).unwrap().upper());
    // And nowhere tight: with two similar components it overstates by orders of magnitude.
    let (similar, budget) = ([(0.5, 0.5), (0.6, 0.5)], 1e-6);
    let mean: f64 =
        similar.iter().map(|&(sigma, weight)| weight * epsilon_of(sigma, budget).exp()).sum();
    assert!(mixture(&similar).delta(mean.ln()).unwrap().upper() < 0.01 * budget);
}

#[test]
fn calibrated_mixtures_keep_the_budget_and_slightly_less_noise_does_not() {
    for shape in [SHAPES[0], SHAPES[3]] {
        for (epsilon, delta, d) in [(1.0, 1e-6, 1.0), (0.1, 0.01, 3.7), (5.0, 1e-30, 0.01)] {
            let (budget, d) = (
                (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()),
                Distance::new(d).unwrap(),
            );
            let mechanism = RandomScaleGaussianMechanism::calibrate(
                shape.to_vec(),
                &d.into(),
                (budget.0, budget.1),
            )
            .unwrap();
            assert!(mechanism.delta(epsilon).unwrap().upper() <= delta);
            let less = mechanism.components().iter().map(|&(s, w)| (s * (1.0 - 1e-9), w)).collect();
            let less = RandomScaleGaussianMechanism::new(less, d, budget.0).unwrap();
            assert!(less.delta(epsilon).unwrap().lower() > delta, "{shape:?} {epsilon} {delta}");
        }
    }
}

#[test]
fn errors_are_those_of_the_mixture() {
    let shape = [(1.0, 0.75), (3.0, 0.25)];
    let errors = mixture(&shape).errors().unwrap();
    assert!((errors.mean_absolute.estimate() - 1.5 * 0.797_884_560_802_865_4).abs() < 1e-14);
    assert!(errors.root_mean_square.contains(3f64.sqrt()));
    assert!(
        (mixture(&shape).usefulness(errors.quantile_95.estimate()).unwrap().estimate() - 0.95)
            .abs()
            < 1e-14
    );
    let cells = 400_000;
    let plain: f64 = (0..cells)
        .map(|cell| density(&shape, (f64::from(cell) + 0.5) * 1e-4))
        .map(|f| -2.0 * f * f.max(1e-300).ln() * 1e-4)
        .sum();
    assert!(
        (errors.entropy.estimate() - plain).abs() < 1e-8 && errors.entropy.width() < 1e-11,
        "{:?} {plain}",
        errors.entropy
    );
    // One component: the entropy of the Gaussian.
    let single = mixture(&[(2.0, 1.0)]).errors().unwrap().entropy;
    assert!(
        (single.estimate() - (2f64.ln() + 1.418_938_533_204_672_7)).abs() < 1e-11,
        "{single:?}"
    );
}

#[test]
fn bad_mixtures_are_refused_and_charges_are_exact() -> Result<(), MechanismError> {
    let (one, epsilon) = (Distance::new(1.0)?, Epsilon::new(1.0)?);
    for bad in [vec![], vec![(1.0, 0.9)], vec![(f64::NAN, 1.0)], vec![(-1.0, 1.0)]] {
        assert!(RandomScaleGaussianMechanism::new(bad, one, epsilon).is_err());
    }
    assert!(mixture(SHAPES[0]).delta(-1.0).is_err() && mixture(SHAPES[0]).delta(f64::NAN).is_err());
    let event = serde_json::to_value(mixture(SHAPES[0]).event()).unwrap();
    assert_eq!(event["sigmas"][1][0].as_f64(), Some(2.0));
    let mut random = reticent_noise::randomness::SeededRandom::new(5);
    assert!(mixture(SHAPES[0]).releaser()?.release(3.0, &mut random).unwrap().is_finite());
    Ok(())
}
