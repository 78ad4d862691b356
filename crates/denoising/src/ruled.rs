//! Rules for each value by itself, applied to a release.

use crate::comparison::{NoiseTimes, Version};
use crate::error::DenoisingError;
use crate::noise_description::NoiseDescription;
use crate::release::{Denoiser, Release, RiskEstimate};
use crate::rule::PiecewiseLinear;
use crate::unbiased::{UnbiasedRisk, estimate_from_terms};

/// A release of which each value was denoised by a rule that does not depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Ruled {
    /// The denoised values.
    pub values: Vec<f64>,
    /// Unbiased estimates of `E[Z_i g_i]`, where they are known for all rules.
    noise_times: Option<Vec<f64>>,
}

impl Ruled {
    /// Rule `i mod k` of `k` applied to value `i`.
    pub fn apply(rules: &[PiecewiseLinear], release: &Release) -> Self {
        let noise = release.noise();
        let (mut values, mut times) =
            (release.values().to_vec(), vec![0.0; release.values().len()]);
        let mut known = true;
        for (fold, rule) in rules.iter().enumerate() {
            let unbiased = UnbiasedRisk::new(rule, noise.shape());
            known &= unbiased.is_some();
            for index in (fold..values.len()).step_by(rules.len()) {
                let (z, scale) = (values[index] / noise.scale(index), noise.scale(index));
                match &unbiased {
                    Some(unbiased) => {
                        let (value, noise_times) = unbiased.value_and_noise_times(z);
                        (values[index], times[index]) =
                            (scale * value, scale * scale * noise_times);
                    }
                    None => values[index] = scale * rule.apply(z),
                }
            }
        }
        Ruled { values, noise_times: known.then_some(times) }
    }

    /// The sum of the values' unbiased risks `(g_i - y_i)^2 - v_i + 2 h_i`.
    pub fn risk(&self, release: &Release) -> Option<RiskEstimate> {
        let unit = release.noise().shape().variance();
        let times = self.noise_times.as_ref()?;
        let terms = self.values.iter().zip(times).enumerate().map(|(index, (value, times))| {
            let variance = unit * release.noise().scale(index).powi(2);
            (value - release.values()[index]).powi(2) - variance + 2.0 * times
        });
        Some(estimate_from_terms(terms))
    }

    /// For comparison with other versions of the release.
    pub fn version(self) -> Option<Version> {
        let noise_times = NoiseTimes::Each(self.noise_times?);
        Some(Version { values: self.values, noise_times })
    }
}

/// A denoiser that has a rule for each value.
pub(crate) trait ByRules: Denoiser {
    /// The release with the rules applied.
    fn ruled(&self, release: &Release) -> Result<Ruled, DenoisingError>;
}

/// A rule with its results moved into public bounds, of which one or both may be infinite.
///
/// # Errors
/// If the scales of the noise differ and a bound is finite and not zero: then the clamped rule, in
/// scales, is not the same for all values.
pub(crate) fn clamped_rule(
    rule: &PiecewiseLinear,
    (lower, upper): (f64, f64),
    noise: &NoiseDescription,
    method: &'static str,
) -> Result<PiecewiseLinear, DenoisingError> {
    let free_of_scale = |bound: f64| bound == 0.0 || bound.is_infinite();
    match noise.common_scale() {
        Some(scale) => Ok(rule.clamped(lower / scale, upper / scale)),
        None if free_of_scale(lower) && free_of_scale(upper) => Ok(rule.clamped(lower, upper)),
        None => {
            let reason = "its scales differ, and then bounds other than zero are not the same rule \
                for all values";
            Err(DenoisingError::UnsuitedNoise { method, reason })
        }
    }
}
