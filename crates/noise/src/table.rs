//! Noise from a table of exact weights.

use crate::integer_noise::IntegerNoise;
use reticent_numerics::{Enclosure, OutOfRange};

/// The longest table.
const MOST_ENTRIES: usize = 1 << 20;

/// The greatest sum of all weights.
const MOST_TOTAL: u128 = 1 << 126;

/// A distribution on finitely many integers, symmetric about zero and not increasing away from it,
/// given by integer weights.
///
/// # Distribution
/// `P[N = k] = P[N = -k] = w_k / W` with `W = w_0 + 2 (w_1 + ... + w_n)`. The weights are the law,
/// not an approximation to it: what is certified about them is certified about every draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// `w_0, ..., w_n`, the last not zero.
    weights: Vec<u128>,
    /// `w_k + ... + w_n`.
    upper_sums: Vec<u128>,
    total: u128,
}

impl Table {
    /// The table of these weights, from that of zero outwards. Zeros at the end are left out.
    ///
    /// # Errors
    /// If there are none, or more than `2^20`, if one is larger than that before it, or if they add
    /// up to more than `2^126`.
    pub fn new(mut weights: Vec<u128>) -> Result<Self, OutOfRange> {
        let refuse = |value: f64, accepted| Err(OutOfRange::new("weights", value, accepted));
        while weights.last() == Some(&0) {
            weights.pop();
        }
        if !(1..=MOST_ENTRIES).contains(&weights.len()) {
            return refuse(weights.len() as f64, "from 1 to 2^20 weights above zero");
        }
        if let Some(pair) = weights.windows(2).find(|pair| pair[1] > pair[0]) {
            return refuse(pair[1] as f64, "not increasing away from zero");
        }
        let mut sum = 0u128;
        let mut upper_sums = Vec::with_capacity(weights.len());
        for &weight in weights.iter().rev() {
            match sum.checked_add(weight).filter(|&sum| sum <= MOST_TOTAL / 2) {
                Some(larger) => sum = larger,
                None => return refuse(weight as f64, "weights that add up to at most 2^126"),
            }
            upper_sums.push(sum);
        }
        upper_sums.reverse();
        let total = 2 * sum - weights[0];
        Ok(Table { weights, upper_sums, total })
    }

    /// The table of weights `a 2^b`, each given as `(a, b)`.
    ///
    /// # Errors
    /// As for [`Table::new`], or if a weight is beyond `2^126` by itself.
    pub fn from_parts(parts: &[(u64, u32)]) -> Result<Self, OutOfRange> {
        let weight = |&(digits, power): &(u64, u32)| {
            let fits = digits == 0 || power.saturating_add(64 - digits.leading_zeros()) <= 127;
            if fits {
                Ok(if digits == 0 { 0 } else { u128::from(digits) << power })
            } else {
                let value = digits as f64 * f64::from(power).exp2();
                Err(OutOfRange::new("weights", value, "at most 2^126"))
            }
        };
        Table::new(parts.iter().map(weight).collect::<Result<_, _>>()?)
    }

    /// The weights as odd numbers, or zero, times powers of two; `None` if one has more than 64
    /// significant bits.
    pub fn parts(&self) -> Option<Vec<(u64, u32)>> {
        let part = |&weight: &u128| {
            u64::try_from(weight >> weight.trailing_zeros())
                .ok()
                .map(|digits| (digits, weight.trailing_zeros()))
        };
        self.weights.iter().map(part).collect()
    }

    /// `w_0, ..., w_n`.
    pub fn weights(&self) -> &[u128] {
        &self.weights
    }

    /// `w_k`, zero beyond the table.
    pub fn weight(&self, k: u64) -> u128 {
        usize::try_from(k).ok().and_then(|k| self.weights.get(k)).copied().unwrap_or(0)
    }

    /// `W`.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// `n`, the largest integer that is drawn.
    pub fn support_in_steps(&self) -> u64 {
        self.weights.len() as u64 - 1
    }
}

/// Not normalised: `c = W`.
impl IntegerNoise for Table {
    fn probability<E: Enclosure>(&self, n: u128, like: &E) -> E {
        like.integer(self.weight(u64::try_from(n).unwrap_or(u64::MAX)) as i128)
    }

    fn upper_tail<E: Enclosure>(&self, n: u128, like: &E) -> E {
        let sum =
            usize::try_from(n).ok().and_then(|n| self.upper_sums.get(n)).copied().unwrap_or(0);
        like.integer(sum as i128)
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        like.integer(self.total as i128)
    }

