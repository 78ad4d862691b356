//! Generators for the parts of a computation that run in parallel.

use super::{KEY_BYTES, Provenance, RandomBits, RandomnessError, SecureRandom, SeededRandom};

/// A family of independent generators, one for each part of the work.
///
/// The work is split into parts that do not depend on the number of threads, and part `n` draws
/// from stream `n`: a seeded family then gives the same result on any number of threads.
pub trait RandomStreams: Sync {
    /// The generator of one part.
    type Bits: RandomBits;

    /// The generator of part `index`.
    ///
    /// # Errors
    /// When it cannot be made.
    fn stream(&self, index: u64) -> Result<Self::Bits, RandomnessError>;

    /// The provenance of every stream.
    fn provenance(&self) -> Provenance;
}

/// Streams for a release: each is keyed afresh by the operating system, also when the same index is
/// asked for twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SecureStreams;

impl RandomStreams for SecureStreams {
    type Bits = SecureRandom;

    fn stream(&self, _index: u64) -> Result<SecureRandom, RandomnessError> {
        SecureRandom::new()
    }

    fn provenance(&self) -> Provenance {
        Provenance::Secure
    }
}

/// Streams for tests: stream `n` of a seed, the same words each time it is asked for.
#[derive(Debug)]
pub struct SeededStreams(SeededRandom);

impl SeededStreams {
    /// The streams of a seed given as a number, see [`SeededRandom::new`].
    pub fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    /// The streams of a seed given as a key.
    pub fn from_seed(seed: [u8; KEY_BYTES]) -> Self {
        Self(SeededRandom::from_seed(seed))
    }
}

impl RandomStreams for SeededStreams {
    type Bits = SeededRandom;

    fn stream(&self, index: u64) -> Result<SeededRandom, RandomnessError> {
        Ok(self.0.stream(index))
    }

    fn provenance(&self) -> Provenance {
        Provenance::Seeded
    }
}
