//! Several coordinates that move at once: a certified convolution of their losses.
//!
//! # Formula
//! The losses of independent coordinates add up. With `phi(s)` the delta that the first coordinate
//! alone has at `epsilon - s`, the delta of all of them is `E[phi(L_2 + ... + L_r)]`, in the
//! approximate notion (the profile `P[X > t] - e^(epsilon - s) P[X > t + u]`) and for Proposition 8
//! (the probability `P[|X| > t]`) alike. The corner of the box is the worst direction: each
//! coordinate's loss increases with its noise, and the argument of [`super::shift::Shift`] applies
//! to each slice of the violating set.
//!
//! # Method
//! Two coordinates: adaptive cubature over the noise of the second ([`Cubature`]); should that
//! fail, as for more.
//!
//! Three at orders from 2 on: where a coarse grid does not do, an integral over the noise of the
//! third of the Taylor series of the other two ([`Three`]).
//!
//! More: the distribution of `L_2 + ... + L_r` is kept as moments on the cells of a grid
//! ([`CellMoments`]), and `phi` as its Taylor coefficients at the centre of each cell and over all
//! of it. The sum over the cells of `sum_{k<m} phi_k E[(L - c)^k] + phi_m E[(L - c)^m]` encloses
//! the expectation. What lies beyond the grid is bounded by its mass, which is chosen `10^-13` of
//! the result. The grid is refined until the bounds are narrow, or the finest grid is reached;
//! three coordinates then continue with a cubature.
//!
//! # Direction of error
//! Outward. Two coordinates are known to a relative `1e-12` at orders up to 6, and three at whole
//! orders from 2 to 5 (`1e-11` at order 6 where the sensitivities are similar). With more than
//! three, or three at an order below 2, that is so where the first coordinate dominates. Where the
//! others are likely to take all of epsilon by themselves (similar sensitivities, high orders, a
//! large delta), `phi` varies within a loss of about `u^p`, and for Proposition 8 has a kink, which
//! a grid does not resolve: `1e-9` to `1e-2`. The approximate notion at order 2 has a formula for
//! any number, see [`super::calibration`].

use super::adaptive::Cubature;
use super::cell_moments::{CellMoments, MOMENTS, expansion};
use super::order::Order;
use super::outer::{Node, Outer, Tail};
use super::shift::Shift;
use super::three::{self, Three};
use crate::sharp::sharp;
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, sum_bounds};

/// More coordinates than this are refused: the grid would grow too long.
pub(super) const MOST_COORDINATES: usize = 12;

/// The least order at which three coordinates are sharp.
pub(super) const SMOOTH_FROM: f64 = 2.0;

/// The relative width at which nothing is refined further.
const NARROW: f64 = 5e-13;

/// The relative width at which the second method is not worth its time.
const ACCEPTABLE: f64 = 1e-4;

/// The most pieces of a cubature over the noise of one and of two coordinates.
const MOST_PIECES: [usize; 2] = [2000, 4000];

/// The relative width at which the other methods are not worth their time.
const SHARP: f64 = 1e-9;

/// The numbers of cells that the second coordinate gets, before and after three coordinates are
/// treated by their own method.
const FIRST_GRIDS: [f64; 2] = [32.0, 64.0];

const LAST_GRIDS: [f64; 3] = [128.0, 256.0, 512.0];

/// Which losses are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Losses {
    /// `|x + u|^p - |x|^p`, for the privacy profile.
    Both,
    /// `(|x| + u)^p - |x|^p`, for Proposition 8.
    Magnitudes,
}

