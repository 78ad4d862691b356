//! The most optimistic distribution on a grid that is still below a pair.

use super::grid::{Masses, Sampled};
use super::pair::Test;
use reticent_numerics::rounding::{exp_down, mul_down};

/// A distribution on the grid whose `delta` is nowhere above that of the pair, with an error of the square of the step.
///
/// # Method
/// The pair's tests, as points of `P[A]` over `Q[A]`, lie on a concave curve whose slope is `e^loss`. A polygon with its corners below the curve lies below it, and
/// if its sides have the slopes `e^(j h)` it belongs to a distribution on the grid: the side's height is the mass. Walking from high losses to low ones, each side of
/// slope `e^(j h)` leaves the last corner, runs below the curve and ends where it meets the chord between two proved tests again: so the outcomes between two corners are merged into one, at the loss that
/// their masses have together. (Merging is post-processing, which is why the result can only be less.) The last side must end at the test of all outcomes with a slope on the grid, so corners
/// are given up until that is so.
///
/// Each corner is checked anew after rounding; a side is shortened until its end is proved to lie below.
pub(super) fn contracted(sampled: &Sampled) -> Masses {
    let tests = sampled.tests();
    let mut walk = Walk::from(tests[0]);
    let mut ahead = 1;
    let mut index = sampled.last();
    while index >= sampled.first() - 1 {
        let loss = index as f64 * sampled.step();
        let Some((reached, height)) = walk.side(&tests, ahead, loss.exp()) else {
            index -= 1;
            continue;
        };
        if let Some(reached) = walk.append(index, height, width_of(index, sampled.step()), &tests[..=reached]) {
            ahead = reached;
        }
        index -= 1;
    }
    walk.finish(sampled.step())
}

/// The distribution of a release that reveals nothing.
fn nothing() -> Masses {
    Masses { first: 0, masses: vec![1.0], infinite: 0.0 }
}

/// A corner: `(Q, P)` as sums of two `f64` each, a bound from below of the first.
#[derive(Clone, Copy)]
struct Corner {
    q: (f64, f64),
    p: (f64, f64),
}

struct Walk {
    corners: Vec<Corner>,
    /// The index of each side and its height.
    sides: Vec<(i64, f64)>,
    infinite: f64,
}

impl Walk {
    fn from(start: Test) -> Self {
        let corner = Corner { q: (start.q, 0.0), p: (start.p, 0.0) };
        Walk { corners: vec![corner], sides: Vec::new(), infinite: start.p }
    }

    fn corner(&self) -> Corner {
        self.corners[self.corners.len() - 1]
    }

    /// Where a side of this slope leaves the polygon of tests, and how high it is by then; `None` if it does at once. The end of all tests counts as
    /// one.
    fn side(&self, tests: &[Test], ahead: usize, slope: f64) -> Option<(usize, f64)> {
        let corner = self.corner();
        let above = |test: Test| difference(test.p, corner.p) - slope * difference(test.q, corner.q);
        let mut before = 0.0;
        for (i, &test) in tests.iter().enumerate().skip(ahead) {
            let here = above(test);
            if here <= 0.0 {
                if before <= 0.0 {
                    return None;
                }
                // The point between tests[i - 1] and tests[i] that is on the side.
                let share = before / (before - here);
                let last = tests[i - 1];
                let p = difference(last.p, corner.p) + share * (test.p - last.p);
                return (p > 0.0).then_some((i, p));
            }
            before = here;
        }
        // It reaches the right edge below the test of all outcomes.
        let height = slope * difference(1.0, corner.q);
        (height > 0.0).then_some((tests.len() - 1, height))
    }

    /// Adds a side, shortened until its end is proved to lie below the chord over it, and says which test is next. `None` if that does not succeed.
    fn append(&mut self, index: i64, height: f64, width: f64, tests: &[Test]) -> Option<usize> {
        let mut height = height;
        // The margin of the proof is worth some 1e-15 of the height over the angle at which the side meets the chord, which is about the step.
        for shrink in [1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2] {
            let end = self.after(height, width);
            let next = (1..tests.len()).rev().find(|&i| difference(tests[i - 1].q, end.q) <= 0.0)?;
            if is_below(end, tests[next - 1], tests[next]) {
                self.sides.push((index, height));
                self.corners.push(end);
                return Some(next);
            }
            height *= 1.0 - shrink;
        }
        None
    }

