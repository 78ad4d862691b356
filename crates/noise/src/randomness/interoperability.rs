//! These generators as those of `rand_core`, for code written against that crate.
//!
//! An algorithm that wants an infallible generator takes it as `rand_core::UnwrapErr(generator)`,
//! which panics where an error would be returned: for benchmarks, not for releases.

use rand_core::{TryCryptoRng, TryRng};

use super::{
    EntropySource, FastKeyErasure, RandomBits, RandomnessError, SecureRandom, SeededRandom,
};

impl<E: EntropySource> TryRng for FastKeyErasure<E> {
    type Error = RandomnessError;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, RandomnessError> {
        low_half(self)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, RandomnessError> {
        self.next_u64()
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), RandomnessError> {
        fill_bytes(self, destination)
    }
}

/// Only a generator keyed by the operating system may pass for a cryptographic one.
impl TryCryptoRng for SecureRandom {}

impl TryRng for SeededRandom {
    type Error = RandomnessError;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, RandomnessError> {
        low_half(self)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, RandomnessError> {
        self.next_u64()
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), RandomnessError> {
        fill_bytes(self, destination)
    }
}

/// A word for each half: no half word is kept for the next call.
#[inline]
fn low_half(random: &mut impl RandomBits) -> Result<u32, RandomnessError> {
    random.next_u64().map(|word| word as u32)
}

fn fill_bytes(random: &mut impl RandomBits, destination: &mut [u8]) -> Result<(), RandomnessError> {
    for chunk in destination.chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64()?.to_le_bytes()[..chunk.len()]);
    }
    Ok(())
}
