//! Releases by adding noise on a public lattice.

use crate::Releaser;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Noise, Sampler};

/// Rounds a value to the sampler's lattice and adds a draw.
///
/// The sum is the ideal real-valued release of the rounded value, rounded: so the guarantee for the
/// rounded value carries over, and with it the guarantee for the value if the sensitivity was that
/// of the rounded one.
#[derive(Debug)]
pub(crate) struct AdditiveRelease<N> {
    sampler: Sampler<N>,
    /// Post-processing: released numbers are moved into this range.
    range: (f64, f64),
}

impl<N: Noise> AdditiveRelease<N> {
    pub(crate) fn new(sampler: Sampler<N>) -> Self {
        AdditiveRelease { sampler, range: (f64::NEG_INFINITY, f64::INFINITY) }
    }

    pub(crate) fn clamped(self, lower: f64, upper: f64) -> Self {
        AdditiveRelease { range: (lower, upper), ..self }
    }
}

impl<N: Noise + 'static> Releaser for AdditiveRelease<N> {
    /// A NaN is released as zero would be; see [`Releaser::accepts`].
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = self.sampler.lattice();
        let noise = self.sampler.draw(random)?;
        let steps = lattice.add(lattice.nearest(value).unwrap_or(0), noise);
        let (lower, upper) = self.range;
        Ok(lattice.value(steps).max(lower).min(upper))
    }

    fn spacing(&self) -> f64 {
        self.sampler.lattice().spacing()
    }
}
