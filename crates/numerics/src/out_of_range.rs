//! A parameter outside what is accepted: one type, and so one wording, for the whole workspace.

/// A parameter that was refused, with what would have been accepted.
///
/// A value may only come from whoever set the parameter: never from private data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is {value}, but it must be {accepted}")]
pub struct OutOfRange {
    /// The parameter, as the user knows it.
    pub name: &'static str,
    /// What was given, as it is shown.
    pub value: String,
    /// What would be accepted, as the end of a sentence: "at least 1".
    pub accepted: &'static str,
}

impl OutOfRange {
    /// A number that was refused. The very small and the very large are shown with an exponent.
    pub fn new(name: &'static str, value: f64, accepted: &'static str) -> Self {
        let plain = value == 0.0 || !value.is_finite() || (1e-4..1e16).contains(&value.abs());
        let value = if plain { value.to_string() } else { format!("{value:e}") };
        OutOfRange { name, value, accepted }
    }
}

/// Passes a number of which the condition `holds`. Write the condition so that it is false of a
/// NaN.
///
/// # Errors
/// If the condition is false.
pub fn require(
    holds: bool,
    name: &'static str,
    value: f64,
    accepted: &'static str,
) -> Result<f64, OutOfRange> {
    if holds { Ok(value) } else { Err(OutOfRange::new(name, value, accepted)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_all_their_digits_and_no_more() {
        for (value, shown) in [
            (-0.0, "-0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
            (0.7, "0.7"),
            (-1.5, "-1.5"),
            (1e-4, "0.0001"),
            (9.99e-5, "9.99e-5"),
            (1e-300, "1e-300"),
            (1e15, "1000000000000000"),
            (-1e16, "-1e16"),
        ] {
            let message = OutOfRange::new("x", value, "at least 1").to_string();
            assert_eq!(message, format!("`x` is {shown}, but it must be at least 1"));
        }
    }

    #[test]
    fn a_number_passes_only_if_the_condition_holds() {
        let at_least_one = |value: f64| require(value >= 1.0, "x", value, "at least 1");
        assert_eq!(at_least_one(2.0), Ok(2.0));
        assert!(at_least_one(0.5).is_err());
        assert!(at_least_one(f64::NAN).is_err());
    }
}