/// The delta at `epsilon` of at least two coordinates with these sensitivities, the largest first;
/// order above 1. Refined until narrow or, before that, `enough`.
pub(crate) fn delta(
    order: Order,
    sensitivities: &[f64],
    scale: f64,
    epsilon: f64,
    losses: Losses,
    enough: &dyn Fn(Bounds) -> bool,
) -> Bounds {
    let shift = |sensitivity: f64| Shift { order, sensitivity, scale };
    let first = shift(sensitivities[0]);
    let others: Vec<Shift> = sensitivities[1..].iter().map(|&d| shift(d)).collect();
    // The first coordinate alone, the others at their least loss: a lower bound.
    let alone = match losses {
        Losses::Both => first.delta(epsilon).lower(),
        Losses::Magnitudes => {
            let least =
                others.iter().fold(Bounds::ZERO, |sum, other| sum + other.loss_at(0.0, 0.0));
            let rest = (Bounds::exact(epsilon) - least).upper();
            if rest <= 0.0 {
                return Bounds::ONE;
            }
            first.corollary_9(rest).lower()
        }
    };
    let unseen = 1e-13 * alone.max(1e-300);
    let reach = order
        .root(&gamma_q_inverse(order.inverse(&Bounds::ONE), Bounds::exact(2.0 * unseen)))
        .upper();
    let outside = mul_up(2.0, sharp(&Tail { order, x: reach }).upper());
    let enough = |bounds: Bounds| bounds.relative_width() <= NARROW || enough(bounds);
    let cubature = |known: Bounds| match MOST_PIECES.get(others.len() - 1) {
        Some(&pieces) => {
            let outer = Outer { shift: &first, losses };
            let outside = mul_up(outside, others.len() as f64);
            Cubature { outer, others: &others, epsilon, reach, outside, known }
                .integrate(&enough, pieces)
        }
        None => known,
    };
    let mut best = Bounds::new(alone, 1.0);
    if others.len() == 1 {
        best = cubature(best);
        if best.relative_width() <= ACCEPTABLE || enough(best) {
            return best;
        }
    }
    let grid = |cells: f64, best: Bounds| {
        let finer = on_grid(&first, &others, epsilon, losses, reach, outside, cells, alone);
        best.intersect(finer.unwrap_or(best))
    };
    for cells in FIRST_GRIDS {
        best = grid(cells, best);
        if enough(best) {
            return best;
        }
    }
    if let Some(shifts) = three_smooth(&first, &others) {
        let outside = mul_up(outside, 3.0);
        let three = Three {
            shifts: &shifts,
            losses,
            epsilon,
            reach,
            outside,
            fineness: three::FINE,
            known: best,
        };
        best = three.integrate(&enough);
        if best.relative_width() <= SHARP || enough(best) {
            return best;
        }
    }
    for cells in LAST_GRIDS {
        best = grid(cells, best);
        if enough(best) {
            return best;
        }
    }
    if others.len() > 1 && best.relative_width() > ACCEPTABLE { cubature(best) } else { best }
}

/// A sketch of the delta of three coordinates, which proves nothing: see [`three`].
pub(crate) fn sketch(
    order: Order,
    sensitivities: &[f64],
    scale: f64,
    epsilon: f64,
    losses: Losses,
) -> Option<f64> {
    let shift = |sensitivity: f64| Shift { order, sensitivity, scale };
    let others: Vec<Shift> = sensitivities[1..].iter().map(|&d| shift(d)).collect();
    let shifts = three_smooth(&shift(sensitivities[0]), &others)?;
    let reach = order.root_above(36.0);
    let known = Bounds::new(0.0, 1.0);
    let three = Three {
        shifts: &shifts,
        losses,
        epsilon,
        reach,
        outside: 0.0,
        fineness: three::ROUGHLY,
        known,
    };
    let value = three.integrate(&|_| true).estimate();
    (value > 0.0 && value < 1.0).then_some(value)
}

