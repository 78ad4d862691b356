//! Exact totals per group: private, never printed.

/// The exact value of every statistic in every group, of bounded contributions. It holds private
/// numbers: its `Debug` shows only sizes.
#[derive(Clone, PartialEq)]
pub struct Exact {
    /// How many units are in each group: what groups are selected by.
    pub units: Vec<u64>,
    /// In the order of the design's statistics.
    pub totals: Vec<Totals>,
}

/// The exact values of one statistic, one entry per group.
#[derive(Clone, PartialEq)]
pub enum Totals {
    /// Counts, or sums in steps of a grid.
    Integers(Vec<i128>),
    /// For quantiles: the points of the grid that occur, ascending, and how often.
    Values(Vec<Vec<(i64, u64)>>),
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Exact {{ statistics: {} }}", self.totals.len())
    }
}

impl std::fmt::Debug for Totals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Totals::Integers(_) => "Integers(..)",
            Totals::Values(_) => "Values(..)",
        })
    }
}
