//! Gaussian numbers of which more digits are drawn when they are needed.

use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Bernoulli, Probability};
use reticent_numerics::Enclosure;
use reticent_numerics::error_function::normal_tail;

/// A normal number of standard deviation `sigma` that is known to lie in
/// `[lower, lower + 2) * 2^(exponent - 1 - halvings)`.
///
/// It begins as a lattice point `j`, the ideal number rounded to a multiple of `2^exponent`, which
/// says that it lies within half a spacing of that. Each halving draws, by an exact coin, in which
/// half of the cell the number is: with the probability that the normal distribution gives to that
/// half, given the cell. So the digits are those of one ideal real number, whatever is asked and in
/// whatever order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefinedNormal {
    sigma: f64,
    exponent: i32,
    lower: i128,
    halvings: u32,
}

/// The probability of the lower half of a cell of a normal number.
struct LowerHalf {
    cell: RefinedNormal,
}

impl Probability for LowerHalf {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        let RefinedNormal { sigma, exponent, lower, halvings } = self.cell;
        // By symmetry a cell below zero is looked at from above, where tails keep their digits.
        let mirrored = lower < -1;
        let start = if mirrored { -lower - 2 } else { lower };
        let sigma = like.exactly(sigma);
        let tail = |offset: i128| {
            let point =
                like.integer(start + offset).times_power_of_two(exponent - 1 - halvings as i32);
            normal_tail(&(point / sigma.clone()))
        };
        let (from, middle, to) = (tail(0), tail(1), tail(2));
        let half = if mirrored { middle - to.clone() } else { from.clone() - middle };
        half / (from - to)
    }
}

impl RefinedNormal {
    /// A draw of `sigma Z` that was rounded to the multiple `steps` of `2^exponent`.
    pub(crate) fn rounded(sigma: f64, exponent: i32, steps: i128) -> Self {
        RefinedNormal { sigma, exponent, lower: 2 * steps - 1, halvings: 0 }
    }

    /// The lower end, in units of `2^(exponent - 1 - halvings)`. The upper end is two units above.
    pub(crate) fn lower(&self) -> i128 {
        self.lower
    }

    /// How often its cell was halved.
    pub(crate) fn halvings(&self) -> u32 {
        self.halvings
    }

    /// Draws in which half of its cell the number lies, until it was halved so often.
    ///
    /// # Errors
    /// If random bits cannot be had.
    pub(crate) fn halve_to<R: RandomBits + ?Sized>(
        &mut self,
        halvings: u32,
        random: &mut R,
    ) -> Result<(), RandomnessError> {
        while self.halvings < halvings {
            let is_lower = Bernoulli::new(LowerHalf { cell: *self }).draw(random)?;
            self.lower = 2 * self.lower + if is_lower { 0 } else { 2 };
            self.halvings += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;
    use reticent_noise::{Gaussian, Lattice, Sampler};
    use reticent_numerics::{Big, Bounds};

    /// Digits of coarse draws, compared with the normal distribution: 16 cells within one standard
    /// deviation on both sides of zero, from draws whose lattice is twice as wide as the deviation.
    #[test]
    fn refined_draws_are_normal() {
        let (sigma, exponent, count) = (1.5, 2, 40_000);
        let lattice = Lattice::of_spacing_power(exponent).expect("valid");
        let sampler = Sampler::new(Gaussian, sigma, lattice).expect("fits");
        let mut random = SeededRandom::new(11);
        let mut cells = std::collections::BTreeMap::<i128, f64>::new();
        for _ in 0..count {
            let steps = sampler.draw(&mut random).expect("seeded");
            let mut number = RefinedNormal::rounded(sigma, exponent, steps);
            number.halve_to(4, &mut random).expect("seeded");
            assert_eq!(number.halvings(), 4);
            *cells.entry(number.lower()).or_default() += 1.0;
        }
        // Cells of width 2 * 2^(2 - 1 - 4) = 1/4, from -1.5 to 1.5; the statistic has a mean of 12.
        let statistic = |sigma: f64| -> f64 {
            (-6..6)
                .map(|cell| {
                    let at = |k: i128| {
                        let x = Bounds::exact(k as f64 / 4.0 / sigma);
                        reticent_numerics::normal::normal_cdf(x).estimate()
                    };
                    let expected = f64::from(count) * (at(cell + 1) - at(cell));
                    (cells.get(&(2 * cell)).copied().unwrap_or(0.0) - expected).powi(2) / expected
                })
                .sum()
        };
        // P[chi^2 with 12 degrees of freedom > 70] < 1e-9. The seed is fixed.
        assert!(statistic(sigma) < 70.0, "{}", statistic(sigma));
        assert!(statistic(1.08 * sigma) > 70.0, "no power: {}", statistic(1.08 * sigma));
    }

    #[test]
    fn halves_add_up_and_mirror() {
        let like = Big::exact(1.0, 200);
        for steps in [0i128, 1, -1, 5, -5, 40, -40] {
            let cell = RefinedNormal::rounded(0.7, -3, steps);
            let probability = LowerHalf { cell }.enclose(&like).bounds();
            let other = RefinedNormal::rounded(0.7, -3, -steps);
            let mirrored = LowerHalf { cell: other }.enclose(&like).bounds();
            let sum = probability + mirrored;
            assert!(sum.contains(1.0) && sum.width() < 1e-12, "{steps}: {sum:?}");
            assert_eq!(probability.lower() > 0.5, steps > 0, "{steps}");
        }
    }
}
