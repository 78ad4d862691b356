//! A mechanism as data: written and serialised, calibrated, stretched, described.
#![allow(clippy::unwrap_used)]

use reticent_events::Event;
use reticent_mechanisms::{
    Budget, Certificate, MechanismKind, MechanismSpec, Neighbours, Notion, Sensitivity, Stretch,
    described,
};

/// One of each kind, and what calibrates it.
fn specs() -> Vec<(MechanismSpec, Budget)> {
    let (pure, approximate) =
        (Budget::new(1.0, None).unwrap(), Budget::new(1.0, Some(1e-6)).unwrap());
    [
        ("randomized-response categories=3", pure),
        ("laplace", pure),
        ("discrete-laplace", pure),
        ("staircase aim=usefulness:0.3", pure),
        ("truncated-laplace", approximate),
        ("gaussian method=closed-form-1", approximate),
        ("discrete-gaussian", approximate),
        ("generalized-gaussian order=3 method=exact", approximate),
        ("truncated-generalized-gaussian order=2 lower=-1 upper=1 method=exact", pure),
        ("inflated-generalized-gaussian order=2 lower=-1 upper=1", pure),
        ("random-scale-laplace inverse_scale=[gamma shape=2 theta=1]", pure),
        ("random-scale-gaussian sigmas=1:0.75,3:0.25", approximate),
        ("exponential change=either-way", pure),
        ("permute-and-flip change=one-way", pure),
    ]
    .map(|(text, budget)| {
        let spec: MechanismSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
        (spec, budget)
    })
    .to_vec()
}

fn one() -> Sensitivity {
    Sensitivity::scalar(1.0, Neighbours::AddRemove).unwrap()
}

#[test]
fn every_mechanism_that_can_be_asked_for_is_here() {
    let names: Vec<_> = specs().iter().map(|(spec, _)| spec.name()).collect();
    assert_eq!(names, MechanismSpec::NAMES);
    for kind in MechanismKind::ALL {
        let found_by_search = *kind == MechanismKind::Tabulated;
        assert_eq!(MechanismSpec::NAMES.contains(&kind.name()), !found_by_search, "{kind:?}");
    }
    for (spec, _) in specs() {
        assert_eq!(spec.kind().name(), spec.name());
    }
}

#[test]
fn a_specification_survives_serialisation() {
    for (spec, _) in specs() {
        let json = serde_json::to_string(&spec).unwrap();
        assert!(json.starts_with(&format!(r#"{{"mechanism":"{}""#, spec.name())), "{json}");
        assert_eq!(serde_json::from_str::<MechanismSpec>(&json).unwrap(), spec, "{json}");
    }
    let read = |text: &str| serde_json::from_str::<MechanismSpec>(text);
    assert_eq!(
        read(r#"{"mechanism": "gaussian"}"#).unwrap(),
        "gaussian method=analytic".parse().unwrap()
    );
    for wrong in [
        r#"{"mechanism": "gaussian", "method": "magic"}"#,
        r#"{"mechanism": "laplace", "order": 2}"#,
        r#"{"mechanism": "generalized-gaussian"}"#,
        r#"{"mechanism": "gauss"}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

/// What is calibrated keeps its budget, and its event describes the same noise.
#[test]
fn a_calibrated_mechanism_is_the_one_that_its_event_describes() {
    for (spec, budget) in specs() {
        let made = spec.calibrate(&one(), budget).unwrap();
        assert_eq!(made.kind(), spec.kind());
        assert!(spec.kind().notions().contains(&made.guarantee().notion), "{spec}");
        match made.certificate() {
            Certificate::Epsilon(loss) => assert!(loss.upper() <= 1.0, "{spec}"),
            Certificate::Delta(delta) => assert!(delta.upper() <= 1e-6, "{spec}"),
        }
        let event = made.event();
        let again = described(&event.to_string().parse::<Event>().unwrap()).unwrap();
        assert_eq!(again.kind(), spec.kind());
        if again.guarantee().notion != Notion::Pure {
            assert_eq!(again.guarantee().epsilon, 1.0, "{spec}");
        }
        // The profile half way: to what a lattice adds to a sensitivity once more.
        let (delta, same) = (made.delta(0.5).unwrap(), again.delta(0.5).unwrap());
        let apart = (delta.upper() - same.upper()).abs();
        assert!(apart <= 1e-6 * delta.upper(), "{spec}: {delta:?} {same:?}");
    }
}

#[test]
fn a_budget_must_be_of_the_right_kind() {
    for (spec, budget) in specs() {
        let other = Budget::new(1.0, if budget.delta().is_some() { None } else { Some(1e-6) });
        let refused = spec.calibrate(&one(), other.unwrap()).unwrap_err().to_string();
        assert!(refused.contains("delta"), "{spec}: {refused}");
    }
}

/// More stretch is less loss.
#[test]
fn a_stretch_is_a_scale_or_an_inverse_loss() {
    for (spec, _) in specs() {
        let Some(stretch) = spec.stretch() else {
            assert!(spec.stretched(&one(), 2.0).is_err(), "{spec}");
            continue;
        };
        let (two, four) =
            (spec.stretched(&one(), 2.0).unwrap(), spec.stretched(&one(), 4.0).unwrap());
        assert!(four.delta(0.0).unwrap().upper() < two.delta(0.0).unwrap().lower(), "{spec}");
        if stretch == Stretch::InverseLoss {
            assert!((two.guarantee().epsilon - 0.5).abs() < 1e-12, "{spec}");
        }
    }
}

#[test]
fn what_is_not_one_mechanism_is_not_described() {
    for text in [
        "approximate epsilon=1 delta=0",
        "zero-concentrated rho=1",
        "composition events=[laplace scale=1]",
        "laplace scale=1 times=2",
        "laplace scale=nan",
        "tabulated weights=2:0,1:0",
    ] {
        assert!(described(&text.parse::<Event>().unwrap()).is_err(), "{text}");
    }
}
