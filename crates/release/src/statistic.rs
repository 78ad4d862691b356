//! What a query needs of each group, as plain data.

use crate::Grid;

/// How much of one unit's rows counts in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// As much as `max_rows` rows: with `n` rows each has the weight `min(1, max_rows / n)`.
    Rows(u32),
    /// The sum of the unit's rows, clamped to these limits in steps of the grid.
    Total {
        /// The least sum, at most 0.
        lower: i64,
        /// The greatest sum, at least 0.
        upper: i64,
    },
}

/// A statistic of each group.
#[derive(Clone, Debug, PartialEq)]
pub enum Statistic {
    /// How many rows, or how many whose value in a column is not NULL.
    Count {
        /// The column, by its index in the rows; none for all rows.
        column: Option<usize>,
        /// The most rows of one unit that count in one group.
        max_rows: u32,
    },
    /// How many units have a row.
    Units,
    /// The sum of a value, in steps from the centre of its grid.
    Sum {
        /// The column of the values, by its index in the rows.
        column: usize,
        /// The grid of the values that are summed.
        grid: Grid,
        /// How much of one unit counts.
        contribution: Contribution,
    },
    /// Quantiles of a value.
    Quantiles {
        /// The column of the values, by its index in the rows.
        column: usize,
        /// The grid of the values.
        grid: Grid,
        /// The most rows of one unit that count in one group.
        max_rows: u32,
        /// Which quantiles, from 0 to 1.
        points: Vec<f64>,
    },
}

impl Statistic {
    /// The grid of the values, where they have one.
    pub fn grid(&self) -> Option<&Grid> {
        match self {
            Statistic::Sum { grid, .. } | Statistic::Quantiles { grid, .. } => Some(grid),
            Statistic::Count { .. } | Statistic::Units => None,
        }
    }

    /// What one step is, in units of the answer.
    pub fn step(&self) -> f64 {
        match self {
            Statistic::Sum { grid, .. } => grid.step,
            Statistic::Count { .. } | Statistic::Units | Statistic::Quantiles { .. } => 1.0,
        }
    }
}

/// Which groups an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// So many groups, which are public and all shown.
    Public(u64),
    /// Those found in the data, shown if enough units are in them.
    Found,
}
