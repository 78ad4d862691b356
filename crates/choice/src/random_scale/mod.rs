//! Laplace noise of random scale (R2DP), optimised for a metric.

mod certificate;
mod conditional_loss;
mod families;
mod programme;

pub use conditional_loss::ConditionalLoss;
pub use families::{Family, best_of_family};
pub use programme::{BestInverseScale, best_inverse_scale};
