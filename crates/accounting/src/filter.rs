//! A budget that releases chosen from earlier answers cannot exceed.

use crate::conversion::{loss_of_zero_concentrated, loss_up_to_order};
use crate::gaussian_dp::shift_square_bound;
use crate::guarantee::{above, pure_loss};
use crate::renyi::renyi_divergence;
use crate::spent::Spent;
use crate::zcdp::zero_concentration;
use crate::{Accountant, AccountingError, Composition, GaussianDp};
use reticent_events::Event;
use reticent_mechanisms::Delta;
use reticent_numerics::rounding::{add_up, mul_down, mul_up, sub_down};
use reticent_numerics::{OutOfRange, require};
use serde::{Deserialize, Serialize};

/// In which currency a filter counts, and how much there is.
///
/// # Theorem
/// In each of these, the costs of releases add up, and a bound on the sum bounds what all answers
/// together tell, even if every release and its parameters were chosen from all earlier answers,
/// and so was the moment to stop (pure: Rogers, Roth, Ullman, Vadhan 2016; Rényi and zCDP: Feldman
/// and Zrnic 2021, Whitehouse, Ramdas, Rogers, Wu 2023; Gaussian: Smith and Thakurta 2022, Koskela,
/// Tobaben, Honkela 2023). The arguments are in docs/proofs/filters.md.
///
/// # What is not here
/// There is no filter in the currency of the loss-distribution accountant, and its figure must not
/// be used as one: docs/proofs/filters.md has an example in which both branches of a run fit a
/// budget and the run does not, and a test of this module computes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "currency", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FilterBudget {
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

impl FilterBudget {
    /// The amount, in the unit in which costs add up; rounded down.
    fn amount(self) -> f64 {
        match self {
            FilterBudget::Pure { epsilon } => epsilon,
            FilterBudget::ZeroConcentrated { rho } => rho,
            FilterBudget::Renyi { divergence, .. } => divergence,
            FilterBudget::Gaussian { mu } => mul_down(mu, mu),
        }
    }

    fn checked(self) -> Result<Self, AccountingError> {
        let (name, value) = match self {
            FilterBudget::Pure { epsilon } => ("epsilon", epsilon),
            FilterBudget::ZeroConcentrated { rho } => ("rho", rho),
            FilterBudget::Renyi { divergence, .. } => ("divergence", divergence),
            FilterBudget::Gaussian { mu } => ("mu", mu),
        };
        require((1e-100..=1e100).contains(&value), name, value, "a number from 1e-100 to 1e100")?;
        match self {
            FilterBudget::Renyi { order, .. } if !(order > 1.0 && order <= 1e12) => {
                Err(OutOfRange::new("order", order, "a number above 1 and at most 1e12").into())
            }
            checked => Ok(checked),
        }
    }

    /// What an event costs, rounded up.
    ///
    /// # Errors
    /// If the event has no bound in this currency, or cannot be read.
    pub fn cost(self, event: &Event) -> Result<f64, AccountingError> {
        let composition = Composition::new(std::slice::from_ref(event))?;
        let mut sum = 0.0;
        for component in composition.iter() {
            let one = match self {
                FilterBudget::Pure { .. } => {
                    pure_loss(&component.event)?.ok_or(AccountingError::NotCovered {
                        accountant: "pure",
                        mechanism: component.event.mechanism(),
                        reason: "it has no pure loss",
                    })?
                }
                FilterBudget::ZeroConcentrated { .. } => zero_concentration(&component.event)?,
                FilterBudget::Renyi { order, .. } => renyi_divergence(&component.event, order)?,
                FilterBudget::Gaussian { .. } => shift_square_bound(&component.event)?,
            };
            sum = add_up(sum, mul_up(above(component.times), one));
        }
        Ok(sum)
    }
}

/// Why an event was not admitted. Nothing has been charged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It costs more than is left.
    #[error("the release costs {asked:e}, but {remaining:e} of the budget of {budget:e} remains")]
    Exhausted {
        /// What the event costs, rounded up.
        asked: f64,
        /// What is left, rounded down.
        remaining: f64,
        /// The whole budget, in the unit in which costs add up: `mu^2` for the Gaussian one.
        budget: f64,
    },
    /// It cannot be charged in this currency.
    #[error(transparent)]
    NotCovered(#[from] AccountingError),
}

/// Admits releases as long as a budget lasts, whatever they were chosen from.
///
/// The state is plain data: it can be stored after each admission and restored. Restoring checks
/// it.
///
/// # Example
/// ```
/// use reticent_accounting::{FilterBudget, Filter};
/// use reticent_events::Event;
/// let mut filter = Filter::new(FilterBudget::ZeroConcentrated { rho: 0.5 })?;
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
    budget: FilterBudget,
    spent: Spent,
    admitted: u64,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    budget: FilterBudget,
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
            return Err(OutOfRange::new("spent", spent.upper(), accepted).into());
        }
        if admitted == 0 && spent != Spent::default() {
            let accepted = "at least 1 where something is spent";
            return Err(OutOfRange::new("admitted", 0.0, accepted).into());
        }
        Ok(Filter { budget, spent, admitted })
    }
}

