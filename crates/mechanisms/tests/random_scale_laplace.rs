//! Random-scale Laplace noise against reference values and against a second way to its profile.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random_scale;

use random_scale::*;
use reticent_mechanisms::{
    Epsilon, Mechanism, Neighbours, RandomScaleLaplace, Sensitivity, independent_epsilon,
    scalar_epsilon, shared_epsilon,
};
use reticent_noise::random_scale::InverseScale;
use reticent_noise::randomness::SeededRandom;
use reticent_numerics::quadrature::{Integrand, Options, integrate};
use reticent_numerics::{Bounds, Enclosure};
use serde_json::Value;

const PROFILES: &str = include_str!("../../../reference/profiles.json");

/// The truth has 17 digits and belongs to decimal parameters, the bounds to their `f64`.
fn assert_is(bounds: Bounds, truth: f64, tolerance: f64, what: &str) {
    if truth.is_infinite() {
        assert_eq!((bounds.lower(), bounds.upper()), (truth, truth), "{what}");
        return;
    }
    assert!(bounds.width() <= tolerance * truth.abs(), "{what}: {bounds:?} is wide");
    let off = (bounds.lower() - truth).max(truth - bounds.upper());
    assert!(off <= tolerance * truth.abs(), "{what}: {bounds:?} against {truth:e}");
}

#[test]
fn losses_are_those_of_the_reference() {
    for (family, row) in sets() {
        let what = format!("{family:?}");
        assert_is(scalar_epsilon(&family, distance(1.0)), number(&row["eps"]), 1e-14, &what);
        for (list, shared) in [("eps_shared_T", true), ("eps_independent_T_l1_spread", false)] {
            for (count, truth) in row[list].as_object().into_iter().flatten() {
                let loss = if shared { shared_epsilon } else { independent_epsilon };
                let bounds = loss(&family, count.parse().unwrap(), distance(1.0)).unwrap();
                assert_is(bounds, number(truth), 1e-14, &format!("{what} {list} {count}"));
            }
        }
    }
}

#[test]
fn errors_are_those_of_the_reference() {
    for (family, row) in sets() {
        let mechanism = given(&family);
        let errors = mechanism.errors().unwrap();
        for (t, truth) in row["tail_M_minus_gamma"].as_object().unwrap() {
            let within = mechanism.usefulness(t.parse().unwrap()).unwrap();
            assert_is(
                Bounds::ONE - within,
                number(truth),
                1e-13,
                &format!("{family:?} beyond {t}"),
            );
        }
        if !row["E_abs_X"].is_null() {
            assert_is(
                errors.mean_absolute,
                number(&row["E_abs_X"]),
                1e-13,
                &format!("{family:?} l1"),
            );
            let square = errors.root_mean_square * errors.root_mean_square;
            assert_is(square, number(&row["E_X2"]), 1e-13, &format!("{family:?} l2"));
        }
        // The file has 15 digits.
        assert_is(errors.entropy, number(&row["entropy"]), 5e-14, &format!("{family:?} entropy"));
        let quantile = errors.quantile_95;
        assert!(quantile.relative_width() < 1e-15, "{family:?}: {quantile:?}");
        assert!(mechanism.usefulness(quantile.upper()).unwrap().upper() >= 0.95);
        assert!(mechanism.usefulness(quantile.lower()).unwrap().lower() <= 0.95);
    }
}

#[test]
fn profiles_are_those_of_the_reference() {
    let file: Value = serde_json::from_str(PROFILES).unwrap();
    for row in file["r2dp_gamma_scalar"].as_array().unwrap() {
        let mechanism = given(&gamma(number(&row["k"]), number(&row["theta"])));
        let delta = mechanism.delta(number(&row["eps"])).unwrap();
        // Near the pure loss delta is steep in epsilon, and that is a decimal: 1.2 of 1.2164 in one
        // row.
        assert_is(delta, number(&row["delta"]), 1e-13, &row.to_string());
        assert!(delta.relative_width() <= 1e-14, "{row}: {delta:?}");
    }
}

