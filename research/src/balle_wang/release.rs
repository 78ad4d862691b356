//! Releases with Gaussian noise, as they are and denoised.

use crate::ReproductionError;
use reticent_denoising::{NoiseDescription, Release};
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_noise::randomness::RandomBits;

/// A vector released by the Gaussian mechanism of a method, with its noise.
pub(super) fn gaussian_release(
    method: GaussianMethod,
    (epsilon, delta, l2_sensitivity): (f64, f64, f64),
    truth: &[f64],
    random: &mut dyn RandomBits,
) -> Result<Release, ReproductionError> {
    let distance = Distance::new(l2_sensitivity)?;
    let mechanism = GaussianMechanism::calibrate(
        method,
        &distance.into(),
        (Epsilon::new(epsilon)?, Delta::new(delta)?),
    )?;
    // A vector of more than 2^32 numbers does not fit into memory here.
    let releaser = mechanism.coordinate_releaser(u32::try_from(truth.len()).unwrap_or(u32::MAX))?;
    let values = truth
        .iter()
        .map(|value| releaser.release(*value, random))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Release::new(values, NoiseDescription::gaussian(mechanism.scale())?)?)
}

/// `sum of (a - b)^2`.
pub(super) fn squared_error(values: &[f64], truth: &[f64]) -> f64 {
    values.iter().zip(truth).map(|(value, truth)| (value - truth).powi(2)).sum()
}
