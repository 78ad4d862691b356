//! Pairs of which the privacy profile is all that is known.

use super::super::pair::{Pair, Point, probability};
use reticent_mechanisms::Mechanism;
use reticent_numerics::{Bounds, Enclosure};

/// The pair of a mechanism that reveals the same in both directions, from its certified profile:
/// `delta(-x) = 1 - e^-x + e^-x delta(x)`.
///
/// A supremum of profiles over neighbours is convex in `e^x` too, and so it is the profile of a
/// pair that dominates them all; it need not be attained.
#[derive(Debug)]
pub(crate) struct ProfilePair {
    mechanism: Box<dyn Mechanism>,
    greatest_loss: f64,
    infinite: Bounds,
}

impl ProfilePair {
    /// Of a mechanism whose loss is at most `greatest_loss`, or infinite with a probability of
    /// `infinite`.
    pub(crate) fn new(mechanism: Box<dyn Mechanism>, greatest_loss: f64, infinite: Bounds) -> Self {
        ProfilePair { mechanism, greatest_loss, infinite: probability(infinite) }
    }

    /// The profile at a loss of at least zero; beyond the mechanism's range it is known to be at
    /// most that at its end.
    fn profile(&self, loss: f64) -> Bounds {
        const END: f64 = 700.0;
        match self.mechanism.delta(loss.min(END)) {
            Ok(delta) if loss <= END => delta,
            Ok(delta) => Bounds::new(0.0, delta.upper()),
            Err(_) => Bounds::new(0.0, 1.0),
        }
    }
}

impl Pair for ProfilePair {
    fn effort(&self) -> f64 {
        100.0
    }

    fn at(&self, loss: f64) -> Point {
        let x = Bounds::exact(loss);
        if loss >= self.greatest_loss {
            return Point::from_tails(loss, self.infinite, Bounds::ZERO);
        }
        if loss < -self.greatest_loss {
            return Point::from_tails(loss, Bounds::ONE, Bounds::ONE - self.infinite);
        }
        let delta = if loss >= 0.0 {
            self.profile(loss)
        } else {
            x.exp() * self.profile(-loss) - x.exp_m1()
        };
        Point { delta: Point::delta(loss, delta), test: None }
    }

    fn infinite(&self) -> Bounds {
        self.infinite
    }

    fn greatest_loss(&self) -> f64 {
        self.greatest_loss
    }
}
