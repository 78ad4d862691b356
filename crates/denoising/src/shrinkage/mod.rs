//! Rules that move every value towards a point.

mod ball;
mod gaussian_prior;
mod james_stein;
mod linear;
mod minimax;
mod multiscale;
mod sure_threshold;
mod threshold;

pub use ball::{Ball, MinimaxOnBall, ProjectionOnBall, nearest_shares};
pub use gaussian_prior::GaussianPrior;
pub use james_stein::{JamesStein, Target};
pub use linear::{LinearShrinkage, Towards};
pub use minimax::{
    dense_rate, histogram_rate, soft_threshold_bound, sparse_rate, universal_threshold_bound,
};
pub use multiscale::Multiscale;
pub use sure_threshold::SureThreshold;
pub use threshold::{Threshold, ThresholdKind, Thresholding};
