//! What theorems say about all accountants: who is above whom, what more releases and more noise
//! do, and that hostile input is refused.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use reticent_accounting::{
    Accountant, AdvancedComposition, BasicComposition, Composition, GaussianDp, OptimalComposition,
    RenyiDp, ZeroConcentratedDp, group_event,
};
use reticent_events::{Event, InverseScale};
use reticent_mechanisms::{Delta, Epsilon};

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

fn repeated(times: u64, event: &Event) -> Event {
    Event::Repetition { times, event: Box::new(event.clone()) }
}

fn sampled(rate: f64, event: &Event) -> Event {
    Event::PoissonSubsampled { rate, event: Box::new(event.clone()) }
}

fn composition(event: Event) -> Composition {
    Composition::new(&[event]).unwrap()
}

/// One of each kind, each losing something near 0.2.
fn kinds() -> Vec<Event> {
    let gamma = InverseScale::Gamma { shape: 2.0, theta: 0.1 };
    vec![
        Event::Laplace { scale: 5.0, sensitivity: 1.0 },
        Event::DiscreteLaplace { scale: 10.0, sensitivity: 2 },
        Event::Staircase { epsilon: 0.2, gamma: 0.4, sensitivity: 1.0 },
        Event::Gaussian { sigma: 20.0, sensitivity: 1.0 },
        Event::DiscreteGaussian { sigma: 20.0, sensitivity: 1 },
        Event::GeneralizedGaussian { order: 2.0, scale: 20.0, sensitivities: vec![1.0, 0.5] },
        Event::GeneralizedGaussian { order: 0.5, scale: 50.0, sensitivities: vec![1.0] },
        Event::GeneralizedGaussian { order: 3.0, scale: 20.0, sensitivities: vec![1.0] },
        Event::TruncatedGeneralizedGaussian {
            order: 1.0,
            scale: 8.0,
            range: 4.0,
            sensitivity: 1.0,
        },
        Event::InflatedGeneralizedGaussian { order: 2.0, scale: 8.0, range: 4.0, sensitivity: 1.0 },
        Event::RandomizedResponse { epsilon: 0.2, categories: 2 },
        Event::RandomizedResponse { epsilon: 0.2, categories: 7 },
        Event::RandomScaleLaplace { inverse_scale: gamma.clone(), sensitivity: 1.0 },
        Event::RandomScaleLaplaceVector { inverse_scale: gamma, coordinates: 3, sensitivity: 1.0 },
        Event::RandomScaleGaussian { sigmas: vec![(15.0, 0.25), (30.0, 0.75)], sensitivity: 1.0 },
        Event::Exponential { epsilon: 0.2 },
        Event::PermuteAndFlip { epsilon: 0.2 },
        Event::Approximate { epsilon: 0.2, delta: 0.0 },
        Event::Approximate { epsilon: 0.2, delta: 1e-9 },
        Event::ZeroConcentrated { rho: 0.02 },
    ]
}

#[test]
fn every_kind_is_covered_by_basic_composition_and_by_all_that_can() {
    let delta = Delta::new(1e-6).unwrap();
    let mut answers = 0;
    for event in kinds() {
        for event in [repeated(3, &event), sampled(0.3, &event)] {
            let composition = composition(event.clone());
            assert!(
                BasicComposition.epsilon(&composition, delta).unwrap().upper() < 3.0,
                "{event:?}"
            );
            for accountant in all() {
                match accountant.epsilon(&composition, delta) {
                    Ok(bounds) => {
                        answers += 1;
                        assert!(
                            bounds.lower() >= 0.0 && bounds.upper() < 3.0,
                            "{} {event:?} {bounds:?}",
                            accountant.name()
                        );
                    }
                    Err(error) => assert!(error.to_string().contains("does not cover"), "{error}"),
                }
            }
        }
    }
    // 20 kinds, plain and sampled, 6 accountants: most pairs are covered.
    assert!(answers >= 170, "{answers}");
}

#[test]
fn more_releases_cost_more_and_a_sample_costs_less() {
    let (delta, epsilon) = (Delta::new(1e-6).unwrap(), Epsilon::new(0.5).unwrap());
    // Upper bounds from searches repeat to about this.
    let same = 1.0 + 1e-9;
    for event in kinds() {
        for accountant in all() {
            let mut before = (0.0, 0.0);
            for times in [1, 2, 10, 1000] {
                let composition = composition(repeated(times, &event));
                let Ok(found) = accountant.epsilon(&composition, delta) else { continue };
                let probability = accountant.delta(&composition, epsilon).unwrap().upper();
                assert!(
                    found.upper() * same >= before.0,
                    "{} {event:?} {times}",
                    accountant.name()
                );
                assert!(
                    probability * (1.0 + 2e-6) >= before.1,
                    "{} {event:?} {times}",
                    accountant.name()
                );
                before = (found.upper(), probability);
            }
            let whole = accountant.epsilon(&composition(repeated(10, &event)), delta);
            let part = accountant.epsilon(&composition(repeated(10, &sampled(0.1, &event))), delta);
            if let (Ok(whole), Ok(part)) = (whole, part) {
                assert!(part.upper() <= whole.upper() * same, "{} {event:?}", accountant.name());
            }
        }
    }
}

