//! The exact sum of what was charged.

use crate::{Charge, CostUnit, LedgerError, Limits};
use reticent_numerics::ExactSum;
use serde::{Deserialize, Serialize};

/// What was spent or remains: two amounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// In the currency of the budget.
    pub cost: f64,
    /// Of the `delta` for selections.
    pub delta: f64,
}

/// All charges so far, added without rounding.
///
/// The negative sums are kept: of a budget `b` there remains `b + (-sum)`, rounded down, and what
/// is spent is `-(-sum rounded down)`, rounded up. A charge fits if what remains after it, an exact
/// sum, is not negative; so a budget of 1e100 notices a charge of 1e-100.
///
/// As text each sum is a list of numbers, largest first, that add up to it exactly.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub(crate) struct Spent {
    minus_cost: ExactSum,
    minus_delta: ExactSum,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    cost: Vec<f64>,
    delta: Vec<f64>,
}

impl From<Spent> for Parts {
    fn from(spent: Spent) -> Self {
        // Each part is the sum cut off after 53 bits, so that what is left is 53 bits shorter.
        let parts = |mut minus: ExactSum| {
            let mut parts = Vec::new();
            while minus.lower() < 0.0 {
                let part = -minus.upper();
                minus.add(part);
                parts.push(part);
            }
            parts
        };
        Parts { cost: parts(spent.minus_cost), delta: parts(spent.minus_delta) }
    }
}

impl TryFrom<Parts> for Spent {
    type Error = &'static str;

    fn try_from(parts: Parts) -> Result<Self, &'static str> {
        let mut spent = Spent::default();
        parts.cost.iter().for_each(|part| spent.minus_cost.add(-part));
        parts.delta.iter().for_each(|part| spent.minus_delta.add(-part));
        // One text for one sum: this refuses all but positive finite numbers, too.
        if Parts::from(spent.clone()) == parts { Ok(spent) } else { Err("not the parts of a sum") }
    }
}

impl PartialEq for Spent {
    fn eq(&self, other: &Self) -> bool {
        Parts::from(self.clone()) == Parts::from(other.clone())
    }
}

impl Spent {
    pub(crate) fn add(&mut self, charge: Charge) {
        self.minus_cost.add(-charge.cost);
        self.minus_delta.add(-charge.delta);
    }

    /// What is spent, rounded up.
    pub(crate) fn total(&self) -> Amounts {
        // Adding zero turns the negative zero of an empty sum into the ordinary one.
        Amounts { cost: -self.minus_cost.lower() + 0.0, delta: -self.minus_delta.lower() + 0.0 }
    }

    /// What limits leave, rounded down; negative where they are exceeded.
    fn rest(&self, limits: &Limits) -> Amounts {
        let left = |limit: f64, minus: &ExactSum| {
            let mut sum = minus.clone();
            sum.add(limit);
            sum.lower()
        };
        Amounts {
            cost: left(limits.amount(), &self.minus_cost),
            delta: left(limits.selection_delta(), &self.minus_delta),
        }
    }

    /// What limits leave, rounded down; 0 where nothing is left.
    pub(crate) fn remaining(&self, limits: &Limits) -> Amounts {
        let rest = self.rest(limits);
        Amounts { cost: rest.cost.max(0.0), delta: rest.delta.max(0.0) }
    }

    /// Whether everything so far is within limits.
    pub(crate) fn is_within(&self, limits: &Limits) -> bool {
        let rest = self.rest(limits);
        rest.cost >= 0.0 && rest.delta >= 0.0
    }

