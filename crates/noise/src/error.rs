//! The error that a noise brings, from its tails alone.

use crate::noise::Noise;
use reticent_numerics::root::{Direction, Range, RootError, monotone_root};
use reticent_numerics::{Bounds, Enclosure};

/// `P[|scale X| <= t]`.
pub fn usefulness<N: Noise>(noise: &N, scale: f64, t: f64) -> Bounds {
    if t < 0.0 {
        return Bounds::ZERO;
    }
    (Bounds::ONE - exceedance(noise, scale, t)).clamp(0.0, 1.0)
}

/// `P[|scale X| > t]` for `t >= 0`, without cancellation where it is small.
pub fn exceedance<N: Noise>(noise: &N, scale: f64, t: f64) -> Bounds {
    let tail = noise.tail_bounds(Bounds::exact(t) / Bounds::exact(scale));
    (tail.times_power_of_two(1) / noise.mass(&Bounds::ONE)).clamp(0.0, 1.0)
}

/// The `t` with `P[|scale X| <= t] = probability`.
///
/// # Errors
/// If the probability is not strictly between 0 and 1, or the tails are not known well enough to
/// find it.
pub fn quantile<N: Noise>(noise: &N, scale: f64, probability: f64) -> Result<Bounds, RootError> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(RootError::EmptyRange { lower: probability, upper: probability });
    }
    let outside = (Bounds::ONE - Bounds::exact(probability)).ln();
    let excess = |t: f64| exceedance(noise, scale, t).ln() - outside;
    monotone_root(
        excess,
        Range::POSITIVE.bracket_from(scale * noise.magnitude()),
        Direction::Decreasing,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gaussian, GeneralizedGaussian, Laplace};

    #[test]
    fn closed_forms_are_met() {
        // Laplace: P[|X| > t] = exp(-t/b), quantile -b ln(1 - q).
        let useful = usefulness(&Laplace, 2.0, 3.0);
        assert!(useful.contains(-(-1.5f64).exp_m1()) && useful.width() < 1e-15, "{useful:?}");
        let quantile_95 = quantile(&Laplace, 2.0, 0.95).expect("a proper probability");
        assert!((quantile_95.estimate() / (-2.0 * (1.0f64 - 0.95).ln()) - 1.0).abs() < 1e-14);
        // The normal's 97.5% point, 1.95996398454005423552...
        let quantile_95 = quantile(&Gaussian, 1.0, 0.95).expect("a proper probability");
        assert!(
            (quantile_95.estimate() / 1.959963984540054 - 1.0).abs() < 1e-14,
            "{quantile_95:?}"
        );
    }

    #[test]
    fn an_unnormalised_density_makes_no_difference() {
        let gaussian = usefulness(&Gaussian, 1.5, 0.7);
        let order_two = GeneralizedGaussian::new(2.0).expect("valid");
        let same = usefulness(&order_two, 1.5 * 2f64.sqrt(), 0.7);
        assert!((gaussian.estimate() - same.estimate()).abs() < 1e-15, "{gaussian:?} {same:?}");
    }

    #[test]
    fn improper_probabilities_are_refused() {
        for probability in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
            assert!(quantile(&Laplace, 1.0, probability).is_err(), "{probability}");
        }
        assert_eq!(usefulness(&Laplace, 1.0, -1.0), Bounds::ZERO);
    }
}
