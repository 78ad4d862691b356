//! The secret key of one query, and what is hashed with it.

use super::short_text::ShortText;
use crate::EngineError;
use reticent_noise::randomness::RandomBits;
use std::fmt;

/// A fresh secret of 256 bits that orders the groups of each unit.
///
/// # What rests on it
/// For *any* function that gives each pair (unit, group) a rank in a total order, the groups that
/// a unit keeps are a function of that unit's own rows: to remove another unit changes nothing
/// about them. So the sensitivity, and with it the privacy, holds for every key and every hash,
/// also for one that an attacker knows or chose. What rests on the hash is that the choice is
/// uniform: a fixed or guessable order would always favour the same groups, and answers would be
/// biased. The hash is keyed so that whoever writes the data cannot aim at the table's collisions
/// either.
///
/// # Construction
/// `fold(a, b)` is the exclusive or of the two halves of the 128-bit product `a * b`, the mixing
/// step of the wyhash family. A word takes two of them, text one per 16 bytes and two at the end
/// (three for up to 12 bytes, which are hashed with their length), the priority of a pair two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey([u64; 4]);

impl SecretKey {
    /// A key for where nothing is chosen.
    pub(super) const NONE: Self = Self([0; 4]);

    /// Draws a key.
    ///
    /// # Errors
    /// [`EngineError::Randomness`] if there are no random bits.
    pub fn draw(random: &mut impl RandomBits) -> Result<Self, EngineError> {
        let mut words = [0; 4];
        random.fill(&mut words)?;
        Ok(Self(words))
    }

    /// The hash of a fixed-width value.
    #[inline(always)]
    pub(super) fn word(&self, word: u64) -> u64 {
        fold(fold(word ^ self.0[0], self.0[1] | 1) ^ self.0[2], self.0[3] | 1)
    }

    /// The hash of a text of up to 12 bytes.
    #[inline(always)]
    pub(super) fn short(&self, text: ShortText) -> u64 {
        self.word(self.both(self.0[0], text.halves()))
    }

    /// The hash of a text, or of any bytes.
    #[inline]
    pub(super) fn bytes(&self, bytes: &[u8]) -> u64 {
        if let Some(text) = ShortText::of(bytes) {
            return self.short(text);
        }
        let mut hash = self.0[0];
        let (pieces, rest) = bytes.as_chunks::<16>();
        for piece in pieces {
            hash = self.piece(hash, piece);
        }
        if !rest.is_empty() {
            // The length is mixed in below, so that it does no harm to read some bytes twice.
            hash = match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk()) {
                (Some(last), _, _) => self.piece(hash, last),
                (None, Some(first), Some(last)) => {
                    self.both(hash, (u64::from_le_bytes(*first), u64::from_le_bytes(*last)))
                }
                // Of 13 bytes or more the first and the last eight are there.
                _ => hash,
            };
        }
        self.word(hash ^ bytes.len() as u64)
    }

    /// The hash of NULL.
    pub(super) fn null(&self) -> u64 {
        self.word(self.0[3])
    }

    /// The rank of a group among the groups of a unit, each given by its mark: the lowest are
    /// kept.
    #[inline(always)]
    pub(super) fn priority(&self, unit: u64, group: u64) -> u64 {
        fold(fold(unit ^ self.0[2], group ^ self.0[3]) ^ unit, self.0[0] | 1)
    }

    #[inline(always)]
    fn piece(&self, hash: u64, piece: &[u8; 16]) -> u64 {
        let both = u128::from_le_bytes(*piece);
        self.both(hash, (both as u64, (both >> 64) as u64))
    }

    #[inline(always)]
    fn both(&self, hash: u64, (low, high): (u64, u64)) -> u64 {
        fold(low ^ hash, high ^ self.0[1])
    }
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SecretKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn key(seed: u64) -> SecretKey {
        SecretKey::draw(&mut SeededRandom::new(seed)).expect("a seeded generator does not fail")
    }

    /// Of `groups` consecutive numbers each of `units` consecutive units keeps the `kept` lowest
    /// priorities. How often each group, and each pair of neighbouring groups, is kept.
    fn kept_counts(
        priority: impl Fn(u64, u64) -> u64,
        units: u64,
        groups: usize,
        kept: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let (mut single, mut pair) = (vec![0.0; groups], vec![0.0; groups - 1]);
        for unit in 0..units {
            let mut order: Vec<(u64, usize)> =
                (0..groups).map(|group| (priority(unit, group as u64), group)).collect();
            order.sort_unstable();
            let mut is_kept = vec![false; groups];
            order[..kept].iter().for_each(|&(_, group)| is_kept[group] = true);
            for group in 0..groups {
                single[group] += f64::from(u8::from(is_kept[group]));
                if group + 1 < groups {
                    pair[group] += f64::from(u8::from(is_kept[group] && is_kept[group + 1]));
                }
            }
        }
        (single, pair)
    }

    /// The largest deviation of a binomial count from its mean, in standard deviations.
    fn worst(counts: &[f64], trials: f64, probability: f64) -> f64 {
        let deviation = (trials * probability * (1.0 - probability)).sqrt();
        counts
            .iter()
            .map(|count| (count - trials * probability).abs() / deviation)
            .fold(0.0, f64::max)
    }

    // Each count is binomial with 40,000 trials, so 6 standard deviations are exceeded with a
    // chance of about 2e-9 (pairs: a mean of 182, skewed, about 1e-8); 3 keys of 200 + 199 counts:
    // a false-alarm rate below 1e-5 over new seeds, and the seeds are fixed.
    #[test]
    fn groups_are_kept_uniformly_also_for_consecutive_numbers() {
        let (units, groups, kept) = (40_000, 200, 14);
        let alone = kept as f64 / groups as f64;
        let together = alone * (kept - 1) as f64 / (groups - 1) as f64;
        for seed in 0..3 {
            let key = key(seed);
            let (single, pair) = kept_counts(|u, g| key.priority(u, g), units, groups, kept);
            assert!(worst(&single, units as f64, alone) < 6.0, "seed {seed}");
            assert!(worst(&pair, units as f64, together) < 6.0, "seed {seed}");
        }
        // Power: an order by a product modulo 2^64 without mixing is seen to be uneven.
        let weak = |unit: u64, group: u64| {
            (2 * unit + 1).wrapping_mul(group).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let (single, pair) = kept_counts(weak, units, groups, kept);
        assert!(
            worst(&single, units as f64, alone).max(worst(&pair, units as f64, together)) > 6.0
        );
    }

    #[test]
    fn text_of_all_lengths_has_hashes_of_its_own() {
        let key = key(7);
        let long = [b'a'; 200];
        let mut seen: Vec<u64> =
            (0..=long.len()).map(|length| key.bytes(&long[..length])).collect();
        seen.extend((1..40).map(|zeros| key.bytes(&vec![0; zeros])));
        // Every byte counts.
        for length in 1..40 {
            for at in 0..length {
                let mut text = vec![b'b'; length];
                text[at] = b'c';
                seen.push(key.bytes(&text));
            }
        }
        seen.push(key.null());
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    #[test]
    fn another_key_gives_another_order_and_none_is_shown() {
        assert_ne!(key(1).priority(5, 6), key(2).priority(5, 6));
        assert_eq!(format!("{:?}", key(1)), "SecretKey(..)");
    }
}
