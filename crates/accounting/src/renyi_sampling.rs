//! Rényi divergences of what ran on a Poisson sample.
//!
//! Let `P` and `Q` be the outputs with and without the unit, `q` the rate, and
//! `m(k) = ln E_Q[(P/Q)^k]`. At an integer order `n`, where some involution swaps `P` and `Q`,
//!
//! ```text
//! e^m = sum_k C(n, k) (1 - q)^(n-k) q^k e^m(k),      m(0) = m(1) = 0
//! ```
//!
//! (Mironov, Talwar, Zhang, *Rényi differential privacy of the sampled Gaussian mechanism*, 2019,
//! Theorem 5); for any other event the terms from `k = 3` on are multiplied by 3 (Zhu and Wang,
//! *Poisson subsampled Rényi differential privacy*, 2019). Between integers the chord is a bound,
//! and at every order `e^m(n) <= 1 - q + q e^m_inner(n)`; Gaussian noise is integrated at
//! fractional orders (`renyi_sampled_gaussian.rs`). 1 is subtracted from each factor, so that
//! `e^m - 1` is a sum of positive terms. Proofs: docs/proofs/subsampled_renyi.md.

use crate::AccountingError;
use crate::guarantee::pure_loss;
use crate::renyi_curve::{RenyiCurve, gaussian_shift_square};
use crate::renyi_sampled_gaussian::sampled_gaussian_moment;
use reticent_events::Event;
use reticent_numerics::gamma::ln_gamma_of_bounds;
use reticent_numerics::log_sum::{LogSum, ln_one_minus_exp, ln_one_plus_exp};
use reticent_numerics::{Bounds, Enclosure};
use std::sync::OnceLock;

/// The largest order at which the sums are evaluated.
pub(crate) const LARGEST_SUMMED_ORDER: u32 = 512;

/// Fractional orders of Gaussian noise are integrated up to here; above, the chord is near enough.
const LARGEST_INTEGRATED_EXCESS: f64 = 32.0;

/// The moments of a Poisson sample.
#[derive(Debug)]
pub(crate) struct SampledMoments {
    rate: Bounds,
    curve: Box<RenyiCurve>,
    symmetric: bool,
    /// `mu`, rounded up, of Gaussian noise.
    gaussian_shift: Option<f64>,
    /// `m(2), m(3), ...` of the inner event, once they are asked for.
    inner: OnceLock<Vec<f64>>,
    /// The sums for the orders 2, 3, ..., each once it is asked for.
    summed: Vec<OnceLock<f64>>,
}

impl SampledMoments {
    /// For a rate above 0 and below 1.
    ///
    /// # Errors
    /// If the inner event's moments are not known.
    pub(crate) fn new(rate: f64, event: &Event) -> Result<Self, AccountingError> {
        Ok(SampledMoments {
            rate: Bounds::exact(rate),
            curve: Box::new(RenyiCurve::of(event)?),
            symmetric: is_symmetric(event)?,
            gaussian_shift: gaussian_shift_square(event)
                .map(|square| square.sqrt().bounds().upper()),
            inner: OnceLock::new(),
            summed: (2..=LARGEST_SUMMED_ORDER).map(|_| OnceLock::new()).collect(),
        })
    }

    /// `m` at the order `1 + excess`, rounded up.
    pub(crate) fn moment(&self, excess: f64) -> f64 {
        if !(excess > 0.0 && excess.is_finite()) {
            return f64::INFINITY;
        }
        let general = self.chord(excess).min(self.mixed(excess));
        match self.gaussian_shift {
            Some(mu) if excess.fract() != 0.0 && excess < LARGEST_INTEGRATED_EXCESS => {
                general.min(sampled_gaussian_moment(self.rate.upper(), mu, excess))
            }
            _ => general,
        }
    }

    /// The chord between the sums at the two integer orders around this one.
    fn chord(&self, excess: f64) -> f64 {
        let below = excess.floor();
        let part = Bounds::exact(excess) - Bounds::exact(below);
        let (first, second) = (self.at_integer(below), self.at_integer(below + 1.0));
        if part == Bounds::ZERO {
            return first;
        }
        if first == f64::INFINITY || second == f64::INFINITY {
            return f64::INFINITY;
        }
        (Bounds::exact(first) * (Bounds::ONE - part) + Bounds::exact(second) * part).upper()
    }

    /// `ln(1 + q (e^m_inner - 1))`, and `m_inner + ln(q + (1 - q) e^-m_inner)` where that would
    /// overflow.
    fn mixed(&self, excess: f64) -> f64 {
        crate::guarantee::sampled_loss(self.rate.upper(), self.curve.moment(excess))
    }

    /// The sum at the integer order `1 + excess`; 0 at order 1, infinite above
    /// [`LARGEST_SUMMED_ORDER`].
    fn at_integer(&self, excess: f64) -> f64 {
        if excess == 0.0 {
            return 0.0;
        }
        if excess >= f64::from(LARGEST_SUMMED_ORDER) {
            return f64::INFINITY;
        }
        let order = excess as u32 + 1;
        self.summed
            .get(order as usize - 2)
            .map_or(f64::INFINITY, |known| *known.get_or_init(|| self.sum(order)))
    }

    fn sum(&self, order: u32) -> f64 {
        let (ln_rate, ln_rest) = (self.rate.ln(), (-self.rate).ln_1p());
        let mut sum = LogSum::new();
        for k in 2..=order {
            let weight = ln_binomial(order, k) + times(k, ln_rate) + times(order - k, ln_rest);
            sum.add(weight + self.ln_factor_less_one(k));
        }
        let moment = ln_one_plus_exp(sum.bounds()).upper();
        if moment.is_nan() { f64::INFINITY } else { moment.max(0.0) }
    }

