//! Bins of lattice points, symmetric about a centre, and their exact probabilities.

use crate::oracle::UpperTail;

/// Bins of signed integers: zero alone, and on each side the intervals between increasing cuts.
///
/// Bin by bin from left to right: `(-∞, -c_m], ..., (-c_2, -c_1], {0}, [c_1, c_2), ..., [c_m, ∞)`
/// with `c_1 = 1`.
#[derive(Clone, Debug)]
pub struct Bins {
    cuts: Vec<u128>,
}

impl Bins {
    /// Bins at the quantiles of the magnitudes of a pilot run, and at twice and four times its
    /// largest.
    ///
    /// The pilot's draws must be independent of those that are counted: then the bins are fixed
    /// before the counting begins, and the statistic has its distribution.
    pub fn from_pilot(pilot: impl IntoIterator<Item = i128>, bins_a_side: usize) -> Self {
        let mut magnitudes: Vec<u128> = pilot.into_iter().map(i128::unsigned_abs).collect();
        magnitudes.sort_unstable();
        let largest = magnitudes.last().copied().unwrap_or(0);
        let quantile = |i: usize| magnitudes[i * magnitudes.len() / bins_a_side];
        let mut cuts: Vec<u128> =
            (1..bins_a_side).map(quantile).chain([1, largest, largest * 2, largest * 4]).collect();
        cuts.retain(|&cut| cut > 0);
        cuts.sort_unstable();
        cuts.dedup();
        Bins { cuts }
    }

    /// The number of bins.
    pub fn count(&self) -> usize {
        2 * self.cuts.len() + 1
    }

    /// The bin of a lattice point.
    pub fn index(&self, steps: i128) -> usize {
        let magnitude = steps.unsigned_abs();
        let distance = self.cuts.partition_point(|&cut| cut <= magnitude);
        if steps < 0 { self.cuts.len() - distance } else { self.cuts.len() + distance }
    }

    /// Counts of draws.
    pub fn histogram(&self, draws: impl IntoIterator<Item = i128>) -> Vec<u64> {
        let mut counts = vec![0; self.count()];
        for draw in draws {
            counts[self.index(draw)] += 1;
        }
        counts
    }

    /// The probabilities of the bins, from the upper tail at the cuts: for each side
    /// `S(c_i) - S(c_(i+1))`, for zero `1 - 2 S(1)`.
    pub fn probabilities(&self, tail: &dyn UpperTail) -> Vec<f64> {
        let tails: Vec<_> = self.cuts.iter().map(|&cut| tail.at_least(cut)).collect();
        let sides: Vec<f64> = (0..tails.len())
            .map(|i| match tails.get(i + 1) {
                Some(next) => (tails[i].clone() - next).to_f64(),
                None => tails[i].to_f64(),
            })
            .collect();
        let zero = (1u32 - tails[0].clone() * 2u32).to_f64();
        sides.iter().rev().copied().chain([zero]).chain(sides.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_where_the_documentation_says() {
        let bins = Bins { cuts: vec![1, 3, 7] };
        let indices =
            [-9, -7, -6, -3, -2, -1, 0, 1, 2, 3, 6, 7, 100].map(|steps| bins.index(steps));
        assert_eq!(indices, [0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6]);
        assert_eq!(bins.count(), 7);
    }
}
