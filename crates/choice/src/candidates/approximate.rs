//! Mechanisms whose promise has an exception.

use super::pure::additive_law;
use super::{Candidate, Outcome, failed, refuse};
use crate::integer_law::Discrete;
use crate::request::Request;
use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism, TruncatedLaplace,
};

/// Why a mechanism with an exception does not serve a pure budget.
pub(super) const NEEDS_DELTA: &str = "its promise has an exception, and the budget is pure; give a delta to allow one";

/// All releases are calibrated at once: `n` Gaussian releases are one with `sqrt(n)` times the sensitivity, exactly.
pub(super) fn gaussian(request: &Request) -> Outcome {
    const NAME: &str = "gaussian";
    let delta = request.budget.delta().ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let (epsilon, delta) = (Epsilon::new(request.budget.epsilon()), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let distance = Distance::new(request.budget.composed_distance(request.query.l2())).map_err(failed(NAME))?;
    let mechanism =
        GaussianMechanism::calibrate(GaussianMethod::Analytic, epsilon, delta, distance).map_err(failed(NAME))?;
    let law = additive_law(reticent_noise::Gaussian, &mechanism)?;
    let why = match (request.query.dimension(), request.budget.releases()) {
        (1, 1) => "thin tails that one number does not need: most of its exception is spent far out",
        _ => {
            "its scale grows with the l2 sensitivity of all that is released, and so with the root of how many numbers move"
        }
    };
    Candidate::new(request, mechanism, law, why)
}

pub(super) fn discrete_gaussian(request: &Request) -> Outcome {
    const NAME: &str = "discrete-gaussian";
    if !request.query.is_integer() {
        return Err(refuse(NAME, "it adds integers to integers, and these answers are real numbers"));
    }
    if request.query.dimension() > 1 {
        return Err(refuse(NAME, "its certificate is for one number; gaussian noise, rounded, serves vectors"));
    }
    let share = request.budget.share();
    let delta = share.delta.ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let sensitivity = request.query.sensitivity().and_then(|known| Ok(known.whole_l1()?)).map_err(failed(NAME))?;
    let (epsilon, delta) = (Epsilon::new(share.epsilon), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let mechanism = DiscreteGaussianMechanism::calibrate(epsilon, delta, sensitivity).map_err(failed(NAME))?;
    let noise =
        reticent_noise::DiscreteGaussian::new(mechanism.scale()).map_err(|error| refuse(NAME, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let why = "Gaussian noise on the integers; what rounding adds to the error of real noise it does not have";
    Candidate::new(request, mechanism, Discrete::new(noise, &errors), why)
}

/// Laplace noise that ends, which is what an exception is good for.
pub(super) fn truncated_laplace(request: &Request) -> Outcome {
    const NAME: &str = "truncated-laplace";
    if request.query.dimension() > 1 {
        return Err(refuse(NAME, "it protects one number, and here one privacy unit can move several at once"));
    }
    let share = request.budget.share();
    let delta = share.delta.ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let sensitivity = request.query.sensitivity().map_err(failed(NAME))?;
    let (epsilon, delta) = (Epsilon::new(share.epsilon), Delta::new(delta));
    let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
    let mechanism = TruncatedLaplace::calibrate(&sensitivity, epsilon, delta).map_err(failed(NAME))?;
    let noise = reticent_noise::TruncatedLaplace::new(mechanism.support_in_scales())
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let law = additive_law(noise, &mechanism)?;
    Candidate::new(request, mechanism, law, "Laplace noise without its far tails, which the exception pays for")
}
