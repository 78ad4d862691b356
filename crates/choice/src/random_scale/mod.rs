//! Laplace noise of random scale (R2DP), optimised for a metric.

mod certificate;
mod conditional_loss;
mod programme;

pub use conditional_loss::ConditionalLoss;
pub use programme::{BestInverseScale, best_inverse_scale};
