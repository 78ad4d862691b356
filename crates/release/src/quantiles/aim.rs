//! A choice among candidates by how near they are to a rank.

use super::SHARES;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Weights, choose};
use reticent_numerics::{Bounds, Enclosure};

/// Where the quantile `point` is looked for: between two cuts that stand for the quantiles `low`
/// and `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aim {
    pub(super) low: f64,
    pub(super) point: f64,
    pub(super) high: f64,
    /// Of the two cuts, in 256ths.
    pub(super) ranks: (u128, u128),
    pub(super) max_rows: u32,
    pub(super) epsilon: f64,
}

/// Some points with the ranks from `low` to `high`, in 256ths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) low: u128,
    pub(super) high: u128,
    pub(super) points: u64,
}

impl Aim {
    /// `c` for ranks in 256ths: `epsilon (high - low) / (2 r max(point - low, high - point))`,
    /// over 256.
    pub(super) fn rate<E: Enclosure>(&self, like: &E) -> E {
        let [low, point, high] =
            [self.low, self.point, self.high].map(|quantile| like.exactly(quantile));
        let longer = (point.clone() - low.clone()).max(high.clone() - point);
        let rows = like.exactly(2.0 * f64::from(self.max_rows) * SHARES as f64);
        like.exactly(self.epsilon) * (high - low) / (longer * rows)
    }

    /// `T`, in 256ths.
    fn target<E: Enclosure>(&self, like: &E) -> E {
        let [low, point, high] =
            [self.low, self.point, self.high].map(|quantile| like.exactly(quantile));
        let (from, to) = self.ranks;
        whole(from, like)
            + whole(to.saturating_sub(from), like) * ((point - low.clone()) / (high - low))
    }
}

impl Candidate {
    /// `points exp(-c distance)`.
    fn weight<E: Enclosure>(&self, rate: &E, target: &E) -> E {
        let short = target.clone() - whole(self.high, target);
        let over = whole(self.low, target) - target.clone();
        let distance = target.exactly(0.0).max(short).max(over);
        whole(u128::from(self.points), target) * (-(rate.clone() * distance)).exp()
    }
}

/// An integer below `2^100`; those that are `f64` take one operation.
fn whole<E: Enclosure>(n: u128, like: &E) -> E {
    if n <= 1 << 53 { like.exactly(n as f64) } else { like.integer(n as i128) }
}

/// The index of the candidate that is chosen; 0 where there are none.
pub(super) fn nearest<R: RandomBits + ?Sized>(
    aim: &Aim,
    candidates: Vec<Candidate>,
    random: &mut R,
) -> Result<usize, RandomnessError> {
    let (rate, target) = (aim.rate(&Bounds::ONE), aim.target(&Bounds::ONE));
    let quick = candidates.iter().map(|candidate| candidate.weight(&rate, &target)).collect();
    Ok(choose(&Ranked { aim, candidates, quick }, random)?.unwrap_or(0))
}

#[derive(Debug)]
struct Ranked<'a> {
    aim: &'a Aim,
    candidates: Vec<Candidate>,
    /// The weights between two `f64`, which decide nearly every choice.
    quick: Vec<Bounds>,
}

impl Weights for Ranked<'_> {
    fn count(&self) -> usize {
        self.candidates.len()
    }

    fn weight<E: Enclosure>(&self, index: usize, like: &E) -> E {
        if like.precision() <= Bounds::ONE.precision() {
            return like.between(self.quick[index].lower(), self.quick[index].upper());
        }
        self.candidates[index].weight(&self.aim.rate(like), &self.aim.target(like))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::Wide;

    #[test]
    fn weights_are_those_of_the_formula_at_every_precision() {
        let aim =
            Aim { low: 0.2, point: 0.5, high: 0.9, ranks: (256, 2816), max_rows: 3, epsilon: 1.2 };
        // s = 3/7; T = 1 + 10 s values; c = 1.2 / (2 * 3 * 4/7) a value.
        let (target, rate) = (1.0 + 30.0 / 7.0, 1.2 * 7.0 / 24.0);
        for (low, high, points) in
            [(0u128, 256, 1u64), (512, 1024, 5), (1280, 1536, 1), (1792, 2816, 1000)]
        {
            let distance = (target - high as f64 / 256.0).max(low as f64 / 256.0 - target).max(0.0);
            let formula = points as f64 * (-rate * distance).exp();
            let candidate = Candidate { low, high, points };
            let quick = candidate.weight(&aim.rate(&Bounds::ONE), &aim.target(&Bounds::ONE));
            let wide = candidate.weight(&aim.rate(&Wide::ONE), &aim.target(&Wide::ONE)).bounds();
            for found in [quick, wide] {
                assert!(
                    (found.estimate() / formula - 1.0).abs() < 1e-12,
                    "{low} {high}: {found:?} {formula}"
                );
            }
            assert!(quick.lower() <= wide.upper() && wide.lower() <= quick.upper());
        }
    }
}
