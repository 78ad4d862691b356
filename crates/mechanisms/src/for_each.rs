//! A parameter of each number of a vector.

use reticent_events::Word;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One value for every number of a vector, or one for each of them: written `0` or `0,10`, and
/// serialised as a number or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ForEach {
    /// The same for all.
    All(f64),
    /// One for each, in their order.
    Each(Vec<f64>),
}

impl ForEach {
    /// How many there are, if that was said.
    pub fn count(&self) -> Option<usize> {
        match self {
            ForEach::All(_) => None,
            ForEach::Each(values) => Some(values.len()),
        }
    }

    /// The value of number `index`; the last one's beyond.
    pub(crate) fn at(&self, index: usize) -> f64 {
        match self {
            ForEach::All(value) => *value,
            ForEach::Each(values) => {
                values.get(index).or(values.last()).copied().unwrap_or(f64::NAN)
            }
        }
    }
}

impl From<f64> for ForEach {
    fn from(value: f64) -> Self {
        ForEach::All(value)
    }
}

impl Word for ForEach {
    fn read(text: &str) -> Result<Self, String> {
        let values = Vec::<f64>::read(text)
            .map_err(|_| "it must be a number, or numbers with commas between them".to_string())?;
        match *values {
            [] => Err("it must be a number, or numbers with commas between them".into()),
            [value] => Ok(ForEach::All(value)),
            _ => Ok(ForEach::Each(values)),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForEach::All(value) => value.write(f),
            ForEach::Each(values) => values.write(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_or_a_list_in_text_and_json() {
        let list = ForEach::Each(vec![0.0, -1.5]);
        assert_eq!(ForEach::read("0,-1.5"), Ok(list.clone()));
        assert_eq!(ForEach::read("3"), Ok(ForEach::All(3.0)));
        for bad in ["", "1,", "a", "1;2"] {
            assert!(ForEach::read(bad).is_err(), "{bad}");
        }
        for (value, text) in [(list, "[0.0,-1.5]"), (ForEach::All(3.0), "3.0")] {
            assert_eq!(serde_json::to_string(&value).expect("plain data"), text);
            assert_eq!(serde_json::from_str::<ForEach>(text).expect("round trip"), value);
        }
        assert!(serde_json::from_str::<ForEach>("\"0\"").is_err());
    }
}
