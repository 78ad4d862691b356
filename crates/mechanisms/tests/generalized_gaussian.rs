//! Golden values, a second way to the profile, and properties of the generalized Gaussian
//! mechanism.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Certificate, Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod,
    GeneralizedGaussianMethod as Method, Mechanism, Order, Scale, Sensitivity,
};
use serde_json::Value;

fn number(row: &Value, key: &str) -> f64 {
    match &row[key] {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

fn rows(text: &str, key: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(text).unwrap();
    all[key].as_array().unwrap().clone()
}

fn calibrate(
    order: f64,
    sensitivities: &[f64],
    epsilon: f64,
    delta: f64,
    method: Method,
) -> GeneralizedGaussian {
    let sensitivities: Vec<Distance> =
        sensitivities.iter().map(|&d| Distance::new(d).unwrap()).collect();
    GeneralizedGaussian::calibrate(
        Order::new(order).unwrap(),
        method,
        &Sensitivity::from(&sensitivities[..]),
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()),
    )
    .unwrap()
}

fn with_scale(order: f64, scale: f64, sensitivities: &[f64]) -> GeneralizedGaussian {
    let sensitivities: Vec<Distance> =
        sensitivities.iter().map(|&d| Distance::new(d).unwrap()).collect();
    let (order, scale) = (Order::new(order).unwrap(), Scale::new(scale).unwrap());
    GeneralizedGaussian::with_scale(
        order,
        scale,
        &Sensitivity::from(&sensitivities[..]),
        Epsilon::new(1.0).unwrap(),
    )
    .unwrap()
}

#[test]
fn scalar_scales_are_the_reference_values() {
    for row in rows(include_str!("../../../reference/gg_scalar.json"), "rows") {
        for (method, key) in [
            (Method::Probabilistic, "b_cor9"),
            (Method::TwoSided, "b_pdp_two_sided_exact"),
            (Method::Exact, "b_dp_exact"),
        ] {
            let mechanism = calibrate(
                number(&row, "p"),
                &[number(&row, "Delta")],
                number(&row, "eps"),
                number(&row, "delta"),
                method,
            );
            let ratio = mechanism.scale() / number(&row, key) - 1.0;
            // The inputs are decimals: the optimum for the nearest f64 differs from the reference
            // by a few units in the last place.
            assert!(
                (-1e-14..=1e-12).contains(&ratio),
                "{key} {row}: {} is off by {ratio:e}",
                mechanism.scale()
            );
            let Certificate::Delta(bounds) = mechanism.certificate() else {
                panic!("a delta was guaranteed")
            };
            assert!(bounds.upper() <= number(&row, "delta"));
        }
    }
}

#[test]
fn profiles_hold_the_reference_values() {
    for row in rows(include_str!("../../../reference/profiles.json"), "generalized_gaussian") {
        let bounds = with_scale(number(&row, "p"), number(&row, "b"), &[1.0])
            .delta(number(&row, "eps"))
            .unwrap();
        let truth = number(&row, "delta");
        // The inputs are decimals, and the reference has 17 digits.
        let slack = 1e-15 * (1.0 - truth.ln()) * truth;
        assert!(
            bounds.lower() - slack <= truth && truth <= bounds.upper() + slack,
            "{row} {bounds:?}"
        );
        assert!(bounds.relative_width() <= 1e-13, "{row} {bounds:?}");
    }
}

/// Proposition 8 on the example of Fig. 2. The reference is good to a relative 1e-11, but for two
/// rows of order 6 with a large delta, for which it says 1e-9 and is off by 5e-10 and 3e-9: a rule
/// that is graded towards the kink agrees with the scales found here (`three.rs`).
fn per_element_scales_are_the_reference_values(orders: std::ops::Range<f64>) {
    let mut all = rows(include_str!("../../../reference/gg_fig2.json"), "rows");
    all.retain(|row| orders.contains(&number(row, "p")));
    assert!(all.len() >= 10);
    for row in all {
        let (order, epsilon, delta) =
            (number(&row, "p"), number(&row, "eps"), number(&row, "delta"));
        let mechanism = calibrate(order, &[0.05, 1.0, 0.1], epsilon, delta, Method::Probabilistic);
        let ratio = mechanism.scale() / number(&row, "b") - 1.0;
        let Certificate::Delta(bounds) = mechanism.certificate() else {
            panic!("a delta was guaranteed")
        };
        let slack = match (order, epsilon) {
            (6.0, 0.1) if delta == 0.1 => 4e-9,
            (6.0, 1.0) if delta == 0.25 => 1e-9,
            _ => 2e-11,
        };
        assert!(ratio.abs() <= slack, "{row}: {} is off by {ratio:e}", mechanism.scale());
        assert!(bounds.upper() <= delta && bounds.relative_width() < 2e-12, "{row} {bounds:?}");
        // The search ends within the width of the budget, or within a relative 1e-12 of the scale
        // where delta falls quickly with it.
        assert!(bounds.lower() > delta * (1.0 - 5e-11), "{row} {bounds:?}");
    }
}

#[test]
fn per_element_scales_of_low_orders_are_the_reference_values() {
    per_element_scales_are_the_reference_values(2.0..5.0);
}

#[test]
fn per_element_scales_of_high_orders_are_the_reference_values() {
    per_element_scales_are_the_reference_values(5.0..7.0);
}

/// Orders and sensitivities for which a uniform grid of losses is wide: nearly flat losses, kinks,
/// and singularities of orders that are not whole.
#[test]
fn two_sensitivities_are_narrow_at_orders_up_to_six() {
    let cases = [
        (1.5, [1.0, 0.7], 1.3, 1.0),
        (2.0, [1.0, 1.0], 5.0, 0.3),
        (3.0, [1.0, 1.0], 1.3, 0.5),
        (4.0, [1.0, 0.9], 4.0, 0.5),
        (6.0, [1.0, 0.9], 2.0, 0.5),
    ];
    for (order, sensitivities, scale, epsilon) in cases {
        for epsilon in [epsilon, 8.0 * epsilon] {
            let profile = with_scale(order, scale, &sensitivities).delta(epsilon).unwrap();
            assert!(
                profile.relative_width() < 1e-11,
                "{order} {sensitivities:?} {epsilon}: {profile:?}"
            );
        }
        for (method, delta) in [(Method::Exact, 1e-5), (Method::Probabilistic, 0.25)] {
            let mechanism = calibrate(order, &sensitivities, epsilon, delta, method);
            let Certificate::Delta(bounds) = mechanism.certificate() else {
                panic!("a delta was guaranteed")
            };
            assert!(bounds.upper() <= delta, "{order} {sensitivities:?} {method:?}: {bounds:?}");
            assert!(
                bounds.relative_width() < 1e-11,
                "{order} {sensitivities:?} {method:?}: {bounds:?}"
            );
            assert!(
                bounds.lower() > delta * (1.0 - 1e-8),
                "{order} {sensitivities:?} {method:?}: {bounds:?}"
            );
        }
    }
}

/// Where each of three coordinates is likely to take all of epsilon by itself: a grid of losses is
/// wrong by 1e-3 there.
#[test]
fn three_similar_sensitivities_are_sharp() {
    let cases = [
        (3.0, [1.0, 1.0, 1.0], 3.34, 1e-12),
        (4.0, [1.0, 0.9, 0.8], 3.5, 1e-12),
        (6.0, [1.0, 1.0, 1.0], 4.88, 3e-11),
    ];
    for (order, sensitivities, scale, width) in cases {
        let profile = with_scale(order, scale, &sensitivities).delta(1.0).unwrap();
        assert!(profile.relative_width() < width, "{order} {sensitivities:?}: {profile:?}");
    }
    let mechanism = calibrate(4.0, &[1.0, 0.9, 0.8], 1.0, 0.1, Method::Exact);
    let Certificate::Delta(bounds) = mechanism.certificate() else {
        panic!("a delta was guaranteed")
    };
    assert!(bounds.upper() <= 0.1 && bounds.lower() > 0.1 * (1.0 - 3e-12), "{bounds:?}");
}

/// At order 2 a box is a Gaussian with the box's diagonal for sensitivity: the convolution must
/// give the profile of one coordinate.
#[test]
fn a_box_at_order_two_is_its_diagonal() {
    for sensitivities in [vec![1.0, 0.1, 0.05], vec![1.0, 1.0], vec![0.5, 0.5, 0.5, 0.5]] {
        let diagonal = sensitivities.iter().map(|d| d * d).sum::<f64>().sqrt();
        for (scale, epsilon) in [(1.0, 0.5), (3.0, 1.0), (10.0, 0.1), (2.0, 6.0)] {
            let several = with_scale(2.0, scale, &sensitivities).delta(epsilon).unwrap();
            let one = with_scale(2.0, scale, &[diagonal]).delta(epsilon).unwrap();
            // The two are put on different lattices, by a relative 1e-12 of the sensitivity or so.
            let difference = (several.estimate() / one.estimate() - 1.0).abs();
            assert!(
                difference < several.relative_width() + 1e-11,
                "{sensitivities:?} {several:?} {one:?}"
            );
            assert!(
                several.relative_width() < 1e-13,
                "{sensitivities:?} {scale} {epsilon} {several:?}"
            );
        }
    }
}

/// Claim 4 says that no scale gives a pure guarantee for any order but 1. Below 1 the certified
/// loss is finite, and it is attained at zero noise.
#[test]
fn erratum_l1_orders_below_one_are_pure() {
    for order in [0.2, 0.5, 0.9, 1.0] {
        for (sensitivities, epsilon) in [(vec![1.0], 1.0), (vec![3.0], 0.25), (vec![1.0, 0.5], 2.0)]
        {
            let distances: Vec<Distance> =
                sensitivities.iter().map(|&d| Distance::new(d).unwrap()).collect();
            let (p, budget) = (Order::new(order).unwrap(), Epsilon::new(epsilon).unwrap());
            let mechanism = GeneralizedGaussian::calibrate(
                p,
                GeneralizedGaussianMethod::Exact,
                &Sensitivity::from(&distances[..]),
                budget,
            )
            .unwrap();
            let expected = (sensitivities.iter().map(|d| d.powf(order)).sum::<f64>() / epsilon)
                .powf(1.0 / order);
            assert!(
                (mechanism.scale() / expected - 1.0).abs() < 1e-11,
                "{order} {} {expected}",
                mechanism.scale()
            );
            let Certificate::Epsilon(bounds) = mechanism.certificate() else {
                panic!("an epsilon was guaranteed")
            };
            assert!(bounds.upper() <= epsilon && bounds.lower() > epsilon * (1.0 - 1e-11));
            // The guarantee is kept exactly from epsilon on, and not before.
            assert_eq!(mechanism.delta(epsilon).unwrap().upper(), 0.0);
            assert!(
                sensitivities.len() > 1 || mechanism.delta(0.9 * epsilon).unwrap().lower() > 0.0
            );
        }
    }
    let distance = [Distance::new(1.0).unwrap()];
    assert!(
        GeneralizedGaussian::calibrate(
            Order::new(1.5).unwrap(),
            GeneralizedGaussianMethod::Exact,
            &Sensitivity::from(&distance[..]),
            Epsilon::new(1.0).unwrap()
        )
        .is_err()
    );
}

/// As printed, Corollary 9 has `D ((|e| + 1)^p - |e|^p) > b^p epsilon`: its scale is that of
/// sensitivity 1 and `epsilon / D`.
#[test]
fn erratum_l2_the_printed_corollary_is_unsound_above_sensitivity_one() {
    let printed = |order: f64, sensitivity: f64, epsilon: f64, delta: f64| {
        calibrate(order, &[1.0], epsilon / sensitivity, delta, Method::Probabilistic).scale()
    };
    // P[|L| > epsilon] at the printed scale is found by asking for which delta that scale would be
    // right.
    let (order, sensitivity, epsilon, delta) = (3.0, 5.0, 2.0, 0.01);
    let scale = printed(order, sensitivity, epsilon, delta);
    let right_for =
        |delta: f64| calibrate(order, &[sensitivity], epsilon, delta, Method::TwoSided).scale();
    assert!(
        right_for(0.0129) > scale && right_for(0.0131) < scale,
        "the printed scale gives 0.0130"
    );
    // The printed scale for order 4 and delta = 0.25 breaks even the weaker approximate guarantee;
    // the corrected one keeps it.
    let profile = |scale: f64| with_scale(4.0, scale, &[sensitivity]).delta(epsilon).unwrap();
    assert!(profile(printed(4.0, sensitivity, epsilon, 0.25)).lower() > 0.25);
    assert!(
        profile(calibrate(4.0, &[sensitivity], epsilon, 0.25, Method::Probabilistic).scale())
            .upper()
            <= 0.25
    );
}

/// The threshold of Eqn 13 is `b^p epsilon - D_p^p`; the text's `b^p - D_p^p epsilon` is another
/// number, for which a scale that does not scale with the sensitivity comes out.
#[test]
fn erratum_l3_the_threshold_of_the_text_is_not_invariant_to_units() {
    let scale = |unit: f64| {
        calibrate(2.0, &[unit, 0.5 * unit], 0.5, 0.05, Method::Probabilistic).scale() / unit
    };
    assert!((scale(1.0) / scale(8.0) - 1.0).abs() < 1e-9);
    // For order 2, sum of 2 |e_k| D_k <= b^2 - D^2 epsilon (text) at the corrected scale is a
    // different event from <= b^2 epsilon - D^2 (Eqn 13).
    let (b, diagonal, epsilon) = (scale(1.0), 1.25f64, 0.5f64);
    assert!((b * b - diagonal * epsilon) / (b * b * epsilon - diagonal) > 1.5);
}

/// "The two notions roughly agree for small delta": at epsilon 0.1 and delta 0.01 the Gaussian
/// scales are 25.95 and 9.54 (as sigma).
#[test]
fn erratum_l11_probabilistic_and_approximate_scales_do_not_agree() {
    let sigma = |method| calibrate(2.0, &[1.0], 0.1, 0.01, method).scale() / 2f64.sqrt();
    assert!(
        (sigma(Method::Probabilistic) - 25.95).abs() < 0.01,
        "{}",
        sigma(Method::Probabilistic)
    );
    assert!((sigma(Method::Exact) - 9.54).abs() < 0.01, "{}", sigma(Method::Exact));
}

/// A small generator of budgets; its quality does not matter.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

#[test]
fn calibration_keeps_within_random_budgets() {
    let mut state = 7;
    for case in 0..20_000 {
        // Orders below 1 with a tiny delta take hundreds of milliseconds each: a few of them will
        // do.
        let order = if case % 1000 == 0 { 0.5 } else { [1.0, 1.5, 2.0, 3.0, 5.0, 20.0][case % 6] };
        let epsilon = 10f64.powf(5.0 * uniform(&mut state) - 3.0);
        let delta = 10f64.powf(-299.0 * uniform(&mut state).powi(6) - 0.1);
        let sensitivity = 10f64.powf(6.0 * uniform(&mut state) - 3.0);
        let method = if order <= 1.0 {
            Method::Exact
        } else {
            [Method::Exact, Method::Probabilistic, Method::TwoSided][case % 3]
        };
        let mechanism = calibrate(order, &[sensitivity], epsilon, delta, method);
        let profile = mechanism.delta(epsilon).unwrap();
        assert!(
            profile.upper() <= delta,
            "order {order} epsilon {epsilon} delta {delta:e} {method:?}: {profile:?}"
        );
        if method == Method::Exact && order > 1.0 {
            let less = with_scale(order, mechanism.scale() * (1.0 - 1e-9), &[sensitivity]);
            assert!(
                less.delta(epsilon).unwrap().upper() > delta * (1.0 - 1e-9),
                "order {order} {epsilon} {delta:e}: too much noise"
            );
        }
    }
}

#[test]
fn scales_are_monotone_and_linear() {
    let exact = |order, d: f64, e, delta| calibrate(order, &[d], e, delta, Method::Exact).scale();
    for order in [1.0, 1.7, 2.0, 3.0, 8.0] {
        let base = exact(order, 1.0, 1.0, 1e-5);
        assert!(exact(order, 1.0, 1.1, 1e-5) < base && exact(order, 1.0, 1.0, 1e-4) < base);
        assert!(exact(order, 1.5, 1.0, 1e-5) > base);
        assert!(
            (exact(order, 8.0, 1.0, 1e-5) / (8.0 * base) - 1.0).abs() < 1e-14,
            "powers of two scale exactly"
        );
        assert!((exact(order, 1e60, 1.0, 1e-5) / (1e60 * base) - 1.0).abs() < 1e-11);
        let mechanism = with_scale(order, base, &[1.0]);
        let profile: Vec<f64> =
            (0..60).map(|i| mechanism.delta(0.1 * f64::from(i)).unwrap().lower()).collect();
        assert!(profile.windows(2).all(|pair| pair[1] <= pair[0]) && profile[0] <= 1.0);
    }
}

#[test]
fn errors_are_those_of_laplace_and_gauss() {
    let close = |bounds: reticent_numerics::Bounds, value: f64| {
        (bounds.estimate() / value - 1.0).abs() < 1e-13
    };
    let laplace = with_scale(1.0, 2.0, &[1.0]);
    let errors = laplace.errors().unwrap();
    assert!(close(errors.mean_absolute, 2.0) && close(errors.root_mean_square, 8f64.sqrt()));
    assert!(
        close(errors.entropy, (4.0 * std::f64::consts::E).ln())
            && close(errors.quantile_95, 2.0 * 20f64.ln())
    );
    assert!(close(laplace.usefulness(1.0).unwrap(), -(-0.5f64).exp_m1()));
    // Scale sqrt 2 at order 2 is the standard normal distribution.
    let gauss = with_scale(2.0, 2f64.sqrt(), &[1.0]).errors().unwrap();
    assert!(
        close(gauss.mean_absolute, (2.0 / std::f64::consts::PI).sqrt())
            && close(gauss.root_mean_square, 1.0)
    );
    assert!(close(gauss.entropy, 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln()));
    assert!(close(gauss.quantile_95, 1.959963984540054));
}

#[test]
fn releases_are_lattice_points_around_the_value() {
    let mechanism = calibrate(3.0, &[0.1], 1.0, 1e-6, Method::Exact);
    let releaser = mechanism.releaser().unwrap();
    let mut random = reticent_noise::randomness::SeededRandom::new(5);
    let expected = mechanism.errors().unwrap().mean_absolute.estimate();
    let mut sum = 0.0;
    for _ in 0..20_000 {
        let released = releaser.release(3.25, &mut random).unwrap();
        assert_eq!((released / releaser.spacing()).fract(), 0.0);
        sum += (released - 3.25).abs() / expected;
    }
    // The standard deviation of |X| is below 0.8 of its mean: 6 of them in 20,000 draws.
    assert!((sum / 20_000.0 - 1.0).abs() < 6.0 * 0.8 / 20_000f64.sqrt());
    assert!(releaser.release(f64::NAN, &mut random).unwrap().is_finite());
}

#[test]
fn what_makes_no_sense_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.1, 101.0] {
        assert!(Order::new(bad).is_err(), "{bad}");
    }
    let (order, one) = (Order::new(2.0).unwrap(), Distance::new(1.0).unwrap());
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    assert!(
        GeneralizedGaussian::calibrate(
            order,
            Method::Exact,
            &Sensitivity::from(&[][..]),
            (epsilon, delta)
        )
        .is_err()
    );
    assert!(
        GeneralizedGaussian::calibrate(
            order,
            Method::TwoSided,
            &Sensitivity::from(&[one, one][..]),
            (epsilon, delta)
        )
        .is_err()
    );
    let zero = Epsilon::new(0.0).unwrap();
    assert!(
        GeneralizedGaussian::calibrate(
            order,
            Method::Probabilistic,
            &Sensitivity::from(&[one][..]),
            (zero, delta)
        )
        .is_err()
    );
    assert!(
        GeneralizedGaussian::calibrate(
            order,
            Method::Exact,
            &Sensitivity::from(&[one][..]),
            (zero, delta)
        )
        .is_ok()
    );
    let half = Order::new(0.5).unwrap();
    assert!(
        GeneralizedGaussian::calibrate(
            half,
            Method::Probabilistic,
            &Sensitivity::from(&[one][..]),
            (epsilon, delta)
        )
        .is_err()
    );
    assert!(with_scale(2.0, 1.0, &[1.0]).delta(f64::NAN).is_err());
}
