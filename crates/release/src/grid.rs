//! Public grids, on which values become integers.

use crate::error::ReleaseError;
use reticent_numerics::OutOfRange;
use reticent_numerics::require;

/// A public grid of numbers `centre + step * k` for the integers `k` from `lower` to `upper`.
///
/// Values are clamped to its ends and moved to its nearest point before they are summed, in
/// integers: sums do not depend on the order of rows, and the sensitivity is a fact about integers.
/// `step` is a power of two, so that `k * step` is exact.
///
/// # Which grid
/// - For `SUM` the centre is 0 ([`Grid::for_values`]): the sum needs no count, and one row moves it
///   by at most `max(|lower|, |upper|)`.
/// - For `AVG` the centre is the middle of the range ([`Grid::around_midpoint`]): one row moves the
///   sum of deviations by half the range only. The average is the centre and the quotient of that
///   sum and the count.
/// - For `VAR` the squares of those deviations have a grid of their own ([`Grid::of_squares`]),
///   again around its middle.
///
/// # Resolution
/// The greatest `|k|` of reals is about `2^31` to `2^32`, so that a row is moved by at most `2^-32`
/// of the sensitivity: over `n` rows by `n / 2^32` sensitivities in the worst case and about
/// `sqrt(n) / 2^32` typically, far below the noise. Integers keep their value as long as they are
/// below `2^40`.
///
/// # Privacy
/// Which point a value is moved to depends on that value alone, so that rounding here is a matter
/// of accuracy.
///
/// # Example
/// ```
/// use reticent_release::Grid;
/// let ages = Grid::around_midpoint(0.0, 120.0, true)?;
/// assert_eq!((ages.centre, ages.step, ages.lower, ages.upper), (60.0, 1.0, -60, 60));
/// assert_eq!((ages.position(200.0), ages.position(f64::NAN)), (Some(60), None));
/// # Ok::<(), reticent_release::ReleaseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The number that `k = 0` stands for.
    pub centre: f64,
    /// The distance of neighbouring points: a power of two.
    pub step: f64,
    /// The least `k`.
    pub lower: i64,
    /// The greatest `k`.
    pub upper: i64,
}

/// The greatest `|k|` of a grid of reals, up to rounding.
const REAL_POINTS: f64 = 4_294_967_296.0;
/// The greatest `|k|` of a grid of integers, up to rounding.
const INTEGER_POINTS: f64 = 1_099_511_627_776.0;
/// Bounds are zero, or from here ...
const LEAST_BOUND: f64 = 1e-250;
/// ... to here: sums of `2^126` steps and their squares are then `f64`.
const GREATEST_BOUND: f64 = 1e250;
/// The greatest `|k|` that a grid may have, however it was made: all are `f64`.
const GREATEST_POSITION: i64 = 1 << 53;

impl Grid {
    /// A grid around 0 for values between public bounds.
    ///
    /// # Errors
    /// If a bound is not finite, beyond 1e250 or nearer to zero than 1e-250 without being zero, or
    /// if the first is above the second.
    pub fn for_values(lower: f64, upper: f64, integer: bool) -> Result<Self, ReleaseError> {
        check_bounds(lower, upper)?;
        Grid::around(0.0, lower, upper, integer)
    }

    /// A grid around the middle of public bounds. For integers the centre is an integer.
    ///
    /// # Errors
    /// As for [`Grid::for_values`].
    pub fn around_midpoint(lower: f64, upper: f64, integer: bool) -> Result<Self, ReleaseError> {
        check_bounds(lower, upper)?;
        let middle = lower + (upper - lower) / 2.0;
        let middle = if integer { middle.floor() } else { middle };
        Grid::around(middle.clamp(lower, upper), lower, upper, integer)
    }

    /// A grid for the squares `(x - centre)^2` of this grid's deviations, around the middle of
    /// their range.
    ///
    /// # Errors
    /// If the squares are beyond 1e250.
    pub fn of_squares(&self) -> Result<Self, ReleaseError> {
        self.check()?;
        let farthest = self.step * self.upper.unsigned_abs().max(self.lower.unsigned_abs()) as f64;
        let square = farthest * farthest;
        require(
            square <= GREATEST_BOUND,
            "half range",
            farthest,
            "at most 1e125, because it is squared",
        )?;
        // Squares of tiny deviations vanish; a grid of the one point 0 holds them.
        let square = if square < LEAST_BOUND { 0.0 } else { square };
        Grid::around_midpoint(0.0, square, false)
    }

    fn around(centre: f64, lower: f64, upper: f64, integer: bool) -> Result<Self, ReleaseError> {
        let farthest = (upper - centre).abs().max((centre - lower).abs());
        let points = if integer { INTEGER_POINTS } else { REAL_POINTS };
        // 2^e >= farthest / points, with e as small as possible up to one.
        let finest = if farthest > 0.0 { power_above(farthest / points) } else { 1.0 };
        let step = if integer { finest.max(1.0) } else { finest };
        let unbounded = Grid { centre, step, lower: i64::MIN, upper: i64::MAX };
        let ends = unbounded.position(lower).zip(unbounded.position(upper));
        let (first, last) =
            ends.ok_or_else(|| ReleaseError::Refused("a bound is not a number".into()))?;
        let grid = Grid { centre, step, lower: first, upper: last };
        grid.check()?;
        Ok(grid)
    }

