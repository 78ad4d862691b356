//! Where a monotone function crosses zero, decided by certified signs only.
//!
//! Every search here looks for a *boundary*: the place where a statement about `x` ("the loss at this
//! scale is proved to be at most ε") changes from not proved to proved. Estimates steer the search,
//! proofs alone decide it: each number that is returned is one at which the function has been
//! evaluated and the statement has been found proved. A function that turns out not to be monotone
//! can therefore make a result less sharp, never wrong.
//!
//! # Method
//! The numbers of the range are counted in order, so that neighbouring `f64` have neighbouring
//! integers (*keys*), subnormals included. A bracket of two keys is narrowed by inverse interpolation
//! through up to four recent points (Alefeld, Potra, Shi, *Algorithm 748: enclosing zeros of
//! continuous functions*, ACM TOMS 21, 1995), in `ln x` while the bracket spans a factor of two. The
//! probe is moved past the interpolated crossing by the expected error of that crossing, so that both
//! ends of the bracket close in. When interpolation does not pay, keys are bisected. A smooth function
//! takes 8 to 16 evaluations from a range of a few orders of magnitude down to neighbouring `f64`;
//! a statement without estimates takes at most 66, and the safeguard keeps any boundary below 500.

use crate::Bounds;
use std::fmt;
use thiserror::Error;

/// Why a search has no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RootError {
    /// The ends are in the wrong order, or one of them or the guess is a NaN.
    #[error("the search range from {lower:e} to {upper:e} holds no number to try")]
    EmptyRange {
        /// The lower end that was asked for.
        lower: f64,
        /// The upper end that was asked for.
        upper: f64,
    },
    /// The function is proved to have one and the same sign at both ends.
    #[error(
        "the function has the same sign at both ends of the range from {lower:e} to {upper:e}, so it has no root to find there"
    )]
    NoSignChange {
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
    /// The signs at the two ends are those of a function that runs the other way.
    #[error("the function was announced as {direction}, and its signs at {lower:e} and {upper:e} contradict that")]
    WrongDirection {
        /// The direction that was announced.
        direction: Direction,
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
    /// A sign is missing: no evaluation on one side of the crossing was sharp enough to prove it.
    #[error("the evaluations between {lower:e} and {upper:e} are too wide to prove a change of sign")]
    Indeterminate {
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
    /// The statement was proved nowhere that the search looked, the far end of the range included.
    #[error("the condition is proved nowhere between {lower:e} and {upper:e}")]
    NeverProved {
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
}

/// Which way a function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `f(x) <= f(y)` for `x <= y`.
    Increasing,
    /// `f(x) >= f(y)` for `x <= y`.
    Decreasing,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Increasing => "increasing",
            Direction::Decreasing => "decreasing",
        })
    }
}

/// Where to search, from where, and how finely.
///
/// An infinite end stands for the largest finite number on that side. A range with an infinite end is
/// searched outward from a guess, by factors of 2, 4, 16, ...; the guess is 1 unless
/// [`Range::bracket_from`] gives a better one. Otherwise the search begins with the two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    lower: f64,
    upper: f64,
    guess: Option<f64>,
    relative_tolerance: f64,
}

impl Range {
    /// All finite numbers.
    pub const EVERYWHERE: Range = Range::between(f64::NEG_INFINITY, f64::INFINITY);

    /// All positive finite numbers.
    pub const POSITIVE: Range = Range::between(f64::from_bits(1), f64::INFINITY);

    /// From `lower` to `upper`, both included. A NaN or a wrong order is reported by the search.
    pub const fn between(lower: f64, upper: f64) -> Self {
        Range { lower, upper, guess: None, relative_tolerance: 0.0 }
    }

    /// Begins at `guess`, which is moved into the range if it lies outside, and expands from there.
    /// The ends of the range are evaluated only if the expansion arrives at them.
    pub const fn bracket_from(self, guess: f64) -> Self {
        Range { guess: Some(guess), ..self }
    }

