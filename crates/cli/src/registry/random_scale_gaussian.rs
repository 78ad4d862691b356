//! Gaussian noise of random scale from options.

use super::Made;
use crate::failure::Failure;
use crate::options::{Budget, Options};
use crate::request::{Purpose, Request};
use reticent_mechanisms::{Delta, Distance, Epsilon, RandomScaleGaussianMechanism};

/// The least stretch of the standard deviations that keeps the promise.
pub fn calibrate(request: &Request) -> Made {
    let (epsilon, delta) = (Epsilon::new(request.epsilon()?)?, Delta::new(request.delta()?)?);
    Ok(Box::new(RandomScaleGaussianMechanism::calibrate(sigmas(request)?, epsilon, delta, distance(request)?)?))
}

/// The standard deviations as they are.
pub fn describe(request: &Request) -> Made {
    let epsilon = super::stated_epsilon()?;
    Ok(Box::new(RandomScaleGaussianMechanism::new(sigmas(request)?, distance(request)?, epsilon)?))
}

/// All standard deviations grow together.
pub fn stretch(options: &Options, scale: f64) -> (Purpose, Options) {
    let mut shape = options.shape.clone();
    for text in shape.sigmas.iter_mut().flatten() {
        // What is not a pair of numbers stays as it is, and is refused by what reads it.
        if let Some((sigma, weight)) = text.split_once(':')
            && let Ok(sigma) = sigma.parse::<f64>()
        {
            *text = format!("{:e}:{weight}", sigma * scale);
        }
    }
    (Purpose::Describe, Options { shape, budget: Budget::default(), ..options.clone() })
}

fn distance(request: &Request) -> Result<Distance, Failure> {
    Ok(Distance::new(request.need("sensitivity", &request.options().sensitivities.sensitivity)?)?)
}

/// Standard deviations with their weights, written `sigma:weight`.
fn sigmas(request: &Request) -> Result<Vec<(f64, f64)>, Failure> {
    let texts = request.need("sigmas", &request.shape().sigmas)?;
    let pair = |text: &String| {
        let pair = text.split_once(':').and_then(|(sigma, weight)| sigma.parse().ok().zip(weight.parse().ok()));
        let example = "it takes standard deviations with their weights, such as 1:0.9,3:0.1";
        pair.ok_or_else(|| Failure::usage(format!("--sigmas holds `{text}`, but {example}")))
    };
    texts.iter().map(pair).collect()
}