/// The hockey-stick divergence straight from the definition: on each cell of a partition the
/// densities, which are monotone there, lie between their values at its ends. No formula for
/// `delta` and no root enters.
fn hockey_stick(family: &InverseScale, epsilon: f64) -> Bounds {
    let density = |x: f64| family.tilted_mean(&Bounds::exact(x.abs())).times_power_of_two(-1);
    let factor = Bounds::exact(epsilon).exp();
    // Geometric cells on both sides of 0 and of 1, so that the peaks are resolved.
    let mut ends: Vec<f64> =
        (-900..=700).map(|i| 1.02f64.powi(i)).flat_map(|x| [-x, x, 1.0 - x, 1.0 + x]).collect();
    ends.extend([0.0, 1.0]);
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let mut sum = Bounds::ZERO;
    for cell in ends.windows(2) {
        // 1 is subtracted with a rounding of 1e-16, far less than a cell.
        let over = |centre: f64| density(cell[0] - centre).hull(density(cell[1] - centre));
        let gain = over(0.0) - factor * over(1.0);
        let length = Bounds::exact(cell[1]) - Bounds::exact(cell[0]);
        sum = sum + Bounds::new(gain.lower().max(0.0), gain.upper().max(0.0)) * length;
    }
    let beyond = family.transform(&Bounds::exact(-ends[0]));
    Bounds::new(sum.lower(), (sum + beyond).upper())
}

#[test]
fn the_profile_is_the_hockey_stick_divergence_of_the_densities() {
    for family in families() {
        let mechanism = given(&family);
        for share in [0.0, 0.1, 0.5, 0.9] {
            let epsilon = share * mechanism.guarantee().epsilon;
            let (delta, sums) = (mechanism.delta(epsilon).unwrap(), hockey_stick(&family, epsilon));
            let what = format!("{family:?} {share}: {delta:?} {sums:?}");
            assert!(delta.lower() <= sums.upper() && sums.lower() <= delta.upper(), "{what}");
            assert!(sums.width() < 0.05, "no power: {what}");
        }
    }
}

/// `f(y) - e^epsilon f(y - 1)` left of 0 (with `y = -x`) or between 0 and 1.
struct Gain<'a> {
    family: &'a InverseScale,
    epsilon: f64,
    left: bool,
}

impl Integrand for Gain<'_> {
    fn at<E: Enclosure>(&self, x: &E) -> E {
        let one = x.exactly(1.0);
        let far = if self.left { one + x.clone() } else { one - x.clone() };
        let gain = self.family.tilted_mean(x)
            - x.exactly(self.epsilon).exp() * self.family.tilted_mean(&far);
        gain.times_power_of_two(-1)
    }
}

impl Gain<'_> {
    /// The integral over where it is positive, up to `far`.
    fn positive_part(&self, mut far: f64) -> f64 {
        let mut near = 0.0;
        for _ in 0..200 {
            let middle = 0.5 * (near + far);
            *(if self.at(&Bounds::exact(middle)).estimate() > 0.0 {
                &mut near
            } else {
                &mut far
            }) = middle;
        }
        integrate(self, &Bounds::ZERO, 0.0, near, &Options::default()).estimate()
    }
}

#[test]
fn the_profile_is_the_integral_of_the_gain_over_where_it_is_positive() {
    for family in [
        gamma(2.0, 0.5),
        gamma(1.3542, 4.4675),
        two_point(1.0, 3.0, 0.3),
        two_point(0.01, 5.0, 0.5),
    ] {
        let mechanism = given(&family);
        for share in [0.55, 0.9, 0.999] {
            let epsilon = share * mechanism.guarantee().epsilon;
            let integral: f64 = [(true, 1e4), (false, 0.5)]
                .map(|(left, far)| Gain { family: &family, epsilon, left }.positive_part(far))
                .iter()
                .sum();
            let delta = mechanism.delta(epsilon).unwrap();
            assert!(
                (delta.estimate() / integral - 1.0).abs() < 1e-9,
                "{family:?} {share}: {delta:?} {integral:e}"
            );
            assert!(delta.relative_width() < 1e-13, "{family:?} {share}: {delta:?}");
        }
    }
}

#[test]
fn profiles_decrease_from_at_most_one_to_zero_and_stay_sharp_up_to_the_last_digits() {
    for family in families() {
        let mechanism = given(&family);
        let pure = mechanism.guarantee().epsilon;
        let mut last = Bounds::ONE;
        for share in
            [0.0, 1e-300, 1e-20, 1e-9, 0.01, 0.3, 0.7, 0.97, 1.0 - 1e-4, 1.0 - 1e-8, 1.0 - 1e-11]
        {
            let delta = mechanism.delta(share * pure).unwrap();
            let what = format!("{family:?} {share}: {delta:?} after {last:?}");
            assert!(delta.upper() <= last.upper().next_up() && delta.lower() > 0.0, "{what}");
            assert!(delta.relative_width() < 1e-10, "{what}");
            last = delta;
        }
        assert_eq!(mechanism.delta(pure).unwrap(), Bounds::ZERO);
        assert_eq!(mechanism.delta(1e300).unwrap(), Bounds::ZERO);
        for bad in [f64::NAN, f64::INFINITY, -1e-9] {
            assert!(mechanism.delta(bad).is_err());
        }
    }
}

