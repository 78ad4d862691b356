//! Quantiles of a multiset of grid points, by the exponential mechanism on ranks.

mod aim;
mod runs;
mod uniform;

use crate::Grid;
use aim::{Aim, Candidate, nearest};
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Bounds, Enclosure};
use runs::{Run, runs};
use uniform::below;

/// Chooses points of a public grid near several quantiles of some values.
///
/// # Method
/// The middle one of the quantiles is chosen first; it cuts the values in two, and those below are
/// quantiles of the lower part, those above of the upper one. So `p` quantiles take
/// `levels = ceil(log2(p + 1))` rounds, each of which sees every value once, instead of `p`
/// choices that each see all (Kaplan, Schnapp, Stemmer, *Differentially private approximate
/// quantiles*, 2022). Answers are in order by themselves.
///
/// Their method needs distinct values. Here a cut goes through a point `x` of the grid and gives
/// the share `f` of the values at `x` to the lower part, the rest to the upper: each value still
/// counts once. Let `R(x, f)` be the number of values below `x` and `f` times the number at `x`. In
/// the part between the cuts `A` and `B`, which stand for the quantiles `a` and `b`, the quantile
/// `q` is looked for at the rank `T = R(A) + s (R(B) - R(A))` with `s = (q - a)/(b - a)`:
///
/// 1. a point `x`, by the distance of `T` from the ranks `R(x, 0)` to `R(x, 1)`;
/// 2. if others depend on it, a share `f` in 256ths, by the distance of `T` from `R(x, f)`,
///
/// each with a probability proportional to `exp(-c distance)`.
///
/// # Guarantee
/// A value more that counts `w` in a part moves all ranks of cuts in it, less `R(A)`, by 0 to `w`,
/// and `T` less `R(A)` by `s w`. So distances move by at most `max(s, 1 - s) w`. With
/// `c = e / (2 r max(s, 1 - s))` the losses of a choice lie in a range of length `e w / r`; all
/// parts of a round together see at most `r` values of a unit, so that a round is one release by
/// the exponential mechanism with loss `e`, for points and again for shares. Points have
/// `e = epsilon`, shares a quarter of it.
///
/// # Numerics
/// The distance is constant between two values that occur, so the candidates are runs of points: as
/// many as there are distinct values, and twice that. Choices are made by exact comparison of one
/// uniform real with certified sums of weights ([`reticent_noise::choose`]), `c` and `T` being
/// exact quotients, and within a run by a uniform integer.
///
/// # Why not a tree of noisy counts
/// Over `2^32` points a tree has 8 levels of 16 children, and its rank error, the root of 8 times 8
/// noises of scale `8 r/epsilon` and more, is above the `ln(2^32) r/epsilon = 22 r/epsilon` that a
/// median may have here at worst.
///
/// # References
/// McSherry, Talwar, *Mechanism design via differential privacy*, 2007; Smith, *Privacy-preserving
/// statistical estimation with optimal convergence rates*, 2011.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuantileSearch {
    pub(crate) grid: Grid,
    /// Which quantiles, in any order.
    pub(crate) points: Vec<f64>,
    /// `r`.
    pub(crate) max_rows: u32,
    /// The loss of one round of points.
    pub(crate) epsilon: f64,
}

/// How many parts the values at one point are cut into.
const SHARES: u64 = 256;

/// What a round of shares may lose, as a part of what a round of points may.
pub(crate) const LOSS_OF_SHARES: f64 = 0.25;

/// A position between values: below the `share`-th part of those at `point`. Ranks are in 256ths.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    point: i64,
    share: u64,
    rank: u128,
    /// The quantile that it stands for.
    quantile: f64,
}

/// Quantiles once each, ascending.
fn distinct(points: &[f64]) -> Vec<f64> {
    let mut sorted = points.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted
}

/// How many rounds of points there are; one less of shares.
pub(crate) fn levels(points: &[f64]) -> u32 {
    distinct(points).len().checked_ilog2().map_or(0, |bits| bits + 1)
}

impl QuantileSearch {
    /// The quantiles of some values with their numbers, in the order of the points asked for.
    pub(crate) fn draw<R: RandomBits + ?Sized>(
        &self,
        values: &[(i64, u64)],
        random: &mut R,
    ) -> Result<Vec<f64>, RandomnessError> {
        let runs = runs(&self.grid, values);
        let all = runs.last().map_or(0, |run| u128::from(run.up_to)) * u128::from(SHARES);
        let low = Cut { point: self.grid.lower, share: 0, rank: 0, quantile: 0.0 };
        let high = Cut { point: self.grid.upper, share: SHARES, rank: all, quantile: 1.0 };
        let points = distinct(&self.points);
        let mut found = vec![self.grid.lower; points.len()];
        self.search(&runs, (low, high), &points, &mut found, random)?;
        let answer = |point: &f64| {
            let index = points.partition_point(|other| other < point);
            self.grid.value(found.get(index).copied().unwrap_or(self.grid.lower))
        };
        Ok(self.points.iter().map(answer).collect())
    }

