//! Values whose sum is known, or was released too.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use crate::shape::Shape;
use crate::unbiased::estimate_from_terms;
use reticent_numerics::require;

/// The nearest vector with a public total, perhaps without negative values, weighted by the inverse
/// variances.
///
/// # Formula
/// `x_i = max(0, y_i - t v_i)` with `t` such that the sum is right; without the maximum
/// `t = (sum y - total)/sum v`. With it the sum is piecewise linear and decreasing in `t` with
/// kinks at `y_i/v_i`: these are sorted and the piece that holds the total is solved, exactly.
///
/// # Risk
/// Without the maximum the rule is linear: the risk is `sum v_i - sum v_i^2 / sum v`, exactly, for
/// any noise. With it the estimate is unbiased for Gaussian noise,
/// `v_i dx_i/dy_i = v_i (1 - v_i/V)` over the positive values with `V` the sum of their variances,
/// and there is none for other noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    total: f64,
    non_negative: bool,
}

impl Total {
    /// A public total.
    ///
    /// # Errors
    /// If it is not finite or beyond 1e150, or negative though the values are not.
    pub fn new(total: f64, non_negative: bool) -> Result<Self, DenoisingError> {
        require(total.abs() <= 1e150, "total", total, "a number from -1e150 to 1e150")?;
        require(
            !non_negative || total >= 0.0,
            "total",
            total,
            "zero or more, if no value is negative",
        )?;
        Ok(Total { total, non_negative })
    }

    /// `t`.
    fn shift(&self, values: &[f64], variances: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..values.len()).collect();
        if self.non_negative {
            // Largest y/v first: the first to be positive as t falls.
            let ratio = |index: &usize| values[*index] / variances[*index];
            order.sort_unstable_by(|left, right| ratio(right).total_cmp(&ratio(left)));
        }
        let (mut sum, mut weight, mut shift) = (0.0, 0.0, f64::INFINITY);
        for index in order {
            // With this value among the positive ones the shift would be `next`; it is positive if
            // its kink is above.
            if self.non_negative && values[index] / variances[index] <= shift && shift.is_finite() {
                break;
            }
            sum += values[index];
            weight += variances[index];
            shift = (sum - self.total) / weight;
        }
        shift
    }
}

impl Denoiser for Total {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("a projection to a total")?;
        let values = release.values();
        let shift = self.shift(values, &variances);
        let moved = |value: f64, variance: f64| {
            let result = value - shift * variance;
            if self.non_negative { result.max(0.0) } else { result }
        };
        let projected: Vec<f64> = values
            .iter()
            .zip(&variances)
            .map(|(value, variance)| moved(*value, *variance))
            .collect();
        let all: f64 = variances.iter().sum();
        let risk_after = if self.non_negative {
            let is_free = |index: usize| projected[index] > 0.0;
            let free: f64 = (0..values.len())
                .filter(|index| is_free(*index))
                .map(|index| variances[index])
                .sum();
            let terms = (0..values.len()).map(|index| {
                let variance = variances[index];
                let noise_times =
                    if is_free(index) { variance * (1.0 - variance / free) } else { 0.0 };
                (projected[index] - values[index]).powi(2) - variance + 2.0 * noise_times
            });
            let estimate = estimate_from_terms(terms);
            (release.noise().shape() == &Shape::Gaussian).then_some(estimate)
        } else {
            let value =
                all - variances.iter().map(|variance| variance * variance).sum::<f64>() / all;
            Some(RiskEstimate { value, standard_error: 0.0, unbiased: true })
        };
        let sign = if self.non_negative { ", and none of them is negative" } else { "" };
        Ok(Denoised {
            values: projected,
            risk_before: release.risk(),
            risk_after,
            assumptions: vec![format!("the true values add up to {}{sign}", self.total)],
            method: "projection to a total".into(),
        })
    }
}

/// The best linear estimate given the total as well, released with noise of its own.
///
/// # Formula
/// `x_i = y_i + v_i/(V + u) (total - sum y)` with `V = sum v_i` and the variance `u` of the total's
/// noise (generalised least squares). The risk is `V - sum v_i^2/(V + u)`, exactly, for any noise
/// of these variances that is independent. `u = 0` is [`Total`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyTotal {
    total: f64,
    variance: f64,
}

