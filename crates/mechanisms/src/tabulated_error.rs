//! The error of noise from a table.

use crate::Errors;
use reticent_noise::{IntegerNoise, Table};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// The law of a [`crate::Tabulated`] noise, in steps: `N` itself, or `N + U` with `U` uniform
/// within one half of zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepLaw<'a> {
    pub table: &'a Table,
    /// Whether the noise is a whole number of steps.
    pub whole: bool,
}

impl StepLaw<'_> {
    /// With steps of length `h`: `E|N| h`, to which the cell of zero adds `p_0/4 h` where noise is
    /// spread; `E N^2 h^2`, and `h^2/12` there; the Shannon entropy of the steps, and `ln h` there.
    pub(crate) fn errors(&self, spacing: f64) -> Errors {
        let h = Wide::from(spacing);
        let (mut mean, mut square, mut entropy) =
            (self.sum(|k| k), self.sum(|k| k * k), self.shannon());
        if !self.whole {
            mean = mean + self.probability(0).times_power_of_two(-2);
            square = square + Wide::ONE / Wide::from(12.0);
            entropy = entropy + h.ln();
        }
        Errors {
            mean_absolute: (mean * h).bounds(),
            root_mean_square: (square.sqrt() * h).bounds(),
            entropy: entropy.bounds(),
            quantile_95: self.quantile_95() * h.bounds(),
        }
    }

    /// `P[N = k] = P[N = -k]`.
    fn probability(&self, k: usize) -> Wide {
        integer(self.table.weights()[k]) / integer(self.table.total())
    }

    /// `sum of 2 f(k) P[N = k]` over `k >= 1`.
    fn sum(&self, f: impl Fn(Wide) -> Wide) -> Wide {
        let total = integer(self.table.total());
        let sum = self
            .table
            .weights()
            .iter()
            .enumerate()
            .skip(1)
            .fold(Wide::ZERO, |sum, (k, &weight)| sum + f(Wide::from(k as f64)) * integer(weight));
        sum.times_power_of_two(1) / total
    }

    /// The Shannon entropy of the steps, `-sum of P ln P`.
    fn shannon(&self) -> Wide {
        (0..self.table.weights().len()).filter(|&k| self.table.weights()[k] > 0).fold(
            Wide::ZERO,
            |sum, k| {
                let p = self.probability(k);
                sum - (p * p.ln()).times_power_of_two(i32::from(k > 0))
            },
        )
    }

    /// `P[|N| > k]`.
    fn beyond(&self, k: u64) -> Wide {
        IntegerNoise::upper_tail(self.table, u128::from(k) + 1, &Wide::ONE).times_power_of_two(1)
            / integer(self.table.total())
    }

    /// `P[|noise| > t]` for `t >= 0` steps.
    pub(crate) fn exceeds(&self, t: Wide) -> Bounds {
        // Within the cell of k the tail of spread noise is linear.
        let on = |k: u64| {
            let slope =
                integer(self.table.weight(k)).times_power_of_two(1) / integer(self.table.total());
            let rest = Wide::from(k as f64) + Wide::from(0.5) - t;
            if self.whole { self.beyond(k) } else { self.beyond(k) + slope * rest }
        };
        let shifted = if self.whole { t } else { t + Wide::from(0.5) };
        let last = self.table.support_in_steps() as f64 + 1.0;
        let (low, high) = (
            shifted.bounds().lower().floor().clamp(0.0, last),
            shifted.bounds().upper().floor().clamp(0.0, last),
        );
        on(low as u64).hull(on(high as u64)).bounds().clamp(0.0, 1.0)
    }

    /// The least `t`, in steps, with `P[|noise| > t] <= 1/20`.
    fn quantile_95(&self) -> Bounds {
        let twentieth = Wide::ONE / Wide::from(20.0);
        // The least k with P[|N| > k] <= 1/20 as far as can be proved, and as far as cannot be
        // excluded.
        let support = self.table.support_in_steps();
        let first = |holds: &dyn Fn(Bounds) -> bool| {
            (0..=support).find(|&k| holds(self.beyond(k).bounds())).unwrap_or(support)
        };
        let limit = twentieth.bounds();
        let (low, high) =
            (first(&|p| p.lower() <= limit.upper()), first(&|p| p.upper() <= limit.lower()));
        if self.whole {
            return Bounds::new(low as f64, high as f64);
        }
        // In the cell of k: P[|N| > k] + 2 p_k (k + 1/2 - t) = 1/20. The cell of zero begins at
        // zero.
        let inside = |k: u64| {
            let slope =
                integer(self.table.weight(k)).times_power_of_two(1) / integer(self.table.total());
            Wide::from(k as f64) + Wide::from(0.5) - (twentieth - self.beyond(k)) / slope
        };
        inside(low).hull(inside(high)).bounds().clamp(0.0, f64::INFINITY)
    }
}

/// A weight, or a sum of weights, which is below `2^127`.
pub(crate) fn integer(weight: u128) -> Wide {
    Wide::ONE.integer(weight as i128)
}
