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

/// The least ratio at which a decreasing figure is proved to be at most `limit`.
///
/// Newton's method on the logarithm of the figure comes within a relative `1e-10` of the crossing in a handful of steps from
/// `start`; then [`least_at_most`] finds the least proved number to a relative `4e-16`, from certified evaluations alone. Newton's
/// result is never trusted: where it misled, the search covers all positive numbers.
pub(super) fn least_ratio(
    what: &'static str,
    limit: f64,
    start: f64,
    sample: impl Fn(f64) -> Sample,
) -> Result<f64, MechanismError> {
    let mut ratio = start;
    for _ in 0..60 {
        let Sample { value, slope } = sample(ratio);
        let value = value.estimate();
        // d ln(ratio) = -ln(value/limit) / (slope/value); a step is at most a factor e^2.
        let step = (-(value / limit).ln() * value / slope).clamp(-2.0, 2.0);
        if step.is_nan() {
            break;
        }
        ratio *= step.exp();
        // The convergence is quadratic: the next step would be below 1e-11.
        if step.abs() < 1e-6 {
            break;
        }
    }
    let certified = |ratio: f64| sample(ratio).value;
    let close = Range::between(ratio * (1.0 - 1e-10), ratio * (1.0 + 1e-10)).to_within(4e-16);
    // A result at the lower end would not be known to be the least.
    match least_at_most(certified, limit, close) {
        Ok(least) if least > ratio * (1.0 - 1e-10) => Ok(least),
        _ => least_at_most(certified, limit, Range::POSITIVE.bracket_from(start))
            .map_err(|error| MechanismError::not_certified(what, &error)),
    }
}
