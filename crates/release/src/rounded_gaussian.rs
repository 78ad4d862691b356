//! Gaussian noise, rounded to the integers.

use crate::error::{ReleaseError, require};
use reticent_events::Event;
use reticent_noise::{Gaussian, Lattice, Sampler};
use reticent_numerics::normal::normal_sf;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::{Bounds, Enclosure};

/// `N = round(sigma X)` with a standard normal `X`, for integers that one unit moves by at most `l2_sensitivity` in the l2 norm.
///
/// # Guarantee
/// That of Gaussian noise: see [`crate::added_noise::AddedNoise`]. Charged as [`Event::Gaussian`].
///
/// # Error
/// `|N| >= n` exactly if `|sigma X| >= n - 1/2`, so with `Q` the normal tail
///
/// `E N^2 = sum_(n >= 1) (2n - 1) P[|N| >= n] = sum_(n >= 1) (2n - 1) 2 Q((n - 1/2)/sigma)`.
///
/// By Poisson's formula that is `sigma^2 + 1/12 + sum_(m >= 1) (-1)^m (4 sigma^2 + 1/(pi m)^2) exp(-2 pi^2 m^2 sigma^2)`. From `sigma = 1` on the sum is alternating with decreasing terms,
/// and the first is at most `4.2 sigma^2 exp(-19 sigma^2)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundedGaussian {
    sigma: f64,
    l2_sensitivity: f64,
}

impl RoundedGaussian {
    /// # Errors
    /// If `sigma` is not from `2^-50` to `2^59`, where a lattice of integers serves.
    pub(crate) fn new(sigma: f64, l2_sensitivity: f64) -> Result<Self, ReleaseError> {
        let accepted = "from 2^-50 to 2^59 (about 5.8e17) steps of the grid: narrow the bounds of the column, or lower max_rows or max_groups";
        require((2f64.powi(-50)..=2f64.powi(59)).contains(&sigma), "standard deviation", sigma, accepted)?;
        Ok(RoundedGaussian { sigma, l2_sensitivity })
    }

    pub(crate) fn sigma(&self) -> f64 {
        self.sigma
    }

    pub(crate) fn event(&self) -> Event {
        Event::Gaussian { sigma: self.sigma, sensitivity: self.l2_sensitivity }
    }

    pub(crate) fn sampler(&self) -> Result<Sampler<Gaussian>, ReleaseError> {
        Ok(Sampler::new(Gaussian, self.sigma, Lattice::INTEGERS)?)
    }

    /// `P[N >= t]` for an integer `t`, rounded up.
    pub(crate) fn tail(&self, t: i64) -> f64 {
        let edge = Bounds::ONE.integer(i128::from(t)) - Bounds::exact(0.5);
        normal_sf(edge / Bounds::exact(self.sigma)).upper()
    }

    /// The least integer `t` with `P[|N| <= t] >= 0.95`: `t + 1/2` is at least `sigma` times the upper 2.5% point.
    pub(crate) fn quantile_95(&self) -> f64 {
        let point = normal_isf(Bounds::ONE / Bounds::exact(40.0));
        ((point * Bounds::exact(self.sigma)).upper() - 0.5).ceil().max(0.0)
    }

    pub(crate) fn mean_square(&self) -> Bounds {
        let square = Bounds::exact(self.sigma).square();
        if self.sigma >= 1.0 {
            let twelfth = Bounds::ONE / Bounds::exact(12.0);
            let term = (Bounds::exact(4.2) * square * (Bounds::exact(-19.0) * square).exp()).upper();
            return square + twelfth + Bounds::new(-term, term);
        }
        // Beyond n = 13 the terms add up to less than 1e-30 relative to the first, as sigma < 1, and to less than 1e-30 in all.
        let terms = (1..=13u32).map(|n| {
            let n = f64::from(n);
            Bounds::exact(2.0 * (2.0 * n - 1.0)) * normal_sf(Bounds::exact(n - 0.5) / Bounds::exact(self.sigma))
        });
        terms.fold(Bounds::new(0.0, 1e-30), |sum, term| sum + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formulas_for_the_variance_agree_with_the_sum() {
        for sigma in [0.1f64, 0.5, 0.999, 1.0, 1.7, 12.0] {
            let claimed = RoundedGaussian::new(sigma, 1.0).expect("valid").mean_square();
            let direct: f64 = (1..400)
                .map(|n| {
                    let n = f64::from(n);
                    2.0 * (2.0 * n - 1.0) * normal_sf((n - 0.5) / sigma).estimate()
                })
                .sum();
            assert!(
                claimed.lower() <= direct * (1.0 + 1e-13) && direct <= claimed.upper() * (1.0 + 1e-13) + 1e-30,
                "{sigma}: {claimed:?} {direct}"
            );
            assert!(claimed.width() < 1e-6 * direct + 1e-29, "{sigma}: {claimed:?}");
        }
    }

    #[test]
    fn golden_half_width_and_tail() {
        let noise = RoundedGaussian::new(4.2246794, 1.0).expect("valid");
        // 1.959964 * 4.2246794 - 0.5 = 7.78, and Q(9.5 / 4.2246794) = 0.012265.
        assert_eq!(noise.quantile_95(), 8.0);
        assert!((noise.tail(10) - 0.012265).abs() < 5e-6, "{}", noise.tail(10));
        for bad in [0.0, f64::NAN, f64::INFINITY, 1e18, -1.0] {
            assert!(
                RoundedGaussian::new(bad, 1.0).is_err_and(|error| error.to_string().contains("standard deviation"))
            );
        }
    }
}