#[test]
fn the_order_that_theorems_state() {
    for loss in [0.02, 0.2, 1.0, 4.0] {
        let event = Event::RandomizedResponse { epsilon: loss, categories: 2 };
        for times in [1, 7, 200] {
            let composition = composition(repeated(times, &event));
            for delta in [1e-12, 1e-6, 1e-2] {
                let delta = Delta::new(delta).unwrap();
                let upper = |accountant: &dyn Accountant| {
                    accountant.epsilon(&composition, delta).unwrap().upper()
                };
                let optimal = upper(&OptimalComposition);
                // Nothing that reads a response can be below the optimum, which is exact for it.
                for accountant in all() {
                    assert!(
                        upper(accountant.as_ref()) >= optimal * (1.0 - 1e-12),
                        "{}",
                        accountant.name()
                    );
                }
                assert!(upper(&AdvancedComposition) <= upper(&BasicComposition));
                assert!(upper(&RenyiDp) <= upper(&ZeroConcentratedDp) * (1.0 + 1e-9));
            }
        }
    }
    for mu in [0.01, 0.5, 3.0, 50.0] {
        let composition =
            composition(repeated(40, &Event::Gaussian { sigma: 1.0, sensitivity: mu }));
        for delta in [1e-12, 1e-6, 1e-2] {
            let delta = Delta::new(delta).unwrap();
            let exact = GaussianDp.epsilon(&composition, delta).unwrap();
            let renyi = RenyiDp.epsilon(&composition, delta).unwrap().upper();
            let zero_concentrated =
                ZeroConcentratedDp.epsilon(&composition, delta).unwrap().upper();
            assert!(exact.upper() <= renyi && (renyi / zero_concentrated - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn the_two_questions_are_inverse() {
    for event in kinds() {
        let composition = composition(repeated(5, &event));
        for accountant in all() {
            let delta = Delta::new(1e-5).unwrap();
            let Ok(found) = accountant.epsilon(&composition, delta) else { continue };
            let Ok(epsilon) = Epsilon::new(found.upper()) else { continue };
            let back = accountant.delta(&composition, epsilon).unwrap();
            assert!(
                back.upper() <= 1e-5 * (1.0 + 3e-6),
                "{} {event:?}: {back:?}",
                accountant.name()
            );
        }
    }
}

#[test]
fn groups_cost_more() {
    let delta = Delta::new(1e-6).unwrap();
    for event in kinds() {
        let grouped = group_event(&event, 3).unwrap();
        for accountant in all() {
            let one = accountant.epsilon(&composition(event.clone()), delta);
            let three = accountant.epsilon(&composition(grouped.clone()), delta);
            if let (Ok(one), Ok(three)) = (one, three) {
                assert!(three.upper() > one.upper(), "{} {event:?}", accountant.name());
            }
        }
    }
}

#[test]
fn extreme_but_legal_events_give_a_bound_or_an_error_and_never_a_small_number() {
    let extremes = [
        Event::Gaussian { sigma: 1e-140, sensitivity: 1e140 },
        Event::Gaussian { sigma: 1e-30, sensitivity: 1.0 },
        Event::Laplace { scale: 1e-140, sensitivity: 1e140 },
        Event::Laplace { scale: 1e-9, sensitivity: 1.0 },
        Event::DiscreteLaplace { scale: 1e-3, sensitivity: u64::MAX },
        Event::DiscreteGaussian { sigma: 1e-3, sensitivity: 1 << 53 },
        Event::Staircase { epsilon: 700.0, gamma: 0.0, sensitivity: 1.0 },
        Event::RandomizedResponse { epsilon: 700.0, categories: u64::MAX },
        Event::ZeroConcentrated { rho: 1e140 },
        Event::GeneralizedGaussian { order: 1.0, scale: 1e-140, sensitivities: vec![1e140; 3] },
        Event::RandomScaleGaussian { sigmas: vec![(1e-100, 1.0)], sensitivity: 1.0 },
    ];
    for event in extremes {
        for event in [event.clone(), repeated(1 << 52, &event), sampled(0.999, &event)] {
            let composition = composition(event.clone());
            for accountant in all() {
                if let Ok(bounds) = accountant.epsilon(&composition, Delta::new(1e-9).unwrap()) {
                    assert!(bounds.upper() >= 600.0, "{} {event:?} {bounds:?}", accountant.name());
                }
                if let Ok(bounds) = accountant.delta(&composition, Epsilon::new(1.0).unwrap()) {
                    assert!(bounds.upper() >= 0.99, "{} {event:?} {bounds:?}", accountant.name());
                }
            }
        }
    }
}

#[test]
fn tiny_losses_stay_bounds() {
    let tiny = [
        Event::Gaussian { sigma: 1e140, sensitivity: 1e-140 },
        Event::Laplace { scale: 1e140, sensitivity: 1e-140 },
        Event::DiscreteLaplace { scale: 1e140, sensitivity: 1 },
        Event::Staircase { epsilon: 1e-300, gamma: 0.5, sensitivity: 1.0 },
        Event::RandomizedResponse { epsilon: 1e-300, categories: 2 },
        Event::ZeroConcentrated { rho: 1e-140 },
        Event::Exponential { epsilon: 5e-324 },
    ];
    for event in tiny {
        let composition = composition(repeated(1000, &event));
        for accountant in all() {
            if let Ok(bounds) = accountant.epsilon(&composition, Delta::new(1e-9).unwrap()) {
                assert!(
                    bounds.lower() >= 0.0 && !bounds.upper().is_nan(),
                    "{} {event:?}",
                    accountant.name()
                );
            }
            if let Ok(bounds) = accountant.delta(&composition, Epsilon::new(0.0).unwrap()) {
                assert!(
                    bounds.upper() > 0.0,
                    "{} {event:?} claims perfect privacy",
                    accountant.name()
                );
            }
        }
    }
}
