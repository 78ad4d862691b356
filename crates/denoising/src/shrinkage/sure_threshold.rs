//! The threshold of least estimated risk.

use super::threshold::ThresholdKind;
use crate::cross_fit::Fit;
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use crate::rule::PiecewiseLinear;
use crate::shape::Shape;
use crate::unbiased::{UnbiasedRisk, risk_of_fixed_rule};

/// The threshold that minimises the unbiased estimate of the risk, from 0 to the universal
/// threshold.
///
/// # Formula
/// With `a_i = |y_i|/s_i`, under Gaussian noise the risk of the soft threshold `t` is estimated by
/// `sum s_i^2 (min(a_i, t)^2 - 1 + 2 [a_i > t])` (Donoho and Johnstone 1995). Under Laplace noise
/// the indicator becomes `2 P[|a_i + W| > t]`, and a hard threshold adds
/// `2 t (f(t - a_i) + f(t + a_i))`, see [`crate::unbiased`]. The minimum is looked for among the
/// `a_i` in one sweep over their sorted order, with running sums: `O(n log n)`. The exponential
/// sums of Laplace noise are carried along the order, each multiplied by `e^-gap` from one value to
/// the next, so that nothing overflows. Under discrete Laplace noise 64 thresholds are tried.
///
/// # Risk
/// The minimum of estimates is too small on average. It is reported as biased;
/// [`crate::CrossFitted`] gives an unbiased one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SureThreshold {
    /// Soft, or hard where the noise has an unbiased estimate for it.
    pub kind: ThresholdKind,
}

/// Thresholds tried where there is no sweep.
const TRIED: u32 = 64;

impl SureThreshold {
    /// The threshold in scales.
    fn threshold(&self, release: &Release) -> Result<f64, DenoisingError> {
        let shape = release.noise().shape();
        let most = shape.universal_threshold(release.values().len())?;
        match (shape, self.kind) {
            (Shape::Gaussian, ThresholdKind::Soft) => Ok(Sweep::over(release).least_gaussian(most)),
            (Shape::Laplace, kind) => Ok(Sweep::over(release).least_laplace(kind, most)),
            (Shape::DiscreteLaplace(_), kind) => {
                let risk = |threshold: f64| {
                    let rule = kind.rule(threshold, shape);
                    let unbiased = UnbiasedRisk::new(&rule, shape);
                    unbiased.map_or(f64::INFINITY, |risk| {
                        release.values().iter().map(|value| risk.at(*value)).sum()
                    })
                };
                let tried = (0..=TRIED).map(|step| most * f64::from(step) / f64::from(TRIED));
                Ok(least(tried.map(|threshold| (threshold, risk(threshold)))))
            }
            _ => Err(DenoisingError::UnsuitedNoise {
                method: "a threshold of least estimated risk",
                reason: "no unbiased estimate of the risk of this threshold is known for it",
            }),
        }
    }
}

fn least(candidates: impl Iterator<Item = (f64, f64)>) -> f64 {
    candidates
        .fold(
            (0.0, f64::INFINITY),
            |best, candidate| if candidate.1 < best.1 { candidate } else { best },
        )
        .0
}

impl Fit for SureThreshold {
    fn name(&self) -> &'static str {
        match self.kind {
            ThresholdKind::Soft => "soft threshold of least estimated risk",
            ThresholdKind::Hard => "hard threshold of least estimated risk",
        }
    }

    fn fit(&self, release: &Release) -> Result<PiecewiseLinear, DenoisingError> {
        Ok(self.kind.rule(self.threshold(release)?, release.noise().shape()))
    }
}

impl Denoiser for SureThreshold {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let threshold = self.threshold(release)?;
        let rule = self.kind.rule(threshold, release.noise().shape());
        let values = release.values().iter().enumerate().map(|(index, value)| {
            let scale = release.noise().scale(index);
            scale * rule.apply(value / scale)
        });
        let risk =
            risk_of_fixed_rule(&rule, release).map(|risk| RiskEstimate { unbiased: false, ..risk });
        Ok(Denoised {
            values: values.collect(),
            risk_before: release.risk(),
            risk_after: risk,
            assumptions: vec![
                "the risk is the least of many estimates, and so too small on average".into(),
            ],
            method: format!("{} ({threshold} scales)", self.name()),
        })
    }
}

/// The values in scales, sorted, with the squares of their scales.
struct Sweep {
    sorted: Vec<(f64, f64)>,
}

