//! A pair, looked at on a grid of losses, and the least pessimistic distribution on that grid.

use super::effort::Effort;
use super::pair::{Pair, Point, Test, at_most_one};
use reticent_numerics::rounding::{add_up, div_up, mul_down, sub_up};
use reticent_numerics::{Bounds, Enclosure, nearest};

/// Masses at the losses `offset + index * step`, and at infinity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Masses {
    /// The index of the first.
    pub(super) first: i64,
    /// Where the grid lies.
    pub(super) offset: f64,
    /// One a grid point.
    pub(super) masses: Vec<f64>,
    /// At an infinite loss.
    pub(super) infinite: f64,
    /// How much of that stands for losses beyond the last grid point (`saturation.rs`), in a bound
    /// from below; nothing in one from above.
    pub(super) saturated: f64,
}

impl Masses {
    /// Bounds on `ln sum w e^(s x)`.
    pub(super) fn log_moment(&self, step: f64, s: f64) -> Bounds {
        Bounds::exact(s) * Bounds::exact(self.offset) + self.log_moment_by_index(step, s)
    }

    /// The same as if the offset was zero.
    ///
    /// # Error
    /// With `u` half an ulp of 1, `E` the largest `|s x|` and `g` any number, here about the
    /// logarithm of the largest term, it is `g + ln S`, `S = sum w e^(s x - g)`. An exponent `s x`,
    /// of two products, is off by `2 u E`; its difference from `g` is rounded by `u (E + |g|)`; the
    /// exponential and the product with `w` by a relative `u` each; the sum of `n` positive terms
    /// by a relative `n u`. So `ln S` is off by at most `u (3 E + |g| + n + 2)` and a little more,
    /// plus `u |ln S|` for the logarithm, plus `u (|g| + |ln S|)` for the last sum. Terms below the
    /// normal range are off by `n` times the least `f64`, while `S` is about 1 or more. Twice all
    /// of that is allowed for.
    pub(super) fn log_moment_by_index(&self, step: f64, s: f64) -> Bounds {
        let exponent = |i: usize| s * ((self.first + i as i64) as f64 * step);
        let terms = || self.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0);
        let greatest = terms()
            .map(|(i, mass)| exponent(i) + nearest::ln(*mass))
            .fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return Bounds::new(f64::NEG_INFINITY, 0.0);
        }
        let sum = nearest::ln(
            terms().map(|(i, mass)| nearest::exp(exponent(i) - greatest) * mass).sum::<f64>(),
        );
        let ends = exponent(0).abs().max(exponent(self.masses.len()).abs());
        let size =
            3.0 * ends + 2.0 * greatest.abs() + 2.0 * sum.abs() + self.masses.len() as f64 + 16.0;
        let (estimate, margin) = (greatest + sum, f64::EPSILON * size);
        Bounds::new(estimate - margin, estimate + margin)
    }
}

/// A pair at all multiples of half a step between two losses, each rounded down to an `f64`: there
/// `delta` is no less than at the multiple itself, and a test is a test wherever it was found.
///
/// Where hardly any of the tilted loss is left, not all multiples are looked at: the error of a
/// cell is its mass times its square.
#[derive(Debug)]
pub(super) struct Sampled {
    step: f64,
    /// Which multiples of half a step, rising; the even ones are grid points, and the first and the
    /// last are even.
    halves: Vec<i64>,
    points: Vec<Point>,
    infinite: Bounds,
    tilt: f64,
    greatest_atom: Option<f64>,
    is_saturated: bool,
}

/// What may be neglected at the ends of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts {
    /// `delta` at the last grid point, beyond which everything counts as infinite.
    pub(super) right: f64,
    /// The loss at which a pair is saturated, if it goes on.
    pub(super) top: f64,
    /// `P` mass before the first grid point, which counts as if it was there.
    pub(super) left: f64,
    /// The tilt under which the losses will be added.
    pub(super) tilt: f64,
    /// The share of the tilted losses that the answer is made of.
    pub(super) share: f64,
}

