//! Shrinkage by as much as the release itself suggests.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use crate::shape::Shape;
use crate::unbiased::estimate_from_terms;

/// What values are shrunk towards.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Zero.
    Zero,
    /// The mean of the released values (of each block), weighted by the inverse variances.
    Mean,
    /// A public vector, such as last year's release.
    Public(Vec<f64>),
}

/// The James-Stein estimator.
///
/// # Formula
/// With the target `m`, the noise variances `v_i` and `S = sum (y_i - m_i)^2 / v_i` over a block of
/// `d` values: `m_i + (1 - c/S) (y_i - m_i)`, `c = d - 2`, or `d - 3` towards the mean, which is
/// estimated. The positive part replaces a negative factor by 0. For one variance this is
/// `(1 - (d-2) sigma^2 / ||y||^2) y`.
///
/// # Erratum B2
/// Balle and Wang's Theorem 11 calls this the plug-in of the maximum likelihood estimate of the
/// prior variance. It is not: that has `d` instead of `d - 2`. Its risk over a prior of variance
/// `w^2` is `d sigma^2 (1 - ((d-2)/d) sigma^2/(w^2+sigma^2))`, not with the square of `(d-2)/d`;
/// the ratio to the Bayes risk is `1 + (2/d) sigma^2/w^2`, which no constant bounds, but the excess
/// is at most `2 sigma^2`.
///
/// # Risk
/// `sum (g_i - y_i)^2 - v_i + 2 h_i` with `h_i = v_i dg_i/dy_i`: unbiased for Gaussian noise (Stein
/// 1981). For other noise `h_i` estimates `E[Z_i g_i]` after the term `c k_i / (v_i S^2)` with the
/// fourth cumulant `k_i` is added: expand `Z_i Y_i / S` to first order about its mean, with
/// `E[Z^4] = 3 v^2 + k`. What is left is smaller by another factor of about `1/d`, so that the
/// estimate is nearly unbiased for long vectors and says that it is not unbiased.
///
/// For unequal variances the factor is the same for all values; the estimate of the risk shows
/// whether that helped.
#[derive(Clone, Debug, PartialEq)]
pub struct JamesStein {
    /// What values are shrunk towards.
    pub target: Target,
    /// Whether a factor below 0 becomes 0. It never makes the risk larger.
    pub positive_part: bool,
    /// The length of the consecutive blocks that are shrunk each by its own factor; the last takes
    /// what is left over. All in one if `None`.
    pub block: Option<usize>,
}

impl JamesStein {
    /// As Balle and Wang print it in Theorem 11: a factor below 0 turns the values round.
    pub fn as_printed() -> Self {
        JamesStein { positive_part: false, ..Self::positive_part() }
    }

    /// The positive part, towards zero, in one block.
    pub fn positive_part() -> Self {
        JamesStein { target: Target::Zero, positive_part: true, block: None }
    }

    fn least(&self) -> usize {
        if self.target == Target::Mean { 4 } else { 3 }
    }

    /// The consecutive blocks of `count` values.
    fn blocks(&self, count: usize) -> Result<Vec<std::ops::Range<usize>>, DenoisingError> {
        let length = self.block.unwrap_or(count).min(count);
        if length < self.least() {
            return Err(DenoisingError::TooFew {
                method: "James-Stein",
                least: self.least(),
                given: length,
            });
        }
        let blocks = count / length;
        Ok((0..blocks)
            .map(|index| {
                index * length..if index + 1 == blocks { count } else { (index + 1) * length }
            })
            .collect())
    }
}

/// One block: what is denoised, and where the results go.
struct Block<'a> {
    values: &'a [f64],
    variances: &'a [f64],
    target: Option<&'a [f64]>,
}

