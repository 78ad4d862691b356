//! A quantile of a multiset of grid points, chosen by the exponential mechanism.

use crate::Grid;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Weights, choose};
use reticent_numerics::{Bounds, Enclosure};

/// Chooses a point of a public grid near the `q`-quantile of `n` values.
///
/// # Distribution
/// Let `L(x)` be the number of values below the point `x` and `U(x)` of those up to it. The distance of `x` from the quantile, in ranks, is that of `q n` from the interval `[L(x), U(x)]`, and `x` is chosen with a probability proportional to
/// `exp(-c distance)`. Some point always has the distance 0.
///
/// # Guarantee
/// One value more raises `L` by `a`, `U` by `b` and `n` by 1, with `0 <= a <= b <= 1`: so `L - q n` and `U - q n` move by `-q` to `1 - q`, and the distance by at most `m = max(q, 1 - q)`. With `r` values of a unit it moves by at
/// most `r m`, and `c = epsilon / (2 r m)` gives pure `epsilon`-differential privacy; all losses between two neighbours lie in a range of length `epsilon`. Charged as [`reticent_events::Event::Exponential`].
///
/// # Numerics
/// The distance is constant between two values that occur, so the candidates are runs of points: as many as there are distinct values, and twice that. One run is chosen by exact comparison of one uniform real with certified
/// sums of weights ([`reticent_noise::choose`]), `c` being an exact quotient, and then a point of the run with equal probability.
///
/// # Error
/// `P[distance >= t] <= (points of the grid) e^(-c t)`, whatever the data are. What this means for the value depends on how dense the data are there, which is private: there is no half-width.
///
/// # Why not a tree of noisy counts
/// Over `2^32` points a tree has 8 levels of 16 children even at its best branching, and its rank error, `8^(3/2)` noises of scale `r/epsilon` and more, is above `ln(2^32) r/epsilon = 22 r/epsilon`, the worst case here for the median.
///
/// # References
/// McSherry, Talwar, *Mechanism design via differential privacy*, 2007; Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, 2011.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuantileChoice {
    pub(crate) grid: Grid,
    /// `q`.
    pub(crate) point: f64,
    /// `r`.
    pub(crate) max_rows: u32,
    pub(crate) epsilon: f64,
}

/// Neighbouring points with the same ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    first: i64,
    points: u64,
    below: u64,
    up_to: u64,
}

impl QuantileChoice {
    /// The chosen `k`.
    pub(crate) fn draw<R: RandomBits + ?Sized>(
        &self,
        values: &[(i64, u64)],
        random: &mut R,
    ) -> Result<i64, RandomnessError> {
        let ranked = Ranked::new(self, self.runs(values));
        // There is always a run: the grid has a point.
        let chosen = choose(&ranked, random)?.unwrap_or(0);
        let run =
            ranked.runs.get(chosen).copied().unwrap_or(Run { first: self.grid.lower, points: 1, below: 0, up_to: 0 });
        Ok(run.first.saturating_add_unsigned(below(run.points, random)?))
    }

    /// How many ranks off the answer is at most, with probability 0.95: `ln(20 points)/c`, rounded up.
    pub(crate) fn rank_error_95(&self) -> f64 {
        let points = Bounds::ONE.integer(i128::from(self.grid.points())) * Bounds::exact(20.0);
        (points.ln() / self.rate(&Bounds::ONE)).upper()
    }

    /// `c`.
    fn rate<E: Enclosure>(&self, like: &E) -> E {
        let point = like.exactly(self.point);
        let longer = if self.point >= 0.5 { point } else { like.exactly(1.0) - point };
        like.exactly(self.epsilon) / (longer * like.exactly(f64::from(self.max_rows))).times_power_of_two(1)
    }

    /// `q n`.
    fn target<E: Enclosure>(&self, runs: &[Run], like: &E) -> E {
        like.exactly(self.point) * whole(runs.last().map_or(0, |run| run.up_to), like)
    }

