//! The pairs of a release on a secret sample.

use super::super::pair::{Pair, Point, Test, at_most_one, probability};
use reticent_numerics::{Bounds, Enclosure};
use std::sync::Arc;

/// Which of two neighbours has the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `P` is the output with the unit.
    Removed,
    /// `P` is the output without it.
    Added,
}

/// A release on a Poisson sample of rate `r`: with the unit the output is that of the base pair's `P` with probability `r` and of its `Q` otherwise. Neighbours add or
/// remove a unit, and the base pair may be exchanged.
///
/// With `M = (1 - r) Q + r P`, removing sets `M` against `Q` and adding `Q` against `M` (Zhu, Dong, Wang 2022, Theorem 11). From `M - e^x Q = r (P - e^y Q)`
/// with `e^y = 1 + (e^x - 1)/r`,
///
/// `delta_removed(x) = r delta(y)`, or `1 - e^x` where `e^x <= 1 - r`; and from `Q - e^x M = s (Q - e^z P)` with `s = 1 - e^x (1 - r)`, `e^z = e^x r / s`,
///
/// `delta_added(x) = s delta(z)`, or 0 where `s <= 0`.
///
/// A test of the base, `(p, q)`, is a test of both: it has the `M` probability `q + r (p - q)`, and `p + r (q - p)` once `P` and `Q` are exchanged.
#[derive(Debug)]
pub(crate) struct SubsampledPair {
    base: Arc<dyn Pair>,
    rate: f64,
    direction: Direction,
}

impl SubsampledPair {
    /// A sample of rate strictly between 0 and 1.
    pub(crate) fn new(base: Arc<dyn Pair>, rate: f64, direction: Direction) -> Self {
        SubsampledPair { base, rate, direction }
    }

    fn removed(&self, loss: f64) -> Point {
        let rate = Bounds::exact(self.rate);
        let odds = Bounds::exact(loss).exp_m1() / rate;
        if odds.upper() <= -1.0 {
            return Point::everything(loss);
        }
        if odds.lower() <= -1.0 {
            // Too close to the least loss, ln(1 - r), to tell the side: delta is at most M itself with r instead of r delta(y).
            let above = rate * (Bounds::ONE + Bounds::exact(odds.upper()));
            let everything = Point::everything(loss);
            return Point {
                delta: probability(Bounds::new(everything.delta.lower(), (everything.delta + above).upper())),
                ..everything
            };
        }
        let base_loss = odds.ln_1p();
        let base = self.base.at(base_loss.lower());
        let mixed = |test: Test| {
            let (p, q) = (Bounds::exact(test.p), Bounds::exact(test.q));
            Test { p: (q + rate * (p - q)).lower().clamp(0.0, 1.0), q: test.q }
        };
        let delta = rate * self.base_delta(base, base_loss, Bounds::ONE + odds);
        Point { delta: Point::delta(loss, delta), test: base.test.map(mixed) }
    }

    fn added(&self, loss: f64) -> Point {
        let rate = Bounds::exact(self.rate);
        let x = Bounds::exact(loss);
        // s = 1 - e^x (1 - r) = r e^x - (e^x - 1)
        let rest = rate * x.exp() - x.exp_m1();
        if rest.upper() <= 0.0 {
            return Point::NOTHING;
        }
        if rest.lower() <= 0.0 {
            return Point { delta: probability(Bounds::new(0.0, rest.upper())), ..Point::NOTHING };
        }
        let base_loss = (x.exp() * rate / rest).ln();
        let base = self.base.at(base_loss.lower());
        let mixed = |test: Test| {
            let (p, q) = (Bounds::exact(test.p), Bounds::exact(test.q));
            Test { p: test.p, q: at_most_one((p + rate * (q - p)).upper()) }
        };
        let delta = rest * self.base_delta(base, base_loss, x.exp() * rate / rest);
        Point { delta: Point::delta(loss, delta), test: base.test.map(mixed) }
    }

    /// The base's `delta` at a loss `y` of which bounds are known, as is `e^y`, from the point at the lower one. `delta` falls with the loss. From below it is at least `p - e^y q` for any test.
    fn base_delta(&self, at_lower: Point, loss: Bounds, exp_loss: Bounds) -> Bounds {
        let lower = match at_lower.test {
            Some(test) => (Bounds::exact(test.p) - exp_loss * Bounds::exact(test.q)).lower(),
            None => self.base.at(loss.upper()).delta.lower(),
        };
        let upper = at_lower.delta.upper();
        probability(Bounds::new(lower.min(upper), upper))
    }
}

impl Pair for SubsampledPair {
    fn at(&self, loss: f64) -> Point {
        match self.direction {
            Direction::Removed => self.removed(loss),
            Direction::Added => self.added(loss),
        }
    }

    fn infinite(&self) -> Bounds {
        match self.direction {
            Direction::Removed => self.base.infinite() * Bounds::exact(self.rate),
            Direction::Added => Bounds::ZERO,
        }
    }

    /// The images of `a` and `-a`, where `a` is the largest of the base's.
    fn atoms(&self) -> Vec<f64> {
        let sign = if self.direction == Direction::Removed { 1.0 } else { -1.0 };
        let image = |loss: f64| sign * (self.rate * (sign * loss).exp_m1()).ln_1p();
        self.base.atoms().into_iter().flat_map(|atom| [image(atom), -image(-atom)]).collect()
    }

    fn greatest_loss(&self) -> f64 {
        let rate = Bounds::exact(self.rate);
        match self.direction {
            Direction::Removed => {
                let greatest = self.base.greatest_loss();
                if greatest > 700.0 { greatest } else { (rate * Bounds::exact(greatest).exp_m1()).ln_1p().upper() }
            }
            Direction::Added => (-(-rate).ln_1p()).upper(),
        }
    }
}
