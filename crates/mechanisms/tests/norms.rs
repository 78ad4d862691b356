//! Generalized Gaussian noise on vectors of which a norm is known.

use reticent_mechanisms::{
    Budget, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod as Method, Guarantee,
    Mechanism, MechanismSpec, Neighbours, Notion, Order, Scale, Sensitivity,
};
use serde_json::Value;

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/bounded_vector.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn number(cell: &Value) -> f64 {
    cell.as_str().expect("a text").parse().expect("a number")
}

fn norm(p: f64, distance: f64, coordinates: u32) -> Sensitivity {
    Sensitivity::norm(p, distance, Neighbours::AddRemove)
        .and_then(|norm| norm.with_coordinates(coordinates))
        .expect("valid")
}

fn order(p: f64) -> Order {
    Order::new(p).expect("valid")
}

fn calibrate(
    p: f64,
    method: Method,
    known: &Sensitivity,
    budget: (f64, f64),
) -> GeneralizedGaussian {
    let budget = Budget::new(budget.0, Some(budget.1)).expect("valid");
    GeneralizedGaussian::calibrate(order(p), method, known, budget).expect("a scale")
}

/// By mpmath at 50 digits: the closed form, and the integral that bounds delta from above.
#[test]
fn scales_and_bounds_from_a_norm_are_the_golden_ones() {
    for row in reference()["norms"].as_array().expect("rows") {
        let (p, r) = (number(&row["p"]), row["r"].as_u64().expect("a number") as u32);
        let (epsilon, delta) = (number(&row["eps"]), number(&row["delta"]));
        let known = norm(p, 1.0, r);
        let mechanism = calibrate(p, Method::Probabilistic, &known, (epsilon, delta));
        let exact = number(&row["b_probabilistic"]);
        let excess = mechanism.scale() / exact - 1.0;
        assert!((-1e-12..1e-9).contains(&excess), "{row}: {}", mechanism.scale());
        assert_eq!(mechanism.guarantee().notion, Notion::Probabilistic);
        let scale = Scale::new(number(&row["scale"])).expect("valid");
        let made = GeneralizedGaussian::with_scale(
            order(p),
            scale,
            &known,
            Epsilon::new(epsilon).expect("valid"),
        )
        .expect("a mechanism");
        let (found, golden) = (made.delta(epsilon).expect("valid"), number(&row["delta_at_scale"]));
        assert!(
            found.upper() >= golden * (1.0 - 1e-12) && found.upper() < 1.03 * golden,
            "{row}: {found:?}"
        );
        assert!(found.lower() <= golden, "{row}: {found:?}");
        // The approximate notion asks for less noise.
        let approximate = calibrate(p, Method::Exact, &known, (epsilon, delta));
        assert!(approximate.scale() < mechanism.scale(), "{row}");
        assert!(approximate.delta(epsilon).expect("valid").upper() <= delta);
    }
}

/// No direction of the ball has a larger delta than what is proved for all of them.
#[test]
fn every_direction_is_within_what_is_proved() {
    for p in [1.5, 3.0, 4.0] {
        let known = norm(p, 1.0, 2);
        let (scale, epsilon) = (Scale::new(3.0).expect("valid"), Epsilon::new(0.6).expect("valid"));
        let of = |known: &Sensitivity| {
            GeneralizedGaussian::with_scale(order(p), scale, known, epsilon)
                .and_then(|made| made.delta(0.6))
                .expect("valid")
        };
        let all = of(&known);
        for i in 0..=8 {
            let share = f64::from(i) / 8.0;
            let moved =
                [share.powf(1.0 / p), (1.0 - share).powf(1.0 / p)].map(|d| d * (1.0 - 1e-12));
            let boxed = Sensitivity::per_element(&moved, Neighbours::AddRemove).expect("valid");
            assert!(of(&boxed).upper() <= all.upper(), "{p} {moved:?}: {all:?}");
        }
        assert!(all.lower() > 0.0 && all.upper() < 20.0 * all.lower(), "{p}: {all:?}");
    }
}

