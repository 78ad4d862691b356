//! The most optimistic distribution on a grid that is still below a pair.

use super::grid::{Masses, Sampled};
use super::pair::Test;
use reticent_numerics::nearest;
use reticent_numerics::rounding::{exp_down, exp_up, mul_down, mul_up, sub_down, sub_up};

/// A distribution on a grid whose `delta` is nowhere above that of the pair, with an error of the
/// square of the step.
///
/// The pair's tests lie on a concave curve of `P[A]` over `Q[A]`; a polygon below it whose sides
/// have the slopes `e^(c + j h)` belongs to a distribution on the grid, and merging the outcomes
/// between two corners is post-processing. Each corner is checked anew after rounding. How the
/// corners and the offset `c` are found: docs/proofs/contraction.md.
pub(super) fn contracted(sampled: &Sampled) -> Masses {
    let tests = sampled.tests();
    let step = sampled.step();
    let on = |offset: f64| Walk::along(&tests, sampled, offset, i64::MIN).finish(&tests, step);
    let (plain, given_up) = on(0.0);
    let lowered = sampled.greatest_atom().map(|atom| LOWERED.map(|by| on(-by * atom.max(1.0)).0));
    if given_up <= FEW && lowered.is_none() {
        return plain;
    }
    let mut found = vec![plain];
    found.extend(lowered.into_iter().flatten());
    // An outcome well between two grid points loses a share of the step, unless the grid is moved
    // to it.
    let is_between =
        sampled.greatest_atom().is_some_and(|atom| (1e-3..0.999).contains(&(atom / step).fract()));
    if given_up > FEW || is_between {
        found.extend(highest_cell(&tests, step).map(|top| on(top - (top / step).floor() * step).0));
        found.extend(on_lowest_cell(&tests, sampled));
    }
    let moment = |masses: &Masses| masses.log_moment(step, sampled.tilt()).estimate();
    found.into_iter().max_by(|a, b| moment(a).total_cmp(&moment(b))).unwrap_or_else(nothing)
}

/// How many sides may be given up without looking for another grid.
const FEW: usize = 3;

/// By how much a grid that holds single outcomes is lowered: some ulps of their probabilities, or
/// what the step was shortened by to lie below the greatest of them.
const LOWERED: [f64; 2] = [2e-15, 6e-14];

/// How much of `P` may be left at the end of a walk.
const NEGLIGIBLE: f64 = 1e-13;

/// The loss that the outcomes within a step of the greatest loss have together.
fn highest_cell(tests: &[Test], step: f64) -> Option<f64> {
    let start = tests[0];
    let slope = |test: &Test| nearest::ln((test.p - start.p) / (test.q - start.q));
    let greatest = tests.iter().map(slope).find(|slope| slope.is_finite())?;
    let inside = tests.windows(2).skip(1).take_while(|pair| {
        let local = nearest::ln((pair[1].p - pair[0].p) / (pair[1].q - pair[0].q));
        local.is_nan() || local > greatest - step
    });
    inside.map(|pair| slope(&pair[1])).last().filter(|slope| slope.is_finite())
}

/// A walk on a grid that holds the common loss of the outcomes near the least one.
///
/// The last side runs from a corner to the end, and its slope says where the grid must lie; but the
/// corner depends on the grid a little, so this is done until the two agree. What is left is made
/// up by starting the last side a little earlier.
fn on_lowest_cell(tests: &[Test], sampled: &Sampled) -> Option<Masses> {
    const PASSES: usize = 5;
    let step = sampled.step();
    let end = tests[tests.len() - 1];
    let local = |pair: &[Test]| nearest::ln((pair[1].p - pair[0].p) / (pair[1].q - pair[0].q));
    // The last chord before which something is left.
    let chord = tests.windows(2).rev().find(|pair| end.p - pair[0].p > NEGLIGIBLE)?;
    let least = local(chord);
    let beyond = (least / step).floor() + 2.0;
    if beyond.is_nan() || beyond.abs() >= 1e15 {
        return None;
    }
    let mut offset = 0.0;
    let mut mismatch = 0.0_f64;
    for _ in 0..PASSES {
        let walk = Walk::along(tests, sampled, offset, beyond as i64);
        let needed = walk.slope_to(end);
        if !needed.is_finite() {
            return None;
        }
        let moved = (needed - (needed / step).floor() * step).clamp(0.0, step);
        mismatch = (moved - offset).abs();
        offset = moved;
        if mismatch <= 1e-15 {
            break;
        }
    }
    // A little more than needed, so that the end is seen from before the last corner.
    let offset = offset + 2.0 * mismatch.min(1e-3 * step) + 1e-16;
    Some(Walk::along(tests, sampled, offset, beyond as i64).finish(tests, step).0)
}

