//! Compositions in which a single large loss decides.

use super::Question;
use super::curve::{Curve, Side, infinite};
use super::effort::Effort;
use super::frame::{Frame, offset};
use super::grid::Masses;
use super::sketch::Sketches;
use realfft::RealFftPlanner;
use reticent_numerics::{Bounds, Enclosure, nearest, sum_bounds};

/// A composition, split at a loss: with bodies `B_i` up to it and tails `T_i` beyond,
///
/// `delta = delta(all bodies) + sum_i k_i delta(T_i once, all other bodies) + R`,
/// `0 <= R <= (sum_i k_i tau_i)^2 / 2`,
///
/// where `tau_i` is the mass of `T_i` and `R` is what has two large losses or more.
///
/// From above each part is bounded from above, and `R` by Bonferroni's inequality; from below each
/// part is bounded from below and `R` left out. Why, and how: docs/proofs/one_large_loss.md.
#[derive(Debug)]
pub(super) struct OneLarge<'a> {
    /// All releases on one grid, with counts.
    terms: &'a [(Masses, u64)],
    step: f64,
    side: Side,
}

/// At most this many kinds of release may have large losses.
const MOST_KINDS: usize = 16;

/// The most tilts that curves are made for.
const MOST_TILTS: usize = 7;

/// The mass at and beyond each position of a distribution, rounded up by far more than it can be
/// off.
fn beyond(masses: &Masses) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums: Vec<f64> = masses
        .masses
        .iter()
        .rev()
        .map(|mass| {
            sum += mass;
            sum * (1.0 + 1e-8)
        })
        .collect();
    sums.reverse();
    sums
}

/// The least loss beyond which the expected number of losses is at most `most`.
pub(super) fn split_at(terms: &[(Masses, u64)], step: f64, most: f64) -> f64 {
    let sums: Vec<Vec<f64>> = terms.iter().map(|(masses, _)| beyond(masses)).collect();
    let expected = |loss: f64| -> f64 {
        let one = |((masses, times), sums): (&(Masses, u64), &Vec<f64>)| {
            *times as f64 * sums.get(place_after(masses, step, loss)).copied().unwrap_or(0.0)
        };
        terms.iter().zip(&sums).map(one).sum()
    };
    let greatest =
        terms.iter().map(|(masses, _)| (masses.first + masses.masses.len() as i64) as f64 * step);
    let (mut low, mut high) = (0.0, greatest.fold(0.0, f64::max) + step);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if expected(middle) > most { low = middle } else { high = middle }
    }
    high
}

/// The first position of a loss above this one.
fn place_after(masses: &Masses, step: f64, loss: f64) -> usize {
    let position = ((loss - masses.offset) / step).floor() - masses.first as f64 + 1.0;
    position.clamp(0.0, masses.masses.len() as f64) as usize
}

/// `delta` of a sum at a range of indices, on one side.
struct Profile {
    first: i64,
    values: Vec<f64>,
}

impl Profile {
    /// On the side of the bound outside the range too.
    fn at(&self, index: i64, side: Side) -> f64 {
        let position = index - self.first;
        match usize::try_from(position) {
            Err(_) if side == Side::Upper => 1.0,
            Err(_) => self.values.first().copied().unwrap_or(0.0),
            Ok(position) => match (self.values.get(position), side) {
                (Some(&value), _) => value,
                (None, Side::Upper) => self.values.last().copied().unwrap_or(1.0),
                (None, Side::Lower) => 0.0,
            },
        }
    }
}

impl<'a> OneLarge<'a> {
    pub(super) fn new(terms: &'a [(Masses, u64)], step: f64, side: Side) -> Self {
        OneLarge { terms, step, side }
    }

