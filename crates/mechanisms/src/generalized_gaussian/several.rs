//! Several coordinates that move at once: a certified convolution of their losses.
//!
//! # Formula
//! The losses of independent coordinates add up. With `phi(s)` the delta that the first coordinate alone has at `epsilon - s`, the delta of all of them is
//! `E[phi(L_2 + ... + L_r)]`, in the approximate notion (the profile `P[X > t] - e^(epsilon - s) P[X > t + u]`) and for Proposition 8 (the probability
//! `P[|X| > t]`) alike. The corner of the box is the worst direction: each coordinate's loss increases with its noise, and the argument of
//! [`super::shift::Shift`] applies to each slice of the violating set.
//!
//! # Method
//! The distribution of `L_2 + ... + L_r` is kept as moments on the cells of a grid ([`CellMoments`]), and `phi` as its Taylor coefficients at the centre of each
//! cell and over all of it. The sum over the cells of `sum_{k<m} phi_k E[(L - c)^k] + phi_m E[(L - c)^m]` encloses the expectation. What lies beyond the grid is bounded
//! by its mass, which is chosen `10^-12` of the result. The grid is refined until the bounds are narrow, or the finest grid is reached.
//!
//! # Direction of error
//! Outward. A relative width of `1e-11` is reached where `phi` is smooth on the scale of the grid. It is not where the loss of the first coordinate is nearly flat, at noise near
//! zero: there `phi` varies within a loss of about `u^p`, and for Proposition 8 it has a kink. Where the other coordinates are likely to take all of epsilon by
//! themselves (similar sensitivities, high orders, a large delta), the width falls with the square of the step only: `1e-9` to `1e-3` on the finest grid.

use super::cell_moments::{CellMoments, MOMENTS, expansion};
use super::order::Order;
use super::shift::Shift;
use super::taylor::{magnitude_coefficients, profile_coefficients};
use crate::sharp::{Formula, sharp};
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, sum_bounds};

/// More coordinates than this are refused: the grid would grow too long.
pub(super) const MOST_COORDINATES: usize = 12;

/// The relative width at which the grid is not refined further.
const NARROW: f64 = 1e-11;

/// The numbers of cells that the second coordinate gets.
const GRIDS: [f64; 5] = [32.0, 64.0, 128.0, 256.0, 512.0];

/// Which losses are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Losses {
    /// `|x + u|^p - |x|^p`, for the privacy profile.
    Both,
    /// `(|x| + u)^p - |x|^p`, for Proposition 8.
    Magnitudes,
}

/// The delta at `epsilon` of at least two coordinates with these sensitivities, the largest first; order above 1.
pub(crate) fn delta(order: Order, sensitivities: &[f64], scale: f64, epsilon: f64, losses: Losses) -> Bounds {
    let shift = |sensitivity: f64| Shift { order, sensitivity, scale };
    let first = shift(sensitivities[0]);
    let others: Vec<Shift> = sensitivities[1..].iter().map(|&d| shift(d)).collect();
    // The first coordinate alone, the others at their least loss: a lower bound.
    let alone = match losses {
        Losses::Both => first.delta(epsilon).lower(),
        Losses::Magnitudes => {
            let least = others.iter().fold(Bounds::ZERO, |sum, other| sum + other.loss_at(0.0, 0.0));
            let rest = (Bounds::exact(epsilon) - least).upper();
            if rest <= 0.0 {
                return Bounds::ONE;
            }
            first.corollary_9(rest).lower()
        }
    };
    let unseen = 1e-13 * alone.max(1e-300);
    let reach = order.root(&gamma_q_inverse(order.inverse(&Bounds::ONE), Bounds::exact(2.0 * unseen))).upper();
    let outside = mul_up(2.0, sharp(&Tail { order, x: reach }).upper());
    let mut best = Bounds::new(alone, 1.0);
    for cells in GRIDS {
        let finer = on_grid(&first, &others, epsilon, losses, reach, outside, cells, alone);
        best = best.intersect(finer.unwrap_or(best));
        if best.relative_width() <= NARROW {
            break;
        }
    }
    best
}

struct Tail {
    order: Order,
    x: f64,
}

impl Formula for Tail {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        self.order.tail(&like.exactly(self.x))
    }
}

