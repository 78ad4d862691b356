//! The delta of one coordinate as Taylor series around any point, from a table that is filled as it
//! is asked.

use super::moved_series::{Ball, KEPT, moved};
use super::outer::{Node, Outer};
use super::several::Losses;
use reticent_numerics::{Bounds, Enclosure};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// How near to a singularity on the line cells go on getting narrower, as a share of its point.
const NEAREST: f64 = 0.01;

/// An interval of epsilon, with the coefficients of `delta(y - s)` in `s` at its centre and over
/// all of it.
struct Cell {
    low: f64,
    high: f64,
    centre: f64,
    exact: Vec<Ball>,
    range: Vec<Bounds>,
}

/// The delta of one coordinate, `D(y) = E[(1 - e^(y - L))_+]` or `P[L > y]`, for any `y`.
///
/// The complex zeros of `L'` make `D` singular about `u^p` away from the real points between `-u^p`
/// and `u^p`; unless the order is even, or the losses are those of magnitudes and the order is
/// whole, it is singular at `-u^p` and `u^p` as well. Cells are as wide as a share of the distance.
pub(super) struct Expansions<'a> {
    outer: Outer<'a>,
    /// `u^p`.
    turn: f64,
    /// Where the grid begins: zero, or a little more than `u^p`, below which `P[L > y]` is one.
    origin: f64,
    singular: bool,
    /// Cells are as wide as the distance to the nearest singularity over this.
    fineness: f64,
    nodes: RefCell<HashMap<u64, Node>>,
    cells: RefCell<HashMap<(u64, u64), Rc<Cell>>>,
}

impl<'a> Expansions<'a> {
    pub(super) fn new(outer: Outer<'a>, fineness: f64) -> Self {
        let turn = outer.shift.loss_at(0.0, 0.0).upper();
        let order = outer.shift.order.get();
        let both = outer.losses == Losses::Both;
        let origin = if both { 0.0 } else { turn * (1.0 + 1e-12) };
        Expansions {
            outer,
            turn,
            origin,
            singular: both && order % 2.0 != 0.0,
            fineness,
            nodes: RefCell::default(),
            cells: RefCell::default(),
        }
    }

    /// `u^p`, rounded up.
    pub(super) fn turn(&self) -> f64 {
        self.turn
    }

    /// About the distance from `[low, high]` to the nearest singularity.
    pub(super) fn distance(&self, low: f64, high: f64) -> f64 {
        let outside = |point: f64| (low - point).max(point - high).max(0.0);
        if self.singular {
            outside(self.turn).min(outside(-self.turn)).max(NEAREST * self.turn)
        } else {
            outside(self.origin).max(self.turn)
        }
    }

    fn node(&self, y: f64) -> Node {
        *self.nodes.borrow_mut().entry(y.to_bits()).or_insert_with(|| self.outer.node(y))
    }

    /// The cell that holds `y`, or that begins there.
    fn cell(&self, y: f64) -> Option<Rc<Cell>> {
        let edge = |index: f64| self.origin + self.turn * (index / self.fineness).sinh();
        let mut index = (((y - self.origin) / self.turn).asinh() * self.fineness).floor();
        if !index.is_finite() {
            return None;
        }
        if y < edge(index) {
            index -= 1.0;
        } else if y >= edge(index + 1.0) {
            index += 1.0;
        }
        let (mut low, mut high) = (edge(index), edge(index + 1.0));
        if !(low <= y && y < high) {
            return None;
        }
        while self.singular && high - low > self.distance(low, high) / self.fineness {
            let middle = low + 0.5 * (high - low);
            if y < middle { high = middle } else { low = middle }
        }
        let key = (low.to_bits(), high.to_bits());
        if let Some(cell) = self.cells.borrow().get(&key) {
            return Some(cell.clone());
        }
        let centre = low + 0.5 * (high - low);
        let exact =
            self.outer.coefficients(&self.node(centre), KEPT).into_iter().map(Ball::new).collect();
        let range = self.outer.coefficients(&self.node(low).hull(&self.node(high)), KEPT);
        let cell = Rc::new(Cell { low, high, centre, exact, range });
        self.cells.borrow_mut().insert(key, cell.clone());
        Some(cell)
    }

    /// The coefficients of `D(y - s)` for all `y` of an interval; the value is known even where the
    /// others are not.
    pub(super) fn over(&self, y: Bounds) -> Vec<Bounds> {
        const MOST_CELLS: usize = 100;
        let mut point = y.lower();
        let mut range: Option<Vec<Bounds>> = None;
        for _ in 0..MOST_CELLS {
            let Some(cell) = self.cell(point) else { break };
            range = Some(match range {
                None => cell.range.clone(),
                Some(range) => range.iter().zip(&cell.range).map(|(a, &b)| a.hull(b)).collect(),
            });
            if cell.high >= y.upper() {
                return range.unwrap_or_default();
            }
            point = cell.high;
        }
        let mut unknown = vec![Bounds::WHOLE_LINE; KEPT + 1];
        unknown[0] = Bounds::new(0.0, 1.0);
        unknown
    }

    /// The coefficients of `D(y - s)` at one `y`, known to rounding errors: with `h = y - c`,
    /// `sum_j C(j, k) a_j (-h)^(j-k)` and the remainder at the last `j`.
    pub(super) fn at(&self, y: Bounds) -> Vec<Bounds> {
        let Some(cell) = self.cell(y.estimate()) else { return self.over(y) };
        let inside = y.lower() >= cell.low && y.upper() <= cell.high;
        let range =
            if inside { cell.range.clone() } else { self.over(y.hull(Bounds::exact(cell.centre))) };
        let back = Bounds::exact(cell.centre) - y;
        let mut powers = [Ball::new(Bounds::ONE); KEPT + 1];
        let mut power = Bounds::ONE;
        for slot in &mut powers[1..] {
            power = power * back;
            *slot = Ball::new(power);
        }
        // The remainder is taken where it is known.
        let known =
            |k: &usize| range[*k].is_finite() && cell.exact[..*k].iter().all(Ball::is_finite);
        let last = (0..=KEPT).rev().find(known).unwrap_or(0);
        let mut coefficients = cell.exact.clone();
        coefficients[last] = Ball::new(range[last]);
        (0..=KEPT)
            .map(|k| {
                if k < last {
                    moved(k, &coefficients, &powers, last - k).intersect(range[k])
                } else {
                    range[k]
                }
            })
            .collect()
    }
}