impl Denoiser for JamesStein {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("James-Stein")?;
        let count = release.values().len();
        if let Target::Public(target) = &self.target {
            if target.len() != count {
                return Err(DenoisingError::Length {
                    name: "target",
                    given: target.len(),
                    values: count,
                });
            }
            if let Some(index) = target.iter().position(|value| !(-1e150..=1e150).contains(value)) {
                return Err(DenoisingError::Value { index: index + 1, value: target[index] });
            }
        }
        let shape = release.noise().shape();
        // k_i / v_i^2 is that of the shape.
        let excess = shape.fourth_cumulant() / shape.variance().powi(2);
        let mut values = Vec::with_capacity(count);
        let mut terms = Vec::with_capacity(count);
        for range in self.blocks(count)? {
            let target = match &self.target {
                Target::Public(target) => Some(&target[range.clone()]),
                Target::Zero | Target::Mean => None,
            };
            let block = Block {
                values: &release.values()[range.clone()],
                variances: &variances[range],
                target,
            };
            self.shrink(&block, excess, &mut values, &mut terms);
        }
        let estimate = estimate_from_terms(terms.into_iter());
        let unbiased = shape == &Shape::Gaussian;
        let mut assumptions = vec![];
        if let Target::Public(_) = self.target {
            assumptions.push("the target was chosen without looking at the release".into());
        }
        if !unbiased {
            assumptions.push(
                "the noise is not Gaussian: the risk is estimated to first order in 1/d".into(),
            );
        }
        Ok(Denoised {
            values,
            risk_before: release.risk(),
            risk_after: excess.is_finite().then_some(RiskEstimate { unbiased, ..estimate }),
            assumptions,
            method: self.name(),
        })
    }
}

impl JamesStein {
    fn name(&self) -> String {
        let part = match (self.positive_part, &self.target) {
            (true, _) => ", positive part",
            (false, Target::Zero) => ", as in Theorem 11",
            (false, Target::Mean | Target::Public(_)) => "",
        };
        let towards = match self.target {
            Target::Zero => "zero",
            Target::Mean => "the mean",
            Target::Public(_) => "a public target",
        };
        let blocks = self.block.map_or(String::new(), |block| format!(", blocks of {block}"));
        format!("James-Stein towards {towards}{part}{blocks}")
    }

