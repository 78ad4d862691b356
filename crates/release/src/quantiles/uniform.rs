//! Uniform integers.

use reticent_noise::randomness::{RandomBits, RandomnessError};

/// A uniform integer from 0 to `count - 1`, by rejection: each try succeeds with probability above
/// 1/2.
pub(super) fn below<R: RandomBits + ?Sized>(
    count: u64,
    random: &mut R,
) -> Result<u64, RandomnessError> {
    let mask = count.saturating_sub(1).checked_ilog2().map_or(0, |bits| u64::MAX >> (63 - bits));
    loop {
        let word = random.next_u64()? & mask;
        if word < count.max(1) {
            return Ok(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    #[test]
    fn uniform_integers_are_uniform() {
        let mut random = SeededRandom::new(8);
        for count in [1u64, 2, 3, 5, 64] {
            let mut seen = vec![0f64; count as usize];
            (0..20_000)
                .for_each(|_| seen[below(count, &mut random).expect("seeded") as usize] += 1.0);
            let expected = 20_000.0 / count as f64;
            // Six deviations, 75 cells: once in 7e6 seeds.
            assert!(
                seen.iter().all(|n| (n - expected).abs() <= 6.0 * expected.sqrt()),
                "{count}: {seen:?}"
            );
        }
        assert!((0..100).all(|_| below(u64::MAX, &mut random).is_ok()));
    }
}
