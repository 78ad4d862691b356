//! Casts between kinds of values, and to the narrower types that a plan declares. What does not
//! convert is NULL. Texts are read as the fields of a CSV file are.

use super::calendar::{MICROSECONDS_OF_DAY, civil};
use super::kind::Kind;
use super::values::{Values, each};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use reticent_sources::field;

/// Whether there is a cast between two kinds. Numbers are nobody's idea of a date.
pub(super) fn converts(from: Kind, to: Kind) -> bool {
    let calendar = |kind: Kind| matches!(kind, Kind::Date | Kind::Moment);
    let number = |kind: Kind| matches!(kind, Kind::Boolean | Kind::Integer | Kind::Real);
    !(calendar(from) && number(to) || number(from) && calendar(to))
}

/// The values in another kind; see [`converts`].
pub(super) fn convert(values: &Values, from: Kind, to: Kind, rows: usize) -> ArrayRef {
    match to {
        Kind::Boolean => boolean(values, from, rows),
        Kind::Integer => integer(values, from, rows),
        Kind::Real => real(values, from, rows),
        Kind::Text => text(values, from, rows),
        Kind::Date => date(values, from, rows),
        Kind::Moment => moment(values, from, rows),
    }
}

fn boolean(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    let (truths, integers) = (|| values.booleans(), || values.integers());
    match from {
        Kind::Integer => {
            let a = integers();
            each::<BooleanArray, _>(rows, |row| Some(a.get(row)? != 0))
        }
        Kind::Real => {
            let a = values.reals();
            each::<BooleanArray, _>(rows, |row| Some(a.get(row)? != 0.0))
        }
        Kind::Text => {
            let a = values.texts();
            each::<BooleanArray, _>(rows, |row| field::boolean(a.get(row)?.as_bytes()))
        }
        Kind::Boolean => {
            let a = truths();
            each::<BooleanArray, _>(rows, |row| a.get(row))
        }
        Kind::Date | Kind::Moment => each::<BooleanArray, _>(rows, |_| None),
    }
}

fn integer(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    match from {
        Kind::Boolean => {
            let a = values.booleans();
            each::<Int64Array, _>(rows, |row| a.get(row).map(i64::from))
        }
        Kind::Integer => {
            let a = values.integers();
            each::<Int64Array, _>(rows, |row| a.get(row))
        }
        Kind::Real => {
            let a = values.reals();
            each::<Int64Array, _>(rows, |row| field::whole(a.get(row)?))
        }
        Kind::Text => {
            let a = values.texts();
            each::<Int64Array, _>(rows, |row| field::integer(a.get(row)?.as_bytes()))
        }
        Kind::Date | Kind::Moment => each::<Int64Array, _>(rows, |_| None),
    }
}

fn real(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    match from {
        Kind::Boolean => {
            let a = values.booleans();
            each::<Float64Array, _>(rows, |row| a.get(row).map(f64::from))
        }
        Kind::Integer => {
            let a = values.integers();
            each::<Float64Array, _>(rows, |row| a.get(row).map(|number| number as f64))
        }
        Kind::Real => {
            let a = values.reals();
            each::<Float64Array, _>(rows, |row| a.get(row))
        }
        Kind::Text => {
            let a = values.texts();
            each::<Float64Array, _>(rows, |row| field::real(a.get(row)?.as_bytes()))
        }
        Kind::Date | Kind::Moment => each::<Float64Array, _>(rows, |_| None),
    }
}

fn text(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    match from {
        Kind::Boolean => {
            let a = values.booleans();
            each::<StringViewArray, _>(rows, |row| {
                a.get(row).map(|truth| if truth { "true" } else { "false" })
            })
        }
        Kind::Integer => {
            let a = values.integers();
            each::<StringViewArray, _>(rows, |row| a.get(row).map(|number| number.to_string()))
        }
        Kind::Real => {
            let a = values.reals();
            each::<StringViewArray, _>(rows, |row| a.get(row).map(|number| format!("{number:?}")))
        }
        Kind::Text => {
            let a = values.texts();
            each::<StringViewArray, _>(rows, |row| a.get(row))
        }
        Kind::Date => {
            let a = values.dates();
            each::<StringViewArray, _>(rows, |row| {
                let midnight = i64::from(a.get(row)?).checked_mul(MICROSECONDS_OF_DAY)?;
                civil(midnight).map(|time| format!("{:?}", time.date()))
            })
        }
        Kind::Moment => {
            let a = values.moments();
            each::<StringViewArray, _>(rows, |row| {
                civil(a.get(row)?).map(|time| format!("{time:?}"))
            })
        }
    }
}

