//! The exact sum of what was charged.

use crate::{Charge, LedgerError, Limits};
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
/// The negative sums are kept: of a budget `b` there remains `b + (-sum)`, rounded down, and what is spent is `-(-sum rounded down)`, rounded up. A charge fits if what remains after it, an exact sum, is not negative; so
/// a budget of 1e100 notices a charge of 1e-100.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent {
    minus_cost: ExactSum,
    minus_delta: ExactSum,
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
        let refusal = |unit, asked, remaining, limit| Err(LedgerError::Exhausted { unit, asked, remaining, limit });
        // No bound of an exact sum is a NaN: a charge that is one makes it minus infinity.
        if after.cost < 0.0 {
            return refusal(limits.unit(), charge.cost, before.cost, limits.amount());
        }
        if after.delta < 0.0 {
            return refusal("delta", charge.delta, before.delta, limits.selection_delta());
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_accounting::Budget;

    fn limits(epsilon: f64, delta: f64) -> Limits {
        Limits::new(Budget::Pure { epsilon }, delta).expect("valid")
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
        // The f64 0.1 exceeds a tenth by 5.55e-18, so ten of them exceed 1; a sum of f64 would say 0.9999999999999999.
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
    fn both_amounts_are_limits_and_a_refusal_names_which() {
        let both = limits(1.0, 1e-6);
        let message = |charge| Spent::default().with(&both, charge).expect_err("too much").to_string();
        assert!(message(Charge { cost: 2.0, delta: 0.0 }).contains("2e0 epsilon, but 1e0 of 1e0 remains"));
        assert!(message(Charge { cost: 0.5, delta: 1e-5 }).contains("1e-5 delta, but 1e-6 of 1e-6 remains"));
        for hostile in [f64::NAN, f64::INFINITY] {
            assert!(Spent::default().with(&both, cost(hostile)).is_err());
        }
        assert_eq!(Spent::default().total(), Amounts { cost: 0.0, delta: 0.0 });
        assert!(Spent::default().total().cost.is_sign_positive());
    }
}
