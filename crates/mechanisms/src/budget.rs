//! What a calibration may spend.

use crate::{Delta, Epsilon, MechanismError, MechanismKind};

/// The privacy loss that one release, or all that are calibrated together, may have: pure
/// `epsilon`-differential privacy, or `(epsilon, delta)` where a `delta` is given.
///
/// Calibrations take anything that is one: an [`Epsilon`], an [`Epsilon`] with a [`Delta`], or
/// this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    epsilon: Epsilon,
    delta: Option<Delta>,
}

impl Budget {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If epsilon is not from 0 to 700, or delta not from 1e-300 to below 1.
    pub fn new(epsilon: f64, delta: Option<f64>) -> Result<Self, MechanismError> {
        let delta = delta.map(Delta::new).transpose()?;
        Ok(Budget { epsilon: Epsilon::new(epsilon)?, delta })
    }

    /// The loss.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// The small probability; none for pure differential privacy.
    pub fn delta(self) -> Option<Delta> {
        self.delta
    }

    /// The budget of a mechanism of pure differential privacy: its loss, above zero.
    ///
    /// # Errors
    /// If there is a delta, or the loss is zero.
    pub fn pure(self, mechanism: MechanismKind) -> Result<f64, MechanismError> {
        if self.delta.is_some() {
            return Err(MechanismError::Refused(format!(
                "the {} mechanism is one of pure differential privacy: it takes no `delta`",
                mechanism.name()
            )));
        }
        Epsilon::positive(self.epsilon.get()).map(Epsilon::get)
    }

    /// The budget of a mechanism that needs a delta.
    ///
    /// # Errors
    /// If there is none.
    pub fn approximate(self, mechanism: MechanismKind) -> Result<(f64, f64), MechanismError> {
        match self.delta {
            Some(delta) => Ok((self.epsilon.get(), delta.get())),
            None => Err(MechanismError::Refused(format!(
                "the {} mechanism needs a `delta`",
                mechanism.name()
            ))),
        }
    }
}

impl From<Epsilon> for Budget {
    fn from(epsilon: Epsilon) -> Self {
        Budget { epsilon, delta: None }
    }
}

impl From<(Epsilon, Delta)> for Budget {
    fn from((epsilon, delta): (Epsilon, Delta)) -> Self {
        Budget { epsilon, delta: Some(delta) }
    }
}
