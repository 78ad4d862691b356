//! What is to be released, and how far one privacy unit moves it.

use crate::error::ReleaseError;
use crate::{Contribution, Groups, Statistic};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::rounding::{mul_up, sqrt_up};
use reticent_numerics::{OutOfRange, require};

/// All that a plan depends on. Everything in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// What is released of each group. Empty only where the groups themselves are the answer.
    pub statistics: Vec<Statistic>,
    /// Which groups there are.
    pub groups: Groups,
    /// The most groups in which one unit has a part. Neighbours add or remove all rows of one unit.
    pub max_groups: u32,
    /// The loss of everything together.
    pub epsilon: f64,
    /// The delta of everything together; `None` for a pure guarantee.
    pub delta: Option<f64>,
}

/// How far one privacy unit moves a statistic, in steps, when all its rows are added or removed.
///
/// A unit has a part in at most `k` groups, and moves the statistic by at most `s` in each. So the
/// vector over all groups moves by at most `k s` in the l1 norm and `sqrt(k) s` in the l2 norm, and
/// there is data that moves it that far.
///
/// | statistic | `s` |
/// |---|---|
/// | rows, at most `r` of a unit | `r` |
/// | units | 1 |
/// | sum of rows, as much as `r` rows | `r max(abs lower, abs upper)` |
/// | sum clamped to limits | `max(abs lower, abs upper)` of the limits |
/// | quantiles | `r` values |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitInfluence {
    /// `s`.
    pub per_group: u64,
    /// `k`, the most groups that move at once.
    pub groups: u32,
}

/// Distances up to here are `f64`.
const GREATEST_DISTANCE: u64 = 1 << 53;

impl UnitInfluence {
    /// `k s`.
    ///
    /// # Errors
    /// If it is beyond `2^53`.
    pub fn l1(&self) -> Result<u64, OutOfRange> {
        let whole = self.per_group.checked_mul(u64::from(self.groups));
        whole.filter(|&whole| whole <= GREATEST_DISTANCE).ok_or_else(|| {
            OutOfRange::new(
                "sensitivity",
                self.per_group as f64 * f64::from(self.groups),
                "at most 2^53 steps of the grid over all groups: lower max_rows or \
                max_groups, or narrow the bounds of the column",
            )
        })
    }

    /// `sqrt(k) s`, rounded up.
    pub fn l2(&self) -> f64 {
        // Both factors are exact, as `s` is at most 2^53.
        mul_up(sqrt_up(f64::from(self.groups)), self.per_group as f64)
    }
}

impl Design {
    /// The most groups that one unit moves: no more than there are.
    pub(crate) fn groups_moved(&self) -> u32 {
        match self.groups {
            Groups::Public(count) => u32::try_from(count).unwrap_or(u32::MAX).min(self.max_groups),
            Groups::Found => self.max_groups,
        }
    }

    /// How far one unit moves a statistic.
    pub(crate) fn influence(&self, statistic: &Statistic) -> Result<UnitInfluence, ReleaseError> {
        let rows = |max_rows: u32| {
            require(
                max_rows >= 1,
                "max_rows",
                f64::from(max_rows),
                "an integer from 1 to 4294967295",
            )?;
            Ok::<u128, ReleaseError>(u128::from(max_rows))
        };
        let per_group = match statistic {
            Statistic::Count { max_rows, .. } => rows(*max_rows)?,
            Statistic::Units => 1,
            Statistic::Sum { grid, contribution, .. } => {
                grid.check()?;
                match contribution {
                    Contribution::Rows(max_rows) => rows(*max_rows)? * u128::from(grid.farthest()),
                    Contribution::Total { lower, upper } => {
                        require(
                            *lower <= 0,
                            "lower limit of a unit's sum",
                            *lower as f64,
                            "at most 0",
                        )?;
                        require(
                            *upper >= 0,
                            "upper limit of a unit's sum",
                            *upper as f64,
                            "at least 0",
                        )?;
                        u128::from(lower.unsigned_abs().max(upper.unsigned_abs()))
                    }
                }
            }
            Statistic::Quantiles { grid, max_rows, points, .. } => {
                grid.check()?;
                require(!points.is_empty(), "quantiles", 0.0, "at least one")?;
                for &point in points {
                    require(
                        (0.0..=1.0).contains(&point),
                        "quantile",
                        point,
                        "a number from 0 to 1",
                    )?;
                }
                rows(*max_rows)?
            }
        };
        let accepted = "at most 2^53 steps of the grid in one group: lower max_rows, or narrow the \
            bounds of the column";
        require(
            per_group <= u128::from(GREATEST_DISTANCE),
            "sensitivity",
            per_group as f64,
            accepted,
        )?;
        Ok(UnitInfluence { per_group: per_group as u64, groups: self.groups_moved() })
    }

