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
/// the other 508 words are handed out, and each is erased as it is. Telling the words of `n`
/// refills from uniform ones is, by a hybrid argument over the keys, at most `n` times as easy as
/// telling one ChaCha20 keystream from a random one. No key is used for more than 64 blocks, far
/// from the `2^32` at which the block counter of RFC 8439 would repeat.
///
/// # Guarantees
/// - *Forward secrecy.* The memory of a generator holds neither words already drawn nor anything
///   from which they follow. Key and unread words are on the heap, so that moving the generator
///   leaves no copy of them, and are zeroized when it is dropped.
/// - *Forks.* After a `fork` the child discards the words it inherited and draws a new key from the
///   entropy source before its first word; what a bare system call can evade is listed in
///   `fork.rs`.
/// - *Fail closed.* When a key is needed and the source fails, is short, or repeats itself, the
///   draw is an error and so is every later one.
/// - Not `Clone`: two copies would draw the same noise.
///
/// ```compile_fail
/// let random = reticent_noise::randomness::SecureRandom::new().unwrap();
/// let copy = random.clone();
/// ```
///
/// # References
/// D. J. Bernstein, *Fast-key-erasure random-number generators*, 2017.
/// Y. Nir, A. Langley, *ChaCha20 and Poly1305 for IETF Protocols*, RFC 8439, 2018.
pub struct FastKeyErasure<E: EntropySource> {
    unread: Keystream,
    /// The process in which the key was drawn.
    keyed_in: ProcessMark,
    closed: bool,
    /// Of the next refill; zero when closed.
    key: Box<[u8; KEY_BYTES]>,
    entropy: E,
}

/// Every key makes one refill, so one nonce serves them all.
const NONCE: [u8; 12] = [0; 12];

impl SecureRandom {
    /// A generator with a key of its own from the operating system.
    ///
    /// # Errors
    /// When the operating system delivers no usable entropy or the fork handler cannot be
    /// registered.
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
        let mut generator = Self {
            unread: Keystream::empty(),
            keyed_in: process,
            closed: true,
            key: Box::new([0; KEY_BYTES]),
            entropy,
        };
        generator.rekey(process)?;
        Ok(generator)
    }

    /// Closes the generator, draws a key, and opens it again when that succeeds.
    fn rekey(&mut self, process: ProcessMark) -> Result<(), RandomnessError> {
        self.closed = true;
        self.unread.erase();
        draw_key(&mut self.entropy, &mut self.key)?;
        self.keyed_in = process;
        self.closed = false;
        Ok(())
    }

    /// Makes words available that belong to this process alone.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Result<(), RandomnessError> {
        if self.closed {
            return Err(RandomnessError::Closed);
        }
        let process = ProcessMark::of_this_process()?;
        if process != self.keyed_in {
            self.rekey(process)?;
        }
        self.unread.generate(&self.key, NONCE, 0);
        self.unread.take_key(&mut self.key);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn refill_and_take(&mut self) -> Result<u64, RandomnessError> {
        self.refill()?;
        // A refill leaves 508 words, so there is one; were there none, no number is drawn.
        self.unread.take().ok_or(RandomnessError::Closed)
    }

    #[inline(always)]
    fn was_forked(&self) -> bool {
        fork::generation() != self.keyed_in.generation
    }
}

impl<E: EntropySource> RandomBits for FastKeyErasure<E> {
    #[inline]
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        if !self.was_forked()
            && let Some(word) = self.unread.take()
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
            let taken = self.unread.take_into(missing);
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
        self.key.zeroize();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use chacha20::cipher::StreamCipher;
    use chacha20::{ChaCha20, KeyIvInit};

    use super::super::keystream::{BUFFER_WORDS, KEY_WORDS};
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Mood {
        Working,
        Failing,
        Short,
        Zero,
        Panicking,
    }

