//! Where the classical standard deviations stop being private.
//!
//! With `a = sqrt(2 ln(c/delta))` and `sigma = a D/epsilon`, the exact delta is
//! `P(epsilon, a) = Phi(epsilon/2a - a) - e^epsilon Phi(-epsilon/2a - a)`.
//!
//! - It increases with epsilon: with `z = epsilon/2a + a` its derivative is
//!   `e^epsilon (phi(z)/a - Phi(-z))`, and `Phi(-z) <= phi(z)/z < phi(z)/a`. So for each delta
//!   there is one epsilon up to which the mechanism keeps its guarantee, and beyond which it does
//!   not.
//! - It falls with `a`, more noise at the same epsilon, and so increases with delta. Hence
//!   `P(epsilon, a(delta)) <= P(epsilon, a(high)) <= low <= delta` for all delta from `low` to
//!   `high` as soon as the inequality in the middle is proved: finitely many of them prove that the
//!   mechanism is private at this epsilon for every delta, and with the first item at every smaller
//!   epsilon.

use super::profile::GaussianProfile;
use crate::{Delta, MechanismError};
use reticent_numerics::{Bounds, Enclosure, require};

/// The least epsilon at which a classical standard deviation is not private, over all deltas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassicalFailure {
    /// Below the lower bound it is private for every delta; at the upper bound it is not, at
    /// [`ClassicalFailure::delta`].
    pub epsilon: Bounds,
    /// A delta at which it fails.
    pub delta: f64,
}

/// The largest loss that is looked at.
const LARGEST: f64 = 700.0;

/// The least delta that this library accepts.
const LEAST_DELTA: f64 = 1e-300;

/// How far below the failure that was found privacy is proved, as a share of it. Ten times nearer
/// takes three times as long.
const NEAR: f64 = 1e-7;

/// The epsilon up to which `sigma = sqrt(2 ln(constant/delta)) D/epsilon` is
/// `(epsilon, delta)`-differentially private, and beyond which it is not: constant 2 for Dwork et
/// al. 2006, 1.25 for Dwork and Roth 2014. The bounds reach to infinity where it holds up to 700.
///
/// # Errors
/// If the constant is not a number from 1 to 1e6.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Delta, classical_limit};
/// let limit = classical_limit(1.25, Delta::new(1e-5)?)?;
/// assert!((limit.estimate() - 8.4197713015363407).abs() < 1e-10);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
pub fn classical_limit(constant: f64, delta: Delta) -> Result<Bounds, MechanismError> {
    let delta = delta.get();
    let real = |epsilon: f64| real_delta(valid(constant)?, delta, epsilon);
    if real(LARGEST)?.lower() <= delta {
        let proved = if real(LARGEST)?.upper() <= delta { LARGEST } else { 0.0 };
        return Ok(Bounds::new(proved, f64::INFINITY));
    }
    let boundary = |is_low: &dyn Fn(Bounds) -> bool| -> Result<(f64, f64), MechanismError> {
        let (mut low, mut high) = (0.0, LARGEST);
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return Ok((low, high));
            }
            if is_low(real(middle)?) { low = middle } else { high = middle }
        }
    };
    let (kept, _) = boundary(&|real| real.upper() <= delta)?;
    let (_, failed) = boundary(&|real| real.lower() <= delta)?;
    Ok(Bounds::new(kept, failed.max(kept)))
}

/// The least epsilon at which that standard deviation fails for some delta from 1e-300 to 1,
/// certified from both sides.
///
/// # Errors
/// If the constant is not a number from 1 to 1e6, or it does not fail, or nothing is proved.
pub fn classical_failure(constant: f64) -> Result<ClassicalFailure, MechanismError> {
    let constant = valid(constant)?;
    // The limit falls and then rises with delta: a search by golden section in the logit of delta,
    // which is a guess; the rest is proof.
    let of_logit = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    let limit = |logit: f64| {
        classical_limit(constant, Delta::new(of_logit(logit))?).map(|limit| limit.upper())
    };
    let (mut low, mut high) = (-20.0, 20.0);
    let share = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..60 {
        let (first, second) = (high - share * (high - low), low + share * (high - low));
        if limit(first)? < limit(second)? { high = second } else { low = first }
    }
    let delta = of_logit(0.5 * (low + high));
    let failed = classical_limit(constant, Delta::new(delta)?)?.upper();
    let not_proved = |reason: String| MechanismError::NotCertified {
        what: "a classical standard deviation",
        reason,
    };
    if !failed.is_finite() {
        return Err(not_proved("no failure was found".into()));
    }
    let kept = failed * (1.0 - NEAR);
    if !is_private_everywhere(constant, kept)? {
        return Err(not_proved(format!("it fails below epsilon = {kept} too")));
    }
    Ok(ClassicalFailure { epsilon: Bounds::new(kept, failed), delta })
}