/// At order 2 and for pure privacy a norm is all that counts, and nothing is lost.
#[test]
fn order_two_and_orders_of_at_most_one_are_exact() {
    let one = Sensitivity::scalar(2.5, Neighbours::AddRemove).expect("valid");
    let scalar = calibrate(2.0, Method::Exact, &one, (1.0, 1e-6));
    let vector = calibrate(2.0, Method::Exact, &norm(2.0, 2.5, 40), (1.0, 1e-6));
    assert!((vector.scale() / scalar.scale() - 1.0).abs() < 1e-10, "{}", vector.scale());
    assert_eq!(vector.event().mechanism(), "generalized-gaussian");
    // An l1 bound is an l2 bound, and an l-infinity bound of four numbers is half of one.
    let l1 = calibrate(2.0, Method::Exact, &norm(1.0, 2.5, 40), (1.0, 1e-6));
    assert!((l1.scale() / scalar.scale() - 1.0).abs() < 1e-10);
    let cube = calibrate(2.0, Method::Exact, &norm(f64::INFINITY, 1.25, 4), (1.0, 1e-6));
    assert!((cube.scale() / scalar.scale() - 1.0).abs() < 1e-10);
    for p in [0.5, 0.8, 1.0] {
        let budget = Budget::new(0.7, None).expect("valid");
        let mechanism =
            GeneralizedGaussian::calibrate(order(p), Method::Exact, &norm(p, 2.0, 30), budget)
                .expect("a scale");
        let expected = 2.0 / 0.7f64.powf(1.0 / p);
        // Below order 1, steps of the lattice count by their p-th power: `r h^p`.
        let rounding = if p < 0.6 { 1e-3 } else { 1e-6 };
        let excess = mechanism.scale() / expected - 1.0;
        assert!((-1e-12..rounding).contains(&excess), "{p}: {}", mechanism.scale());
        let Guarantee { notion, .. } = mechanism.guarantee();
        assert_eq!(notion, Notion::Pure);
        assert_eq!(mechanism.delta(0.7).expect("valid").upper(), 0.0);
    }
}

/// Proposition 8 with the l_3 sensitivity that is known, against a double integral; and with Lemma
/// 2's it asks for more noise.
#[test]
fn proposition_8_takes_the_true_sensitivity() {
    let boxed = Sensitivity::per_element(&[1.0, 0.5], Neighbours::AddRemove).expect("valid");
    let known = boxed.clone().with_norm(3.0, 1.0).expect("valid");
    let mut by_both = 0;
    for row in reference()["proposition_8"].as_array().expect("rows") {
        let (b, epsilon) = (number(&row["b"]), number(&row["eps"]));
        let budget = (epsilon, number(&row["probability"]));
        let mechanism = calibrate(3.0, Method::Probabilistic, &known, budget);
        assert!(mechanism.scale() <= b * (1.0 + 1e-6), "{row}: {}", mechanism.scale());
        if mechanism.sensitivities().len() == 2 {
            by_both += 1;
            assert!(mechanism.scale() >= b * (1.0 - 1e-9), "{row}: {}", mechanism.scale());
        }
        let by_lemma_2 = calibrate(3.0, Method::Probabilistic, &boxed, budget);
        assert!(mechanism.scale() < by_lemma_2.scale(), "{row}");
    }
    assert!(by_both > 0, "the norm alone was better everywhere");
}

/// Two cells of a histogram move when a unit is replaced.
#[test]
fn a_replaced_unit_is_a_box_of_two() {
    let replaced = Sensitivity::histogram(Neighbours::Replace);
    let boxed = Sensitivity::per_element(&[1.0, 1.0], Neighbours::Replace).expect("valid");
    let budget = (1.0, 1e-4);
    let scale = |known: &Sensitivity| calibrate(3.0, Method::Exact, known, budget).scale();
    assert_eq!(scale(&replaced), scale(&boxed));
    assert!(scale(&replaced) > scale(&Sensitivity::histogram(Neighbours::AddRemove)));
}

#[test]
fn what_a_norm_does_not_tell_is_refused() {
    let spec: MechanismSpec = "generalized-gaussian order=3".parse().expect("as it is written");
    let budget = Budget::new(1.0, Some(1e-6)).expect("valid");
    let unknown = Sensitivity::norm(3.0, 1.0, Neighbours::AddRemove).expect("valid");
    let message = spec.calibrate(&unknown, budget).expect_err("no dimension").to_string();
    assert!(message.contains("coordinates"), "{message}");
    let two_sided =
        GeneralizedGaussian::calibrate(order(3.0), Method::TwoSided, &norm(3.0, 1.0, 2), budget);
    assert!(two_sided.is_err());
    let many = vec![0.1; 40];
    let boxed = Sensitivity::per_element(&many, Neighbours::AddRemove).expect("valid");
    assert!(spec.calibrate(&boxed, budget).is_err(), "more than a box can have");
    assert!(spec.calibrate(&boxed.with_norm(3.0, 0.2).expect("valid"), budget).is_ok());
    let scalar = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
    assert!(scalar.with_norm(2.0, 1.0).is_err());
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let boxed = Sensitivity::per_element(&[1.0, 1.0], Neighbours::AddRemove).expect("valid");
        assert!(boxed.with_norm(2.0, bad).is_err(), "{bad}");
    }
}
