//! Every mechanism, every door, one truth.
//!
//! What a release costs can be had in many ways: from the calibration's certificate, from the
//! mechanism's profile, from every accountant that reads its event, from the same event after it
//! was written as JSON and read again, from the event of a group, and from the density of what the
//! sampler draws. All of them are about one number, so their brackets must meet; and what an event
//! means is written down once more, in the plainest way, in `outcomes.rs`. `account` once took the
//! support of truncated Laplace noise in another unit than the event has it, and nothing compared
//! the two.
//!
//! The matches on [`MechanismKind`] and on [`Event`] have no wildcards: what is missing here does
//! not compile.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod cases;
mod outcomes;

use cases::{Case, Numbers, draw};
use outcomes::{meaning, noise_of};
use reticent_accounting::{
    Accountant, AccountingError, AdvancedComposition, BasicComposition, Composition, GaussianDp,
    LossDistribution, OptimalComposition, RenyiDp, ZeroConcentratedDp, group_event,
    group_guarantee,
};
use reticent_events::{Event, InverseScale};
use reticent_mechanisms::{Certificate, Delta, Epsilon, Guarantee, MechanismKind, Notion};
use reticent_noise::randomness::SeededRandom;
use reticent_numerics::Bounds;

/// How far the midpoint rule of `outcomes.rs` is off, relatively, and by rounding.
const PLAIN: (f64, f64) = (0.02, 1e-13);

/// What putting a sensitivity on the lattice once more adds to it, relatively, with a factor for
/// what that does to `delta`.
const LATTICE: f64 = 1e-8;

/// What an accountant sees of an event: the event, or in a test of this test something else.
type AsRead<'a> = &'a dyn Fn(&Event) -> Event;

fn composition(event: Event) -> Result<Composition, String> {
    Composition::new(&[event]).map_err(|error| error.to_string())
}

/// Whether two brackets on one number meet, up to a relative slack.
fn meet(what: &str, one: Bounds, other: Bounds, slack: f64) -> Result<(), String> {
    let above = |x: f64| x * (1.0 + slack) + f64::MIN_POSITIVE;
    if one.lower() <= above(other.upper()) && other.lower() <= above(one.upper()) {
        Ok(())
    } else {
        Err(format!("{what}: {one:?} and {other:?} do not meet"))
    }
}

fn all_accountants() -> [Box<dyn Accountant>; 7] {
    [
        Box::new(LossDistribution::new(1e-3).unwrap()),
        Box::new(BasicComposition),
        Box::new(AdvancedComposition),
        Box::new(OptimalComposition),
        Box::new(ZeroConcentratedDp),
        Box::new(RenyiDp),
        Box::new(GaussianDp),
    ]
}

/// What an accountant says, if it covers the event; everything but that is an error here.
fn ask(
    accountant: &dyn Accountant,
    read: &Composition,
    loss: f64,
) -> Result<Option<Bounds>, String> {
    match accountant.delta(read, Epsilon::new(loss).map_err(|error| error.to_string())?) {
        Ok(found) => Ok(Some(found)),
        Err(AccountingError::NotCovered { .. }) => Ok(None),
        Err(error) => Err(format!("{} at {loss}: {error}", accountant.name())),
    }
}

/// Accountants against the plain meaning of an event. Says which was wrong.
fn account_agrees(event: &Event, losses: &[f64], as_read: AsRead) -> Result<(), String> {
    let plain = meaning(event);
    let read = composition(as_read(event))?;
    let exact: Vec<f64> = losses.iter().map(|&loss| plain.delta(loss)).collect();
    for accountant in all_accountants() {
        for (&loss, &exact) in losses.iter().zip(&exact) {
            let Some(found) = ask(&*accountant, &read, loss)? else { continue };
            let (least, most) =
                (exact * (1.0 - PLAIN.0) - PLAIN.1, exact * (1.0 + PLAIN.0) + PLAIN.1);
            let name = accountant.name();
            if found.upper() < least {
                return Err(format!("{name} at {loss}: {found:?} is below {exact:e}"));
            }
            if plain.is_exact() && found.lower() > most {
                return Err(format!("{name} at {loss}: {found:?} is above {exact:e}"));
            }
            // The exact accountant is sharp, where the worst neighbours are known; from below
            // bounded noise counts as free.
            if name == "loss-distribution" && plain.is_exact() && found.upper() > most {
                return Err(format!("{name} at {loss}: {found:?} is far above {exact:e}"));
            }
        }
    }
    Ok(())
}