    /// Lets the search stop once the proved number is within this relative distance of one that is
    /// not proved. The default is zero: on to neighbouring `f64`.
    pub const fn to_within(self, relative_tolerance: f64) -> Self {
        Range { relative_tolerance, ..self }
    }

    fn mirrored(self) -> Self {
        Range { lower: -self.upper, upper: -self.lower, guess: self.guess.map(|guess| -guess), ..self }
    }

    fn resolve(self) -> Result<Resolved, RootError> {
        let empty = RootError::EmptyRange { lower: self.lower, upper: self.upper };
        let unbounded = self.lower == f64::NEG_INFINITY || self.upper == f64::INFINITY;
        let lower = self.lower.max(-f64::MAX);
        let upper = self.upper.min(f64::MAX);
        // `max` and `min` drop a NaN, so the fields themselves are compared.
        if !(self.lower <= self.upper && lower <= upper) {
            return Err(empty);
        }
        let guess = match self.guess {
            Some(guess) if guess.is_nan() => return Err(empty),
            Some(guess) => Some(guess.clamp(lower, upper)),
            None if unbounded => Some(1f64.clamp(lower, upper)),
            None => None,
        };
        // One key is a relative step of at most 2^-52 (and an absolute one among the subnormals).
        // `max` takes a NaN to the finest resolution.
        let resolution = (self.relative_tolerance * 2f64.powi(52)).max(1.0) as u64;
        Ok(Resolved { lower: key(lower), upper: key(upper), guess: guess.map(key), resolution })
    }
}

/// An enclosure of the root of a monotone function.
///
/// # Contract
/// `f` returns enclosures of a function that runs in `direction`. Take it as increasing: the lower
/// bound of the result is then the greatest number found at which `f <= 0` is proved, the upper bound
/// the least one at which `f >= 0` is proved; both have been evaluated. A root (for a step: the jump)
/// lies between them. They are as near to each other as the width of the evaluations allows, down to
/// neighbouring `f64`, or one single number where `f` is proved to be exactly zero. Where `f` is
/// proved to be zero on a whole stretch, the result is that stretch.
///
/// If `f` is not monotone, each bound still has its proved sign.
///
/// # Errors
/// See [`RootError`]. A root so near to an end of the range that the sign at this end is not proved
/// is [`RootError::Indeterminate`]: a somewhat larger range helps.
///
/// # Example
/// ```
/// use reticent_numerics::root::{Direction, Range, monotone_root};
/// use reticent_numerics::{Bounds, Enclosure};
/// let two = Bounds::exact(2.0);
/// let root = monotone_root(|x| Bounds::exact(x).square() - two, Range::between(1.0, 2.0), Direction::Increasing)?;
/// assert_eq!(root.lower().next_up(), root.upper());
/// assert!(root.contains(2f64.sqrt()));
/// # Ok::<(), reticent_numerics::root::RootError>(())
/// ```
pub fn monotone_root(
    mut f: impl FnMut(f64) -> Bounds,
    range: Range,
    direction: Direction,
) -> Result<Bounds, RootError> {
    let resolved = range.resolve()?;
    let mut seen: Vec<(i64, Bounds)> = Vec::with_capacity(32);
    let mut evaluate = |key: i64, seen: &mut Vec<(i64, Bounds)>| {
        let value = match direction {
            Direction::Increasing => f(number(key)),
            Direction::Decreasing => -f(number(key)),
        };
        seen.push((key, value));
        value
    };
    // The two statements whose boundaries enclose the root: "not proved to be at most zero" and
    // "proved to be at least zero". Both hold from some point on.
    let above = |value: Bounds| Guide { holds: value.upper() > 0.0, height: value.upper() };
    let beyond = |value: Bounds| Guide { holds: value.lower() >= 0.0, height: value.lower() };

    let mut inner = resolved;
    let mut left = inner.boundary(&[], |key| above(evaluate(key, &mut seen)));
    // Near the edge of a formula's domain nothing may be provable, although farther in it is.
    if left.0.is_none()
        && undecided(&seen, inner.lower)
        && let Some(place) = inner.walk_in(inner.lower, |key| !above(evaluate(key, &mut seen)).holds)
    {
        inner.lower = place;
        seen.retain(|&(key, _)| key >= place);
        left = inner.boundary(&points(&seen, above), |key| above(evaluate(key, &mut seen)));
    }
    let mut right = inner.boundary(&points(&seen, beyond), |key| beyond(evaluate(key, &mut seen)));
    if right.1.is_none()
        && undecided(&seen, inner.upper)
        && let Some(place) = inner.walk_in(inner.upper, |key| beyond(evaluate(key, &mut seen)).holds)
    {
        inner.upper = place;
        seen.retain(|&(key, _)| key <= place);
        right = inner.boundary(&points(&seen, beyond), |key| beyond(evaluate(key, &mut seen)));
    }
    if let (Some(left), Some(right)) = (left.0, right.1) {
        // In reverse order both are proved to be zero, if `f` is monotone.
        return Ok(Bounds::new(number(left.min(right)), number(left.max(right))));
    }
    let (lower, upper) = (number(resolved.lower), number(resolved.upper));
    let (at_lower, at_upper) = (evaluate(resolved.lower, &mut seen), evaluate(resolved.upper, &mut seen));
    Err(if (at_lower.lower() > 0.0 && at_upper.lower() > 0.0) || (at_lower.upper() < 0.0 && at_upper.upper() < 0.0) {
        RootError::NoSignChange { lower, upper }
    } else if at_lower.lower() > 0.0 && at_upper.upper() < 0.0 {
        RootError::WrongDirection { direction, lower, upper }
    } else {
        RootError::Indeterminate { lower, upper }
    })
}

