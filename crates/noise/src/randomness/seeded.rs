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
/// Word `8 b + j` of stream `s` is the little-endian word `j` of the ChaCha20 block whose key is the
/// seed, whose 64-bit block counter is `b` and whose 64-bit nonce is `s`, as in Bernstein's original
/// layout. (In that of RFC 8439: counter `b mod 2^32`, nonce `⌊b / 2^32⌋ ‖ s`.) A seed given as a
/// number stands for its eight little-endian bytes followed by zeros. Different streams never meet,
/// so the streams of one seed can be drawn in parallel and in any order.
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
pub struct SeededRandom {
    state: Box<State>,
}

struct State {
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
        Self {
            state: Box::new(State {
                unread: Keystream::empty(),
                seed,
                stream: 0,
                next_block: 0,
            }),
        }
    }

    /// Stream `stream` of the same seed, from its start, whatever has been drawn from this one.
    #[must_use]
    pub fn stream(&self, stream: u64) -> Self {
        let mut other = Self::from_seed(self.state.seed);
        other.state.stream = stream;
        other
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        let State {
            unread,
            seed,
            stream,
            next_block,
        } = &mut *self.state;
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
        self.state.unread.take().ok_or(RandomnessError::Closed)
    }
}

impl RandomBits for SeededRandom {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        match self.state.unread.take() {
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
            let taken = self.state.unread.take_into(missing);
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
        f.debug_struct("SeededRandom")
            .field("stream", &self.state.stream)
            .finish_non_exhaustive()
    }
}
