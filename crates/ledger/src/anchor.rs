//! A short text, kept elsewhere, by which an old copy of a ledger is noticed.

use crate::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How many entries a ledger had, and the hash of the last of them; `17:3b1f...` as text.
///
/// The hash covers all entries up to that one, with all answers. A ledger that continues from there
/// still has that hash at that position; an older copy has fewer entries, and a rewritten one
/// another hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Anchor {
    /// The number of the entry.
    pub number: u64,
    /// Its hash.
    pub hash: Digest,
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

/// Text that is not an anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an anchor is the number of an entry, a colon, and 64 digits from 0 to 9 and a to f")]
pub struct NotAnAnchor;

impl FromStr for Anchor {
    type Err = NotAnAnchor;

    fn from_str(text: &str) -> Result<Self, NotAnAnchor> {
        let (number, hash) = text.split_once(':').ok_or(NotAnAnchor)?;
        let number = number.parse().ok().filter(|&number| number > 0).ok_or(NotAnAnchor)?;
        Ok(Anchor { number, hash: hash.parse().map_err(|_| NotAnAnchor)? })
    }
}

impl TryFrom<String> for Anchor {
    type Error = NotAnAnchor;

    fn try_from(text: String) -> Result<Self, NotAnAnchor> {
        text.parse()
    }
}

impl From<Anchor> for String {
    fn from(anchor: Anchor) -> Self {
        anchor.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_other_text_is_refused() {
        let anchor = Anchor { number: 17, hash: Digest::of(&[b"x"]) };
        let text = anchor.to_string();
        assert_eq!(text.parse(), Ok(anchor));
        for bad in [
            "",
            ":",
            "17",
            &text[1..],
            &text[..20],
            &format!("-{text}"),
            &format!("{text} "),
            &text.replace("17", "0"),
        ] {
            assert!(bad.parse::<Anchor>() != Ok(anchor), "{bad}");
        }
        assert!(text.replace("17", "0").parse::<Anchor>().is_err());
    }
}
