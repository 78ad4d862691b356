//! Which of the groups that are found in the data may be shown.

mod optimal;
mod threshold;

pub(crate) use optimal::OptimalSelection;
pub(crate) use threshold::Threshold;

/// How groups are selected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selection {
    /// A coin of its own for each group.
    Optimal { rule: OptimalSelection, epsilon: f64, delta: f64 },
    /// A noisy number of units that is large enough.
    Threshold(Threshold),
}

impl Selection {
    /// What the groups that only one unit is in take of `delta`.
    pub(crate) fn delta(&self) -> f64 {
        match self {
            Selection::Optimal { delta, .. } => *delta,
            Selection::Threshold(threshold) => threshold.delta,
        }
    }

    /// The least number of units with which a group is shown with probability 1/2 at least.
    pub(crate) fn shown_at_half(&self) -> u64 {
        match self {
            Selection::Optimal { rule, .. } => rule.shown_at_half(),
            // P[n + N >= n] >= 1/2 for symmetric noise.
            Selection::Threshold(threshold) => threshold.least.unsigned_abs(),
        }
    }
}
