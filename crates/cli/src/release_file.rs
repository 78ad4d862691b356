//! The release file: released values together with the description of what released them, as JSON.
//!
//! `{"release": {"mechanism", "event", "guarantee", "spacing", "random"}, "values": [...]}`. `noise` writes it, `denoise` reads it, so that one can be piped into the other
//! and nobody has to repeat what the noise was. The answer of a `query` holds one for each column of counts or whole sums, in `releases`, with the keys of its groups in `groups`. A denoised file has a `denoised` object besides, and is not read again: its noise is no longer what the event says.

use crate::failure::Failure;
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Mechanism};
use reticent_session::GroupsRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

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

/// The answer of a query as it is read: of all that it holds, what can be denoised.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ReadAnswer {
    groups: GroupsRecord,
    releases: BTreeMap<String, ReadRelease>,
}

/// What a release file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedValues {
    /// What released the values.
    pub record: ReleaseRecord,
    /// The values.
    pub values: Vec<f64>,
    /// The column of the query's answer in which they stand, and the group of each; none for the file of `noise`.
    pub of_query: Option<(String, GroupsRecord)>,
}

/// Whether a text is meant to be a release file.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Reads a release file, or of a query's answer the named column; the only one if none is named.
///
/// # Errors
/// If it is not one, has no such column, a value is not a number, or it was denoised before.
pub fn read(bytes: &[u8], column: Option<&str>) -> Result<ReleasedValues, Failure> {
    // An answer is told by its `releases`; everything else is judged as a release file.
    let (file, of_query) = match serde_json::from_slice::<ReadAnswer>(bytes) {
        Ok(answer) => {
            let (name, file) = chosen(answer.releases, column)?;
            if file.values.len() != answer.groups.rows.len() {
                return Err(Failure::usage("the answer does not have as many groups as released values"));
            }
            (file, Some((name, answer.groups)))
        }
        Err(_) if column.is_some() => {
            return Err(Failure::usage(
                "--column names a column of a CSV file, or of an answer as `query --format json` writes it; the input is neither",
            ));
        }
        Err(_) => (read_one(bytes)?, None),
    };
    if file.denoised.is_some() {
        return Err(Failure::usage(
            "the release file was denoised before, and its noise is no longer that of the event in it",
        ));
    }
    let values = file.values.iter().enumerate().map(|(index, value)| {
        let refuse = || Failure::usage(format!("value {} of the release file is not a finite number", index + 1));
        value.filter(|value| value.is_finite()).ok_or_else(refuse)
    });
    Ok(ReleasedValues { values: values.collect::<Result<_, _>>()?, record: file.release, of_query })
}

fn read_one(bytes: &[u8]) -> Result<ReadRelease, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::usage(format!(
            "the release file cannot be read at line {}, column {}: {}",
            error.line(),
            error.column(),
            kind(&error)
        ))
    })
}

/// The release of a column.
fn chosen(mut releases: BTreeMap<String, ReadRelease>, column: Option<&str>) -> Result<(String, ReadRelease), Failure> {
    let names = releases.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match column {
        _ if releases.is_empty() => Err(Failure::usage(
            "the answer holds no noisy counts or whole sums: averages, quantiles and sums of fractions are not denoised",
        )),
        Some(name) => releases
            .remove_entry(name)
            .ok_or_else(|| Failure::usage(format!("--column is `{name}`, but what can be denoised is {names}"))),
        None => match (releases.pop_first(), releases.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Failure::usage(format!("--column is needed to say which of {names} to denoise"))),
        },
    }
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
        let read = read(file("[1.5,-2]", "").as_bytes(), None).expect("a release file");
        assert_eq!(read.record.event, Event::Laplace { scale: 2.0, sensitivity: 1.0 });
        assert_eq!((read.values, read.of_query), (vec![1.5, -2.0], None));
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
            let Err(Failure::Usage(message)) = read(text.as_bytes(), None) else { unreachable!("{text}") };
            assert!(message.contains(expected), "{message}");
        }
    }
    fn answer(groups: &str, releases: &[(&str, &str)]) -> String {
        let releases: Vec<String> =
            releases.iter().map(|(name, values)| format!("\"{name}\":{}", file(values, ""))).collect();
        format!(
            "{{\"columns\":[],\"groups\":{{\"columns\":[\"town\"],\"rows\":{groups}}},\"releases\":{{{}}}}}",
            releases.join(",")
        )
    }

    #[test]
    fn the_column_of_an_answer_is_found_with_its_groups() {
        let one = answer("[[\"A\"],[null]]", &[("n", "[3,4]")]);
        let both = answer("[[\"A\"],[null]]", &[("n", "[3,4]"), ("total", "[5,6]")]);
        for (text, column, expected) in [(&one, None, 3.0), (&both, Some("n"), 3.0), (&both, Some("total"), 5.0)] {
            let read = read(text.as_bytes(), column).expect("an answer");
            let (name, groups) = read.of_query.expect("of a query");
            assert_eq!((read.values[0], groups.rows.len(), groups.columns.len()), (expected, 2, 1));
            assert!(column.is_none_or(|column| column == name));
        }
        for (text, column, expected) in [
            (both, None, "which of `n`, `total`"),
            (one, Some("x"), "what can be denoised is `n`"),
            (answer("[]", &[]), None, "no noisy counts"),
            (answer("[[1]]", &[("n", "[3,4]")]), None, "as many groups"),
            (answer("[[1],[2]]", &[("n", "[3,null]")]), None, "value 2"),
            (file("[1]", ""), Some("n"), "the input is neither"),
        ] {
            let Err(Failure::Usage(message)) = read(text.as_bytes(), column) else { unreachable!("{text}") };
            assert!(message.contains(expected), "{message}");
        }
    }
}
