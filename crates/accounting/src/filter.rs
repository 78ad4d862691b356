//! A budget that releases chosen from earlier answers cannot exceed.

use crate::conversion::{loss_of_zero_concentrated, loss_up_to_order};
use crate::gaussian_dp::shift_square_bound;
use crate::promise::{above, pure_loss};
use crate::renyi::renyi_divergence;
use crate::spent::Spent;
use crate::zcdp::zero_concentration;
use crate::{Accountant, AccountingError, Charges, GaussianDp};
use reticent_events::Event;
use reticent_mechanisms::Delta;
use reticent_numerics::rounding::{add_up, mul_down, mul_up, sub_down};
use serde::{Deserialize, Serialize};

/// In which currency a filter counts, and how much there is.
///
/// # Theorem
/// In each of these, what releases are charged in adds up, and a bound on the sum bounds what all answers together tell, even if every release and its parameters were
/// chosen from all earlier answers, and so was the moment to stop:
///
/// - pure: the loss is at most the sum of losses in every run (Rogers, Roth, Ullman, Vadhan, *Privacy odometers and filters*, 2016);
/// - Rényi at one order, and zCDP, which is all orders: given the answers so far, `exp((alpha - 1)(loss - divergences))` does not increase on average (Feldman and Zrnic, *Individual privacy
///   accounting via a Rényi filter*, 2021; Whitehouse, Ramdas, Rogers, Wu, *Fully adaptive composition in differential privacy*, 2023, with the constants of ordinary composition);
/// - Gaussian: the sum of `mu^2` (Smith and Thakurta, *Fully adaptive composition for Gaussian differential privacy*, 2022; Koskela, Tobaben, Honkela, *Individual privacy accounting with Gaussian
///   differential privacy*, 2023). With `l` the loss so far and `r^2` what is left of the budget, the `delta` at `epsilon - l` of one Gaussian with `mu = r` does not increase on average: a release that is
///   `mu`-Gaussian private, followed by a Gaussian with `sqrt(r^2 - mu^2)`, has at most the profile of both Gaussians, which is that of `r`.
///
/// # What is not here, and why
/// There is no filter in the currency of the loss-distribution accountant, and its figure must not be used as one. Its theorem composes dominating pairs that are fixed beforehand. "Admit while
/// `delta(epsilon)` of what has run is within the budget" looks at one branch of the analyst's choices at a time, but an attacker gets the average over the branches of what each does best. An example: first a
/// binary response with loss 1. If it came out as its likelier answer under one data set, ask for another such response; if not, ask a mechanism that tells all with probability `d`. At `epsilon = 1` the two
/// branches, each as if it had been fixed beforehand, have `delta = p (e-1)/(e+1) = 0.338` with `p = e/(1+e)`, and `delta = d`, so both fit a budget of 0.338 if `d` does. What was run has `p (e-1)/(e+1) + (1-p) d =
/// 0.429`. (A test of this module computes all three.) The currencies above are immune, because what is left after a release does not depend on how it came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "currency", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Budget {
    /// The sum of pure losses.
    Pure {
        /// `epsilon`.
        epsilon: f64,
    },
    /// The sum of `rho`.
    ZeroConcentrated {
        /// `rho`.
        rho: f64,
    },
    /// The sum of Rényi divergences of one order.
    Renyi {
        /// The order, above 1. Samples are charged best at integers up to 512.
        order: f64,
        /// The most that the divergences may add up to.
        divergence: f64,
    },
    /// The sum of `mu^2`, at most the square of this.
    Gaussian {
        /// `mu`.
        mu: f64,
    },
}

impl Budget {
    /// The amount, in the unit that charges add up in; rounded down.
    fn amount(self) -> f64 {
        match self {
            Budget::Pure { epsilon } => epsilon,
            Budget::ZeroConcentrated { rho } => rho,
            Budget::Renyi { divergence, .. } => divergence,
            Budget::Gaussian { mu } => mul_down(mu, mu),
        }
    }

    fn checked(self) -> Result<Self, AccountingError> {
        let (name, value) = match self {
            Budget::Pure { epsilon } => ("epsilon", epsilon),
            Budget::ZeroConcentrated { rho } => ("rho", rho),
            Budget::Renyi { divergence, .. } => ("divergence", divergence),
            Budget::Gaussian { mu } => ("mu", mu),
        };
        if !(1e-100..=1e100).contains(&value) {
            return Err(AccountingError::Parameter { name, value, accepted: "a number from 1e-100 to 1e100" });
        }
        match self {
            Budget::Renyi { order, .. } if !(order > 1.0 && order <= 1e12) => Err(AccountingError::Parameter {
                name: "order",
                value: order,
                accepted: "a number above 1 and at most 1e12",
            }),
            checked => Ok(checked),
        }
    }

