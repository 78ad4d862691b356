//! The sampler that the attacks were made for.

use reticent_noise::randomness::{RandomBits, RandomnessError};

/// Laplace noise as textbooks have it: minus the logarithm of a 53-bit uniform number, with a
/// random sign, added in `f64`.
#[derive(Clone, Copy, Debug)]
pub struct NaiveLaplace {
    /// The scale of the noise.
    pub scale: f64,
}

impl NaiveLaplace {
    /// The number of different uniform numbers.
    pub const UNIFORMS: u64 = 1 << 53;

    /// `value + sign * scale * ln(u)` with `u = k / 2^53`, `k` from 1 to `2^53`.
    pub fn output(&self, value: f64, negative: bool, k: u64) -> f64 {
        let uniform = k as f64 / Self::UNIFORMS as f64;
        let magnitude = -self.scale * uniform.ln();
        if negative { value - magnitude } else { value + magnitude }
    }

    /// One release.
    ///
    /// # Errors
    /// If random bits cannot be had.
    pub fn release<R: RandomBits>(
        &self,
        value: f64,
        random: &mut R,
    ) -> Result<f64, RandomnessError> {
        let word = random.next_u64()?;
        Ok(self.output(value, word & 1 == 1, (word >> 11) + 1))
    }

    /// Whether `output` can have come from `value`: the attacker runs the sampler backwards.
    ///
    /// `u = exp(-|output - value| / scale)` is the uniform number, but for rounding: the logarithm
    /// of neighbouring `k` may round to one output, and the sum may swallow low bits of the noise.
    /// All `k` are tried that come within two units in the last place of the sum, and a few more on
    /// either side.
    pub fn can_give(&self, value: f64, output: f64) -> bool {
        let noise = output - value;
        let ulp = output.abs().max(value.abs()).next_up() - output.abs().max(value.abs());
        let at = |magnitude: f64| (-magnitude / self.scale).exp() * Self::UNIFORMS as f64;
        let least = (at(noise.abs() + 2.0 * ulp).floor() - 4.0).max(1.0) as u64;
        let most =
            (at((noise.abs() - 2.0 * ulp).max(0.0)).ceil() + 4.0).min(Self::UNIFORMS as f64) as u64;
        (least..=most).any(|k| {
            [false, true].iter().any(|&negative| self.output(value, negative, k) == output)
        })
    }
}