    /// The operating system's entropy, with the moods of a source that fails, and the keys it gave.
    struct Moody<'a> {
        mood: &'a Cell<Mood>,
        keys_given: &'a Cell<usize>,
        last_key: &'a Cell<[u8; KEY_BYTES]>,
    }

    const FAILURE: RandomnessError =
        RandomnessError::EntropyUnavailable(getrandom::Error::new_custom(1));

    impl EntropySource for Moody<'_> {
        #[allow(clippy::panic)]
        fn read(&mut self, destination: &mut [u8]) -> Result<usize, RandomnessError> {
            OperatingSystem.read(destination)?;
            self.keys_given.set(self.keys_given.get() + 1);
            match self.mood.get() {
                Mood::Working => {
                    let mut key = [0; KEY_BYTES];
                    key.copy_from_slice(destination);
                    self.last_key.set(key);
                    Ok(destination.len())
                }
                Mood::Failing => Err(FAILURE),
                Mood::Short => Ok(destination.len() - 1),
                Mood::Zero => {
                    destination.fill(0);
                    Ok(destination.len())
                }
                Mood::Panicking => panic!("the source panics"),
            }
        }
    }

    struct Bench {
        mood: Cell<Mood>,
        keys_given: Cell<usize>,
        last_key: Cell<[u8; KEY_BYTES]>,
    }

    impl Bench {
        fn new(mood: Mood) -> Self {
            Self {
                mood: Cell::new(mood),
                keys_given: Cell::new(0),
                last_key: Cell::new([0; KEY_BYTES]),
            }
        }

        fn generator(&self) -> Result<FastKeyErasure<Moody<'_>>, RandomnessError> {
            let Self { mood, keys_given, last_key } = self;
            FastKeyErasure::keyed_from(Moody { mood, keys_given, last_key })
        }
    }

    impl<E: EntropySource> FastKeyErasure<E> {
        /// Makes this generator believe that its key was drawn in the parent of this process.
        fn pretend_fork(&mut self) {
            self.keyed_in.generation = self.keyed_in.generation.wrapping_sub(1);
        }

        /// The same, for a child that the fork handler did not see.
        fn pretend_bare_clone(&mut self) {
            self.keyed_in.id ^= 1;
        }

        fn holds_nothing(&self) -> bool {
            *self.key == [0; KEY_BYTES] && self.unread.words().iter().all(|word| *word == [0; 8])
        }
    }

    fn failures() -> [(Mood, RandomnessError); 3] {
        [
            (Mood::Failing, FAILURE),
            (Mood::Short, RandomnessError::EntropyShort { delivered: 31, needed: 32 }),
            (Mood::Zero, RandomnessError::EntropyImplausible),
        ]
    }

    /// The first `refills` refills of the documented construction, computed with the cipher's other
    /// interface.
    fn construction(mut key: [u8; KEY_BYTES], refills: usize) -> Vec<u64> {
        let mut words = Vec::new();
        for _ in 0..refills {
            let mut bytes = vec![0; 8 * BUFFER_WORDS];
            ChaCha20::new(&key.into(), &[0; 12].into()).apply_keystream(&mut bytes);
            key.copy_from_slice(&bytes[..KEY_BYTES]);
            let (chunks, _) = bytes[KEY_BYTES..].as_chunks::<8>();
            words.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
        }
        words
    }

    #[test]
    fn the_words_are_those_of_the_construction_and_need_one_key() {
        let bench = Bench::new(Mood::Working);
        let mut random = bench.generator().unwrap();
        let expected = construction(bench.last_key.get(), 9);
        let mut drawn = Vec::new();
        // Single draws and fills of lengths that end inside, at, and beyond a refill.
        for length in [0, 1, 3, 500, 7, 508, 1, 1016, 1500] {
            drawn.push(random.next_u64().unwrap());
            let mut words = vec![0; length];
            random.fill(&mut words).unwrap();
            drawn.extend(words);
        }
        assert!(drawn.len() > 6 * (BUFFER_WORDS - KEY_WORDS));
        assert_eq!(drawn, expected[..drawn.len()]);
        assert_eq!(bench.keys_given.get(), 1);
    }

    #[test]
    fn a_key_is_replaced_before_its_first_word_is_drawn() {
        let bench = Bench::new(Mood::Working);
        let mut random = bench.generator().unwrap();
        let first = bench.last_key.get();
        assert_eq!(*random.key, first);
        random.next_u64().unwrap();
        assert_ne!(*random.key, first);
        assert!(random.unread.words()[..KEY_WORDS + 1].iter().all(|word| *word == [0; 8]));
    }

    #[test]
    fn without_entropy_there_is_no_generator() {
        for (mood, error) in failures() {
            let bench = Bench::new(mood);
            assert_eq!(bench.generator().err(), Some(error));
            assert_eq!(bench.keys_given.get(), 1);
        }
    }

    #[test]
    fn a_fork_discards_the_inherited_words_and_the_inherited_key() {
        for use_fill in [false, true] {
            let bench = Bench::new(Mood::Working);
            let mut random = bench.generator().unwrap();
            let inherited = construction(bench.last_key.get(), 3);
            for word in &inherited[..200] {
                assert_eq!(random.next_u64().as_ref(), Ok(word));
            }
            random.pretend_fork();
            let mut drawn = [0; 1000];
            if use_fill {
                random.fill(&mut drawn).unwrap();
            } else {
                drawn.fill_with(|| random.next_u64().unwrap());
            }
            assert_eq!(bench.keys_given.get(), 2);
            assert_eq!(drawn, construction(bench.last_key.get(), 2)[..1000]);
            assert!(drawn.iter().all(|word| !inherited.contains(word)));
        }
    }

    #[test]
    fn a_clone_behind_the_library_is_noticed_at_the_next_refill() {
        let bench = Bench::new(Mood::Working);
        let mut random = bench.generator().unwrap();
        random.next_u64().unwrap();
        random.pretend_bare_clone();
        let left = BUFFER_WORDS - KEY_WORDS - 1;
        random.fill(&mut vec![0; left]).unwrap();
        assert_eq!(bench.keys_given.get(), 1);
        let next = random.next_u64().unwrap();
        assert_eq!(bench.keys_given.get(), 2);
        assert_eq!(next, construction(bench.last_key.get(), 1)[0]);
    }

    #[test]
    fn without_entropy_after_a_fork_the_generator_is_closed_for_good() {
        for (mood, error) in failures() {
            let bench = Bench::new(Mood::Working);
            let mut random = bench.generator().unwrap();
            random.next_u64().unwrap();
            random.pretend_fork();
            bench.mood.set(mood);
            assert_eq!(random.next_u64(), Err(error));
            assert!(random.holds_nothing());

            bench.mood.set(Mood::Working);
            let mut words = [0; 3];
            for _ in 0..3 {
                assert_eq!(random.next_u64(), Err(RandomnessError::Closed));
                assert_eq!(random.fill(&mut words), Err(RandomnessError::Closed));
            }
            assert_eq!(words, [0; 3]);
            assert!(random.holds_nothing());
            assert_eq!(bench.keys_given.get(), 2);
        }
    }

    #[test]
    fn a_fill_without_entropy_fails_as_well() {
        let bench = Bench::new(Mood::Working);
        let mut random = bench.generator().unwrap();
        random.pretend_fork();
        bench.mood.set(Mood::Failing);
        let mut words = [0; 3];
        assert_eq!(random.fill(&mut words), Err(FAILURE));
        assert_eq!(random.fill(&mut words), Err(RandomnessError::Closed));
        assert_eq!(words, [0; 3]);
    }

    #[test]
    fn a_source_that_panics_closes_the_generator() {
        let bench = Bench::new(Mood::Working);
        let mut random = bench.generator().unwrap();
        random.next_u64().unwrap();
        random.pretend_fork();
        bench.mood.set(Mood::Panicking);
        assert!(catch_unwind(AssertUnwindSafe(|| random.next_u64())).is_err());
        bench.mood.set(Mood::Working);
        assert_eq!(random.next_u64(), Err(RandomnessError::Closed));
    }

    #[test]
    fn debug_output_has_no_state() {
        let mut random = SecureRandom::new().unwrap();
        random.next_u64().unwrap();
        assert_eq!(format!("{random:?}"), "FastKeyErasure { provenance: Secure, .. }");
    }
}
