//! Laplace noise of random scale (R2DP), optimised for a metric.

mod best;
mod certificate;
mod conditional_loss;
mod estimate;
mod families;
mod law;
mod objective;
mod optimise;
mod programme;

pub use best::{BestScale, best_scale};
pub use conditional_loss::ConditionalLoss;
pub(crate) use estimate::gauss_legendre;
pub use families::{Family, best_of_family};
pub use law::RandomScaleLaw;
pub use objective::Objective;
pub(crate) use optimise::EachCoordinate;
pub use optimise::{Optimised, optimise};
pub use programme::{BestInverseScale, best_inverse_scale};
