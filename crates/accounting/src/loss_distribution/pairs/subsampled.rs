//! The pairs of a release on a secret sample.

use super::super::pair::{Pair, Point, Test, at_most_one, probability};
use reticent_numerics::rounding::mul_down;
use reticent_numerics::{Bounds, Enclosure, nearest};
use std::sync::Arc;

/// Which of two neighbours has the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `P` is the output with the unit.
    Removed,
    /// `P` is the output without it.
    Added,
}

/// A release on a Poisson sample of rate `r`: with the unit the output is that of the base pair's
/// `P` with probability `r` and of its `Q` otherwise. Neighbours add or remove a unit, and the base
/// pair may be exchanged.
///
/// With `M = (1 - r) Q + r P`, removing sets `M` against `Q` and adding `Q` against `M` (Zhu, Dong,
/// Wang 2022, Theorem 11). From `M - e^x Q = r (P - e^y Q)` with `e^y = 1 + (e^x - 1)/r`,
///
/// `delta_removed(x) = r delta(y)`, or `1 - e^x` where `e^x <= 1 - r`; and from
/// `Q - e^x M = s (Q - e^z P)` with `s = 1 - e^x (1 - r)`, `e^z = e^x r / s`,
///
/// `delta_added(x) = s delta(z)`, or 0 where `s <= 0`.
///
/// A test of the base, `(p, q)`, is a test of both: it has the `M` probability `q + r (p - q)`, and
/// `p + r (q - p)` once `P` and `Q` are exchanged.
#[derive(Debug)]
pub(crate) struct SubsampledPair {
    base: Arc<dyn Pair>,
    rate: Bounds,
    direction: Direction,
}

impl SubsampledPair {
    /// A sample of rate strictly between 0 and 1. A sample of a sample has the product of the
    /// rates, of which up to 64 factors have been rounded up: the rate is a number from 64 ulps
    /// below to this.
    pub(crate) fn new(base: Arc<dyn Pair>, rate: f64, direction: Direction) -> Self {
        let lower = mul_down(rate, 1.0 - 64.0 * f64::EPSILON);
        SubsampledPair { base, rate: Bounds::new(lower, rate), direction }
    }