/// Whether the sign at an evaluated place is open.
fn undecided(seen: &[(i64, Bounds)], place: i64) -> bool {
    seen.iter().any(|&(key, value)| key == place && value.contains(0.0))
}

/// The least number at which a statement is proved, for a statement that is true from some point on:
/// "the least scale that is safe".
///
/// # Contract
/// The result is one at which `proved` has returned true. The number tried next below it, at the
/// resolution of the range, returned false, unless the result is the lower end of the range.
/// `proved` gives no estimate to steer by, so this bisects: up to 64 calls for neighbouring `f64`.
/// Use [`least_at_most`] where there is a figure to compare.
///
/// # Errors
/// [`RootError::NeverProved`] where the upper end is not proved, [`RootError::EmptyRange`].
pub fn least_where(mut proved: impl FnMut(f64) -> bool, range: Range) -> Result<f64, RootError> {
    least(range, |x| Guide { holds: proved(x), height: f64::NAN })
}

/// The greatest number at which a statement is proved, for a statement that is true up to some point;
/// the mirror of [`least_where`].
///
/// # Errors
/// As for [`least_where`].
pub fn greatest_where(mut proved: impl FnMut(f64) -> bool, range: Range) -> Result<f64, RootError> {
    least_where(|x| proved(-x), range.mirrored()).map(|x| -x).map_err(RootError::mirrored)
}

/// The least `x` at which `f(x) <= limit` is proved, for a decreasing `f`: the least scale of noise
/// whose loss is within the budget.
///
/// # Contract
/// The result is one at which `f` has been evaluated with an upper bound of at most `limit`; at the
/// number tried next below, the upper bound was larger, unless the result is the lower end of the
/// range. The search is steered by `ln(upper/limit)` where both are positive, so figures that fall
/// over hundreds of orders of magnitude are no obstacle.
///
/// # Errors
/// [`RootError::NeverProved`] where the upper end is not proved, [`RootError::EmptyRange`].
pub fn least_at_most(mut f: impl FnMut(f64) -> Bounds, limit: f64, range: Range) -> Result<f64, RootError> {
    least(range, |x| {
        let upper = f(x).upper();
        Guide { holds: upper <= limit, height: -excess(upper, limit) }
    })
}

