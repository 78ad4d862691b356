//! Parameters that cannot be wrong, and what is said when they are.

use reticent_noise::NoiseError;
use reticent_numerics::root::RootError;
use reticent_numerics::{OutOfRange, require};

/// Why a mechanism could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MechanismError {
    /// A parameter is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// The parameters are fine one by one but not together, or not for this method.
    #[error("{0}")]
    Refused(String),
    /// No scale could be proved to keep the guarantee.
    #[error("no scale could be certified for {what}: {reason}")]
    NotCertified {
        /// What was to be calibrated.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// The noise could not be made.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

impl MechanismError {
    /// A failed search for a scale.
    pub(crate) fn not_certified(what: &'static str, error: &RootError) -> Self {
        MechanismError::NotCertified { what, reason: error.to_string() }
    }
}

macro_rules! parameter {
    (
        $(#[$doc:meta])* $type:ident, $name:literal, $accepted:literal, $value:ident => $holds:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $type(f64);

        impl $type {
            /// Checks the number.
            ///
            /// # Errors
            /// If it is outside the accepted range, or a NaN.
            pub fn new($value: f64) -> Result<Self, MechanismError> {
                // -0.0 + 0.0 is +0.0: a negative zero does not travel further.
                Ok($type(require($holds, $name, $value, $accepted)? + 0.0))
            }

            /// The number.
            pub fn get(self) -> f64 {
                self.0
            }
        }
    };
}

parameter!(
    /// A privacy loss `epsilon`. Zero is a loss that only some mechanisms can keep.
    Epsilon, "epsilon", "a number from 0 to 700, and above 0 for a pure \
        guarantee", value => (0.0..=700.0).contains(&value));
parameter!(
    /// A `delta` strictly between 0 and 1.
    Delta, "delta", "a number from 1e-300 to 1, not 1 \
        itself", value => (1e-300..1.0).contains(&value));
parameter!(
    /// How far one privacy unit can move the answer.
    Distance, "sensitivity", "a number from 1e-100 to \
        1e100", value => (1e-100..=1e100).contains(&value));
parameter!(
    /// A scale of noise.
    Scale, "scale", "a number from 1e-140 to 1e140", value => (1e-140..=1e140).contains(&value));

impl Epsilon {
    /// A loss above zero.
    ///
    /// # Errors
    /// If it is zero or outside the accepted range.
    pub fn positive(value: f64) -> Result<Self, MechanismError> {
        require(
            value > 0.0 && value <= 700.0,
            "epsilon",
            value,
            "a number above 0 and at most 700",
        )?;
        Ok(Epsilon(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_is_not_a_parameter() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e308] {
            assert!(Epsilon::new(bad).is_err() && Epsilon::positive(bad).is_err(), "{bad}");
            assert!(
                Delta::new(bad).is_err() && Distance::new(bad).is_err() && Scale::new(bad).is_err(),
                "{bad}"
            );
        }
        assert!(
            Epsilon::positive(0.0).is_err() && Delta::new(0.0).is_err() && Delta::new(1.0).is_err()
        );
        assert!(Epsilon::new(-0.0).is_ok_and(|zero| zero.get().is_sign_positive()));
        let message = Epsilon::new(-1.0).map_err(|error| error.to_string());
        assert_eq!(
            message,
            Err("`epsilon` is -1, but it must be a number from 0 \
            to 700, and above 0 for a pure guarantee"
                .into())
        );
    }
}
