//! An inverse scale that takes one of two values.

use super::moments::scaled_powers;
use crate::NoiseError;
use crate::parameter::positive;
use reticent_numerics::{Enclosure, require};

/// `T = first` with probability `weight`, and `second` otherwise.
///
/// The paper's "Bernoulli brings nothing" is the opposite of what is true: maximising usefulness,
/// or minimising the l1 or l2 error, over all distributions of `T` at a given epsilon is a linear
/// programme with one constraint besides total mass one, so an optimum sits on two points (erratum
/// R3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoPointScale {
    first: f64,
    second: f64,
    weight: f64,
}

impl TwoPointScale {
    /// The two values and the probability of the first.
    ///
    /// # Errors
    /// If a value is not a number from 1e-150 to 1e150, or the probability not from 0 to 1.
    pub fn new(first: f64, second: f64, weight: f64) -> Result<Self, NoiseError> {
        positive("first inverse scale", first)?;
        positive("second inverse scale", second)?;
        require(
            (0.0..=1.0).contains(&weight),
            "probability of the first",
            weight,
            "a number from 0 to 1",
        )?;
        Ok(TwoPointScale { first, second, weight })
    }

    /// The first value.
    pub fn first(&self) -> f64 {
        self.first
    }

    /// The second value.
    pub fn second(&self) -> f64 {
        self.second
    }

    /// The probability of the first.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    pub(super) fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        TwoPointScale::new(self.first / factor, self.second / factor, self.weight)
    }

    pub(super) fn least(&self) -> f64 {
        // A value of probability zero is not taken.
        if self.weight == 0.0 {
            self.second
        } else if self.weight == 1.0 {
            self.first
        } else {
            self.first.min(self.second)
        }
    }

    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let weight = x.exactly(self.weight);
        let rest = x.exactly(1.0) - weight.clone();
        let of = |t: f64, weight: E| {
            scaled_powers(order, &x.exactly(t), weight * (-(x.exactly(t) * x.clone())).exp())
        };
        of(self.first, weight).into_iter().zip(of(self.second, rest)).map(|(a, b)| a + b).collect()
    }

    fn mean_of<E: Enclosure>(&self, like: &E, value: impl Fn(E) -> E) -> E {
        let weight = like.exactly(self.weight);
        let rest = like.exactly(1.0) - weight.clone();
        weight * value(like.exactly(self.first)) + rest * value(like.exactly(self.second))
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        self.mean_of(x, |t| (-(t * x.clone())).exp())
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        self.mean_of(x, |t| t.clone() * (-(t * x.clone())).exp())
    }
}
