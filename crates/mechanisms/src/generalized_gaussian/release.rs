//! Releases with generalized Gaussian noise, and the lattice they lie on.

use super::order::Order;
use crate::{MechanismError, Releaser};
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{GeneralizedGaussian as Noise, Lattice, Noise as _, Sampler};

/// The coarsest lattice from `2^-43` to `2^-59` of the noise that raises no sensitivity by more
/// than `1e-13` of itself, or else the finest.
///
/// It is a function of public parameters. A sensitivity that is a multiple of the spacing is not
/// changed by it; any other grows by less than one step, and the scale is calibrated for what it
/// grows to. (Draws on lattices below `2^-44` of the noise take a few times as long.)
pub(crate) fn lattice_for(
    order: Order,
    scale: f64,
    sensitivities: &[f64],
) -> Result<Lattice, MechanismError> {
    let magnitude = exponent_below(scale * Noise::new(order.get())?.magnitude());
    let mut lattice = Lattice::of_spacing_power(magnitude - 43)?;
    for bits in 44..=59 {
        let moved = |distance: &f64| {
            lattice.sensitivity(*distance).is_ok_and(|moved| moved <= distance * (1.0 + 1e-13))
        };
        if sensitivities.iter().all(moved) {
            break;
        }
        lattice = Lattice::of_spacing_power(magnitude - bits)?;
    }
    Ok(lattice)
}

/// The exponent of the greatest power of two that is not above `value`.
fn exponent_below(value: f64) -> i32 {
    // Normal numbers only: scales are from 1e-140 to 1e140.
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// Adds generalized Gaussian noise, exactly.
#[derive(Debug)]
pub(crate) struct AddNoise {
    sampler: Sampler<Noise>,
}

impl AddNoise {
    pub(crate) fn new(order: Order, scale: f64, lattice: Lattice) -> Result<Self, MechanismError> {
        Ok(AddNoise { sampler: Sampler::new(Noise::new(order.get())?, scale, lattice)? })
    }
}

impl Releaser for AddNoise {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = self.sampler.lattice();
        let noise = self.sampler.draw(random)?;
        // What is not a number is released as zero with noise: a NaN would tell of itself.
        let value = lattice.nearest(value).unwrap_or(0);
        Ok(lattice.value(lattice.add(value, noise)))
    }

    fn spacing(&self) -> f64 {
        self.sampler.lattice().spacing()
    }
}
