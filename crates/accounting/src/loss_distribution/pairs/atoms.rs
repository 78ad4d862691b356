//! Pairs with a few outcomes.

use super::super::pair::{Pair, Point};
use reticent_numerics::{Bounds, Enclosure};

/// A pair whose loss is one of `e`, 0 and `-e`, or infinite on either side. It may be exchanged.
///
/// - k-ary randomized response: the outcome `e` has `P` probability `e^e / (e^e + k - 1)`, and the
///   answers that neither of two people would give truly have loss 0.
/// - "Some `(e, d)`-differentially private mechanism": with probability `d` all is revealed,
///   otherwise it is binary randomized response. It dominates every such mechanism and is one
///   itself (Kairouz, Oh, Viswanath, *The composition theorem for differential privacy*, 2015,
///   Theorem 3.1).
/// - The staircase: `P[L = e]` is its profile at 0 over `1 - e^-e`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomsPair {
    epsilon: Bounds,
    /// `P[L = e]`.
    high: Bounds,
    /// `Q[L = e] = P[L = -e]`.
    low: Bounds,
    /// `P[L = infinity]`.
    infinite: Bounds,
}

impl AtomsPair {
    /// k-ary randomized response of loss `epsilon`.
    pub(crate) fn randomized_response(epsilon: f64, categories: u64) -> Self {
        let epsilon = Bounds::exact(epsilon);
        // Over e^e, which does not overflow: 1 / (1 + (k - 1) e^-e).
        let others = epsilon.integer((categories - 1) as i128);
        let high = Bounds::ONE / (Bounds::ONE + others * (-epsilon).exp());
        AtomsPair { epsilon, high, low: high * (-epsilon).exp(), infinite: Bounds::ZERO }
    }

    /// Some `(epsilon, delta)`-differentially private mechanism.
    pub(crate) fn approximate(epsilon: f64, delta: f64) -> Self {
        let response = AtomsPair::randomized_response(epsilon, 2);
        let rest = Bounds::ONE - Bounds::exact(delta);
        AtomsPair {
            high: response.high * rest,
            low: response.low * rest,
            infinite: Bounds::exact(delta),
            ..response
        }
    }

    /// Outcomes of loss `epsilon`, 0 and `-epsilon`, of which the first has probability `high`.
    pub(crate) fn three(epsilon: f64, high: Bounds) -> Self {
        let epsilon = Bounds::exact(epsilon);
        AtomsPair { epsilon, high, low: high * (-epsilon).exp(), infinite: Bounds::ZERO }
    }
}

impl Pair for AtomsPair {
    fn at(&self, loss: f64) -> Point {
        let epsilon = self.epsilon.upper();
        let (p, q) = if loss >= epsilon {
            (self.infinite, Bounds::ZERO)
        } else if loss >= 0.0 {
            (self.infinite + self.high, self.low)
        } else if loss >= -epsilon {
            // All but the outcomes of the loss -e, and of minus infinity.
            (Bounds::ONE - self.low, Bounds::ONE - self.high - self.infinite)
        } else {
            (Bounds::ONE, Bounds::ONE - self.infinite)
        };
        Point::from_tails(loss, p, q)
    }

    fn infinite(&self) -> Bounds {
        self.infinite
    }

    fn greatest_loss(&self) -> f64 {
        self.epsilon.upper()
    }

    fn atoms(&self) -> Vec<f64> {
        vec![self.epsilon.lower()]
    }
}
