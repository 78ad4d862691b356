//! From exact totals per group to a private release.
//!
//! What it is: for the statistics that a query needs, a budget, and how far one privacy unit
//! reaches, the noise with the least error, the split of the budget, the groups that may be shown,
//! and how far off each figure may be. What it never does: read data while it plans, or draw noise
//! that was not charged.
//!
//! ```text
//! Design --plan--> ReleasePlan (events, guarantee, half-widths: public, before anything is read)
//! ReleasePlan + Exact totals --release--> Released
//! Released numbers --answer--> counts, sums, averages, variances with half-widths
//! ```

mod added_noise;
mod aim;
pub mod answer;
mod design;
mod draft;
mod error;
mod exact;
mod grid;
mod plan;
mod planned;
mod quantiles;
mod reason;
mod released;
mod selection;
mod split;
mod statistic;

pub use aim::AnswerMetric;
pub use design::{Design, UnitInfluence};
pub use error::ReleaseError;
pub use exact::{Exact, Totals};
pub use grid::Grid;
pub use plan::{
    Alternative, Comparison, NoiseFamily, Preferences, ReleaseCost, ReleasePlan, SelectionSummary,
    compare, plan, plan_with,
};
pub use planned::PlannedStatistic;
pub use released::{Noisy, Released};
pub use reticent_choice::NoiseName;
pub use statistic::{Contribution, Groups, Statistic};