/// The distribution of a release that reveals nothing.
fn nothing() -> Masses {
    Masses { first: 0, offset: 0.0, masses: vec![1.0], infinite: 0.0, saturated: 0.0 }
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
    /// How much of that stands for losses beyond the first side's.
    saturated: f64,
    /// The test that the first side must pass: below it an outcome of an infinite loss, merged with
    /// this side, would be too much.
    anchor: usize,
    offset: f64,
}

impl Walk {
    fn from(start: Test, offset: f64) -> Self {
        let corner = Corner { q: (start.q, 0.0), p: (start.p, 0.0) };
        Walk {
            corners: vec![corner],
            sides: Vec::new(),
            infinite: start.p,
            saturated: 0.0,
            anchor: 0,
            offset,
        }
    }

    /// Starts where the line of a slope that touches the tests does, a little lower, so that the
    /// first side passes below them. The losses beyond are saturated: part of them is infinite
    /// (`saturation.rs`).
    ///
    /// What the walk stands for then is the distribution in which the infinite outcome and that of
    /// the first side are merged again. The curve of that leads straight from the start of all
    /// tests to the end of the first side, so that it is below the pair's if that end is; and it is
    /// if it lies below the chords that follow the touching test.
    fn saturated(tests: &[Test], loss: f64, offset: f64) -> Self {
        /// How much lower; less than any precision, more than rounding.
        const LOWER: f64 = 1e-13;
        /// Next to the end of the grid, how many tests may be touched.
        const NEAR: usize = 8;
        let walk = Walk::from(tests[0], offset);
        let slope = exp_up(loss);
        let intercept = |test: Test| sub_down(test.p * (1.0 - LOWER), mul_up(slope, test.q));
        let near = tests.iter().enumerate().take(NEAR).skip(1);
        let touching =
            near.map(|(i, &test)| (i, intercept(test))).max_by(|a, b| a.1.total_cmp(&b.1));
        match touching {
            Some((anchor, start)) if start > walk.infinite => Walk {
                corners: vec![Corner { q: (0.0, 0.0), p: (start, 0.0) }],
                saturated: sub_up(start, walk.infinite),
                infinite: start,
                anchor,
                ..walk
            },
            _ => walk,
        }
    }

    /// Walks from high losses to low ones, down to the index `lowest`.
    fn along(tests: &[Test], sampled: &Sampled, offset: f64, lowest: i64) -> Self {
        let step = sampled.step();
        let (mut walk, highest) = if sampled.is_saturated() {
            let highest = if offset > 0.0 { sampled.last() - 1 } else { sampled.last() };
            (Walk::saturated(tests, highest as f64 * step + offset, offset), highest)
        } else {
            (Walk::from(tests[0], offset), sampled.last())
        };
        let mut ahead = walk.anchor.max(1);
        for index in (lowest.max(sampled.first() - 1)..=highest).rev() {
            let slope = nearest::exp(offset + index as f64 * step);
            let Some((reached, height)) = walk.side(tests, ahead, slope) else { continue };
            if let Some(reached) =
                walk.append(index, height, walk.width_of(index, step), &tests[..=reached])
            {
                ahead = reached;
            }
        }
        walk
    }

    /// The logarithm of the slope under which a test is seen from the last corner.
    fn slope_to(&self, test: Test) -> f64 {
        let corner = self.corner();
        nearest::ln(difference(test.p, corner.p) / difference(test.q, corner.q))
    }

    /// `e^-(c + j h)`, rounded down: how far a side runs for its height.
    fn width_of(&self, index: i64, step: f64) -> f64 {
        exp_down(sub_down(mul_down(-index as f64, step), self.offset))
    }

    fn corner(&self) -> Corner {
        self.corners[self.corners.len() - 1]
    }