    /// The bound on this side, from a split at a loss, if the answer to a question about `epsilon`
    /// lies in `range`. `None` if nothing is found.
    pub(super) fn bound(
        &self,
        question: Question,
        loss: f64,
        range: (f64, f64),
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Option<f64> {
        let whole: Bounds = offset(self.terms);
        let index = |x: f64| ((x - whole.estimate()) / self.step).floor();
        let (low, high) = (index(range.0) - 2.0, index(range.1) + 2.0);
        if [low, high].iter().any(|end| end.is_nan() || end.abs() >= 1e12) {
            return None;
        }
        let (low, high) = (low as i64, high as i64);
        let bodies: Vec<(Masses, u64)> = self
            .terms
            .iter()
            .map(|(masses, times)| {
                let mut body = masses.masses.clone();
                body.truncate(place_after(masses, self.step, loss));
                (
                    Masses {
                        first: masses.first,
                        offset: 0.0,
                        masses: body,
                        infinite: 0.0,
                        saturated: 0.0,
                    },
                    *times,
                )
            })
            .collect();
        if bodies.iter().any(|(body, _)| body.masses.is_empty()) {
            return None;
        }
        let tails: Vec<(usize, i64, &[f64])> = self
            .terms
            .iter()
            .zip(&bodies)
            .enumerate()
            .filter_map(|(i, ((masses, _), (body, _)))| {
                let cut = body.masses.len();
                let tail = &masses.masses[cut..];
                tail.iter().any(|mass| *mass > 0.0).then_some((i, masses.first + cut as i64, tail))
            })
            .collect();
        if tails.len() > MOST_KINDS {
            return None;
        }
        let all = self.profile(&bodies, (low, high), effort, transforms)?;
        let mut jumps = Vec::new();
        for &(i, first, tail) in &tails {
            let mut others = bodies.clone();
            others[i].1 -= 1;
            others.retain(|(_, times)| *times > 0);
            let last = first + tail.len() as i64 - 1;
            let rest = if others.is_empty() {
                nothing()
            } else {
                self.profile(&others, (low - last, high - first), effort, transforms)?
            };
            jumps.push((self.terms[i].1 as f64, first, tail, rest));
        }
        let infinite = infinite(self.terms, self.side);
        // A curve from above never says more than 1.
        let (extra, factor) = match self.side {
            Side::Upper => (self.several(loss) + infinite, self.total()),
            Side::Lower => (infinite, 1.0),
        };
        let rounding = |count: usize| 4.0 * f64::EPSILON * (count as f64 + 8.0);
        let sign = if self.side == Side::Upper { 1.0 } else { -1.0 };
        let delta = |index: i64| {
            let mut sum = all.at(index, self.side);
            for (times, first, tail, rest) in &jumps {
                let products =
                    tail.iter().zip(*first..).map(|(mass, l)| mass * rest.at(index - l, self.side));
                sum += times * products.sum::<f64>() * (1.0 + sign * rounding(tail.len()));
            }
            ((sum + extra) * factor * (1.0 + sign * rounding(self.terms.len()))).clamp(0.0, 1.0)
        };
        let at = |index: i64| whole + Bounds::exact(index as f64) * Bounds::exact(self.step);
        // e^x between two grid points runs from e^a to e^a (1 + (e^h - 1)).
        let widening = Bounds::exact(self.step).exp_m1();
        match question {
            Question::Epsilon { at_delta } => {
                let (mut above, mut below) = (low, high);
                if delta(above) <= at_delta || delta(below) > at_delta {
                    return None;
                }
                while below - above > 1 {
                    let middle = above + (below - above) / 2;
                    if delta(middle) > at_delta { above = middle } else { below = middle }
                }
                let (most, least) = (Bounds::exact(delta(above)), Bounds::exact(delta(below)));
                let share = ((most - Bounds::exact(at_delta)) / (most - least)).clamp(0.0, 1.0);
                let epsilon = at(above) + (share * widening).ln_1p();
                Some(match self.side {
                    Side::Upper => epsilon.upper().min(at(below).upper()),
                    Side::Lower => epsilon.lower().max(at(above).lower()),
                })
            }
            Question::Delta { at_epsilon } => {
                let position =
                    (low..=high).rev().find(|&position| at(position).upper() <= at_epsilon)?;
                let (most, least) =
                    (Bounds::exact(delta(position)), Bounds::exact(delta(position + 1)));
                let along = (Bounds::exact(at_epsilon) - at(position)).exp_m1();
                let share = (along / widening).clamp(0.0, 1.0);
                let delta = most - share * (most - least);
                Some(if self.side == Side::Upper { delta.upper() } else { delta.lower() })
            }
        }
    }

    /// An upper bound on the mass of two losses beyond the split or more.
    fn several(&self, loss: f64) -> f64 {
        let one = |(masses, times): &(Masses, u64)| {
            *times as f64
                * beyond(masses).get(place_after(masses, self.step, loss)).copied().unwrap_or(0.0)
        };
        let expected: f64 = self.terms.iter().map(one).sum();
        0.5 * expected * expected * (1.0 + 1e-8)
    }

    /// At least the finite mass of all losses together: masses that were rounded up may exceed 1.
    fn total(&self) -> f64 {
        let log = |(masses, times): &(Masses, u64)| {
            let total = sum_bounds(masses.masses.iter().map(|&mass| Bounds::exact(mass)));
            Bounds::exact(*times as f64) * Bounds::exact(total.ln().upper().max(0.0))
        };
        self.terms.iter().map(log).fold(Bounds::ZERO, |sum, one| sum + one).exp().upper()
    }

    /// The best of several curves of a sum of bodies, at the indices of a range.
    fn profile(
        &self,
        bodies: &[(Masses, u64)],
        (low, high): (i64, i64),
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Option<Profile> {
        /// What is outside of a frame, as a logarithm of the share of the tilted sum.
        const OUTSIDE: f64 = -40.0;
        if !effort.spend((high - low) as f64) {
            return None;
        }
        let sketches = Sketches::of_masses(bodies, self.step);
        let deviation = sketches.cumulants(0.0).variance.sqrt();
        let furthest = sketches.tilt_for_loss(high as f64 * self.step);
        let rising = (0..MOST_TILTS as i32 - 2)
            .map(|n| nearest::pow(2.5, f64::from(n)) / deviation)
            .take_while(|tilt| *tilt < furthest);
        let tilts: Vec<f64> =
            std::iter::once(0.0).chain(rising).chain(std::iter::once(furthest)).collect();
        let empty = if self.side == Side::Upper { 1.0 } else { 0.0 };
        let mut profile = Profile { first: low, values: vec![empty; (high - low + 1) as usize] };
        for tilt in tilts {
            let [(left, below), (right, above)] = sketches.window(tilt, OUTSIDE, 0.0);
            let (left, right) =
                ((left / self.step).floor() - 8.0, (right / self.step).ceil() + 8.0);
            if [left, right].iter().any(|end| end.is_nan() || end.abs() >= 1e12) {
                continue;
            }
            // Far below the losses of the bodies delta is known from the untilted ones.
            let first = if tilt == 0.0 { (left as i64).min(low) } else { left as i64 };
            let size = (right as i64 - first + 1).max(64) as usize;
            if size as f64 > 2.0 * effort.most_points() {
                continue;
            }
            let size = size.next_power_of_two();
            // Of many kinds most are transformed at a few frequencies only.
            if !effort.spend((bodies.len().min(3) as f64 + 1.0) * size as f64) {
                break;
            }
            let frame = Frame { step: self.step, first, size, tilt, below, above, falling: 0.0 };
            let Ok(curve) = Curve::new(bodies, frame, self.side, transforms) else { continue };
            for (value, index) in profile.values.iter_mut().zip(low..) {
                if let Some(found) = curve.delta_at_index(index) {
                    *value =
                        if self.side == Side::Upper { value.min(found) } else { value.max(found) };
                }
            }
        }
        Some(profile)
    }
}

/// `delta` of a sum of no losses: `max(0, 1 - e^x)`, of which no more is said than that it falls
/// from 1 to 0 here.
fn nothing() -> Profile {
    Profile { first: 0, values: vec![0.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses with a tail that falls as a power: 1000 steps of a hundredth, an offset, and
    /// something at infinity.
    fn heavy() -> Masses {
        let mut masses: Vec<f64> =
            (0..1000).map(|j| 1e-3 * (1.0 + f64::from(j)).powi(-7)).collect();
        masses[1] = 1.0 - 1e-20 - masses.iter().sum::<f64>();
        Masses { first: -1, offset: 0.004, masses, infinite: 1e-20, saturated: 0.0 }
    }

    /// The sum of `times` of them by direct convolution: products and sums of positive numbers
    /// only.
    fn slowly(masses: &Masses, times: u64, x: f64) -> f64 {
        let mut sum = vec![1.0];
        for _ in 0..times {
            let mut next = vec![0.0; (sum.len() + masses.masses.len() - 1).min(1400)];
            for (i, a) in sum.iter().enumerate() {
                for (position, b) in next[i..].iter_mut().zip(&masses.masses) {
                    *position += a * b;
                }
            }
            sum = next;
        }
        let loss = |i: usize| (i as f64 - times as f64) * 0.01 + times as f64 * masses.offset;
        let finite: f64 =
            sum.iter().enumerate().map(|(i, mass)| mass * -(x - loss(i)).min(0.0).exp_m1()).sum();
        finite + times as f64 * masses.infinite
    }

    #[test]
    fn bounds_hold_what_direct_sums_say() {
        let terms = [(heavy(), 40)];
        let mut transforms = RealFftPlanner::new();
        let mut bound = |side, question, split| {
            let mut effort = Effort::for_precision(1e-4);
            OneLarge::new(&terms, 0.01, side).bound(
                question,
                split,
                (3.0, 6.0),
                &mut effort,
                &mut transforms,
            )
        };
        for epsilon in [4.0, 4.303, 5.0] {
            let exact = slowly(&terms[0].0, 40, epsilon);
            let question = Question::Delta { at_epsilon: epsilon };
            // Far below its mass times 1e-16, which is the error of a transform: 1e-17 and less.
            assert!(exact < 1e-16, "{exact:e}");
            let upper = bound(Side::Upper, question, 1.0).expect("above");
            let lower = bound(Side::Lower, question, 1.0).expect("below");
            assert!(
                lower <= exact * (1.0 + 1e-11) && upper >= exact * (1.0 - 1e-11),
                "{lower:e} {exact:e} {upper:e}"
            );
            assert!(upper - lower < 1e-3 * exact, "{lower:e} {exact:e} {upper:e}");
            // Split too early, two large losses are no longer rare; the bounds hold all the same.
            let far_apart = (bound(Side::Lower, question, 0.1), bound(Side::Upper, question, 0.1));
            let (Some(below), Some(above)) = far_apart else { continue };
            assert!(
                below < 0.999_999 * exact && above > 1.000_001 * exact,
                "{below:e} {exact:e} {above:e}"
            );
        }
        let exact = slowly(&terms[0].0, 40, 4.5);
        let question = Question::Epsilon { at_delta: exact };
        let upper = bound(Side::Upper, question, 1.0).expect("above");
        let lower = bound(Side::Lower, question, 1.0).expect("below");
        assert!(lower <= 4.5 && 4.5 <= upper && upper - lower < 1e-3, "{lower} {upper}");
    }

    #[test]
    fn a_split_leaves_as_much_as_was_said() {
        let terms = [(heavy(), 40)];
        let split = split_at(&terms, 0.01, 1e-9);
        let left = |loss: f64| 40.0 * beyond(&terms[0].0)[place_after(&terms[0].0, 0.01, loss)];
        assert!(left(split) <= 1e-9 && left(split - 0.011) > 1e-9, "{split}: {:e}", left(split));
    }
}
