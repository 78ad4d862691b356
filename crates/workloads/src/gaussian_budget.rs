//! What a plan with Gaussian noise may spend.

use crate::WorkloadError;
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_numerics::require;
use reticent_numerics::rounding::{div_down, mul_up};

/// The squared distance `mu^2` that a unit may move Gaussian noise, in standard deviations: all
/// releases of a plan together are one Gaussian mechanism, and this one number is its privacy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianBudget {
    mu_square: f64,
}

impl GaussianBudget {
    /// `rho`-zero-concentrated differential privacy, `mu^2 = 2 rho`.
    ///
    /// # Errors
    /// If `rho` is not a number from 1e-20 to 1e6.
    pub fn zero_concentrated(rho: f64) -> Result<Self, WorkloadError> {
        require((1e-20..=1e6).contains(&rho), "rho", rho, "a number from 1e-20 to 1e6")?;
        Ok(GaussianBudget { mu_square: 2.0 * rho })
    }

    /// `(epsilon, delta)`-differential privacy: the `mu` whose exact profile keeps it.
    ///
    /// # Errors
    /// If no noise is certified for it.
    pub fn approximate(epsilon: Epsilon, delta: Delta) -> Result<Self, WorkloadError> {
        let mechanism = GaussianMechanism::calibrate(
            GaussianMethod::Analytic,
            &Distance::new(1.0)?.into(),
            (epsilon, delta),
        )?;
        let sigma = mechanism.scale();
        Ok(GaussianBudget { mu_square: div_down(1.0, mul_up(sigma, sigma)) })
    }

    /// `mu^2`, rounded down.
    pub fn mu_square(self) -> f64 {
        self.mu_square
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_those_of_the_mechanism_and_nothing_is_free() {
        let budget = GaussianBudget::approximate(
            Epsilon::new(1.0).expect("valid"),
            Delta::new(1e-6).expect("valid"),
        )
        .expect("certified");
        assert!((budget.mu_square() * 4.2246794f64.powi(2) - 1.0).abs() < 1e-6);
        assert_eq!(GaussianBudget::zero_concentrated(0.5).expect("valid").mu_square(), 1.0);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-21] {
            assert!(GaussianBudget::zero_concentrated(bad).is_err(), "{bad}");
        }
    }
}