    /// Where a side of this slope leaves the polygon of tests, and how high it is by then; `None`
    /// if it does at once. The end of all tests counts as one.
    fn side(&self, tests: &[Test], ahead: usize, slope: f64) -> Option<(usize, f64)> {
        let corner = self.corner();
        let above =
            |test: Test| difference(test.p, corner.p) - slope * difference(test.q, corner.q);
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
        // It reaches the end below the last test.
        let height = slope * difference(tests[tests.len() - 1].q, corner.q);
        (height > 0.0).then_some((tests.len() - 1, height))
    }

    /// Adds a side, shortened until its end is proved to lie below the chord over it, and says
    /// which test is next. `None` if that does not succeed.
    fn append(&mut self, index: i64, height: f64, width: f64, tests: &[Test]) -> Option<usize> {
        let mut height = height;
        // The margin of the proof is worth some 1e-15 of the height over the angle at which the
        // side meets the chord, which is about the step.
        for shrink in [
            1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
            1e-2,
        ] {
            let end = self.after(height, width);
            let next =
                (1..tests.len()).rev().find(|&i| difference(tests[i - 1].q, end.q) <= 0.0)?;
            if next <= self.anchor {
                return None;
            }
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

    /// Gives up sides until a last one can lead to the last test, `(q_end, 1)`, unless next to
    /// nothing is left. Says how many were given up.
    ///
    /// From a corner with `p` and `q` left to go, a point at height `v` on a side of slope `a` sees
    /// the end under the slope `b` if `p - v = b (q - v / a)`. The last side starts there, a little
    /// earlier to be safe, and ends below the line from the origin to the last test, which is below
    /// every curve through that test.
    fn finish(mut self, tests: &[Test], step: f64) -> (Masses, usize) {
        let end = tests[tests.len() - 1];
        let slope = |index: i64, offset: f64| nearest::exp(offset + index as f64 * step);
        let mut given_up = 0;
        if difference(end.p, self.corner().p) <= NEGLIGIBLE {
            return (self.into_masses(), given_up);
        }
        while let Some((index, height)) = self.sides.pop() {
            self.corners.pop();
            given_up += 1;
            if self.corners.len() == 1 && self.anchor > 0 {
                break;
            }
            let corner = self.corner();
            let (q_left, p_left) = (difference(end.q, corner.q), difference(end.p, corner.p));
            let of_slope = |slope: f64| (nearest::ln(slope) - self.offset) / step;
            let steep = slope(index, self.offset);
            let lowest = of_slope((p_left - height) / (q_left - height / steep));
            let highest = of_slope(p_left / q_left);
            if !(lowest.abs() < 1e15 && lowest.ceil() <= highest && lowest.ceil() < index as f64) {
                continue;
            }
            let last = lowest.ceil() as i64;
            let flat = slope(last, self.offset);
            let exact = ((p_left - flat * q_left) / (1.0 - flat / steep)).clamp(0.0, height);
            let widths = [index, last].map(|index| self.width_of(index, step));
            // Starting early by `s` leaves about `s h` at the end, which must hold the rounding of
            // numbers around 1.
            for rounding in [1e-15, 4e-15, 1.6e-14, 6.4e-14, 2.6e-13] {
                let first = exact - rounding / step.min(1.0);
                if first < 0.0 {
                    break;
                }
                let corner = self.after(first, widths[0]);
                self.corners.push(corner);
                let rest = difference(end.q, corner.q) * flat;
                let last_corner = self.after(rest, widths[1]);
                let (q_missing, p_missing) =
                    (difference(end.q, last_corner.q), difference(end.p, last_corner.p));
                if p_missing >= 0.0 && p_missing * end.q >= q_missing * (1.0 + 8.0 * f64::EPSILON) {
                    self.sides.extend([(index, first), (last, rest)]);
                    return (self.into_masses(), given_up);
                }
                self.corners.pop();
            }
        }
        (self.into_masses(), given_up)
    }

    fn into_masses(self) -> Masses {
        let (Some(&(last, _)), Some(&(first, _))) = (self.sides.first(), self.sides.last()) else {
            return nothing();
        };
        let mut masses = vec![0.0; (last - first + 1) as usize];
        for (index, height) in self.sides {
            masses[(index - first) as usize] += height;
        }
        Masses {
            first,
            offset: self.offset,
            masses,
            infinite: self.infinite,
            saturated: self.saturated,
        }
    }
}

/// Whether a corner is proved to lie on or below the line from one test to the next, or no higher
/// than the second if it is right of both.
///
/// With `A = q_right - q_left` and `B = p_right - p_left > 0` the statement is
/// `(p - p_left) / B <= min((q - q_left) / A, 1)`; of quotients, because products of two small
/// probabilities underflow, and zero is no more than zero. Every difference and quotient is rounded
/// once, which the margin makes up for; `2^-80` of the corner's own coordinates makes up for the
/// sums, and `TINY` for quotients below the normal range. Where `A` is zero the second test alone
/// is compared with.
fn is_below(corner: Corner, left: Test, right: Test) -> bool {
    const SUMS: f64 = 1.0 / (1u128 << 80) as f64;
    const TINY: f64 = 1e-290;
    let rise = -difference(left.p, corner.p) + SUMS * corner.p.0;
    let run = -difference(left.q, corner.q) - SUMS * corner.q.0;
    let (across, up) = (right.q - left.q, right.p - left.p);
    let margin = 1.0 + 16.0 * f64::EPSILON;
    // A quotient by zero is infinite or no number, and `min` takes the other operand for either.
    run >= 0.0
        && (rise <= 0.0 || (up > 0.0 && rise / up * margin + TINY <= (run / across).min(1.0)))
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
            let loss = Bounds::exact(masses.offset)
                + Bounds::exact((masses.first + i as i64) as f64) * Bounds::exact(step);
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

    const CUTS: Cuts =
        Cuts { right: 1e-12, left: 1e-14, tilt: 5.0, share: 1.0, top: f64::INFINITY };

    #[test]
    fn delta_is_nowhere_above() {
        for (pair, step) in examples() {
            let sampled = Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4))
                .expect("few points");
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

    /// Outcomes between grid points lose the step itself; where no single outcome counts, the
    /// square.
    #[test]
    fn delta_is_below_by_the_square_of_the_step() {
        let smooth: Vec<_> =
            examples().into_iter().filter(|(pair, _)| pair.atoms().is_empty()).collect();
        assert_eq!(smooth.len(), 3);
        for (pair, step) in smooth {
            let masses = contracted(
                &Sampled::new(&*pair, step, CUTS, &mut Effort::for_precision(1e-4))
                    .expect("few points"),
            );
            for x in [-0.1, 0.0, 0.013, 0.1] {
                let apart = pair.at(x).delta.estimate() - delta_of(&masses, step, x).estimate();
                assert!(apart < step * step, "{pair:?} at {x}: {apart:e}");
            }
        }
    }

    /// With losses saturated: nowhere above the saturated pair, and with what is infinite merged
    /// into the first side again nowhere above the pair itself.
    #[test]
    fn saturated_delta_is_nowhere_above() {
        let mut checked = 0;
        for (pair, step) in examples() {
            for share in [0.2, 0.5, 0.9] {
                let top = share * pair.greatest_loss().min(2.0);
                let cuts = Cuts { top, ..CUTS };
                let sampled = Sampled::new(&*pair, step, cuts, &mut Effort::for_precision(1e-4))
                    .expect("few points");
                let masses = contracted(&sampled);
                if !sampled.is_saturated() || masses.saturated == 0.0 {
                    continue;
                }
                checked += 1;
                let end =
                    masses.offset + (masses.first + masses.masses.len() as i64 - 1) as f64 * step;
                assert!(
                    end <= sampled.last() as f64 * step && end > top - 2.0 * step,
                    "{pair:?}: {end} {top}"
                );
                let last = masses.masses[masses.masses.len() - 1];
                let merged = |x: f64| {
                    masses.infinite - masses.saturated + last + masses.saturated
                        - (x - end).exp() * last
                };
                for i in 0..200 {
                    let x = end * (f64::from(i) * 0.02 - 1.0);
                    let most = pair.at(x.min(end)).delta.upper();
                    assert!(delta_of(&masses, step, x).lower() <= most, "{pair:?} {share} at {x}");
                    assert!(
                        x < end || merged(x) <= pair.at(x).delta.upper() + 1e-15,
                        "{pair:?} {share} at {x}"
                    );
                }
                // Saturated a step lower, something would be lost; a step higher, too much claimed.
                let wrong = Masses { first: masses.first + 1, ..masses };
                assert!(violations(&wrong, &*pair, step) > 0, "{pair:?}");
            }
        }
        assert!(checked >= 10, "{checked}");
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
