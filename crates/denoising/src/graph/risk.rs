//! Risks that are estimated without the truth.

use crate::RiskEstimate;

/// What a risk counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// `sum (x_i - theta_i)^2`, in the square of the release's units.
    SquaredError,
    /// `sum (x_i - theta_i)^2 / sigma_i^2`, without units.
    SquaredErrorOverVariance,
}

/// The expected loss of a release with Gaussian noise and of the denoised vector.
///
/// `before` is known exactly. `after` is Stein's unbiased estimate (Stein, *Estimation of the mean of a multivariate normal distribution*, Annals of
/// Statistics 9, 1981): for `y = theta + e`, `e ~ N(0, Sigma)` with diagonal `Sigma` and an almost differentiable estimate `x(y)` with Jacobian `H`,
///
/// ```text
/// E sum (x_i - theta_i)^2 = E [ sum (y_i - x_i)^2 - tr Sigma + 2 tr(Sigma H) ].
/// ```
///
/// # Standard error
/// With `f = x - y` and `g = 2 f + e` the estimate is off from the loss by `-(e^T g - tr(Sigma g'))`, whose mean square is, by Stein's identity used twice
/// (Bellec and Zhang, *Second-order Stein: SURE for SURE and other applications*, Annals of Statistics 49, 2021),
///
/// ```text
/// E [ g^T Sigma g + tr((Sigma g')^2) ] = E [ 4 f^T Sigma f - 2 tr Sigma^2 + 4 tr((Sigma H)^2) ]    if H is a projection in the precisions,
/// ```
///
/// which is estimated without bias by what is in the brackets. Its expectation is at least that of the second term, `tr Sigma^2` for equal noise: less is
/// rounded up to that.
///
/// # What is assumed
/// The noise is Gaussian with the stated deviations and independent. For other noise the identity is false.
///
/// # Direction of error
/// At a tuning parameter fixed in advance the estimate is unbiased; it can be negative. At the parameter that minimises it, it is biased downwards,
/// because the least of several unbiased estimates is, and is marked so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianRisk {
    /// What is counted.
    pub loss: Loss,
    /// The expected loss of the release as it is.
    pub before: f64,
    /// The estimated expected loss after denoising.
    pub after: RiskEstimate,
}

impl GaussianRisk {
    /// An unbiased estimate; `mean_square` is the estimated square of its standard error, `least` what that cannot be below.
    pub(super) fn unbiased(loss: Loss, before: f64, value: f64, mean_square: f64, least: f64) -> Self {
        let standard_error = mean_square.max(least).sqrt();
        GaussianRisk { loss, before, after: RiskEstimate { value, standard_error, unbiased: true } }
    }

    /// The same estimate at a parameter that was chosen by it.
    pub(super) fn after_choice(self) -> Self {
        GaussianRisk { after: RiskEstimate { unbiased: false, ..self.after }, ..self }
    }

    /// In units whose square is `factor`.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let after = RiskEstimate {
            value: factor * self.after.value,
            standard_error: factor * self.after.standard_error,
            ..self.after
        };
        GaussianRisk { before: factor * self.before, after, ..self }
    }
}
