//! Mechanisms whose guarantee has a delta.

use super::pure::{ONE_NUMBER, additive_law};
use super::{Candidate, Outcome, failed, refuse};
use crate::integer_law::Discrete;
use crate::requirements::Requirements;
use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, Distance, Epsilon, GaussianMechanism, GaussianMethod,
    Mechanism, Sensitivity, TruncatedLaplace,
};

/// Why a mechanism with a delta does not serve a pure budget.
pub(super) const NEEDS_DELTA: &str =
    "its guarantee has a delta, and the budget is pure; give a delta to allow it";

/// All releases are calibrated at once: `n` Gaussian releases are one with `sqrt(n)` times the
/// sensitivity, exactly.
pub(super) fn gaussian(requirements: &Requirements) -> Outcome {
    const NAME: &str = "gaussian";
    let delta = requirements.budget.delta().ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let (epsilon, delta) = (Epsilon::new(requirements.budget.epsilon()), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let distance = Distance::new(requirements.budget.composed_distance(requirements.query.l2()))
        .map_err(failed(NAME))?;
    let mechanism =
        GaussianMechanism::calibrate(GaussianMethod::Analytic, &distance.into(), (epsilon, delta))
            .map_err(failed(NAME))?;
    let law = additive_law(reticent_noise::Gaussian, &mechanism)?;
    let why = match (requirements.query.dimension(), requirements.budget.releases()) {
        (1, 1) => "thin tails that one number does not need: most of its delta is spent far out",
        _ => {
            "its scale grows with the l2 sensitivity of all that is released, and so with the root \
             of how many numbers move"
        }
    };
    Candidate::new(requirements, mechanism, law, why)
}

pub(super) fn discrete_gaussian(requirements: &Requirements) -> Outcome {
    const NAME: &str = "discrete-gaussian";
    if !requirements.query.is_integer() {
        return Err(refuse(
            NAME,
            "it adds integers to integers, and these answers are real numbers",
        ));
    }
    if requirements.query.dimension() > 1 {
        return Err(refuse(
            NAME,
            "its certificate is for one number; gaussian noise, rounded, serves vectors",
        ));
    }
    let share = requirements.budget.share();
    let delta = share.delta.ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let sensitivity = requirements
        .query
        .sensitivity()
        .and_then(|known| Ok(known.whole_l1()?))
        .map_err(failed(NAME))?;
    let (epsilon, delta) = (Epsilon::new(share.epsilon), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let mechanism =
        DiscreteGaussianMechanism::calibrate(&Sensitivity::whole(sensitivity), (epsilon, delta))
            .map_err(failed(NAME))?;
    let noise = reticent_noise::DiscreteGaussian::new(mechanism.scale())
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let why = "Gaussian noise on the integers; what rounding adds to the error of real noise it \
        does not have";
    Candidate::new(requirements, mechanism, Discrete::new(noise, &errors), why)
}

/// Laplace noise that ends, which is what a delta is good for.
pub(super) fn truncated_laplace(requirements: &Requirements) -> Outcome {
    const NAME: &str = "truncated-laplace";
    if requirements.query.dimension() > 1 {
        return Err(refuse(NAME, ONE_NUMBER));
    }
    let share = requirements.budget.share();
    let delta = share.delta.ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let sensitivity = requirements.query.sensitivity().map_err(failed(NAME))?;
    let (epsilon, delta) = (Epsilon::new(share.epsilon), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let mechanism =
        TruncatedLaplace::calibrate(&sensitivity, (epsilon, delta)).map_err(failed(NAME))?;
    let noise = reticent_noise::TruncatedLaplace::new(mechanism.support_in_scales())
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let law = additive_law(noise, &mechanism)?;
    Candidate::new(
        requirements,
        mechanism,
        law,
        "Laplace noise without its far tails, which the delta pays for",
    )
}
