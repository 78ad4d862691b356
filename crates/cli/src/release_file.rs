//! The release file: released values together with the description of what released them, as JSON.
//!
//! `{"release": {"mechanism", "event", "guarantee", "spacing", "random"}, "values": [...]}`. `noise` writes it, `denoise` reads it, so that one can be piped into the other
//! and nobody has to repeat what the noise was. A denoised file has a `denoised` object besides, and is not read again: its noise is no longer what the event says.

use crate::failure::Failure;
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Mechanism};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What released some values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRecord {
    /// The mechanism by name.
    pub mechanism: String,
    /// What ran.
    pub event: Event,
    /// What is promised, as it was stated.
    pub guarantee: Value,
    /// The spacing of the lattice that the values lie on; none for a choice.
    pub spacing: Option<f64>,
    /// Where the noise came from: `secure` or `seeded`.
    pub random: String,
    /// The range that the values were moved into after noise was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<(f64, f64)>,
}

impl ReleaseRecord {
    /// The record of a release by a mechanism.
    pub fn new(mechanism: &dyn Mechanism, spacing: Option<f64>, random: String, clamp: Option<(f64, f64)>) -> Self {
        let Guarantee { notion, epsilon, delta } = mechanism.released_guarantee();
        let guarantee = serde_json::json!({ "notion": notion, "epsilon": epsilon, "delta": delta });
        let mechanism_name = mechanism.name().to_string();
        ReleaseRecord { mechanism: mechanism_name, event: mechanism.event(), guarantee, spacing, random, clamp }
    }
}

/// A release file as it is written.
#[derive(Debug, Serialize)]
pub struct WrittenRelease<'a> {
    /// What released the values.
    pub release: ReleaseRecord,
    /// The values.
    pub values: &'a [f64],
}

/// A release file as it is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ReadRelease {
    release: ReleaseRecord,
    values: Vec<Option<f64>>,
    denoised: Option<Value>,
}

/// Whether a text is meant to be a release file.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Reads a release file.
///
/// # Errors
/// If it is not one, a value is not a number, or it was denoised before.
pub fn read(bytes: &[u8]) -> Result<(ReleaseRecord, Vec<f64>), Failure> {
    let file: ReadRelease = serde_json::from_slice(bytes).map_err(|error| {
        Failure::usage(format!(
            "the release file cannot be read at line {}, column {}: {}",
            error.line(),
            error.column(),
            kind(&error)
        ))
    })?;
    if file.denoised.is_some() {
        return Err(Failure::usage(
            "the release file was denoised before, and its noise is no longer that of the event in it",
        ));
    }
    let values = file.values.iter().enumerate().map(|(index, value)| {
        let refuse = || Failure::usage(format!("value {} of the release file is not a finite number", index + 1));
        value.filter(|value| value.is_finite()).ok_or_else(refuse)
    });
    Ok((file.release, values.collect::<Result<_, _>>()?))
}

/// What is wrong, in words that do not quote the file.
fn kind(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Data => {
            "it must hold an object `release` with mechanism, event, guarantee, spacing and random, and a list `values` of numbers"
        }
        _ => "it is not JSON, in which NaN and infinities do not exist",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(values: &str, rest: &str) -> String {
        format!(
            "{{\"release\":{{\"mechanism\":\"laplace\",\"event\":{{\"mechanism\":\"laplace\",\"scale\":2,\"sensitivity\":1}},\
             \"guarantee\":{{}},\"spacing\":null,\"random\":\"secure\"}},\"values\":{values}{rest}}}"
        )
    }

    #[test]
    fn files_are_read_back() {
        let (record, values) = read(file("[1.5,-2]", "").as_bytes()).expect("a release file");
        assert_eq!((record.event, values), (Event::Laplace { scale: 2.0, sensitivity: 1.0 }, vec![1.5, -2.0]));
        assert!(looks_like_one(b" \n{") && !looks_like_one(b"12\n") && !looks_like_one(b""));
    }

    #[test]
    fn hostile_files_are_refused_with_a_place() {
        for (text, expected) in [
            (file("[1,null]", ""), "value 2"),
            (file("[1,NaN]", ""), "not JSON"),
            (file("[1,1e999]", ""), "line 1"),
            (file("[1]", ",\"denoised\":{}"), "denoised before"),
            (file("3", ""), "list `values`"),
            ("{\"values\":[1]}".into(), "object `release`"),
            ("{\"release\":".into(), "ends too early"),
        ] {
            let Err(Failure::Usage(message)) = read(text.as_bytes()) else { unreachable!("{text}") };
            assert!(message.contains(expected), "{message}");
        }
    }
}
