//! Three coordinates: an integral over the noise of the third of what the other two have at what is
//! left of epsilon.
//!
//! # Method
//! `E[D_12(epsilon - L_3)]` by pieces of the third coordinate's noise, on each of which Taylor's
//! theorem for `D_12` and the moments of `L_3` enclose the integral, as in [`super::adaptive`]. The
//! series of `D_12` are those of [`Pair`]. `D_12` is smooth on the scale of `|e|`, and of `u_1^p`
//! around zero, so that the pieces get narrower around one point on the line where `L_3 = epsilon`,
//! and not, as in two dimensions, along a curve. For Proposition 8 `D_12` is one up to the sum of
//! the least losses and has a kink there, which is an end of pieces.

use super::cell_moments::expansion;
use super::expansions::Expansions;
use super::noise_tree::{NoiseTree, Piece};
use super::outer::{Outer, Tail};
use super::pair::{Coordinate, Pair};
use super::several::Losses;
use super::shift::Shift;
use crate::sharp::sharp;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, sum_bounds};
use std::rc::Rc;

/// The relative width below which no piece's share of the total is refined.
const NARROWEST: f64 = 4e-13;

/// A piece that is known to this relative width is as narrow as the arithmetic allows.
const ROUNDING: f64 = 3e-14;

/// Pieces are as wide as the distance to the nearest singularity over this, for results that are
/// good to about `1e-12`.
pub(super) const FINE: f64 = 12.0;

/// The same, for a sketch in a few per cent of the time.
pub(super) const ROUGHLY: f64 = 4.0;

/// The pieces of the third coordinate's noise are coarser at first.
const COARSER: f64 = 0.4;

/// The most pieces of the third coordinate's noise.
const MOST_PIECES: usize = 1500;

/// The delta of three coordinates, the largest first.
pub(super) struct Three<'a> {
    pub(super) shifts: &'a [Shift; 3],
    pub(super) losses: Losses,
    pub(super) epsilon: f64,
    /// Noise up to this magnitude.
    pub(super) reach: f64,
    /// A bound on the probability that the noise of any of the three is larger.
    pub(super) outside: f64,
    /// Pieces are as wide as the distance to the nearest singularity over this.
    pub(super) fineness: f64,
    /// What is known of the result.
    pub(super) known: Bounds,
}

impl Three<'_> {
    /// Bounds on the delta: until they are `enough`, or nothing improves them.
    pub(super) fn integrate(&self, enough: &dyn Fn(Bounds) -> bool) -> Bounds {
        let negligible = 3e-16 * self.known.lower().max(1e-300);
        let coordinate = |shift| Coordinate {
            shift,
            delta: Expansions::new(Outer { shift, losses: self.losses }, self.fineness),
            noise: NoiseTree::new(shift, self.losses, self.reach, &[], negligible),
        };
        let [first, second, third] = self.shifts;
        let (first, second) = (coordinate(first), coordinate(second));
        let pair = Pair {
            first,
            second,
            losses: self.losses,
            reach: self.reach,
            fineness: self.fineness,
            negligible,
        };
        let work = Work {
            three: self,
            pair,
            least: self.shifts[0].loss_at(0.0, 0.0) + self.shifts[1].loss_at(0.0, 0.0),
        };
        let noise = NoiseTree::new(third, self.losses, self.reach, &work.kink(), negligible);
        let pieces = noise.up_to(f64::INFINITY, &|piece| work.fits(piece));
        let mut pieces: Vec<(Rc<Piece>, Bounds)> = pieces
            .into_iter()
            .map(|piece| {
                let value = work.integral(&piece);
                (piece, value)
            })
            .collect();
        let mut before = f64::INFINITY;
        loop {
            let seen = sum_bounds(pieces.iter().map(|piece| piece.1).collect::<Vec<_>>());
            let total =
                self.known.intersect(Bounds::new(seen.lower(), add_up(seen.upper(), self.outside)));
            let stuck = total.width() > 0.7 * std::mem::replace(&mut before, total.width());
            if enough(total) || stuck || pieces.len() >= MOST_PIECES {
                return total;
            }
            let share = 0.5 * NARROWEST * total.lower() / pieces.len() as f64;
            let count = pieces.len();
            let mut finer = Vec::with_capacity(2 * count);
            for (piece, value) in pieces {
                let improvable = value.width() > share.max(ROUNDING * value.upper());
                match if improvable { noise.halves(&piece) } else { None } {
                    Some(halves) => finer.extend(halves.map(|half| {
                        let value = work.integral(&half);
                        (half, value)
                    })),
                    None => finer.push((piece, value)),
                }
            }
            pieces = finer;
            if pieces.len() == count {
                return total;
            }
        }
    }
}

struct Work<'a> {
    three: &'a Three<'a>,
    pair: Pair<'a>,
    /// The sum of the least losses of magnitudes of the first two coordinates.
    least: Bounds,
}

