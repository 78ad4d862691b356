//! A generator that counts the words drawn from it.

use reticent_noise::randomness::{Provenance, RandomBits, RandomnessError};

/// Passes the words of another generator on and counts them.
#[derive(Debug)]
pub struct Counting<R> {
    bits: R,
    words: u64,
}

impl<R: RandomBits> Counting<R> {
    /// Counts the words of `bits`, from zero.
    pub fn new(bits: R) -> Self {
        Counting { bits, words: 0 }
    }

    /// The words drawn since the last call.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.words)
    }
}

impl<R: RandomBits> RandomBits for Counting<R> {
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        self.words += 1;
        self.bits.next_u64()
    }

    fn provenance(&self) -> Provenance {
        self.bits.provenance()
    }
}
