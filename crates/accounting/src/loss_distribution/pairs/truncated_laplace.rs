//! The pair of Laplace noise that ends.

use super::super::pair::{Pair, Point, probability};
use reticent_numerics::{Bounds, Enclosure};

/// Laplace noise of scale 1 on `[-a, a]`, moved by `u`: `P` is its law and `Q` that of the noise
/// less `u`. Both numbers are in scales: the largest noise and the sensitivity, each over the noise
/// scale.
///
/// With `T(x)` the mass of `exp(-|x|)` on `[-a, a]` beyond `x`, the outputs of a loss above `y` are
/// those beyond `s = min(max((y - u)/2, -a), a - u)` for `-u <= y < u`, `a - u` for `y >= u`, and
/// `-a` for `y < -u`, and `delta(y) = P[X > s] - e^y Q[X > s]` with `P[X > s] = T(s)/T(-a)` and
/// `Q[X > s] = T(s + u)/T(-a)`. Derivation, without overflow: docs/proofs/truncated_laplace.md.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TruncatedLaplacePair {
    support_in_scales: Bounds,
    sensitivity_in_scales: Bounds,
    /// `T(-a)`.
    whole: Bounds,
}

impl TruncatedLaplacePair {
    /// Of `a > 0` and `u > 0`.
    pub(crate) fn new(support_in_scales: f64, sensitivity_in_scales: Bounds) -> Self {
        let support_in_scales = Bounds::exact(support_in_scales);
        let whole = -(-support_in_scales).exp_m1().times_power_of_two(1);
        TruncatedLaplacePair { support_in_scales, sensitivity_in_scales, whole }
    }

    /// `T(x)/T(-a)` for a single `x`.
    fn beyond_point(&self, x: f64) -> Bounds {
        let (x, a) = (Bounds::exact(x), self.support_in_scales);
        let mass = if x.upper() <= 0.0 {
            -(-a).exp_m1() - x.exp_m1()
        } else {
            // e^-x (1 - e^(x - a)), without the difference of two tiny numbers.
            (-x).exp() * -(x - a).exp_m1()
        };
        if x.upper() >= a.lower() {
            Bounds::ZERO
        } else if x.lower() <= -a.upper() {
            Bounds::ONE
        } else {
            probability(mass / self.whole)
        }
    }

    /// `T(x)/T(-a)`, which falls with `x`.
    fn beyond(&self, x: Bounds) -> Bounds {
        if !x.is_finite() {
            return Bounds::new(0.0, 1.0);
        }
        Bounds::new(self.beyond_point(x.upper()).lower(), self.beyond_point(x.lower()).upper())
    }

    /// `a - u`, from where on outputs are those of `P` alone; `-a` if `P` and `Q` share nothing.
    fn end(&self) -> Bounds {
        (self.support_in_scales - self.sensitivity_in_scales).max(-self.support_in_scales)
    }
}

/// The smaller of two numbers.
fn least(one: Bounds, other: Bounds) -> Bounds {
    -(-one).max(-other)
}

impl Pair for TruncatedLaplacePair {
    fn at(&self, loss: f64) -> Point {
        let (a, u, y) = (self.support_in_scales, self.sensitivity_in_scales, Bounds::exact(loss));
        let certain = Point::from_tails(loss, self.infinite(), Bounds::ZERO);
        let everything = Point::from_tails(loss, Bounds::ONE, self.beyond(u - a));
        if loss >= u.upper() {
            return certain;
        }
        if loss < -u.upper() {
            return everything;
        }
        let middle = (y - u) * Bounds::exact(0.5);
        let start = least(middle.max(-a), self.end());
        let (p, q) = (self.beyond(start), self.beyond(start + u));
        let point = Point::from_tails(loss, p, q);
        let delta = if middle.lower() >= -a.lower() && middle.upper() <= self.end().lower() {
            Point::delta(loss, p - middle.exp() * -(middle + u - a).exp_m1() / self.whole)
        } else {
            point.delta
        };
        // Within an ulp of u or -u, where the side is in doubt, one of the other two sets may be
        // the best.
        let most = delta.upper().max(certain.delta.upper());
        let most = if loss < -u.lower() { most.max(everything.delta.upper()) } else { most };
        Point { delta: Bounds::new(delta.lower(), most), ..point }
    }

    /// `T(a - u)/T(-a)`.
    fn infinite(&self) -> Bounds {
        self.beyond(self.end())
    }

    fn greatest_loss(&self) -> f64 {
        self.sensitivity_in_scales.upper()
    }

    fn atoms(&self) -> Vec<f64> {
        vec![self.sensitivity_in_scales.lower()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `delta` by the midpoint rule on the two densities.
    fn by_density(a: f64, u: f64, y: f64) -> f64 {
        let density =
            |x: f64| if x.abs() <= a { (-x.abs()).exp() / (-2.0 * (-a).exp_m1()) } else { 0.0 };
        let cells = 200_000;
        let width = 2.0 * a / f64::from(cells);
        let at = |i| -a + (f64::from(i) + 0.5) * width;
        (0..cells).map(|i| (density(at(i)) - y.exp() * density(at(i) + u)).max(0.0) * width).sum()
    }

    #[test]
    fn deltas_are_those_of_the_densities() {
        for (a, u) in [(3.0, 1.0), (0.4, 0.5), (5.0, 4.0), (1.0, 2.5), (0.7, 1.2), (12.0, 0.3)] {
            let pair = TruncatedLaplacePair::new(a, Bounds::exact(u));
            for i in -8..=8 {
                let y = 0.17 * f64::from(i) * u;
                let (found, exact) = (pair.at(y).delta, by_density(a, u, y));
                assert!(
                    (found.estimate() - exact).abs() < 2e-5,
                    "{a} {u} at {y}: {found:?} {exact}"
                );
                assert!(found.width() < 1e-14, "{a} {u} at {y}: {found:?}");
                let test = pair.at(y).test.expect("known");
                let gain = Bounds::exact(test.p) - Bounds::exact(y).exp() * Bounds::exact(test.q);
                assert!(
                    gain.lower() <= found.upper() && gain.upper() > found.lower() - 1e-14,
                    "{a} {u} at {y}"
                );
            }
        }
    }

    /// Losses whose exponential overflows: `1 - e^((y - u)/2)` up to what the end of the noise,
    /// 1000 scales on, adds.
    #[test]
    fn large_losses_have_a_profile() {
        let pair = TruncatedLaplacePair::new(2000.0, Bounds::exact(1000.0));
        for y in [690.0, 710.0, 900.0, 999.0, 999.999] {
            let (found, exact) = (pair.at(y).delta, -f64::exp_m1(0.5 * (y - 1000.0)));
            assert!(
                found.lower() <= exact * (1.0 + 1e-9) && exact <= found.upper() * (1.0 + 1e-9),
                "{y}: {found:?}"
            );
            assert!(found.relative_width() < 1e-9, "{y}: {found:?} {exact}");
        }
        assert!(pair.at(1000.0).delta.upper() < 1e-300 && pair.infinite().lower() == 0.0);
    }
}
