//! Events from JSON: one event, or a list of them. They are public, and messages may quote them.

use crate::Event;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Why a text does not hold events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not text.
    #[error("it is not UTF-8 text from byte {0} on")]
    NotText(usize),
    /// It is not JSON, or an object of it names a field twice.
    #[error("it is not JSON as it should be: {0}")]
    NotJson(String),
    /// It is neither an object nor a list.
    #[error("it must hold an event or a list of events")]
    NotEvents,
    /// One of the events is none.
    #[error("{event}: {problem}")]
    Event {
        /// Which one, counted from 1, and its mechanism if it says one.
        event: String,
        /// What is wrong.
        problem: String,
    },
}

/// Reads the events in a text: one, or a list of them. A field that nothing has, or that is there
/// twice, is an error.
///
/// # Errors
/// If it is not JSON or does not hold events; the message names the event by its position.
pub fn events_from_json(bytes: &[u8]) -> Result<Vec<Event>, JsonError> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| JsonError::NotText(error.valid_up_to() + 1))?;
    let Unambiguous(value) =
        serde_json::from_str(text).map_err(|error| JsonError::NotJson(error.to_string()))?;
    let events = match value {
        Value::Array(events) => events,
        Value::Object(_) => vec![value],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(JsonError::NotEvents);
        }
    };
    events.into_iter().enumerate().map(|(index, value)| event_in(value, index + 1)).collect()
}

fn event_in(value: Value, position: usize) -> Result<Event, JsonError> {
    let name = match value.get("mechanism").and_then(Value::as_str) {
        Some(mechanism) => format!("event {position} ({mechanism})"),
        None => format!("event {position}"),
    };
    let wrong = |problem: String| JsonError::Event { event: name.clone(), problem };
    let event = Event::deserialize(&value).map_err(|error| wrong(error.to_string()))?;
    // What is written back has every field that was understood.
    let understood = serde_json::to_value(&event).map_err(|error| wrong(error.to_string()))?;
    match unknown_field(&value, &understood) {
        Some(field) => Err(wrong(format!("there is no field `{field}`"))),
        None => Ok(event),
    }
}

/// A field of `given` that is not in `understood`.
fn unknown_field<'a>(given: &'a Value, understood: &Value) -> Option<&'a str> {
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => {
            given.iter().find_map(|(name, value)| {
                understood
                    .get(name)
                    .map_or(Some(name.as_str()), |other| unknown_field(value, other))
            })
        }
        (Value::Array(given), Value::Array(understood)) => given
            .iter()
            .zip(understood)
            .find_map(|(given, understood)| unknown_field(given, understood)),
        _ => None,
    }
}

/// A value in which no object names a field twice, of which most readers would silently take one.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnambiguousVisitor).map(Unambiguous)
    }
}

struct UnambiguousVisitor;

impl<'de> Visitor<'de> for UnambiguousVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unambiguous(value)) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unambiguous(value))) = fields.next_entry::<String, _>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format_args!("the field `{name}` is given twice")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_or_a_list() {
        let one = r#"{"mechanism": "gaussian", "sigma": 0.1, "sensitivity": 1}"#;
        let expected = Event::Gaussian { sigma: 0.1, sensitivity: 1.0 };
        assert_eq!(events_from_json(one.as_bytes()), Ok(vec![expected.clone()]));
        assert_eq!(
            events_from_json(format!("[{one}, {one}]").as_bytes()),
            Ok(vec![expected.clone(), expected])
        );
        assert_eq!(events_from_json(b"[]"), Ok(Vec::new()));
    }

    /// A number is the one that was written, to the last bit.
    #[test]
    fn numbers_arrive_whole() {
        for sigma in [3.730_631_634_815_942, 1.0 / 3.0, 5e-324, 1.797_693_134_862_315_7e308] {
            let text =
                format!(r#"{{"mechanism": "gaussian", "sigma": {sigma:e}, "sensitivity": 1}}"#);
            assert_eq!(
                events_from_json(text.as_bytes()),
                Ok(vec![Event::Gaussian { sigma, sensitivity: 1.0 }])
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
        let nested = |inner: &str| {
            format!(r#"[{{"mechanism": "repetition", "times": 2, "event": {inner}}}]"#)
        };
        for (text, expected) in [
            ("", "not JSON as it should be: EOF"),
            ("[{", "EOF"),
            ("3", "must hold an event or a list"),
            ("[3]", "event 1: "),
            (r#"{"sigma": 1}"#, "event 1: missing field `mechanism`"),
            (
                r#"[{"mechanism": "laplase", "scale": 1}]"#,
                "event 1 (laplase): unknown variant `laplase`",
            ),
            (
                r#"[{"mechanism": "laplace", "scale": 1}]"#,
                "event 1 (laplace): missing field `sensitivity`",
            ),
            (
                r#"[{"mechanism": "laplace", "scale": "1", "sensitivity": 1}]"#,
                "event 1 (laplace): invalid type",
            ),
            (
                r#"[{"mechanism": "laplace", "scale": 1, "sensitivity": 1, "sigma": 2}]"#,
                "event 1 (laplace): there is no field `sigma`",
            ),
            (
                r#"[{"mechanism": "laplace", "scale": 1, "scale": 2, "sensitivity": 1}]"#,
                "the field `scale` is given twice",
            ),
            (
                r#"[{"mechanism": "laplace", "scale": 1e999, "sensitivity": 1}]"#,
                "number out of range",
            ),
            (
                &nested(r#"{"mechanism": "zero-concentrated", "rho": 1, "delta": 0}"#),
                "event 1 (repetition): there is no field `delta`",
            ),
            (&nested("3"), "event 1 (repetition): "),
            (&deep, "recursion limit"),
        ] {
            let message = events_from_json(text.as_bytes()).expect_err("wrong").to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        let message = events_from_json(b"[\xff]").expect_err("wrong").to_string();
        assert!(message.contains("not UTF-8 text from byte 2 on"), "{message}");
    }
}
