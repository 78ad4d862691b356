//! Rényi divergences of what ran on a Poisson sample, at integer orders.
//!
//! # Gaussian noise
//! With rate `q` and `mu = D/sigma` (Mironov, Talwar, Zhang, *Rényi differential privacy of the sampled Gaussian mechanism*, 2019, Theorems 4 and 5, and Section 3.3: the direction of the
//! mixture against the plain Gaussian is the larger one, and at integer orders its moment is the sum)
//!
//! ```text
//! e^m(n) = sum_k C(n, k) (1 - q)^(n-k) q^k e^(k (k-1) mu^2/2).
//! ```
//!
//! # Any other event
//! From its moments `m(k) = (k-1) D_k` in both directions (Zhu and Wang, *Poisson subsampled Rényi differential privacy*, 2019, the general upper bound)
//!
//! ```text
//! e^m(n) <= (1-q)^(n-1) (1 + (n-1) q) + C(n, 2) q^2 (1-q)^(n-2) e^m(2) + 3 sum_(k >= 3) C(n, k) q^k (1-q)^(n-k) e^m(k).
//! ```
//!
//! # Numerics
//! The binomial weights add up to 1, and 1 is subtracted from each factor, so that `e^m - 1` is a sum of positive terms and keeps its digits where the
//! rate is small.

use crate::AccountingError;
use crate::renyi_curve::{RenyiCurve, gaussian_shift_square};
use reticent_events::Event;
use reticent_numerics::gamma::ln_gamma_of_bounds;
use reticent_numerics::log_sum::{LogSum, ln_one_minus_exp, ln_one_plus_exp};
use reticent_numerics::{Bounds, Enclosure};
use std::sync::OnceLock;

/// The largest order at which the sums are evaluated.
pub(crate) const LARGEST_SAMPLED_ORDER: u32 = 512;

/// The moments of a Poisson sample.
#[derive(Debug)]
pub(crate) struct SampledMoments {
    ln_rate: Bounds,
    ln_rest: Bounds,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// Gaussian noise, with `mu^2/2`.
    Gaussian { half_square: Bounds },
    /// Anything else, with its moments at the orders 2, 3, ... once they are known.
    Any { curve: Box<RenyiCurve>, moments: OnceLock<Vec<f64>> },
}

impl SampledMoments {
    /// For a rate above 0 and below 1.
    ///
    /// # Errors
    /// If the inner event's moments are not known.
    pub(crate) fn new(rate: f64, event: &Event) -> Result<Self, AccountingError> {
        let inner = match gaussian_shift_square(event) {
            Some(square) => Inner::Gaussian { half_square: square.times_power_of_two(-1).bounds() },
            None => Inner::Any { curve: Box::new(RenyiCurve::of(event)?), moments: OnceLock::new() },
        };
        Ok(SampledMoments { ln_rate: Bounds::exact(rate).ln(), ln_rest: Bounds::exact(-rate).ln_1p(), inner })
    }

    /// `m` at the order `1 + excess`, rounded up; infinite unless the order is an integer from 2 to [`LARGEST_SAMPLED_ORDER`].
    pub(crate) fn moment(&self, excess: f64) -> f64 {
        if excess.fract() != 0.0 || !(1.0..f64::from(LARGEST_SAMPLED_ORDER)).contains(&excess) {
            return f64::INFINITY;
        }
        let order = excess as u32 + 1;
        let mut sum = LogSum::new();
        for k in 2..=order {
            let weight =
                ln_binomial(order, k) + self.ln_rate * Bounds::exact(f64::from(k)) + times(order - k, self.ln_rest);
            sum.add(weight + self.ln_factor_less_one(k));
        }
        let moment = ln_one_plus_exp(sum.bounds()).upper();
        if moment.is_nan() { f64::INFINITY } else { moment.max(0.0) }
    }

    /// `ln(factor - 1)` for the factor of the binomial weight `k`.
    fn ln_factor_less_one(&self, k: u32) -> Bounds {
        match &self.inner {
            Inner::Gaussian { half_square } => {
                let pairs = Bounds::exact(f64::from(k)) * Bounds::exact(f64::from(k - 1));
                ln_exp_less_one(pairs * *half_square)
            }
            Inner::Any { curve, moments } => {
                let moments = moments.get_or_init(|| {
                    (2..=LARGEST_SAMPLED_ORDER).map(|order| curve.moment(f64::from(order - 1))).collect()
                });
                let moment = moments.get(k as usize - 2).copied().unwrap_or(f64::INFINITY);
                let moment = Bounds::new(moment.min(f64::MAX), moment);
                ln_exp_less_one(if k == 2 { moment } else { moment + Bounds::exact(3.0).ln() })
            }
        }
    }
}

/// `ln(e^x - 1)` for `x > 0`.
fn ln_exp_less_one(x: Bounds) -> Bounds {
    x + ln_one_minus_exp(-x)
}

fn times(count: u32, x: Bounds) -> Bounds {
    if count == 0 { Bounds::ZERO } else { Bounds::exact(f64::from(count)) * x }
}

fn ln_binomial(n: u32, k: u32) -> Bounds {
    let ln_factorial = |n: u32| ln_gamma_of_bounds(Bounds::exact(f64::from(n) + 1.0));
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}
