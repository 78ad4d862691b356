//! Several bounded numbers: golden values, what is printed, and properties.
#![allow(clippy::panic)]

use reticent_mechanisms::{
    BoundedVector, Bounding, Budget, Certificate, Mechanism, MechanismSpec, Neighbours, Order,
    Sensitivity, TruncatedGeneralizedGaussian, TruncatedMethod, lemma_10,
    utility_sensitivity_of_vector,
};
use reticent_noise::randomness::SeededRandom;
use reticent_numerics::Bounds;
use serde_json::Value;

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/bounded_vector.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn number(cell: &Value) -> f64 {
    cell.as_str().expect("a text").parse().expect("a number")
}

fn numbers(cell: &Value) -> Vec<f64> {
    cell.as_array().expect("a list").iter().map(number).collect()
}

fn order(p: f64) -> Order {
    Order::new(p).expect("valid")
}

fn pure(epsilon: f64) -> Budget {
    Budget::new(epsilon, None).expect("valid")
}

fn certified(mechanism: &BoundedVector) -> Bounds {
    let Certificate::Epsilon(bounds) = mechanism.certificate() else { panic!("a pure one") };
    bounds
}

fn per_element(distances: &[f64]) -> Sensitivity {
    Sensitivity::per_element(distances, Neighbours::AddRemove).expect("valid")
}

/// From the densities at 50 digits: the least scale, whatever is known of the move.
#[test]
fn least_scales_are_the_golden_ones() {
    for row in reference()["scales"].as_array().expect("rows") {
        let (ranges, p) = (numbers(&row["ranges"]), row["p"].as_f64().expect("an order"));
        // Where the range lies does not matter.
        let bounds: Vec<(f64, f64)> =
            ranges.iter().enumerate().map(|(k, range)| (k as f64, k as f64 + range)).collect();
        let sensitivity =
            match row["kind"].as_str().expect("a kind") {
                "per-element" => per_element(&numbers(&row["moves"])),
                "one" => Sensitivity::disjoint(number(&row["moves"]), Neighbours::AddRemove)
                    .expect("valid"),
                "two" => Sensitivity::disjoint(number(&row["moves"]), Neighbours::Replace)
                    .expect("valid"),
                "norm" => {
                    let moves = numbers(&row["moves"]);
                    Sensitivity::norm(moves[0], moves[1], Neighbours::AddRemove).expect("valid")
                }
                other => panic!("{other}"),
            };
        let truncated = row["bounding"] == "truncated";
        let bounding = if truncated { Bounding::Truncated } else { Bounding::Inflated };
        let epsilon = number(&row["eps"]);
        let mechanism = BoundedVector::calibrate(
            bounding,
            order(p),
            TruncatedMethod::Exact,
            &bounds,
            &sensitivity,
            pure(epsilon),
        )
        .expect("a scale");
        let exact = number(&row["b"]);
        // Within a norm, truncated noise of order 3 has a certified bracket and no equation.
        let tolerance = match (row["kind"].as_str(), truncated, p) {
            (Some("norm"), true, 3.0) => 2e-3,
            (Some("norm"), _, _) => 1e-8,
            _ => 1e-11,
        };
        let excess = mechanism.scale() / exact - 1.0;
        assert!(excess >= -1e-12 && excess < tolerance, "{row}: {} {exact}", mechanism.scale());
        let proved = certified(&mechanism);
        assert!(proved.upper() <= epsilon && proved.lower() > epsilon * (1.0 - 10.0 * tolerance));
        assert!(mechanism.scale() > 0.0 && mechanism.bounds() == bounds);
    }
}

#[test]
fn one_number_is_the_scalar_mechanism() {
    let sensitivity = per_element(&[0.5]);
    for p in [1.0, 1.5, 2.0, 3.0] {
        for method in [TruncatedMethod::Exact, TruncatedMethod::Paper, TruncatedMethod::Exponential]
        {
            let vector = BoundedVector::calibrate(
                Bounding::Truncated,
                order(p),
                method,
                &[(0.0, 1.0)],
                &sensitivity,
                pure(1.0),
            )
            .expect("a scale");
            let scalar = TruncatedGeneralizedGaussian::calibrate(
                order(p),
                method,
                (0.0, 1.0),
                &sensitivity,
                pure(1.0),
            )
            .expect("a scale");
            assert!(
                (vector.scale() / scalar.scale() - 1.0).abs() < 1e-12,
                "{p} {method:?}: {} {}",
                vector.scale(),
                scalar.scale()
            );
            assert_eq!(vector.event().mechanism(), scalar.event().mechanism());
        }
    }
}

