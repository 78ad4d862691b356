//! Several coordinates that move at once: adaptive cubature over the noise of all but the first.
//!
//! # Method
//! `E[phi(L_2 + ... + L_r)]` is an integral over the noise of the coordinates from the second on,
//! which is cut into boxes. On a box, with `c` the sum of the losses at its middle and `S` that of
//! the losses in it, Taylor's theorem for `phi` at `c` encloses the integral by
//! `sum_{k<m} phi_k E[(S - c)^k] + phi_m E[(S - c)^m]` for each even `m`, where `phi_m` is taken
//! over all of the box. The moments of `S` are those of the coordinates, by the binomial theorem;
//! and those are integrals of smooth functions of one variable, again by Taylor's theorem.
//!
//! # Where it is not smooth
//! `|x + u|^p - |x|^p` is not smooth at 0 and at `-u` unless `p` is even, so that the first boxes
//! end there. `phi` is not where the threshold of the first coordinate passes 0 or `-u_1`, which is
//! where `L_2 + ... + L_r = epsilon -+ u_1^p`; in Proposition 8 it has a kink there, and is 1
//! beyond. With two coordinates these are points of the line of integration, and the boxes end
//! there as well. Between them `phi` is smooth, but on the scale of `u_1^p` only, which for high
//! orders is much less than epsilon: the complex zeros of `L_1'` are as near. An adaptive
//! subdivision reaches that scale in a few halvings, in a neighbourhood of the point only; a
//! uniform grid does not reach it, and is wrong by its square (`10^-3` at order 4).
//!
//! # Convergence
//! With two coordinates 50 to 250 boxes give `1e-12` for orders up to 6; where `u_1^p` is below the
//! rounding of epsilon the bounds stay wide. With three the point is a curve, the number of boxes
//! is that of its length over `u_1^p`, and where the sensitivities are similar the boxes are used
//! up before; see [`super::three`].

use super::cell_moments::{choose, expansion, piece_moments};
use super::inner_product::inner_product;
use super::outer::{Node, Outer};
use super::several::Losses;
use super::shift::Shift;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, sum_bounds};
use std::collections::HashMap;
use std::rc::Rc;

/// How many moments a side keeps beyond its mass; even, so that the last is not negative.
const MOMENTS: usize = 14;

/// The relative width below which no piece's share of the total is refined.
const NARROWEST: f64 = 1e-13;

/// A piece that is known to this relative width is as narrow as the arithmetic allows.
const ROUNDING: f64 = 1e-14;

/// A side whose mass is known less well than to this is split before one with a wider range of
/// losses.
const ROUGH: f64 = 1e-12;

type Moments = [Bounds; MOMENTS + 1];

/// An interval of the noise of one coordinate.
#[derive(Debug)]
struct Side {
    low: f64,
    high: f64,
    /// The losses at the two ends.
    least: Bounds,
    most: Bounds,
    /// The moments are around this many quanta, and the offset.
    centre: f64,
    /// `E[(L - c)^j; X in the side]`.
    moments: Moments,
}

/// A box of noise: one side for each coordinate but the first.
struct Piece {
    sides: Vec<Rc<Side>>,
    integral: Bounds,
}

/// An expectation of the first coordinate's delta over the losses of the others.
pub(super) struct Cubature<'a> {
    pub(super) outer: Outer<'a>,
    pub(super) others: &'a [Shift],
    pub(super) epsilon: f64,
    /// Boxes of noise up to this magnitude.
    pub(super) reach: f64,
    /// A bound on the probability that any of the noise is larger.
    pub(super) outside: f64,
    /// What is known of the result: positive, unless it is not known at all.
    pub(super) known: Bounds,
}

/// A cubature of this many pieces whose width is still [`HOPELESS`] times that of what was known
/// before is not continued.
const TRIAL_PIECES: usize = 2000;

const HOPELESS: f64 = 100.0;

