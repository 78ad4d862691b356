//! An inverse scale that is uniform on an interval.

use super::moments::{exponential_moments, product, scaled_powers};
use crate::NoiseError;
use reticent_numerics::{Enclosure, require};
use std::cmp::Ordering;

/// `T` uniform on `[lower, upper]`.
///
/// With `h = (upper - lower) x`: `E[exp(-x T)] = exp(-lower x) m_0(h)` and `E[T exp(-x T)] =
/// exp(-lower x) (lower m_0(h) + (upper - lower) m_1(h))`, where `m_j(h) = ∫_0^1 s^j exp(-h s) ds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformScale {
    lower: f64,
    upper: f64,
}

impl UniformScale {
    /// The ends of the interval.
    ///
    /// # Errors
    /// Unless `0 <= lower < upper <= 1e150`, with an upper end of at least 1e-150.
    pub fn new(lower: f64, upper: f64) -> Result<Self, NoiseError> {
        require(
            (1e-150..=1e150).contains(&upper),
            "upper",
            upper,
            "a number from 1e-150 to 1e150",
        )?;
        require(lower >= 0.0 && lower < upper, "lower", lower, "at least 0 and below `upper`")?;
        Ok(UniformScale { lower, upper })
    }

    /// The lower end.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    pub(super) fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        UniformScale::new(self.lower / factor, self.upper / factor)
    }

    /// With `T = lower + w S` and `S` uniform on `[0, 1]`: the moments of the constant `lower`
    /// times those of `w S`, which are `w^j m_j(w x) / j!`.
    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let width = self.width(x);
        let powers = scaled_powers(
            order,
            &x.exactly(self.lower),
            (-(x.exactly(self.lower) * x.clone())).exp(),
        );
        let mut of_width = exponential_moments(order, &(width.clone() * x.clone()));
        let mut power = x.exactly(1.0);
        for moment in &mut of_width {
            *moment = moment.clone() * power.clone();
            power = power * width.clone();
        }
        product(&powers, &of_width)
    }

    fn width<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(self.upper) - like.exactly(self.lower)
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        let h = self.width(x) * x.clone();
        (-(x.exactly(self.lower) * x.clone())).exp() * exponential_moment(0, &h)
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        let width = self.width(x);
        let h = width.clone() * x.clone();
        let mean =
            x.exactly(self.lower) * exponential_moment(0, &h) + width * exponential_moment(1, &h);
        (-(x.exactly(self.lower) * x.clone())).exp() * mean
    }
}

/// `m_j(h) = ∫_0^1 s^j exp(-h s) ds` for `j` of 0 or 1 and `h >= 0`.
fn exponential_moment<E: Enclosure>(j: u32, h: &E) -> E {
    // Above, the closed form loses at most `2/h^2`, 13 bits; below, the series is short.
    if h.bounds().lower() < 0.015625 && h.bounds().upper() < 1.0 {
        return exponential_moment_near_zero(j, h);
    }
    let decay = (-h.clone()).exp();
    let first = -(-h.clone()).exp_m1();
    if j == 0 { first / h.clone() } else { (first - h.clone() * decay) / (h.clone() * h.clone()) }
}

/// The power series `sum_n (-h)^n / (n! (n + j + 1))` for `0 <= h <= 1`. Its terms alternate and
/// decrease, so the error is at most the first one left out.
fn exponential_moment_near_zero<E: Enclosure>(j: u32, h: &E) -> E {
    // Compared at the precision of h: beyond a thousand bits f64 cannot hold it.
    let negligible = h.exactly(1.0).times_power_of_two(-(h.precision() as i32) - 4);
    let mut sum = h.exactly(0.0);
    let mut power = h.exactly(1.0);
    let mut n = 0u32;
    loop {
        let term = power.clone() / h.exactly(f64::from(n + j + 1));
        let size = if n.is_multiple_of(2) { term.clone() } else { -term.clone() };
        if size.compare(&negligible).is_some_and(Ordering::is_lt) || n > 100_000 {
            return sum + h.exactly(0.0).hull(term);
        }
        sum = sum + term;
        n += 1;
        power = power * -h.clone() / h.exactly(f64::from(n));
    }
}
