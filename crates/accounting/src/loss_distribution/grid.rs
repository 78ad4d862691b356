//! A pair, looked at on a grid of losses, and the least pessimistic distribution on that grid.

use super::pair::{Pair, Point, Test, at_most_one};
use crate::AccountingError;
use reticent_numerics::rounding::{add_up, div_up, mul_down, sub_up};
use reticent_numerics::{Bounds, Enclosure};

/// Masses at the losses `index * step`, and at infinity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Masses {
    /// The index of the first.
    pub(super) first: i64,
    /// One a grid point.
    pub(super) masses: Vec<f64>,
    /// At an infinite loss.
    pub(super) infinite: f64,
}

/// A pair at all multiples of half a step between two losses, each rounded down to an `f64`: there `delta` is no less than at the multiple itself, and a test is
/// a test wherever it was found.
#[derive(Debug)]
pub(super) struct Sampled {
    step: f64,
    /// The index of the first grid point; `points` starts there and ends with a grid point.
    first: i64,
    points: Vec<Point>,
    infinite: Bounds,
}

/// What may be neglected at the ends of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// `delta` at the last grid point, beyond which everything counts as infinite.
    pub(super) right: f64,
    /// `P` mass before the first grid point, which counts as if it was there.
    pub(super) left: f64,
}

/// The most grid points of one pair.
const MOST_POINTS: i64 = 1 << 25;

impl Sampled {
    /// Looks at a pair with steps of `step`.
    ///
    /// # Errors
    /// If it takes too many.
    pub(super) fn new(pair: &dyn Pair, step: f64, cuts: Cuts) -> Result<Self, AccountingError> {
        let too_fine = || {
            AccountingError::NotProved(format!(
                "the losses of one release span more than {MOST_POINTS} steps of {step:e}"
            ))
        };
        let loss = |half: i64| mul_down(half as f64, 0.5 * step);
        let is_over = |index: i64| pair.at(loss(2 * index)).delta.upper() <= cuts.right + pair.infinite().upper();
        let is_before = |index: i64| {
            let point = pair.at(loss(2 * index));
            // Without a test: P[L <= x] <= e^x Q[L <= x] <= e^x and, from delta >= P[L > x] - e^x,
            // no bound on P[L <= x] but 1 - delta.
            point.test.map_or(1.0 - point.delta.lower(), |test| sub_up(1.0, test.p)) <= cuts.left
        };
        let last = edge(|distance| is_over(distance)).ok_or_else(too_fine)?;
        let last =
            if last == 0 { edge(|distance| !is_over(-distance)).map_or(0, |distance| 1 - distance) } else { last };
        let first = -edge(|distance| is_before(-distance)).ok_or_else(too_fine)?;
        let first = if first == 0 { edge(|distance| !is_before(distance)).ok_or_else(too_fine)? - 1 } else { first };
        let (first, last) = (first.min(last - 1), last);
        if last - first > MOST_POINTS {
            return Err(too_fine());
        }
        let points = (2 * first..=2 * last).map(|half| pair.at(loss(half))).collect();
        let mut sampled = Sampled { step, first, points, infinite: pair.infinite() };
        sampled.find_tests();
        Ok(sampled)
    }

    /// The distribution on the grid with the least `delta` that is at least that of the pair everywhere: its `delta` connects the pair's at grid
    /// points by straight lines in `e^x` (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, *Connect the dots: tighter discrete approximations of privacy loss
    /// distributions*, 2022). As `delta` is convex in `e^x`, the lines lie above it, by the square of the step.
    ///
    /// A distribution's mass `W_j` at `x_j` and beyond is `delta - t d delta/dt` on the line that ends at `t = e^(x_j)`:
    ///
    /// `W_j = delta_j + (delta_(j-1) - delta_j) / (1 - e^-h)`.
    ///
    /// Conversely `delta_i = sum_(j > i) W_j (e^(x_i - x_(j-1)) - e^(x_i - x_j))` plus the mass at infinity, whose terms all grow with `W`: so rounding each `W_j` up, and raising some to make
    /// them fall with `j`, is sound. What is left of the first point is counted there.
    pub(super) fn dominating(&self) -> Masses {
        let mut deltas: Vec<f64> = self.points.iter().step_by(2).map(|point| point.delta.upper()).collect();
        for j in (1..deltas.len()).rev() {
            deltas[j - 1] = deltas[j - 1].max(deltas[j]);
        }
        let gap = (-(-Bounds::exact(self.step)).exp_m1()).lower();
        let infinite = deltas[deltas.len() - 1];
        let mut masses = vec![0.0; deltas.len()];
        let mut beyond = infinite;
        for j in (1..deltas.len()).rev() {
            let here = add_up(deltas[j], div_up(sub_up(deltas[j - 1], deltas[j]), gap));
            let here = at_most_one(here).max(beyond);
            masses[j] = sub_up(here, beyond);
            beyond = here;
        }
        masses[0] = sub_up(1.0, beyond);
        Masses { first: self.first, masses, infinite }
    }

