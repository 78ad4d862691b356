//! An inverse scale that takes one of two values.

use crate::NoiseError;
use crate::parameter::{positive, require};
use reticent_numerics::Enclosure;

/// `T = first` with probability `weight`, and `second` otherwise.
///
/// The paper's "Bernoulli brings nothing" is the opposite of what is true: maximising usefulness, or minimising the l1 or
/// l2 error, over all distributions of `T` at a given epsilon is a linear programme with one constraint besides total mass one, so
/// an optimum sits on two points (erratum R3).
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
        require((0.0..=1.0).contains(&weight), "probability of the first", weight, "a number from 0 to 1")?;
        Ok(TwoPointScale { first, second, weight })
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