/// Eqns 7, 8 and 16 as printed, in plain f64; never below the least scale.
#[test]
fn the_scales_of_the_paper() {
    let (bounds, moves) = ([(0.0, 1.0), (-2.0, 2.0), (5.0, 7.0)], [0.5, 1.0, 0.25]);
    let epsilon = 0.8;
    for p in [1.0, 2.0, 3.0, 4.0] {
        let calibrate = |method: TruncatedMethod, sensitivity: &Sensitivity| {
            BoundedVector::calibrate(
                Bounding::Truncated,
                order(p),
                method,
                &bounds,
                sensitivity,
                pure(epsilon),
            )
            .expect("a scale")
            .scale()
        };
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            bounds.iter().zip(moves).map(|((low, high), d)| term(high - low, d)).sum()
        };
        let scale = |inner: f64| (2.0 / epsilon * inner).powf(1.0 / p);
        let close = |found: f64, printed: f64| (found / printed - 1.0).abs() < 1e-9;
        let boxed = per_element(&moves);
        let eqn_8 = scale(sum(&|r, d| (r + d).powf(p) - r.powf(p)));
        assert!(close(calibrate(TruncatedMethod::Paper, &boxed), eqn_8), "order {p}");
        // Eqn 7: the l_p sensitivity is known to be 1, less than Lemma 2's.
        let known = boxed.clone().with_norm(p, 1.0).expect("valid");
        let eqn_7 = scale(sum(&|r, d| (r + d).powf(p) - r.powf(p) - d.powf(p)) + 1.0);
        assert!(close(calibrate(TruncatedMethod::Paper, &known), eqn_7), "order {p}");
        assert!(eqn_7 < eqn_8);
        let eqn_16 = scale(sum(&|r, d| r.powf(p) - (r - d).powf(p)));
        assert!(close(calibrate(TruncatedMethod::Exponential, &boxed), eqn_16), "order {p}");
        let exact = calibrate(TruncatedMethod::Exact, &boxed);
        let lemma = calibrate(TruncatedMethod::Lemma10, &boxed);
        assert!(exact < eqn_16 && eqn_16 <= eqn_8 * (1.0 + 1e-9), "order {p}");
        assert!(lemma >= eqn_16 * (1.0 - 1e-9), "order {p}: {lemma} {eqn_16}");
        assert!(calibrate(TruncatedMethod::Exact, &known) <= exact, "order {p}");
    }
}