/// The most grid points of one pair.
const MOST_POINTS: i64 = 1 << 24;

impl Sampled {
    /// Looks at a pair with steps of `step`; `None` if that takes more than the effort that is
    /// left.
    pub(super) fn new(pair: &dyn Pair, step: f64, cuts: Cuts, effort: &mut Effort) -> Option<Self> {
        let loss = |half: i64| mul_down(half as f64, 0.5 * step);
        let is_over = |index: i64| {
            pair.at(loss(2 * index)).delta.upper() <= cuts.right + pair.infinite().upper()
        };
        let is_before = |index: i64| {
            let point = pair.at(loss(2 * index));
            // Without a test: P[L <= x] <= e^x Q[L <= x] <= e^x and, from delta >= P[L > x] - e^x,
            // no bound on P[L <= x] but 1 - delta.
            point.test.map_or(1.0 - point.delta.lower(), |test| sub_up(1.0, test.p)) <= cuts.left
        };
        let top = (cuts.top / step).ceil().max(1.0);
        let is_saturated = top <= MOST_POINTS as f64 && !is_over(top as i64);
        let last = if is_saturated { top as i64 } else { edge(is_over)? };
        let last = if last == 0 {
            edge(|distance| !is_over(-distance)).map_or(0, |distance| 1 - distance)
        } else {
            last
        };
        let first = -edge(|distance| is_before(-distance))?;
        let first = if first == 0 { edge(|distance| !is_before(distance))? - 1 } else { first };
        let (first, last) = (first.min(last - 1), last);
        // Masses are kept for all grid points, looked at or not.
        if last - first > MOST_POINTS || !effort.spend((last - first) as f64) {
            return None;
        }
        let mut sampled = Sampled {
            step,
            halves: Vec::new(),
            points: Vec::new(),
            infinite: pair.infinite(),
            tilt: cuts.tilt,
            greatest_atom: pair.atoms().into_iter().max_by(f64::total_cmp),
            is_saturated,
        };
        let mut index = first;
        loop {
            let x = loss(2 * index);
            if !effort.spend(2.0 * pair.effort()) {
                return None;
            }
            let point = pair.at(x);
            sampled.push(2 * index, point);
            if index == last {
                break;
            }
            // The cell's square times what is left, weighed as at the cell's end, is at most a
            // hundredth of the square of the step times the share that matters.
            let left = point.test.map_or(point.delta.upper(), |test| test.p);
            let is_negligible = |stride: i64| {
                let end = x + stride as f64 * step;
                (stride * stride) as f64 * left * nearest::exp(cuts.tilt * end) <= 0.01 * cuts.share
            };
            let stride = (1..=12)
                .rev()
                .map(|power| 1 << power)
                .find(|&stride| is_negligible(stride))
                .unwrap_or(1);
            if stride == 1 {
                sampled.push(2 * index + 1, pair.at(loss(2 * index + 1)));
            }
            index = (index + stride).min(last);
        }
        sampled.find_tests();
        Some(sampled)
    }