    /// Tests from high losses to low ones, from no outcome to all of them.
    pub(super) fn tests(&self) -> Vec<Test> {
        let none = Test { p: super::pair::probability(self.infinite).lower(), q: 0.0 };
        let found = self.points.iter().rev().filter_map(|point| point.test);
        let mut tests = vec![none];
        for test in found.chain([Test { p: 1.0, q: 1.0 }]) {
            let last = tests[tests.len() - 1];
            if test.p > last.p && test.q >= last.q {
                tests.push(test);
            }
        }
        tests
    }

    /// The length of a step.
    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// The first grid point.
    pub(super) fn first(&self) -> i64 {
        self.first
    }

    /// The last grid point.
    pub(super) fn last(&self) -> i64 {
        self.first + (self.points.len() as i64 - 1) / 2
    }

    /// Where only `delta` is known, finds tests from its values at three neighbours.
    ///
    /// A line `c - s (t - t_i)` that lies below `delta` as a function of `t = e^x` is the test with `q = s` and `p = c + s t_i`. Let `l` and `r` be the slopes of
    /// the chords to the left and right neighbours; by convexity `l <= r`, beyond a neighbour `delta` is above the extended chord that ends there, and between `t_i` and a neighbour
    /// it is above the extension of the other chord. So for `l <= -s <= r` the line is below `delta` if `c = delta_i` less the larger of `(-s - l)(t_(i+1) - t_i)` and
    /// `(r + s)(t_i - t_(i-1))`.
    fn find_tests(&mut self) {
        if self.points.iter().all(|point| point.test.is_some()) {
            return;
        }
        let losses = |i: usize| Bounds::exact(mul_down((2 * self.first + i as i64) as f64, 0.5 * self.step)).exp();
        let found: Vec<Option<Test>> = (0..self.points.len())
            .map(|i| {
                let point = self.points[i];
                if point.test.is_some() || i == 0 || i + 1 == self.points.len() {
                    return point.test;
                }
                let (left, right) = (losses(i) - losses(i - 1), losses(i + 1) - losses(i));
                let left_slope = (point.delta - self.points[i - 1].delta) / left;
                let right_slope = (self.points[i + 1].delta - point.delta) / right;
                // The slope must lie between what is proved of the two.
                if !(left_slope.upper() <= right_slope.lower() && right_slope.upper() <= 1.0) {
                    return None;
                }
                let slope = Bounds::exact((0.5 * (left_slope.upper() + right_slope.lower())).min(0.0));
                let gap_right = (slope - left_slope) * right;
                let gap_left = (right_slope - slope) * left;
                let gap = gap_right.upper().max(gap_left.upper()).max(0.0);
                let p = point.delta - Bounds::exact(gap) - slope * losses(i);
                (p.lower() > 0.0).then(|| Test::within(p, -slope))
            })
            .collect();
        for (point, test) in self.points.iter_mut().zip(found) {
            point.test = test;
        }
    }
}

/// The least `distance >= 0` at which a monotone statement holds.
fn edge(holds: impl Fn(i64) -> bool) -> Option<i64> {
    if holds(0) {
        return Some(0);
    }
    let mut beyond = 1;
    while !holds(beyond) {
        beyond *= 2;
        if beyond > MOST_POINTS {
            return None;
        }
    }
    let mut short = beyond / 2;
    while beyond - short > 1 {
        let middle = short + (beyond - short) / 2;
        if holds(middle) {
            beyond = middle;
        } else {
            short = middle;
        }
    }
    Some(beyond)
}
