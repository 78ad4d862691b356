//! Which of the groups that are found in the data may be shown.

mod optimal;
mod threshold;

pub(crate) use optimal::OptimalSelection;
pub(crate) use threshold::{Compared, Threshold};

use reticent_events::Event;
use reticent_numerics::rounding::mul_up;

/// How groups are selected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selection {
    /// A coin of its own for each group, of which one unit moves as many as `groups`.
    Optimal { rule: OptimalSelection, groups: u32 },
    /// A noisy count that is large enough.
    Threshold(Threshold),
}

impl Selection {
    /// What the groups that only one unit is in take of `delta`.
    pub(crate) fn delta(&self) -> f64 {
        match self {
            Selection::Optimal { rule, groups } => mul_up(f64::from(*groups), rule.delta()),
            Selection::Threshold(threshold) => threshold.delta,
        }
    }

    /// The loss that is spent on nothing else.
    pub(crate) fn epsilon(&self) -> f64 {
        match self {
            Selection::Optimal { rule, groups } => mul_up(f64::from(*groups), rule.epsilon()),
            Selection::Threshold(_) => 0.0,
        }
    }

    /// What runs, with its delta or, for a filter that adds up deltas by themselves,
    /// without. The coins of the groups are independent, and are charged one by one.
    pub(crate) fn event(&self, with_delta: bool) -> Option<Event> {
        let delta_of = |delta: f64| if with_delta { delta } else { 0.0 };
        match self {
            Selection::Optimal { rule, groups } => {
                let event =
                    Event::Approximate { epsilon: rule.epsilon(), delta: delta_of(rule.delta()) };
                let times = u64::from(*groups);
                Some(if times == 1 {
                    event
                } else {
                    Event::Repetition { times, event: Box::new(event) }
                })
            }
            Selection::Threshold(threshold) => {
                with_delta.then_some(Event::Approximate { epsilon: 0.0, delta: threshold.delta })
            }
        }
    }

    /// The least count, of units or (if a threshold is on rows) of rows, with which a group is
    /// shown with probability 1/2 at least.
    pub(crate) fn shown_at_half(&self) -> u64 {
        match self {
            Selection::Optimal { rule, .. } => rule.shown_at_half(),
            // P[n + N >= n] >= 1/2 for symmetric noise.
            Selection::Threshold(threshold) => threshold.least.unsigned_abs(),
        }
    }

    /// The most that one unit adds to the count that selects: more than 1 only for rows.
    pub(crate) fn lone_count(&self) -> u32 {
        match self {
            Selection::Optimal { .. } => 1,
            Selection::Threshold(threshold) => threshold.lone_count,
        }
    }
}