/// All doors of one mechanism.
fn check(case: &Case, seed: u64, as_read: AsRead) -> Result<(), String> {
    let Case { mechanism, from_density } = case;
    let guaranteed = mechanism.guarantee();
    let event = mechanism.event();
    let text = serde_json::to_string(&event).unwrap();
    let again: Event = serde_json::from_str(&text).map_err(|error| format!("{text}: {error}"))?;
    if again != event {
        return Err(format!("{event:?} becomes {again:?}"));
    }
    let losses: Vec<f64> =
        [0.0, 0.4, 0.97, 1.3].iter().map(|share| share * guaranteed.epsilon).collect();
    let profile = |loss: f64| mechanism.delta(loss).map_err(|error| error.to_string());
    // Calibration against the profile.
    match (mechanism.certificate(), guaranteed.notion) {
        (Certificate::Delta(certified), Notion::Approximate) => {
            meet("certificate", certified, profile(guaranteed.epsilon)?, 0.0)?;
            if certified.upper() > guaranteed.delta {
                return Err(format!(
                    "{certified:?} is above the {:e} that is guaranteed",
                    guaranteed.delta
                ));
            }
        }
        (Certificate::Delta(certified), _) => {
            // A probabilistic delta is no smaller than the approximate one.
            if profile(guaranteed.epsilon)?.lower() > certified.upper() {
                return Err(format!("certificate: {certified:?} is below the profile"));
            }
        }
        (Certificate::Epsilon(certified), _) => {
            if certified.upper() > guaranteed.epsilon || profile(certified.upper())?.lower() > 0.0 {
                return Err(format!("certificate: {certified:?} against {guaranteed:?}"));
            }
        }
    }
    // The profile against every accountant that reads the event, from JSON, and against what the
    // sampler draws.
    let read = composition(as_read(&again))?;
    for (index, &loss) in losses.iter().enumerate() {
        let own = profile(loss)?;
        for accountant in all_accountants() {
            let Some(found) = ask(&*accountant, &read, loss)? else { continue };
            if accountant.name() == "loss-distribution" {
                meet(&format!("account at {loss}"), own, found, LATTICE)?;
            } else if found.upper() * (1.0 + LATTICE) + f64::MIN_POSITIVE < own.lower() {
                return Err(format!("{} at {loss}: {found:?} is below {own:?}", accountant.name()));
            }
        }
        if let Some(from_density) = from_density.as_ref().filter(|_| index == 1) {
            meet(&format!("density at {loss}"), own, from_density(loss), LATTICE)?;
        }
    }
    // The other question: the loss at which delta is what the profile says has that delta.
    if let Ok(delta) = Delta::new(profile(losses[1])?.upper())
        && let Ok(found) = LossDistribution::default().epsilon(&read, delta)
        && found.upper() <= 700.0
    {
        let (least, most) = (found.lower() * (1.0 - 1e-9), found.upper() * (1.0 + 1e-9));
        if profile(most)?.lower() > delta.get()
            || profile(least)?.upper() < delta.get() * (1.0 - LATTICE)
        {
            return Err(format!("epsilon at {:e}: {found:?}", delta.get()));
        }
    }
    account_agrees(&again, &losses, as_read)?;
    groups_agree(&again, guaranteed, &losses, as_read)?;
    draws_agree(case, &again, seed)
}

/// A group of `k` is a sensitivity of `k` times as much, and keeps what `k` steps of the guarantee
/// leave.
fn groups_agree(
    event: &Event,
    guaranteed: Guarantee,
    losses: &[f64],
    as_read: AsRead,
) -> Result<(), String> {
    for size in [1, 3] {
        let grouped = match group_event(event, size) {
            Ok(grouped) => grouped,
            Err(error) => return Err(format!("a group of {size}: {error}")),
        };
        if size == 1 && &grouped != event && !matches!(grouped, Event::Approximate { .. }) {
            return Err(format!("a group of one: {grouped:?}"));
        }
        let read = composition(as_read(&grouped))?;
        let Some(found) = ask(&LossDistribution::default(), &read, losses[1])? else { continue };
        // The event of the group means what it says, and no less than that of one unit.
        let (one, all) = (meaning(event).delta(losses[1]), meaning(&grouped));
        if found.upper() < one * (1.0 - PLAIN.0) - PLAIN.1 {
            return Err(format!("a group of {size}: {found:?} is below {one:e}, that of one"));
        }
        account_agrees(&grouped, &losses[1..2], as_read)
            .map_err(|error| format!("a group of {size}: {error}"))?;
        if guaranteed.notion == Notion::Approximate
            && let Ok(rule) = group_guarantee(guaranteed, size)
            && rule.epsilon <= 700.0
        {
            let exact = all.delta(rule.epsilon);
            if exact * (1.0 - PLAIN.0) - PLAIN.1 > rule.delta {
                return Err(format!("a group of {size}: {exact:e} is above {rule:?}"));
            }
        }
    }
    Ok(())
}

