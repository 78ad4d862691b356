//! What can be wrong with a policy file.

use std::path::PathBuf;

/// Why a policy was refused. The messages quote the policy, which holds no private data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file could not be read.
    #[error("the policy file {} could not be read: {reason}", path.display())]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// What the operating system said.
        reason: String,
    },
    /// The text is not TOML, or a field has a wrong name or a wrong kind of value; the message
    /// shows the line.
    #[error("the policy is not as expected: {0}")]
    Form(String),
    /// Fields that `reticent init` left for a person are still open.
    #[error(
        "the policy is a draft: {} to be filled in from public knowledge (never by looking at the \
         data):\n{}",
        if fields.len() == 1 { "one field is" } else { "these fields are" },
        fields.iter().map(|field| format!("  {field}")).collect::<Vec<_>>().join("\n")
    )]
    Unfinished {
        /// Each open field with what the draft says about it.
        fields: Vec<String>,
    },
    /// A field that is needed is missing.
    #[error("{field} is missing: {accepted}")]
    Missing {
        /// The field, from the top of the file, joined by dots.
        field: String,
        /// What to write.
        accepted: String,
    },
    /// A field has a value that is not accepted.
    #[error("{field} = {value} is not accepted: {accepted}")]
    Invalid {
        /// The field, from the top of the file, joined by dots.
        field: String,
        /// What it says.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
}

/// A field, from the top of the file, for messages: `tables.trips.columns."pick up".bounds`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath(String);

impl FieldPath {
    pub(crate) fn top(key: &str) -> FieldPath {
        FieldPath(written_key(key))
    }

    pub(crate) fn at(&self, key: &str) -> FieldPath {
        FieldPath(format!("{}.{}", self.0, written_key(key)))
    }

    pub(crate) fn item(&self, index: usize) -> FieldPath {
        FieldPath(format!("{}[{index}]", self.0))
    }

    pub(crate) fn missing(&self, accepted: impl Into<String>) -> PolicyError {
        PolicyError::Missing { field: self.0.clone(), accepted: accepted.into() }
    }

    pub(crate) fn invalid(
        &self,
        value: impl std::fmt::Display,
        accepted: impl Into<String>,
    ) -> PolicyError {
        PolicyError::Invalid {
            field: self.0.clone(),
            value: shortened(&value.to_string()),
            accepted: accepted.into(),
        }
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// A key as TOML wants it: bare when that is possible.
fn written_key(key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
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
        let field =
            FieldPath::top("tables").at("trips").at("columns").at("pick up").at("values").item(3);
        assert_eq!(field.to_string(), "tables.trips.columns.\"pick up\".values[3]");
        assert_eq!(
            field.invalid("x".repeat(100), "a number").to_string(),
            format!("{field} = {}... is not accepted: a number", "x".repeat(80))
        );
    }

    #[test]
    fn a_draft_lists_every_open_field() {
        let one = PolicyError::Unfinished { fields: vec!["budget.epsilon: FILL IN".into()] };
        assert!(one.to_string().contains("one field is to be filled in"), "{one}");
        let two =
            PolicyError::Unfinished { fields: vec!["a: FILL IN".into(), "b: FILL IN".into()] };
        assert!(two.to_string().ends_with("\n  a: FILL IN\n  b: FILL IN"), "{two}");
    }
}
