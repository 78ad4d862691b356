//! The release file: released values together with the description of what released them, as JSON.
//!
//! `{"release": {"mechanism", "event", "guarantee", "spacing", "random"}, "values": [...]}`.
//! Whoever adds noise writes it, and denoising reads it, so that nobody has to repeat what the
//! noise was. A release of counts says `"count": true`. The answer of a query holds one for each
//! column of counts or whole sums, in `releases`, with the keys of its groups in `groups`. A
//! denoised file has a `denoised` object besides, and is not read again: its noise is no longer
//! what the event says.

use crate::Error;
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Mechanism};
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
    /// What is guaranteed.
    pub guarantee: Guarantee,
    /// The spacing of the lattice that the values lie on; none for a choice.
    pub spacing: Option<f64>,
    /// Where the noise came from: `secure` or `seeded`.
    pub random: String,
    /// The range that the values were moved into after noise was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<(f64, f64)>,
    /// Whether the values are counts with noise, so that no true value is negative.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count: bool,
}

impl ReleaseRecord {
    /// The record of a release by a mechanism.
    pub fn new(
        mechanism: &dyn Mechanism,
        spacing: Option<f64>,
        random: String,
        clamp: Option<(f64, f64)>,
    ) -> Self {
        ReleaseRecord {
            mechanism: mechanism.name().to_string(),
            event: mechanism.event(),
            guarantee: mechanism.released_guarantee(),
            spacing,
            random,
            clamp,
            count: false,
        }
    }
}

/// Released values, and what released them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseFile {
    /// What released the values.
    pub release: ReleaseRecord,
    /// The values; in an answer one for each group, in the order of its `groups`.
    pub values: Vec<f64>,
}

/// The groups that were released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsRecord {
    /// The names of the keys.
    pub columns: Vec<String>,
    /// The keys of each group.
    pub rows: Vec<Vec<Value>>,
}

/// A release file as it may be written.
#[derive(Deserialize)]
struct Written {
    release: ReleaseRecord,
    values: Vec<Option<f64>>,
    denoised: Option<Value>,
}

/// The answer of a query: of all that it holds, what can be denoised.
#[derive(Deserialize)]
struct WrittenAnswer {
    groups: GroupsRecord,
    releases: BTreeMap<String, Written>,
}

impl ReleaseFile {
    /// Whether a text is meant to be a release file or an answer.
    pub fn looks_like_one(bytes: &[u8]) -> bool {
        bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
    }

    /// Reads a release file, or of a query's answer the named column (the only one if none is
    /// named), with the column's name and the group of each value.
    ///
    /// # Errors
    /// If it is not one, has no such column, a value is not a number, or it was denoised before.
    pub fn read(
        bytes: &[u8],
        column: Option<&str>,
    ) -> Result<(Self, Option<(String, GroupsRecord)>), Error> {
        // An answer is told by its `releases`; everything else is judged as a release file.
        let (file, of_query) = match serde_json::from_slice::<WrittenAnswer>(bytes) {
            Ok(answer) => {
                let (name, file) = chosen(answer.releases, column)?;
                if file.values.len() != answer.groups.rows.len() {
                    return refused("the answer does not have as many groups as released values");
                }
                (file, Some((name, answer.groups)))
            }
            Err(_) if column.is_some() => {
                return refused(
                    "a column is named, which a CSV file or the answer of a query as JSON has; the \
                     input is neither",
                );
            }
            Err(_) => (serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?, None),
        };
        if file.denoised.is_some() {
            return refused(
                "the release file was denoised before, and its noise is no longer that of the \
                 event in it",
            );
        }
        let values = file.values.iter().enumerate().map(|(index, value)| {
            value.filter(|value| value.is_finite()).ok_or_else(|| {
                let number = index + 1;
                Error::ReleaseFile(format!(
                    "value {number} of the release file is not a finite number"
                ))
            })
        });
        let values = values.collect::<Result<_, _>>()?;
        Ok((ReleaseFile { release: file.release, values }, of_query))
    }
}

fn refused<T>(problem: impl Into<String>) -> Result<T, Error> {
    Err(Error::ReleaseFile(problem.into()))
}