    /// The quantiles `points` of the values between two cuts.
    fn search<R: RandomBits + ?Sized>(
        &self,
        runs: &[Run],
        (low, high): (Cut, Cut),
        points: &[f64],
        found: &mut [i64],
        random: &mut R,
    ) -> Result<(), RandomnessError> {
        let middle = points.len() / 2;
        let Some(&quantile) = points.get(middle) else { return Ok(()) };
        let aim = |epsilon: f64| Aim {
            low: low.quantile,
            point: quantile,
            high: high.quantile,
            ranks: (low.rank, high.rank),
            max_rows: self.max_rows,
            epsilon,
        };
        let within: Vec<(i64, &Run, Candidate)> = clipped(runs, &low, &high).collect();
        let candidates = within.iter().map(|part| part.2).collect();
        let Some((first, run, candidate)) =
            within.get(nearest(&aim(self.epsilon), candidates, random)?)
        else {
            return Ok(());
        };
        let point = first.saturating_add_unsigned(below(candidate.points, random)?);
        found[middle] = point;
        if points.len() == 1 {
            return Ok(());
        }
        let least = if point == low.point { low.share } else { 0 };
        let most = if point == high.point { high.share } else { SHARES };
        let share = if run.up_to == run.below {
            // No values to share: all candidates are alike.
            least + below(most - least + 1, random)?
        } else {
            let candidate =
                |share: u64| Candidate { low: run.rank(share), high: run.rank(share), points: 1 };
            least
                + nearest(
                    &aim(LOSS_OF_SHARES * self.epsilon),
                    (least..=most).map(candidate).collect(),
                    random,
                )? as u64
        };
        let cut = Cut { point, share, rank: run.rank(share), quantile };
        let (lower, upper) = found.split_at_mut(middle);
        self.search(runs, (low, cut), &points[..middle], lower, random)?;
        self.search(runs, (cut, high), &points[middle + 1..], &mut upper[1..], random)
    }

    /// How many ranks off each quantile is at most, with probability 0.95, rounded up; in the order
    /// of the points.
    ///
    /// A point at a distance of `t` or more is chosen with probability at most
    /// `(points of the grid) e^(-c t)`, and a share with `257 e^(-c t)`, because some candidate has
    /// the distance 0 (for shares: that of the point, and half a 256th of the values there). Where
    /// a part's ends are off by some ranks, `T`, which lies between them, is off by no more than
    /// the larger. So the errors of a quantile and of those above it in the search add up, each to
    /// be exceeded with an equal part of 0.05. The bound leaves out a 512th of the values at a
    /// point where there is a cut.
    pub(crate) fn rank_errors_95(&self) -> Vec<f64> {
        let points = distinct(&self.points);
        let mut errors = vec![0.0; points.len()];
        self.add_errors((0.0, 1.0), 0.0, levels(&self.points), &points, &mut errors);
        let error =
            |point: &f64| errors.get(points.partition_point(|other| other < point)).copied();
        self.points.iter().map(|point| error(point).unwrap_or(f64::INFINITY)).collect()
    }

    fn add_errors(
        &self,
        (low, high): (f64, f64),
        above: f64,
        levels: u32,
        points: &[f64],
        errors: &mut [f64],
    ) {
        let middle = points.len() / 2;
        let Some(&point) = points.get(middle) else { return };
        // 20 times the number of choices on the longest way down.
        let chances = Bounds::exact(20.0 * f64::from(2 * levels - 1));
        let aim = |epsilon: f64| Aim {
            low,
            point,
            high,
            ranks: (0, 0),
            max_rows: self.max_rows,
            epsilon,
        };
        let error = |count: u64, epsilon: f64| {
            let candidates = Bounds::ONE.integer(i128::from(count)) * chances;
            ((candidates.ln() / aim(epsilon).rate(&Bounds::ONE)) / Bounds::exact(SHARES as f64))
                .upper()
        };
        let own = above + error(self.grid.points(), self.epsilon);
        errors[middle] = own;
        let cut = own + error(SHARES + 1, LOSS_OF_SHARES * self.epsilon);
        let (below, beyond) = errors.split_at_mut(middle);
        self.add_errors((low, point), cut, levels, &points[..middle], below);
        self.add_errors((point, high), cut, levels, &points[middle + 1..], &mut beyond[1..]);
    }
}

/// The runs between two cuts: the first point of each that lies there, the run, and the candidate
/// that it is.
fn clipped<'a>(
    runs: &'a [Run],
    low: &'a Cut,
    high: &'a Cut,
) -> impl Iterator<Item = (i64, &'a Run, Candidate)> {
    let begin = runs.partition_point(|run| run.last() < low.point);
    runs[begin..].iter().take_while(|run| run.first <= high.point).map(|run| {
        let first = run.first.max(low.point);
        let points = run.last().min(high.point).abs_diff(first).saturating_add(1);
        let (from, to) = (run.rank(0).max(low.rank), run.rank(SHARES).min(high.rank));
        (first, run, Candidate { low: from, high: to, points })
    })
}

#[cfg(test)]
mod tests;
