//! How much may be spent.

use crate::LedgerError;
use reticent_accounting::{Filter, FilterBudget};
use reticent_numerics::digits::exact;
use reticent_numerics::{OutOfRange, require};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much may be spent: a budget in the currency of a filter, and an amount of `delta` for
/// guarantees that have one, such as the selection of groups.
///
/// # Theorem
/// Releases that are each `delta_i`-approximately `rho_i`-zero-concentrated, all chosen from
/// earlier answers, are together `sum delta_i`-approximately `sum rho_i`-zero-concentrated if the
/// limits of both sums are fixed beforehand (Whitehouse, Ramdas, Rogers, Wu, *Fully adaptive
/// composition in differential privacy*, 2023, Theorem 1). With a budget `rho` that converts to
/// `(epsilon, delta')`, everything released through a ledger is
/// `(epsilon, delta' + selection_delta)`-differentially private. For pure budgets the sums of
/// `epsilon_i` and `delta_i` bound in the same way (Rogers, Roth, Ullman, Vadhan, *Privacy
/// odometers and filters*, 2016).
///
/// How a policy's `delta` is divided between the conversion and the selection is the caller's, and
/// fixed: a ledger opens under the limits it was made with and no others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Limits {
    currency: Currency,
    amount: f64,
    selection_delta: f64,
}

/// In what a budget is counted: sums of approximate guarantees are proved for these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Currency {
    Epsilon,
    Rho,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    budget: FilterBudget,
    selection_delta: f64,
}

impl From<Limits> for Stored {
    fn from(limits: Limits) -> Self {
        Stored { budget: limits.budget(), selection_delta: limits.selection_delta }
    }
}

impl TryFrom<Stored> for Limits {
    type Error = LedgerError;

    fn try_from(stored: Stored) -> Result<Self, LedgerError> {
        Limits::new(stored.budget, stored.selection_delta)
    }
}

impl Limits {
    /// A budget, and what selections may spend; 0 where there are none.
    ///
    /// # Errors
    /// If the budget is in another currency than pure losses or zero-concentration (sums of
    /// approximate guarantees are proved for these two), or not a number from 1e-100 to 1e100, or
    /// `selection_delta` is neither 0 nor a normal number below 1.
    pub fn new(budget: FilterBudget, selection_delta: f64) -> Result<Self, LedgerError> {
        let (currency, amount) = match budget {
            FilterBudget::Pure { epsilon } => (Currency::Epsilon, epsilon),
            FilterBudget::ZeroConcentrated { rho } => (Currency::Rho, rho),
            FilterBudget::Gaussian { .. } | FilterBudget::Renyi { .. } => {
                let accepted = "a pure or a zero-concentrated budget";
                let value = format!("{budget:?}");
                return Err(OutOfRange { name: "budget", value, accepted }.into());
            }
        };
        Filter::new(budget)?;
        let is_share =
            selection_delta == 0.0 || (f64::MIN_POSITIVE..1.0).contains(&selection_delta);
        let accepted = "0, or a number from 2.3e-308 to 1, not 1 itself";
        require(is_share, "selection_delta", selection_delta, accepted)?;
        // A negative zero becomes the ordinary one.
        Ok(Limits { currency, amount, selection_delta: selection_delta + 0.0 })
    }

    /// The budget.
    pub fn budget(&self) -> FilterBudget {
        self.budget_of(self.amount)
    }

    /// Another amount of the same currency.
    pub(crate) fn budget_of(&self, amount: f64) -> FilterBudget {
        match self.currency {
            Currency::Epsilon => FilterBudget::Pure { epsilon: amount },
            Currency::Rho => FilterBudget::ZeroConcentrated { rho: amount },
        }
    }

    /// What the selection of groups may spend.
    pub fn selection_delta(&self) -> f64 {
        self.selection_delta
    }

    /// The budget as a number of its currency.
    pub fn amount(&self) -> f64 {
        self.amount
    }

    /// In what it is counted.
    pub fn unit(&self) -> CostUnit {
        match self.currency {
            Currency::Epsilon => CostUnit::Epsilon,
            Currency::Rho => CostUnit::Rho,
        }
    }
}

/// In what a cost is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostUnit {
    /// A pure loss.
    Epsilon,
    /// Zero-concentration.
    Rho,
    /// The `delta` of selections, beside either.
    Delta,
}

impl CostUnit {
    /// Its name in messages and in stored answers.
    pub fn name(self) -> &'static str {
        match self {
            CostUnit::Epsilon => "epsilon",
            CostUnit::Rho => "rho",
            CostUnit::Delta => "delta",
        }
    }
}

impl fmt::Display for CostUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.unit(), exact(self.amount()))?;
        if self.selection_delta > 0.0 {
            write!(f, " and delta = {} for selections", exact(self.selection_delta))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_limits_are_refused_by_name() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1e300] {
            let message = Limits::new(FilterBudget::Pure { epsilon: bad }, 0.0)
                .expect_err("hostile")
                .to_string();
            assert!(message.contains("epsilon"), "{message}");
            let message = Limits::new(FilterBudget::ZeroConcentrated { rho: bad }, 0.0)
                .expect_err("hostile")
                .to_string();
            assert!(message.contains("rho"), "{message}");
        }
        for bad in [-1e-9, f64::NAN, f64::INFINITY, 1.0, 2.0, 5e-324] {
            let message = Limits::new(FilterBudget::Pure { epsilon: 1.0 }, bad)
                .expect_err("hostile")
                .to_string();
            assert!(message.contains("selection_delta"), "{message}");
        }
        for other in [
            FilterBudget::Gaussian { mu: 1.0 },
            FilterBudget::Renyi { order: 2.0, divergence: 1.0 },
        ] {
            assert!(Limits::new(other, 0.0).is_err());
        }
    }

    #[test]
    fn limits_round_trip_and_hostile_text_is_refused() {
        let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 0.1 }, 1e-7).expect("valid");
        let text = serde_json::to_string(&limits).expect("plain data");
        assert_eq!(
            text,
            r#"{"budget":{"currency":"zero-concentrated","rho":0.1},"selection_delta":1e-7}"#
        );
        assert_eq!(serde_json::from_str::<Limits>(&text).expect("round trip"), limits);
        for (from, to) in [
            ("0.1", "-0.1"),
            ("0.1", "1e999"),
            ("1e-7", "1.5"),
            ("rho", "epsilon"),
            ("}}", "}"),
            ("1e-7", "null"),
        ] {
            assert!(
                serde_json::from_str::<Limits>(&text.replace(from, to)).is_err()
                    || !text.contains(from),
                "{to}"
            );
        }
        let negative_zero = Limits::new(FilterBudget::Pure { epsilon: 1.0 }, -0.0).expect("zero");
        assert!(negative_zero.selection_delta().is_sign_positive());
    }
}
