//! The six kinds of values that expressions compute with, whatever the width a plan declares.

use datafusion::arrow::datatypes::{DataType, TimeUnit};

/// What a value is. Within an expression there is one representation of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// True or false.
    Boolean,
    /// A whole number of 64 bits.
    Integer,
    /// A binary floating-point number of 64 bits, never NaN and never -0.0.
    Real,
    /// Valid UTF-8 of at most `LONGEST_TEXT` bytes.
    Text,
    /// A day, counted from 1970-01-01.
    Date,
    /// A moment in microseconds, counted from 1970-01-01T00:00:00Z.
    Moment,
}

impl Kind {
    /// The kind of a declared type, if expressions compute with it. A value that is always NULL has
    /// no type of its own; it is computed as a truth value.
    pub(crate) fn of(declared: &DataType) -> Option<Kind> {
        Some(match declared {
            DataType::Boolean | DataType::Null => Kind::Boolean,
            integer if integer.is_integer() => Kind::Integer,
            DataType::Float32 | DataType::Float64 => Kind::Real,
            text if text.is_string() => Kind::Text,
            DataType::Date32 => Kind::Date,
            DataType::Timestamp(_, None) => Kind::Moment,
            _ => return None,
        })
    }

    /// How values of this kind are stored while they are computed with.
    pub(crate) fn stored(self) -> DataType {
        match self {
            Kind::Boolean => DataType::Boolean,
            Kind::Integer => DataType::Int64,
            Kind::Real => DataType::Float64,
            Kind::Text => DataType::Utf8View,
            Kind::Date => DataType::Date32,
            Kind::Moment => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "a truth value",
            Kind::Integer => "an integer",
            Kind::Real => "a real number",
            Kind::Text => "text",
            Kind::Date => "a date",
            Kind::Moment => "a timestamp",
        }
    }
}