    /// What an event costs, rounded up.
    ///
    /// # Errors
    /// If the event has no bound in this currency, or cannot be read.
    pub fn cost(self, event: &Event) -> Result<f64, AccountingError> {
        let charges = Charges::new(std::slice::from_ref(event))?;
        let mut sum = 0.0;
        for charge in charges.iter() {
            let one = match self {
                Budget::Pure { .. } => pure_loss(&charge.event)?.ok_or(AccountingError::NotCovered {
                    accountant: "pure",
                    mechanism: charge.event.mechanism(),
                    reason: "it has no pure loss",
                })?,
                Budget::ZeroConcentrated { .. } => zero_concentration(&charge.event)?,
                Budget::Renyi { order, .. } => renyi_divergence(&charge.event, order)?,
                Budget::Gaussian { .. } => shift_square_bound(&charge.event)?,
            };
            sum = add_up(sum, mul_up(above(charge.times), one));
        }
        Ok(sum)
    }
}

/// Why an event was not admitted. Nothing has been charged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It costs more than is left.
    #[error("the release costs {asked:e}, but {remaining:e} of the budget of {budget:e} remains")]
    Exhausted {
        /// What the event costs, rounded up.
        asked: f64,
        /// What is left, rounded down.
        remaining: f64,
        /// The whole budget, in the unit that charges add up in: `mu^2` for the Gaussian one.
        budget: f64,
    },
    /// It cannot be charged in this currency.
    #[error(transparent)]
    NotCovered(#[from] AccountingError),
}

/// Admits releases as long as a budget lasts, whatever they were chosen from.
///
/// The state is plain data: it can be stored after each admission and restored. Restoring checks it.
///
/// # Example
/// ```
/// use reticent_accounting::{Budget, Filter};
/// use reticent_events::Event;
/// let mut filter = Filter::new(Budget::ZeroConcentrated { rho: 0.5 })?;
/// let answer = Event::Gaussian { sigma: 2.0, sensitivity: 1.0 };
/// for _ in 0..4 {
///     filter.admit(&answer)?;
/// }
/// assert!(filter.admit(&answer).is_err() && filter.remaining() == 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Filter {
    budget: Budget,
    spent: Spent,
    admitted: u64,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    budget: Budget,
    spent: Spent,
    admitted: u64,
}

impl From<Filter> for Stored {
    fn from(filter: Filter) -> Self {
        Stored { budget: filter.budget, spent: filter.spent, admitted: filter.admitted }
    }
}

impl TryFrom<Stored> for Filter {
    type Error = AccountingError;

    fn try_from(stored: Stored) -> Result<Self, AccountingError> {
        let Stored { budget, spent, admitted } = stored;
        let budget = budget.checked()?;
        if !spent.is_within(budget.amount()) {
            let accepted = "at most the budget";
            return Err(AccountingError::Parameter { name: "spent", value: spent.upper(), accepted });
        }
        if admitted == 0 && spent != Spent::default() {
            let accepted = "at least 1 where something is spent";
            return Err(AccountingError::Parameter { name: "admitted", value: 0.0, accepted });
        }
        Ok(Filter { budget, spent, admitted })
    }
}

impl Filter {
    /// A filter of which nothing is spent.
    ///
    /// # Errors
    /// If the budget is not a number from 1e-100 to 1e100, or the order not above 1.
    pub fn new(budget: Budget) -> Result<Self, AccountingError> {
        Ok(Filter { budget: budget.checked()?, spent: Spent::default(), admitted: 0 })
    }

    /// Charges an event. The release may be made if, and only if, this returns `Ok`.
    ///
    /// # Errors
    /// If it does not fit, or cannot be charged in this currency. The filter is then as it was.
    pub fn admit(&mut self, event: &Event) -> Result<(), Refusal> {
        let asked = self.budget.cost(event)?;
        let budget = self.budget.amount();
        let refusal = Refusal::Exhausted { asked, remaining: self.remaining(), budget };
        let spent = self.spent.with(asked).filter(|spent| spent.is_within(budget)).ok_or_else(|| refusal.clone())?;
        self.admitted = self.admitted.checked_add(1).ok_or(refusal)?;
        self.spent = spent;
        Ok(())
    }