impl Sweep {
    fn over(release: &Release) -> Self {
        let pairs = release.values().iter().enumerate().map(|(index, value)| {
            let scale = release.noise().scale(index);
            (value.abs() / scale, scale * scale)
        });
        // A first pair stands for the threshold 0.
        let mut sorted: Vec<_> = std::iter::once((0.0, 0.0)).chain(pairs).collect();
        sorted.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        Sweep { sorted }
    }

    fn weight(&self) -> f64 {
        self.sorted.iter().map(|pair| pair.1).sum()
    }

    fn least_gaussian(&self, most: f64) -> f64 {
        let mut above = self.weight();
        let mut squares = 0.0;
        least(self.sorted.iter().take_while(|pair| pair.0 <= most).map(|&(size, weight)| {
            squares += weight * size * size;
            above -= weight;
            (size, squares + above * size * size + 2.0 * above)
        }))
    }

    fn least_laplace(&self, kind: ThresholdKind, most: f64) -> f64 {
        // beyond[k] = sum over a > a_k of weight e^-(a - a_k).
        let mut beyond = vec![0.0; self.sorted.len()];
        for index in (0..self.sorted.len().saturating_sub(1)).rev() {
            let (size, (next, weight)) = (self.sorted[index].0, self.sorted[index + 1]);
            beyond[index] = (size - next).exp() * (beyond[index + 1] + weight);
        }
        let mirrored = self.sorted.iter().map(|(size, weight)| weight * (-size).exp()).sum::<f64>();
        let (mut above, mut squares, mut within, mut last) = (self.weight(), 0.0, 0.0, 0.0);
        let sizes = self.sorted.iter().zip(&beyond).take_while(|(pair, _)| pair.0 <= most);
        least(sizes.map(|(&(size, weight), &beyond)| {
            squares += weight * size * size;
            above -= weight;
            // within = sum over a <= t of weight e^-(t - a).
            within = within * f64::exp(last - size) + weight;
            last = size;
            let mirror = (-size).exp() * mirrored;
            let exceeding = 0.5 * within + above - 0.5 * beyond + 0.5 * mirror;
            let risk = match kind {
                ThresholdKind::Soft => squares + above * size * size + 4.0 * exceeding,
                ThresholdKind::Hard => {
                    squares + 4.0 * exceeding + 2.0 * size * (within + beyond + mirror)
                }
            };
            (size, risk)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    /// The sweep finds the same threshold as trying every one of them by the definition.
    #[test]
    fn the_sweep_is_the_plain_search() {
        let mut state = 1u64;
        let values: Vec<f64> = (0..200)
            .map(|index| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let uniform = (state >> 11) as f64 / 2f64.powi(53);
                8.0 * (uniform - 0.5).powi(3) * 8.0 + if index % 10 == 0 { 6.0 } else { 0.0 }
            })
            .collect();
        let scales: Vec<f64> = (0..200).map(|index| 0.5 + f64::from(index % 3)).collect();
        for (shape, kind) in [
            (Shape::Gaussian, ThresholdKind::Soft),
            (Shape::Laplace, ThresholdKind::Soft),
            (Shape::Laplace, ThresholdKind::Hard),
        ] {
            let noise =
                NoiseDescription::with_scales(shape.clone(), scales.clone()).expect("valid");
            let release = Release::new(values.clone(), noise).expect("valid");
            let most = shape.universal_threshold(200).expect("known");
            let sizes = values.iter().zip(&scales).map(|(value, scale)| value.abs() / scale);
            let tried = std::iter::once(0.0).chain(sizes).filter(|size| *size <= most);
            // A hair above, so that the value itself counts as below its threshold.
            let risk = |threshold: f64| {
                risk_of_fixed_rule(&kind.rule(threshold * (1.0 + 1e-12), &shape), &release)
                    .expect("known")
                    .value
            };
            let plain = least(tried.map(|threshold| (threshold, risk(threshold))));
            let found = SureThreshold { kind }.threshold(&release).expect("known");
            assert!(
                (risk(found) - risk(plain)).abs() < 1e-6 * risk(plain).abs(),
                "{shape:?} {kind:?}: {found} {plain}"
            );
            assert!(found > 0.0 && found < most, "{shape:?} {kind:?}: {found}");
        }
    }

    #[test]
    fn noise_without_an_estimate_is_refused_and_zeros_are_kept() {
        let noise = NoiseDescription::gaussian(1.0).expect("valid");
        let zeros = Release::new(vec![0.0; 20], noise).expect("valid");
        let soft = SureThreshold { kind: ThresholdKind::Soft };
        assert_eq!(soft.denoise(&zeros).expect("valid").values, [0.0; 20]);
        assert!(SureThreshold { kind: ThresholdKind::Hard }.denoise(&zeros).is_err());
    }
}