/// The greatest `x` at which `f(x) <= limit` is proved, for an increasing `f`: the longest composition
/// that a budget allows; the mirror of [`least_at_most`].
///
/// # Errors
/// As for [`least_at_most`].
pub fn greatest_at_most(mut f: impl FnMut(f64) -> Bounds, limit: f64, range: Range) -> Result<f64, RootError> {
    least_at_most(|x| f(-x), limit, range.mirrored()).map(|x| -x).map_err(RootError::mirrored)
}

impl RootError {
    /// The error of a mirrored search, told in the caller's numbers.
    fn mirrored(self) -> Self {
        match self {
            RootError::EmptyRange { lower, upper } => RootError::EmptyRange { lower: -upper, upper: -lower },
            RootError::NeverProved { lower, upper } => RootError::NeverProved { lower: -upper, upper: -lower },
            signs => signs,
        }
    }
}

fn least(range: Range, mut guide: impl FnMut(f64) -> Guide) -> Result<f64, RootError> {
    let resolved = range.resolve()?;
    let (_, proved) = resolved.boundary(&[], |key| guide(number(key)));
    let never = RootError::NeverProved { lower: number(resolved.lower), upper: number(resolved.upper) };
    proved.map(number).ok_or(never)
}

/// How far `value` is above `limit`, on a logarithmic scale where there is one. Steers only.
fn excess(value: f64, limit: f64) -> f64 {
    if limit > 0.0 {
        // A figure that has underflowed is taken as the least positive number.
        value.max(f64::from_bits(1)).ln() - limit.ln()
    } else {
        value - limit
    }
}

/// The place of `x` in the order of all `f64`; both zeros have the key 0.
fn key(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The number at a place.
fn number(key: i64) -> f64 {
    f64::from_bits(if key < 0 { i64::MIN.wrapping_sub(key) } else { key } as u64)
}

/// What one evaluation tells a search.
#[derive(Clone, Copy, Debug)]
struct Guide {
    /// Whether the statement is proved here.
    holds: bool,
    /// An increasing figure that passes zero near the boundary; a NaN if there is none.
    height: f64,
}

/// An evaluated place.
#[derive(Clone, Copy, Debug)]
struct Point {
    key: i64,
    guide: Guide,
}

fn points(seen: &[(i64, Bounds)], guide: impl Fn(Bounds) -> Guide) -> Vec<Point> {
    seen.iter().map(|&(key, value)| Point { key, guide: guide(value) }).collect()
}

/// A range as keys.
#[derive(Clone, Copy, Debug)]
struct Resolved {
    lower: i64,
    upper: i64,
    guess: Option<i64>,
    /// The distance in keys at which a bracket is narrow enough.
    resolution: u64,
}

impl Resolved {
    /// The last key found where the statement does not hold, and the first where it does. A missing
    /// side means that the whole range, as far as it was tried, lies on the other.
    fn boundary(&self, seen: &[Point], mut probe: impl FnMut(i64) -> Guide) -> (Option<i64>, Option<i64>) {
        let mut at = |key: i64| Point { key, guide: probe(key) };
        let mut after = seen.iter().filter(|point| point.guide.holds).min_by_key(|point| point.key).copied();
        let limit = after.map_or(i64::MAX, |point| point.key);
        let mut before =
            seen.iter().filter(|point| !point.guide.holds && point.key < limit).max_by_key(|point| point.key).copied();
        if before.is_none() && after.is_none() {
            let first = at(self.guess.unwrap_or(self.lower));
            *if first.guide.holds { &mut after } else { &mut before } = Some(first);
        }
        let mut recent = Recent::default();
        let factor_of_two = 1i64 << 52;
        let mut stride = if self.guess.is_some() { factor_of_two } else { i64::MAX };
        let (before, after) = loop {
            let next = match (before, after) {
                (Some(before), Some(after)) => break (before, after),
                (None, Some(after)) if after.key > self.lower => at(after.key.saturating_sub(stride).max(self.lower)),
                (Some(before), None) if before.key < self.upper => {
                    at(before.key.saturating_add(stride).min(self.upper))
                }
                _ => return (before.map(|point| point.key), after.map(|point| point.key)),
            };
            let side = if next.guide.holds { &mut after } else { &mut before };
            if let Some(left_behind) = side.replace(next) {
                recent.push(left_behind);
            }
            stride = stride.saturating_mul(2);
        };
        for &point in seen.iter().filter(|point| point.key != before.key && point.key != after.key) {
            recent.push(point);
        }
        let bracket = Bracket { before, after, recent }.narrow(self.resolution, at);
        (Some(bracket.before.key), Some(bracket.after.key))
    }

    /// Tries places ever farther in from one end; the first that is `good`.
    fn walk_in(&self, end: i64, mut good: impl FnMut(i64) -> bool) -> Option<i64> {
        let span = self.lower.abs_diff(self.upper);
        let places = (2..=62).rev().step_by(4).map(|halvings| (span >> halvings) as i64).filter(|offset| *offset > 0);
        places.map(|offset| if end == self.lower { end + offset } else { end - offset }).find(|place| good(*place))
    }
}

/// The two points that left the bracket last.
#[derive(Clone, Copy, Debug, Default)]
struct Recent([Option<Point>; 2]);

impl Recent {
    fn push(&mut self, point: Point) {
        self.0 = [Some(point), self.0[0]];
    }
}

/// Two places between which the statement begins to hold.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    before: Point,
    after: Point,
    recent: Recent,
}

