//! Public values: bounds of a column, members of its domain.

use std::cmp::Ordering;
use std::fmt;

use chrono::{NaiveDate, NaiveTime};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::value::{Datetime, Offset};

use crate::error::{FieldPath, PolicyError};

/// The kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Whole numbers of 64 bits.
    Integer,
    /// Floating-point numbers of 64 bits.
    Real,
    /// Text.
    Text,
    /// True or false.
    Boolean,
    /// A day.
    Date,
    /// A moment, in microseconds, UTC.
    Timestamp,
}

impl ColumnType {
    /// The name as the policy file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "integer",
            ColumnType::Real => "real",
            ColumnType::Text => "text",
            ColumnType::Boolean => "boolean",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
        }
    }

    /// Whether values of this type can be summed.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, ColumnType::Integer | ColumnType::Real)
    }

    /// What a value of this type looks like in the policy file.
    fn written(self) -> &'static str {
        match self {
            ColumnType::Integer => "a whole number from -2^63 to 2^63 - 1",
            ColumnType::Real => "a finite number",
            ColumnType::Text => "text in quotation marks, at most 65536 bytes",
            ColumnType::Boolean => "true or false",
            ColumnType::Date => "a date such as 2024-01-31",
            ColumnType::Timestamp => {
                "a moment such as 2024-01-31T12:00:00Z (UTC unless it says otherwise) or a date"
            }
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The most bytes of a text that are kept: sources cut longer ones here (at a character), a rule
/// that depends on no data.
pub const LONGEST_TEXT: usize = 65536;

/// A value that is public knowledge.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of an integer column.
    Integer(i64),
    /// Of a real column: finite, and never `-0.0`.
    Real(f64),
    /// Of a text column.
    Text(String),
    /// Of a boolean column.
    Boolean(bool),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
}

impl Value {
    /// Reads a value of the given type; whole numbers are accepted for real columns, dates and
    /// moments also as text.
    pub(crate) fn read(
        kind: ColumnType,
        written: &toml::Value,
        field: &FieldPath,
    ) -> Result<Value, PolicyError> {
        let read = match (kind, written) {
            (ColumnType::Integer, toml::Value::Integer(number)) => Some(Value::Integer(*number)),
            (ColumnType::Real, toml::Value::Integer(number)) => Some(Value::Real(*number as f64)),
            // Adding zero turns -0.0 into 0.0.
            (ColumnType::Real, toml::Value::Float(number)) => {
                number.is_finite().then_some(Value::Real(number + 0.0))
            }
            (ColumnType::Text, toml::Value::String(text)) => {
                (text.len() <= LONGEST_TEXT).then(|| Value::Text(text.clone()))
            }
            (ColumnType::Boolean, toml::Value::Boolean(truth)) => Some(Value::Boolean(*truth)),
            (ColumnType::Date, toml::Value::Datetime(moment)) => days(moment).map(Value::Date),
            (ColumnType::Date, toml::Value::String(text)) => {
                text.parse().ok().as_ref().and_then(days).map(Value::Date)
            }
            (ColumnType::Timestamp, toml::Value::Datetime(moment)) => {
                microseconds(moment).map(Value::Timestamp)
            }
            (ColumnType::Timestamp, toml::Value::String(text)) => {
                text.parse().ok().as_ref().and_then(microseconds).map(Value::Timestamp)
            }
            _ => None,
        };
        read.ok_or_else(|| {
            field.invalid(written, format!("a value of type {kind} is {}", kind.written()))
        })
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        match self {
            Value::Integer(_) => ColumnType::Integer,
            Value::Real(_) => ColumnType::Real,
            Value::Text(_) => ColumnType::Text,
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Date(_) => ColumnType::Date,
            Value::Timestamp(_) => ColumnType::Timestamp,
        }
    }

    /// The order of two values of the same type.
    pub(crate) fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Integer(a), Value::Integer(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => {
                a.cmp(b)
            }
            (Value::Real(a), Value::Real(b)) => a.total_cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            _ => self.kind().name().cmp(other.kind().name()),
        }
    }

    /// A form that never changes, for fingerprints: a letter for the type, then the exact value.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Value::Integer(number) => format!("i{number}"),
            Value::Real(number) => format!("r{:016x}", number.to_bits()),
            Value::Text(text) => format!("t{}", quoted(text)),
            Value::Boolean(truth) => format!("b{}", u8::from(*truth)),
            Value::Date(days) => format!("d{days}"),
            Value::Timestamp(microseconds) => format!("m{microseconds}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => write!(out, "{number}"),
            Value::Real(number) => write!(out, "{number:?}"),
            Value::Text(text) => out.write_str(&quoted(text)),
            Value::Boolean(truth) => write!(out, "{truth}"),
            Value::Date(days) => match NaiveDate::from_epoch_days(*days) {
                Some(date) => write!(out, "{date}"),
                None => write!(out, "{days} days after 1970-01-01"),
            },
            Value::Timestamp(microseconds) => {
                match chrono::DateTime::from_timestamp_micros(*microseconds) {
                    Some(moment) => write!(out, "{:?}Z", moment.naive_utc()),
                    None => write!(out, "{microseconds} microseconds after 1970-01-01"),
                }
            }
        }
    }
}

