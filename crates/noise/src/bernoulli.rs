//! A coin with any real probability.

use crate::lazy_uniform::LazyUniform;
use crate::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Big, Bounds, Enclosure};
use std::cmp::Ordering;

/// A real number from 0 to 1 that can be bounded at any precision.
pub trait Probability {
    /// An enclosure of the number at the precision of `like`. It gets narrower as the precision
    /// grows, without limit.
    fn enclose<E: Enclosure>(&self, like: &E) -> E;

    /// The same between two `f64`; overridden where a faster or sharper way exists.
    fn bounds(&self) -> Bounds {
        self.enclose(&Bounds::ONE)
    }
}

/// A coin that shows heads with exactly the probability `P`.
///
/// A uniform real below `P` is heads. Sixty-four bits of it are compared with `f64` bounds on `P`;
/// where these leave the matter open, more bits are drawn and `P` is bounded more narrowly until
/// they do not. With an exact probability such as 1/2 or 1 the comparison with the cell's end
/// decides equality as well.
#[derive(Clone, Debug)]
pub struct Bernoulli<P> {
    probability: P,
    bounds: Bounds,
}

impl<P: Probability> Bernoulli<P> {
    /// A coin of the given probability.
    pub fn new(probability: P) -> Self {
        let bounds = probability.bounds();
        Bernoulli { probability, bounds }
    }

    /// Bounds on the probability.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// One toss.
    ///
    /// # Errors
    /// If random bits cannot be had.
    #[inline]
    pub fn draw<R: RandomBits + ?Sized>(&self, random: &mut R) -> Result<bool, RandomnessError> {
        const CELLS: f64 = 18_446_744_073_709_551_616.0;
        let word = random.next_u64()?;
        // (word + 1) / 2^64 <= lower: rounded up on the left.
        if (word as f64).next_up() + 1.0 < self.bounds.lower() * CELLS {
            return Ok(true);
        }
        if (word as f64).next_down() > self.bounds.upper() * CELLS {
            return Ok(false);
        }
        self.decide(LazyUniform::from_prefix(word, 64), random)
    }

    #[cold]
    fn decide<R: RandomBits + ?Sized>(
        &self,
        mut uniform: LazyUniform,
        random: &mut R,
    ) -> Result<bool, RandomnessError> {
        let mut precision = 128;
        loop {
            uniform.know(precision as usize, random)?;
            let probability = self.probability.enclose(&Big::exact(1.0, precision));
            let (low, high) = uniform.ends(precision);
            if matches!(high.compare(&probability), Some(Ordering::Less | Ordering::Equal)) {
                return Ok(true);
            }
            if matches!(low.compare(&probability), Some(Ordering::Greater | Ordering::Equal)) {
                return Ok(false);
            }
            precision *= 2;
        }
    }
}