/// Lemma 10 a to c against the largest change of the utility over all answers and outputs, which is
/// looked for on a grid.
#[test]
fn lemma_10_is_an_upper_bound_that_depends_on_where_zero_is() {
    let largest = |p: f64, (low, high): (f64, f64), d: f64| -> f64 {
        let at = |i: u32| low + (high - low) * f64::from(i) / 60.0;
        let mut most: f64 = 0.0;
        for y in (0..=60).map(at) {
            for s in (0..=60).map(at) {
                let moved = (s + d).min(high);
                most = most.max(((y - s).abs().powf(p) - (y - moved).abs().powf(p)).abs());
            }
        }
        most
    };
    for p in [1.0, 2.0, 3.0, 4.0, 5.0] {
        for bounds in [(-1.0, 1.0), (0.0, 2.0), (3.0, 5.0), (-9.0, -7.0), (-0.5, 1.5)] {
            for d in [0.25, 1.0, 2.0] {
                let exact = utility_sensitivity_of_vector(order(p), &[bounds], &per_element(&[d]))
                    .expect("valid");
                let found = largest(p, bounds, d);
                assert!(
                    found <= exact.upper() * (1.0 + 1e-12) && found > 0.99 * exact.lower(),
                    "{p} {bounds:?} {d}: {found} {exact:?}"
                );
                let printed = lemma_10(order(p), &[bounds], &[d]).expect("valid");
                assert!(printed >= exact.lower() * (1.0 - 1e-12), "{p} {bounds:?} {d}: {printed}");
            }
        }
        // a) is exact; b) is not; c) is where the bounds lie around zero, and up to half of them.
        let exact = 2f64.powf(p) - 1.0;
        let printed = |bounds| lemma_10(order(p), &[bounds], &[1.0]).expect("valid");
        let centred = printed((-1.0, 1.0));
        match p {
            1.0 => assert_eq!(centred, 1.0),
            2.0 => assert_eq!((centred, exact), (4.0, 3.0)),
            _ => {
                assert!((centred / exact - 1.0).abs() < 1e-12, "{p}: {centred} {exact}");
                assert!(printed((100.0, 102.0)) > 100.0 * exact, "{p}");
            }
        }
    }
    // Several numbers add up, and a norm of the move makes it less.
    let bounds = [(0.0, 1.0), (0.0, 3.0)];
    let of = |sensitivity: &Sensitivity| {
        utility_sensitivity_of_vector(order(2.0), &bounds, sensitivity).expect("valid")
    };
    let (apart, together) =
        (per_element(&[0.5, 0.5]), per_element(&[0.5, 0.5]).with_norm(2.0, 0.5));
    assert!((of(&apart).estimate() - (0.75 + 2.75)).abs() < 1e-12);
    let within = of(&together.expect("valid"));
    // (2 d_1 - d_1^2) + (6 d_2 - d_2^2) with d on a circle of radius 1/2: 2 d_1 + 6 d_2 - 1/4.
    let direction = 0.5 * 40f64.sqrt() - 0.25;
    assert!((within.estimate() / direction - 1.0).abs() < 1e-8, "{within:?} {direction}");
    assert!(within.relative_width() < 1e-8);
    assert!(lemma_10(order(2.5), &bounds, &[0.5, 0.5]).is_err());
    assert!(lemma_10(order(2.0), &bounds, &[0.5]).is_err());
}

/// No move of a grid over the ball loses more than the certificate, and the best of the grid nearly
/// as much as its lower end.
#[test]
fn a_ball_of_moves_is_bounded_from_both_sides() {
    let bounds = [(0.0, 1.0), (0.0, 2.0), (0.0, 1.0)];
    for bounding in Bounding::ALL.iter().copied() {
        for (p, q, bound, scale) in
            [(1.0, 2.0, 0.7, 1.3), (2.0, 1.0, 0.8, 1.5), (3.0, 2.0, 0.9, 1.6), (1.5, 3.0, 0.6, 2.0)]
        {
            let sensitivity = Sensitivity::norm(q, bound, Neighbours::AddRemove).expect("valid");
            let scale = reticent_mechanisms::Scale::new(scale).expect("valid");
            let of = |sensitivity: &Sensitivity| {
                let made =
                    BoundedVector::with_scale(bounding, order(p), &bounds, sensitivity, scale);
                certified(&made.expect("a mechanism"))
            };
            let all = of(&sensitivity);
            assert!(
                all.relative_width() < if p == 3.0 || p == 1.5 { 0.02 } else { 1e-7 },
                "{all:?}"
            );
            let mut best: f64 = 0.0;
            for i in 0..=12 {
                for j in 0..=(12 - i) {
                    let share = |n: u32| bound * (f64::from(n) / 12.0).powf(1.0 / q) * 0.999_999;
                    let moved = [share(i), share(j), share(12 - i - j)];
                    let one = of(&per_element(&moved));
                    assert!(
                        one.lower() <= all.upper(),
                        "{bounding:?} {p} {moved:?}: {one:?} {all:?}"
                    );
                    best = best.max(one.upper());
                }
            }
            assert!(best > 0.97 * all.lower(), "{bounding:?} {p}: {best} {all:?}");
        }
    }
}

