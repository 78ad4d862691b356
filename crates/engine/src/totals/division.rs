//! Units divided between parts, so that threads can add to one state.

/// Units are divided into `2^bits` parts by their value: all rows of a unit are in one part,
/// whichever thread reads them.
///
/// Which part is of no consequence for any total; it should only be as often one as another. Values
/// are divided by their keyed hash. Small words, which are looked up without one, are divided in
/// runs of 16: the numbers of a run lie in one line of the cache, which then belongs to one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    bits: u32,
}

/// `2^4` small words that follow each other are in one part.
const RUN: u32 = 4;

impl Division {
    /// All in one part.
    pub(super) const WHOLE: Self = Self { bits: 0 };

    /// Twice as many parts as threads or more, so that one is mostly free; one part for one thread.
    pub(super) fn for_threads(threads: usize) -> Self {
        // Beyond 128 threads parts would be more than the rows of a batch keep busy.
        Self {
            bits: if threads <= 1 { 0 } else { (2 * threads.min(128)).next_power_of_two().ilog2() },
        }
    }

    pub(super) fn parts(self) -> usize {
        1 << self.bits
    }

    /// The part of a value that is looked up by this hash.
    #[inline(always)]
    pub(super) fn of_hash(self, hash: u64) -> usize {
        // Tables look at the low bits.
        (hash >> 48) as usize & (self.parts() - 1)
    }

    /// The part of a small word.
    ///
    /// The number of its run, with what stands above the lowest `bits` folded into them: also of
    /// runs that are far apart at equal distances all parts have some.
    #[inline(always)]
    pub(super) fn of_small(self, word: u64) -> usize {
        let run = word >> RUN;
        let folded = run ^ (run >> self.bits) ^ (run >> (2 * self.bits));
        folded as usize & (self.parts() - 1)
    }

    /// Where a small word is among those of its part: without gaps, in the same order.
    ///
    /// The lowest `bits` of the run are left out. What is folded into them comes from those above,
    /// so that the part and the rest give the word back.
    #[inline(always)]
    pub(super) fn within(self, word: u64) -> usize {
        (word >> (RUN + self.bits) << RUN | word & ((1 << RUN) - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn small_words_have_indices_of_their_own_without_gaps() {
        for threads in [1, 2, 3, 16, 1000] {
            let division = Division::for_threads(threads);
            let words = 1 << 16;
            let indices: BTreeSet<(usize, usize)> =
                (0..words).map(|word| (division.of_small(word), division.within(word))).collect();
            assert_eq!(indices.len(), words as usize);
            let most = indices.iter().map(|&(_, within)| within).max();
            assert_eq!(most, Some(words as usize / division.parts() - 1), "{threads} threads");
        }
    }

    #[test]
    fn parts_are_as_large_as_one_another_also_for_words_at_equal_distances() {
        for threads in [2, 4, 8] {
            let division = Division::for_threads(threads);
            assert!(division.parts() >= 2 * threads);
            for distance in [1, 10, 16, 64, 100, 256, 1000] {
                let mut words = vec![0_u32; division.parts()];
                (0..1000).for_each(|n| words[division.of_small(n * distance)] += 1);
                let most = words.iter().copied().max().unwrap_or(0);
                assert!(
                    most as usize <= 3 * 1000 / division.parts(),
                    "{threads} threads, distance {distance}: {words:?}"
                );
            }
        }
    }

    #[test]
    fn one_thread_has_everything_in_one_part() {
        let division = Division::for_threads(1);
        assert_eq!((division, division.parts()), (Division::WHOLE, 1));
        assert_eq!(
            (division.of_small(12_345), division.within(12_345), division.of_hash(u64::MAX)),
            (0, 12_345, 0)
        );
    }
}