/// Whether `P(epsilon, a(delta)) <= delta` is proved for every delta from 1e-300 to 1.
fn is_private_everywhere(constant: f64, epsilon: f64) -> Result<bool, MechanismError> {
    let mut low = LEAST_DELTA;
    while low < 1.0 {
        // P grows about in proportion to delta, where it is small beside it.
        let here = real_delta(constant, low, epsilon)?.upper();
        let mut factor = (low / here).min(1e10);
        let next = loop {
            let high = (low * factor).min(1.0);
            if high <= low {
                return Ok(false);
            }
            if real_delta(constant, high, epsilon)?.upper() <= low {
                break high;
            }
            factor = factor.sqrt();
        };
        low = next;
    }
    Ok(true)
}

fn valid(constant: f64) -> Result<f64, MechanismError> {
    Ok(require(
        constant > 1.0 && constant <= 1e6,
        "constant",
        constant,
        "a number above 1 and at most 1e6",
    )?)
}

/// The exact delta of the standard deviation that is meant for `delta`.
fn real_delta(constant: f64, delta: f64, epsilon: f64) -> Result<Bounds, MechanismError> {
    let ratio = classical_ratio(constant, epsilon, delta);
    let at = |ratio: f64| GaussianProfile::of_quotient(ratio, 1.0).delta(epsilon);
    Ok(Bounds::new(at(ratio.upper())?.lower(), at(ratio.lower())?.upper()))
}

/// `sigma/D = sqrt(2 ln(constant/delta))/epsilon`.
pub(super) fn classical_ratio(constant: f64, epsilon: f64, delta: f64) -> Bounds {
    let logarithm = (Bounds::exact(constant) / Bounds::exact(delta)).ln();
    logarithm.times_power_of_two(1).sqrt() / Bounds::exact(epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One number for the project: it was 3.79 in one document, and 4.702 in another, whose grid
    /// stopped at delta = 0.4.
    #[test]
    fn the_least_epsilon_at_which_a_classical_sigma_fails() {
        let of_2014 = classical_failure(1.25).expect("proved");
        assert!(of_2014.epsilon.relative_width() < 2e-7, "{of_2014:?}");
        // By mpmath at 50 digits: reference/classical_failure.json.
        assert!((of_2014.epsilon.upper() - LEAST_2014.0).abs() < 1e-6, "{of_2014:?}");
        assert!((of_2014.delta - LEAST_2014.1).abs() < 1e-3, "{of_2014:?}");
        let of_2006 = classical_failure(2.0).expect("proved");
        assert!((of_2006.epsilon.upper() - LEAST_2006.0).abs() < 1e-6, "{of_2006:?}");
        assert!((of_2006.delta - LEAST_2006.1).abs() < 1e-3, "{of_2006:?}");
        // The proof is one: a little above the failure it does not go through.
        assert_eq!(is_private_everywhere(1.25, of_2014.epsilon.upper() * 1.001), Ok(false));
        for bad in [f64::NAN, 1.0, 0.0, -2.0, f64::INFINITY] {
            assert!(classical_failure(bad).is_err(), "{bad}");
        }
    }

    /// Epsilon and delta.
    const LEAST_2014: (f64, f64) = (3.786_860_193_160_808_5, 0.896_233_821_333_989_3);
    const LEAST_2006: (f64, f64) = (6.367_674_034_499_209, 0.599_947_522_154_046_4);
}