/// The release of a column.
fn chosen(
    mut releases: BTreeMap<String, Written>,
    column: Option<&str>,
) -> Result<(String, Written), Error> {
    let names = releases.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match column {
        _ if releases.is_empty() => refused(
            "the answer holds no noisy counts or whole sums: averages, quantiles and sums of \
             fractions are not denoised",
        ),
        Some(name) => match releases.remove_entry(name) {
            Some(found) => Ok(found),
            None => refused(format!("column is `{name}`, but what can be denoised is {names}")),
        },
        None => match (releases.pop_first(), releases.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => refused(format!("column is needed to say which of {names} to denoise")),
        },
    }
}

/// What is wrong, in words that do not quote the file.
fn unreadable(error: &serde_json::Error) -> Error {
    use serde_json::error::Category::{Data, Eof, Io, Syntax};
    let (line, column) = (error.line(), error.column());
    let problem = match error.classify() {
        Eof => "it ends too early",
        Data => {
            "it must hold an object `release` with mechanism, event, guarantee, spacing and \
             random, and a list `values` of numbers"
        }
        Syntax | Io => "it is not JSON, in which NaN and infinities do not exist",
    };
    Error::ReleaseFile(format!(
        "the release file cannot be read at line {line}, column {column}: {problem}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(values: &str, rest: &str) -> String {
        format!(
            r#"{{"release":{{"mechanism":"laplace","event":{{"mechanism":"laplace","scale":2,"sensitivity":1}},"guarantee":{{"notion":"pure","epsilon":0.5,"delta":0}},"spacing":null,"random":"secure"}},"values":{values}{rest}}}"#
        )
    }

    fn message(text: &str, column: Option<&str>) -> String {
        ReleaseFile::read(text.as_bytes(), column).expect_err(text).to_string()
    }

    #[test]
    fn files_are_read_back() {
        let text = file("[1.5,-2.0]", "");
        let (read, of_query) = ReleaseFile::read(text.as_bytes(), None).expect("a release file");
        assert_eq!(read.release.event, Event::Laplace { scale: 2.0, sensitivity: 1.0 });
        assert_eq!((read.values.as_slice(), of_query), (&[1.5, -2.0][..], None));
        let again = serde_json::to_vec(&read).expect("plain data");
        assert_eq!(ReleaseFile::read(&again, None).expect("round trip").0, read);
        for (text, expected) in [(&b" \n{"[..], true), (b"12\n", false), (b"", false)] {
            assert_eq!(ReleaseFile::looks_like_one(text), expected);
        }
    }

    #[test]
    fn hostile_files_are_refused_with_a_position() {
        for (text, expected) in [
            (file("[1,null]", ""), "value 2"),
            (file("[1,NaN]", ""), "not JSON"),
            (file("[1,1e999]", ""), "line 1"),
            (file("[1]", ",\"denoised\":{}"), "denoised before"),
            (file("3", ""), "list `values`"),
            ("{\"values\":[1]}".into(), "object `release`"),
            ("{\"release\":".into(), "ends too early"),
        ] {
            let message = message(&text, None);
            assert!(message.contains(expected), "{message}");
        }
    }

    fn answer(groups: &str, releases: &[(&str, &str)]) -> String {
        let releases: Vec<String> = releases
            .iter()
            .map(|(name, values)| format!("\"{name}\":{}", file(values, "")))
            .collect();
        let releases = releases.join(",");
        format!(
            r#"{{"columns":[],"groups":{{"columns":["town"],"rows":{groups}}},"releases":{{{releases}}}}}"#
        )
    }

    #[test]
    fn the_column_of_an_answer_is_found_with_its_groups() {
        let one = answer("[[\"A\"],[null]]", &[("n", "[3,4]")]);
        let both = answer("[[\"A\"],[null]]", &[("n", "[3,4]"), ("total", "[5,6]")]);
        for (text, column, expected) in
            [(&one, None, 3.0), (&both, Some("n"), 3.0), (&both, Some("total"), 5.0)]
        {
            let (read, of_query) = ReleaseFile::read(text.as_bytes(), column).expect("an answer");
            let (name, groups) = of_query.expect("of a query");
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
            let message = message(&text, column);
            assert!(message.contains(expected), "{message}");
        }
    }
}
