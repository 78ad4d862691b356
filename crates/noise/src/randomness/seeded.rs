//! The reproducible generator of tests.

use std::fmt;

use super::keystream::{BUFFER_BLOCKS, Keystream};
use super::{KEY_BYTES, Provenance, RandomBits, RandomnessError};

/// ChaCha20 keystream determined by a seed and a stream number: the same words for ever.
///
/// For tests and for reproducing a computation. It protects nobody: whoever knows the seed knows
/// the noise. Its [`Provenance`] is [`Seeded`](Provenance::Seeded), and it is no `TryCryptoRng`.
///
/// # Words
/// Word `8 b + j` of stream `s` is the little-endian word `j` of the ChaCha20 block whose key is
/// the seed, whose 64-bit block counter is `b` and whose 64-bit nonce is `s`, as in Bernstein's
/// original layout. (In that of RFC 8439: counter `b mod 2^32`, nonce `⌊b / 2^32⌋ ‖ s`.) A seed
/// given as a number stands for its eight little-endian bytes followed by zeros. Different streams
/// never meet, so the streams of one seed can be drawn in parallel and in any order.
///
/// ```
/// use reticent_noise::randomness::{RandomBits, SeededRandom};
///
/// let mut first = SeededRandom::new(42);
/// let mut again = SeededRandom::new(42);
/// assert_eq!(first.next_u64()?, again.next_u64()?);
/// assert_ne!(first.next_u64()?, SeededRandom::new(42).stream(1).next_u64()?);
/// # Ok::<(), reticent_noise::randomness::RandomnessError>(())
/// ```
///
/// A release path that asks for a cryptographic generator does not accept it:
///
/// ```compile_fail
/// fn release(_random: impl rand_core::TryCryptoRng) {}
/// release(reticent_noise::randomness::SeededRandom::new(42));
/// ```
pub struct SeededRandom {
    unread: Keystream,
    seed: [u8; KEY_BYTES],
    stream: u64,
    next_block: u64,
}

// The low half of the block counter never wraps within one buffer.
const _: () = assert!(BUFFER_BLOCKS.is_power_of_two());

impl SeededRandom {
    /// Stream 0 of a seed given as a number.
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; KEY_BYTES];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self::from_seed(bytes)
    }

    /// Stream 0 of a seed given as a key.
    pub fn from_seed(seed: [u8; KEY_BYTES]) -> Self {
        Self { unread: Keystream::empty(), seed, stream: 0, next_block: 0 }
    }

    /// Stream `stream` of the same seed, from its start, whatever has been drawn from this one.
    #[must_use]
    pub fn stream(&self, stream: u64) -> Self {
        let mut other = Self::from_seed(self.seed);
        other.stream = stream;
        other
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let Self { unread, seed, stream, next_block } = self;
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&((*next_block >> 32) as u32).to_le_bytes());
        nonce[4..].copy_from_slice(&stream.to_le_bytes());
        unread.generate(seed, nonce, *next_block as u32);
        *next_block = next_block.wrapping_add(u64::from(BUFFER_BLOCKS));
    }

    #[cold]
    #[inline(never)]
    fn refill_and_take(&mut self) -> Result<u64, RandomnessError> {
        self.refill();
        // A refill leaves 512 words, so there is one; were there none, no number is drawn.
        self.unread.take().ok_or(RandomnessError::Closed)
    }
}

impl RandomBits for SeededRandom {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        match self.unread.take() {
            Some(word) => Ok(word),
            None => self.refill_and_take(),
        }
    }

    fn provenance(&self) -> Provenance {
        Provenance::Seeded
    }

    fn fill(&mut self, words: &mut [u64]) -> Result<(), RandomnessError> {
        let mut missing = words;
        loop {
            let taken = self.unread.take_into(missing);
            missing = &mut missing[taken..];
            if missing.is_empty() {
                return Ok(());
            }
            self.refill();
        }
    }
}

impl fmt::Debug for SeededRandom {
    /// Prints the stream number and nothing of the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededRandom").field("stream", &self.stream).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Blocks `2^32 - 1` and `2^32` of stream 5, computed with OpenSSL 3: `openssl enc -chacha20 -K
    /// 2a00…00 -iv ffffffff000000000500000000000000`, and the block after.
    #[test]
    fn the_block_counter_carries_into_its_high_half() {
        let mut random = SeededRandom::new(42).stream(5);
        random.next_block = (1 << 32) - u64::from(BUFFER_BLOCKS);
        let mut words = vec![0; 8 * (BUFFER_BLOCKS as usize + 1)];
        random.fill(&mut words).unwrap();
        assert_eq!(
            words[words.len() - 16..],
            [
                0xff04ad453f87b1cb,
                0x9d4837dba6894770,
                0x1d46704de3ec2d63,
                0x6f9a1315b4e03875,
                0x62cb3383519e011a,
                0xba65becd5af65a56,
                0xa06b05233053f768,
                0xd0566c14629736b2,
                0xcd2a5419d48acfa1,
                0xcb39b6e3cc1ebe5e,
                0xae50faffae479c0e,
                0x4613df471dbc9c5f,
                0x8277add9be5579f6,
                0x18e29474eabebcbc,
                0xaa02beb062cdbdf4,
                0x57f3a02f551df333,
            ]
        );
    }

    #[test]
    fn debug_output_has_no_state() {
        let random = SeededRandom::new(42).stream(3);
        assert_eq!(format!("{random:?}"), "SeededRandom { stream: 3, .. }");
    }
}