impl Bracket {
    /// Probes that fail to halve the bracket, before it is bisected.
    const PATIENCE: u32 = 3;

    fn width(&self) -> u64 {
        self.before.key.abs_diff(self.after.key)
    }

    fn narrow(mut self, resolution: u64, mut at: impl FnMut(i64) -> Point) -> Self {
        let (mut stalled, mut one_sided, mut bisections) = (0, 0, 0);
        let mut last_side = None;
        while self.width() > resolution {
            let width = self.width();
            let interpolated = if stalled < Self::PATIENCE { self.crossing() } else { None };
            let place = match interpolated {
                Some(crossing) => self.past(crossing, one_sided),
                None => {
                    stalled = 0;
                    bisections += 1;
                    self.middle(bisections)
                }
            };
            let point = at(place);
            let side = if point.guide.holds { &mut self.after } else { &mut self.before };
            let left_behind = std::mem::replace(side, point);
            self.recent.push(left_behind);
            one_sided = if last_side == Some(point.guide.holds) { one_sided + 1 } else { 0 };
            last_side = Some(point.guide.holds);
            stalled = if self.width() > width / 2 { stalled + 1 } else { 0 };
        }
        self
    }

    /// The middle in keys, which is that of the exponents. Half of all keys between zero and one belong
    /// to numbers below `1e-150`, so a bracket of very different numbers is split in the middle of the
    /// numbers every other time. A statement without heights is taken to be about a scale, and is not.
    fn middle(&self, turn: u32) -> i64 {
        let (low, high) = (number(self.before.key), number(self.after.key));
        let very_different = (low <= 0.0 && high >= 0.0) || high / low > 1024.0 || low / high > 1024.0;
        let of_numbers = key(0.5 * low + 0.5 * high);
        let inside = self.before.key < of_numbers && of_numbers < self.after.key;
        if very_different && inside && turn % 2 == 1 && !self.before.guide.height.is_nan() {
            of_numbers
        } else {
            self.before.key + (self.width() / 2) as i64
        }
    }

    /// The place to probe: past the expected crossing, seen from the nearer end of the bracket, by the
    /// error of the expectation. The probe is then on the other side and still close. Each probe that
    /// was not far enough makes the next go four times as far.
    fn past(&self, crossing: Crossing, one_sided: u32) -> i64 {
        let from_before = self.before.key.abs_diff(crossing.place);
        let from_after = self.after.key.abs_diff(crossing.place);
        let step = from_before.min(from_after);
        let gallop = 1u64 << (2 * one_sided.min(20));
        let farther = step.saturating_add(crossing.error.saturating_mul(gallop).max(gallop / 2));
        // Beyond the middle the crossing itself is as good a probe.
        let taken = if farther > self.width() / 2 { step } else { farther } as i64;
        if from_before <= from_after { self.before.key + taken } else { self.after.key - taken }
    }