fn date(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    match from {
        Kind::Text => {
            let a = values.texts();
            each::<Date32Array, _>(rows, |row| field::date(a.get(row)?.as_bytes()))
        }
        Kind::Moment => {
            let a = values.moments();
            each::<Date32Array, _>(rows, |row| {
                i32::try_from(a.get(row)?.div_euclid(MICROSECONDS_OF_DAY)).ok()
            })
        }
        Kind::Date => {
            let a = values.dates();
            each::<Date32Array, _>(rows, |row| a.get(row))
        }
        Kind::Boolean | Kind::Integer | Kind::Real => each::<Date32Array, _>(rows, |_| None),
    }
}

fn moment(values: &Values, from: Kind, rows: usize) -> ArrayRef {
    match from {
        Kind::Text => {
            let a = values.texts();
            each::<TimestampMicrosecondArray, _>(rows, |row| {
                field::timestamp(a.get(row)?.as_bytes())
            })
        }
        Kind::Date => {
            let a = values.dates();
            let midnight = |row| i64::from(a.get(row)?).checked_mul(MICROSECONDS_OF_DAY);
            each::<TimestampMicrosecondArray, _>(rows, midnight)
        }
        Kind::Moment => {
            let a = values.moments();
            each::<TimestampMicrosecondArray, _>(rows, |row| a.get(row))
        }
        Kind::Boolean | Kind::Integer | Kind::Real => {
            each::<TimestampMicrosecondArray, _>(rows, |_| None)
        }
    }
}

/// What a declared type does to a value of its kind beyond storing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Narrowing {
    /// Whole numbers outside are NULL.
    Range(i64, i64),
    /// Rounded to 32 bits; what overflows is NULL.
    Single,
    /// Cut to whole seconds or milliseconds, of so many microseconds.
    Ticks(i64),
}

impl Narrowing {
    pub(super) fn of(declared: &DataType) -> Option<Narrowing> {
        Some(match declared {
            DataType::Int8 => Narrowing::Range(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => Narrowing::Range(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => Narrowing::Range(i32::MIN.into(), i32::MAX.into()),
            DataType::UInt8 => Narrowing::Range(0, u8::MAX.into()),
            DataType::UInt16 => Narrowing::Range(0, u16::MAX.into()),
            DataType::UInt32 => Narrowing::Range(0, u32::MAX.into()),
            // Whole numbers have 63 bits and a sign here, whatever is declared.
            DataType::UInt64 => Narrowing::Range(0, i64::MAX),
            DataType::Float32 => Narrowing::Single,
            DataType::Timestamp(TimeUnit::Second, _) => Narrowing::Ticks(1_000_000),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Narrowing::Ticks(1_000),
            _ => return None,
        })
    }

    pub(super) fn apply(self, values: &Values, rows: usize) -> ArrayRef {
        match self {
            Narrowing::Range(least, most) => {
                let a = values.integers();
                each::<Int64Array, _>(rows, |row| {
                    a.get(row).filter(|number| (least..=most).contains(number))
                })
            }
            Narrowing::Single => {
                let a = values.reals();
                each::<Float64Array, _>(rows, |row| {
                    let wide = a.get(row)?;
                    let narrow = f64::from(wide as f32);
                    (narrow.is_finite() || wide.is_infinite()).then_some(narrow + 0.0)
                })
            }
            Narrowing::Ticks(ticks) => {
                let a = values.moments();
                each::<TimestampMicrosecondArray, _>(rows, |row| {
                    let moment = a.get(row)?;
                    // The least moment has no whole second before it in 64 bits.
                    moment.checked_sub(moment.rem_euclid(ticks))
                })
            }
        }
    }
}
