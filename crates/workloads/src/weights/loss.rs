//! How much loss a share of a budget buys.

use crate::WorkloadError;
use reticent_accounting::{Filter, FilterBudget};
use reticent_events::Event;
use reticent_mechanisms::Epsilon;

/// The pure loss that a share of the budget pays for, where the mechanism's cost in zCDP is
/// `epsilon^2/divisor`, or less. An estimate: what is admitted is decided by the filter.
///
/// # Errors
/// If the budget is in a currency in which pure events have no simple cost, or too small.
pub(crate) fn loss_of_share(
    budget: FilterBudget,
    share: f64,
    divisor: f64,
) -> Result<Epsilon, WorkloadError> {
    // Costs are rounded up, once for every event.
    let share = share * (1.0 - 1e-9);
    let epsilon = match budget {
        FilterBudget::Pure { epsilon } => share * epsilon,
        FilterBudget::ZeroConcentrated { rho } => (divisor * share * rho).sqrt(),
        FilterBudget::Renyi { .. } | FilterBudget::Gaussian { .. } => {
            return Err(WorkloadError::Workload(
                "multiplicative weights are charged as pure losses or in zCDP: give the budget as \
                 `epsilon` or as `rho`"
                    .into(),
            ));
        }
    };
    Ok(Epsilon::positive(epsilon.min(50.0))?)
}

/// Charges for a release that is about to be made.
///
/// # Errors
/// If the budget does not allow it. Nothing is charged then, and nothing may be released.
pub(crate) fn charge(filter: &mut Filter, event: &Event) -> Result<(), WorkloadError> {
    filter.admit(event).map_err(|_| {
        WorkloadError::Exhausted("the budget of the session does not allow another measurement")
    })
}