    fn after(&self, height: f64, width: f64) -> Corner {
        let corner = self.corner();
        Corner { q: add(corner.q, mul_down(height, width)), p: add(corner.p, height) }
    }

    /// Gives up sides until a last one can lead to the test of all outcomes, unless next to nothing is left.
    ///
    /// From a corner with `p` and `q` left to go, a point at height `v` on a side of slope `e^(j h)` sees `(1, 1)` under the slope `e^(l h)` if
    /// `p - v = e^(l h) (q - v e^(-j h))`. The last side starts there, a little earlier to be safe, and ends below the diagonal, which is below every
    /// curve.
    fn finish(mut self, step: f64) -> Masses {
        const NEGLIGIBLE: f64 = 1e-13;
        if difference(1.0, self.corner().p) <= NEGLIGIBLE {
            return self.into_masses();
        }
        while let Some((index, height)) = self.sides.pop() {
            self.corners.pop();
            let corner = self.corner();
            let (q_left, p_left) = (difference(1.0, corner.q), difference(1.0, corner.p));
            let slope = |index: i64| (index as f64 * step).exp();
            let lowest = ((p_left - height) / (q_left - height / slope(index))).ln() / step;
            let highest = (p_left / q_left).ln() / step;
            if !(lowest.abs() < 1e15 && lowest.ceil() <= highest && lowest.ceil() < index as f64) {
                continue;
            }
            let last = lowest.ceil() as i64;
            let exact = ((p_left - slope(last) * q_left) / (1.0 - slope(last) / slope(index))).clamp(0.0, height);
            let widths = [index, last].map(|index| width_of(index, step));
            // Starting early by `s` leaves about `s h` at the end, which must hold the rounding of numbers around 1.
            for rounding in [1e-15, 4e-15, 1.6e-14, 6.4e-14, 2.6e-13] {
                let first = exact - rounding / step.min(1.0);
                if first < 0.0 {
                    break;
                }
                let corner = self.after(first, widths[0]);
                self.corners.push(corner);
                let rest = difference(1.0, corner.q) * slope(last);
                let end = self.after(rest, widths[1]);
                let (q_missing, p_missing) = (difference(1.0, end.q), difference(1.0, end.p));
                if p_missing >= 0.0 && p_missing >= q_missing * (1.0 + 4.0 * f64::EPSILON) {
                    self.sides.extend([(index, first), (last, rest)]);
                    return self.into_masses();
                }
                self.corners.pop();
            }
        }
        self.into_masses()
    }

    fn into_masses(self) -> Masses {
        let (Some(&(last, _)), Some(&(first, _))) = (self.sides.first(), self.sides.last()) else { return nothing() };
        let mut masses = vec![0.0; (last - first + 1) as usize];
        for (index, height) in self.sides {
            masses[(index - first) as usize] += height;
        }
        Masses { first, masses, infinite: self.infinite }
    }
}

/// Whether a corner is proved to lie on or below the line from one test to the next, or no higher than the second if it is right of both.
///
/// With `A = q_right - q_left` and `B = p_right - p_left > 0` the statement is `(p - p_left) / B <= min((q - q_left) / A, 1)`; of quotients, because products of two small
/// probabilities underflow, and zero is no more than zero. Every difference and quotient is rounded once, which the margin makes up for; `2^-80` of the corner's own
/// coordinates makes up for the sums, and `TINY` for quotients below the normal range. Where `A` is zero the second test alone is compared with.
fn is_below(corner: Corner, left: Test, right: Test) -> bool {
    const SUMS: f64 = 1.0 / (1u128 << 80) as f64;
    const TINY: f64 = 1e-290;
    let rise = -difference(left.p, corner.p) + SUMS * corner.p.0;
    let run = -difference(left.q, corner.q) - SUMS * corner.q.0;
    let (across, up) = (right.q - left.q, right.p - left.p);
    let margin = 1.0 + 16.0 * f64::EPSILON;
    // A quotient by zero is infinite or no number, and `min` takes the other operand for either.
    run >= 0.0 && (rise <= 0.0 || (up > 0.0 && rise / up * margin + TINY <= (run / across).min(1.0)))
}

