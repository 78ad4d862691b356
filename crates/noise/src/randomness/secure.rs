//! The generator of releases.

use std::fmt;

use zeroize::Zeroize;

use super::entropy::draw_key;
use super::fork::{self, ProcessMark};
use super::keystream::Keystream;
use super::{EntropySource, KEY_BYTES, OperatingSystem, Provenance, RandomBits, RandomnessError};

/// The generator of releases: [`FastKeyErasure`] keyed by the operating system.
pub type SecureRandom = FastKeyErasure<OperatingSystem>;

/// ChaCha20 with fast key erasure.
///
/// # Construction
/// A key `k_0` of 256 bits comes from the entropy source. A refill `i` computes 4096 bytes of the
/// ChaCha20 keystream of `k_i` with nonce 0; the first 32 bytes become `k_(i+1)` and replace `k_i`,
/// the other 508 words are handed out, and each is erased as it is. Whoever distinguishes the
/// words from uniform ones distinguishes ChaCha20 from a random function, with an advantage that
/// grows by one such distinguishing for each refill. No key is used for more than 64 blocks, far
/// from the `2^32` at which the block counter of RFC 8439 would repeat.
///
/// # Guarantees
/// - *Forward secrecy.* The memory of a generator holds neither words already drawn nor anything
///   from which they follow. It is on the heap, so that moving the generator leaves no copy, and is
///   zeroized when dropped.
/// - *Forks.* After a `fork` the child discards the words it inherited and draws a new key from the
///   entropy source before its first word; what a bare system call can evade is listed in `fork.rs`.
/// - *Fail closed.* When a key is needed and the source fails, is short, or repeats itself, the
///   draw is an error and so is every later one.
/// - Not `Clone`: two copies would draw the same noise.
///
/// # References
/// D. J. Bernstein, *Fast-key-erasure random-number generators*, 2017.
/// Y. Nir, A. Langley, *ChaCha20 and Poly1305 for IETF Protocols*, RFC 8439, 2018.
pub struct FastKeyErasure<E: EntropySource> {
    state: Box<State>,
    entropy: E,
}

struct State {
    unread: Keystream,
    /// Of the next refill; zero when closed.
    key: [u8; KEY_BYTES],
    /// The process in which the key was drawn.
    keyed_in: ProcessMark,
    closed: bool,
}

/// Every key makes one refill, so one nonce serves them all.
const NONCE: [u8; 12] = [0; 12];

impl SecureRandom {
    /// A generator with a key of its own from the operating system.
    ///
    /// # Errors
    /// When the operating system delivers no usable entropy or the fork handler cannot be registered.
    pub fn new() -> Result<Self, RandomnessError> {
        Self::keyed_from(OperatingSystem)
    }
}

impl<E: EntropySource> FastKeyErasure<E> {
    /// A generator that draws its keys from `entropy`.
    ///
    /// # Errors
    /// When the source delivers no usable entropy or the fork handler cannot be registered.
    pub fn keyed_from(entropy: E) -> Result<Self, RandomnessError> {
        let process = ProcessMark::of_this_process()?;
        let state = State {
            unread: Keystream::empty(),
            key: [0; KEY_BYTES],
            keyed_in: process,
            closed: true,
        };
        let mut generator = Self {
            state: Box::new(state),
            entropy,
        };
        generator.rekey(process)?;
        Ok(generator)
    }

    /// Closes the generator, draws a key, and opens it again when that succeeds.
    fn rekey(&mut self, process: ProcessMark) -> Result<(), RandomnessError> {
        let state = &mut *self.state;
        state.closed = true;
        state.unread.erase();
        draw_key(&mut self.entropy, &mut state.key)?;
        state.keyed_in = process;
        state.closed = false;
        Ok(())
    }

    /// Makes words available that belong to this process alone.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Result<(), RandomnessError> {
        if self.state.closed {
            return Err(RandomnessError::Closed);
        }
        let process = ProcessMark::of_this_process()?;
        if process != self.state.keyed_in {
            self.rekey(process)?;
        }
        let state = &mut *self.state;
        state.unread.generate(&state.key, NONCE, 0);
        state.unread.take_key(&mut state.key);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn refill_and_take(&mut self) -> Result<u64, RandomnessError> {
        self.refill()?;
        // A refill leaves 508 words, so there is one; were there none, no number is drawn.
        self.state.unread.take().ok_or(RandomnessError::Closed)
    }

    #[inline(always)]
    fn was_forked(&self) -> bool {
        fork::generation() != self.state.keyed_in.generation
    }
}

impl<E: EntropySource> RandomBits for FastKeyErasure<E> {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        if !self.was_forked()
            && let Some(word) = self.state.unread.take()
        {
            return Ok(word);
        }
        self.refill_and_take()
    }

    fn provenance(&self) -> Provenance {
        self.entropy.provenance()
    }

    fn fill(&mut self, words: &mut [u64]) -> Result<(), RandomnessError> {
        let mut missing = words;
        if self.was_forked() {
            self.refill()?;
        }
        loop {
            let taken = self.state.unread.take_into(missing);
            missing = &mut missing[taken..];
            if missing.is_empty() {
                return Ok(());
            }
            self.refill()?;
        }
    }
}

impl<E: EntropySource> Drop for FastKeyErasure<E> {
    fn drop(&mut self) {
        self.state.key.zeroize();
    }
}

impl<E: EntropySource> fmt::Debug for FastKeyErasure<E> {
    /// Prints the provenance and nothing of the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastKeyErasure")
            .field("provenance", &self.provenance())
            .finish_non_exhaustive()
    }
}
