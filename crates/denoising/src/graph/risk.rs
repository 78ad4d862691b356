//! Risks that are estimated without the truth.

use super::NoisyValues;
use super::total_variation::Fused;
use crate::RiskEstimate;

/// What a risk counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// `sum (x_i - theta_i)^2`, in the square of the release's units.
    SquaredError,
    /// `sum (x_i - theta_i)^2 / sigma_i^2`, without units.
    SquaredErrorOverVariance,
}

/// The expected loss of a release with Gaussian noise and of the denoised vector.
///
/// `before` is known exactly. `after` is Stein's unbiased estimate (Stein, *Estimation of the mean
/// of a multivariate normal distribution*, Annals of Statistics 9, 1981): for `y = theta + e`,
/// `e ~ N(0, Sigma)` with diagonal `Sigma` and an almost differentiable estimate `x(y)` with
/// Jacobian `H`,
///
/// ```text
/// E sum (x_i - theta_i)^2 = E [ sum (y_i - x_i)^2 - tr Sigma + 2 tr(Sigma H) ].
/// ```
///
/// # Standard error
/// With `f = x - y` and `g = 2 f + e` the estimate is off from the loss by
/// `-(e^T g - tr(Sigma g'))`, whose mean square is, by Stein's identity used twice (Bellec and
/// Zhang, *Second-order Stein: SURE for SURE and other applications*, Annals of Statistics 49,
/// 2021),
///
/// ```text
/// E [ g^T Sigma g + tr((Sigma g')^2) ] = E [ 4 f^T Sigma f - 2 tr Sigma^2 + 4 tr((Sigma H)^2) ]
///     if H is a projection in the precisions,
/// ```
///
/// which is estimated without bias by what is in the brackets. Its expectation is at least that of
/// the second term, `tr Sigma^2` for equal noise: less is rounded up to that.
///
/// # What is assumed
/// The noise is Gaussian with the stated deviations and independent. For other noise the identity
/// is false.
///
/// # Direction of error
/// At a tuning parameter fixed in advance the estimate is unbiased; it can be negative. At the
/// parameter that minimises it, it is biased downwards, because the least of several unbiased
/// estimates is, and is marked so.
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
    /// An unbiased estimate; `mean_square` is the estimated square of its standard error, `least`
    /// what that cannot be below.
    pub(super) fn unbiased(
        loss: Loss,
        before: f64,
        value: f64,
        mean_square: f64,
        least: f64,
    ) -> Self {
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

/// `sum w_i (y_i - x_i)^2`, which is `sum (y_i - x_i)^2 / sigma_i^2` in the units of the release.
pub(super) fn weighted_residual(released: &NoisyValues, x: &[f64]) -> f64 {
    let terms = released.standardised().iter().zip(released.precisions()).zip(x);
    terms.map(|((y, w), x)| w * (y - x) * (y - x)).sum()
}

/// Stein's estimate for orders 1 and 2. The fit is locally an affine projection onto a space of
/// dimension `freedom`, orthogonal in the inner product of the precisions, so the sum of
/// `dx_i/dy_i` is that dimension (Tibshirani and Taylor 2012), and
///
/// ```text
/// E sum (x_i - theta_i)^2 / sigma_i^2 = E [ sum (y_i - x_i)^2 / sigma_i^2 - n + 2 freedom ].
/// ```
pub(super) fn risk_of_projection(
    released: &NoisyValues,
    x: &[f64],
    freedom: usize,
) -> GaussianRisk {
    let (count, freedom) = (released.len() as f64, freedom as f64);
    let residual = weighted_residual(released, x);
    let equal = released.has_equal_noise();
    let loss = if equal { Loss::SquaredError } else { Loss::SquaredErrorOverVariance };
    let value = residual - count + 2.0 * freedom;
    let mean_square = 4.0 * residual - 2.0 * count + 4.0 * freedom;
    let unit = if equal { released.unit().powi(2) } else { 1.0 };
    GaussianRisk::unbiased(loss, count, value, mean_square, count).scaled(unit)
}

/// Stein's estimate for order 0. A set `S` has the value `sum_S (w y) / w(S) + constant`, so
/// `H_ij = w_j / w(S)` inside it, and with `sigma_i^2 = s^2 / w_i`
///
/// ```text
/// tr(Sigma H) = s^2 sum_S |S| / w(S),    tr((Sigma H)^2) = s^4 sum_S (|S| / w(S))^2,
/// ```
///
/// both the number of sets if the noise is equal and the unit `s` is 1.
pub(super) fn risk_of_fused(released: &NoisyValues, fused: &Fused) -> GaussianRisk {
    let (mut sizes, mut weights) = (vec![0.0; fused.sets], vec![0.0; fused.sets]);
    let (mut residual, mut variances, mut squares, mut spread) = (0.0, 0.0, 0.0, 0.0);
    for (node, &set) in fused.set.iter().enumerate() {
        let variance = 1.0 / released.precisions()[node];
        let square = (released.standardised()[node] - fused.values[node]).powi(2);
        sizes[set as usize] += 1.0;
        weights[set as usize] += released.precisions()[node];
        residual += square;
        variances += variance;
        squares += variance * variance;
        spread += variance * square;
    }
    let shares = sizes.iter().zip(&weights).map(|(size, weight)| size / weight);
    let value = residual - variances + 2.0 * shares.clone().sum::<f64>();
    let mean_square =
        4.0 * spread - 2.0 * squares + 4.0 * shares.map(|share| share * share).sum::<f64>();
    GaussianRisk::unbiased(Loss::SquaredError, variances, value, mean_square, squares)
        .scaled(released.unit().powi(2))
}

#[cfg(test)]
mod tests {
    use super::super::NoiseDeviation;
    use super::*;

    #[test]
    fn with_equal_noise_both_formulas_count_pieces() {
        let released =
            NoisyValues::new(&[1.0, 5.0, 9.0, 4.0], NoiseDeviation::Same(2.0)).expect("a release");
        // In units of the noise the pieces {0, 1} and {2, 3} have the values 1.5 and 3.25, and the
        // residuals are 2 (1^2 + 1.25^2).
        let fused = Fused {
            values: vec![1.5, 1.5, 3.25, 3.25],
            flow: vec![],
            set: vec![0, 0, 1, 1],
            sets: 2,
        };
        let risk = risk_of_fused(&released, &fused);
        assert_eq!(risk, risk_of_projection(&released, &fused.values, 2));
        assert_eq!((risk.before, risk.after.value), (16.0, 4.0 * (5.125 - 4.0 + 4.0)));
        assert_eq!(risk.after.standard_error, 4.0 * (4.0 * 5.125 - 8.0 + 8.0_f64).sqrt());
    }

    #[test]
    fn with_unequal_noise_a_piece_weighs_its_members() {
        // Precisions in the ratio 4 to 1 with mean 1 are 1.6 and 0.4, variances 0.625 and 2.5: tr
        // Sigma H = 2 / (1.6 + 0.4).
        let released =
            NoisyValues::new(&[3.0, 3.0], NoiseDeviation::Each(&[1.0, 2.0])).expect("a release");
        let value = released.standardised()[0];
        let fused = Fused { values: vec![value; 2], flow: vec![0.0], set: vec![0, 0], sets: 1 };
        let risk = risk_of_fused(&released, &fused);
        let unit = released.unit().powi(2);
        assert!((risk.before - 5.0).abs() < 1e-12, "the variances are 1 and 4");
        assert!((risk.after.value - unit * (2.0 - 3.125)).abs() < 1e-12, "{risk:?}");
        assert_eq!(
            risk_of_projection(&released, &fused.values, 1).loss,
            Loss::SquaredErrorOverVariance
        );
    }
}
