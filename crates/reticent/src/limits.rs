//! The limits of the ledger, from the budget of the policy.

use reticent_accounting::{Filter, FilterBudget};
use reticent_ledger::{LedgerError, Limits};
use reticent_mechanisms::Delta;
use reticent_numerics::rounding::{mul_down, sub_down};
use reticent_numerics::{OutOfRange, require};
use reticent_policy::{Accounting, PolicyBudget};

/// The `delta` of the conversion from zero-concentration: half of the policy's, rounded down. The
/// other half is for selections of groups.
pub(crate) fn conversion_delta(budget: &PolicyBudget) -> Option<f64> {
    let half = mul_down(budget.delta(), 0.5);
    (budget.accounting() == Accounting::ZeroConcentrated && half >= f64::MIN_POSITIVE)
        .then_some(half)
}

/// How much may be spent under a policy.
///
/// Under basic accounting `epsilon`s are added, and so are `delta`s: the filter of Rogers, Roth,
/// Ullman and Vadhan (2016). Under zero-concentrated accounting the budget is the greatest `rho`
/// that converts to the policy's `epsilon` at half of its `delta`; the other half is kept for the
/// selection of groups.
///
/// # Direction
/// `rho` is the lower end of a bisection, cut to six decimal digits: a smaller budget, never a
/// larger one, and the same one on every machine.
///
/// # Errors
/// If the budget is beyond what can be counted.
pub fn limits(budget: &PolicyBudget) -> Result<Limits, LedgerError> {
    let Some(half) = conversion_delta(budget) else {
        return Limits::new(FilterBudget::Pure { epsilon: budget.epsilon() }, budget.delta());
    };
    let delta = Delta::new(half).map_err(|_| {
        OutOfRange::new("budget.delta", budget.delta(), "0, or a number from 1e-299 to below 1")
    })?;
    let fits = |rho: f64| {
        Filter::new(FilterBudget::ZeroConcentrated { rho })
            .and_then(|filter| filter.epsilon(delta))
            .is_ok_and(|epsilon| epsilon <= budget.epsilon())
    };
    // rho <= epsilon always, because the conversion adds to rho.
    let (mut low, mut high) = (1e-99_f64, budget.epsilon().min(1e99));
    require(
        fits(low),
        "budget.epsilon",
        budget.epsilon(),
        "a larger loss, or a larger delta: nothing can be released under this budget",
    )?;
    // In logarithms: the answer may be anywhere between 1e-99 and epsilon.
    for _ in 0..200 {
        let middle = (low.ln() + (high.ln() - low.ln()) / 2.0).exp();
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut rho = six_digits(low);
    while rho > low || !fits(rho) {
        rho = mul_down(rho, 1.0 - 1e-6);
    }
    Limits::new(FilterBudget::ZeroConcentrated { rho }, sub_down(budget.delta(), half))
}

/// The number cut to six decimal digits.
fn six_digits(value: f64) -> f64 {
    // Formatting rounds to nearest; the caller moves down where that went up.
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_policy::Policy;

    fn budget(text: &str) -> PolicyBudget {
        let policy = format!(
            "[budget]\n{text}\n[tables.t]\nsource = \"t.csv\"\neach_row = \
             true\n[tables.t.columns.x]\ntype = \"integer\"\n"
        );
        *Policy::parse(&policy, "policy.toml".as_ref()).expect("valid").budget()
    }

    #[test]
    fn a_pure_budget_is_counted_as_it_is() {
        let found = limits(&budget("epsilon = 0.3")).expect("valid");
        assert_eq!(found, Limits::new(FilterBudget::Pure { epsilon: 0.3 }, 0.0).expect("valid"));
    }

    #[test]
    fn basic_accounting_adds_epsilons_and_deltas() {
        let found = limits(&budget("epsilon = 2\ndelta = 1e-6")).expect("valid");
        assert_eq!(found, Limits::new(FilterBudget::Pure { epsilon: 2.0 }, 1e-6).expect("valid"));
    }

    #[test]
    fn zero_concentration_converts_to_at_most_the_policys_guarantee_and_nearly_to_it() {
        for (epsilon, delta) in [(0.01, 1e-9), (1.0, 1e-6), (3.0, 1e-5), (50.0, 1e-12), (0.5, 0.25)]
        {
            let found = limits(&budget(&format!(
                "epsilon = {epsilon}\ndelta = {delta}\naccounting = \"zero-concentrated\""
            )))
            .expect("valid");
            let FilterBudget::ZeroConcentrated { rho } = found.budget() else {
                unreachable!("a delta is counted in rho")
            };
            let at = |rho| {
                let filter = Filter::new(FilterBudget::ZeroConcentrated { rho }).expect("valid");
                filter.epsilon(Delta::new(delta / 2.0).expect("valid")).expect("converts")
            };
            assert!(
                at(rho) <= epsilon && at(rho * 1.0001) > epsilon,
                "{epsilon} {delta}: {}",
                at(rho)
            );
            assert!(found.selection_delta() + delta / 2.0 <= delta * (1.0 + 1e-15));
        }
    }
}
