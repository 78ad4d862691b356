//! The first of several coordinates: its delta as a function of what the others leave of epsilon,
//! with the Taylor coefficients.

use super::order::Order;
use super::several::Losses;
use super::shift::Shift;
use super::taylor::{magnitude_coefficients, profile_coefficients};
use crate::sharp::{Formula, sharp};
use reticent_numerics::{Bounds, Enclosure};

/// `phi` at one point, or over an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    epsilon: Bounds,
    /// Where the first coordinate's loss reaches what is left of epsilon, if it does.
    threshold: Option<Bounds>,
    /// `P[X > t + u]`.
    tail_beyond: Bounds,
    pub(super) value: Bounds,
}

impl Node {
    pub(super) fn hull(&self, other: &Node) -> Node {
        Node {
            epsilon: self.epsilon.hull(other.epsilon),
            threshold: self.threshold.zip(other.threshold).map(|(a, b)| a.hull(b)),
            tail_beyond: self.tail_beyond.hull(other.tail_beyond),
            value: self.value.hull(other.value),
        }
    }
}

/// The first coordinate, whose delta is known by a formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer<'a> {
    pub(super) shift: &'a Shift,
    pub(super) losses: Losses,
}

impl Outer<'_> {
    pub(super) fn node(&self, epsilon: f64) -> Node {
        let shift = self.shift;
        let threshold = shift.threshold(epsilon).map(|(low, high)| Bounds::new(low, high));
        let (threshold, tail_beyond, value) = match self.losses {
            Losses::Both => {
                let moved = threshold.map(|t| t + shift.ratio(&t));
                let at = |x: f64| sharp(&Tail { order: shift.order, x });
                let tail =
                    moved.map_or(Bounds::new(0.0, 1.0), |x| at(x.upper()).hull(at(x.lower())));
                (threshold, tail, shift.delta(epsilon))
            }
            // At the least loss and below, phi is one, and has a kink.
            Losses::Magnitudes => {
                let smooth = threshold.filter(|t| t.lower() > 0.0);
                (smooth, Bounds::new(0.0, 1.0), shift.corollary_9(epsilon))
            }
        };
        Node { epsilon: Bounds::exact(epsilon), threshold, tail_beyond, value }
    }

    pub(super) fn coefficients(&self, node: &Node, last: usize) -> Vec<Bounds> {
        let Some(t) = node.threshold else {
            let mut unknown = vec![Bounds::WHOLE_LINE; last + 1];
            unknown[0] = node.value;
            return unknown;
        };
        match self.losses {
            Losses::Both => profile_coefficients(
                self.shift,
                node.epsilon,
                t,
                node.tail_beyond,
                node.value,
                last,
            ),
            Losses::Magnitudes => magnitude_coefficients(self.shift, t, node.value, last),
        }
    }
}

/// `P[X > x]`.
pub(super) struct Tail {
    pub(super) order: Order,
    pub(super) x: f64,
}

impl Formula for Tail {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        self.order.tail(&like.exactly(self.x))
    }
}
