//! Linear queries over one histogram: prefixes, ranges, any weighted sums of cells.
//!
//! The Gaussian matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi 2015) with the matrix of least
//! error, beside a certified bound from the dual programme; and strategies with Laplace noise for
//! pure differential privacy. The proofs are in docs/proofs/linear_queries.md.

mod certificate;
mod chain;
mod laplace;
mod optimum;
mod plan;
mod workload;

pub(crate) use laplace::half_width_of_sum;
pub use laplace::{LaplaceMeasurements, LaplacePlan, LaplaceStrategy};
pub use plan::{MatrixMeasurements, MatrixPlan, ReleasedAnswers};
pub(crate) use workload::MOST_CELLS;
pub use workload::{LinearQuery, LinearWorkload};
