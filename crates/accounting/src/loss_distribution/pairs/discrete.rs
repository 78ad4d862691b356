//! Pairs of integer noise.

use super::super::pair::{Pair, Point, probability};
use reticent_noise::IntegerNoise;
use reticent_numerics::{Bounds, Enclosure};

/// Integer noise `N` of a log-concave distribution, moved by `D`: `P` is the law of `N` and `Q`
/// that of `N + D`. The loss `ln P[N = n] - ln P[N = n - D]` does not increase with `n`, so every
/// upper set of losses is `{n <= m}` and
///
/// `delta(x) = max_m (P[N <= m] - e^x P[N <= m - D])`.
///
/// The maximum is at the last `m` whose loss exceeds `x`, as the expression rises up to it and
/// falls from there. A formula in `f64` finds it up to one, so both neighbours are evaluated too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscretePair<N> {
    noise: N,
    distance: u64,
    /// The loss falls by this much with each integer, where it falls.
    slope: f64,
    /// The greatest loss; infinite if there is none.
    greatest: Bounds,
    mass: Bounds,
    /// How far out tails are evaluated.
    far_out: u128,
}

impl<N: IntegerNoise> DiscretePair<N> {
    /// Noise whose loss is `min(greatest, slope * (D/2 - n))`, and above the negative of
    /// `greatest`.
    pub(crate) fn new(noise: N, distance: u64, slope: f64, greatest: Bounds) -> Self {
        let mass = noise.mass(&Bounds::ONE);
        DiscretePair { noise, distance, slope, greatest, mass, far_out: u128::MAX }
    }

    /// The same, with tails beyond `far_out` known to be no larger than there: where a sum would
    /// have many terms, none of which is above the least `f64`.
    pub(crate) fn within(self, far_out: f64) -> Self {
        DiscretePair { far_out: far_out as u128, ..self }
    }

    /// `P[N <= m]`. Beyond `far_out` a tail lies between 0 and the one there.
    fn at_most(&self, m: i128) -> Bounds {
        let tail = |n: i128| {
            let n = n.unsigned_abs();
            let tail = self.noise.upper_tail(n.min(self.far_out), &Bounds::ONE) / self.mass;
            if n <= self.far_out { tail } else { Bounds::new(0.0, tail.upper()) }
        };
        if m < 0 { tail(-m) } else { Bounds::ONE - tail(m + 1) }
    }

    fn tails(&self, m: i128) -> (Bounds, Bounds) {
        (self.at_most(m), self.at_most(m - self.distance as i128))
    }

    /// Upper bounds on `P[N <= m] - e^x P[N <= m - D]`.
    fn excess(&self, m: i128, factor: Bounds) -> f64 {
        let (p, q) = self.tails(m);
        (p - factor * q).upper()
    }
}

impl<N: IntegerNoise> Pair for DiscretePair<N> {
    fn effort(&self) -> f64 {
        10.0
    }

    fn at(&self, loss: f64) -> Point {
        if loss >= self.greatest.upper() {
            return Point::NOTHING;
        }
        if loss < -self.greatest.upper() {
            return Point::everything(loss);
        }
        let estimate = 0.5 * self.distance as f64 - loss / self.slope;
        if estimate.is_nan() || estimate.abs() > 1e14 {
            // So far out that the formula may be more than one off.
            return Point { delta: Bounds::new(0.0, 1.0), test: None };
        }
        let factor = Bounds::exact(loss).exp();
        let middle = estimate.ceil() as i128 - 1;
        let (p, q) = self.tails(middle);
        let point = Point::from_tails(loss, p, q);
        let best = [middle - 1, middle + 1]
            .map(|m| self.excess(m, factor))
            .into_iter()
            .fold(point.delta.upper(), f64::max);
        Point { delta: probability(Bounds::new(point.delta.lower(), best)), ..point }
    }

    fn greatest_loss(&self) -> f64 {
        self.greatest.upper()
    }

    /// All are `slope (D/2 - n)`.
    fn atoms(&self) -> Vec<f64> {
        vec![if self.distance.is_multiple_of(2) { self.slope } else { 0.5 * self.slope }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::{DiscreteGaussian, DiscreteLaplace};

    /// `delta` as the sum over all integers of `max(0, P[N = n] - e^x P[N = n - D])`.
    fn by_sum(mass: impl Fn(i64) -> f64, distance: i64, x: f64) -> f64 {
        let total: f64 = (-3000..=3000).map(&mass).sum();
        (-3000..=3000).map(|n| (mass(n) - x.exp() * mass(n - distance)).max(0.0)).sum::<f64>()
            / total
    }

    #[test]
    fn deltas_are_sums_over_integers() {
        for (scale, distance) in [(0.5, 1), (3.0, 2), (40.0, 7)] {
            let laplace = DiscreteLaplace::new(scale).expect("a scale");
            let greatest = Bounds::exact(distance as f64) / Bounds::exact(scale);
            let laplace = DiscretePair::new(laplace, distance, 2.0 / scale, greatest);
            let gaussian = DiscreteGaussian::new(scale).expect("a scale");
            let slope = distance as f64 / (scale * scale);
            let gaussian =
                DiscretePair::new(gaussian, distance, slope, Bounds::exact(f64::INFINITY));
            let step = distance as f64 / scale;
            for i in -12..=12 {
                let x = 0.11 * f64::from(i) * step;
                let exact = by_sum(|n| (-(n.abs() as f64) / scale).exp(), distance as i64, x);
                let found = laplace.at(x).delta;
                assert!(
                    (found.estimate() - exact).abs() < 1e-12,
                    "laplace {scale} at {x}: {found:?} {exact}"
                );
                let exact =
                    by_sum(|n| (-0.5 * (n as f64 / scale).powi(2)).exp(), distance as i64, x);
                let found = gaussian.at(x).delta;
                assert!(
                    (found.estimate() - exact).abs() < 1e-12,
                    "gaussian {scale} at {x}: {found:?} {exact}"
                );
            }
        }
    }
}