#[test]
fn more_noise_never_loses_more_and_more_knowledge_never_asks_for_more_noise() {
    let bounds = [(0.0, 1.0), (0.0, 4.0)];
    for bounding in Bounding::ALL.iter().copied() {
        for p in [1.0, 2.0, 3.0] {
            let scale = |sensitivity: &Sensitivity, epsilon: f64| {
                BoundedVector::calibrate(
                    bounding,
                    order(p),
                    TruncatedMethod::Exact,
                    &bounds,
                    sensitivity,
                    pure(epsilon),
                )
                .expect("a scale")
                .scale()
            };
            let boxed = per_element(&[0.5, 1.0]);
            assert!(scale(&boxed, 0.5) > scale(&boxed, 1.0));
            let known = boxed.clone().with_norm(2.0, 0.9).expect("valid");
            assert!(scale(&known, 1.0) < scale(&boxed, 1.0), "{bounding:?} {p}");
            let useless = boxed.clone().with_norm(1.0, 1.5).expect("valid");
            assert_eq!(scale(&useless, 1.0), scale(&boxed, 1.0));
            let replaced = boxed.under_replace().expect("valid");
            assert!(scale(&replaced, 1.0) > scale(&boxed, 1.0));
        }
    }
}

#[test]
fn releases_stay_between_the_bounds_of_each_number() {
    for text in [
        "truncated-generalized-gaussian order=2 lower=0,10,-5 upper=1,14,-4",
        "inflated-generalized-gaussian order=3 lower=0,10,-5 upper=1,14,-4",
    ] {
        let spec: MechanismSpec = text.parse().expect("as it is written");
        assert_eq!(spec.to_string().parse::<MechanismSpec>().as_ref(), Ok(&spec));
        let mechanism = spec.calibrate(&per_element(&[0.5, 1.0, 0.0]), pure(0.5)).expect("valid");
        assert!(mechanism.releaser().is_err() && mechanism.releasers(2, 2).is_err());
        let releasers = mechanism.releasers(3, 3).expect("one for each");
        let mut random = SeededRandom::new(7);
        for value in [f64::NAN, f64::INFINITY, -1e300, 0.5, 12.0] {
            for (releaser, (low, high)) in
                releasers.iter().zip([(0.0, 1.0), (10.0, 14.0), (-5.0, -4.0)])
            {
                let released = releaser.release(value, &mut random).expect("bits");
                assert!((low..=high).contains(&released), "{text}: {released}");
            }
        }
        let errors = mechanism.errors().expect("errors");
        assert!(errors.mean_absolute.upper() < 4.0);
        let delta = mechanism.delta(0.1).expect("valid");
        assert!(delta.lower() > 0.0 && delta.lower() <= delta.upper() && delta.upper() < 0.21);
        assert_eq!(mechanism.delta(0.5).expect("valid").upper(), 0.0);
    }
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let calibrate = |text: &str, sensitivity: &Sensitivity| {
        text.parse::<MechanismSpec>().expect("as it is written").calibrate(sensitivity, pure(1.0))
    };
    let both = per_element(&[0.5, 1.0]);
    for (text, part) in [
        ("truncated-generalized-gaussian order=2 lower=0,0,0 upper=1,1,1", "as many numbers"),
        ("truncated-generalized-gaussian order=2 lower=0,0,0 upper=1,1", "as many numbers"),
        ("truncated-generalized-gaussian order=2 lower=0,3 upper=1,1", "upper bound"),
        ("truncated-generalized-gaussian order=0.5 lower=0,0 upper=1,1", "order"),
        ("truncated-generalized-gaussian order=2.5 lower=0,0 upper=1,1 method=lemma-10", "order"),
        ("inflated-generalized-gaussian order=2 lower=0,nan upper=1,1", "lower bound"),
        ("inflated-generalized-gaussian order=2 lower=0,0 upper=1,inf", "upper bound"),
    ] {
        let refused = calibrate(text, &both).expect_err(text).to_string();
        assert!(refused.contains(part), "{text}: {refused}");
    }
    let spec = "truncated-generalized-gaussian order=2 lower=0,0 upper=1,1";
    let spec: MechanismSpec = spec.parse().expect("as it is written");
    assert!(spec.calibrate(&both, Budget::new(1.0, Some(1e-6)).expect("valid")).is_err());
    assert!(spec.calibrate(&both, Budget::new(0.0, None).expect("valid")).is_err());
    // One range for all numbers, of which two move.
    let replaced = Sensitivity::disjoint(1.0, Neighbours::Replace).expect("valid");
    let spec = "inflated-generalized-gaussian order=1 lower=0 upper=10";
    let two = calibrate(spec, &replaced).expect("valid");
    assert!((two.scale() - 2.0).abs() < 1e-9, "{}", two.scale());
    assert_eq!(two.releasers(77, 2).expect("one for all").len(), 1);
}
