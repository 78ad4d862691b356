//! Balle and Wang, *Improving the Gaussian mechanism for differential privacy: analytical
//! calibration and optimal denoising*.

pub(crate) mod calibration;
pub(crate) mod heat_maps;
pub(crate) mod histogram;
mod manhattan;
pub(crate) mod mean_estimation;
mod release;
