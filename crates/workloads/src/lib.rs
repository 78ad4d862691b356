//! Many counting queries at once: what to measure so that the error of what was asked for is least.
//!
//! What it is: for a public [`Domain`], a workload of linear counting queries over it and a budget,
//! a plan of measurements with its expected error and the least error that any plan of its kind can
//! have; the measurement of exact counts with exact noise; and tables made from what was measured,
//! that agree with each other, each cell with its variance and half-width.
//!
//! What it never does: read rows from anywhere (counts are given to it, behind the type
//! [`ExactTables`] or [`ExactHistogram`] that shows none of them), choose what to measure by
//! looking at counts without charging for it, or draw noise that the plan's event does not
//! describe.
//!
//! | asked for | what measures it | limit |
//! |---|---|---|
//! | marginals ([`MarginalWorkload`]) | [`MarginalPlan`]: residuals, in closed form | attained, proved |
//! | prefixes, ranges, any linear queries ([`LinearWorkload`]) | [`MatrixPlan`]: Gaussian noise on a matrix of the cells | a certified dual bound |
//! | marginals under pure DP | [`LaplaceMarginalPlan`]: whole tables, least squares | none |
//! | linear queries under pure DP | [`LaplacePlan`]: the best of several trees of sums | none |
//! | queries one after the other | [`OnlineWeights`]: multiplicative weights | the theorem's |
//! | many queries at once, few measured | [`MwemPlan`]: multiplicative weights, queries chosen privately | none |
//!
//! [`WorkloadPlan`] takes whichever of these fits and says why; the session and the command line
//! ask it. Everything above the measurements is post-processing. The plan sees public facts alone:
//! it can be shown, with its errors, before anything private is opened.

mod auto;
mod cells;
mod contribution;
mod domain;
mod error;
mod exact;
mod gaussian_budget;
mod linear;
mod marginals;
mod weights;

pub use auto::{
    MeasuredPart, Method, NamedAnswer, Workload, WorkloadBudget, WorkloadPlan, WorkloadRelease,
};
pub use cells::CellWorkload;
pub use contribution::Contribution;
pub use domain::{Attributes, Domain};
pub use error::WorkloadError;
pub use exact::{ExactHistogram, ExactTables, Tally};
pub use gaussian_budget::GaussianBudget;
pub use linear::{
    LaplaceMeasurements, LaplacePlan, LaplaceStrategy, LinearQuery, LinearWorkload,
    MatrixMeasurements, MatrixPlan, ReleasedAnswers,
};
pub use marginals::{
    ExpectedError, Finish, LaplaceMarginalPlan, LaplaceMarginals, MarginalMeasurements,
    MarginalPlan, MarginalWorkload, ReleasedTable,
};
pub use weights::{
    AboveThreshold, Mwem, MwemPlan, OnlineAnswer, OnlineBounds, OnlineWeights, Selection,
};