/// Three coordinates whose order is 2 or more: below, the density has a cusp at zero that Taylor
/// series do not get past.
fn three_smooth(first: &Shift, others: &[Shift]) -> Option<[Shift; 3]> {
    match *others {
        [second, third] if first.order.get() >= SMOOTH_FROM => Some([*first, second, third]),
        _ => None,
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
    let span =
        others[0].loss_at(reach, 0.0).upper() * if losses == Losses::Both { 2.0 } else { 1.0 };
    let step = 2f64.powi((span / cells).log2().ceil() as i32);
    // The grid is shifted so that epsilon minus a grid point is a f64: a multiple of a sixteenth of
    // a step.
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
            let range = outer.coefficients(&node(centre - sum.sixteenths).hull(&most), MOMENTS);
            expansion(&outer.coefficients(&node(centre), MOMENTS), &range, moments)
        });
    }
    let total = sum_bounds(terms);
    Some(Bounds::new(total.lower().max(0.0), add_up(total.upper(), sum.outside)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two coordinates the plain way: the second one's loss rounded down and up on cells of its
    /// noise.
    fn by_rounding(first: &Shift, second: &Shift, epsilon: f64) -> Bounds {
        const CELLS: i32 = 600;
        let reach = 6.0;
        let point = |i: i32| f64::from(i) * reach / f64::from(CELLS);
        let phi = |x: f64| first.delta(epsilon - second.loss_at(x, 1.0).estimate()).estimate();
        let tail = |x: f64| sharp(&Tail { order: first.order, x });
        let (mut least, mut most) = (0.0, 0.0);
        for i in -CELLS..CELLS {
            let mass = (tail(point(i)) - tail(point(i + 1))).estimate();
            least += mass * phi(point(i));
            most += mass * phi(point(i + 1));
        }
        Bounds::new(least, most + 2.0 * tail(reach).upper())
    }

    #[test]
    fn two_coordinates_agree_with_rounded_losses() {
        let cases = [
            (1.5, [1.0, 0.7], 1.0),
            (2.0, [1.0, 1.0], 0.3),
            (3.0, [0.5, 0.1], 0.2),
            (4.0, [0.5, 0.1], 0.2),
        ];
        for (order, sensitivities, epsilon) in cases {
            let order = Order::new(order).expect("valid");
            let shift = |sensitivity: f64| Shift { order, sensitivity, scale: 1.3 };
            let fine = delta(order, &sensitivities, 1.3, epsilon, Losses::Both, &|_| false);
            let coarse = by_rounding(&shift(sensitivities[0]), &shift(sensitivities[1]), epsilon);
            assert!(
                coarse.lower() <= fine.upper() && fine.lower() <= coarse.upper(),
                "{fine:?} {coarse:?}"
            );
            assert!(
                fine.relative_width() < 1e-12 && coarse.relative_width() < 0.1,
                "{fine:?} {coarse:?}"
            );
        }
    }

    /// The cubature and the grid share the Taylor coefficients, and differ in all else.
    #[test]
    fn the_cubature_agrees_with_the_grid() {
        let cases: [(f64, &[f64], f64, f64); 5] = [
            (1.5, &[1.0, 0.7], 1.3, 1.0),
            (2.5, &[1.0, 0.2], 3.0, 0.4),
            (3.0, &[1.0, 0.3], 6.0, 0.5),
            (4.0, &[1.0, 0.1, 0.05], 3.3, 1.0),
            (6.0, &[1.0, 0.6, 0.5], 2.3, 1.0),
        ];
        for (order, sensitivities, scale, epsilon) in cases {
            let order = Order::new(order).expect("valid");
            let shifts: Vec<Shift> = sensitivities
                .iter()
                .map(|&sensitivity| Shift { order, sensitivity, scale })
                .collect();
            let (first, others) = (&shifts[0], &shifts[1..]);
            let reach = order.root_above(40.0);
            let outside = mul_up(2.0, sharp(&Tail { order, x: reach }).upper());
            for losses in [Losses::Both, Losses::Magnitudes] {
                let grid = on_grid(first, others, epsilon, losses, reach, outside, 128.0, 1e-9)
                    .expect("finite");
                let outer = Outer { shift: first, losses };
                let known = Bounds::new(1e-9, 1.0);
                let cubature =
                    Cubature { outer, others, epsilon, reach, outside: 2.0 * outside, known };
                let boxes = cubature.integrate(&|bounds| bounds.relative_width() < 1e-12, 600);
                let context = format!("{order:?} {sensitivities:?} {losses:?}: {grid:?} {boxes:?}");
                assert!(
                    grid.lower() <= boxes.upper() && boxes.lower() <= grid.upper(),
                    "{context}"
                );
                assert!(
                    grid.width() < 0.3
                        && boxes.width() < if others.len() == 1 { 1e-11 } else { 0.3 },
                    "{context}"
                );
            }
        }
    }
}
