//! `reticent calibrate`.

use crate::never_panics::REQUESTS;
use crate::program::reticent;
use serde_json::Value;

#[test]
fn the_table_is_what_people_see() {
    let text = reticent("calibrate laplace --epsilon 0.5 --sensitivity 1").done();
    let expected = "\
mechanism               laplace
method                  exact
scale                   2
guarantee               pure differential privacy, epsilon = 0.5
certified               epsilon from 0.5 to 0.5
mean absolute error     2
root mean square error  2.82843
95% of errors below     5.99146
entropy (nats)          2.38629
lattice spacing         2^-39
";
    assert_eq!(text, expected);
}

#[test]
fn the_object_is_what_programs_see() {
    let answer =
        reticent("calibrate gaussian --epsilon 1 --delta 1e-5 --sensitivity 1 --format json")
            .json();
    assert_eq!(
        (&answer["mechanism"], &answer["method"]),
        (&Value::from("gaussian"), &Value::from("analytic"))
    );
    // The optimum of reference/gaussian_sigma.json.
    let (scale, optimum) = (answer["scale"].as_f64().unwrap(), 3.730_631_634_815_942);
    assert!((scale / optimum - 1.0).abs() < 1e-12, "{scale}");
    assert_eq!(answer["guarantee"]["notion"], "approximate");
    assert_eq!(
        (&answer["guarantee"]["epsilon"], &answer["guarantee"]["delta"]),
        (&Value::from(1.0), &Value::from(1e-5))
    );
    let certified = &answer["certified"]["delta"];
    let (lower, upper) =
        (certified["lower"].as_f64().unwrap(), certified["upper"].as_f64().unwrap());
    assert!(lower <= upper && upper <= 1e-5 && lower > 0.999_999e-5, "{certified}");
    assert_eq!(
        answer["error"]["l2"].as_f64().map(|error| (error / scale - 1.0).abs() < 1e-12),
        Some(true)
    );
    for name in ["l1", "entropy", "p95"] {
        assert!(answer["error"][name].is_f64(), "{name}");
    }
    assert_eq!(answer["event"]["mechanism"], "gaussian");
}

/// Every mechanism answers in the same shape, and proves what it guarantees.
#[test]
fn every_mechanism_answers_in_the_same_shape() {
    for request in REQUESTS.iter().filter(|request| request.starts_with("calibrate ")) {
        let answer = reticent(&format!("{request} --format json")).json();
        assert!(
            request.starts_with(&format!("calibrate {} ", answer["mechanism"].as_str().unwrap())),
            "{request}"
        );
        assert!(answer["method"].is_string(), "{request}");
        assert!(answer["scale"].as_f64().is_some_and(|scale| scale > 0.0), "{request}");
        assert!(answer["event"]["mechanism"].is_string(), "{request}");
        let guarantee = &answer["guarantee"];
        let (name, guaranteed) = match guarantee["notion"].as_str().unwrap() {
            "pure" => ("epsilon", guarantee["epsilon"].as_f64().unwrap()),
            "approximate" | "probabilistic" => ("delta", guarantee["delta"].as_f64().unwrap()),
            other => panic!("{request}: {other}"),
        };
        let certified = &answer["certified"][name];
        let (lower, upper) =
            (certified["lower"].as_f64().unwrap(), certified["upper"].as_f64().unwrap());
        assert!(0.0 <= lower && lower <= upper && upper <= guaranteed, "{request}: {answer}");
        if !answer["error"].is_null() {
            for name in ["l1", "l2", "entropy", "p95"] {
                let figure = answer["error"].get(name).unwrap();
                assert!(
                    figure.is_f64() || (figure.is_null() && answer["notes"].is_array()),
                    "{request}: {name}"
                );
            }
        }
    }
}

/// A gamma distribution of shape 1 gives noise without a mean: `null`, and a note that says so.
#[test]
fn an_infinite_error_is_null_with_a_note() {
    let request = "calibrate random-scale-laplace inverse_scale=[gamma shape=1 theta=1] \
        --epsilon 1 \
        --sensitivity 1";
    let answer = reticent(&format!("{request} --format json")).json();
    assert!(
        answer["error"]["l1"].is_null()
            && answer["error"]["l2"].is_null()
            && answer["error"]["p95"].is_f64()
    );
    assert_eq!(
        answer["notes"][0],
        "not finite for this noise: mean absolute error, root mean square error"
    );
    assert!(reticent(request).done().contains("mean absolute error     not finite"));
}

#[test]
fn parameters_of_one_name_are_a_list() {
    let request = "calibrate random-scale-gaussian sigmas=1:0.75,3:0.25 --epsilon 1 --delta 1e-6 \
        --sensitivity 1";
    let answer = reticent(&format!("{request} --format json")).json();
    assert_eq!(answer["parameters"]["weight"], serde_json::json!([0.75, 0.25]));
    assert!(reticent(request).done().contains("weight                  0.75, 0.25\n"));
}