#[test]
fn calibrating_to_the_loss_of_a_set_gives_the_set_back() {
    for (family, row) in sets() {
        let epsilon = number(&row["eps"]);
        let mechanism = calibrate(family.divided(8.0).unwrap(), epsilon, 1.0);
        assert!((8.0 * mechanism.scale() - 1.0).abs() < 1e-13, "{family:?}: {}", mechanism.scale());
        assert!(certified(&mechanism).upper() <= epsilon);
    }
}

/// Budgets from 1e-6 to 700, sensitivities from 1e-6 to 1e6 that are no multiples of any lattice.
fn calibrated_budgets_are_kept(kind: usize, count: usize) {
    let mut numbers = Numbers(kind as u64);
    for _ in 0..count {
        let shape = numbers.shape(kind);
        let epsilon = numbers.power(-6.0, 700f64.log10()).min(700.0);
        let sensitivity = numbers.power(-6.0, 6.0);
        let budget = Epsilon::new(epsilon).unwrap();
        let Ok(mechanism) =
            RandomScaleLaplace::calibrate(shape.clone(), &distance(sensitivity).into(), budget)
        else {
            // (k + 1) ln(1 + theta D) = epsilon with a theta beyond 1e150.
            assert!(
                kind == 1 && epsilon > 300.0,
                "{shape:?}, epsilon {epsilon:e}, sensitivity {sensitivity:e}"
            );
            continue;
        };
        let loss = certified(&mechanism);
        let what = format!("{shape:?}, epsilon {epsilon:e}, sensitivity {sensitivity:e}: {loss:?}");
        assert!(loss.upper() <= epsilon, "{what}");
        assert!(mechanism.sensitivity() >= sensitivity, "{what}");
        // A scale without a budget to spare: the one on the lattice is at its limit, up to one
        // lattice step.
        assert!(loss.lower() >= epsilon * (1.0 - 1e-12) - 1e-12, "{what}");
        assert_eq!(mechanism.delta(epsilon).unwrap(), Bounds::ZERO, "{what}");
    }
}

#[test]
fn budgets_are_kept_by_two_points() {
    calibrated_budgets_are_kept(0, 6000);
}

#[test]
fn budgets_are_kept_by_gamma() {
    calibrated_budgets_are_kept(1, 6000);
}

#[test]
fn budgets_are_kept_by_uniform() {
    calibrated_budgets_are_kept(2, 6000);
}

#[test]
fn budgets_are_kept_by_truncated_gaussian() {
    calibrated_budgets_are_kept(3, 500);
}

#[test]
fn budgets_are_kept_by_combinations() {
    calibrated_budgets_are_kept(4, 1500);
}

#[test]
fn profiles_of_random_shapes_are_sharp_and_decrease() {
    let mut numbers = Numbers(77);
    for round in 0..500 {
        let shape = numbers.shape(round % 5);
        let epsilon = numbers.power(-6.0, 2.5);
        let mechanism = calibrate(shape.clone(), epsilon, 1.0);
        let mut last = Bounds::ONE;
        for share in [0.0, 0.3 * numbers.next(), 0.3 + 0.7 * numbers.next()] {
            let delta = mechanism.delta(share * epsilon).unwrap();
            let what = format!("{shape:?}, {share} of {epsilon:e}: {delta:?} after {last:?}");
            assert!(delta.relative_width() < 1e-10 && delta.upper() <= last.upper(), "{what}");
            last = delta;
        }
    }
}

