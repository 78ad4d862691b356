//! Choices by utility from options.

use super::Made;
use crate::failure::Failure;
use crate::request::Request;
use reticent_mechanisms::{Distance, Epsilon, Exponential, Mechanism, MechanismError, PermuteAndFlip, UtilityChange};
use reticent_noise::randomness::RandomBits;

/// A mechanism that chooses one of several candidates.
pub trait Choice: Mechanism + Sized + 'static {
    /// The choice that keeps `epsilon`.
    fn new(epsilon: Epsilon, sensitivity: Distance, change: UtilityChange) -> Result<Self, MechanismError>;

    /// The index of the chosen candidate.
    fn choose(&self, utilities: &[f64], random: &mut dyn RandomBits) -> Result<usize, MechanismError>;
}

impl Choice for Exponential {
    fn new(epsilon: Epsilon, sensitivity: Distance, change: UtilityChange) -> Result<Self, MechanismError> {
        Exponential::new(epsilon, sensitivity, change)
    }

    fn choose(&self, utilities: &[f64], random: &mut dyn RandomBits) -> Result<usize, MechanismError> {
        self.choose(utilities, random)
    }
}

impl Choice for PermuteAndFlip {
    fn new(epsilon: Epsilon, sensitivity: Distance, change: UtilityChange) -> Result<Self, MechanismError> {
        PermuteAndFlip::new(epsilon, sensitivity, change)
    }

    fn choose(&self, utilities: &[f64], random: &mut dyn RandomBits) -> Result<usize, MechanismError> {
        self.choose(utilities, random)
    }
}

/// The choice that keeps the promise, or that was made for a loss.
pub fn make<C: Choice>(request: &Request) -> Made {
    Ok(Box::new(choice::<C>(request)?))
}

/// The index of the chosen candidate.
///
/// # Errors
/// If the request is wrong, or random bits cannot be had.
pub fn choose<C: Choice>(request: &Request, utilities: &[f64], random: &mut dyn RandomBits) -> Result<usize, Failure> {
    choice::<C>(request)?.choose(utilities, random).map_err(|error| match error {
        // The request was right, so that it was the noise that could not be drawn.
        MechanismError::Noise(error) => Failure::Fault(error.to_string()),
        error => error.into(),
    })
}

fn choice<C: Choice>(request: &Request) -> Result<C, Failure> {
    let epsilon = Epsilon::positive(if request.calibrates() { request.epsilon()? } else { request.loss()? })?;
    let sensitivity = Distance::new(request.need("sensitivity", &request.options().sensitivities.sensitivity)?)?;
    let change = if request.method()? == "one-way" { UtilityChange::OneWay } else { UtilityChange::EitherWay };
    Ok(C::new(epsilon, sensitivity, change)?)
}
