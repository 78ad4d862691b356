//! Where keys come from, and which keys are refused.

use std::sync::atomic::{AtomicU64, Ordering};

use chacha20::ChaCha20;
use chacha20::KeyIvInit;
use chacha20::cipher::StreamCipher;
use zeroize::Zeroize;

use super::{Provenance, RandomnessError};

/// Bytes of a ChaCha20 key.
pub const KEY_BYTES: usize = 32;

/// A source of unpredictable bytes.
///
/// A release uses [`OperatingSystem`]. The trait is the seam through which tests show what happens
/// when entropy fails.
pub trait EntropySource {
    /// Writes unpredictable bytes to `destination` from its start; says how many.
    ///
    /// # Errors
    /// When the source fails. Fewer bytes than `destination` holds are refused by the caller.
    fn read(&mut self, destination: &mut [u8]) -> Result<usize, RandomnessError>;

    /// What may be claimed for a generator that is keyed from here. Only the operating system is
    /// [`Provenance::Secure`]; the default takes the cautious side.
    fn provenance(&self) -> Provenance {
        Provenance::Seeded
    }
}

/// The operating system's generator: `getrandom` on Linux, its counterpart elsewhere. Blocks until
/// the system has gathered enough entropy after its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatingSystem;

impl EntropySource for OperatingSystem {
    fn read(&mut self, destination: &mut [u8]) -> Result<usize, RandomnessError> {
        getrandom::fill(destination).map_err(RandomnessError::EntropyUnavailable)?;
        Ok(destination.len())
    }

    fn provenance(&self) -> Provenance {
        Provenance::Secure
    }
}

/// Overwrites `key` with fresh bytes of `source`.
///
/// # Errors
/// When the source fails, delivers too little, or delivers what a working source would deliver with
/// probability below `2^-60` ([`looks_random`], [`SeenKeys`]). `key` is zero then.
pub(super) fn draw_key(
    source: &mut impl EntropySource,
    key: &mut [u8; KEY_BYTES],
) -> Result<(), RandomnessError> {
    key.zeroize();
    let drawn = source.read(key).and_then(|delivered| vet(delivered, key));
    if drawn.is_err() {
        key.zeroize();
    }
    drawn
}

fn vet(delivered: usize, key: &[u8; KEY_BYTES]) -> Result<(), RandomnessError> {
    if delivered != KEY_BYTES {
        return Err(RandomnessError::EntropyShort {
            delivered: u32::try_from(delivered).unwrap_or(u32::MAX),
            needed: KEY_BYTES as u8,
        });
    }
    if !looks_random(key) {
        return Err(RandomnessError::EntropyImplausible);
    }
    if SEEN_KEYS.insert(fingerprint(key)) { Ok(()) } else { Err(RandomnessError::EntropyRepeated) }
}

/// False for a key with a zero word or with two equal words among its four: an unwritten or
/// constant answer, also one that is so only in part.
///
/// A uniform key fails with probability at most `(4 + 6) 2^-64`.
fn looks_random(key: &[u8; KEY_BYTES]) -> bool {
    let (words, _) = key.as_chunks::<8>();
    words.iter().enumerate().all(|(i, word)| *word != [0; 8] && !words[..i].contains(word))
}

/// 64 bits that equal keys share and from which the key cannot be computed: keystream of the key
/// under a nonce that no generator uses.
fn fingerprint(key: &[u8; KEY_BYTES]) -> u64 {
    let mut fingerprint = [0; 8];
    ChaCha20::new(key.into(), b"fingerprint.".into()).apply_keystream(&mut fingerprint);
    u64::from_le_bytes(fingerprint)
}

static SEEN_KEYS: SeenKeys = SeenKeys::new();

/// Fingerprints of keys this process was given, the latest in each of 1024 slots.
///
/// A source that is stuck, or that replays, delivers the same key to the next generator; this is
/// noticed unless another key fell into the same slot in between. A false alarm needs two equal
/// fingerprints, probability `2^-64` for each key (and once more for an empty slot, which reads
/// as the fingerprint 0).
struct SeenKeys([AtomicU64; 1024]);

impl SeenKeys {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 1024])
    }

    /// Remembers a fingerprint; false when it is remembered already.
    fn insert(&self, fingerprint: u64) -> bool {
        self.0[(fingerprint % 1024) as usize].swap(fingerprint, Ordering::Relaxed) != fingerprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with the given bytes, and says that it wrote `delivered`.
    struct Canned<'a> {
        bytes: &'a [u8],
        delivered: usize,
    }

    impl EntropySource for Canned<'_> {
        fn read(&mut self, destination: &mut [u8]) -> Result<usize, RandomnessError> {
            destination[..self.bytes.len()].copy_from_slice(self.bytes);
            Ok(self.delivered)
        }
    }

    fn draw(bytes: &[u8], delivered: usize) -> (Result<(), RandomnessError>, [u8; KEY_BYTES]) {
        let mut key = [0xaa; KEY_BYTES];
        (draw_key(&mut Canned { bytes, delivered }, &mut key), key)
    }

    #[test]
    fn implausible_answers_are_refused_and_leave_no_key() {
        let counting: [u8; KEY_BYTES] = std::array::from_fn(|i| i as u8);
        let mut half_written = counting;
        half_written[16..24].fill(0);
        let mut repeating = counting;
        repeating.copy_within(0..8, 24);
        for bytes in [[0; KEY_BYTES], [0xff; KEY_BYTES], half_written, repeating] {
            assert_eq!(
                draw(&bytes, KEY_BYTES),
                (Err(RandomnessError::EntropyImplausible), [0; KEY_BYTES])
            );
        }
        assert_eq!(draw(&counting, KEY_BYTES), (Ok(()), counting));
    }

    #[test]
    fn other_lengths_than_a_key_are_refused_and_leave_no_key() {
        let bytes: [u8; KEY_BYTES] = std::array::from_fn(|i| 100 + i as u8);
        for delivered in [0, 1, 31, 33, usize::MAX] {
            let (drawn, key) = draw(&bytes, delivered);
            assert!(
                matches!(drawn, Err(RandomnessError::EntropyShort { needed: 32, .. })),
                "{delivered}"
            );
            assert_eq!(key, [0; KEY_BYTES]);
        }
    }

    #[test]
    fn a_repeated_fingerprint_is_noticed_until_its_slot_is_taken() {
        let seen = SeenKeys::new();
        assert!(seen.insert(5) && seen.insert(6));
        assert!(!seen.insert(5) && !seen.insert(6));
        assert!(seen.insert(5 + 1024) && seen.insert(5));
    }

    /// Other tests of this process draw keys at the same time, and one of them may take the slot
    /// between two draws of this one: once in a thousand times if it falls between them, which it
    /// does in at most every hundredth pair. That this happens to ten pairs in a row has a
    /// probability below `1e-5^10`.
    #[test]
    fn a_source_that_repeats_itself_is_refused() {
        let bytes: [u8; KEY_BYTES] = std::array::from_fn(|i| 200 + i as u8);
        assert_eq!(draw(&bytes, KEY_BYTES), (Ok(()), bytes));
        let refused = (Err(RandomnessError::EntropyRepeated), [0; KEY_BYTES]);
        assert!((0..10).any(|_| draw(&bytes, KEY_BYTES) == refused));
    }

    #[test]
    fn only_the_operating_system_is_secure() {
        assert_eq!(OperatingSystem.provenance(), Provenance::Secure);
        assert_eq!(Canned { bytes: &[], delivered: 0 }.provenance(), Provenance::Seeded);
    }
}
