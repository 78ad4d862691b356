//! The two distributions that a release sets apart, as far as an accountant must know them.

use reticent_numerics::{Bounds, Enclosure};
use std::fmt::Debug;

/// A pair of distributions `P` and `Q` that dominates a release: for every pair of neighbours and
/// every `t >= 0` the hockey-stick divergence `∫ max(0, p - t q)` of the release is at most that of
/// the pair. `L = ln(p/q)` is the privacy loss.
///
/// Dominating pairs compose: the product of pairs dominates the composition, also when later
/// mechanisms are chosen from earlier answers among those that their pairs dominate (Zhu, Dong,
/// Wang, *Optimal accounting of differential privacy via characteristic function*, 2022, Theorem
/// 10). A pair that some neighbours attain is exact.
pub(crate) trait Pair: Debug + Send + Sync {
    /// What is known at a loss of any sign.
    fn at(&self, loss: f64) -> Point;

    /// `P[L = infinity]`.
    fn infinite(&self) -> Bounds {
        Bounds::ZERO
    }

    /// No outcome has a finite loss above this.
    fn greatest_loss(&self) -> f64 {
        f64::INFINITY
    }

    /// No outcome has a loss below this; minus infinity if `Q` has outcomes that `P` has not. By
    /// default that of a pair that may be exchanged.
    fn least_loss(&self) -> f64 {
        if self.infinite().upper() > 0.0 { f64::NEG_INFINITY } else { -self.greatest_loss() }
    }

    /// About how many times longer than a closed form an evaluation takes.
    fn effort(&self) -> f64 {
        1.0
    }

    /// Losses that single outcomes have, such that all others are multiples of them or their
    /// negatives. A grid that holds them loses nothing there.
    fn atoms(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// What is known of a pair at one loss `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Bounds on `delta(x) = ∫ max(0, p - e^x q)`.
    pub(crate) delta: Bounds,
    /// A set of outcomes close to `{L > x}`, where more than `delta` is known.
    pub(crate) test: Option<Test>,
}

/// A (randomised) set `A` of outcomes: a point on or below the curve of `P[A]` over `Q[A]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    /// At most `P[A]`.
    pub(crate) p: f64,
    /// At least `Q[A]`.
    pub(crate) q: f64,
}

impl Test {
    /// From bounds on the two probabilities of one set.
    pub(crate) fn within(p: Bounds, q: Bounds) -> Test {
        let p = if p.lower() > 0.0 { p.lower().min(1.0) } else { 0.0 };
        Test { p, q: at_most_one(q.upper()) }
    }
}

impl Point {
    /// Beyond every loss.
    pub(crate) const NOTHING: Point =
        Point { delta: Bounds::ZERO, test: Some(Test { p: 0.0, q: 0.0 }) };

    /// Before every loss: `1 - e^x`.
    pub(crate) fn everything(loss: f64) -> Point {
        Point {
            delta: probability(-Bounds::exact(loss).exp_m1()),
            test: Some(Test { p: 1.0, q: 1.0 }),
        }
    }

    /// From `P[L > x]` and `Q[L > x]`: `delta(x) = P[L > x] - e^x Q[L > x]`, which lies between
    /// `1 - e^x` and `P[L > x]`.
    pub(crate) fn from_tails(loss: f64, p: Bounds, q: Bounds) -> Point {
        let x = Bounds::exact(loss);
        let difference = p - x.exp() * q;
        let upper = difference.upper().min(p.upper());
        Point {
            delta: Point::delta(loss, Bounds::new(difference.lower().min(upper), upper)),
            test: Some(Test::within(p, q)),
        }
    }

    /// Bounds on a `delta`, which is a probability and at least `1 - e^x`.
    pub(crate) fn delta(loss: f64, bounds: Bounds) -> Bounds {
        let bounds = probability(bounds);
        if loss >= 0.0 {
            return bounds;
        }
        let least = probability(-Bounds::exact(loss).exp_m1());
        Bounds::new(bounds.lower().max(least.lower()), bounds.upper().max(least.upper()))
    }
}

/// Bounds on a probability; doubt becomes everything that it can be.
pub(crate) fn probability(bounds: Bounds) -> Bounds {
    let lower = if bounds.lower() > 0.0 { bounds.lower().min(1.0) } else { 0.0 };
    Bounds::new(lower, at_most_one(bounds.upper()).max(lower))
}

/// Clamps an upper bound of a probability; doubt becomes 1.
pub(crate) fn at_most_one(upper: f64) -> f64 {
    if upper < 1.0 { upper.max(0.0) } else { 1.0 }
}