impl NoisyTotal {
    /// A released total and the variance of its noise.
    ///
    /// # Errors
    /// If the total is not finite or beyond 1e150, or the variance not from 0 to 1e150.
    pub fn new(total: f64, variance: f64) -> Result<Self, DenoisingError> {
        require(total.abs() <= 1e150, "total", total, "a number from -1e150 to 1e150")?;
        require(
            (0.0..=1e150).contains(&variance),
            "variance of the total",
            variance,
            "a number from 0 to 1e150",
        )?;
        Ok(NoisyTotal { total, variance })
    }
}

impl Denoiser for NoisyTotal {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("a projection to a total")?;
        let all: f64 = variances.iter().sum();
        let missing = self.total - release.values().iter().sum::<f64>();
        let share = missing / (all + self.variance);
        let values = release
            .values()
            .iter()
            .zip(&variances)
            .map(|(value, variance)| value + variance * share);
        let gained = variances.iter().map(|variance| variance * variance).sum::<f64>()
            / (all + self.variance);
        Ok(Denoised {
            values: values.collect(),
            risk_before: release.risk(),
            risk_after: Some(RiskEstimate {
                value: all - gained,
                standard_error: 0.0,
                unbiased: true,
            }),
            assumptions: vec![
                "the total was released with independent noise of the given variance".into(),
            ],
            method: "combination with a released total".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    fn release() -> Release {
        let noise = NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0, 1.0, 0.5])
            .expect("valid");
        Release::new(vec![5.0, -3.0, 0.5, 2.0], noise).expect("valid")
    }

    /// The conditions of Karush, Kuhn and Tucker, which characterise the projection:
    /// `(y_i - x_i)/v_i = t` where `x_i > 0` and at most `t` where `x_i = 0`.
    #[test]
    fn projections_satisfy_their_optimality_conditions() {
        for total in [0.0, 0.3, 4.0, 5.5, 100.0] {
            let release = release();
            let denoised =
                Total::new(total, true).expect("valid").denoise(&release).expect("valid");
            assert!(
                (denoised.values.iter().sum::<f64>() - total).abs() < 1e-12,
                "{total}: {:?}",
                denoised.values
            );
            let variances = release.variances();
            let pulls: Vec<f64> =
                (0..4).map(|i| (release.values()[i] - denoised.values[i]) / variances[i]).collect();
            let shift = pulls.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (pull, value) in pulls.iter().zip(&denoised.values) {
                assert!(
                    *value >= 0.0 && (*value == 0.0 || (pull - shift).abs() < 1e-12),
                    "{total}: {pulls:?}"
                );
            }
        }
    }

    #[test]
    fn linear_totals_and_their_risks() {
        let denoised = Total::new(10.0, false).expect("valid").denoise(&release()).expect("valid");
        assert!((denoised.values.iter().sum::<f64>() - 10.0).abs() < 1e-12);
        let (sum, squares) = (1.0 + 4.0 + 1.0 + 0.25, 1.0 + 16.0 + 1.0 + 0.0625);
        assert!((denoised.risk_after.expect("linear").value - (sum - squares / sum)).abs() < 1e-12);
        let exact = NoisyTotal::new(10.0, 0.0).expect("valid").denoise(&release()).expect("valid");
        assert!(
            exact
                .values
                .iter()
                .zip(&denoised.values)
                .all(|(left, right)| (left - right).abs() < 1e-12)
        );
        let noisy = NoisyTotal::new(10.0, 3.0).expect("valid").denoise(&release()).expect("valid");
        assert!(
            (noisy.risk_after.expect("linear").value - (sum - squares / (sum + 3.0))).abs() < 1e-12
        );
    }

    #[test]
    fn impossible_totals_are_refused() {
        assert!(Total::new(-1.0, true).is_err() && Total::new(-1.0, false).is_ok());
        assert!(Total::new(f64::NAN, false).is_err() && NoisyTotal::new(1.0, -1.0).is_err());
    }
}
