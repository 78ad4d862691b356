//! The exact accountant against exact compositions, and against every other accountant.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod widths;

#[path = "../composed/mod.rs"]
mod composed;

use composed::{gaussian, laplace, number, reference, repeated, response};
use reticent_accounting::{
    Accountant, AdvancedComposition, BasicComposition, Composition, GaussianDp, LossDistribution,
    OptimalComposition, RenyiDp, ZeroConcentratedDp,
};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;

fn sampled(rate: f64, event: Event) -> Event {
    Event::PoissonSubsampled { rate, event: Box::new(event) }
}

fn epsilon_of(precision: f64, events: &[Event], delta: f64) -> Bounds {
    let composition = Composition::new(events).unwrap();
    LossDistribution::new(precision)
        .unwrap()
        .epsilon(&composition, Delta::new(delta).unwrap())
        .unwrap()
}

fn delta_of(precision: f64, events: &[Event], epsilon: f64) -> Bounds {
    let composition = Composition::new(events).unwrap();
    LossDistribution::new(precision)
        .unwrap()
        .delta(&composition, Epsilon::new(epsilon).unwrap())
        .unwrap()
}

/// Whether the bracket holds the number, of which `slack` (relative) is not known, and is no wider
/// than `width` (relative).
fn holds(bracket: Bounds, exact: f64, slack: f64, width: f64) -> bool {
    let slack = slack * exact.abs() + f64::MIN_POSITIVE;
    bracket.lower() <= exact + slack
        && bracket.upper() >= exact - slack
        && bracket.width() <= width * bracket.upper() + 2.0 * slack
}

/// An `epsilon` at a `delta` from the reference table, at both precisions.
fn check_epsilon(events: &[Event], delta: f64, exact: f64) {
    for precision in [1e-4, 1e-6] {
        let bracket = epsilon_of(precision, events, delta);
        assert!(
            holds(bracket, exact, 1e-12, precision),
            "{events:?} at {delta:e}: {bracket:?} {exact}"
        );
    }
}

/// A `delta` at an `epsilon` from the reference table. Its inputs are decimals, and `delta` changes
/// by up to `tilt` times their rounding.
fn check_delta(events: &[Event], epsilon: f64, exact: f64) {
    for precision in [1e-4, 1e-6] {
        let bracket = delta_of(precision, events, epsilon);
        let slack = 1e-12 * (1.0 + exact.max(1e-300).ln().abs());
        // Down to a precision of 1e-6 the step may not be reached where outcomes have losses of
        // their own; the bracket holds all the same.
        let width = precision.max(1e-5);
        assert!(
            holds(bracket, exact, slack, width) || (exact == 0.0 && bracket.upper() < 1e-9),
            "{events:?} at {epsilon}: {bracket:?} {exact:e}"
        );
    }
}

#[test]
fn gaussian_rows() {
    for row in reference()["gaussian_eps_of_delta"]["rows"].as_array().unwrap() {
        check_epsilon(&[gaussian(number(row, "mu"))], number(row, "delta"), number(row, "eps"));
    }
}

#[test]
fn laplace_and_response_rows_delta() {
    for row in reference()["laplace_rr_delta"]["rows"].as_array().unwrap() {
        let (loss, k, epsilon) =
            (number(row, "eps0"), row["k"].as_u64().unwrap(), number(row, "eps"));
        check_delta(&[repeated(k, response(loss))], epsilon, number(row, "rr_delta"));
        check_delta(&[repeated(k, laplace(loss))], epsilon, number(row, "laplace_delta"));
    }
}

#[test]
fn laplace_and_response_rows_epsilon() {
    for row in reference()["laplace_rr_eps"].as_array().unwrap() {
        let (loss, k, delta) =
            (number(row, "eps0"), row["k"].as_u64().unwrap(), number(row, "delta"));
        check_epsilon(&[repeated(k, response(loss))], delta, number(row, "rr_eps"));
        check_epsilon(&[repeated(k, laplace(loss))], delta, number(row, "laplace_eps"));
    }
}