    /// Checks everything but what depends on the noise.
    pub(crate) fn check(&self) -> Result<(), ReleaseError> {
        Epsilon::positive(self.epsilon)?;
        if let Some(delta) = self.delta {
            Delta::new(delta)?;
        }
        require(self.max_groups >= 1, "max_groups", 0.0, "an integer from 1 to 4294967295")?;
        match (self.groups, self.delta) {
            (Groups::Public(0), _) => {
                return Err(ReleaseError::Refused(
                    "there are no groups: declare at least one public value for the key".into(),
                ));
            }
            (Groups::Public(_), _) if self.statistics.is_empty() => {
                return Err(ReleaseError::Refused(
                    "there is nothing to release: ask for at least one statistic".into(),
                ));
            }
            (Groups::Found, None) => {
                return Err(ReleaseError::Refused(
                    "groups that are found in the data cannot be shown under a pure guarantee, \
                     because a group that only one person is in would tell of that person: \
                     declare public values for the key, or give a delta"
                        .into(),
                ));
            }
            _ => {}
        }
        self.statistics.iter().try_for_each(|statistic| self.influence(statistic).map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    fn design(statistics: Vec<Statistic>, max_groups: u32) -> Design {
        Design { statistics, groups: Groups::Public(1000), max_groups, epsilon: 1.0, delta: None }
    }

    #[test]
    fn sensitivities_are_those_of_the_table() {
        let grid = Grid { centre: 0.0, step: 0.5, lower: -3, upper: 10 };
        let cases = [
            (Statistic::Count { column: None, max_rows: 7 }, 7),
            (Statistic::Units, 1),
            (Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(4) }, 40),
            (
                Statistic::Sum {
                    column: 0,
                    grid,
                    contribution: Contribution::Total { lower: -25, upper: 9 },
                },
                25,
            ),
            (Statistic::Quantiles { column: 0, grid, max_rows: 3, points: vec![0.5] }, 3),
        ];
        for (statistic, per_group) in cases {
            let found = design(vec![], 9).influence(&statistic).expect("valid");
            assert_eq!((found.per_group, found.groups), (per_group, 9), "{statistic:?}");
            assert_eq!((found.l1(), found.l2()), (Ok(9 * per_group), 3.0 * per_group as f64));
        }
    }

    #[test]
    fn no_unit_moves_more_groups_than_there_are() {
        let mut few = design(vec![Statistic::Units], 50);
        few.groups = Groups::Public(3);
        assert_eq!(few.groups_moved(), 3);
        few.groups = Groups::Public(u64::MAX);
        assert_eq!(few.groups_moved(), 50);
    }

    #[test]
    fn what_cannot_be_released_is_refused_by_name() {
        let grid = Grid { centre: 0.0, step: 1.0, lower: -(1 << 40), upper: 1 << 40 };
        let refused = |design: Design| design.check().expect_err("hostile").to_string();
        assert!(
            refused(design(vec![Statistic::Count { column: None, max_rows: 0 }], 1))
                .contains("max_rows")
        );
        assert!(refused(design(vec![Statistic::Units], 0)).contains("max_groups"));
        assert!(refused(design(vec![], 1)).contains("nothing to release"));
        let huge = Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(u32::MAX) };
        assert!(refused(design(vec![huge], 1)).contains("max_rows"));
        let point = |q| Statistic::Quantiles { column: 0, grid, max_rows: 1, points: vec![q] };
        for q in [-0.1, 1.1, f64::NAN] {
            assert!(refused(design(vec![point(q)], 1)).contains("quantile"));
        }
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            let mut bad = design(vec![Statistic::Units], 1);
            bad.epsilon = epsilon;
            assert!(refused(bad).contains("epsilon"), "{epsilon}");
        }
        for delta in [0.0, 1.0, -1e-9, f64::NAN] {
            let mut bad = design(vec![Statistic::Units], 1);
            bad.delta = Some(delta);
            assert!(refused(bad).contains("delta"), "{delta}");
        }
        let mut found = design(vec![Statistic::Units], 1);
        found.groups = Groups::Found;
        assert!(refused(found).contains("declare public values"));
        let mut none = design(vec![Statistic::Units], 1);
        none.groups = Groups::Public(0);
        assert!(refused(none).contains("no groups"));
        let limits = Contribution::Total { lower: 1, upper: 2 };
        assert!(
            refused(design(vec![Statistic::Sum { column: 0, grid, contribution: limits }], 1))
                .contains("lower limit")
        );
    }
}
