//! Clamping after release, where that is sound.

use crate::{
    Certificate, Errors, Guarantee, Mechanism, MechanismError, MechanismKind, Notion, Releaser,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_numerics::{Bounds, require};

/// A mechanism whose outputs are moved to the nearer of two public bounds.
///
/// # Guarantee
/// That of the mechanism: pure and `(epsilon, delta)`-differential privacy are closed under
/// post-processing. Probabilistic privacy is not, although Liu says that bounding afterwards never
/// harms (erratum L4): clamping gathers outputs of small and of large loss in one atom, whose loss
/// may be above epsilon while its mass is above delta. With `epsilon = 1`, `delta = 0.05` and the
/// sigma of Eqn 17, a bound near 4.415 makes such an atom of mass 0.0593. So it is refused there.
///
/// # Redrawing is not offered
/// Drawing again until the output lies within the bounds is not post-processing: the probability
/// that a draw is kept depends on the answer and is divided out. Laplace noise of scale `D/epsilon`
/// redrawn to a wide range costs `epsilon + ln(2 - e^-epsilon)` (erratum L4).
/// [`crate::TruncatedGeneralizedGaussian`] does this with a scale that pays for it.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Section 2.4.
#[derive(Debug)]
pub struct Clamped {
    inner: Box<dyn Mechanism>,
    lower: f64,
    upper: f64,
}

impl Clamped {
    /// Clamps the outputs of a mechanism to public bounds.
    ///
    /// # Errors
    /// If the bounds are not numbers in order, or the guarantee is a probabilistic one.
    pub fn new(inner: Box<dyn Mechanism>, lower: f64, upper: f64) -> Result<Self, MechanismError> {
        let accepted = "a finite number above a finite lower bound";
        require(
            lower.is_finite() && lower < upper && upper.is_finite(),
            "upper bound",
            upper,
            accepted,
        )?;
        if inner.guarantee().notion == Notion::Probabilistic {
            return Err(MechanismError::Refused(
                "clamping does not keep a probabilistic guarantee; ask for the approximate notion, \
                 which it keeps"
                    .into(),
            ));
        }
        Ok(Clamped { inner, lower, upper })
    }
}

impl Mechanism for Clamped {
    fn kind(&self) -> MechanismKind {
        self.inner.kind()
    }

    fn method(&self) -> &'static str {
        self.inner.method()
    }

    fn scale(&self) -> f64 {
        self.inner.scale()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = self.inner.parameters();
        parameters.extend([("lower", self.lower), ("upper", self.upper)]);
        parameters
    }

    fn guarantee(&self) -> Guarantee {
        self.inner.guarantee()
    }

    /// Clamping can only lower what is lost: the lower bounds are those of an output that says
    /// nothing.
    fn certificate(&self) -> Certificate {
        match self.inner.certificate() {
            Certificate::Epsilon(bounds) => Certificate::Epsilon(from_zero(bounds)),
            Certificate::Delta(bounds) => Certificate::Delta(from_zero(bounds)),
        }
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        self.inner.delta(epsilon).map(from_zero)
    }

    fn event(&self) -> Event {
        self.inner.event()
    }

    /// For a true answer within the bounds clamping can only lower the error. The output has atoms,
    /// and so no differential entropy.
    fn errors(&self) -> Option<Errors> {
        self.inner.errors().map(|errors| Errors {
            mean_absolute: from_zero(errors.mean_absolute),
            root_mean_square: from_zero(errors.root_mean_square),
            entropy: Bounds::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
            quantile_95: from_zero(errors.quantile_95),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        self.inner.usefulness(t).map(|within| Bounds::new(within.lower(), 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(ReleaseClamped {
            inner: self.inner.releaser()?,
            lower: self.lower,
            upper: self.upper,
        }))
    }

    fn vector_releaser(&self, coordinates: u32) -> Result<Box<dyn Releaser>, MechanismError> {
        let inner = self.inner.vector_releaser(coordinates)?;
        Ok(Box::new(ReleaseClamped { inner, lower: self.lower, upper: self.upper }))
    }
}

fn from_zero(bounds: Bounds) -> Bounds {
    Bounds::new(0.0, bounds.upper())
}

#[derive(Debug)]
struct ReleaseClamped {
    inner: Box<dyn Releaser>,
    lower: f64,
    upper: f64,
}

impl Releaser for ReleaseClamped {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        Ok(self.inner.release(value, random)?.clamp(self.lower, self.upper))
    }

    fn accepts(&self, value: f64) -> bool {
        self.inner.accepts(value)
    }

    fn spacing(&self) -> f64 {
        self.inner.spacing()
    }
}
