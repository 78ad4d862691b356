//! One of finitely many, with exactly the probabilities that real weights give.

use crate::lazy_uniform::LazyUniform;
use crate::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Bounds, Enclosure};
use std::cmp::Ordering;

/// Positive real numbers that can be bounded at any precision, to choose by.
pub trait Weights {
    /// How many there are.
    fn count(&self) -> usize;

    /// An enclosure of one of them at the precision of `like`. It gets narrower as the precision
    /// grows, without limit.
    fn weight<E: Enclosure>(&self, index: usize, like: &E) -> E;
}

/// The index `i` with probability `w_i / (w_0 + ... + w_(n-1))`, exactly; `None` where there is
/// nothing to choose from.
///
/// One uniform real `U` is inverted: with `S_i = w_0 + ... + w_i` the answer is the `i` with
/// `S_(i-1) <= U S_(n-1) < S_i`. Sixty-four bits of `U` are compared with certified sums in `f64`.
/// Where these leave the matter open (about once in `2^52 / n` choices) more bits are drawn and the
/// sums bounded more narrowly. So the number of bits, and all but a vanishing part of the time,
/// does not depend on the weights: all of them are evaluated and all sums compared, whichever is
/// chosen.
///
/// # Errors
/// If random bits cannot be had.
pub fn choose<W: Weights + ?Sized, R: RandomBits + ?Sized>(
    weights: &W,
    random: &mut R,
) -> Result<Option<usize>, RandomnessError> {
    if weights.count() == 0 {
        return Ok(None);
    }
    let mut uniform = LazyUniform::from_prefix(random.next_u64()?, 64);
    let cell = uniform.bounds();
    let ends = (Bounds::exact(cell.lower()), Bounds::exact(cell.upper()));
    if let Some(index) = invert(weights, ends) {
        return Ok(Some(index));
    }
    let mut precision = 128;
    loop {
        uniform.know(precision as usize, random)?;
        if let Some(index) = invert(weights, uniform.ends(precision)) {
            return Ok(Some(index));
        }
        precision *= 2;
    }
}

/// The index into whose interval all of the cell from `low` to `high` falls, if that can be proved.
fn invert<W: Weights + ?Sized, E: Enclosure>(weights: &W, (low, high): (E, E)) -> Option<usize> {
    let mut sum = low.exactly(0.0);
    let sums: Vec<E> = (0..weights.count())
        .map(|index| {
            sum = sum.clone() + weights.weight(index, &low);
            sum.clone()
        })
        .collect();
    let (low, high) = (low * sum.clone(), high * sum);
    // U is below the upper end of its cell, never equal to it, so equality decides as well. The
    // last sum is never in doubt.
    let mut passed = 0;
    let mut open = false;
    for end in &sums[..sums.len() - 1] {
        let above = matches!(low.compare(end), Some(Ordering::Greater | Ordering::Equal));
        let below = matches!(high.compare(end), Some(Ordering::Less | Ordering::Equal));
        passed += usize::from(above);
        open |= !above && !below;
    }
    (!open).then_some(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomness::{Provenance, SeededRandom};

    struct Integers(&'static [i128]);

    impl Weights for Integers {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn weight<E: Enclosure>(&self, index: usize, like: &E) -> E {
            like.integer(self.0[index])
        }
    }

    /// Given words, and then ever-increasing ones.
    struct Script(Vec<u64>, usize);

    impl RandomBits for Script {
        fn next_u64(&mut self) -> Result<u64, RandomnessError> {
            let word = self.0.get(self.1).copied().unwrap_or(self.1 as u64);
            self.1 += 1;
            Ok(word)
        }

        fn provenance(&self) -> Provenance {
            Provenance::Seeded
        }
    }

    #[test]
    fn boundaries_of_dyadic_probabilities_belong_to_the_next() {
        let weights = Integers(&[1, 2, 1]);
        let quarter = 1u64 << 62;
        for (word, index) in [
            (0, 0),
            (quarter - 1, 0),
            (quarter, 1),
            (3 * quarter - 1, 1),
            (3 * quarter, 2),
            (u64::MAX, 2),
        ] {
            let mut script = Script(vec![word], 0);
            assert_eq!(choose(&weights, &mut script).expect("scripted"), Some(index), "{word:x}");
        }
    }

    #[test]
    fn more_bits_are_drawn_only_where_a_boundary_lies_inside_the_cell() {
        // 1/3 = 0.0101..., so the cell of 0x5555... straddles it until a digit differs.
        let weights = Integers(&[1, 2]);
        let third = 0x5555_5555_5555_5555;
        for (next, index) in [(0x5555_5555_5555_5554, 0), (0x5555_5555_5555_5556, 1)] {
            let mut script = Script(vec![third, next], 0);
            assert_eq!(choose(&weights, &mut script).expect("scripted"), Some(index));
            assert_eq!(script.1, 2, "one more word decides");
        }
        let mut script = Script(vec![third - (1 << 20)], 0);
        assert_eq!(choose(&weights, &mut script).expect("scripted"), Some(0));
        assert_eq!(script.1, 1, "64 bits suffice away from the boundary");
    }

    #[test]
    fn frequencies_are_those_of_the_weights() {
        let weights = Integers(&[5, 1, 0, 94]);
        let mut random = SeededRandom::new(7);
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            counts[choose(&weights, &mut random).expect("seeded").expect("four to choose from")] +=
                1;
        }
        assert_eq!(counts[2], 0);
        // Six standard deviations, sqrt(n p (1-p)): a false alarm once in 5e8 seeds.
        for (count, p) in counts.into_iter().zip([0.05, 0.01, 0.0, 0.94f64]) {
            let deviation = (40_000.0 * p * (1.0 - p)).sqrt();
            assert!((f64::from(count) - 40_000.0 * p).abs() <= 6.0 * deviation, "{counts:?}");
        }
        assert_eq!(choose(&Integers(&[]), &mut random).expect("seeded"), None);
    }
}
