//! Groups whose noisy number of units is large enough.

use crate::added_noise::AddedNoise;
use reticent_numerics::rounding::mul_up;

/// Shows a group if its noisy number of units is at least `least`.
///
/// # Guarantee
/// Add a unit. Of the at most `k` groups that it touches, `j` are new: no one else is in them. Let `q_j` be the probability that one of these is shown; each is shown with `q = P[1 + N >= least]`, so that
/// `q_j <= j q`. On all other groups both data sets go through the same noise, at a distance of `k - j` groups, and then through the same post-processing. Write `P'` for that part of the larger data set, `P` for the smaller.
///
/// - An output with a new group has probability at most `q_j`; one without has at most `P'`. So what the noise keeps with `(eps, d)` is kept with `(eps, d + q_k)`.
/// - In the other direction an output without new groups has probability `(1 - q_j) P'`, which must not be too small beside `P`. For pure noise `P <= e^(eps (k-j)/k) P'`, and this is at most `e^eps (1 - q_j) P'` if
///   `q <= 1 - e^(-eps/k)`, because `1 - q_j = (1 - q)^j`. For Gaussian noise of profile `d(eps)`, `P - e^eps (1 - q_j) P'` is at most `d(eps + ln(1 - q_k))`, which must not be above `d(eps) + q_k`.
///
/// Both conditions hold for every budget that anyone would use, and both are checked.
///
/// As an event: outside an exception of probability `q_k`, what is seen is what the noise alone lets see (Bun and Steinke 2016, "approximate zCDP").
///
/// # References
/// Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, 2009; Wilkins, Kifer, Zhang, Karrer, *Exact privacy analysis of the Gaussian sparse histogram mechanism*, 2024.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Threshold {
    /// The statistic that is compared: one of the release, or `None` for a number of units that is not shown.
    pub(crate) statistic: Option<usize>,
    pub(crate) least: i64,
    /// `k q`, rounded up.
    pub(crate) delta: f64,
    /// `q`, rounded up.
    pub(crate) lone: f64,
}

impl Threshold {
    /// The least threshold with `k P[1 + N >= least] <= delta`; `None` where no threshold below `2^61` has that.
    pub(crate) fn least(noise: &AddedNoise, statistic: Option<usize>, groups: u32, delta: f64) -> Option<Self> {
        let all = |least: i64| mul_up(f64::from(groups), noise.tail(least - 1));
        let (mut low, mut high) = (1i64, 2);
        while all(high) > delta {
            low = high;
            high = high.checked_mul(2).filter(|&high| high <= 1 << 61)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if all(middle) <= delta { high = middle } else { low = middle }
        }
        Some(Threshold { statistic, least: high, delta: all(high), lone: noise.tail(high - 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounded_gaussian::RoundedGaussian;

    #[test]
    fn the_threshold_is_the_least_that_keeps_lone_units_hidden() {
        let gaussian = AddedNoise::Gaussian(RoundedGaussian::new(5.0, 1.0).expect("valid"));
        let laplace = AddedNoise::pure(1, 3, 1.0).expect("valid");
        for (noise, groups) in [(gaussian, 7), (laplace, 3)] {
            let threshold = Threshold::least(&noise, None, groups, 1e-6).expect("exists");
            assert!(threshold.delta <= 1e-6);
            assert!(f64::from(groups) * noise.tail(threshold.least - 2) > 1e-6, "one less would do");
        }
    }

    #[test]
    fn golden_thresholds() {
        // 1.5 + 5 * 4.8916 (the normal's upper 5e-7 point) = 25.96.
        let gaussian = AddedNoise::Gaussian(RoundedGaussian::new(5.0, 1.0).expect("valid"));
        assert_eq!(Threshold::least(&gaussian, None, 1, 5e-7).map(|t| t.least), Some(26));
        // e^-(t-1) / (1 + e^-1) <= 1e-5 from t - 1 = 11.2 on.
        let laplace = AddedNoise::pure(1, 1, 1.0).expect("valid");
        assert_eq!(Threshold::least(&laplace, Some(0), 1, 1e-5).map(|t| t.least), Some(13));
        assert_eq!(Threshold::least(&laplace, Some(0), 1, 0.0), None);
    }
}
