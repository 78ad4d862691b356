//! The search for the least `sigma/D` within a budget.

use crate::MechanismError;
use reticent_numerics::Bounds;
use reticent_numerics::root::{Range, least_at_most};

/// A certified figure and how fast it falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bounds on the figure.
    pub(super) value: Bounds,
    /// Its derivative with respect to the logarithm of the ratio; an estimate, which only steers.
    pub(super) slope: f64,
}

/// The least ratio at which a decreasing figure is proved to be at most `limit`, to a relative
/// `1e-13`.
///
/// Newton's method on the logarithm of the figure's upper bound comes to the crossing in a handful
/// of steps from `start`; then the ratio is raised by units in the last place until the figure
/// there is proved. That a relative `1e-13` less is too little is proved as well. Newton's result
/// is never trusted: where one of the proofs fails, as near `delta = 1`, where the last bit of the
/// figure is worth more than that, [`least_at_most`] searches all positive numbers.
pub(super) fn least_ratio(
    what: &'static str,
    limit: f64,
    start: f64,
    sample: impl Fn(f64) -> Sample,
) -> Result<f64, MechanismError> {
    let newton = newton(limit, start, &sample);
    for doubling in 0..8 {
        let ratio = newton * (1.0 + f64::EPSILON * f64::from((1 << doubling) - 1));
        if sample(ratio).value.upper() <= limit {
            if sample(ratio * (1.0 - 1e-13)).value.upper() > limit {
                return Ok(ratio);
            }
            break;
        }
    }
    least_at_most(|ratio| sample(ratio).value, limit, Range::POSITIVE.bracket_from(start))
        .map_err(|error| MechanismError::not_certified(what, &error))
}

/// Where the upper bound of the figure crosses `limit`, without proof.
fn newton(limit: f64, start: f64, sample: impl Fn(f64) -> Sample) -> f64 {
    let mut ratio = start;
    for _ in 0..60 {
        let Sample { value, slope } = sample(ratio);
        let value = value.upper();
        // d ln(ratio) = -ln(value/limit) / (slope/value), where near the crossing value/limit - 1
        // is exact and the logarithm is not; a step is at most a factor e^2.
        let excess = (value - limit) / limit;
        let logarithm = if excess.abs() < 1e-3 { excess.ln_1p() } else { (value / limit).ln() };
        let step = (-logarithm * value / slope).clamp(-2.0, 2.0);
        if step.is_nan() {
            break;
        }
        ratio *= step.exp();
        // The convergence is quadratic: the next step would be below the last bit.
        if step.abs() < 1e-9 {
            break;
        }
    }
    ratio
}
