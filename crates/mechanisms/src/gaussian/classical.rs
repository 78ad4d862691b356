//! The classical standard deviations, where they keep their guarantee.

use super::classical_limit::classical_ratio;
use super::profile::GaussianProfile;
use crate::MechanismError;
use reticent_numerics::Bounds;

/// `sigma/D = sqrt(2 ln(constant/delta))/epsilon`: constant 2 for Dwork et al. 2006, 1.25 for Dwork
/// and Roth 2014.
///
/// The published proofs cover `epsilon <= 1` only (erratum N1: Theorem 3 of the lecture notes omits
/// it). What counts here is the exact profile: it shows that the forms hold up to an `epsilon` of
/// 8.42 (2014) at `delta = 1e-5`, for example, and fail beyond.
///
/// # Errors
/// Where the exact `delta` is not proved to be within the budget; the message says what it really
/// is.
pub(super) fn classical(
    name: &str,
    constant: f64,
    epsilon: f64,
    delta: f64,
) -> Result<Bounds, MechanismError> {
    let ratio = classical_ratio(constant, epsilon, delta);
    let real = GaussianProfile::of_quotient(ratio.upper(), 1.0).delta(epsilon)?;
    if real.upper() <= delta {
        return Ok(ratio);
    }
    Err(MechanismError::Refused(format!(
        "the method `{name}` is not (epsilon, delta)-differentially private at epsilon = \
         {epsilon}, delta = {delta:e}: \
         its noise would really give delta = {:.6e}; use `analytic`",
        real.upper()
    )))
}
