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
promise                 pure differential privacy, epsilon = 0.5
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
    let answer = reticent("calibrate gaussian --epsilon 1 --delta 1e-5 --sensitivity 1 --format json").json();
    assert_eq!((&answer["mechanism"], &answer["method"]), (&Value::from("gaussian"), &Value::from("analytic")));
    // The optimum of reference/gaussian_sigma.json.
    let (scale, optimum) = (answer["scale"].as_f64().unwrap(), 3.730_631_634_815_942);
    assert!((scale / optimum - 1.0).abs() < 1e-12, "{scale}");
    assert_eq!(answer["guarantee"]["notion"], "approximate");
    assert_eq!(
        (&answer["guarantee"]["epsilon"], &answer["guarantee"]["delta"]),
        (&Value::from(1.0), &Value::from(1e-5))
    );
    let certified = &answer["certified"]["delta"];
    let (lower, upper) = (certified["lower"].as_f64().unwrap(), certified["upper"].as_f64().unwrap());
    assert!(lower <= upper && upper <= 1e-5 && lower > 0.999_999e-5, "{certified}");
    assert_eq!(answer["error"]["l2"].as_f64().map(|error| (error / scale - 1.0).abs() < 1e-12), Some(true));
    for name in ["l1", "entropy", "p95"] {
        assert!(answer["error"][name].is_f64(), "{name}");
    }
    assert_eq!(answer["event"]["mechanism"], "gaussian");
}

/// Every mechanism answers in the same shape, and proves what it promises.
#[test]
fn every_mechanism_answers_in_the_same_shape() {
    for request in REQUESTS.iter().filter(|request| request.starts_with("calibrate ")) {
        let answer = reticent(&format!("{request} --format json")).json();
        assert!(request.starts_with(&format!("calibrate {} ", answer["mechanism"].as_str().unwrap())), "{request}");
        assert!(answer["method"].is_string(), "{request}");
        assert!(answer["scale"].as_f64().is_some_and(|scale| scale > 0.0), "{request}");
        assert!(answer["event"]["mechanism"].is_string(), "{request}");
        let guarantee = &answer["guarantee"];
        let (name, promised) = match guarantee["notion"].as_str().unwrap() {
            "pure" => ("epsilon", guarantee["epsilon"].as_f64().unwrap()),
            "approximate" | "probabilistic" => ("delta", guarantee["delta"].as_f64().unwrap()),
            other => panic!("{request}: {other}"),
        };
        let certified = &answer["certified"][name];
        let (lower, upper) = (certified["lower"].as_f64().unwrap(), certified["upper"].as_f64().unwrap());
        assert!(0.0 <= lower && lower <= upper && upper <= promised, "{request}: {answer}");
        if !answer["error"].is_null() {
            for name in ["l1", "l2", "entropy", "p95"] {
                let figure = answer["error"].get(name).unwrap();
                assert!(figure.is_f64() || (figure.is_null() && answer["notes"].is_array()), "{request}: {name}");
            }
        }
    }
}

/// A gamma distribution of shape 1 gives noise without a mean: `null`, and a note that says so.
#[test]
fn an_infinite_error_is_null_with_a_note() {
    let request = "calibrate random-scale-laplace --family gamma --shape 1 --epsilon 1 --sensitivity 1";
    let answer = reticent(&format!("{request} --format json")).json();
    assert!(answer["error"]["l1"].is_null() && answer["error"]["l2"].is_null() && answer["error"]["p95"].is_f64());
    assert_eq!(answer["notes"][0], "not finite for this noise: mean absolute error, root mean square error");
    assert!(reticent(request).done().contains("mean absolute error     not finite"));
}

#[test]
fn parameters_of_one_name_are_a_list() {
    let request = "calibrate random-scale-gaussian --sigmas 1:0.75,3:0.25 --epsilon 1 --delta 1e-6 --sensitivity 1";
    let answer = reticent(&format!("{request} --format json")).json();
    assert_eq!(answer["parameters"]["weight"], serde_json::json!([0.75, 0.25]));
    assert!(reticent(request).done().contains("weight                  0.75, 0.25\n"));
}
