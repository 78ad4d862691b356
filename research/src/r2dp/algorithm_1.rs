//! Algorithm 1: the best noise of a family of random scales for a bound on the error.

use crate::ReproductionError;
use reticent_choice::Metric;
use reticent_choice::random_scale::{Family, optimise};
use reticent_mechanisms::{Epsilon, Neighbours, Sensitivity};

/// The family that the paper's Algorithm 1 searches.
pub(super) const NAME: &str = "R2DP, combined (Algorithm 1)";

/// `P[|error| <= bound]` of the best member of a family for one number of sensitivity 1: a lower
/// bound.
pub(super) fn usefulness(
    family: Family,
    bound: f64,
    epsilon: f64,
) -> Result<f64, ReproductionError> {
    let one = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
    let found = optimise(family, &Metric::Usefulness(bound), &one, Epsilon::new(epsilon)?)
        .map_err(|_| ReproductionError::NotComputed("the best random scale of a family"))?;
    Ok(1.0 - found.error.upper())
}