/// The sampler against the event: as many draws are within the median of the noise that the event
/// describes as are not.
///
/// 2000 draws, seven standard deviations: a false alarm once in 4e11 seeds, and the seeds are
/// fixed. A scale that is a quarter off moves the share by 0.08 or more, past the 0.078 that is
/// allowed, for every noise here.
fn draws_agree(case: &Case, event: &Event, seed: u64) -> Result<(), String> {
    const DRAWS: u32 = 2000;
    let (Some(noise), Ok(releaser)) = (noise_of(event), case.mechanism.releaser()) else {
        return Ok(());
    };
    let mut sizes: Vec<(f64, f64)> = noise.into_iter().map(|(x, p)| (x.abs(), p)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The first size at which half is reached; of integers, what is at it counts in full.
    let mut sum = 0.0;
    let median = sizes.iter().find(|(_, p)| {
        sum += p;
        sum >= 0.5
    });
    let median = median.map_or(0.0, |(x, _)| *x);
    let expected: f64 = sizes.iter().take_while(|(x, _)| *x <= median).map(|(_, p)| p).sum();
    let mut random = SeededRandom::new(seed);
    let mut within = 0;
    for _ in 0..DRAWS {
        let drawn = releaser.release(0.0, &mut random).map_err(|error| error.to_string())?;
        within += u32::from(drawn.abs() <= median * (1.0 + 1e-9));
    }
    let share = f64::from(within) / f64::from(DRAWS);
    let allowed = 7.0 * (0.25 / f64::from(DRAWS)).sqrt();
    if (share - expected).abs() > allowed {
        return Err(format!(
            "{share} of the draws are within {median:e}, and {expected} should be: {event:?}"
        ));
    }
    Ok(())
}

/// The cases of a kind that calibration accepts; some corners are refused.
fn some_of(kind: MechanismKind, count: usize, seed: u64) -> Vec<Case> {
    let mut numbers = Numbers(seed);
    let mut found = Vec::new();
    for _ in 0..4 * count {
        found.extend(draw(kind, &mut numbers).ok());
        if found.len() == count {
            return found;
        }
    }
    panic!("{kind:?} is refused too often: {} of {}", found.len(), 4 * count)
}

const CASES: usize = 5;

#[test]
fn every_door_to_every_mechanism_tells_the_same() {
    for (index, &kind) in MechanismKind::ALL.iter().enumerate() {
        let started = std::time::Instant::now();
        for (seed, case) in some_of(kind, CASES, index as u64).iter().enumerate() {
            assert_eq!(case.mechanism.kind(), kind);
            if let Err(error) = check(case, seed as u64, &Event::clone) {
                panic!("{kind:?} {:?}: {error}", case.mechanism);
            }
        }
        println!("{kind:?}: {:.1} s", started.elapsed().as_secs_f64());
    }
}

/// Events that no single mechanism states: guarantees, samples and compositions.
#[test]
fn every_other_event_means_what_it_says() {
    let mut numbers = Numbers(77);
    for _ in 0..6 {
        let (epsilon, delta) = (numbers.between(0.05, 5.0), numbers.between(1e-9, 0.05));
        let scale = numbers.between(1e-6, 1e6);
        let laplace = Event::Laplace { scale, sensitivity: scale * epsilon };
        let ends = Event::TruncatedLaplace {
            scale,
            support_in_scales: numbers.between(0.3, 15.0),
            sensitivity: scale * epsilon,
        };
        let gaussian = Event::Gaussian { sigma: scale, sensitivity: 0.5 * scale * epsilon };
        let guarantee = Event::Approximate { epsilon, delta };
        let response = Event::RandomizedResponse { epsilon, categories: numbers.count(9) + 1 };
        let rate = numbers.between(1e-3, 0.9);
        let sampled =
            |event: &Event| Event::PoissonSubsampled { rate, event: Box::new(event.clone()) };
        let twice = |event: &Event| Event::Repetition { times: 2, event: Box::new(event.clone()) };
        let events = [
            guarantee.clone(),
            Event::ZeroConcentrated { rho: 0.1 * epsilon },
            sampled(&laplace),
            sampled(&ends),
            sampled(&guarantee),
            twice(&ends),
            twice(&response),
            twice(&sampled(&ends)),
            Event::Composition { events: vec![guarantee, ends, response] },
            Event::Composition { events: vec![laplace, gaussian] },
        ];
        for event in events {
            let losses = [0.0, 0.3 * epsilon, epsilon, 1.7 * epsilon];
            if let Err(error) = account_agrees(&event, &losses, &Event::clone) {
                panic!("{event:?}: {error}");
            }
        }
    }
}

/// The mistake itself, put back: an accountant that divides the support by the scale once more is
/// caught.
#[test]
fn a_support_divided_by_the_scale_twice_is_caught() {
    let twice = |event: &Event| match *event {
        Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
            let support_in_scales = (support_in_scales / scale).clamp(1e-12, 1e6);
            Event::TruncatedLaplace { scale, support_in_scales, sensitivity }
        }
        ref other => other.clone(),
    };
    for case in some_of(MechanismKind::TruncatedLaplace, 3, 5) {
        assert!((case.mechanism.scale() - 1.0).abs() > 1e-3, "a scale of 1 hides it");
        assert!(check(&case, 1, &twice).is_err(), "{:?}", case.mechanism);
        assert!(check(&case, 1, &Event::clone).is_ok());
    }
}

