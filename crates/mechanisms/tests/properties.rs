//! What every mechanism must satisfy, whatever its formula. A new mechanism is a line in
//! [`mechanisms`].
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Certificate, DiscreteLaplace, Epsilon, Laplace, Mechanism, MechanismError, Neighbours, Notion,
    RandomizedResponse, Sensitivity, Staircase, StaircaseAim,
};
use reticent_noise::randomness::{RandomBits, SeededRandom};

/// What a mechanism is calibrated to.
#[derive(Clone, Copy, Debug)]
struct Budget {
    epsilon: f64,
    /// Ignored by pure mechanisms.
    delta: f64,
    sensitivity: f64,
}

impl Budget {
    fn epsilon(self) -> Result<Epsilon, MechanismError> {
        Epsilon::new(self.epsilon)
    }

    fn scalar(self) -> Result<Sensitivity, MechanismError> {
        Sensitivity::scalar(self.sensitivity, Neighbours::AddRemove)
    }
}

/// Which of the common properties a mechanism has a version of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Real noise that is scaled by the sensitivity.
    Real,
    /// Integer noise, whose sensitivity is an integer.
    Integer,
    /// No sensitivity and no noise.
    Category,
}

type Calibrate = fn(Budget) -> Result<Box<dyn Mechanism>, MechanismError>;

fn boxed<M: Mechanism + 'static>(mechanism: M) -> Box<dyn Mechanism> {
    Box::new(mechanism)
}

fn staircase(budget: Budget, aim: StaircaseAim) -> Result<Box<dyn Mechanism>, MechanismError> {
    Staircase::calibrate(aim, &budget.scalar()?, budget.epsilon()?).map(boxed)
}

fn mechanisms() -> Vec<(&'static str, Kind, Calibrate)> {
    vec![
        ("laplace", Kind::Real, |b| Laplace::calibrate(&b.scalar()?, b.epsilon()?).map(boxed)),
        ("laplace-vector", Kind::Real, |b| {
            let l2 =
                Sensitivity::l2_bound(b.sensitivity, Neighbours::Replace)?.with_coordinates(5)?;
            Laplace::calibrate(&l2, b.epsilon()?).map(boxed)
        }),
        ("discrete-laplace", Kind::Integer, |b| {
            DiscreteLaplace::calibrate(&Sensitivity::whole(b.sensitivity as u64), b.epsilon()?)
                .map(boxed)
        }),
        ("staircase-l1", Kind::Real, |b| staircase(b, StaircaseAim::MeanAbsolute)),
        ("staircase-l2", Kind::Real, |b| staircase(b, StaircaseAim::MeanSquare)),
        ("staircase-entropy", Kind::Real, |b| staircase(b, StaircaseAim::Entropy)),
        ("staircase-usefulness", Kind::Real, |b| {
            staircase(b, StaircaseAim::Usefulness(0.4 * b.sensitivity))
        }),
        ("randomized-response-2", Kind::Category, |b| {
            RandomizedResponse::new(2, b.epsilon()?).map(boxed)
        }),
        ("randomized-response-9", Kind::Category, |b| {
            RandomizedResponse::new(9, b.epsilon()?).map(boxed)
        }),
    ]
}

fn budgets(kind: Kind) -> Vec<Budget> {
    let sensitivities: &[f64] = match kind {
        Kind::Real => &[0.1, 1.0, 7.3],
        Kind::Integer => &[1.0, 4.0, 9.0],
        Kind::Category => &[1.0],
    };
    let epsilons = [0.01, 0.3, 1.0, 4.0, 15.0];
    let with =
        |&sensitivity: &f64| epsilons.map(|epsilon| Budget { epsilon, delta: 1e-6, sensitivity });
    sensitivities.iter().flat_map(with).collect()
}

/// Uniform on (0, 1).
fn uniform(random: &mut SeededRandom) -> f64 {
    ((random.next_u64().unwrap() >> 12) as f64 + 0.5) * 2f64.powi(-52)
}