    /// The distribution on the grid with the least `delta` that is at least that of the pair
    /// everywhere: its `delta` connects the pair's at grid points by straight lines in `e^x`
    /// (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, *Connect the dots: tighter discrete
    /// approximations of privacy loss distributions*, 2022). As `delta` is convex in `e^x`, the
    /// lines lie above it, by the square of the step.
    ///
    /// A distribution's mass `W_j` at `x_j` and beyond is `delta - t d delta/dt` on the line that
    /// ends at `t = e^(x_j)`:
    ///
    /// `W_j = delta_j + (delta_(j-1) - delta_j) / (1 - e^(x_(j-1) - x_j))`.
    ///
    /// Conversely `delta_i = sum_(j > i) W_j (e^(x_i - x_(j-1)) - e^(x_i - x_j))` plus the mass at
    /// infinity, whose terms all grow with `W`: so rounding each `W_j` up, and raising some to make
    /// them fall with `j`, is sound. What is left of the first point is counted there.
    pub(super) fn dominating(&self) -> Masses {
        let grid = self.halves.iter().zip(&self.points).filter(|(half, _)| **half % 2 == 0);
        let grid: Vec<(i64, f64)> =
            grid.map(|(half, point)| (half / 2, point.delta.upper())).collect();
        let gap_of = |steps: i64| {
            (-(-(Bounds::exact(steps as f64) * Bounds::exact(self.step))).exp_m1()).lower()
        };
        let gap_of_one = gap_of(1);
        let mut masses = vec![0.0; (self.last() - self.first() + 1) as usize];
        let infinite = grid[grid.len() - 1].1;
        let (mut beyond, mut delta) = (infinite, infinite);
        for cell in grid.windows(2).rev() {
            let [(left, left_delta), (right, _)] = [cell[0], cell[1]];
            let left_delta = left_delta.max(delta);
            let gap = if right - left == 1 { gap_of_one } else { gap_of(right - left) };
            let here = add_up(delta, div_up(sub_up(left_delta, delta), gap));
            let here = at_most_one(here).max(beyond);
            masses[(right - self.first()) as usize] = sub_up(here, beyond);
            (beyond, delta) = (here, left_delta);
        }
        masses[0] = sub_up(1.0, beyond);
        Masses { first: self.first(), offset: 0.0, masses, infinite, saturated: 0.0 }
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

    fn push(&mut self, half: i64, point: Point) {
        self.halves.push(half);
        self.points.push(point);
    }

    /// The length of a step.
    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// The tilt under which losses will be added.
    pub(super) fn tilt(&self) -> f64 {
        self.tilt
    }

    /// The greatest loss that a single outcome is known to have.
    pub(super) fn greatest_atom(&self) -> Option<f64> {
        self.greatest_atom
    }

    /// Whether the pair goes on beyond the last grid point by more than may be neglected.
    pub(super) fn is_saturated(&self) -> bool {
        self.is_saturated
    }

    /// The first grid point.
    pub(super) fn first(&self) -> i64 {
        self.halves[0] / 2
    }

    /// The last grid point.
    pub(super) fn last(&self) -> i64 {
        self.halves[self.halves.len() - 1] / 2
    }

    /// Where only `delta` is known, finds tests from its values at three neighbours.
    ///
    /// A line `c - s (t - t_i)` that lies below `delta` as a function of `t = e^x` is the test with
    /// `q = s` and `p = c + s t_i`. Let `l` and `r` be the slopes of the chords to the left and
    /// right neighbours; by convexity `l <= r`, beyond a neighbour `delta` is above the extended
    /// chord that ends there, and between `t_i` and a neighbour it is above the extension of the
    /// other chord. So for `l <= -s <= r` the line is below `delta` if `c = delta_i` less the
    /// larger of `(-s - l)(t_(i+1) - t_i)` and `(r + s)(t_i - t_(i-1))`.
    fn find_tests(&mut self) {
        if self.points.iter().all(|point| point.test.is_some()) {
            return;
        }
        let losses =
            |i: usize| Bounds::exact(mul_down(self.halves[i] as f64, 0.5 * self.step)).exp();
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
                let slope =
                    Bounds::exact((0.5 * (left_slope.upper() + right_slope.lower())).min(0.0));
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

#[cfg(test)]
mod tests {
    use super::super::pairs::{examples, uniform};
    use super::*;

    /// `delta` of masses on a grid.
    fn delta_of(masses: &Masses, step: f64, x: f64) -> f64 {
        let term = |(i, &mass): (usize, &f64)| {
            let loss = (masses.first + i as i64) as f64 * step;
            mass * -(x - loss).min(0.0).exp_m1()
        };
        masses.masses.iter().enumerate().map(term).sum::<f64>() + masses.infinite
    }

    const CUTS: Cuts =
        Cuts { right: 1e-13, left: 1e-14, tilt: 0.0, share: 1.0, top: f64::INFINITY };

    #[test]
    fn delta_is_nowhere_below_and_exact_at_grid_points() {
        let mut state = 11;
        for (pair, step) in examples() {
            let sampled = Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4))
                .expect("few points");
            let masses = sampled.dominating();
            let (left, right) = (sampled.first() as f64 * step, sampled.last() as f64 * step);
            for _ in 0..150 {
                let x = left + (right - left) * uniform(&mut state);
                let (exact, found) = (pair.at(x).delta.lower(), delta_of(&masses, step, x));
                assert!(found >= exact - 1e-14, "{pair:?} at {x}: {found} {exact}");
            }
            let mut checked = 0;
            for (&half, point) in
                sampled.halves.iter().zip(&sampled.points).filter(|(half, _)| **half % 2 == 0)
            {
                let found = delta_of(&masses, step, (half / 2) as f64 * step);
                assert!(
                    (found - point.delta.upper()).abs() <= 1e-12,
                    "{pair:?} at {half}: {found} {point:?}"
                );
                checked += 1;
            }
            assert!(checked > 4, "{pair:?}");
            // Masses one step down are rejected somewhere.
            let wrong = Masses { first: masses.first - 1, ..masses };
            let x = 0.5 * step;
            assert!(delta_of(&wrong, step, x) < pair.at(x).delta.lower(), "{pair:?}");
        }
    }

    /// Nowhere below, and from the end on what it was at the end.
    #[test]
    fn saturated_delta_stays_what_it_is_at_the_end() {
        let mut checked = 0;
        for (pair, step) in examples() {
            let top = 0.5 * pair.greatest_loss().min(2.0);
            let sampled =
                Sampled::new(&*pair, step, Cuts { top, ..CUTS }, &mut Effort::for_precision(1e-4))
                    .expect("few");
            if !sampled.is_saturated() {
                continue;
            }
            checked += 1;
            let end = sampled.last() as f64 * step;
            assert!(end >= top && end < top + step, "{pair:?}: {end} {top}");
            let masses = sampled.dominating();
            for index in sampled.first()..sampled.last() + 20 {
                let x = index as f64 * step;
                let (exact, found) = (pair.at(x).delta.lower(), delta_of(&masses, step, x));
                assert!(found >= exact - 1e-14, "{pair:?} at {x}: {found} {exact}");
                let at_end = pair.at(end).delta.upper();
                assert!(
                    x < end || (found - at_end).abs() <= 1e-14,
                    "{pair:?} at {x}: {found} {at_end}"
                );
            }
            assert!(masses.infinite > pair.infinite().upper(), "{pair:?}");
        }
        assert!(checked >= 7, "{checked}");
    }

    #[test]
    fn no_test_is_above_the_curve() {
        for (pair, step) in examples() {
            let sampled = Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4))
                .expect("few points");
            // p - e^x q <= delta(x) for every test and every x.
            for test in sampled.tests().into_iter().step_by(7) {
                for i in -20..=20 {
                    let x = 0.2 * f64::from(i) * pair.greatest_loss().min(5.0);
                    let gain =
                        Bounds::exact(test.p) - Bounds::exact(x).exp() * Bounds::exact(test.q);
                    assert!(gain.lower() <= pair.at(x).delta.upper(), "{pair:?} {test:?} at {x}");
                }
            }
        }
    }

    /// A probability of zero at an infinite weight: the grid has an end all the same.
    #[test]
    fn overflowing_tilts_end() {
        for (pair, step) in examples() {
            let cuts = Cuts { tilt: 1e6, right: 1e-6, left: 1e-6, share: 1.0, top: f64::INFINITY };
            assert!(Sampled::new(&*pair, step, cuts, &mut Effort::for_precision(1e-4)).is_some());
        }
    }
}
