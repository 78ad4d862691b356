//! Mechanisms for a count, which one person moves by one.

use crate::ReproductionError;
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, GaussianProfile, Laplace,
    MechanismError, Neighbours, Scale, Sensitivity,
};

/// A histogram under adding and removing one person: one cell changes, by one.
pub(crate) fn sensitivity() -> Sensitivity {
    Sensitivity::histogram(Neighbours::AddRemove)
}

/// Laplace noise.
pub(crate) fn laplace(epsilon: f64) -> Result<Laplace, ReproductionError> {
    Ok(Laplace::calibrate(&sensitivity(), Epsilon::new(epsilon)?)?)
}

/// Gaussian noise by a method.
pub(crate) fn gaussian(
    method: GaussianMethod,
    epsilon: f64,
    delta: f64,
) -> Result<GaussianMechanism, MechanismError> {
    GaussianMechanism::calibrate(
        method,
        &Distance::new(1.0)?.into(),
        (Epsilon::new(epsilon)?, Delta::new(delta)?),
    )
}

/// The standard deviation of Gaussian noise by a method.
pub(crate) fn sigma(
    method: GaussianMethod,
    epsilon: f64,
    delta: f64,
) -> Result<f64, ReproductionError> {
    use reticent_mechanisms::Mechanism;
    Ok(gaussian(method, epsilon, delta)?.scale())
}

/// The exact profile of Gaussian noise.
pub(crate) fn profile(sigma: f64) -> Result<GaussianProfile, ReproductionError> {
    Ok(GaussianProfile::new(Scale::new(sigma)?, Distance::new(1.0)?))
}

/// The least epsilon with which Gaussian noise is `(epsilon, delta)`-differentially private,
/// rounded up in the eighth digit.
pub(crate) fn least_epsilon(sigma: f64, delta: f64) -> Result<f64, ReproductionError> {
    let profile = profile(sigma)?;
    let enough = |epsilon: f64| Ok::<_, MechanismError>(profile.delta(epsilon)?.upper() <= delta);
    if enough(0.0)? {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !enough(high)? {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-8 * high {
        let middle = 0.5 * (low + high);
        if enough(middle)? { high = middle } else { low = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_and_sigma_lead_back_to_each_other() {
        for epsilon in [0.1, 1.0, 5.0] {
            let sigma = sigma(GaussianMethod::Analytic, epsilon, 0.01).expect("certified");
            let back = least_epsilon(sigma, 0.01).expect("found");
            assert!(
                back <= epsilon * (1.0 + 2e-8) && back > epsilon * (1.0 - 1e-7),
                "{epsilon} {back}"
            );
        }
        assert_eq!(least_epsilon(1e6, 0.01).expect("found"), 0.0);
    }
}
