//! Whether noise of a given scale keeps a budget that somebody says it keeps.

use crate::{Budget, Mechanism, MechanismError, MechanismSpec, Sensitivity, Stretch};
use reticent_numerics::Bounds;

/// What is true of noise of a given scale, beside what is claimed of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    budget: Budget,
    /// The least delta with which it is private at the epsilon of the claim.
    pub delta: Bounds,
    /// The least epsilon with which it is private at the delta of the claim; the upper bound is
    /// infinite where none is proved up to 700.
    pub epsilon: Bounds,
    /// The scale that would be right: the least that is proved to keep the budget.
    pub least_scale: f64,
}

impl Check {
    /// Whether the claim is true; none where the bounds do not tell.
    pub fn is_private(&self) -> Option<bool> {
        let claimed = claimed_delta(self.budget);
        match self.delta {
            delta if delta.upper() <= claimed => Some(true),
            delta if delta.lower() > claimed => Some(false),
            _ => None,
        }
    }
}

/// Compares noise of a scale that was published with the budget that it is said to keep: which
/// delta it really has at that epsilon, which epsilon at that delta, and which scale would do. For
/// mechanisms whose noise has a scale ([`Stretch::Scale`]).
///
/// # Errors
/// If the mechanism has no scale, a parameter is not accepted, or no scale keeps the budget.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Budget, MechanismSpec, Neighbours, Sensitivity, check};
/// // The formula of 2014 at an epsilon that its proof does not cover.
/// let (epsilon, delta) = (10.0, 1e-5);
/// let sigma = (2.0 * f64::ln(1.25 / delta)).sqrt() / epsilon;
/// let spec: MechanismSpec = "gaussian".parse().expect("as it is written");
/// let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
/// let check = check(&spec, sigma, &sensitivity, Budget::new(epsilon, Some(delta))?)?;
/// assert_eq!(check.is_private(), Some(false));
/// assert!(check.delta.lower() > 2.0 * delta && check.least_scale > sigma);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
pub fn check(
    spec: &MechanismSpec,
    scale: f64,
    sensitivity: &Sensitivity,
    budget: Budget,
) -> Result<Check, MechanismError> {
    if spec.stretch() != Some(Stretch::Scale) {
        return Err(MechanismError::Refused(format!(
            "the {} mechanism has no scale alone that could be checked",
            spec.name()
        )));
    }
    let least_scale = spec.calibrate(sensitivity, budget)?.scale();
    let mechanism = spec.stretched(sensitivity, scale)?;
    let delta = mechanism.delta(budget.epsilon().get())?;
    let epsilon = epsilon_at(&*mechanism, claimed_delta(budget))?;
    Ok(Check { budget, delta, epsilon, least_scale })
}

fn claimed_delta(budget: Budget) -> f64 {
    budget.delta().map_or(0.0, |delta| delta.get())
}

/// The largest loss that a profile is asked for.
const LARGEST: f64 = 700.0;

/// How near the ends of a bracket are looked for, as a share of them.
const NEAR: f64 = 1e-13;

/// Bounds on the least epsilon at which delta is at most `claimed`. Both ends are proved: delta is
/// above it at the lower one, or that is 0, and not above it at the upper one.
fn epsilon_at(mechanism: &dyn Mechanism, claimed: f64) -> Result<Bounds, MechanismError> {
    // The ends of the last step of a bisection: `is_low` was true at the first, or that is 0, and
    // false at the second, or that is infinite.
    let bisect = |is_low: &dyn Fn(Bounds) -> bool| -> Result<(f64, f64), MechanismError> {
        if is_low(mechanism.delta(LARGEST)?) {
            return Ok((LARGEST, f64::INFINITY));
        }
        if !is_low(mechanism.delta(0.0)?) {
            return Ok((0.0, 0.0));
        }
        let (mut low, mut high) = (0.0, LARGEST);
        while high - low > NEAR * high && high > 1e-300 {
            let middle = 0.5 * (low + high);
            if is_low(mechanism.delta(middle)?) { low = middle } else { high = middle }
        }
        Ok((low, high))
    };
    let (lower, _) = bisect(&|delta| delta.lower() > claimed)?;
    let (_, upper) = bisect(&|delta| delta.upper() > claimed)?;
    Ok(Bounds::new(lower, upper.max(lower)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbours;

    fn checked(spec: &str, scale: f64, budget: (f64, Option<f64>)) -> Check {
        let spec: MechanismSpec = spec.parse().expect("as it is written");
        let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let budget = Budget::new(budget.0, budget.1).expect("valid");
        check(&spec, scale, &sensitivity, budget).expect("a mechanism with a scale")
    }

    /// What is right is at the scale itself: not private a little below, private at it.
    #[test]
    fn the_verdict_turns_at_the_least_scale() {
        let claims = [
            ("gaussian", (1.0, Some(1e-6))),
            ("laplace", (0.5, None)),
            ("discrete-laplace", (1.0, None)),
            ("discrete-gaussian", (1.0, Some(1e-5))),
            ("generalized-gaussian order=3", (1.0, Some(1e-6))),
            ("generalized-gaussian order=0.5", (1.0, None)),
        ];
        for (spec, budget) in claims {
            let least = checked(spec, 3.0, budget).least_scale;
            let enough = checked(spec, least, budget);
            assert_eq!(enough.is_private(), Some(true), "{spec}: {enough:?}");
            assert!(enough.epsilon.upper() <= budget.0 * (1.0 + 1e-12), "{spec}: {enough:?}");
            let less = checked(spec, least * (1.0 - 1e-6), budget);
            assert_eq!(less.is_private(), Some(false), "{spec}: {less:?}");
            assert!(less.epsilon.lower() > budget.0, "{spec}: {less:?}");
            assert!(less.epsilon.relative_width() < 1e-9, "{spec}: {less:?}");
        }
    }

    #[test]
    fn noise_that_is_never_private_has_no_epsilon() {
        // Laplace noise has no delta to lose: its epsilon is its own.
        let laplace = checked("laplace", 2.0, (0.25, None));
        assert!((laplace.epsilon.estimate() - 0.5).abs() < 1e-12, "{laplace:?}");
        assert_eq!(laplace.is_private(), Some(false));
        let tiny = checked("gaussian", 1e-3, (1.0, Some(1e-6)));
        assert_eq!(tiny.epsilon.upper(), f64::INFINITY, "{tiny:?}");
        assert!(tiny.epsilon.lower() >= 700.0 && tiny.delta.lower() > 0.999);
        let much = checked("gaussian", 1e9, (1.0, Some(1e-6)));
        assert_eq!((much.epsilon.lower(), much.is_private()), (0.0, Some(true)));
    }

    #[test]
    fn what_has_no_scale_or_no_budget_is_refused() {
        let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let pure = Budget::new(1.0, None).expect("valid");
        for (spec, scale) in [
            ("staircase", 1.0),
            ("randomized-response categories=3", 1.0),
            ("gaussian", 1.0),
            ("laplace", 0.0),
            ("laplace", f64::NAN),
            ("laplace", -1.0),
            ("laplace", f64::INFINITY),
        ] {
            let spec: MechanismSpec = spec.parse().expect("as it is written");
            assert!(check(&spec, scale, &sensitivity, pure).is_err(), "{spec} {scale}");
        }
    }
}
