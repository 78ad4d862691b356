//! Which noise hurts an answer least.
//!
//! What it is: for what is released, a budget and a measure of error, a ranking of every mechanism,
//! and the least error that any could reach. What it never does: see data, or call an estimate a
//! limit.

mod candidates;
mod clamped_law;
mod entropy_limit;
mod error;
mod error_law;
mod excess;
mod expression;
mod integer_law;
mod integer_limit;
mod limit;
mod loss;
mod maximum;
mod metric;
mod optimal;
mod piecewise_loss;
pub mod random_scale;
pub mod random_scale_gaussian;
mod ranking;
mod release_noise;
mod requirements;
mod search;
mod staircase_limit;

pub use candidates::{Candidate, Refusal};
pub use clamped_law::ClampedLaw;
pub use entropy_limit::least_integer_entropy;
pub use error::ChoiceError;
pub use error_law::{Additive, ErrorLaw, Integrated, WorstAnswer};
pub use excess::Excess;
pub use expression::Expression;
pub use integer_law::{Discrete, Rounded};
pub use integer_limit::{least_integer_exceedance, least_integer_loss, least_integer_quantile};
pub use limit::{LimitError, ScalarQuery, limit, pure_limit, quantile_limit};
pub use loss::{AbsoluteError, Beyond, Loss, SquaredError};
pub use metric::Metric;
pub use optimal::{Optimum, optimum};
pub use piecewise_loss::PiecewiseLoss;
pub use ranking::{Ranking, choose};
pub use release_noise::{Considered, NoiseName, ReleaseRanking, rank_for_release};
pub use requirements::{LARGEST_DIMENSION, Query, Requirements, SharedBudget};
pub use staircase_limit::{
    StaircaseLimit, least_entropy, least_exceedance, least_loss, least_quantile,
};
