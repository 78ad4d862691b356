//! One line of the ledger, and the hash that ties it to the one before.

use crate::index::Node;
use crate::state::Summary;
use crate::{Charge, Digest, LedgerError, Limits, Protected};
use reticent_events::Event;
use reticent_numerics::OutOfRange;
use serde::{Deserialize, Serialize};

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Action {
    /// The ledger was made: always the first entry, and no other.
    Create {
        /// A random name, so that no two ledgers have an entry in common.
        ledger: Digest,
        limits: Limits,
        protects: Protected,
    },
    /// The owner changed the limits.
    Amend { limits: Limits },
    /// The owner had the ledger protect other tables from here on. What is spent stays spent.
    Adopt { protects: Protected },
    /// A release was charged for, before it was computed.
    Reserve {
        fingerprint: Digest,
        query: String,
        events: Vec<Event>,
        selection_delta: f64,
        charge: Charge,
        /// Who asked, as the front end knows them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asker: Option<String>,
    },
    /// The release was computed; its bytes stand in the column `answer`.
    Answer {
        /// The number of the entry that paid.
        reservation: u64,
        /// `Digest::of` of the bytes.
        digest: Digest,
    },
    /// The release was not computed and never will be. It stays paid.
    Abandon { reservation: u64 },
}

/// What an entry says, as it is stored: the text of this in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Seconds since 1970, for people.
    pub(crate) time: i64,
    /// The version of SQLite that wrote the entry, 3054001 for 3.54.1. SQLite writes it into the
    /// file's header too, where it is compared with this.
    pub(crate) sqlite: i32,
    /// Format 2 called it a deed.
    #[serde(alias = "deed")]
    pub(crate) action: Action,
    /// What all entries up to this one amount to; none in format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Summary>,
    /// This entry's part of the index, if it is about a query; none in format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<Node>,
}

impl Entry {
    /// Whether bytes are those that the entry stands for.
    pub(crate) fn check_answer(
        &self,
        number: u64,
        answer: Option<&[u8]>,
    ) -> Result<(), LedgerError> {
        match (&self.action, answer) {
            (Action::Answer { digest, .. }, Some(bytes)) if Digest::of(&[bytes]) == *digest => {
                Ok(())
            }
            (Action::Answer { .. }, _) => {
                Err(damaged(number, "has not the answer that its digest stands for"))
            }
            (_, None) => Ok(()),
            (_, Some(_)) => Err(damaged(number, "has an answer, but is none")),
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) body: String,
    pub(crate) hash: Digest,
    pub(crate) answer: Option<Vec<u8>>,
}

/// The hash of an entry: `Digest::of` of the words `reticent ledger entry 1`, the hash of the entry
/// before (zeros before the first), the number as 8 bytes, most significant first, and the body. An
/// answer's bytes enter through the digest in the body.
pub(crate) fn link(previous: Digest, number: u64, body: &str) -> Digest {
    Digest::of(&[
        b"reticent ledger entry 1",
        previous.as_bytes(),
        &number.to_be_bytes(),
        body.as_bytes(),
    ])
}

/// An entry is not what it should be.
pub(crate) fn damaged(number: u64, problem: &str) -> LedgerError {
    LedgerError::Damaged(format!("entry {number} {problem}"))
}

impl Row {
    /// The row that follows one with a given hash. An entry that could not be read back, such as
    /// one whose events are nested more deeply than JSON is read, is refused.
    pub(crate) fn new(
        previous: Digest,
        number: u64,
        entry: &Entry,
        answer: Option<Vec<u8>>,
    ) -> Result<Self, LedgerError> {
        let body = serde_json::to_string(entry).unwrap_or_default();
        if serde_json::from_str::<Entry>(&body).ok().as_ref() != Some(entry) {
            let (name, accepted) = (
                "events",
                "what can be written as JSON and read again, at most some 50 levels deep",
            );
            return Err(OutOfRange { name, value: "something else".into(), accepted }.into());
        }
        Ok(Row { number, hash: link(previous, number, &body), body, answer })
    }

    /// The entry in the row, if the row is the one of this number that follows one with this hash.
    pub(crate) fn checked(&self, previous: Digest, number: u64) -> Result<Entry, LedgerError> {
        if self.number != number {
            return Err(LedgerError::Damaged(format!(
                "entry {number} is missing; entry {} follows instead",
                self.number
            )));
        }
        if link(previous, number, &self.body) != self.hash {
            return Err(damaged(number, "does not have the hash that it should have"));
        }
        serde_json::from_str(&self.body)
            .map_err(|error| damaged(number, &format!("cannot be read: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_each_part() {
        let hash = link(Digest::ZERO, 1, "a");
        for other in [link(hash, 1, "a"), link(Digest::ZERO, 2, "a"), link(Digest::ZERO, 1, "b")] {
            assert_ne!(hash, other);
        }
    }

    #[test]
    fn the_text_is_stable_and_round_trips() {
        let action = Action::Reserve {
            fingerprint: Digest::ZERO,
            query: "SELECT \"x\"\n".into(),
            events: vec![Event::Gaussian { sigma: 0.1, sensitivity: 1.0 }],
            selection_delta: 0.0,
            charge: Charge { cost: 0.1 + 0.2, delta: 1e-300 },
            asker: Some("anna".into()),
        };
        let entry = Entry { time: -5, sqlite: 3_054_001, action, summary: None, index: None };
        let row = Row::new(Digest::ZERO, 7, &entry, None).expect("has a text");
        let expected = format!(
            r#"{{"time":-5,"sqlite":3054001,"action":{{"kind":"reserve","fingerprint":"{}","query":"SELECT \"x\"\n","events":[{{"mechanism":"gaussian","sigma":0.1,"sensitivity":1.0}}],"selection_delta":0.0,"charge":{{"cost":0.30000000000000004,"delta":1e-300}},"asker":"anna"}}}}"#,
            "0".repeat(64)
        );
        assert_eq!(row.body, expected);
        for body in [row.body.clone(), row.body.replace("action", "deed")] {
            assert_eq!(serde_json::from_str::<Entry>(&body).expect("round trip"), entry);
        }
        assert_eq!(row.hash, link(Digest::ZERO, 7, &expected));
    }

    #[test]
    fn hostile_text_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"time":0,"sqlite":1,"action":{"kind":"refund"}}"#,
            r#"{"time":0,"sqlite":1,"action":{"kind":"abandon","reservation":-1}}"#,
            r#"{"time":0,"sqlite":1,"action":{"kind":"abandon","reservation":1,"note":2}}"#,
            r#"{"time":0,"sqlite":1,"action":{"kind":"abandon","reservation":1},"more":2}"#,
            r#"{"time":0,"sqlite":1,"action":{"kind":"amend","limits":{"budget":{"currency":"pure","epsilon":-1},"selection_delta":0}}}"#,
        ] {
            assert!(serde_json::from_str::<Entry>(text).is_err(), "{text}");
        }
    }
}
