//! What a release costs, from the events that describe it.

use crate::{LedgerError, Limits};
use reticent_accounting::Composition;
use reticent_events::Event;
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{ExactSum, require};
use serde::{Deserialize, Serialize};

/// What a release costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// In the currency of the budget, rounded up.
    pub cost: f64,
    /// The delta, rounded up.
    pub delta: f64,
}

impl Charge {
    /// What events cost under limits.
    ///
    /// An event that guarantees `(epsilon, delta)` costs what a pure guarantee of `epsilon` costs,
    /// and `delta`: but for that probability it is pure. (`(epsilon, delta)`-privacy is
    /// `delta`-approximate zero-concentrated privacy with the `rho` of a pure guarantee: Bun and
    /// Steinke, *Concentrated differential privacy*, 2016, Lemma 8.8, from the representation of
    /// Kairouz, Oh and Viswanath 2015.) `selection_delta` is added to that, for selections whose
    /// `delta` no event carries.
    ///
    /// # Direction
    /// Each event's cost is an upper bound; they are added exactly and rounded up once.
    ///
    /// # Errors
    /// If there are no events, one of them has a parameter that no mechanism can have, one has no
    /// bound in the currency, or the whole costs nothing, a subnormal amount, or an infinite one.
    pub fn of(
        limits: &Limits,
        events: &[Event],
        selection_delta: f64,
    ) -> Result<Self, LedgerError> {
        Composition::new(events)?;
        let valid = selection_delta == 0.0 || (f64::MIN_POSITIVE..1.0).contains(&selection_delta);
        let accepted = "0, or a number from 2.3e-308 to 1, not 1 itself";
        require(valid, "selection_delta", selection_delta, accepted)?;
        let (mut cost, mut delta) = (ExactSum::new(), ExactSum::new());
        delta.add(selection_delta);
        for event in events {
            let (pure, its_delta) = split(event);
            cost.add(limits.budget().cost(&pure)?);
            delta.add(its_delta);
        }
        Charge { cost: cost.upper(), delta: delta.upper() }.checked()
    }

    /// The charge, if it is one that a release can have.
    pub(crate) fn checked(self) -> Result<Self, LedgerError> {
        let amount = |value: f64| value == 0.0 || (f64::MIN_POSITIVE..=f64::MAX).contains(&value);
        require(amount(self.cost), "cost", self.cost, "a normal positive number")?;
        require(amount(self.delta), "delta", self.delta, "0 or a normal positive number")?;
        let charged = self.cost > 0.0 || self.delta > 0.0;
        require(charged, "cost", 0.0, "above 0: what costs nothing needs no reservation")?;
        Ok(self)
    }
}