    /// All points of the grid, in runs. Values outside the grid count at its ends.
    fn runs(&self, values: &[(i64, u64)]) -> Vec<Run> {
        if !values.is_sorted_by_key(|value| value.0) {
            let mut sorted = values.to_vec();
            sorted.sort_unstable_by_key(|value| value.0);
            return self.runs(&sorted);
        }
        let (lower, upper) = (self.grid.lower, self.grid.upper);
        let mut runs: Vec<Run> = Vec::with_capacity(2 * values.len() + 1);
        let (mut next, mut seen) = (Some(lower), 0u64);
        for &(value, count) in values {
            let value = value.clamp(lower, upper);
            if let Some(run) =
                runs.last_mut().filter(|run| run.points == 1 && run.first == value && run.up_to > run.below)
            {
                seen = seen.saturating_add(count);
                run.up_to = seen;
                continue;
            }
            if let Some(first) = next.filter(|&first| first < value) {
                runs.push(Run { first, points: value.abs_diff(first), below: seen, up_to: seen });
            }
            let before = seen;
            seen = seen.saturating_add(count);
            runs.push(Run { first: value, points: 1, below: before, up_to: seen });
            next = value.checked_add(1).filter(|&next| next <= upper);
        }
        if let Some(first) = next {
            runs.push(Run { first, points: upper.abs_diff(first).saturating_add(1), below: seen, up_to: seen });
        }
        runs
    }
}

/// Runs with their weights.
#[derive(Debug)]
struct Ranked<'a> {
    choice: &'a QuantileChoice,
    runs: Vec<Run>,
    /// The weights between two `f64`, which decide nearly every choice.
    quick: Vec<Bounds>,
}

impl<'a> Ranked<'a> {
    fn new(choice: &'a QuantileChoice, runs: Vec<Run>) -> Self {
        let like = Bounds::ONE;
        let (rate, target) = (choice.rate(&like), choice.target(&runs, &like));
        let quick = runs.iter().map(|run| run.weight(&rate, &target)).collect();
        Ranked { choice, runs, quick }
    }
}

impl Run {
    /// `points exp(-c distance)`.
    fn weight<E: Enclosure>(&self, rate: &E, target: &E) -> E {
        let short = target.clone() - whole(self.up_to, target);
        let over = whole(self.below, target) - target.clone();
        let distance = target.exactly(0.0).max(short).max(over);
        whole(self.points, target) * (-(rate.clone() * distance)).exp()
    }
}

/// An integer; those that are `f64` take one operation.
fn whole<E: Enclosure>(n: u64, like: &E) -> E {
    if n <= 1 << 53 { like.exactly(n as f64) } else { like.integer(i128::from(n)) }
}

impl Weights for Ranked<'_> {
    fn count(&self) -> usize {
        self.runs.len()
    }

    fn weight<E: Enclosure>(&self, index: usize, like: &E) -> E {
        if like.precision() <= Bounds::ONE.precision() {
            return like.between(self.quick[index].lower(), self.quick[index].upper());
        }
        self.runs[index].weight(&self.choice.rate(like), &self.choice.target(&self.runs, like))
    }
}