impl Cubature<'_> {
    /// Bounds on the expectation: until they are `enough`, the pieces are used up, or hopeless.
    pub(super) fn integrate(&self, enough: &dyn Fn(Bounds) -> bool, most_pieces: usize) -> Bounds {
        let Some(mut work) = Work::new(self) else { return self.known };
        let mut pieces = work.first_pieces();
        loop {
            let seen = sum_bounds(pieces.iter().map(|piece| piece.integral).collect::<Vec<_>>());
            let total =
                self.known.intersect(Bounds::new(seen.lower(), add_up(seen.upper(), self.outside)));
            let hopeless =
                pieces.len() >= TRIAL_PIECES && seen.width() > HOPELESS * self.known.width();
            if enough(total) || hopeless || pieces.len() >= most_pieces {
                return total;
            }
            let share = 0.5 * NARROWEST * total.lower() / pieces.len() as f64;
            let before = pieces.len();
            let mut finer = Vec::with_capacity(2 * before);
            for piece in pieces {
                let rounding = ROUNDING * piece.integral.upper();
                let improvable = piece.integral.width() > share.max(rounding);
                match improvable.then(|| work.split(&piece)).flatten() {
                    Some(halves) => finer.extend(halves),
                    None => finer.push(piece),
                }
            }
            pieces = finer;
            if pieces.len() == before {
                return total;
            }
        }
    }
}

/// A cubature with what it has evaluated so far.
struct Work<'a> {
    cubature: &'a Cubature<'a>,
    /// Losses are expanded around multiples of this, plus the offset: what they leave of epsilon is
    /// then a f64.
    quantum: f64,
    rounded: f64,
    offset: f64,
    nodes: HashMap<u64, Node>,
    sides: HashMap<(usize, u64, u64), Rc<Side>>,
}

impl<'a> Work<'a> {
    /// `None` where losses overflow.
    fn new(cubature: &'a Cubature<'a>) -> Option<Self> {
        let epsilon = cubature.epsilon;
        let span: f64 =
            cubature.others.iter().map(|other| other.loss_at(cubature.reach, 0.0).upper()).sum();
        let quantum = 2f64.powi(epsilon.max(span).log2().ceil() as i32 - 48);
        if !(quantum > 0.0 && quantum < f64::INFINITY && cubature.reach < f64::INFINITY) {
            return None;
        }
        let rounded = (epsilon / quantum).round() * quantum;
        let (nodes, sides) = (HashMap::new(), HashMap::new());
        Some(Work { cubature, quantum, rounded, offset: epsilon - rounded, nodes, sides })
    }

    fn first_pieces(&mut self) -> Vec<Piece> {
        let mut corners: Vec<Vec<Rc<Side>>> = vec![vec![]];
        for dimension in 0..self.cubature.others.len() {
            let points = self.break_points(dimension);
            let sides: Vec<Rc<Side>> =
                points.windows(2).map(|ends| self.side(dimension, ends[0], ends[1])).collect();
            corners = corners
                .iter()
                .flat_map(|corner| {
                    sides.iter().map(|side| [&corner[..], std::slice::from_ref(side)].concat())
                })
                .collect();
        }
        corners.into_iter().map(|sides| self.piece(sides)).collect()
    }

    /// The ends of the noise, where the loss is not smooth, and for two coordinates where `phi` is
    /// not.
    fn break_points(&self, dimension: usize) -> Vec<f64> {
        let Cubature { outer, others, epsilon, reach, .. } = *self.cubature;
        let other = &others[dimension];
        let u = other.ratio(&Bounds::ONE);
        let start = if outer.losses == Losses::Both { -reach } else { 0.0 };
        let mut points = vec![start, reach, 0.0];
        if other.order.get() % 2.0 != 0.0 {
            points.extend([-u.upper(), -u.lower()]);
        }
        if others.len() == 1 {
            let turn = outer.shift.loss_at(0.0, 0.0).estimate();
            // The point is known to a rounding error only, which is enclosed in a piece of its own.
            let margin = 1e-14 * epsilon.max(turn);
            for left in [epsilon - turn, epsilon + turn] {
                for loss in [left - margin, left + margin] {
                    points.extend(other.threshold(loss).map(|(low, _)| low));
                }
            }
        }
        points.retain(|&x| x >= start && x <= reach);
        points.sort_by(f64::total_cmp);
        points.dedup();
        points
    }

