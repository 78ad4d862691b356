//! Rules that move every value towards a point.

mod gaussian_prior;
mod james_stein;
mod linear;
mod multiscale;
mod sure_threshold;
mod threshold;

pub use gaussian_prior::GaussianPrior;
pub use james_stein::{JamesStein, Target};
pub use linear::{LinearShrinkage, Towards};
pub use multiscale::Multiscale;
pub use sure_threshold::SureThreshold;
pub use threshold::{Threshold, ThresholdKind, Thresholding};