    fn removed(&self, loss: f64) -> Point {
        let rate = self.rate;
        let odds = Bounds::exact(loss).exp_m1() / rate;
        if odds.upper() <= -1.0 {
            return Point::everything(loss);
        }
        if odds.lower() <= -1.0 {
            // Too close to the least loss, ln(1 - r), to tell the side: delta is at most M itself
            // with r instead of r delta(y).
            let above = rate * (Bounds::ONE + Bounds::exact(odds.upper()));
            let everything = Point::everything(loss);
            return Point {
                delta: probability(Bounds::new(
                    everything.delta.lower(),
                    (everything.delta + above).upper(),
                )),
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
        let rate = self.rate;
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

    /// The base's `delta` at a loss `y` of which bounds are known, as is `e^y`, from the point at
    /// the lower one. `delta` falls with the loss. From below it is at least `p - e^y q` for any
    /// test.
    fn base_delta(&self, at_lower: Point, loss: Bounds, exp_loss: Bounds) -> Bounds {
        let lower = match at_lower.test {
            Some(test) => (Bounds::exact(test.p) - exp_loss * Bounds::exact(test.q)).lower(),
            None => self.base.at(loss.upper()).delta.lower(),
        };
        let upper = at_lower.delta.upper();
        probability(Bounds::new(lower.min(upper), upper))
    }
}

impl SubsampledPair {
    fn greatest_of(&self, direction: Direction) -> f64 {
        let rate = self.rate;
        match direction {
            Direction::Removed => {
                let greatest = self.base.greatest_loss();
                if greatest > 700.0 {
                    greatest
                } else {
                    (rate * Bounds::exact(greatest).exp_m1()).ln_1p().upper()
                }
            }
            // -ln(1 - r (1 - e^-g)), where g is infinite if outputs exist that only one of two
            // neighbours has.
            Direction::Added => {
                let base = if self.base.infinite().upper() > 0.0 {
                    f64::INFINITY
                } else {
                    self.base.greatest_loss()
                };
                (-(rate * Bounds::exact(-base).exp_m1()).ln_1p()).upper()
            }
        }
    }
}

impl Pair for SubsampledPair {
    fn at(&self, loss: f64) -> Point {
        match self.direction {
            Direction::Removed => self.removed(loss),
            Direction::Added => self.added(loss),
        }
    }

    fn effort(&self) -> f64 {
        2.0 * self.base.effort()
    }

    fn infinite(&self) -> Bounds {
        match self.direction {
            Direction::Removed => self.base.infinite() * self.rate,
            Direction::Added => Bounds::ZERO,
        }
    }

    /// The images of `a` and `-a`, where `a` is the largest of the base's.
    fn atoms(&self) -> Vec<f64> {
        let sign = if self.direction == Direction::Removed { 1.0 } else { -1.0 };
        let image =
            |loss: f64| sign * nearest::ln_1p(self.rate.estimate() * nearest::exp_m1(sign * loss));
        self.base.atoms().into_iter().flat_map(|atom| [image(atom), -image(-atom)]).collect()
    }

    fn greatest_loss(&self) -> f64 {
        self.greatest_of(self.direction)
    }

    /// That of the other direction, whose pair is this one exchanged: `Q` has outcomes of its own
    /// where a unit is added and the base reveals some for certain.
    fn least_loss(&self) -> f64 {
        match self.direction {
            Direction::Removed => -self.greatest_of(Direction::Added),
            Direction::Added if self.base.infinite().upper() > 0.0 => f64::NEG_INFINITY,
            Direction::Added => -self.greatest_of(Direction::Removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gaussian::GaussianPair;
    use super::*;

    /// The hockey-stick divergence of both directions as a plain Riemann sum over outputs.
    #[test]
    fn deltas_are_those_of_the_densities() {
        let (mu, rate) = (1.3, 0.15);
        let base = Arc::new(GaussianPair::new(Bounds::exact(mu)));
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let outcomes: Vec<(f64, f64)> = (-12_000..=12_000)
            .map(|i| {
                let z = f64::from(i) * 1e-3;
                let (without, with) =
                    (density(z), (1.0 - rate) * density(z) + rate * density(z - mu));
                (1e-3 * with, 1e-3 * without)
            })
            .collect();
        for x in [-0.16_f64, -0.1, 0.0, 0.05, 0.1, 0.16, 0.5, 2.0] {
            let sum = |first: fn(&(f64, f64)) -> (f64, f64)| -> f64 {
                outcomes.iter().map(first).map(|(p, q)| (p - x.exp() * q).max(0.0)).sum()
            };
            for (direction, exact) in [
                (Direction::Removed, sum(|&pair| pair)),
                (Direction::Added, sum(|&(with, without)| (without, with))),
            ] {
                let found = SubsampledPair::new(base.clone(), rate, direction).at(x).delta;
                // The rule's error at a kink is the square of the spacing.
                assert!(
                    (found.estimate() - exact).abs() < 1e-6,
                    "{direction:?} at {x}: {found:?} {exact}"
                );
                assert!(found.width() < 1e-13, "{direction:?} at {x}: {found:?}");
            }
        }
    }

    /// `0.1 * 0.1` is not an `f64`: the bracket holds what the exact product costs, which is less
    /// than what its neighbour above does.
    #[test]
    fn a_rounded_product_of_rates_is_held() {
        let base: Arc<dyn Pair> =
            Arc::new(super::super::atoms::AtomsPair::randomized_response(1.0, 2));
        let exact = Bounds::exact(0.1).square() * base.at(0.0).delta;
        let rounded = reticent_numerics::rounding::mul_up(0.1, 0.1);
        for direction in [Direction::Removed, Direction::Added] {
            let found = SubsampledPair::new(base.clone(), rounded, direction).at(0.0).delta;
            assert!(
                found.lower() <= exact.lower() && exact.upper() <= found.upper(),
                "{found:?} {exact:?}"
            );
            assert!(found.relative_width() < 1e-13, "{found:?}");
        }
    }

    /// What is revealed for certain on a sample is not, once the unit may be out of it.
    #[test]
    fn infinite_losses_go_one_way() {
        let base: Arc<dyn Pair> = Arc::new(super::super::atoms::AtomsPair::approximate(1.0, 0.1));
        let removed = SubsampledPair::new(base.clone(), 0.25, Direction::Removed);
        assert!((removed.infinite().estimate() - 0.025).abs() < 1e-15);
        let added = SubsampledPair::new(base, 0.25, Direction::Added);
        assert_eq!(added.infinite().upper(), 0.0);
        assert!((added.greatest_loss() + 0.75f64.ln()).abs() < 1e-14);
        assert!(added.at(added.greatest_loss()).delta.upper() < 1e-15);
        assert_eq!(added.at(0.3).delta.upper(), 0.0);
    }
}