    /// Appends the shrunk values of a block and the terms of its risk.
    fn shrink(&self, block: &Block, excess: f64, values: &mut Vec<f64>, terms: &mut Vec<f64>) {
        let count = block.values.len() as f64;
        // 1/W: the variance of the estimated mean, which a fixed target does not have.
        let (mean, mean_variance) = match self.target {
            Target::Mean => {
                let precision: f64 = block.variances.iter().map(|variance| 1.0 / variance).sum();
                let weighted = block
                    .values
                    .iter()
                    .zip(block.variances)
                    .map(|(value, variance)| value / variance);
                (weighted.sum::<f64>() / precision, 1.0 / precision)
            }
            Target::Zero | Target::Public(_) => (0.0, 0.0),
        };
        let centre = |index: usize| block.target.map_or(mean, |target| target[index]);
        let off = |index: usize| block.values[index] - centre(index);
        let size: f64 = block
            .variances
            .iter()
            .enumerate()
            .map(|(index, variance)| off(index).powi(2) / variance)
            .sum();
        let constant = if self.target == Target::Mean { count - 3.0 } else { count - 2.0 };
        // A release that is the target exactly stays there: the limit of the formula does not
        // exist.
        let all_the_way = size == 0.0 || (self.positive_part && size <= constant);
        let factor = if all_the_way { 0.0 } else { 1.0 - constant / size };
        let pull = if all_the_way { 0.0 } else { constant / (size * size) };
        for (index, &variance) in block.variances.iter().enumerate() {
            let distance = off(index);
            values.push(centre(index) + factor * distance);
            let moved = (factor - 1.0) * distance;
            // v dg/dy for the mean, for the factor, and for how the factor depends on this value;
            // then the fourth cumulant's term.
            let noise_times = mean_variance
                + factor * (variance - mean_variance)
                + 2.0 * pull * distance * distance
                + pull * excess * variance;
            terms.push(moved * moved - variance + 2.0 * noise_times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    fn release(values: &[f64], sigma: f64) -> Release {
        Release::new(values.to_vec(), NoiseDescription::gaussian(sigma).expect("valid"))
            .expect("valid")
    }

    #[test]
    fn the_formula_as_printed() {
        let release = release(&[3.0, -1.0, 2.0, 5.0], 1.5);
        let plain = JamesStein { positive_part: false, ..JamesStein::positive_part() };
        let denoised = plain.denoise(&release).expect("four values");
        let factor = 1.0 - 2.0 * 2.25 / 39.0;
        for (value, original) in denoised.values.iter().zip(release.values()) {
            assert!((value - factor * original).abs() < 1e-14);
        }
        // Stein: d s^2 - (d-2)^2 s^4 / |y|^2.
        let risk = denoised.risk_after.expect("Gaussian");
        assert!(
            (risk.value - (9.0 - 4.0 * 2.25 * 2.25 / 39.0)).abs() < 1e-12 && risk.unbiased,
            "{risk:?}"
        );
        let mean =
            JamesStein { target: Target::Mean, ..plain }.denoise(&release).expect("four values");
        // About the mean 9/4 the sum of squares is 39 - 81/4: d s^2 - (d-3)^2 s^4 / that.
        assert!(
            (mean.risk_after.expect("Gaussian").value - (9.0 - 2.25 * 2.25 / 18.75)).abs() < 1e-12
        );
    }

    #[test]
    fn too_few_values_zeros_and_bad_targets() {
        let positive = JamesStein::positive_part();
        for few in [&[1.0][..], &[1.0, 2.0]] {
            let refused = positive.denoise(&release(few, 1.0)).expect_err("needs three");
            assert!(refused.to_string().contains("at least 3"), "{refused}");
        }
        let to_mean = JamesStein { target: Target::Mean, ..positive.clone() };
        assert!(to_mean.denoise(&release(&[1.0, 2.0, 3.0], 1.0)).is_err());
        for positive_part in [true, false] {
            let zeros =
                JamesStein { positive_part, ..positive.clone() }.denoise(&release(&[0.0; 5], 1.0));
            assert_eq!(zeros.expect("five values").values, [0.0; 5]);
        }
        for target in [vec![0.0; 2], vec![0.0, f64::NAN, 0.0]] {
            let denoiser = JamesStein { target: Target::Public(target), ..positive.clone() };
            assert!(denoiser.denoise(&release(&[1.0, 2.0, 3.0], 1.0)).is_err());
        }
    }

    #[test]
    fn blocks_are_shrunk_each_by_itself() {
        let values = [30.0, -30.0, 30.0, 0.1, 0.2, 0.1, 0.3];
        let blocks = JamesStein { block: Some(3), ..JamesStein::positive_part() };
        let denoised = blocks.denoise(&release(&values, 1.0)).expect("blocks of 3 and 4");
        assert!(denoised.values[..3].iter().all(|value| value.abs() > 29.0));
        assert_eq!(denoised.values[3..], [0.0; 4]);
        let small = JamesStein { block: Some(2), ..JamesStein::positive_part() };
        assert!(small.denoise(&release(&values, 1.0)).is_err());
    }

    #[test]
    fn shrinking_towards_a_vector_is_shrinking_the_difference() {
        let (values, target) = ([4.0, 1.0, -2.0, 6.0], [1.0, 2.0, 3.0, 4.0]);
        let towards =
            JamesStein { target: Target::Public(target.to_vec()), ..JamesStein::positive_part() };
        let difference: Vec<f64> =
            values.iter().zip(target).map(|(value, target)| value - target).collect();
        let shrunk = towards.denoise(&release(&values, 1.0)).expect("valid");
        let plain = JamesStein::positive_part().denoise(&release(&difference, 1.0)).expect("valid");
        for ((value, target), expected) in shrunk.values.iter().zip(target).zip(&plain.values) {
            assert!((value - target - expected).abs() < 1e-14);
        }
        assert_eq!(shrunk.risk_after, plain.risk_after);
    }
}