#[test]
fn mixture_rows() {
    let reference = reference();
    for row in reference["pure_hetero_optimal"].as_array().unwrap() {
        let losses = row["eps_i"]
            .as_array()
            .unwrap()
            .iter()
            .map(|loss| loss.as_str().unwrap().parse().unwrap());
        let events: Vec<Event> = losses.map(response).collect();
        check_delta(&events, number(row, "eps"), number(row, "delta"));
    }
    for row in reference["gaussian_plus_laplace"].as_array().unwrap() {
        let events = [gaussian(number(row, "mu")), laplace(number(row, "laplace_eps0"))];
        check_delta(&events, number(row, "eps"), number(row, "delta"));
    }
    for row in reference["gaussian_plus_rr"].as_array().unwrap() {
        let k = row["k"].as_u64().unwrap();
        let events = [gaussian(number(row, "mu")), repeated(k, response(number(row, "rr_eps0")))];
        check_delta(&events, number(row, "eps"), number(row, "delta"));
    }
}

/// A small generator of its own, so that the cases never change.
struct Cases(u64);

impl Cases {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64) / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.uniform() * (high / low).ln()).exp()
    }

    fn count(&mut self, most: u64) -> u64 {
        1 + (self.uniform() * most as f64) as u64
    }
}

/// Outcomes of one release as `(P, Q)`; `delta` of a product of such lists is a sum over all of its
/// outcomes.
type Outcomes = Vec<(f64, f64)>;

/// The outcomes of an event that has few, written from its definition and not from the
/// accountant's.
fn outcomes(event: &Event) -> Outcomes {
    match *event {
        Event::RandomizedResponse { epsilon, categories } => {
            let others = (categories - 1) as f64;
            let (truth, other) =
                (epsilon.exp() / (epsilon.exp() + others), 1.0 / (epsilon.exp() + others));
            vec![(truth, other), (other, truth), ((others - 1.0) * other, (others - 1.0) * other)]
        }
        Event::Approximate { epsilon, delta } => {
            let high = (1.0 - delta) * epsilon.exp() / (1.0 + epsilon.exp());
            let low = (1.0 - delta) / (1.0 + epsilon.exp());
            vec![(delta, 0.0), (high, low), (low, high), (0.0, delta)]
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            let ratio = (-1.0 / scale).exp();
            let mass = |n: i64| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(n.unsigned_abs() as i32);
            let reach = (60.0 * scale) as i64;
            (-reach..=reach).map(|n| (mass(n), mass(n - sensitivity as i64))).collect()
        }
        ref other => panic!("{other:?}"),
    }
}

/// Outcomes on a sample that the unit enters with this probability, with the unit in `P`, or in
/// `Q`.
fn on_a_sample(rate: f64, outcomes: &Outcomes, is_removed: bool) -> Outcomes {
    let mixed = |&(p, q): &(f64, f64)| (1.0 - rate) * q + rate * p;
    outcomes
        .iter()
        .map(|pair| if is_removed { (mixed(pair), pair.1) } else { (pair.1, mixed(pair)) })
        .collect()
}

/// The outcomes of a composition; those of equal loss up to rounding are counted together.
fn composed(all: &[Outcomes]) -> Outcomes {
    let mut product: Outcomes = vec![(1.0, 1.0)];
    for outcomes in all {
        let mut next: Outcomes = Vec::with_capacity(product.len() * outcomes.len());
        for &(p, q) in &product {
            next.extend(outcomes.iter().map(|&(more_p, more_q)| (p * more_p, q * more_q)));
        }
        next.retain(|&(p, q)| p > 0.0 || q > 0.0);
        next.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        product = Vec::new();
        for (p, q) in next {
            match product.last_mut() {
                Some(last) if (last.0 * q - p * last.1).abs() <= 1e-13 * p * last.1 => {
                    last.0 += p;
                    last.1 += q;
                }
                _ => product.push((p, q)),
            }
        }
    }
    product
}