    /// `ln(factor - 1)` for the factor of the binomial weight `k`.
    fn ln_factor_less_one(&self, k: u32) -> Bounds {
        let moments = self.inner.get_or_init(|| {
            (2..=LARGEST_SUMMED_ORDER)
                .map(|order| self.curve.moment(f64::from(order - 1)))
                .collect()
        });
        let moment = moments.get(k as usize - 2).copied().unwrap_or(f64::INFINITY);
        // A moment beyond the range of f64 is above all of it.
        let moment = Bounds::new(moment.min(f64::MAX), moment);
        let factor =
            if k == 2 || self.symmetric { moment } else { moment + Bounds::exact(3.0).ln() };
        factor + ln_one_minus_exp(-factor)
    }
}

/// Whether an involution swaps the outputs of any two neighbours, or of a pair of which they are
/// processings and whose moments the curve is.
fn is_symmetric(event: &Event) -> Result<bool, AccountingError> {
    Ok(match event {
        Event::Gaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::RandomScaleGaussian { .. }
        | Event::GeneralizedGaussian { .. } => true,
        // Its curve is in part that of a bounded range, which need not be symmetric.
        Event::Exponential { .. } | Event::PoissonSubsampled { .. } => false,
        Event::Repetition { event, .. } => is_symmetric(event)?,
        Event::Composition { events } => {
            for event in events {
                if !is_symmetric(event)? {
                    return Ok(false);
                }
            }
            true
        }
        Event::Laplace { .. }
        | Event::TruncatedLaplace { .. }
        | Event::Tabulated { .. }
        | Event::DiscreteLaplace { .. }
        | Event::Staircase { .. }
        | Event::TruncatedGeneralizedGaussian { .. }
        | Event::InflatedGeneralizedGaussian { .. }
        | Event::RandomizedResponse { .. }
        | Event::RandomScaleLaplace { .. }
        | Event::RandomScaleLaplaceVector { .. }
        | Event::PermuteAndFlip { .. }
        | Event::Approximate { .. }
        | Event::ZeroConcentrated { .. } => pure_loss(event)?.is_some(),
    })
}

fn times(count: u32, x: Bounds) -> Bounds {
    if count == 0 { Bounds::ZERO } else { Bounds::exact(f64::from(count)) * x }
}

fn ln_binomial(n: u32, k: u32) -> Bounds {
    let ln_factorial = |n: u32| ln_gamma_of_bounds(Bounds::exact(f64::from(n) + 1.0));
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(rate: f64, event: &Event, order: u32) -> f64 {
        SampledMoments::new(rate, event).expect("covered").moment(f64::from(order - 1))
    }

    /// Both directions by quadrature with mpmath at 25 digits; the first is the larger, and the sum
    /// is exact.
    #[test]
    fn samples_of_laplace_noise_are_exact() {
        let rows = [
            (0.5, 0.01, 16, 0.00268967566081),
            (1.0, 0.3, 5, 0.737197279984),
            (3.0, 0.9, 3, 5.19152164381),
            (3.0, 0.01, 2, 0.00123835134632),
        ];
        for (sensitivity, rate, order, exact) in rows {
            let found = moment(rate, &Event::Laplace { scale: 1.0, sensitivity }, order);
            assert!((found / exact - 1.0).abs() < 1e-10, "{found} {exact}");
        }
    }

    #[test]
    fn what_is_not_known_to_be_symmetric_pays_for_it() {
        let gaussian = Event::Gaussian { sigma: 2.0, sensitivity: 1.0 };
        let guarantee = Event::ZeroConcentrated { rho: 0.125 };
        assert_eq!(moment(0.1, &gaussian, 2), moment(0.1, &guarantee, 2));
        assert!(moment(0.1, &gaussian, 3) < moment(0.1, &guarantee, 3));
        let both = Event::Composition { events: vec![gaussian.clone(), guarantee] };
        assert!(!is_symmetric(&both).expect("valid") && is_symmetric(&gaussian).expect("valid"));
    }

    #[test]
    fn tiny_rates_keep_their_digits() {
        // e^m - 1 = q^2 (e^(mu^2) - 1) at order 2.
        let found = moment(1e-9, &Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }, 2);
        assert!((found / (1e-18 * 1f64.exp_m1()) - 1.0).abs() < 1e-12, "{found:e}");
    }

    #[test]
    fn between_integers_and_below_two() {
        for event in [
            Event::Gaussian { sigma: 0.3, sensitivity: 1.0 },
            Event::Laplace { scale: 0.2, sensitivity: 1.0 },
        ] {
            let sampled = SampledMoments::new(0.01, &event).expect("covered");
            for excess in [0.01, 0.5, 1.5, 20.25, 510.5] {
                let found = sampled.moment(excess);
                assert!(
                    found <= sampled.chord(excess) && found <= sampled.mixed(excess),
                    "{excess}"
                );
                let (below, above) =
                    (sampled.moment(excess.floor().max(1e-9)), sampled.moment(excess.ceil()));
                assert!(below <= found && found <= above, "{excess}: {below} {found} {above}");
            }
            assert!(sampled.moment(600.0) <= sampled.curve.moment(600.0));
        }
    }

    #[test]
    fn orders_that_are_none_have_no_bound() {
        let sampled = SampledMoments::new(0.1, &Event::Gaussian { sigma: 1.0, sensitivity: 1.0 })
            .expect("covered");
        for excess in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(sampled.moment(excess), f64::INFINITY, "{excess}");
        }
    }
}