    /// The budget.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What is spent, rounded up.
    pub fn spent(&self) -> f64 {
        self.spent.upper()
    }

    /// What is left, rounded down.
    pub fn remaining(&self) -> f64 {
        self.spent.remaining(self.budget.amount())
    }

    /// How many events were admitted.
    pub fn admitted(&self) -> u64 {
        self.admitted
    }

    /// An upper bound on the `epsilon`, at a `delta`, of everything that this filter will ever admit: that of the whole budget.
    ///
    /// What is spent so far must not be put in its place: to stop there is a choice made from the answers. (For the pure budget it may; an [`crate::Odometer`] does that for the others.)
    ///
    /// # Errors
    /// If a `mu` is out of range.
    pub fn epsilon(&self, delta: Delta) -> Result<f64, AccountingError> {
        let at = delta.get();
        Ok(match self.budget {
            Budget::Pure { epsilon } => epsilon,
            Budget::ZeroConcentrated { rho } => loss_of_zero_concentrated(rho, at),
            // A divergence does not decrease with the order, so the budget bounds those of all lower orders.
            Budget::Renyi { order, divergence } => loss_up_to_order(sub_down(order, 1.0), divergence, at),
            Budget::Gaussian { mu } => {
                let whole = Charges::new(&[Event::Gaussian { sigma: 1.0, sensitivity: mu }])?;
                GaussianDp.epsilon(&whole, delta)?.upper()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OptimalComposition;
    use reticent_mechanisms::Epsilon;

    fn budgets() -> [Budget; 4] {
        [
            Budget::Pure { epsilon: 1.0 },
            Budget::ZeroConcentrated { rho: 0.3 },
            Budget::Renyi { order: 8.0, divergence: 2.0 },
            Budget::Gaussian { mu: 0.7 },
        ]
    }

    /// An event that costs about this much in the currency.
    fn costing(budget: Budget, cost: f64) -> Event {
        match budget {
            Budget::Pure { .. } => Event::Approximate { epsilon: cost, delta: 0.0 },
            Budget::ZeroConcentrated { .. } => Event::ZeroConcentrated { rho: cost },
            Budget::Renyi { order, .. } => Event::ZeroConcentrated { rho: cost / order },
            Budget::Gaussian { .. } => Event::Gaussian { sigma: 1.0, sensitivity: cost.sqrt() },
        }
    }

    #[test]
    fn many_tiny_charges_neither_exceed_nor_are_refused_early() {
        for budget in budgets() {
            let mut filter = Filter::new(budget).expect("valid");
            let count = 100_000u32;
            let event = costing(budget, budget.amount() / f64::from(count));
            let cost = budget.cost(&event).expect("covered");
            for index in 0..count {
                if let Err(refusal) = filter.admit(&event) {
                    assert!(index >= count - 1, "{budget:?}: {refusal} after {index}");
                }
            }
            assert!(filter.spent() <= budget.amount() && filter.remaining() <= 1.1 * cost, "{filter:?}");
            for _ in 0..2 {
                let _ = filter.admit(&event);
            }
            assert!(filter.spent() <= budget.amount() && filter.admitted() <= u64::from(count) + 1);
        }
    }

    #[test]
    fn a_million_millionths() {
        let mut filter = Filter::new(Budget::Pure { epsilon: 1.0 }).expect("valid");
        let event = Event::Approximate { epsilon: 1e-6, delta: 0.0 };
        // 1e-6 as an f64 is a little below a millionth, so all fit, and no more.
        for _ in 0..1_000_000 {
            filter.admit(&event).expect("fits");
        }
        let refusal = filter.admit(&event).expect_err("spent");
        assert!(matches!(refusal, Refusal::Exhausted { remaining, .. } if remaining < 1e-16), "{refusal}");
    }

    #[test]
    fn a_refusal_charges_nothing_and_names_the_amounts() {
        for budget in budgets() {
            let mut filter = Filter::new(budget).expect("valid");
            filter.admit(&costing(budget, 0.75 * budget.amount())).expect("fits");
            let before = filter.clone();
            let refusal = filter.admit(&costing(budget, 0.5 * budget.amount())).expect_err("too much");
            let message = refusal.to_string();
            assert!(message.starts_with("the release costs") && message.contains("remains"), "{message}");
            assert_eq!(filter, before);
            let promise = Event::Approximate { epsilon: 0.01, delta: 1e-9 };
            assert!(matches!(filter.admit(&promise), Err(Refusal::NotCovered(_))), "{budget:?}");
            assert!(filter.admit(&Event::Gaussian { sigma: f64::NAN, sensitivity: 1.0 }).is_err());
            assert_eq!(filter, before);
            filter.admit(&costing(budget, 0.2 * budget.amount())).expect("fits");
        }
    }

    #[test]
    fn the_state_is_restored_or_refused() {
        for budget in budgets() {
            let mut filter = Filter::new(budget).expect("valid");
            filter.admit(&costing(budget, 0.1 * budget.amount())).expect("fits");
            let text = serde_json::to_string(&filter).expect("plain data");
            assert_eq!(serde_json::from_str::<Filter>(&text).expect("round trip"), filter, "{text}");
        }
        let hostile = [
            r#"{"budget":{"currency":"pure","epsilon":1.0},"spent":{"high":1.5,"low":0.0},"admitted":3}"#,
            r#"{"budget":{"currency":"pure","epsilon":1.0},"spent":{"high":0.5,"low":0.0},"admitted":0}"#,
            r#"{"budget":{"currency":"pure","epsilon":-1.0},"spent":{"high":0.0,"low":0.0},"admitted":0}"#,
            r#"{"budget":{"currency":"pure","epsilon":1.0},"spent":{"high":-0.5,"low":0.0},"admitted":1}"#,
            r#"{"budget":{"currency":"gold","epsilon":1.0},"spent":{"high":0.0,"low":0.0},"admitted":0}"#,
            r#"{"budget":{"currency":"pure","epsilon":1.0},"admitted":0}"#,
        ];
        for text in hostile {
            assert!(serde_json::from_str::<Filter>(text).is_err(), "{text}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Filter::new(Budget::Pure { epsilon: bad }).is_err());
            assert!(Filter::new(Budget::ZeroConcentrated { rho: bad }).is_err());
            assert!(Filter::new(Budget::Gaussian { mu: bad }).is_err());
            assert!(Filter::new(Budget::Renyi { order: bad, divergence: 1.0 }).is_err());
        }
    }

    #[test]
    fn the_whole_budget_converts() {
        let delta = Delta::new(1e-6).expect("valid");
        let at = |budget| Filter::new(budget).expect("valid").epsilon(delta).expect("in range");
        assert_eq!(at(Budget::Pure { epsilon: 0.4 }), 0.4);
        // One Gaussian with mu = 1 within each of the three: the exact figure is the least.
        let exact = at(Budget::Gaussian { mu: 1.0 });
        let zero_concentrated = at(Budget::ZeroConcentrated { rho: 0.5 });
        let renyi = at(Budget::Renyi { order: 6.0, divergence: 3.0 });
        assert!(exact < zero_concentrated && zero_concentrated <= renyi && renyi < 1.02 * zero_concentrated);
        // The formula at the order itself.
        let formula = 3.0 + (5.0f64 / 6.0).ln() + (1e6f64.ln() - 6f64.ln()) / 5.0;
        assert!(renyi <= formula * (1.0 + 1e-14) && renyi > 0.99 * formula, "{renyi} {formula}");
    }

    /// The example in the documentation of [`Budget`].
    #[test]
    fn composed_profiles_are_no_filter() {
        let response = Event::RandomizedResponse { epsilon: 1.0, categories: 2 };
        let delta = |events: &[Event]| {
            let charges = Charges::new(events).expect("valid");
            OptimalComposition.delta(&charges, Epsilon::new(1.0).expect("valid")).expect("covered")
        };
        let first = delta(&[response.clone(), response.clone()]);
        let tells_all = first.lower();
        let second = delta(&[response, Event::Approximate { epsilon: 0.0, delta: tells_all }]);
        let p = 1f64.exp() / (1.0 + 1f64.exp());
        // Outcomes of the adaptive run: probability under each data set, and both promises written out.
        let (q, r, d) = (1.0 - p, 1.0 - p, tells_all);
        let outcomes = [(p * p, q * q), (p * r, q * p), (q * d, 0.0), (q * (1.0 - d), p * (1.0 - d)), (0.0, p * d)];
        let total: f64 = outcomes.iter().map(|outcome| outcome.0).sum();
        assert!((total - 1.0).abs() < 1e-15);
        let run: f64 = outcomes.iter().map(|(one, other)| (one - 1f64.exp() * other).max(0.0)).sum();
        assert!((first.upper() - 0.338).abs() < 1e-3 && second.upper() <= first.upper() * (1.0 + 1e-12));
        assert!((run - 0.429).abs() < 1e-3 && run > 1.25 * first.upper(), "{run}");
    }
}