/// A uniform integer from 0 to `count - 1`, by rejection: each try succeeds with probability above 1/2.
fn below<R: RandomBits + ?Sized>(count: u64, random: &mut R) -> Result<u64, RandomnessError> {
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

    fn choice(point: f64, epsilon: f64, max_rows: u32) -> QuantileChoice {
        QuantileChoice { grid: Grid { centre: 0.0, step: 1.0, lower: -3, upper: 12 }, point, max_rows, epsilon }
    }

    /// The probability of each point, straight from the definition.
    fn law(choice: &QuantileChoice, values: &[(i64, u64)]) -> Vec<f64> {
        let n: u64 = values.iter().map(|v| v.1).sum();
        let m = choice.point.max(1.0 - choice.point);
        let weights: Vec<f64> = (choice.grid.lower..=choice.grid.upper)
            .map(|x| {
                let low: u64 = values.iter().filter(|v| v.0 < x).map(|v| v.1).sum();
                let up: u64 = values.iter().filter(|v| v.0 <= x).map(|v| v.1).sum();
                let target = choice.point * n as f64;
                let distance = (target - up as f64).max(low as f64 - target).max(0.0);
                (-choice.epsilon * distance / (2.0 * m * f64::from(choice.max_rows))).exp()
            })
            .collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn points_are_chosen_with_the_probabilities_of_the_definition() {
        let cases: [(f64, &[(i64, u64)]); 5] = [
            (0.5, &[(-3, 2), (0, 5), (1, 1), (9, 4), (12, 1)]),
            (0.9, &[(4, 10)]),
            (0.0, &[(5, 3), (6, 3)]),
            (1.0, &[]),
            (0.25, &[(-3, 1), (-2, 1), (11, 7)]),
        ];
        for (seed, (point, values)) in cases.into_iter().enumerate() {
            let (choice, mut random, tries) = (choice(point, 1.0, 2), SeededRandom::new(seed as u64), 60_000);
            let mut counts = [0f64; 16];
            for _ in 0..tries {
                counts[(choice.draw(values, &mut random).expect("seeded") + 3) as usize] += 1.0;
            }
            let worst = |law: &[f64]| {
                let z = |(count, p): (&f64, &f64)| (count - f64::from(tries) * p).abs() / (f64::from(tries) * p).sqrt();
                counts.iter().zip(law).map(z).fold(0.0, f64::max)
            };
            // Six standard deviations, 80 cells: a false alarm once in 6e6 seeds.
            assert!(worst(&law(&choice, values)) < 6.0, "{point} {values:?}: {counts:?}");
            // Power: half the sharpness is noticed, where there is something to be sharp about.
            let blunt = QuantileChoice { epsilon: 0.5, ..choice };
            assert!(values.is_empty() || worst(&law(&blunt, values)) > 6.0, "{point}: no power");
        }
    }

    #[test]
    fn one_value_more_or_less_never_loses_more_than_epsilon() {
        let mut state = 7u64;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % bound
        };
        let mut largest = 0.0f64;
        for _ in 0..2000 {
            let point = [0.5, 0.1, 0.75, 1.0, 0.0][next(5) as usize];
            let mut values: Vec<i64> = (0..next(9)).map(|_| next(16) as i64 - 3).collect();
            let counted = |values: &[i64]| {
                let mut sorted = values.to_vec();
                sorted.sort_unstable();
                sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect::<Vec<_>>()
            };
            let choice = choice(point, 1.3, 2);
            let before = law(&choice, &counted(&values));
            values.extend((0..next(3)).map(|_| next(16) as i64 - 3));
            let after = law(&choice, &counted(&values));
            let loss = before.iter().zip(&after).map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
            assert!(loss <= 1.3 + 1e-12, "{point} {values:?}: {loss}");
            largest = largest.max(loss);
        }
        assert!(largest > 0.5, "the neighbours are too alike to show anything: {largest}");
    }

    #[test]
    fn runs_cover_every_point_once() {
        let all = choice(0.5, 1.0, 1);
        for values in
            [vec![], vec![(-3, 1)], vec![(12, 1)], vec![(-3, 1), (-2, 2), (12, 1)], vec![(-99, 1), (-50, 2), (99, 1)]]
        {
            let runs = all.runs(&values);
            assert_eq!(runs.iter().map(|run| run.points).sum::<u64>(), 16, "{values:?}: {runs:?}");
            assert!(runs.windows(2).all(|pair| pair[0].first + pair[0].points as i64 == pair[1].first), "{runs:?}");
            assert_eq!(runs.last().map(|run| run.up_to), Some(values.iter().map(|v| v.1).sum()));
        }
    }

    #[test]
    fn the_rank_error_holds_and_is_public() {
        // 100 values far apart: the rank of the answer is its error.
        let grid = Grid { centre: 0.0, step: 1.0, lower: 0, upper: 1 << 32 };
        let choice = QuantileChoice { grid, point: 0.5, max_rows: 1, epsilon: 2.0 };
        // 2 * 0.5 / 2 * ln(20 * 2^32)
        assert!((choice.rank_error_95() - 0.5 * (20.0 * 4294967297.0f64).ln()).abs() < 1e-12);
        let values: Vec<(i64, u64)> = (0..100).map(|i| (i << 24, 1)).collect();
        let mut random = SeededRandom::new(2);
        let far = (0..4000).filter(|_| {
            let answer = choice.draw(&values, &mut random).expect("seeded");
            let rank = values.iter().filter(|value| value.0 <= answer).count() as f64;
            (rank - 50.0).abs() > choice.rank_error_95() + 1.0
        });
        // 5% of 4000 is 200, and six deviations are 83.
        assert!(far.count() <= 283);
    }

    #[test]
    fn uniform_integers_are_uniform() {
        let mut random = SeededRandom::new(8);
        for count in [1u64, 2, 3, 5, 64] {
            let mut seen = vec![0f64; count as usize];
            (0..20_000).for_each(|_| seen[below(count, &mut random).expect("seeded") as usize] += 1.0);
            let expected = 20_000.0 / count as f64;
            // Six deviations, 75 cells: once in 7e6 seeds.
            assert!(seen.iter().all(|n| (n - expected).abs() <= 6.0 * expected.sqrt()), "{count}: {seen:?}");
        }
        assert!((0..100).all(|_| below(u64::MAX, &mut random).is_ok()));
    }
}