/// Algorithm 1 of R2DP: the solver's point, its certified epsilon, and its ratio to the best of all
/// random scales.
#[test]
fn a_random_scale_is_optimised_for_a_metric() {
    let request = "calibrate random-scale-laplace --epsilon 4 --metric usefulness:0.1";
    for (family, useful) in [("combined", 0.410), ("gamma", 0.394), ("two-point", 0.481)] {
        let answer =
            reticent(&format!("{request} --family {family} --sensitivity 1 --format json")).json();
        assert!(answer["certified"]["epsilon"]["upper"].as_f64().unwrap() <= 4.0);
        let optimised = &answer["optimised"];
        assert_eq!(optimised["family"], family);
        assert_eq!(optimised["metric"], "usefulness:0.1");
        let figure = |name: &str| optimised[name].as_f64().unwrap();
        assert!((1.0 - figure("error") - useful).abs() < 1e-3, "{family}: {optimised}");
        assert!((1.0 - figure("plain_error") - 0.330).abs() < 1e-3, "{optimised}");
        assert!((1.0 - figure("least_error") - 0.481).abs() < 1e-3, "{optimised}");
        let ratio = figure("error") / figure("least_error");
        assert!((figure("ratio_to_least") / ratio - 1.0).abs() < 1e-6, "{optimised}");
        assert_eq!(optimised["plain_is_best"], false);
        assert_eq!(answer["necessary_condition"]["holds"], true);
        assert!(answer["parameters"].as_object().unwrap().len() >= 2, "{answer}");
    }
    // Without a sensitivity it is 1, which is said; without a family it is the best of all.
    let text = reticent(request).done();
    assert!(text.contains("no sensitivity was given: it is taken to be 1"), "{text}");
    assert!(text.contains("over the family            two-point"), "{text}");
    let small = reticent(
        "calibrate random-scale-laplace --epsilon 1 --metric entropy --l1 1 --dimension 1",
    )
    .done();
    assert!(small.contains("plain Laplace noise is the best, proved"), "{small}");
    // Three coordinates with a third of the budget each.
    let vector = reticent(
        "calibrate random-scale-laplace --epsilon 12 --l1 3 --dimension 3 --metric usefulness:0.1 \
         --family gamma --format json",
    )
    .json();
    assert!((1.0 - vector["optimised"]["error"].as_f64().unwrap() - 0.394).abs() < 1e-3);
    assert_eq!(vector["event"]["coordinates"], 3);
}

/// The example of Lemma 4.12: 4.19 < 8.48, at `D = 1.2`.
#[test]
fn the_necessary_condition_of_theorem_4_6_is_reported() {
    let text = reticent(
        "calibrate random-scale-laplace inverse_scale=[uniform lower=0.5 upper=9] \
         --epsilon 4.193098 --sensitivity 1.2",
    )
    .done();
    assert!(text.contains("necessary condition") && text.contains("holds: 4.193"), "{text}");
    assert!(text.contains("< 8.47"), "{text}");
    let narrow = reticent(
        "calibrate random-scale-laplace inverse_scale=[uniform lower=1 upper=2] --epsilon 0.1 \
         --sensitivity 1 --format json",
    )
    .json();
    assert_eq!(narrow["necessary_condition"]["holds"], false);
}

#[test]
fn a_random_standard_deviation_is_optimised_for_a_metric() {
    let answer = reticent(
        "calibrate random-scale-gaussian --epsilon 1 --delta 1e-6 --sensitivity 1 --metric l2 \
         --family two-point --format json",
    )
    .json();
    assert!(answer["certified"]["delta"]["upper"].as_f64().unwrap() <= 1e-6);
    let figure = |name: &str| answer["optimised"][name].as_f64().unwrap();
    assert!((figure("plain_error") - 4.224_678_889).abs() < 1e-6, "{answer}");
    assert!(figure("error") < 3.0 && figure("least_error") < figure("error"), "{answer}");
    assert_eq!(answer["parameters"]["sigma"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_optimised_is_refused() {
    for (request, why) in [
        ("laplace --epsilon 1 --sensitivity 1 --metric l2", "--metric and --family are for"),
        (
            "random-scale-laplace inverse_scale=[gamma shape=2 theta=1] --epsilon 1 --metric l2",
            "without parameters of their own",
        ),
        ("random-scale-laplace --epsilon 1 --family gama", "the family is `gama`"),
        ("random-scale-laplace --epsilon 1 --metric l3", "the metric is `l3`"),
        ("random-scale-laplace --epsilon 1 --delta 1e-6 --metric l1", "takes no `delta`"),
        ("random-scale-laplace --metric l1", "needs --epsilon"),
        ("random-scale-laplace --epsilon nan --metric l1", "epsilon"),
        ("random-scale-laplace --epsilon 1 --metric l1 --releases 3", "one release"),
        ("random-scale-laplace --epsilon 1 --metric l1 --l1 3", "coordinates"),
        ("random-scale-gaussian --epsilon 1 --metric l1", "needs a `delta`"),
        ("random-scale-gaussian --epsilon 1 --delta 1e-6 --family combined", "discrete"),
        ("random-scale-gaussian --epsilon 1 --delta 1e-6 --metric entropy", "expected"),
        ("random-scale-gaussian --epsilon 1 --delta 1e-6 --metric l1 --l2 1", "one number"),
    ] {
        let refused = reticent(&format!("calibrate {request}")).refused();
        assert!(refused.contains(why), "{request}: {refused}");
    }
}