    fn magnitude(&self) -> f64 {
        let sum: f64 = self
            .weights
            .iter()
            .enumerate()
            .map(|(k, &weight)| 2.0 * k as f64 * weight as f64)
            .sum();
        sum / self.total as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::randomness::SeededRandom;
    use crate::{Jittered, Lattice, Noise, Sampler};
    use reticent_numerics::{Bounds, Wide};

    #[test]
    fn sums_and_parts_are_exact() {
        let weights = vec![(1u128 << 100) + (1 << 80), 1 << 90, 1 << 90, 7, 0, 0];
        let table = Table::new(weights.clone()).expect("valid");
        assert_eq!((table.support_in_steps(), table.weights()), (3, &weights[..4]));
        assert_eq!(table.total(), weights[0] + 2 * (weights[1] + weights[2] + weights[3]));
        assert_eq!(table.weight(1), 1 << 90);
        assert_eq!((table.weight(4), table.weight(u64::MAX)), (0, 0));
        let parts = table.parts().expect("few bits each");
        assert_eq!(parts, [((1 << 20) + 1, 80), (1, 90), (1, 90), (7, 0)]);
        assert_eq!(Table::from_parts(&parts), Ok(table));
        assert_eq!(Table::new(vec![(1 << 80) + 1]).expect("valid").parts(), None);
    }

    #[test]
    fn tails_add_up_to_the_mass() {
        let table = Table::new(vec![10, 10, 4, 1]).expect("valid");
        let jittered = Jittered(table.clone());
        for (x, tail) in
            [(0.0, 20.0), (0.5, 15.0), (1.0, 10.0), (2.75, 0.75), (3.5, 0.0), (9.0, 0.0)]
        {
            assert_eq!(jittered.tail(&Wide::from(x)).bounds(), Bounds::exact(tail), "{x}");
        }
        assert_eq!(jittered.mass(&Bounds::ONE), Bounds::exact(40.0));
        assert!((table.magnitude() - (10.0 + 8.0 + 3.0) / 20.0).abs() < 1e-15);
    }

    #[test]
    fn draws_follow_the_table() {
        let table = Table::new(vec![400, 300, 300, 50, 49, 1]).expect("valid");
        let wrong = Table::new(vec![400, 300, 280, 70, 49, 1]).expect("valid");
        let sampler = table.sampler().expect("a table");
        let mut random = SeededRandom::new(11);
        let mut counts = [0f64; 11];
        let draws = 200_000;
        for _ in 0..draws {
            counts[(sampler.draw(&mut random).expect("seeded") + 5) as usize] += 1.0;
        }
        // Chi-square with 10 degrees of freedom is above 50 with probability 2.7e-7.
        let statistic = |law: &Table| {
            let cell = |(i, count): (usize, &f64)| {
                let expected = f64::from(draws) * law.weight((i as i64 - 5).unsigned_abs()) as f64
                    / law.total() as f64;
                (count - expected).powi(2) / expected
            };
            counts.iter().enumerate().map(cell).sum::<f64>()
        };
        assert!(statistic(&table) < 50.0, "{counts:?}");
        assert!(statistic(&wrong) > 50.0, "no power");
    }

    #[test]
    fn jittered_draws_fill_their_cells_evenly() {
        let sampler = Sampler::new(
            Jittered(Table::new(vec![2, 1]).expect("valid")),
            0.25,
            Lattice::of_spacing_power(-40).expect("valid"),
        );
        let sampler = sampler.expect("a table");
        let mut random = SeededRandom::new(3);
        let draws = 100_000;
        // Halves of the three cells: [-3/8, -1/4) ..., each of probability 1/8, 1/8, 1/4, 1/4, 1/8,
        // 1/8.
        let mut counts = [0f64; 6];
        for _ in 0..draws {
            let x = sampler.lattice().value(sampler.draw(&mut random).expect("seeded"));
            assert!(x.abs() <= 0.375);
            counts[((x + 0.375) * 8.0).floor().clamp(0.0, 5.0) as usize] += 1.0;
        }
        // Six standard deviations: a false alarm once in 8e7 seeds.
        for (count, p) in counts.iter().zip([0.125, 0.125, 0.25, 0.25, 0.125, 0.125]) {
            assert!(
                (count - f64::from(draws) * p).abs()
                    < 6.0 * (f64::from(draws) * p * (1.0 - p)).sqrt(),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for bad in [
            vec![],
            vec![0, 0],
            vec![1, 2],
            vec![1 << 126],
            vec![1 << 125; 3],
            vec![u128::MAX; 2],
            vec![1; MOST_ENTRIES + 1],
        ] {
            let count = bad.len();
            assert!(
                Table::new(bad).is_err_and(|error| error.to_string().contains("weights")),
                "{count} weights"
            );
        }
        for bad in [(1u64, 127), (u64::MAX, 64), (1, u32::MAX), (1, 4_000_000)] {
            assert!(Table::from_parts(&[bad]).is_err(), "{bad:?}");
        }
        assert!(Table::from_parts(&[(1, 0), (0, u32::MAX)]).is_ok(), "zero is zero");
    }
}