/// The event with every delta set to zero, and the sum of the deltas, rounded up.
/// [`Composition::new`] has accepted the event, which bounds its depth and its counts by `2^53`.
///
/// What runs on a sample stays as it is: what a delta inside a sample costs is for the
/// accountant to say, which refuses it.
fn split(event: &Event) -> (Event, f64) {
    match event {
        Event::Approximate { epsilon, delta } => {
            (Event::Approximate { epsilon: *epsilon, delta: 0.0 }, *delta)
        }
        Event::Composition { events } => {
            let (events, deltas): (Vec<Event>, Vec<f64>) = events.iter().map(split).unzip();
            let mut sum = ExactSum::new();
            deltas.into_iter().for_each(|delta| sum.add(delta));
            (Event::Composition { events }, sum.upper())
        }
        Event::Repetition { times, event } => {
            let (event, delta) = split(event);
            (
                Event::Repetition { times: *times, event: Box::new(event) },
                mul_up(*times as f64, delta),
            )
        }
        // These keep what they cost to themselves: the accountant of the currency says what it is,
        // or that it has no bound.
        Event::Laplace { .. }
        | Event::DiscreteLaplace { .. }
        | Event::Staircase { .. }
        | Event::TruncatedLaplace { .. }
        | Event::Tabulated { .. }
        | Event::Gaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::GeneralizedGaussian { .. }
        | Event::TruncatedGeneralizedGaussian { .. }
        | Event::InflatedGeneralizedGaussian { .. }
        | Event::RandomizedResponse { .. }
        | Event::RandomScaleLaplace { .. }
        | Event::RandomScaleLaplaceVector { .. }
        | Event::RandomScaleGaussian { .. }
        | Event::Exponential { .. }
        | Event::PermuteAndFlip { .. }
        | Event::ZeroConcentrated { .. }
        | Event::PoissonSubsampled { .. } => (event.clone(), 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_accounting::FilterBudget;

    fn pure() -> Limits {
        Limits::new(FilterBudget::Pure { epsilon: 1.0 }, 1e-6).expect("valid")
    }

    fn concentrated() -> Limits {
        Limits::new(FilterBudget::ZeroConcentrated { rho: 1.0 }, 1e-6).expect("valid")
    }

    #[test]
    fn events_add_up_in_both_currencies() {
        let laplace = Event::Laplace { scale: 4.0, sensitivity: 1.0 };
        let gaussian = Event::Gaussian { sigma: 2.0, sensitivity: 1.0 };
        let charge =
            Charge::of(&pure(), &[laplace.clone(), laplace.clone()], 0.0).expect("covered");
        assert_eq!(charge, Charge { cost: 0.5, delta: 0.0 });
        let charge = Charge::of(&concentrated(), &[gaussian.clone(), gaussian.clone()], 1e-9)
            .expect("covered");
        assert_eq!(charge, Charge { cost: 0.25, delta: 1e-9 });
        assert!(Charge::of(&pure(), &[laplace, gaussian], 0.0).is_err(), "no pure loss");
    }

    #[test]
    fn deltas_are_counted_apart_wherever_they_stand() {
        let guarantee = Event::Approximate { epsilon: 0.25, delta: 1e-9 };
        let twice = Event::Repetition { times: 2, event: Box::new(guarantee.clone()) };
        let nested = Event::Composition { events: vec![guarantee.clone(), twice] };
        let charge = Charge::of(&pure(), std::slice::from_ref(&nested), 1e-9).expect("covered");
        assert_eq!(charge.cost, 0.75);
        assert!(charge.delta >= 4e-9 && charge.delta < 4.000_000_1e-9, "{charge:?}");
        // rho = epsilon tanh(epsilon/2) each.
        let formula = 3.0 * 0.25 * (0.125f64).tanh();
        let charge = Charge::of(&concentrated(), &[nested], 0.0).expect("covered");
        assert!(
            (charge.cost / formula - 1.0).abs() < 1e-14 && charge.cost >= formula * (1.0 - 1e-15)
        );
        let sampled = Event::PoissonSubsampled { rate: 0.1, event: Box::new(guarantee) };
        for limits in [pure(), concentrated()] {
            assert!(Charge::of(&limits, std::slice::from_ref(&sampled), 0.0).is_err());
        }
    }

    #[test]
    fn a_sum_that_is_no_f64_is_rounded_up() {
        let big = Event::Approximate { epsilon: 700.0, delta: 0.0 };
        let tiny = Event::Approximate { epsilon: 1e-300, delta: 0.0 };
        let charge = Charge::of(&pure(), &[big, tiny], 0.0).expect("covered");
        assert_eq!(charge.cost, 700f64.next_up());
    }

    #[test]
    fn hostile_charges_are_refused_by_name() {
        let nothing = Event::Approximate { epsilon: 0.0, delta: 0.0 };
        let message =
            Charge::of(&pure(), std::slice::from_ref(&nothing), 0.0).expect_err("free").to_string();
        assert!(message.contains("`cost` is 0,"), "{message}");
        assert_eq!(Charge::of(&pure(), &[nothing], 1e-9).expect("a selection").delta, 1e-9);
        let subnormal = Event::Approximate { epsilon: 1e-310, delta: 0.0 };
        assert!(Charge::of(&pure(), &[subnormal], 0.0).is_err());
        let fine = Event::Laplace { scale: 1.0, sensitivity: 1.0 };
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1.0, 5e-324] {
            let message = Charge::of(&pure(), std::slice::from_ref(&fine), bad)
                .expect_err("hostile")
                .to_string();
            assert!(message.contains("selection_delta"), "{message}");
            let event = Event::Laplace { scale: bad, sensitivity: 1.0 };
            assert!(bad == 1.0 || Charge::of(&pure(), &[event], 0.0).is_err());
        }
        for bad in [f64::NAN, f64::INFINITY, -1.0, 1e-310] {
            assert!(Charge { cost: bad, delta: 0.0 }.checked().is_err(), "{bad}");
            assert!(Charge { cost: 1.0, delta: bad }.checked().is_err(), "{bad}");
        }
        assert!(Charge::of(&pure(), &[], 0.0).is_err());
    }
}