/// Text as a JSON string: one line, every character told apart.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn date(moment: &Datetime) -> Option<NaiveDate> {
    let date = moment.date?;
    NaiveDate::from_ymd_opt(i32::from(date.year), u32::from(date.month), u32::from(date.day))
}

/// Days since 1970-01-01 of a date without a time of day.
fn days(moment: &Datetime) -> Option<i32> {
    if moment.time.is_some() || moment.offset.is_some() {
        return None;
    }
    Some(date(moment)?.to_epoch_days())
}

/// Microseconds since 1970-01-01T00:00:00Z; without a time of day it is midnight, without an offset
/// it is UTC.
fn microseconds(moment: &Datetime) -> Option<i64> {
    let time = match moment.time {
        None => NaiveTime::MIN,
        Some(time) => NaiveTime::from_hms_nano_opt(
            u32::from(time.hour),
            u32::from(time.minute),
            u32::from(time.second.unwrap_or(0)),
            time.nanosecond.unwrap_or(0),
        )?,
    };
    let offset_minutes = match moment.offset {
        None | Some(Offset::Z) => 0,
        Some(Offset::Custom { minutes }) => i64::from(minutes),
    };
    Some(date(moment)?.and_time(time).and_utc().timestamp_micros() - offset_minutes * 60_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: ColumnType, written: &str) -> Result<Value, PolicyError> {
        let table: toml::Table = format!("x = {written}").parse().expect("TOML");
        Value::read(kind, &table["x"], &FieldPath::top("x"))
    }

    #[test]
    fn every_type_reads_its_own_values() {
        use ColumnType::*;
        let cases = [
            (Integer, "-5", Value::Integer(-5)),
            (Integer, "9223372036854775807", Value::Integer(i64::MAX)),
            (Real, "1", Value::Real(1.0)),
            (Real, "-0.0", Value::Real(0.0)),
            (Text, "\"\"", Value::Text(String::new())),
            (Boolean, "true", Value::Boolean(true)),
            (Date, "1970-01-02", Value::Date(1)),
            (Date, "\"1969-12-31\"", Value::Date(-1)),
            (Date, "2000-02-29", Value::Date(11016)),
            (Timestamp, "1970-01-01", Value::Timestamp(0)),
            (Timestamp, "1970-01-01T00:00:01.000002Z", Value::Timestamp(1_000_002)),
            (Timestamp, "1970-01-01T01:00:00+01:00", Value::Timestamp(0)),
            (Timestamp, "\"1969-12-31 23:59:59\"", Value::Timestamp(-1_000_000)),
        ];
        for (kind, written, expected) in cases {
            let value = read(kind, written).expect(written);
            assert_eq!(value.canonical(), expected.canonical(), "{written}");
            assert_eq!(value.kind(), kind);
        }
    }

    #[test]
    fn values_of_another_type_are_refused_and_named() {
        use ColumnType::*;
        for (kind, written) in [
            (Integer, "1.0"),
            (Integer, "\"1\""),
            (Real, "nan"),
            (Real, "-inf"),
            (Real, "\"1\""),
            (Text, "1"),
            (Boolean, "1"),
            (Date, "2024-01-31T00:00:00Z"),
            (Date, "\"31.1.2024\""),
            (Date, "\"2023-02-29\""),
            (Timestamp, "12:00:00"),
            (Timestamp, "\"soon\""),
        ] {
            let message = read(kind, written).expect_err(written).to_string();
            assert!(message.contains(kind.name()) && message.starts_with("x = "), "{message}");
        }
        let long = format!("\"{}\"", "x".repeat(LONGEST_TEXT + 1));
        assert!(read(Text, &long).expect_err("too long").to_string().len() < 250);
    }

    #[test]
    fn values_print_as_they_are_written() {
        for (value, printed) in [
            (Value::Date(11016), "2000-02-29"),
            (Value::Timestamp(1_000_002), "1970-01-01T00:00:01.000002Z"),
            (Value::Timestamp(0), "1970-01-01T00:00:00Z"),
            (Value::Timestamp(i64::MAX), "9223372036854775807 microseconds after 1970-01-01"),
            (Value::Text("a\"b\n".into()), r#""a\"b\n""#),
            (Value::Real(2.0), "2.0"),
        ] {
            assert_eq!(value.to_string(), printed);
        }
    }
}