/// Every number of every event matters: an accountant that reads any of them a tenth too large or
/// too small is caught, in some case of every kind. What no accountant reads is the unit of the
/// answer, which the draws are compared with.
#[test]
fn every_number_that_is_read_wrongly_is_caught() {
    for (index, &kind) in MechanismKind::ALL.iter().enumerate() {
        let cases = some_of(kind, 2, 100 + index as u64);
        let numbers = numbers_in(&serde_json::to_value(cases[0].mechanism.event()).unwrap());
        assert!(!numbers.is_empty(), "{kind:?}");
        for path in numbers {
            let is_caught = |factor: f64| {
                cases.iter().any(|case| {
                    let wrong = |event: &Event| {
                        changed(event, &path, factor).unwrap_or_else(|| event.clone())
                    };
                    let of_units = ["/spacing", "/sensitivity"].contains(&path.as_str())
                        && matches!(kind, MechanismKind::Tabulated | MechanismKind::Staircase);
                    if of_units {
                        // Far enough for the draws to tell.
                        let factor = if factor > 1.0 { 2.0 } else { 0.5 };
                        let event = changed(&case.mechanism.event(), &path, factor).unwrap();
                        return draws_agree(case, &event, 3).is_err();
                    }
                    check(case, 3, &wrong).is_err()
                })
            };
            assert!(is_caught(1.1) || is_caught(0.9), "{kind:?}: {path} may be anything");
        }
    }
}

/// The paths of all numbers but the weights of a table, which are many, those of parts, which
/// depend on the case, and the number of coordinates, which accountants read from above only.
fn numbers_in(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Number(_) => vec![String::new()],
        serde_json::Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["weights", "parts", "coordinates"].contains(&name.as_str()))
            .flat_map(|(name, value)| {
                numbers_in(value).into_iter().map(move |rest| format!("/{name}{rest}"))
            })
            .collect(),
        serde_json::Value::Array(values) => values
            .iter()
            .enumerate()
            .flat_map(|(index, value)| {
                numbers_in(value).into_iter().map(move |rest| format!("/{index}{rest}"))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The event with one number multiplied; `None` where it has no such number.
fn changed(event: &Event, path: &str, factor: f64) -> Option<Event> {
    let mut value = serde_json::to_value(event).ok()?;
    let number = value.pointer_mut(path)?;
    *number = match number.as_u64() {
        Some(whole) if factor > 1.0 => ((whole as f64 * factor) as u64).max(whole + 1).into(),
        Some(whole) => ((whole as f64 * factor) as u64).max(1).into(),
        None => (number.as_f64()? * factor).into(),
    };
    serde_json::from_value(value).ok()
}

/// Every family of inverse scales has a meaning of its own, and is drawn.
#[test]
fn every_family_of_inverse_scales_is_among_the_cases() {
    let mut seen = [false; 5];
    for case in some_of(MechanismKind::RandomScaleLaplace, 60, 12) {
        let (Event::RandomScaleLaplace { inverse_scale, .. }
        | Event::RandomScaleLaplaceVector { inverse_scale, .. }) = case.mechanism.event()
        else {
            panic!("another event: {:?}", case.mechanism)
        };
        let index = match inverse_scale {
            InverseScale::TwoPoint { .. } => 0,
            InverseScale::Gamma { .. } => 1,
            InverseScale::Uniform { .. } => 2,
            InverseScale::TruncatedGaussian { .. } => 3,
            InverseScale::Combined { .. } => 4,
        };
        seen[index] = true;
    }
    assert_eq!(seen, [true; 5]);
}
