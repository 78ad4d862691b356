//! What a sampler asks of a generator.

use std::fmt;

use super::RandomnessError;

/// Independent, uniformly distributed 64-bit words, and where they come from.
///
/// # Contract
/// Each word that is returned is uniform on `0..2^64`, independent of all others, and is returned
/// once. A generator that cannot guarantee this for the next word returns an error instead.
pub trait RandomBits {
    /// The next word.
    ///
    /// # Errors
    /// When the generator needs entropy and does not get it. No word is returned then, and every
    /// later call is refused as well.
    fn next_u64(&mut self) -> Result<u64, RandomnessError>;

    /// Whether these bits may protect a release.
    fn provenance(&self) -> Provenance;

    /// Overwrites `words` with the next `words.len()` words, in the order in which
    /// [`next_u64`](Self::next_u64) would give them.
    ///
    /// # Errors
    /// As `next_u64`. What `words` holds after an error is not specified and not to be used.
    fn fill(&mut self, words: &mut [u64]) -> Result<(), RandomnessError> {
        for word in words {
            *word = self.next_u64()?;
        }
        Ok(())
    }
}

impl<R: RandomBits + ?Sized> RandomBits for &mut R {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        (**self).next_u64()
    }

    fn provenance(&self) -> Provenance {
        (**self).provenance()
    }

    fn fill(&mut self, words: &mut [u64]) -> Result<(), RandomnessError> {
        (**self).fill(words)
    }
}

impl<R: RandomBits + ?Sized> RandomBits for Box<R> {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        (**self).next_u64()
    }

    fn provenance(&self) -> Provenance {
        (**self).provenance()
    }

    fn fill(&mut self, words: &mut [u64]) -> Result<(), RandomnessError> {
        (**self).fill(words)
    }
}

/// Where random bits come from. A release states it in its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Keyed by the operating system: unpredictable, and never drawn twice.
    Secure,
    /// Determined by a seed: reproducible, and no protection against whoever knows or guesses it.
    Seeded,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secure => "secure",
            Self::Seeded => "seeded",
        })
    }
}
