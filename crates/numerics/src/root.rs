//! Where a monotone function crosses zero, decided by certified signs only.
//!
//! Every search here looks for a *boundary*: the point where a statement about `x` ("the loss at
//! this scale is proved to be at most ε") changes from not proved to proved. Estimates steer the
//! search, proofs alone decide it: each number that is returned is one at which the function has
//! been evaluated and the statement has been found proved. A function that turns out not to be
//! monotone can therefore make a result less sharp, never wrong.

mod bracket;

use crate::Bounds;
use bracket::{Guide, Point, Resolved, key, number};
use std::fmt;
use thiserror::Error;

/// Why a search has no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
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
        "the function has the same sign at both ends of the range from {lower:e} to {upper:e}, so \
         it has no root to find there"
    )]
    NoSignChange {
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
    /// The signs at the two ends are those of a function that runs the other way.
    #[error(
        "the function was announced as {direction}, and its signs at {lower:e} and {upper:e} \
         contradict that"
    )]
    WrongDirection {
        /// The direction that was announced.
        direction: Direction,
        /// The lower end of the range.
        lower: f64,
        /// The upper end of the range.
        upper: f64,
    },
    /// A sign is missing: no evaluation on one side of the crossing was sharp enough to prove it.
    #[error(
        "the evaluations between {lower:e} and {upper:e} are too wide to prove a change of sign"
    )]
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
/// An infinite end stands for the largest finite number on that side. A range with an infinite end
/// is searched outward from a guess, by factors of 2, 4, 16, ...; the guess is 1 (or -1) unless
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
        Range {
            lower: -self.upper,
            upper: -self.lower,
            guess: self.guess.map(|guess| -guess),
            ..self
        }
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
            None if unbounded => Some(if upper > 0.0 { 1f64 } else { -1.0 }.clamp(lower, upper)),
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
/// bound of the result is then the greatest number found at which `f <= 0` is proved, the upper
/// bound the least one at which `f >= 0` is proved; both have been evaluated. A root (for a step:
/// the jump) lies between them. They are as near to each other as the width of the evaluations
/// allows, down to neighbouring `f64`, or one single number where `f` is proved to be exactly zero.
/// Where `f` is proved to be zero on a whole stretch, the result is that stretch.
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
/// let square = |x| Bounds::exact(x).square() - two;
/// let root = monotone_root(square, Range::between(1.0, 2.0), Direction::Increasing)?;
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
        && let Some(found) =
            inner.walk_in(inner.lower, |key| !above(evaluate(key, &mut seen)).holds)
    {
        inner.lower = found;
        seen.retain(|&(key, _)| key >= found);
        left = inner.boundary(&points(&seen, above), |key| above(evaluate(key, &mut seen)));
    }
    let mut right = inner.boundary(&points(&seen, beyond), |key| beyond(evaluate(key, &mut seen)));
    if right.1.is_none()
        && undecided(&seen, inner.upper)
        && let Some(found) =
            inner.walk_in(inner.upper, |key| beyond(evaluate(key, &mut seen)).holds)
    {
        inner.upper = found;
        seen.retain(|&(key, _)| key <= found);
        right = inner.boundary(&points(&seen, beyond), |key| beyond(evaluate(key, &mut seen)));
    }
    if let (Some(left), Some(right)) = (left.0, right.1) {
        // In reverse order both are proved to be zero, if `f` is monotone.
        return Ok(Bounds::new(number(left.min(right)), number(left.max(right))));
    }
    let (lower, upper) = (number(resolved.lower), number(resolved.upper));
    let (at_lower, at_upper) =
        (evaluate(resolved.lower, &mut seen), evaluate(resolved.upper, &mut seen));
    Err(
        if (at_lower.lower() > 0.0 && at_upper.lower() > 0.0)
            || (at_lower.upper() < 0.0 && at_upper.upper() < 0.0)
        {
            RootError::NoSignChange { lower, upper }
        } else if at_lower.lower() > 0.0 && at_upper.upper() < 0.0 {
            RootError::WrongDirection { direction, lower, upper }
        } else {
            RootError::Indeterminate { lower, upper }
        },
    )
}

/// Whether the sign at an evaluated key is open.
fn undecided(seen: &[(i64, Bounds)], wanted: i64) -> bool {
    seen.iter().any(|&(key, value)| key == wanted && value.contains(0.0))
}

fn points(seen: &[(i64, Bounds)], guide: impl Fn(Bounds) -> Guide) -> Vec<Point> {
    seen.iter().map(|&(key, value)| Point { key, guide: guide(value) }).collect()
}

/// The least number at which a statement is proved, for a statement that is true from some point
/// on: "the least scale that is safe".
///
/// # Contract
/// The result is one at which `proved` has returned true. The number tried next below it, at the
/// resolution of the range, returned false, unless the result is the lower end of the range.
/// `proved` gives no estimate to steer by, so this bisects: about 64 calls for neighbouring `f64`.
/// Use [`least_at_most`] where there is a figure to compare.
///
/// # Errors
/// [`RootError::NeverProved`] where the upper end is not proved, [`RootError::EmptyRange`].
pub fn least_where(mut proved: impl FnMut(f64) -> bool, range: Range) -> Result<f64, RootError> {
    least(range, |x| Guide { holds: proved(x), height: f64::NAN })
}

/// The greatest number at which a statement is proved, for a statement that is true up to some
/// point; the mirror of [`least_where`].
///
/// # Errors
/// As for [`least_where`].
pub fn greatest_where(mut proved: impl FnMut(f64) -> bool, range: Range) -> Result<f64, RootError> {
    // `0.0 - x` mirrors as `-x` does, and keeps the sign of zero out of it.
    least_where(|x| proved(0.0 - x), range.mirrored()).map(|x| 0.0 - x).map_err(RootError::mirrored)
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
pub fn least_at_most(
    mut f: impl FnMut(f64) -> Bounds,
    limit: f64,
    range: Range,
) -> Result<f64, RootError> {
    least(range, |x| {
        let upper = f(x).upper();
        Guide { holds: upper <= limit, height: -excess(upper, limit) }
    })
}

/// The greatest `x` at which `f(x) <= limit` is proved, for an increasing `f`: the longest
/// composition that a budget allows; the mirror of [`least_at_most`].
///
/// # Errors
/// As for [`least_at_most`].
pub fn greatest_at_most(
    mut f: impl FnMut(f64) -> Bounds,
    limit: f64,
    range: Range,
) -> Result<f64, RootError> {
    least_at_most(|x| f(0.0 - x), limit, range.mirrored())
        .map(|x| 0.0 - x)
        .map_err(RootError::mirrored)
}

impl RootError {
    /// The error of a mirrored search, told in the caller's numbers.
    fn mirrored(self) -> Self {
        match self {
            RootError::EmptyRange { lower, upper } => {
                RootError::EmptyRange { lower: -upper, upper: -lower }
            }
            RootError::NeverProved { lower, upper } => {
                RootError::NeverProved { lower: -upper, upper: -lower }
            }
            signs => signs,
        }
    }
}

fn least(range: Range, mut guide: impl FnMut(f64) -> Guide) -> Result<f64, RootError> {
    let resolved = range.resolve()?;
    let (_, proved) = resolved.boundary(&[], |key| guide(number(key)));
    let never =
        RootError::NeverProved { lower: number(resolved.lower), upper: number(resolved.upper) };
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