/// Log-uniform.
fn between(random: &mut SeededRandom, lower: f64, upper: f64) -> f64 {
    (lower.ln() + uniform(random) * (upper / lower).ln()).exp().clamp(lower, upper)
}

/// The certificate and the profile both keep the guarantee that was asked for.
fn keeps_its_guarantee(name: &str, budget: Budget, mechanism: &dyn Mechanism) {
    let guarantee = mechanism.guarantee();
    assert_eq!(guarantee.epsilon, budget.epsilon, "{name} {budget:?}");
    match (guarantee.notion, mechanism.certificate()) {
        (Notion::Pure, Certificate::Epsilon(epsilon)) => {
            assert!(
                guarantee.delta == 0.0 && epsilon.upper() <= budget.epsilon,
                "{name} {budget:?}: {epsilon:?}"
            );
            assert!(epsilon.lower() > 0.0 && epsilon.lower() <= epsilon.upper());
            assert_eq!(mechanism.delta(budget.epsilon).unwrap().upper(), 0.0, "{name} {budget:?}");
        }
        (Notion::Approximate | Notion::Probabilistic, Certificate::Delta(delta)) => {
            assert!(
                guarantee.delta == budget.delta && delta.upper() <= budget.delta,
                "{name} {budget:?}: {delta:?}"
            );
            assert!(
                mechanism.delta(budget.epsilon).unwrap().upper() <= budget.delta,
                "{name} {budget:?}"
            );
        }
        (notion, certificate) => {
            panic!("{name}: {certificate:?} does not certify the {notion} notion")
        }
    }
}

#[test]
fn twenty_thousand_random_budgets_are_kept() {
    let mut random = SeededRandom::new(42);
    let table = mechanisms();
    for round in 0..20_000 {
        let (name, kind, calibrate) = table[round % table.len()];
        let sensitivity = match kind {
            Kind::Real => between(&mut random, 1e-12, 1e12),
            Kind::Integer => between(&mut random, 1.0, 1e6).floor(),
            Kind::Category => 1.0,
        };
        let epsilon = between(&mut random, 1e-6, 700.0);
        let budget = Budget { epsilon, delta: between(&mut random, 1e-300, 0.9), sensitivity };
        let mechanism =
            calibrate(budget).unwrap_or_else(|error| panic!("{name} {budget:?}: {error}"));
        keeps_its_guarantee(name, budget, &*mechanism);
    }
}

#[test]
fn pure_calibrations_spend_their_whole_budget() {
    for (name, kind, calibrate) in mechanisms() {
        for budget in budgets(kind) {
            let mechanism = calibrate(budget).unwrap();
            if let Certificate::Epsilon(epsilon) = mechanism.certificate() {
                let waste = 1.0 - epsilon.lower() / budget.epsilon;
                assert!(waste <= 1e-15, "{name} {budget:?}: {waste:e}");
            }
        }
    }
}

#[test]
fn profiles_decrease_are_at_most_one_and_are_narrow() {
    for (name, kind, calibrate) in mechanisms() {
        for budget in budgets(kind) {
            let mechanism = calibrate(budget).unwrap();
            let mut before = mechanism.delta(0.0).unwrap();
            assert!(before.upper() <= 1.0, "{name} {budget:?}");
            for step in 1..=60 {
                let epsilon = budget.epsilon * f64::from(step) / 40.0;
                let delta = mechanism.delta(epsilon).unwrap();
                assert!(delta.lower() >= 0.0 && delta.upper() <= 1.0);
                assert!(
                    delta.lower() <= before.upper(),
                    "{name} {budget:?} at {epsilon}: {before:?} then {delta:?}"
                );
                assert!(
                    delta.upper() <= before.upper(),
                    "{name} {budget:?} at {epsilon}: {before:?} then {delta:?}"
                );
                assert!(
                    delta.upper() == 0.0 || delta.relative_width() <= 1e-10,
                    "{name} {budget:?}: {delta:?}"
                );
                before = delta;
            }
            for bad in [f64::NAN, -1e-9, f64::INFINITY] {
                assert!(mechanism.delta(bad).is_err(), "{name} {bad}");
            }
        }
    }
}