    /// The sums with one more charge, if it fits.
    pub(crate) fn with(&self, limits: &Limits, charge: Charge) -> Result<Self, LedgerError> {
        let mut next = self.clone();
        next.add(charge);
        let (after, before) = (next.rest(limits), self.remaining(limits));
        let refusal = |unit, asked, remaining, limit| {
            Err(LedgerError::Exhausted { unit, asked, remaining, limit })
        };
        // No bound of an exact sum is a NaN: a charge that is one makes it minus infinity.
        if after.cost < 0.0 {
            return refusal(limits.unit(), charge.cost, before.cost, limits.amount());
        }
        if after.delta < 0.0 {
            return refusal(CostUnit::Delta, charge.delta, before.delta, limits.selection_delta());
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_accounting::FilterBudget;

    fn limits(epsilon: f64, delta: f64) -> Limits {
        Limits::new(FilterBudget::Pure { epsilon }, delta).expect("valid")
    }

    fn cost(cost: f64) -> Charge {
        Charge { cost, delta: 0.0 }
    }

    #[test]
    fn ten_tenths_are_more_than_one() {
        let one = limits(1.0, 0.0);
        let mut spent = Spent::default();
        for _ in 0..9 {
            spent = spent.with(&one, cost(0.1)).expect("fits");
        }
        // The f64 0.1 exceeds a tenth by 5.55e-18, so ten of them exceed 1; a sum of f64 would say
        // 0.9999999999999999.
        assert!(spent.with(&one, cost(0.1)).is_err());
        let rest = spent.remaining(&one).cost;
        assert!(rest < 0.1 && spent.with(&one, cost(rest)).is_ok());
        assert!(spent.with(&one, cost(rest.next_up())).is_err());
    }

    #[test]
    fn a_charge_that_addition_would_absorb_still_counts() {
        let large = limits(1e100, 0.0);
        let mut spent = Spent::default();
        spent.add(cost(1e-100));
        assert_eq!(spent.remaining(&large).cost, 1e100f64.next_down());
        assert!(spent.with(&large, cost(1e100)).is_err());
        assert!(spent.with(&large, cost(1e100f64.next_down())).is_ok());
        let mut both = spent;
        both.add(cost(1e300));
        assert_eq!(both.total().cost, 1e300f64.next_up());
    }

    #[test]
    fn the_text_is_exact_and_other_texts_of_the_same_sum_are_refused() {
        let mut spent = Spent::default();
        for tenth in [0.1; 7].into_iter().chain([1e300, 5e-324, 1e-100]) {
            spent.add(Charge { cost: tenth, delta: 1e-9 });
        }
        let text = serde_json::to_string(&spent).expect("plain data");
        assert!(
            text.starts_with(r#"{"cost":[1e+300,0.7,8.326672684688674e-17,1e-100,5e-324]"#),
            "{text}"
        );
        let read: Spent = serde_json::from_str(&text).expect("round trip");
        assert_eq!((read.total(), &read), (spent.total(), &spent));
        let mut more = read;
        more.add(cost(5e-324));
        assert_ne!(more, spent);
        assert_eq!(serde_json::to_string(&Spent::default()).ok().as_deref(), Some(EMPTY));
        for bad in ["[0.5,0.5]", "[1,2]", "[-1]", "[0]", "[1e999]", "[null]", "1"] {
            let text = EMPTY.replacen("[]", bad, 1);
            assert!(serde_json::from_str::<Spent>(&text).is_err(), "{text}");
        }
    }

    const EMPTY: &str = r#"{"cost":[],"delta":[]}"#;

    #[test]
    fn both_amounts_are_limits_and_a_refusal_names_which() {
        let both = limits(1.0, 1e-6);
        let message =
            |charge| Spent::default().with(&both, charge).expect_err("too much").to_string();
        assert!(
            message(Charge { cost: 2.0, delta: 0.0 })
                .contains("costs epsilon 2, but 1 of 1 remains")
        );
        assert!(
            message(Charge { cost: 0.5, delta: 1e-5 })
                .contains("costs delta 1e-5, but 1e-6 of 1e-6 remains")
        );
        for hostile in [f64::NAN, f64::INFINITY] {
            assert!(Spent::default().with(&both, cost(hostile)).is_err());
        }
        assert_eq!(Spent::default().total(), Amounts { cost: 0.0, delta: 0.0 });
        assert!(Spent::default().total().cost.is_sign_positive());
    }
}