    /// Whether the fields are those of a grid.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        require(self.centre.is_finite(), "grid centre", self.centre, "a finite number")?;
        let is_power =
            self.step.is_normal() && self.step > 0.0 && self.step.to_bits() & ((1 << 52) - 1) == 0;
        require(is_power, "grid step", self.step, "a power of two")?;
        let range = -GREATEST_POSITION..=GREATEST_POSITION;
        let ordered =
            self.lower <= self.upper && range.contains(&self.lower) && range.contains(&self.upper);
        require(
            ordered,
            "grid upper",
            self.upper as f64,
            "from the lower end on, and both within 2^53",
        )
        .map(drop)
    }

    /// The `k` of a value, clamped to the ends; `None` for a NaN.
    pub fn position(&self, value: f64) -> Option<i64> {
        // The quotient by a power of two is exact; the difference is rounded, which is a fact about
        // this value alone.
        let steps = ((value - self.centre) / self.step).round();
        // A cast from a float saturates.
        (!value.is_nan()).then(|| (steps as i64).clamp(self.lower, self.upper))
    }

    /// The number that `k` stands for.
    pub fn value(&self, k: i64) -> f64 {
        self.centre + self.step * k as f64
    }

    /// How many points it has.
    pub fn points(&self) -> u64 {
        self.upper.abs_diff(self.lower).saturating_add(1)
    }

    /// The greatest `|k|`: the most by which one row moves a sum, in steps.
    pub fn farthest(&self) -> u64 {
        self.lower.unsigned_abs().max(self.upper.unsigned_abs())
    }

    /// The distance of the ends.
    pub fn width(&self) -> f64 {
        self.step * (self.upper as f64 - self.lower as f64)
    }
}

fn check_bounds(lower: f64, upper: f64) -> Result<(), OutOfRange> {
    let accepted = "0 or a number whose size is from 1e-250 to 1e250";
    for (name, bound) in [("lower bound", lower), ("upper bound", upper)] {
        require(
            bound == 0.0 || (LEAST_BOUND..=GREATEST_BOUND).contains(&bound.abs()),
            name,
            bound,
            accepted,
        )?;
    }
    require(upper >= lower, "upper bound", upper, "at least the lower bound").map(drop)
}

/// A power of two that is at least `x` and less than twice as large, for a positive normal `x` well
/// inside the range.
fn power_above(x: f64) -> f64 {
    let power = f64::from_bits(x.to_bits() & !((1 << 52) - 1));
    if power < x { 2.0 * power } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_value_where_the_range_allows() {
        let grid = Grid::for_values(-5.0, 1000.0, true).expect("valid");
        assert_eq!((grid.centre, grid.step, grid.lower, grid.upper), (0.0, 1.0, -5, 1000));
        assert_eq!((grid.farthest(), grid.points(), grid.width()), (1000, 1006, 1005.0));
        let odd = Grid::around_midpoint(0.0, 5.0, true).expect("valid");
        assert_eq!((odd.centre, odd.lower, odd.upper), (2.0, -2, 3));
        let wide = Grid::for_values(-(2f64.powi(62)), 2f64.powi(62), true).expect("valid");
        assert_eq!((wide.step, wide.upper), (2f64.powi(22), 1 << 40));
    }

    #[test]
    fn reals_have_a_power_of_two_as_step_and_about_four_billion_points() {
        for (lower, upper) in
            [(0.0, 1.0), (-3.5, 1e6), (1e-200, 3e-200), (-1e250, 1e250), (1e6, 1e6 + 1.0)]
        {
            for grid in
                [Grid::for_values(lower, upper, false), Grid::around_midpoint(lower, upper, false)]
            {
                let grid = grid.expect("valid");
                assert!(grid.farthest() <= 1 << 32 && grid.farthest() >= 1 << 31, "{grid:?}");
                for share in [0.0, 0.3, 1.0] {
                    let value = lower + share * (upper - lower);
                    let back = grid.position(value).map(|k| grid.value(k)).expect("a number");
                    assert!(
                        (back - value).abs() <= 0.5 * grid.step + 1e-15 * value.abs(),
                        "{grid:?} {value}"
                    );
                }
                assert_eq!(grid.position(f64::INFINITY), Some(grid.upper));
                assert_eq!(grid.position(f64::NEG_INFINITY), Some(grid.lower));
            }
        }
    }

    #[test]
    fn squares_lie_on_their_grid() {
        let values = Grid::around_midpoint(-2.0, 6.0, false).expect("valid");
        let squares = values.of_squares().expect("valid");
        assert_eq!((values.centre, squares.centre), (2.0, 8.0));
        assert!(
            (squares.value(squares.upper) - 16.0).abs() < 1e-8
                && squares.value(squares.lower).abs() < 1e-8
        );
        let constant = Grid::around_midpoint(3.0, 3.0, false)
            .and_then(|grid| grid.of_squares())
            .expect("valid");
        assert_eq!((constant.lower, constant.upper), (0, 0));
    }

    #[test]
    fn hostile_bounds_are_refused_by_name() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 5e-324];
        for bound in bad {
            for refused in
                [Grid::for_values(bound, 1.0, false), Grid::around_midpoint(0.0, bound, true)]
            {
                let message = refused.expect_err("hostile").to_string();
                assert!(message.contains("bound"), "{bound}: {message}");
            }
        }
        assert!(Grid::for_values(2.0, 1.0, false).is_err());
        assert!(
            Grid::around_midpoint(-1e200, 1e200, false)
                .is_ok_and(|grid| grid.of_squares().is_err())
        );
        for grid in [
            Grid { centre: 0.0, step: 3.0, lower: 0, upper: 1 },
            Grid { centre: f64::NAN, step: 1.0, lower: 0, upper: 1 },
            Grid { centre: 0.0, step: 1.0, lower: 1, upper: 0 },
            Grid { centre: 0.0, step: 0.0, lower: 0, upper: 1 },
            Grid { centre: 0.0, step: 1.0, lower: i64::MIN, upper: 1 },
        ] {
            assert!(grid.check().is_err(), "{grid:?}");
        }
    }
}
