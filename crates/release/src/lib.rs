//! From exact totals per group to a private release.
//!
//! What it is: for the statistics that a query needs, a budget, and how far one privacy unit reaches, the noise with the least error, the split of the
//! budget, the groups that may be shown, and how far off each figure may be. What it never does: read data while it plans, or draw noise that was not charged.
//!
//! ```text
//! Design --plan--> Plan (events, guarantee, half-widths: public, before anything is read)
//! Plan + Exact totals --release--> Released
//! ```

mod exact;
mod statistic;

pub use exact::{Exact, Totals};
pub use statistic::{Contribution, Grid, Groups, Reach, Statistic};
