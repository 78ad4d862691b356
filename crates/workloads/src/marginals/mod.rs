//! Marginals: the tables of counts over sets of attributes.
//!
//! The optimal plan in closed form (Xiao, He, Zhang, Kifer, *An optimal and scalable matrix
//! mechanism for noisy marginals under convex loss functions*, 2023: ResidualPlanner), its
//! measurement with exact noise, and the tables that follow; for pure differential privacy whole
//! tables with Laplace noise. The proofs are in docs/proofs/marginals.md.

mod contrasts;
mod finish;
mod laplace;
mod measure;
mod plan;
mod refinement;
mod tables;
mod workload;

pub use finish::Finish;
pub use laplace::{LaplaceMarginalPlan, LaplaceMarginals};
pub use measure::MarginalMeasurements;
pub use plan::{ExpectedError, MarginalPlan};
pub use tables::ReleasedTable;
pub use workload::MarginalWorkload;

pub(crate) use plan::SIGMAS;

/// The most cells of all tables of a workload together.
pub(crate) const MOST_CELLS: u64 = 1 << 28;
