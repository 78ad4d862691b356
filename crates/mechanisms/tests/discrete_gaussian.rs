//! The discrete Gaussian mechanism against reference values and plain sums.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, Distance, Epsilon, GaussianProfile, Mechanism, Scale,
    Sensitivity,
};
use serde_json::Value;

fn with_sigma(sigma: f64, sensitivity: u64) -> DiscreteGaussianMechanism {
    DiscreteGaussianMechanism::with_sigma(sigma, sensitivity, Epsilon::new(1.0).unwrap()).unwrap()
}

fn calibrate(epsilon: f64, delta: f64, sensitivity: u64) -> DiscreteGaussianMechanism {
    DiscreteGaussianMechanism::calibrate(
        &Sensitivity::whole(sensitivity),
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()),
    )
    .unwrap()
}

/// The definition in plain `f64`: the sum of `(p(n) - e^epsilon p(n + D))` where it is positive.
fn plain_delta(sigma: f64, d: i64, epsilon: f64) -> f64 {
    let weight = |n: i64| (-0.5 * (n as f64 / sigma).powi(2)).exp();
    let reach = (45.0 * sigma) as i64 + 3;
    let mass: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|n| (weight(n) - epsilon.exp() * weight(n + d)).max(0.0)).sum::<f64>()
        / mass
}

#[test]
fn profiles_contain_the_reference_and_are_narrow() {
    let file: Value =
        serde_json::from_str(include_str!("../../../reference/profiles.json")).unwrap();
    let number = |row: &Value, name: &str| -> f64 { row[name].as_str().unwrap().parse().unwrap() };
    for row in file["discrete_gaussian"].as_array().unwrap() {
        let mechanism = with_sigma(number(row, "sigma2").sqrt(), row["Delta"].as_u64().unwrap());
        let (delta, truth) = (mechanism.delta(number(row, "eps")).unwrap(), number(row, "delta"));
        if truth == 0.0 {
            // The one row (sigma^2 = 100, D = 2, epsilon = 3) whose reference sum was cut off
            // before n_0 = 150. By 80-digit sums over |n| <= 400:
            assert!(delta.contains(1.795_034_475_789_75e-52), "{row} {delta:?}");
            continue;
        }
        // Decimal inputs, and the root of sigma^2, are off by half a unit in the last place.
        let slack = 1e-15 * (1.0 + 4.0 * truth.ln().abs());
        assert!(
            delta.lower() <= truth * (1.0 + slack) && truth * (1.0 - slack) <= delta.upper(),
            "{row} {delta:?}"
        );
        assert!(delta.relative_width() < 1e-13, "{row} {delta:?}");
    }
}

#[test]
fn profiles_agree_with_the_definition() {
    for sigma in [0.3, 0.7, 1.0, 3.3, 20.0, 50.0] {
        for d in [1, 2, 3, 10] {
            for epsilon in [0.0, 0.1, 1.0, 3.0] {
                let (exact, plain) = (
                    with_sigma(sigma, d).delta(epsilon).unwrap(),
                    plain_delta(sigma, d as i64, epsilon),
                );
                let error = (exact.estimate() - plain).abs();
                assert!(
                    error < 1e-10 * exact.upper() + 1e-14,
                    "{sigma} {d} {epsilon}: {exact:?} {plain}"
                );
            }
        }
    }
}

#[test]
fn for_large_sigma_the_profile_is_that_of_the_continuous_gaussian() {
    for (sigma, epsilon) in [(1e6, 1e-6), (1e9, 3e-9), (1e9, 0.0), (1e12, 2e-12)] {
        let discrete = with_sigma(sigma, 1).delta(epsilon).unwrap();
        let continuous =
            GaussianProfile::new(Scale::new(sigma).unwrap(), Distance::new(1.0).unwrap())
                .delta(epsilon)
                .unwrap();
        assert!(discrete.relative_width() < 1e-13, "{sigma} {discrete:?}");
        assert!(
            (discrete.estimate() / continuous.estimate() - 1.0).abs() < 1e-5,
            "{sigma}: {discrete:?} {continuous:?}"
        );
    }
}

#[test]
fn calibrated_scales_keep_the_budget_and_slightly_less_does_not() {
    for epsilon in [0.0, 0.01, 0.3, 1.0, 5.0, 50.0] {
        for delta in [1e-100, 1e-12, 1e-6, 1e-2, 0.3] {
            for sensitivity in [1, 3, 1000] {
                if epsilon == 0.0 && delta < 1e-12 {
                    continue;
                }
                let mechanism = calibrate(epsilon, delta, sensitivity);
                assert!(
                    mechanism.delta(epsilon).unwrap().upper() <= delta,
                    "{epsilon} {delta} {sensitivity}"
                );
                let less = with_sigma(mechanism.scale() * (1.0 - 1e-12), sensitivity);
                assert!(
                    less.delta(epsilon).unwrap().lower() > delta,
                    "{epsilon} {delta} {sensitivity}: {mechanism:?}"
                );
            }
        }
    }
}