    fn side(&mut self, dimension: usize, low: f64, high: f64) -> Rc<Side> {
        let key = (dimension, low.to_bits(), high.to_bits());
        if let Some(side) = self.sides.get(&key) {
            return side.clone();
        }
        let other = &self.cubature.others[dimension];
        let (least, most) = (other.loss_at(low, self.quantum), other.loss_at(high, self.quantum));
        let middle = other.loss_at(low + 0.5 * (high - low), self.quantum).estimate();
        let offset = if dimension == 0 { self.offset } else { 0.0 };
        let centre = ((middle - offset) / self.quantum).round() * self.quantum;
        let around = Bounds::exact(centre) + Bounds::exact(offset);
        let mut moments: Moments = piece_moments(other, around, low, high);
        if self.cubature.outer.losses == Losses::Magnitudes {
            moments = moments.map(|moment| moment.times_power_of_two(1));
        }
        let side = Rc::new(Side { low, high, least, most, centre, moments });
        self.sides.insert(key, side.clone());
        side
    }

    fn node(&mut self, epsilon: f64) -> Node {
        *self.nodes.entry(epsilon.to_bits()).or_insert_with(|| self.cubature.outer.node(epsilon))
    }

    fn piece(&mut self, sides: Vec<Rc<Side>>) -> Piece {
        let epsilon = Bounds::exact(self.cubature.epsilon);
        let left_least = sides.iter().fold(epsilon, |left, side| left - side.most).lower();
        let left_most = sides.iter().fold(epsilon, |left, side| left - side.least).upper();
        let mass = sides.iter().fold(Bounds::ONE, |product, side| product * side.moments[0]);
        let largest = self.node(left_least);
        let bound = mul_up(largest.value.upper(), mass.upper());
        let integral = if bound <= 1e-18 * self.cubature.known.lower() {
            Bounds::new(0.0, bound)
        } else {
            let range =
                self.cubature.outer.coefficients(&self.node(left_most).hull(&largest), MOMENTS);
            let left = sides.iter().fold(self.rounded, |left, side| left - side.centre);
            let exact = self.cubature.outer.coefficients(&self.node(left), MOMENTS);
            expansion(&exact, &range, &moments_of_sum(&sides))
        };
        Piece {
            sides,
            integral: Bounds::new(integral.lower().max(0.0), integral.upper().min(bound)),
        }
    }

    fn split(&mut self, piece: &Piece) -> Option<[Piece; 2]> {
        let rough = |side: &Side| side.moments[0].relative_width();
        let span = |side: &Side| side.most.upper() - side.least.lower();
        let by = |measure: &dyn Fn(&Side) -> f64| {
            (0..piece.sides.len())
                .max_by(|&i, &j| measure(&piece.sides[i]).total_cmp(&measure(&piece.sides[j])))
        };
        let roughest = by(&rough)?;
        let dimension = if rough(&piece.sides[roughest]) > ROUGH { roughest } else { by(&span)? };
        let Side { low, high, .. } = *piece.sides[dimension];
        let middle = low + 0.5 * (high - low);
        if !(low < middle && middle < high) {
            return None;
        }
        Some([(low, middle), (middle, high)].map(|(low, high)| {
            let mut sides = piece.sides.clone();
            sides[dimension] = self.side(dimension, low, high);
            self.piece(sides)
        }))
    }
}

/// Moments of a sum of independent losses, by the binomial theorem.
fn moments_of_sum(sides: &[Rc<Side>]) -> Moments {
    let mut sum = sides[0].moments;
    for side in &sides[1..] {
        let mut next = [Bounds::ZERO; MOMENTS + 1];
        for (n, moment) in next.iter_mut().enumerate() {
            *moment = inner_product((0..=n).map(|k| (choose(n, k) * sum[k], side.moments[n - k])));
        }
        sum = next;
    }
    sum
}