#[expect(clippy::too_many_arguments, reason = "one private step of `delta`, which names them all")]
fn on_grid(
    first: &Shift,
    others: &[Shift],
    epsilon: f64,
    losses: Losses,
    reach: f64,
    outside: f64,
    cells: f64,
    alone: f64,
) -> Option<Bounds> {
    let span = others[0].loss_at(reach, 0.0).upper() * if losses == Losses::Both { 2.0 } else { 1.0 };
    let step = 2f64.powi((span / cells).log2().ceil() as i32);
    // The grid is shifted so that epsilon minus a grid point is a f64: a multiple of a sixteenth of a step.
    let rounded = (epsilon / step).round() * step;
    let offset = epsilon - rounded;
    let mut sum: Option<CellMoments> = None;
    for other in others {
        let offset = if sum.is_none() { offset } else { 0.0 };
        let next = CellMoments::of_coordinate(other, losses, step, offset, reach, outside)?;
        sum = Some(sum.map_or(next.clone(), |sum| sum.convolve(&next)));
    }
    let sum = sum?;
    let outer = Outer { shift: first, losses };
    // Nodes at sixteenths of a step, as far as the cells reach.
    let begin = 16 * sum.first - sum.sixteenths;
    let end = 16 * (sum.first + sum.cells.len() as i64 - 1) + sum.sixteenths;
    let mut nodes: Vec<Option<Node>> = vec![None; (end - begin + 1) as usize];
    let mut node = |sixteenths: i64| {
        *nodes[(sixteenths - begin) as usize]
            .get_or_insert_with(|| outer.node(rounded - sixteenths as f64 * (step / 16.0)))
    };
    let negligible = 1e-16 * alone.max(1e-300) / sum.cells.len() as f64;
    let mut terms: Vec<Bounds> = Vec::with_capacity(sum.cells.len());
    for (index, moments) in sum.cells.iter().enumerate() {
        let centre = 16 * (sum.first + index as i64);
        let most = node(centre + sum.sixteenths);
        let bound = mul_up(most.value.upper(), moments[0].upper());
        terms.push(if bound <= negligible {
            Bounds::new(0.0, bound)
        } else {
            let range = outer.coefficients(&node(centre - sum.sixteenths).hull(&most));
            expansion(&outer.coefficients(&node(centre)), &range, moments)
        });
    }
    let total = sum_bounds(terms);
    Some(Bounds::new(total.lower().max(0.0), add_up(total.upper(), sum.outside)).clamp(0.0, 1.0))
}

/// `phi` at one place, or over an interval.
#[derive(Clone, Copy, Debug)]
struct Node {
    epsilon: Bounds,
    /// Where the first coordinate's loss reaches what is left of epsilon, if it does.
    threshold: Option<Bounds>,
    /// `P[X > t + u]`.
    tail_beyond: Bounds,
    value: Bounds,
}

impl Node {
    fn hull(&self, other: &Node) -> Node {
        Node {
            epsilon: self.epsilon.hull(other.epsilon),
            threshold: self.threshold.zip(other.threshold).map(|(a, b)| a.hull(b)),
            tail_beyond: self.tail_beyond.hull(other.tail_beyond),
            value: self.value.hull(other.value),
        }
    }
}

/// The first coordinate.
struct Outer<'a> {
    shift: &'a Shift,
    losses: Losses,
}

impl Outer<'_> {
    fn node(&self, epsilon: f64) -> Node {
        let shift = self.shift;
        let threshold = shift.threshold(epsilon).map(|(low, high)| Bounds::new(low, high));
        let (threshold, tail_beyond, value) = match self.losses {
            Losses::Both => {
                let moved = threshold.map(|t| t + shift.ratio(&t));
                let at = |x: f64| sharp(&Tail { order: shift.order, x });
                let tail = moved.map_or(Bounds::new(0.0, 1.0), |x| at(x.upper()).hull(at(x.lower())));
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

    fn coefficients(&self, node: &Node) -> Vec<Bounds> {
        let Some(t) = node.threshold else {
            let mut unknown = vec![Bounds::WHOLE_LINE; MOMENTS + 1];
            unknown[0] = node.value;
            return unknown;
        };
        match self.losses {
            Losses::Both => profile_coefficients(self.shift, node.epsilon, t, node.tail_beyond, node.value, MOMENTS),
            Losses::Magnitudes => magnitude_coefficients(self.shift, t, node.value, MOMENTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two coordinates the plain way: the second one's loss rounded down and up on cells of its noise.
    fn by_rounding(first: &Shift, second: &Shift, epsilon: f64) -> Bounds {
        const CELLS: i32 = 600;
        let reach = 6.0;
        let place = |i: i32| f64::from(i) * reach / f64::from(CELLS);
        let phi = |x: f64| first.delta(epsilon - second.loss_at(x, 1.0).estimate()).estimate();
        let tail = |x: f64| sharp(&Tail { order: first.order, x });
        let (mut least, mut most) = (0.0, 0.0);
        for i in -CELLS..CELLS {
            let mass = (tail(place(i)) - tail(place(i + 1))).estimate();
            least += mass * phi(place(i));
            most += mass * phi(place(i + 1));
        }
        Bounds::new(least, most + 2.0 * tail(reach).upper())
    }

    #[test]
    fn two_coordinates_agree_with_rounded_losses() {
        let cases = [(1.5, [1.0, 0.7], 1.0), (2.0, [1.0, 1.0], 0.3), (3.0, [0.5, 0.1], 0.2), (4.0, [0.5, 0.1], 0.2)];
        for (order, sensitivities, epsilon) in cases {
            let order = Order::new(order).expect("valid");
            let shift = |sensitivity: f64| Shift { order, sensitivity, scale: 1.3 };
            let fine = delta(order, &sensitivities, 1.3, epsilon, Losses::Both);
            let coarse = by_rounding(&shift(sensitivities[0]), &shift(sensitivities[1]), epsilon);
            assert!(coarse.lower() <= fine.upper() && fine.lower() <= coarse.upper(), "{fine:?} {coarse:?}");
            assert!(fine.relative_width() < 1e-5 && coarse.relative_width() < 0.1, "{fine:?} {coarse:?}");
        }
    }
}
