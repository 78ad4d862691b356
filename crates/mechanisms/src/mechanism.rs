//! What every mechanism offers.

use crate::guarantee::{Certificate, Guarantee, Notion};
use crate::{MechanismError, MechanismKind};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Bounds, require};
use std::fmt::Debug;
use std::sync::Arc;

/// A way to release an answer privately: its noise, its guarantee with the proof, and the error to
/// expect.
///
/// The noise that is added, the guarantee that is certified and the event that is charged all come
/// from the same fields.
pub trait Mechanism: Debug + Send + Sync {
    /// Which mechanism it is; of one that only changes what is done afterwards, the inner one.
    fn kind(&self) -> MechanismKind;

    /// The name by which the command line knows it.
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// How the scale was found, where there is more than one way.
    fn method(&self) -> &'static str;

    /// The figure that stretches the noise: `sigma` for Gaussian noise, `b` for the other additive
    /// kinds, the sensitivity that its shape is multiplied with for the staircase, and `1/epsilon`
    /// where nothing is added.
    fn scale(&self) -> f64;

    /// Parameters besides the scale, by name.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The guarantee it was calibrated to keep.
    fn guarantee(&self) -> Guarantee;

    /// The guarantee that a released number keeps.
    ///
    /// Released numbers are rounded to a lattice and printed as `f64`. That is post-processing,
    /// which a probabilistic guarantee does not survive (erratum L4): the outputs next to where the
    /// loss crosses `epsilon` may share a cell with it. What does survive is the approximate
    /// guarantee that it implies, with the same `epsilon` and `delta`.
    fn released_guarantee(&self) -> Guarantee {
        let guarantee = self.guarantee();
        match guarantee.notion {
            Notion::Probabilistic => Guarantee { notion: Notion::Approximate, ..guarantee },
            Notion::Pure | Notion::Approximate => guarantee,
        }
    }

    /// The proof that it keeps it.
    fn certificate(&self) -> Certificate;

    /// The privacy profile: bounds on the least `delta` with which it is
    /// `(epsilon, delta)`-differentially private.
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN, or above the range of the mechanism, which
    /// reaches to 700 at least.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError>;

    /// What is charged for a release.
    fn event(&self) -> Event;

    /// The error to expect, per released number; `None` where the output is not a number with
    /// additive noise.
    fn errors(&self) -> Option<Errors>;

    /// `P[|error| <= t]`, where errors are defined; `None` for a NaN too.
    fn usefulness(&self, t: f64) -> Option<Bounds>;

    /// The index of the candidate that it chooses by their utilities; `None` for a mechanism that
    /// releases numbers.
    fn choose(
        &self,
        _utilities: &[f64],
        _random: &mut dyn RandomBits,
    ) -> Option<Result<usize, MechanismError>> {
        None
    }

    /// What releases numbers with this mechanism.
    ///
    /// # Errors
    /// If the noise cannot be made, or the mechanism does not release numbers.
    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError>;

    /// What releases each of several numbers under one guarantee for all of them, whose sensitivity
    /// is that of the whole vector.
    ///
    /// Rounding each coordinate to the lattice can add to the sensitivity. Mechanisms that make up
    /// for it in the noise they release do so here; all others were made for a number of
    /// coordinates, and give their [`Mechanism::releaser`].
    ///
    /// # Errors
    /// As there, or if there are no coordinates.
    fn vector_releaser(&self, coordinates: u32) -> Result<Box<dyn Releaser>, MechanismError> {
        require(coordinates > 0, "coordinates", 0.0, "at least 1")?;
        self.releaser()
    }

    /// What releases the numbers of a vector, of which so many move at once: one for each number
    /// where they have bounds of their own, and otherwise one for all.
    ///
    /// # Errors
    /// As [`Mechanism::vector_releaser`], or if it was made for another number of numbers.
    fn releasers(
        &self,
        _numbers: usize,
        moving: u32,
    ) -> Result<Vec<Arc<dyn Releaser>>, MechanismError> {
        Ok(vec![self.vector_releaser(moving)?.into()])
    }
}

/// Bounds on the usual measures of error of the noise on one number. A released number is also
/// rounded to its lattice, which moves it by at most half a spacing more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// The mean absolute error `E|X|`.
    pub mean_absolute: Bounds,
    /// The root mean square error `sqrt(E X^2)`.
    pub root_mean_square: Bounds,
    /// The differential entropy in nats (the Shannon entropy for integer noise).
    pub entropy: Bounds,
    /// The least `t` with `P[|X| <= t] >= 0.95`.
    pub quantile_95: Bounds,
}

/// Releases numbers. The value is put on the mechanism's public lattice first.
pub trait Releaser: Debug + Send + Sync {
    /// One release.
    ///
    /// # Errors
    /// If random bits cannot be had. Nothing is released then.
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError>;

    /// Whether a value is one that this can release as it is meant. Data are checked with it before
    /// anything is released; a value that is released all the same gets the noise of a valid one,
    /// so that no output tells of it.
    fn accepts(&self, value: f64) -> bool {
        !value.is_nan()
    }

    /// The spacing of the lattice that released values lie on.
    fn spacing(&self) -> f64;
}
