//! A generator whose next words are bent towards the rare paths of the sampler.

use reticent_noise::randomness::{Provenance, RandomBits, RandomnessError};

/// Restricts the lowest byte of the next few words, which chooses the column of the sampler's
/// table: 255 sends a draw to the next level of the table, or beyond the last one.
///
/// Draws made so are not the noise: but those that fall beyond all that was skipped follow it,
/// given that they do, because the columns that are left still have equal areas. A path that is
/// taken once in `2^24` draws can be tested with thousands.
#[derive(Debug)]
pub struct Forced<R> {
    bits: R,
    /// The least bytes of the words to come, the next one last.
    least: Vec<u8>,
}

impl<R: RandomBits> Forced<R> {
    /// The words of `bits`, none restricted.
    pub fn new(bits: R) -> Self {
        Forced { bits, least: Vec::new() }
    }

    /// Lets the lowest byte of each of the next words be at least the given one.
    pub fn restrict(&mut self, least: &[u8]) {
        self.least = least.iter().rev().copied().collect();
    }
}

impl<R: RandomBits> RandomBits for Forced<R> {
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        let word = self.bits.next_u64()?;
        let Some(least) = self.least.pop() else { return Ok(word) };
        // Uniform on least..=255, but for 2^-56.
        let above = (u128::from(self.bits.next_u64()?) * u128::from(256 - u16::from(least))) >> 64;
        Ok((word & !0xff) | (u64::from(least) + above as u64))
    }

    fn provenance(&self) -> Provenance {
        self.bits.provenance()
    }
}