impl Work<'_> {
    /// The noise of the third coordinate at which `D_12` has a kink, between two numbers.
    fn kink(&self) -> Vec<f64> {
        if self.three.losses == Losses::Both {
            return vec![];
        }
        let left = Bounds::exact(self.three.epsilon) - self.least;
        let third = &self.three.shifts[2];
        let ends = [
            third.threshold(left.lower()).map(|(low, _)| low),
            third.threshold(left.upper()).map(|(_, high)| high),
        ];
        ends.into_iter().flatten().collect()
    }

    /// What a piece leaves of epsilon.
    fn left(&self, piece: &Piece) -> Bounds {
        Bounds::exact(self.three.epsilon) - piece.least.hull(piece.most)
    }

    fn fits(&self, piece: &Piece) -> bool {
        let (left, turn) = (self.left(piece), self.pair.first.delta.turn());
        let distance = match self.three.losses {
            Losses::Both => left.lower().max(-left.upper()),
            // The corner between the two least losses must stay above both for the whole piece.
            Losses::Magnitudes => {
                let above = left.lower() - self.least.upper();
                return left.upper() <= self.least.lower()
                    || piece.span()
                        <= (0.4 * above)
                            .min(above.max(turn) / (COARSER * self.pair.fineness))
                            .max(1e-7 * turn);
            }
        };
        piece.span() <= distance.max(turn) / (COARSER * self.pair.fineness)
    }

    fn integral(&self, piece: &Piece) -> Bounds {
        let (left, mass) = (self.left(piece), piece.moments[0]);
        let most = self.most(left.lower());
        let bound = mul_up(mass.upper(), most);
        if bound <= self.pair.negligible {
            return Bounds::new(0.0, bound);
        }
        if self.three.losses == Losses::Magnitudes {
            if left.upper() <= self.least.lower() {
                return mass;
            }
            if piece.span() > 0.45 * (left.lower() - self.least.upper()) {
                return mass * Bounds::new(self.at_least(left.upper()), 1.0);
            }
        }
        let point = Bounds::exact(self.three.epsilon) - Bounds::exact(piece.centre);
        let series = self.pair.series(point, left, self.pair.negligible / mass.upper());
        let value = expansion(&series.exact, &series.range, &piece.moments);
        Bounds::new(
            value.lower().max(0.0),
            add_up(value.upper(), mul_up(series.left_out, mass.upper())).min(bound),
        )
    }

    /// A bound on `D_12`: if the losses add up to more than `e`, one of them is more than `e/2`.
    fn most(&self, e: f64) -> f64 {
        if e <= 0.0 {
            return 1.0;
        }
        let sides = if self.three.losses == Losses::Both { 1.0 } else { 2.0 };
        let beyond = |shift: &Shift| match shift.threshold(0.5 * e) {
            Some((low, _)) => mul_up(sides, sharp(&Tail { order: shift.order, x: low }).upper()),
            None => f64::from_bits(1),
        };
        add_up(beyond(self.pair.first.shift), beyond(self.pair.second.shift)).min(1.0)
    }

    /// `P[L_1 + L_2 > e] >= 1 - P[L_1 <= e - k_2] P[L_2 <= e - k_1]` for least losses `k`.
    fn at_least(&self, e: f64) -> f64 {
        let [first, second, _] = self.three.shifts;
        let within = |shift: &Shift, other: &Shift| {
            let rest = (Bounds::exact(e) - other.loss_at(0.0, 0.0)).upper();
            Bounds::ONE - shift.corollary_9(rest)
        };
        (Bounds::ONE - within(first, second) * within(second, first)).lower().max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generalized_gaussian::order::Order;

    fn three(
        order: f64,
        sensitivities: [f64; 3],
        scale: f64,
        epsilon: f64,
        losses: Losses,
    ) -> Bounds {
        let order = Order::new(order).expect("valid");
        let shifts = sensitivities.map(|sensitivity| Shift { order, sensitivity, scale });
        let reach = order.root_above(45.0);
        let outside = 6.0 * sharp(&Tail { order, x: reach }).upper();
        let known = Bounds::new(1e-9, 1.0);
        Three { shifts: &shifts, losses, epsilon, reach, outside, fineness: FINE, known }
            .integrate(&|_| false)
    }

    /// At order 2 a box is its diagonal, for which there is a formula.
    #[test]
    fn at_order_two_three_coordinates_are_one() {
        for (sensitivities, scale, epsilon) in
            [([2.0, 2.0, 1.0], 4.0, 0.3), ([2.0, 2.0, 1.0], 9.0, 1.5)]
        {
            let order = Order::new(2.0).expect("valid");
            let one = Shift { order, sensitivity: 3.0, scale }.delta(epsilon);
            let found = three(2.0, sensitivities, scale, epsilon, Losses::Both);
            assert!(
                found.intersect(one).is_finite() && found.relative_width() < 2e-12,
                "{found:?} {one:?}"
            );
        }
    }

    /// By a nested Gauss-Legendre rule in plain `f64`, graded towards the kink, which has nothing
    /// in common with the series here but the formula of Proposition 8.
    #[test]
    fn a_plain_rule_agrees() {
        for (scale, epsilon, plain) in [
            (38.03156623521231, 0.1, 0.09999999999986015),
            (3.299331277217219, 1.0, 0.2499999999997803),
        ] {
            let found = three(6.0, [1.0, 0.1, 0.05], scale, epsilon, Losses::Magnitudes);
            assert!(
                (found.estimate() / plain - 1.0).abs() < 5e-12 && found.relative_width() < 2e-12,
                "{found:?} {plain}"
            );
        }
    }
}
