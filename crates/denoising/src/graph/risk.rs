//! Risks that are estimated without the truth.

/// What a risk counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// `sum (x_i - theta_i)^2`, in the square of the release's units.
    SquaredError,
    /// `sum (x_i - theta_i)^2 / sigma_i^2`, without units.
    SquaredErrorOverVariance,
}

/// The expected loss of the release and of the denoised vector.
///
/// `before` is known exactly. `after` is Stein's unbiased estimate (Stein, *Estimation of the mean of a multivariate normal distribution*, Annals of
/// Statistics 9, 1981): for `y ~ N(theta, Sigma)` with diagonal `Sigma` and an almost differentiable estimate `x(y)`,
///
/// ```text
/// E sum (x_i - theta_i)^2 = E [ sum (y_i - x_i)^2 - sum sigma_i^2 + 2 sum sigma_i^2 dx_i/dy_i ].
/// ```
///
/// # What is assumed
/// The noise is Gaussian with the stated deviations and independent. For other noise the identity is false and no estimate is given.
///
/// # Direction of error
/// At a tuning parameter fixed in advance the estimate is unbiased; it can be negative. At the parameter that minimises it over a path it is
/// biased downwards, because the least of several unbiased estimates is: by an amount of the order of its standard deviation, about `sigma^2 sqrt(2 n)`, at
/// most. It is an estimate, not a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskEstimate {
    /// What is counted.
    pub loss: Loss,
    /// The expected loss of the release as it is.
    pub before: f64,
    /// The estimated expected loss after denoising.
    pub after: f64,
}
