//! Shrinkage towards a mean that is known beforehand.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::shape::Shape;
use crate::unbiased::estimate_from_terms;
use reticent_numerics::require;

/// The posterior mean under the prior `theta_i ~ N(m, w^2)`, independently.
///
/// # Formula
/// `m + w^2/(w^2 + v_i) (y_i - m)` with the noise variance `v_i` (Balle and Wang, Eqn 5). For
/// Gaussian noise it is the posterior mean, with Bayes risk `sum v_i w^2/(w^2 + v_i)`. For any
/// other noise of known variance it is the best linear rule, and its Bayes risk is the same.
///
/// The estimated risk is not the Bayes risk, which would trust the prior: it is the unbiased
/// estimate `sum (1-a_i)^2 (y_i - m)^2 + (2 a_i - 1) v_i`, `a_i = w^2/(w^2 + v_i)`, which holds for
/// every `theta` and every noise with these variances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianPrior {
    mean: f64,
    standard_deviation: f64,
}

impl GaussianPrior {
    /// The prior `N(mean, standard_deviation^2)`.
    ///
    /// # Errors
    /// If the mean is not finite or beyond 1e150, or the standard deviation is not from 0 to 1e75.
    pub fn new(mean: f64, standard_deviation: f64) -> Result<Self, DenoisingError> {
        require(mean.abs() <= 1e150, "mean", mean, "a number from -1e150 to 1e150")?;
        let accepted = "a number from 0 to 1e75";
        require(
            (0.0..=1e75).contains(&standard_deviation),
            "standard deviation",
            standard_deviation,
            accepted,
        )?;
        Ok(GaussianPrior { mean, standard_deviation })
    }
}

impl Denoiser for GaussianPrior {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("Bayes with a Gaussian prior")?;
        let prior = self.standard_deviation * self.standard_deviation;
        let kept = |variance: f64| prior / (prior + variance);
        let pairs = || release.values().iter().zip(&variances);
        let values = pairs()
            .map(|(value, &variance)| self.mean + kept(variance) * (value - self.mean))
            .collect();
        let risk = estimate_from_terms(pairs().map(|(value, &variance)| {
            let share = kept(variance);
            ((1.0 - share) * (value - self.mean)).powi(2) + (2.0 * share - 1.0) * variance
        }));
        let (mean, deviation) = (self.mean, self.standard_deviation);
        let mut assumptions = vec![format!(
            "the true values are scattered about {mean} with standard deviation {deviation}"
        )];
        if release.noise().shape() != &Shape::Gaussian {
            assumptions.push(
                "the noise is not Gaussian: this is the best linear rule, not the posterior mean"
                    .into(),
            );
        }
        Ok(Denoised {
            values,
            risk_before: release.risk(),
            risk_after: Some(risk),
            assumptions,
            method: "Bayes with a Gaussian prior".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    #[test]
    fn the_factor_is_that_of_the_formula() {
        let noise = NoiseDescription::with_scales(Shape::Laplace, vec![1.0, 3.0]).expect("valid");
        let release = Release::new(vec![10.0, -4.0], noise).expect("valid");
        let denoised = GaussianPrior::new(1.0, 2.0)
            .expect("valid")
            .denoise(&release)
            .expect("finite variance");
        // Variances 2 and 18, prior variance 4.
        assert_eq!(denoised.values, [1.0 + 9.0 * (4.0 / 6.0), 1.0 - 5.0 * (4.0 / 22.0)]);
        let (a, b) = (4.0f64 / 6.0, 4.0f64 / 22.0);
        let risk = (1.0 - a).powi(2) * 81.0
            + (2.0 * a - 1.0) * 2.0
            + (1.0 - b).powi(2) * 25.0
            + (2.0 * b - 1.0) * 18.0;
        assert!((denoised.risk_after.expect("linear").value - risk).abs() < 1e-12);
        assert_eq!(denoised.risk_before, 20.0);
    }

    #[test]
    fn hostile_priors_are_refused() {
        for (mean, deviation) in
            [(f64::NAN, 1.0), (0.0, f64::NAN), (0.0, -1.0), (f64::INFINITY, 1.0), (0.0, 1e80)]
        {
            assert!(GaussianPrior::new(mean, deviation).is_err(), "{mean} {deviation}");
        }
    }
}
