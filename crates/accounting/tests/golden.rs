//! The accountants against exact compositions, computed with mpmath at 50 digits or more
//! (`reference/composition.json`).

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod composed;

use composed::{gaussian, laplace, number, reference, repeated, response};
use reticent_accounting::{
    Accountant, AdvancedComposition, BasicComposition, Composition, GaussianDp, OptimalComposition,
    RenyiDp, ZeroConcentratedDp,
};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;

/// Whether the bracket holds the number, whose last digit and whose inputs are rounded, and is
/// narrow.
fn is_exactly(bracket: Bounds, expected: f64, tolerance: f64) -> bool {
    let slack = tolerance * expected.abs();
    bracket.lower() <= expected + slack
        && bracket.upper() >= expected - slack
        && bracket.width() <= 2.0 * slack + f64::MIN_POSITIVE
}

fn all() -> Vec<Box<dyn Accountant>> {
    vec![
        Box::new(BasicComposition),
        Box::new(AdvancedComposition),
        Box::new(OptimalComposition),
        Box::new(ZeroConcentratedDp),
        Box::new(RenyiDp),
        Box::new(GaussianDp),
    ]
}

/// No accountant that covers the composition is below the exact figure.
fn none_is_below(
    composition: &Composition,
    epsilon: Option<(f64, f64)>,
    delta: Option<(f64, f64)>,
) -> usize {
    let mut covered = 0;
    for accountant in all() {
        if let Some((at, exact)) = epsilon
            && let Ok(bounds) = accountant.epsilon(composition, Delta::new(at).unwrap())
        {
            covered += 1;
            assert!(
                bounds.upper() >= exact * (1.0 - 1e-13),
                "{} {bounds:?} {exact}",
                accountant.name()
            );
            assert!(
                bounds.lower() <= exact * (1.0 + 1e-13),
                "{} {bounds:?} {exact}",
                accountant.name()
            );
        }
        if let Some((at, exact)) = delta
            && let Ok(bounds) = accountant.delta(composition, Epsilon::new(at).unwrap())
        {
            covered += 1;
            assert!(
                bounds.upper() >= exact * (1.0 - 1e-11),
                "{} {bounds:?} {exact:e}",
                accountant.name()
            );
            assert!(
                bounds.lower() <= exact * (1.0 + 1e-11),
                "{} {bounds:?} {exact:e}",
                accountant.name()
            );
        }
    }
    covered
}

#[test]
fn gaussians() {
    for row in reference()["gaussian_eps_of_delta"]["rows"].as_array().unwrap() {
        let (mu, delta, exact) = (number(row, "mu"), number(row, "delta"), number(row, "eps"));
        let whole = Composition::new(&[gaussian(mu)]).unwrap();
        // The same mu from 400 releases of a twentieth each.
        let parts =
            Composition::new(&[repeated(400, Event::Gaussian { sigma: 20.0, sensitivity: mu })])
                .unwrap();
        for composition in [&whole, &parts] {
            let bracket = GaussianDp.epsilon(composition, Delta::new(delta).unwrap()).unwrap();
            assert!(is_exactly(bracket, exact, 3e-13), "{row}: {bracket:?}");
            assert!(none_is_below(composition, Some((delta, exact)), None) >= 5);
        }
    }
}

#[test]
fn responses_and_laplace_noise() {
    let reference = reference();
    for row in reference["laplace_rr_delta"]["rows"].as_array().unwrap() {
        let (loss, k, epsilon) =
            (number(row, "eps0"), row["k"].as_u64().unwrap(), number(row, "eps"));
        let responses = Composition::new(&[repeated(k, response(loss))]).unwrap();
        let exact = number(row, "rr_delta");
        let bracket = OptimalComposition.delta(&responses, Epsilon::new(epsilon).unwrap()).unwrap();
        assert!(
            is_exactly(bracket, exact, 1e-12 * (1.0 + exact.max(1e-300).ln().abs())),
            "{row}: {bracket:?}"
        );
        assert!(none_is_below(&responses, None, Some((epsilon, exact))) == 6);
        let noise = Composition::new(&[repeated(k, laplace(loss))]).unwrap();
        assert!(none_is_below(&noise, None, Some((epsilon, number(row, "laplace_delta")))) == 6);
    }
    for row in reference["laplace_rr_eps"].as_array().unwrap() {
        let (loss, k, delta) =
            (number(row, "eps0"), row["k"].as_u64().unwrap(), number(row, "delta"));
        let responses = Composition::new(&[repeated(k, response(loss))]).unwrap();
        let exact = number(row, "rr_eps");
        let bracket = OptimalComposition.epsilon(&responses, Delta::new(delta).unwrap()).unwrap();
        assert!(is_exactly(bracket, exact, 1e-12), "{row}: {bracket:?}");
        assert!(none_is_below(&responses, Some((delta, exact)), None) == 6);
        let noise = Composition::new(&[repeated(k, laplace(loss))]).unwrap();
        assert!(none_is_below(&noise, Some((delta, number(row, "laplace_eps"))), None) == 6);
        let basic = BasicComposition.epsilon(&responses, Delta::new(delta).unwrap()).unwrap();
        assert!((basic.upper() / number(row, "basic_eps") - 1.0).abs() < 1e-13);
    }
}

#[test]
fn unequal_pure_losses() {
    for row in reference()["pure_hetero_optimal"].as_array().unwrap() {
        let losses: Vec<f64> = row["eps_i"]
            .as_array()
            .unwrap()
            .iter()
            .map(|loss| loss.as_str().unwrap().parse().unwrap())
            .collect();
        let events: Vec<_> = losses.iter().map(|&loss| response(loss)).collect();
        let composition = Composition::new(&events).unwrap();
        let (epsilon, exact) = (number(row, "eps"), number(row, "delta"));
        let bracket =
            OptimalComposition.delta(&composition, Epsilon::new(epsilon).unwrap()).unwrap();
        // 0.1 + ... + 0.5 as f64 is a little more than 1.5, and delta there is of that order.
        assert!(
            is_exactly(bracket, exact, 1e-13) || (exact == 0.0 && bracket.upper() < 1e-15),
            "{row}: {bracket:?}"
        );
        assert!(exact == 0.0 || none_is_below(&composition, None, Some((epsilon, exact))) == 6);
    }
}

#[test]
fn mixtures_with_gaussians() {
    let reference = reference();
    for row in reference["gaussian_plus_laplace"].as_array().unwrap() {
        let composition =
            Composition::new(&[gaussian(number(row, "mu")), laplace(number(row, "laplace_eps0"))])
                .unwrap();
        assert!(
            none_is_below(&composition, None, Some((number(row, "eps"), number(row, "delta"))))
                == 5
        );
    }
    for row in reference["gaussian_plus_rr"].as_array().unwrap() {
        let k = row["k"].as_u64().unwrap();
        let events = [gaussian(number(row, "mu")), repeated(k, response(number(row, "rr_eps0")))];
        let composition = Composition::new(&events).unwrap();
        assert!(
            none_is_below(&composition, None, Some((number(row, "eps"), number(row, "delta"))))
                == 5
        );
    }
}