    /// Where the heights are expected to pass zero, strictly inside the bracket: inverse interpolation
    /// in Newton's form through the ends and the recent points, with as many points as have distinct
    /// heights in the right order.
    fn crossing(&self) -> Option<Crossing> {
        let (low, high) = (self.before, self.after);
        let (low_height, high_height) = (low.guide.height, high.guide.height);
        if !(low_height.is_finite() && high_height.is_finite() && low_height < high_height) {
            return None;
        }
        let (low_x, high_x) = (number(low.key), number(high.key));
        let logarithmic = (low_x > 0.0 && high_x > 2.0 * low_x) || (high_x < 0.0 && low_x < 2.0 * high_x);
        let origin = if low_height.abs() < high_height.abs() { low } else { high };
        let origin_x = number(origin.key);
        let coordinate = |point: Point| {
            let x = number(point.key);
            if logarithmic { x.abs().ln() - origin_x.abs().ln() } else { x - origin_x }
        };
        let place = |coordinate: f64| {
            let x = if logarithmic { origin_x * coordinate.exp() } else { origin_x + coordinate };
            let place = key(x);
            (x.is_finite() && low.key <= place && place <= high.key)
                .then(|| place.clamp(low.key.saturating_add(1), high.key.saturating_sub(1)))
        };

        let other = if origin.key == low.key { high } else { low };
        let mut nodes = [(0.0, 0.0); 4];
        nodes[0] = (0.0, origin.guide.height);
        nodes[1] = (coordinate(other), other.guide.height);
        let mut count = 2;
        for point in self.recent.0.into_iter().flatten() {
            let node = (coordinate(point), point.guide.height);
            let in_order = nodes[..count].iter().all(|earlier| (node.0 - earlier.0) * (node.1 - earlier.1) > 0.0);
            if in_order
                && node.0.is_finite()
                && node.1.is_finite()
                && (!logarithmic || number(point.key) * origin_x > 0.0)
            {
                nodes[count] = node;
                count += 1;
            }
        }
        let (used, found) = (2..=count)
            .rev()
            .find_map(|used| place(inverse_interpolation_at_zero(&nodes[..used])).map(|found| (used, found)))?;
        // What one point fewer would have said differs by about the error of that.
        let coarser = if used > 2 { place(inverse_interpolation_at_zero(&nodes[..used - 1])) } else { None };
        Some(Crossing { place: found, error: coarser.map_or(0, |coarser| coarser.abs_diff(found) / 4) })
    }
}

/// Where an interpolation expects the boundary, and how far off it may be, in keys.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    place: i64,
    error: u64,
}

/// The polynomial through `(coordinate, height)` pairs, as a function of height, at height zero.
fn inverse_interpolation_at_zero(nodes: &[(f64, f64)]) -> f64 {
    let mut differences = [0.0; 4];
    for (difference, node) in differences.iter_mut().zip(nodes) {
        *difference = node.0;
    }
    for order in 1..nodes.len() {
        for index in (order..nodes.len()).rev() {
            differences[index] =
                (differences[index] - differences[index - 1]) / (nodes[index].1 - nodes[index - order].1);
        }
    }
    let last = nodes.len() - 1;
    (0..last).rev().fold(differences[last], |value, index| value * -nodes[index].1 + differences[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_every_number_in_order() {
        for x in [0.0, 5e-324, 1.0, 1e300, f64::MAX, -5e-324, -1.0, -f64::MAX] {
            assert_eq!(number(key(x)), x);
            assert_eq!(number(key(x) - 1), x.next_down());
        }
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn interpolation_reproduces_the_inverse_of_a_cubic() {
        // x = y^3 + 2y + 5, so the crossing y = 0 is at x = 5.
        let node = |y: f64| (y * y * y + 2.0 * y + 5.0, y);
        let value = inverse_interpolation_at_zero(&[node(-1.0), node(2.0), node(3.0), node(0.5)]);
        assert!((value - 5.0).abs() < 1e-12, "{value}");
    }
}
