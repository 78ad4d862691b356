//! Laplace noise of random scale from options.

use super::{Made, inverse_scale};
use crate::failure::Failure;
use crate::request::{Request, Sensitivity};
use reticent_mechanisms::{Distance, Epsilon, RandomScaleLaplace};

/// The least stretch of the family that keeps the promise.
pub fn calibrate(request: &Request) -> Made {
    let epsilon = Epsilon::positive(request.epsilon()?)?;
    let family = inverse_scale::from_options(request)?;
    Ok(Box::new(match request.sensitivity()? {
        // Each coordinate has a scale of its own, and the loss depends on how many there are (erratum R7).
        Sensitivity::Norm { bound, dimension, .. } => {
            let dimension = request.need("dimension", &dimension)?;
            let coordinates = u32::try_from(dimension).unwrap_or(u32::MAX);
            RandomScaleLaplace::calibrate_vector(family, epsilon, coordinates, Distance::new(bound)?)?
        }
        _ => RandomScaleLaplace::calibrate(family, epsilon, distance(request)?)?,
    }))
}

/// A distribution of the inverse scale as it is.
pub fn describe(request: &Request) -> Made {
    let family = inverse_scale::from_options(request)?;
    Ok(Box::new(RandomScaleLaplace::with_inverse_scale(family, distance(request)?)?))
}

fn distance(request: &Request) -> Result<Distance, Failure> {
    Ok(Distance::new(request.need("sensitivity", &request.options().sensitivities.sensitivity)?)?)
}