impl Filter {
    /// A filter of which nothing is spent.
    ///
    /// # Errors
    /// If the budget is not a number from 1e-100 to 1e100, or the order not above 1.
    pub fn new(budget: FilterBudget) -> Result<Self, AccountingError> {
        Ok(Filter { budget: budget.checked()?, spent: Spent::default(), admitted: 0 })
    }

    /// Admits an event and counts its cost. The release may be made if, and only if, this returns
    /// `Ok`.
    ///
    /// # Errors
    /// If it does not fit, or cannot be charged in this currency. The filter is then as it was.
    pub fn admit(&mut self, event: &Event) -> Result<(), Refusal> {
        let asked = self.budget.cost(event)?;
        let budget = self.budget.amount();
        let refusal = Refusal::Exhausted { asked, remaining: self.remaining(), budget };
        let spent = self
            .spent
            .with(asked)
            .filter(|spent| spent.is_within(budget))
            .ok_or_else(|| refusal.clone())?;
        self.admitted = self.admitted.checked_add(1).ok_or(refusal)?;
        self.spent = spent;
        Ok(())
    }

    /// The budget.
    pub fn budget(&self) -> FilterBudget {
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

    /// An upper bound on the `epsilon`, at a `delta`, of everything that this filter will ever
    /// admit: that of the whole budget.
    ///
    /// What is spent so far must not be used instead: to stop there is a choice made from the
    /// answers. (For the pure budget it may; an [`crate::Odometer`] does that for the others.)
    ///
    /// # Errors
    /// If a `mu` is out of range.
    pub fn epsilon(&self, delta: Delta) -> Result<f64, AccountingError> {
        let at = delta.get();
        Ok(match self.budget {
            FilterBudget::Pure { epsilon } => epsilon,
            FilterBudget::ZeroConcentrated { rho } => loss_of_zero_concentrated(rho, at),
            // A divergence does not decrease with the order, so the budget bounds those of all
            // lower orders.
            FilterBudget::Renyi { order, divergence } => {
                loss_up_to_order(sub_down(order, 1.0), divergence, at)
            }
            FilterBudget::Gaussian { mu } => {
                let whole = Composition::new(&[Event::Gaussian { sigma: 1.0, sensitivity: mu }])?;
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

    fn budgets() -> [FilterBudget; 4] {
        [
            FilterBudget::Pure { epsilon: 1.0 },
            FilterBudget::ZeroConcentrated { rho: 0.3 },
            FilterBudget::Renyi { order: 8.0, divergence: 2.0 },
            FilterBudget::Gaussian { mu: 0.7 },
        ]
    }

    /// An event that costs about this much in the currency.
    fn costing(budget: FilterBudget, cost: f64) -> Event {
        match budget {
            FilterBudget::Pure { .. } => Event::Approximate { epsilon: cost, delta: 0.0 },
            FilterBudget::ZeroConcentrated { .. } => Event::ZeroConcentrated { rho: cost },
            FilterBudget::Renyi { order, .. } => Event::ZeroConcentrated { rho: cost / order },
            FilterBudget::Gaussian { .. } => {
                Event::Gaussian { sigma: 1.0, sensitivity: cost.sqrt() }
            }
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
            assert!(
                filter.spent() <= budget.amount() && filter.remaining() <= 1.1 * cost,
                "{filter:?}"
            );
            for _ in 0..2 {
                let _ = filter.admit(&event);
            }
            assert!(filter.spent() <= budget.amount() && filter.admitted() <= u64::from(count) + 1);
        }
    }

    #[test]
    fn a_million_millionths() {
        let mut filter = Filter::new(FilterBudget::Pure { epsilon: 1.0 }).expect("valid");
        let event = Event::Approximate { epsilon: 1e-6, delta: 0.0 };
        // 1e-6 as an f64 is a little below a millionth, so all fit, and no more.
        for _ in 0..1_000_000 {
            filter.admit(&event).expect("fits");
        }
        let refusal = filter.admit(&event).expect_err("spent");
        assert!(
            matches!(refusal, Refusal::Exhausted { remaining, .. } if remaining < 1e-16),
            "{refusal}"
        );
    }

    #[test]
    fn a_refusal_charges_nothing_and_names_the_amounts() {
        for budget in budgets() {
            let mut filter = Filter::new(budget).expect("valid");
            filter.admit(&costing(budget, 0.75 * budget.amount())).expect("fits");
            let before = filter.clone();
            let refusal =
                filter.admit(&costing(budget, 0.5 * budget.amount())).expect_err("too much");
            let message = refusal.to_string();
            assert!(
                message.starts_with("the release costs") && message.contains("remains"),
                "{message}"
            );
            assert_eq!(filter, before);
            let guarantee = Event::Approximate { epsilon: 0.01, delta: 1e-9 };
            assert!(matches!(filter.admit(&guarantee), Err(Refusal::NotCovered(_))), "{budget:?}");
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
            assert_eq!(
                serde_json::from_str::<Filter>(&text).expect("round trip"),
                filter,
                "{text}"
            );
        }
        let stored = |currency: &str, epsilon: f64, high: f64, admitted: u64| {
            format!(
                r#"{{"budget":{{"currency":"{currency}","epsilon":{epsilon:?}}},
                    "spent":{{"high":{high:?},"low":0.0}},"admitted":{admitted}}}"#
            )
        };
        assert!(serde_json::from_str::<Filter>(&stored("pure", 1.0, 0.5, 1)).is_ok());
        let hostile = [
            stored("pure", 1.0, 1.5, 3),
            stored("pure", 1.0, 0.5, 0),
            stored("pure", -1.0, 0.0, 0),
            stored("pure", 1.0, -0.5, 1),
            stored("gold", 1.0, 0.0, 0),
            r#"{"budget":{"currency":"pure","epsilon":1.0},"admitted":0}"#.into(),
        ];
        for text in hostile {
            assert!(serde_json::from_str::<Filter>(&text).is_err(), "{text}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Filter::new(FilterBudget::Pure { epsilon: bad }).is_err());
            assert!(Filter::new(FilterBudget::ZeroConcentrated { rho: bad }).is_err());
            assert!(Filter::new(FilterBudget::Gaussian { mu: bad }).is_err());
            assert!(Filter::new(FilterBudget::Renyi { order: bad, divergence: 1.0 }).is_err());
        }
    }

    #[test]
    fn the_whole_budget_converts() {
        let delta = Delta::new(1e-6).expect("valid");
        let at = |budget| Filter::new(budget).expect("valid").epsilon(delta).expect("in range");
        assert_eq!(at(FilterBudget::Pure { epsilon: 0.4 }), 0.4);
        // One Gaussian with mu = 1 within each of the three: the exact figure is the least.
        let exact = at(FilterBudget::Gaussian { mu: 1.0 });
        let zero_concentrated = at(FilterBudget::ZeroConcentrated { rho: 0.5 });
        let renyi = at(FilterBudget::Renyi { order: 6.0, divergence: 3.0 });
        assert!(
            exact < zero_concentrated
                && zero_concentrated <= renyi
                && renyi < 1.02 * zero_concentrated
        );
        // The formula at the order itself.
        let formula = 3.0 + (5.0f64 / 6.0).ln() + (1e6f64.ln() - 6f64.ln()) / 5.0;
        assert!(renyi <= formula * (1.0 + 1e-14) && renyi > 0.99 * formula, "{renyi} {formula}");
    }

    /// The example in the documentation of [`FilterBudget`].
    #[test]
    fn composed_profiles_are_no_filter() {
        let response = Event::RandomizedResponse { epsilon: 1.0, categories: 2 };
        let delta = |events: &[Event]| {
            let composition = Composition::new(events).expect("valid");
            OptimalComposition
                .delta(&composition, Epsilon::new(1.0).expect("valid"))
                .expect("covered")
        };
        let first = delta(&[response.clone(), response.clone()]);
        let tells_all = first.lower();
        let second = delta(&[response, Event::Approximate { epsilon: 0.0, delta: tells_all }]);
        let p = 1f64.exp() / (1.0 + 1f64.exp());
        // Outcomes of the adaptive run: probability under each data set, and both guarantees
        // written out.
        let (q, r, d) = (1.0 - p, 1.0 - p, tells_all);
        let outcomes = [
            (p * p, q * q),
            (p * r, q * p),
            (q * d, 0.0),
            (q * (1.0 - d), p * (1.0 - d)),
            (0.0, p * d),
        ];
        let total: f64 = outcomes.iter().map(|outcome| outcome.0).sum();
        assert!((total - 1.0).abs() < 1e-15);
        let run: f64 =
            outcomes.iter().map(|(one, other)| (one - 1f64.exp() * other).max(0.0)).sum();
        assert!(
            (first.upper() - 0.338).abs() < 1e-3 && second.upper() <= first.upper() * (1.0 + 1e-12)
        );
        assert!((run - 0.429).abs() < 1e-3 && run > 1.25 * first.upper(), "{run}");
    }
}