#[test]
fn scales_are_linear_in_the_sensitivity_and_decrease_with_the_budget() {
    for family in families() {
        let scale = |epsilon: f64, sensitivity: f64| {
            calibrate(family.clone(), epsilon, sensitivity).scale()
        };
        assert!((scale(1.0, 1024.0) / scale(1.0, 1.0) / 1024.0 - 1.0).abs() < 1e-13, "{family:?}");
        assert!((scale(1.0, 3.7) / scale(1.0, 1.0) / 3.7 - 1.0).abs() < 1e-12, "{family:?}");
        let scales = [0.001, 0.1, 1.0, 4.0, 50.0, 400.0].map(|epsilon| scale(epsilon, 1.0));
        assert!(scales.windows(2).all(|pair| pair[0] > pair[1]), "{family:?}: {scales:?}");
    }
}

#[test]
fn a_vector_costs_what_independent_scales_cost_and_is_charged_as_one() {
    let (shape, one) = (gamma(2.0, 0.5), Epsilon::new(1.0).unwrap());
    let vector = Sensitivity::l1_bound(1.0, Neighbours::AddRemove)
        .and_then(|vector| vector.with_coordinates(10))
        .unwrap();
    let mechanism = RandomScaleLaplace::calibrate(shape.clone(), &vector, one).unwrap();
    let loss = certified(&mechanism);
    assert!(loss.upper() <= 1.0 && loss.lower() > 1.0 - 1e-11, "{loss:?}");
    let event = serde_json::to_value(mechanism.event()).unwrap();
    assert_eq!(event["mechanism"], "random-scale-laplace-vector");
    assert_eq!(event["coordinates"], 10);
    let alone = calibrate(shape, 1.0, 1.0);
    assert!(mechanism.scale() > alone.scale());
    // A mechanism for one number must not be used for two.
    assert!(mechanism.vector_releaser(10).is_ok() && mechanism.vector_releaser(11).is_err());
    assert!(alone.vector_releaser(1).is_ok() && alone.vector_releaser(2).is_err());
    let delta = mechanism.delta(0.5).unwrap();
    assert!(
        delta.lower() > 0.0 && delta.lower() < delta.upper() && delta.upper() < 1.0,
        "{delta:?}"
    );
    assert_eq!(mechanism.delta(1.0).unwrap(), Bounds::ZERO);
}

#[test]
fn releases_have_the_error_that_is_announced() {
    for family in
        [gamma(2.0, 0.5), two_point(0.2, 5.0, 0.5), uniform(0.5, 9.0), normal(4.0, 2.0, 1.0, 12.0)]
    {
        let mechanism = calibrate(family.clone(), 1.0, 1.0);
        let releaser = mechanism.releaser().unwrap();
        let mut random = SeededRandom::new(3);
        let errors: Vec<f64> =
            (0..40_000).map(|_| releaser.release(100.25, &mut random).unwrap() - 100.25).collect();
        for t in [0.1, 0.5, 1.0, 3.0] {
            let expected = mechanism.usefulness(t).unwrap().estimate();
            let share = errors.iter().filter(|error| error.abs() <= t).count() as f64 / 40_000.0;
            // Six standard deviations in each of 16 comparisons: a false alarm once in 3e7 seeds.
            let deviation = (expected * (1.0 - expected) / 40_000.0).sqrt();
            assert!(
                (share - expected).abs() < 6.0 * deviation,
                "{family:?} within {t}: {share} for {expected}"
            );
        }
        assert!(releaser.release(f64::NAN, &mut random).unwrap().is_finite());
    }
}

#[test]
fn bad_budgets_and_extreme_shapes_are_refused_and_never_panic() {
    let one = distance(1.0);
    assert!(
        RandomScaleLaplace::calibrate(gamma(2.0, 0.5), &one.into(), Epsilon::new(0.0).unwrap())
            .is_err()
    );
    let refused = RandomScaleLaplace::with_inverse_scale(gamma(2.0, 1e140), &one.into());
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("700")), "{refused:?}");
    for family in [
        gamma(0.1, 1e140),
        gamma(1e6, 1e-140),
        two_point(1e-150, 1e150, 0.5),
        uniform(0.0, 1e-150),
        normal(0.0, 1e-150, 0.0, 1e150),
    ] {
        for epsilon in [1e-300, 1e-3, 700.0] {
            let made = RandomScaleLaplace::calibrate(
                family.clone(),
                &one.into(),
                Epsilon::new(epsilon).unwrap(),
            );
            if let Ok(mechanism) = made {
                assert!(certified(&mechanism).upper() <= epsilon, "{family:?} {epsilon:e}");
                assert!(
                    mechanism.delta(0.0).unwrap().upper() <= 1.0 && mechanism.errors().is_some()
                );
            }
        }
    }
}
