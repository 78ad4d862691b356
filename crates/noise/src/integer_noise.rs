//! Noise on the integers, and how the sampler for real noise draws it.

use crate::NoiseError;
use crate::integer_part::integer_part;
use crate::lattice::Lattice;
use crate::noise::Noise;
use crate::sampler::Sampler;
use reticent_numerics::Enclosure;
use std::fmt::Debug;

/// A distribution on the integers, symmetric about zero and not increasing away from it, that can
/// bound its own probabilities and tails at any precision. The contract is that of [`Noise`].
pub trait IntegerNoise: Clone + Debug + Send + Sync {
    /// `c P[N = n]`.
    fn probability<E: Enclosure>(&self, n: u128, like: &E) -> E;

    /// `c P[N >= n]` for `n >= 1`.
    fn upper_tail<E: Enclosure>(&self, n: u128, like: &E) -> E;

    /// `c`.
    fn mass<E: Enclosure>(&self, like: &E) -> E;

    /// The scale, roughly.
    fn magnitude(&self) -> f64;

    /// A sampler of this noise. Its draws are in steps of 1.
    ///
    /// # Errors
    /// If the table cannot be built.
    fn sampler(&self) -> Result<Sampler<Jittered<Self>>, NoiseError> {
        Sampler::new(Jittered(self.clone()), 1.0, Lattice::INTEGERS)
    }
}

/// Integer noise with each integer's mass uniform over the unit interval around it.
///
/// `Jittered(N)` is `N + U` with `U` uniform on `[-1/2, 1/2)`: real noise with the density
/// `f(x) = P[N = round(x)]`, which is symmetric and unimodal because `N` is. Rounding it to the
/// integers gives `N` back. So a discrete distribution is a continuous one with steps, and needs no
/// sampler of its own; zero, which belongs to both signs, needs no special case either.
#[derive(Clone, Debug, PartialEq)]
pub struct Jittered<N>(pub N);

impl<N: IntegerNoise> Noise for Jittered<N> {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        let (low, high) = integer_part(&(x.clone() + x.exactly(0.5)));
        let (low, high) = (low.max(0) as u128, high.max(0) as u128);
        let near = self.0.probability(low, x);
        if low == high { near } else { near.hull(self.0.probability(high, x)) }
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        // Linear between half integers, as for the staircase: the hull of the lines of both ends.
        let (low, high) = integer_part(&(x.clone() + x.exactly(0.5)));
        let (low, high) = (low.max(0) as u128, high.max(0) as u128);
        let on = |n: u128| {
            let edge = x.integer(n as i128) + x.exactly(0.5);
            self.0.upper_tail(n + 1, x) + self.0.probability(n, x) * (edge - x.clone())
        };
        let near = on(low);
        if low == high { near } else { near.hull(on(high)) }
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        self.0.mass(like)
    }

    fn magnitude(&self) -> f64 {
        // The half width of a cell, where the integer noise itself is narrower than that.
        self.0.magnitude().max(0.5)
    }
}
