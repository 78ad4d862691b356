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
    /// How many rows (whose value is not NULL), each unit's at most this many.
    Count {
        /// The most rows of one unit that count in one group.
        max_rows: u32,
    },
    /// How many units have a row.
    Units,
    /// The sum of a value, in steps from the centre of its grid.
    Sum {
        /// The grid of the values that are summed.
        grid: Grid,
        /// How much of one unit counts.
        contribution: Contribution,
    },
    /// Quantiles of a value.
    Quantiles {
        /// The grid of the values.
        grid: Grid,
        /// The most rows of one unit that count in one group.
        max_rows: u32,
        /// Which quantiles, from 0 to 1.
        points: Vec<f64>,
    },
}

/// How far one privacy unit reaches: which neighbours are meant is always "add or remove all rows of one unit".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The most groups in which one unit has a part.
    pub max_groups: u32,
}

/// Which groups an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// So many groups, which are public and all shown.
    Public(u64),
    /// Those found in the data, shown if enough units are in them.
    Found,
}