fn exact_delta(outcomes: &Outcomes, epsilon: f64) -> f64 {
    outcomes.iter().map(|&(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

fn random_discrete(cases: &mut Cases) -> Event {
    match cases.count(3) {
        1 => Event::RandomizedResponse {
            epsilon: cases.between(0.05, 3.0),
            categories: 1 + cases.count(5),
        },
        2 => Event::Approximate {
            epsilon: cases.between(0.05, 2.0),
            delta: cases.between(1e-9, 1e-2),
        },
        _ => Event::DiscreteLaplace { scale: cases.between(0.3, 4.0), sensitivity: cases.count(3) },
    }
}

/// Discrete releases, some on samples, against all outcomes of their product.
#[test]
fn enumerated_mixtures() {
    let mut cases = Cases(1);
    for case in 0..8 {
        let kinds = cases.count(3);
        let mut events = Vec::new();
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for _ in 0..kinds {
            let event = random_discrete(&mut cases);
            let few = if matches!(event, Event::DiscreteLaplace { .. }) { 2 } else { 10 };
            let times = cases.count(few);
            let all = outcomes(&event);
            let rate = cases.between(0.01, 1.0);
            let is_sampled = cases.uniform() < 0.5;
            for _ in 0..times {
                removed.push(if is_sampled { on_a_sample(rate, &all, true) } else { all.clone() });
                added.push(if is_sampled { on_a_sample(rate, &all, false) } else { all.clone() });
            }
            events.push(repeated(times, if is_sampled { sampled(rate, event) } else { event }));
        }
        let (removed, added) = (composed(&removed), composed(&added));
        for epsilon in [0.0, 0.3, 1.0, 2.5] {
            let exact = exact_delta(&removed, epsilon).max(exact_delta(&added, epsilon));
            let bracket = delta_of(1e-4, &events, epsilon);
            // Differences of products of up to 30 rounded factors.
            let slack = 1e-13 + 1e-11 * exact;
            assert!(
                bracket.lower() <= exact + slack && bracket.upper() >= exact - slack,
                "case {case} at {epsilon}: {bracket:?} {exact:e} {events:?}"
            );
            assert!(
                bracket.width() <= 2e-2 * exact + slack,
                "case {case} at {epsilon} is wide: {bracket:?} {exact:e} {events:?}"
            );
        }
    }
}

fn others() -> Vec<Box<dyn Accountant>> {
    vec![
        Box::new(BasicComposition),
        Box::new(AdvancedComposition),
        Box::new(OptimalComposition),
        Box::new(ZeroConcentratedDp),
        Box::new(RenyiDp),
        Box::new(GaussianDp),
    ]
}

fn random_event(cases: &mut Cases) -> Event {
    match cases.count(6) {
        1 => laplace(cases.between(0.01, 2.0)),
        2 => gaussian(cases.between(0.01, 2.0)),
        3 => {
            Event::DiscreteGaussian { sigma: cases.between(0.5, 20.0), sensitivity: cases.count(3) }
        }
        4 => sampled(cases.between(1e-4, 1.0), gaussian(cases.between(0.1, 3.0))),
        5 => sampled(cases.between(1e-4, 1.0), laplace(cases.between(0.1, 2.0))),
        _ => random_discrete(cases),
    }
}

/// The bracket is never above what another accountant proves, nor another's above it; and its two
/// questions agree.
#[test]
fn no_other_accountant_contradicts() {
    let mut cases = Cases(2);
    let mut compared = 0;
    for case in 0..8 {
        let events: Vec<Event> = (0..cases.count(4))
            .map(|_| {
                let times = cases.count(30);
                repeated(times, random_event(&mut cases))
            })
            .collect();
        let delta = cases.between(1e-12, 0.1);
        let composition = Composition::new(&events).unwrap();
        let bracket = epsilon_of(1e-4, &events, delta);
        for other in others() {
            if let Ok(bounds) = other.epsilon(&composition, Delta::new(delta).unwrap()) {
                compared += 1;
                assert!(
                    bracket.lower() <= bounds.upper(),
                    "{} {case}: {bracket:?} {bounds:?} {events:?}",
                    other.name()
                );
                assert!(
                    bounds.lower() <= bracket.upper(),
                    "{} {case}: {bracket:?} {bounds:?} {events:?}",
                    other.name()
                );
                assert!(
                    bracket.upper() <= bounds.upper() * (1.0 + 1e-4),
                    "{} {case} is better: {bracket:?} {bounds:?} at {delta:e} {events:?}",
                    other.name()
                );
            }
        }
        if bracket.upper().is_finite() && bracket.lower() > 0.0 {
            let back = delta_of(1e-4, &events, bracket.upper());
            assert!(back.lower() <= delta, "{case}: {bracket:?} {back:?} {delta:e}");
            let back = delta_of(1e-4, &events, bracket.lower());
            assert!(back.upper() >= delta, "{case}: {bracket:?} {back:?} {delta:e}");
        }
    }
    assert!(compared > 15, "{compared}");
}

/// What is composed of more costs no less.
#[test]
fn another_release_never_lowers_the_bracket() {
    let mut cases = Cases(3);
    for _ in 0..3 {
        let mut events = vec![random_event(&mut cases)];
        let mut before = epsilon_of(1e-4, &events, 1e-6);
        for _ in 0..4 {
            events.push(random_event(&mut cases));
            let after = epsilon_of(1e-4, &events, 1e-6);
            assert!(after.upper() >= before.lower(), "{before:?} {after:?} {events:?}");
            before = after;
        }
    }
}

/// Gaussian noise, for which the exact accountant is another one, over the whole range.
#[test]
fn gaussians_over_the_range() {
    for mu in [1e-4, 1e-2, 1.0, 10.0, 30.0] {
        for delta in [0.4, 1e-3, 1e-9, 1e-30, 1e-100, 1e-250] {
            let composition = Composition::new(&[gaussian(mu)]).unwrap();
            let exact = GaussianDp.epsilon(&composition, Delta::new(delta).unwrap()).unwrap();
            let bracket = epsilon_of(1e-4, &[gaussian(mu)], delta);
            assert!(bracket.lower() <= exact.upper(), "{mu} {delta:e}: {bracket:?} {exact:?}");
            assert!(bracket.upper() >= exact.lower(), "{mu} {delta:e}: {bracket:?} {exact:?}");
            if delta >= 1e-30 && exact.lower() > 1e-3 && exact.upper() < 600.0 {
                assert!(bracket.relative_width() < 1.2e-4, "{mu} {delta:e}: {bracket:?} {exact:?}");
            }
        }
    }
}

/// Responses of four losses without a common measure, against all outcomes of their product.
#[test]
fn incommensurable_responses() {
    let kinds = [(0.0371, 24), (0.0523, 24), (0.0817, 18), (0.1013, 12)];
    let events: Vec<Event> =
        kinds.iter().map(|&(loss, times)| repeated(times, response(loss))).collect();
    let all: Vec<Outcomes> = kinds
        .iter()
        .flat_map(|&(loss, times)| vec![outcomes(&response(loss)); times as usize])
        .collect();
    let all = composed(&all);
    for delta in [1e-2, 1e-5, 1e-9] {
        for precision in [1e-4, 1e-6] {
            let bracket = epsilon_of(precision, &events, delta);
            assert!(bracket.relative_width() <= precision, "{delta:e} {precision:e}: {bracket:?}");
            let exact =
                [bracket.lower(), bracket.upper()].map(|epsilon| exact_delta(&all, epsilon));
            // Differences of products of 78 rounded factors.
            let slack = 1e-14 + 1e-10 * delta;
            assert!(
                exact[0] >= delta - slack && exact[1] <= delta + slack,
                "{delta:e}: {bracket:?} {exact:?}"
            );
        }
    }
}

/// Responses on small samples, whose losses are up to thirty times `epsilon` and rare, beside small
/// ones, against all outcomes of their product.
#[test]
fn rare_responses() {
    let kinds = [
        (12, sampled(1e-4, response(9.0)), on_a_sample(1e-4, &outcomes(&response(9.0)), true)),
        (9, sampled(3e-4, response(7.5)), on_a_sample(3e-4, &outcomes(&response(7.5)), true)),
        (30, response(0.004), outcomes(&response(0.004))),
    ];
    let events: Vec<Event> =
        kinds.iter().map(|(times, event, _)| repeated(*times, event.clone())).collect();
    let all: Vec<Outcomes> =
        kinds.iter().flat_map(|(times, _, one)| vec![one.clone(); *times as usize]).collect();
    let all = composed(&all);
    for (delta, most) in [(5e-3, 0.05), (2.5e-3, 0.2), (1e-4, 1.0), (1e-9, 4.0)] {
        for precision in [1e-4, 1e-6] {
            let bracket = epsilon_of(precision, &events, delta);
            assert!(bracket.upper() < most && bracket.lower() > 0.0, "{delta:e}: {bracket:?}");
            assert!(bracket.relative_width() <= precision, "{delta:e} {precision:e}: {bracket:?}");
            let exact =
                [bracket.lower(), bracket.upper()].map(|epsilon| exact_delta(&all, epsilon));
            // Differences of products of 51 rounded factors.
            let slack = 1e-13;
            assert!(
                exact[0] >= delta - slack && exact[1] <= delta + slack,
                "{delta:e}: {bracket:?} {exact:?}"
            );
        }
    }
}

/// A guarantee of `(epsilon, delta)` that is kept once is worth what it says, also where `delta` is
/// used up by it.
#[test]
fn guarantees_with_a_delta() {
    let guarantee = Event::Approximate { epsilon: 1.0, delta: 1e-6 };
    let once = epsilon_of(1e-4, std::slice::from_ref(&guarantee), 1e-6);
    assert!(once.lower() <= 1.0 && once.upper() >= 1.0 && once.upper() < 1.0 + 1e-9, "{once:?}");
    let beyond = delta_of(1e-4, std::slice::from_ref(&guarantee), 2.0);
    assert!(holds(beyond, 1e-6, 1e-12, 1e-4), "{beyond:?}");
    let many = [repeated(100, Event::Approximate { epsilon: 0.1, delta: 1e-3 })];
    let composition = Composition::new(&many).unwrap();
    for delta in [0.097, 0.1, 0.2] {
        let exact = OptimalComposition.epsilon(&composition, Delta::new(delta).unwrap()).unwrap();
        let bracket = epsilon_of(1e-4, &many, delta);
        assert!(
            bracket.lower() <= exact.upper() && exact.lower() <= bracket.upper(),
            "{bracket:?} {exact:?}"
        );
        assert!(bracket.relative_width() <= 1e-4, "{delta}: {bracket:?} {exact:?}");
    }
    let tiny = [repeated(10, Event::Approximate { epsilon: 0.1, delta: 1e-25 })];
    let bracket = delta_of(1e-4, &tiny, 0.999_999);
    assert!(bracket.relative_width() <= 1e-2, "{bracket:?}");
}

/// Losses so small or so unequal that plans go wrong: an answer or an error, in finite time, and
/// never a false one.
#[test]
fn hostile_losses() {
    let cases: Vec<Vec<Event>> = vec![
        vec![laplace(1e-12)],
        vec![gaussian(1e-9)],
        vec![response(1e-15)],
        vec![response(700.0)],
        vec![laplace(500.0), laplace(1e-6)],
        vec![Event::Approximate { epsilon: 0.0, delta: 1e-3 }],
        vec![sampled(1e-6, response(1e-3))],
        vec![sampled(1e-12, laplace(1.0))],
        vec![sampled(0.5, gaussian(40.0))],
        vec![sampled(1e-3, Event::Approximate { epsilon: 1.0, delta: 1e-3 })],
        vec![Event::DiscreteGaussian { sigma: 0.05, sensitivity: 1 }],
        vec![Event::DiscreteLaplace { scale: 0.01, sensitivity: 1 }, gaussian(0.1)],
    ];
    for events in cases {
        for delta in [0.5, 1e-6, 1e-30, 1e-200] {
            let start = std::time::Instant::now();
            let composition = Composition::new(&events).unwrap();
            let found =
                LossDistribution::default().epsilon(&composition, Delta::new(delta).unwrap());
            println!("{events:?} {delta:e} {found:?} {:?}", start.elapsed());
            let Ok(bracket) = found else { continue };
            for other in others() {
                if let Ok(bounds) = other.epsilon(&composition, Delta::new(delta).unwrap()) {
                    assert!(
                        bounds.upper() >= bracket.lower() && bounds.lower() <= bracket.upper(),
                        "{events:?} {delta:e}: {} {bounds:?} {bracket:?}",
                        other.name()
                    );
                }
            }
        }
    }
}
