//! The scales of the paper for several bounded numbers.

use super::loss::UtilityMove;
use super::separable;
use crate::exponential_continuous::{exponential_scale, lemma_10};
use crate::generalized_gaussian::Order;
use crate::sensitivity::Moves;
use crate::{MechanismError, Sensitivity};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Eqn 7, `b = (2/eps (sum_k ((R_k + D_k)^p - R_k^p - D_k^p) + D_p^p))^(1/p)`, rounded up. With
/// Lemma 2's `D_p^p = sum D_k^p`, which is what is taken where no norm is known, it is Eqn 8.
///
/// As printed, it counts every number that has a sensitivity, also those of disjoint queries, of
/// which one moves.
pub(super) fn paper_scale(
    order: Order,
    ranges: &[[f64; 2]],
    moves: &Moves,
    sensitivity: &Sensitivity,
    epsilon: f64,
) -> Result<f64, MechanismError> {
    let power = |x: Wide| order.power(&x);
    let cross = ranges.iter().enumerate().fold(Wide::ZERO, |sum, (k, range)| {
        let range = Wide::exact(range[0]) + Wide::exact(range[1]);
        let moved = Wide::exact(moves.of_coordinate(k));
        // Nothing moves further than its range is wide.
        let moved = if moved.bounds().lower() >= range.bounds().upper() { range } else { moved };
        sum + power(range + moved) - power(range) - power(moved)
    });
    let together = power(Wide::exact(sensitivity.order(order.get())?));
    let inner = (cross + together).times_power_of_two(1) / Wide::exact(epsilon);
    Ok(order.root(&inner).bounds().upper())
}

/// The exponential mechanism's `(2 D_u/eps)^(1/p)`, with the largest `sum R_k^p - (R_k - d_k)^p` of
/// all moves.
pub(super) fn exponential(order: Order, ranges: &[[f64; 2]], moves: &Moves, epsilon: f64) -> f64 {
    exponential_scale(order, utility_sensitivity(order, ranges, moves).upper(), epsilon)
}

/// The utility sensitivity of `u(s, y) = -||y - s||_p^p`.
pub(super) fn utility_sensitivity(order: Order, ranges: &[[f64; 2]], moves: &Moves) -> Bounds {
    let coordinates: Vec<_> = ranges.iter().map(|&range| UtilityMove { order, range }).collect();
    separable::worst(&coordinates, moves)
}

/// The same with Lemma 10's bound.
pub(super) fn lemma_10_scale(
    order: Order,
    bounds: &[(f64, f64)],
    moves: &Moves,
    epsilon: f64,
) -> Result<f64, MechanismError> {
    let sensitivities: Vec<f64> = (0..bounds.len()).map(|k| moves.of_coordinate(k)).collect();
    Ok(exponential_scale(order, lemma_10(order, bounds, &sensitivities)?, epsilon))
}