#[test]
fn the_profile_has_valleys_in_sigma_and_the_least_sigma_may_lie_in_one() {
    // Loss 1/(2 sigma^2) = epsilon at sigma = 1/sqrt(2 epsilon).
    let (bottom, beyond) =
        (with_sigma(0.5, 1).delta(2.0).unwrap(), with_sigma(0.6, 1).delta(2.0).unwrap());
    assert!(bottom.upper() < 0.105 && beyond.lower() > 0.14, "{bottom:?} {beyond:?}");
    // The continuous Gaussian needs 0.24 here.
    let sigma = calibrate(50.0, 1e-20, 1).scale();
    assert!(
        sigma < 0.100_001 && with_sigma(0.12, 1).delta(50.0).unwrap().lower() > 1e-20,
        "{sigma}"
    );
}

#[test]
fn no_smaller_sigma_on_a_fine_grid_keeps_the_budget() {
    for epsilon in [0.0, 0.3, 0.49, 1.0, 2.0, 7.0, 30.0, 200.0] {
        for delta in [1e-60, 1e-20, 1e-9, 1e-4, 0.02, 0.12, 0.5] {
            for sensitivity in [1, 2, 5] {
                if epsilon == 0.0 && delta < 1e-4 {
                    continue;
                }
                let found = calibrate(epsilon, delta, sensitivity).scale();
                for step in 1..400 {
                    let sigma = found * (1.0 - 1e-9) * (f64::from(step) / 400.0);
                    if sigma < 1e-3 {
                        continue;
                    }
                    let at = with_sigma(sigma, sensitivity).delta(epsilon).unwrap();
                    assert!(
                        at.upper() > delta,
                        "{epsilon} {delta} {sensitivity}: {sigma} below {found}"
                    );
                }
            }
        }
    }
}

#[test]
fn errors_agree_with_plain_sums() {
    for sigma in [0.05, 0.3, 1.0, 3.9, 4.1, 30.0] {
        let weight = |n: i64| (-0.5 * (n as f64 / sigma).powi(2)).exp();
        let reach = (40.0 * sigma) as i64 + 3;
        let mean = |value: &dyn Fn(i64) -> f64| {
            (-reach..=reach).map(|n| weight(n) * value(n)).sum::<f64>()
                / (-reach..=reach).map(weight).sum::<f64>()
        };
        let mass: f64 = (-reach..=reach).map(weight).sum();
        let errors = with_sigma(sigma, 1).errors().unwrap();
        let close = |bounds: reticent_numerics::Bounds, plain: f64| {
            assert!(
                (bounds.estimate() - plain).abs() <= 1e-12 * plain.abs() + 1e-80,
                "{sigma}: {bounds:?} {plain:e}"
            );
            assert!(bounds.width() <= 1e-13 * bounds.upper() + 1e-80, "{sigma}: {bounds:?}");
        };
        close(errors.mean_absolute, mean(&|n| n.abs() as f64));
        close(errors.root_mean_square, mean(&|n| (n * n) as f64).sqrt());
        close(errors.entropy, -mean(&|n| -0.5 * (n as f64 / sigma).powi(2) - mass.ln()));
        let within = |t: i64| (-t..=t).map(weight).sum::<f64>() / mass;
        let t = (0..).find(|&t| within(t) >= 0.95).unwrap();
        assert_eq!(errors.quantile_95, reticent_numerics::Bounds::exact(t as f64), "{sigma}");
        let usefulness = with_sigma(sigma, 1).usefulness(2.7).unwrap();
        assert!((usefulness.estimate() - within(2)).abs() < 1e-12, "{sigma}");
    }
    let large = with_sigma(1e9, 1).errors().unwrap();
    assert!((large.mean_absolute.estimate() / 7.978_845_608_028_654e8 - 1.0).abs() < 1e-14);
    assert!(
        large.root_mean_square.contains(1e9) && large.root_mean_square.relative_width() < 1e-15
    );
    assert!((large.quantile_95.estimate() / 1.959_963_984_540_054e9 - 1.0).abs() < 1e-9);
}

#[test]
fn bad_parameters_are_refused_and_charges_are_exact() {
    let epsilon = Epsilon::new(1.0).unwrap();
    for (sigma, sensitivity) in
        [(0.0, 1), (f64::NAN, 1), (-1.0, 1), (1e30, 1), (1.0, 0), (1.0, u64::MAX)]
    {
        assert!(
            DiscreteGaussianMechanism::with_sigma(sigma, sensitivity, epsilon).is_err(),
            "{sigma} {sensitivity}"
        );
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(with_sigma(1.0, 1).delta(bad).is_err());
    }
    for (sigma, sensitivity, epsilon) in
        [(1e-3, 1 << 53, 700.0), (1e18, 1, 1e-300), (1e-3, 1, 1e308), (1e18, 1 << 53, 0.0)]
    {
        let delta = with_sigma(sigma, sensitivity).delta(epsilon).unwrap();
        assert!(delta.lower() >= 0.0 && delta.upper() <= 1.0, "{sigma} {sensitivity} {epsilon}");
    }
    let mechanism = calibrate(1.0, 1e-6, 2);
    let event = serde_json::to_value(mechanism.event()).unwrap();
    assert_eq!(event["sigma"].as_f64(), Some(mechanism.scale()));
    assert_eq!(event["sensitivity"].as_u64(), Some(2));
    let mut random = reticent_noise::randomness::SeededRandom::new(3);
    let release = mechanism.releaser().unwrap().release(10.4, &mut random).unwrap();
    assert_eq!(release, release.round());
}
