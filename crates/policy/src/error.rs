//! What can be wrong with a policy file.

use std::path::PathBuf;

/// Why a policy was refused. The messages quote the policy, which holds no private data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file could not be read.
    #[error("the policy file {} could not be read: {reason}", path.display())]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// The text is not TOML, or a field has a wrong name or a wrong kind of value; the message shows the line.
    #[error("the policy is not as expected: {0}")]
    Form(String),
    /// Places that `reticent init` left for a person are still open.
    #[error(
        "the policy is a draft: {} to be filled in from public knowledge (never by looking at the data):\n{}",
        if places.len() == 1 { "one place is" } else { "these places are" },
        places.iter().map(|place| format!("  {place}")).collect::<Vec<_>>().join("\n")
    )]
    Unfinished {
        /// Each open place with what the draft says about it.
        places: Vec<String>,
    },
    /// A field that is needed is missing.
    #[error("{place} is missing: {accepted}")]
    Missing {
        /// The field, from the top of the file, joined by dots.
        place: String,
        /// What to write.
        accepted: String,
    },
    /// A field has a value that is not accepted.
    #[error("{place} = {value} is not accepted: {accepted}")]
    Invalid {
        /// The field, from the top of the file, joined by dots.
        place: String,
        /// What it says.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
}

/// A place in the file, from the top, for messages: `tables.trips.columns."pick up".bounds`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(String);

impl Place {
    pub(crate) fn top(key: &str) -> Place {
        Place(written_key(key))
    }

    pub(crate) fn at(&self, key: &str) -> Place {
        Place(format!("{}.{}", self.0, written_key(key)))
    }

    pub(crate) fn item(&self, index: usize) -> Place {
        Place(format!("{}[{index}]", self.0))
    }

    pub(crate) fn missing(&self, accepted: impl Into<String>) -> PolicyError {
        PolicyError::Missing { place: self.0.clone(), accepted: accepted.into() }
    }

    pub(crate) fn invalid(&self, value: impl std::fmt::Display, accepted: impl Into<String>) -> PolicyError {
        PolicyError::Invalid { place: self.0.clone(), value: shortened(&value.to_string()), accepted: accepted.into() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// A key as TOML wants it: bare when that is possible.
fn written_key(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { format!("\"{}\"", shortened(key)) }
}

/// The longest piece of the file that a message quotes, in characters.
const LONGEST_QUOTE: usize = 80;

fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let head: String = characters.by_ref().take(LONGEST_QUOTE).collect();
    if characters.next().is_none() { head } else { head + "..." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_like_the_file() {
        let place = Place::top("tables").at("trips").at("columns").at("pick up").at("values").item(3);
        assert_eq!(place.to_string(), "tables.trips.columns.\"pick up\".values[3]");
        assert_eq!(
            place.invalid("x".repeat(100), "a number").to_string(),
            format!("{place} = {}... is not accepted: a number", "x".repeat(80))
        );
    }

    #[test]
    fn a_draft_lists_every_open_place() {
        let one = PolicyError::Unfinished { places: vec!["budget.epsilon: FILL IN".into()] };
        assert!(one.to_string().contains("one place is to be filled in"), "{one}");
        let two = PolicyError::Unfinished { places: vec!["a: FILL IN".into(), "b: FILL IN".into()] };
        assert!(two.to_string().ends_with("\n  a: FILL IN\n  b: FILL IN"), "{two}");
    }
}
