//! Intervals of one coordinate's noise with the moments of its loss, halved as far as asked.

use super::cell_moments::piece_moments;
use super::inner_product::inner_product;
use super::moved_series::{Ball, LAST, choose};
use super::several::Losses;
use super::shift::Shift;
use reticent_numerics::rounding::{mul_up, sub_up};
use reticent_numerics::{Bounds, Enclosure};
use std::cell::OnceCell;
use std::rc::Rc;

pub(super) type Moments = [Bounds; LAST + 1];

/// An interval whose mass is known less well than to this is put together from its halves. (The
/// density `e^(-|x|^p)` is known to so many units in the last place as `|x|^p`, or more.)
const ROUGH: f64 = 3e-14;

/// An interval of the noise of one coordinate.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The losses at the two ends.
    pub(super) least: Bounds,
    pub(super) most: Bounds,
    /// The moments are around this loss.
    pub(super) centre: f64,
    /// `E[(L - c)^j; X in the piece]`.
    pub(super) moments: Moments,
    pub(super) balls: [Ball; LAST + 1],
    halves: OnceCell<Option<[Rc<Piece>; 2]>>,
}

impl Piece {
    /// How far apart two losses are at most.
    pub(super) fn span(&self) -> f64 {
        self.most.upper() - self.least.lower()
    }
}

/// The noise of one coordinate up to a reach, as a binary tree that grows where it is looked at.
pub(super) struct NoiseTree<'a> {
    shift: &'a Shift,
    losses: Losses,
    roots: Vec<Rc<Piece>>,
    /// A mass that nobody misses.
    negligible: f64,
}

impl<'a> NoiseTree<'a> {
    /// The first pieces end where the loss is not smooth, and at the `breaks`.
    pub(super) fn new(
        shift: &'a Shift,
        losses: Losses,
        reach: f64,
        breaks: &[f64],
        negligible: f64,
    ) -> Self {
        let u = shift.ratio(&Bounds::ONE);
        let start = if losses == Losses::Both { -reach } else { 0.0 };
        let mut points = vec![start, reach, 0.0, -u.upper(), -u.lower()];
        points.extend(breaks);
        points.retain(|&x| x >= start && x <= reach);
        points.sort_by(f64::total_cmp);
        points.dedup();
        let mut tree = NoiseTree { shift, losses, roots: Vec::new(), negligible };
        tree.roots = points.windows(2).map(|ends| Rc::new(tree.piece(ends[0], ends[1]))).collect();
        tree
    }

    pub(super) fn piece(&self, low: f64, high: f64) -> Piece {
        let (least, most) = (self.shift.loss_at(low, 0.0), self.shift.loss_at(high, 0.0));
        let middle = low + 0.5 * (high - low);
        let centre = self.shift.loss_at(middle, 0.0).estimate();
        let mut moments: Moments = piece_moments(self.shift, Bounds::exact(centre), low, high);
        if self.losses == Losses::Magnitudes {
            moments = moments.map(|moment| moment.times_power_of_two(1));
        }
        let rounding = ROUGH * (1.0 + low.abs().max(high.abs()).powf(self.shift.order.get()));
        let rough =
            moments[0].relative_width() > rounding && moments[0].width() > ROUGH * self.negligible;
        let halves = OnceCell::new();
        if rough && low < middle && middle < high {
            let both =
                [(low, middle), (middle, high)].map(|(low, high)| Rc::new(self.piece(low, high)));
            let sum = both
                .iter()
                .map(|half| moved(half, centre))
                .reduce(|a, b| std::array::from_fn(|k| a[k] + b[k]));
            moments =
                sum.map_or(moments, |sum| std::array::from_fn(|k| moments[k].intersect(sum[k])));
            let _ = halves.set(Some(both));
        }
        Piece { low, high, least, most, centre, moments, balls: moments.map(Ball::new), halves }
    }

    /// The two halves, or none of an interval of neighbouring numbers.
    pub(super) fn halves(&self, piece: &Piece) -> Option<[Rc<Piece>; 2]> {
        let split = || {
            let middle = piece.low + 0.5 * (piece.high - piece.low);
            (piece.low < middle && middle < piece.high).then(|| {
                [(piece.low, middle), (middle, piece.high)]
                    .map(|(low, high)| Rc::new(self.piece(low, high)))
            })
        };
        piece.halves.get_or_init(split).clone()
    }

    /// Pieces that fit, or that nobody misses, for all of the noise up to `end`.
    pub(super) fn up_to(&self, end: f64, fits: &dyn Fn(&Piece) -> bool) -> Vec<Rc<Piece>> {
        let mut found = Vec::new();
        let mut stack: Vec<Rc<Piece>> = self.roots.iter().rev().cloned().collect();
        while let Some(piece) = stack.pop() {
            if piece.low >= end {
                break;
            }
            let small = piece.moments[0].upper() <= self.negligible;
            match if small || fits(&piece) { None } else { self.halves(&piece) } {
                Some([left, right]) => stack.extend([right, left]),
                None if piece.high <= end => found.push(piece),
                None => found.push(Rc::new(self.piece(piece.low, end))),
            }
        }
        found
    }

    /// An end of pieces near `point`: of the smallest that is not smaller than a share of its
    /// distance to zero.
    pub(super) fn end_near(&self, point: f64, share: f64) -> f64 {
        let mut pieces = self.roots.clone();
        loop {
            let Some(piece) = pieces.iter().find(|piece| piece.low <= point && point < piece.high)
            else {
                return point;
            };
            let small = piece.high - piece.low <= share * point.abs();
            match if small { None } else { self.halves(piece) } {
                Some(halves) => pieces = halves.to_vec(),
                None => return piece.low,
            }
        }
    }

    /// An upper bound on the probability of noise from `low` to `high`: the largest density times
    /// the width.
    pub(super) fn mass_at_most(&self, low: f64, high: f64) -> f64 {
        if low >= high {
            return 0.0;
        }
        let sides = if self.losses == Losses::Magnitudes { 2.0 } else { 1.0 };
        let density = self.shift.order.density(&Bounds::new(low, high)).upper();
        mul_up(mul_up(sides, density), sub_up(high, low))
    }
}

/// The moments of a piece around another centre: `sum_k C(n, k) h^(n-k) M_k`.
fn moved(piece: &Piece, centre: f64) -> Moments {
    let step = Bounds::exact(piece.centre) - Bounds::exact(centre);
    let mut powers = [Bounds::ONE; LAST + 1];
    for k in 1..=LAST {
        powers[k] = powers[k - 1] * step;
    }
    std::array::from_fn(|n| {
        inner_product((0..=n).map(|k| (choose(n, k) * powers[n - k], piece.moments[k])))
    })
}