#[test]
fn more_budget_never_means_more_error() {
    for (name, kind, calibrate) in mechanisms() {
        for budget in budgets(kind) {
            let [less, more] = [budget.epsilon, 1.1 * budget.epsilon]
                .map(|epsilon| calibrate(Budget { epsilon, ..budget }).unwrap());
            assert!(more.scale() <= less.scale(), "{name} {budget:?}");
            if let (Some(less), Some(more)) = (less.errors(), more.errors()) {
                assert!(
                    more.mean_absolute.lower() <= less.mean_absolute.upper(),
                    "{name} {budget:?}"
                );
                assert!(
                    more.root_mean_square.lower() <= less.root_mean_square.upper(),
                    "{name} {budget:?}"
                );
                assert!(more.entropy.lower() <= less.entropy.upper(), "{name} {budget:?}");
            }
            assert!(
                more.delta(0.0).unwrap().upper() >= less.delta(0.0).unwrap().lower(),
                "{name} {budget:?}"
            );
        }
    }
}

#[test]
fn the_scale_grows_with_the_sensitivity_and_for_real_noise_in_proportion() {
    for (name, kind, calibrate) in mechanisms() {
        if kind == Kind::Category {
            continue;
        }
        for budget in budgets(kind) {
            let scale = |factor: f64| {
                calibrate(Budget { sensitivity: factor * budget.sensitivity, ..budget })
                    .unwrap()
                    .scale()
            };
            assert!(scale(2.0) > scale(1.0), "{name} {budget:?}");
            if kind == Kind::Real {
                // The lattice scales with a power of two, and so does everything else.
                assert_eq!(scale(4.0), 4.0 * scale(1.0), "{name} {budget:?}");
                let thrice = scale(3.0) / (3.0 * scale(1.0)) - 1.0;
                assert!(
                    thrice.abs() <= 5.0 * 2f64.powi(-43) / budget.epsilon.min(1.0) + 1e-15,
                    "{name} {budget:?}: {thrice:e}"
                );
            }
        }
    }
}

#[test]
fn usefulness_is_a_distribution_function_that_meets_the_quantile() {
    for (name, kind, calibrate) in mechanisms() {
        for budget in budgets(kind) {
            let mechanism = calibrate(budget).unwrap();
            let Some(errors) = mechanism.errors() else {
                assert!(kind == Kind::Category && mechanism.usefulness(1.0).is_none(), "{name}");
                continue;
            };
            let useful = |t: f64| mechanism.usefulness(t).unwrap();
            let mut before = useful(0.0);
            for step in 1..100 {
                let now = useful(errors.mean_absolute.estimate() * f64::from(step) / 10.0);
                assert!(
                    now.lower() >= 0.0 && now.upper() <= 1.0 && now.upper() >= before.lower(),
                    "{name} {budget:?}"
                );
                before = now;
            }
            let at_quantile = useful(errors.quantile_95.upper());
            assert!(at_quantile.upper() >= 0.95 - 1e-12, "{name} {budget:?}: {at_quantile:?}");
            // Half of the quantile is not enough (except where integer noise is almost always
            // zero).
            if errors.quantile_95.lower() > 0.0 {
                assert!(
                    useful(0.5 * errors.quantile_95.lower()).lower() < 0.95,
                    "{name} {budget:?}"
                );
            }
            assert!(useful(-1.0).upper() == 0.0 && useful(f64::INFINITY).upper() == 1.0);
            assert!(mechanism.usefulness(f64::NAN).is_none(), "{name}");
        }
    }
}

#[test]
fn what_is_charged_is_what_is_drawn() {
    for (name, kind, calibrate) in mechanisms() {
        for budget in budgets(kind) {
            let mechanism = calibrate(budget).unwrap();
            let event = serde_json::to_value(mechanism.event()).unwrap();
            assert_eq!(event["mechanism"], mechanism.name(), "{name}");
            if let Some(scale) = event.get("scale") {
                assert_eq!(scale.as_f64(), Some(mechanism.scale()), "{name} {budget:?}");
            }
        }
    }
}