/// `e^(-j h)`, rounded down: how far a side runs for its height.
fn width_of(index: i64, step: f64) -> f64 {
    exp_down(mul_down(-index as f64, step))
}

/// `a - b` for a `b` in two parts.
fn difference(a: f64, b: (f64, f64)) -> f64 {
    (a - b.0) - b.1
}

/// Adds to a number in two parts. The error is below `2^-100` of the sum.
fn add(a: (f64, f64), b: f64) -> (f64, f64) {
    let sum = a.0 + b;
    let from_b = sum - a.0;
    let error = (a.0 - (sum - from_b)) + (b - from_b);
    let low = a.1 + error;
    let high = sum + low;
    (high, low - (high - sum))
}

#[cfg(test)]
mod tests {
    use super::super::effort::Effort;
    use super::super::grid::Cuts;
    use super::super::pair::Pair;
    use super::super::pairs::{examples, uniform};
    use super::*;
    use reticent_numerics::{Bounds, Enclosure, sum_bounds};

    /// `delta` of masses on a grid.
    fn delta_of(masses: &Masses, step: f64, x: f64) -> Bounds {
        let term = |(i, &mass): (usize, &f64)| {
            let loss = Bounds::exact((masses.first + i as i64) as f64) * Bounds::exact(step);
            let gain = -(Bounds::exact(x) - loss).exp_m1();
            Bounds::exact(mass) * Bounds::new(gain.lower().max(0.0), gain.upper().max(0.0))
        };
        sum_bounds(masses.masses.iter().enumerate().map(term)) + Bounds::exact(masses.infinite)
    }

    /// At how many of a number of losses `delta` is proved to be above that of the pair.
    fn violations(masses: &Masses, pair: &dyn Pair, step: f64) -> usize {
        let mut state = 7;
        let reach = 1.2 * step * masses.masses.len() as f64;
        let losses = (0..150).map(|_| reach * (2.0 * uniform(&mut state) - 1.0));
        losses.filter(|&x| delta_of(masses, step, x).lower() > pair.at(x).delta.upper()).count()
    }

    const CUTS: Cuts = Cuts { right: 1e-12, left: 1e-14, tilt: 5.0 };

    #[test]
    fn delta_is_nowhere_above() {
        for (pair, step) in examples() {
            let sampled = Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4)).expect("few points");
            let masses = contracted(&sampled);
            assert_eq!(violations(&masses, &*pair, step), 0, "{pair:?}");
            let total: f64 = masses.masses.iter().sum::<f64>() + masses.infinite;
            assert!((total - 1.0).abs() < 1e-12, "{pair:?} {total}");
            assert!(masses.masses.iter().all(|&mass| mass >= 0.0));
            // The same masses one step up are rejected.
            let wrong = Masses { first: masses.first + 1, ..masses };
            assert!(violations(&wrong, &*pair, step) > 0, "{pair:?}");
        }
    }

    /// Outcomes between grid points lose the step itself; where no single outcome counts, the square.
    #[test]
    fn delta_is_below_by_the_square_of_the_step() {
        let smooth: Vec<_> = examples().into_iter().filter(|(pair, _)| pair.atoms().is_empty()).collect();
        assert_eq!(smooth.len(), 3);
        for (pair, step) in smooth {
            let masses = contracted(&Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4)).expect("few points"));
            for x in [-0.1, 0.0, 0.013, 0.1] {
                let apart = pair.at(x).delta.estimate() - delta_of(&masses, step, x).estimate();
                assert!(apart < step * step, "{pair:?} at {x}: {apart:e}");
            }
        }
    }

    /// Products of two of these probabilities are zero in `f64`.
    #[test]
    fn tiny_probabilities_are_told_apart() {
        let (left, right) = (Test { p: 1e-200, q: 1e-240 }, Test { p: 3e-200, q: 3e-240 });
        let corner = |p: f64, q: f64| Corner { p: (p, 0.0), q: (q, 0.0) };
        assert!(is_below(corner(1.9e-200, 2e-240), left, right));
        assert!(!is_below(corner(2.1e-200, 2e-240), left, right));
        // Nothing runs between these two, so the second alone counts.
        let upright = Test { q: left.q, ..right };
        assert!(is_below(corner(2.9e-200, 1.1e-240), left, upright));
        assert!(!is_below(corner(3.1e-200, 1.1e-240), left, upright));
    }
}
