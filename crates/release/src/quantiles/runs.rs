//! Points of a grid with the same ranks.

use super::SHARES;
use crate::Grid;

/// Neighbouring points, before all of which, and up to all of which, there are the same numbers of
/// values: one point where values are, or all points between two of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) first: i64,
    pub(super) points: u64,
    pub(super) below: u64,
    pub(super) up_to: u64,
}

impl Run {
    pub(super) fn last(&self) -> i64 {
        self.first.saturating_add_unsigned(self.points.saturating_sub(1))
    }

    /// The rank of a cut through a point of the run, in 256ths of a value.
    pub(super) fn rank(&self, share: u64) -> u128 {
        u128::from(self.below) * u128::from(SHARES)
            + u128::from(self.up_to - self.below) * u128::from(share)
    }
}

/// All points of a grid, in runs. Values outside the grid count at its ends.
pub(super) fn runs(grid: &Grid, values: &[(i64, u64)]) -> Vec<Run> {
    if !values.is_sorted_by_key(|value| value.0) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by_key(|value| value.0);
        return runs(grid, &sorted);
    }
    let (lower, upper) = (grid.lower, grid.upper);
    let mut runs: Vec<Run> = Vec::with_capacity(2 * values.len() + 1);
    let (mut next, mut seen) = (Some(lower), 0u64);
    for &(value, count) in values {
        let value = value.clamp(lower, upper);
        let before = seen;
        seen = seen.saturating_add(count);
        // Points that were clamped together.
        if let Some(run) =
            runs.last_mut().filter(|run| run.first == value && next.is_none_or(|next| next > value))
        {
            run.up_to = seen;
            continue;
        }
        if let Some(first) = next.filter(|&first| first < value) {
            runs.push(Run { first, points: value.abs_diff(first), below: before, up_to: before });
        }
        runs.push(Run { first: value, points: 1, below: before, up_to: seen });
        next = value.checked_add(1).filter(|&next| next <= upper);
    }
    if let Some(first) = next {
        runs.push(Run {
            first,
            points: upper.abs_diff(first).saturating_add(1),
            below: seen,
            up_to: seen,
        });
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_every_point_once() {
        let grid = Grid { centre: 0.0, step: 1.0, lower: -3, upper: 12 };
        for values in [
            vec![],
            vec![(-3, 1)],
            vec![(12, 1)],
            vec![(-3, 1), (-2, 2), (12, 1)],
            vec![(-99, 1), (-50, 2), (99, 1), (100, 4)],
            vec![(5, 1), (-2, 1), (5, 3), (4, 1)],
            vec![(5, 0), (5, 0)],
        ] {
            let runs = runs(&grid, &values);
            assert_eq!(runs.iter().map(|run| run.points).sum::<u64>(), 16, "{values:?}: {runs:?}");
            assert!(runs.windows(2).all(|pair| pair[0].last() + 1 == pair[1].first), "{runs:?}");
            assert!(runs.windows(2).all(|pair| pair[0].up_to == pair[1].below), "{runs:?}");
            assert_eq!(runs.last().map(|run| run.up_to), Some(values.iter().map(|v| v.1).sum()));
        }
    }
}
