//! From the types of a file to those of the engine, by total functions.
//!
//! Arrow's casts are used where they are total. Its "safe" cast of a moment to a date is not: a
//! moment beyond the calendar ends the query with an error that quotes it. Its cast of a 64-bit
//! date to a moment overflows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray,
    StringViewBuilder, TimestampMicrosecondArray, new_empty_array,
};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use reticent_policy::{ColumnType, LONGEST_TEXT};

use super::field;

const KINDS: [ColumnType; 6] = [
    ColumnType::Integer,
    ColumnType::Real,
    ColumnType::Text,
    ColumnType::Boolean,
    ColumnType::Date,
    ColumnType::Timestamp,
];

/// The declarations as which values of a type in a file are read.
pub(super) fn kinds(found: &DataType) -> impl Iterator<Item = ColumnType> {
    KINDS.into_iter().filter(|kind| accepts(found, *kind))
}

/// Whether values of a type in a file are read as the declared type. What can be wrong with a type,
/// as with the scale of a decimal, shows without a value.
pub(super) fn accepts(found: &DataType, declared: ColumnType) -> bool {
    fits(found, declared) && convert(&new_empty_array(found), declared).is_ok()
}

fn fits(found: &DataType, declared: ColumnType) -> bool {
    use DataType::*;
    let text = matches!(found, Utf8 | LargeUtf8 | Utf8View);
    let whole = found.is_integer();
    match (found, declared) {
        (Dictionary(keys, values), _) => {
            keys.is_integer() && !matches!(**values, Dictionary(..)) && fits(values, declared)
        }
        (_, ColumnType::Integer | ColumnType::Real) => {
            text || whole || found.is_floating() || found.is_decimal()
        }
        (Binary | LargeBinary | BinaryView, ColumnType::Text) => true,
        // Values without bytes could be any number of values.
        (FixedSizeBinary(width), ColumnType::Text) => *width > 0,
        (_, ColumnType::Text) => text || whole,
        (Boolean, ColumnType::Boolean) => true,
        (_, ColumnType::Boolean) => text || whole,
        (Date32 | Date64 | Timestamp(..), ColumnType::Date | ColumnType::Timestamp) => true,
        (_, ColumnType::Date | ColumnType::Timestamp) => text,
    }
}

/// The values in the engine's type: reals in their one form ([`field::canonical`]), texts valid and
/// cut. Texts may come as bytes, whatever they are declared as. An error means that [`accepts`] was
/// not asked, and depends on types alone.
pub(super) fn convert(array: &ArrayRef, declared: ColumnType) -> Result<ArrayRef, ArrowError> {
    use DataType::*;
    let found = array.data_type();
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        // Converted first: repeated, a long text would take its length as often as it occurs.
        return take(&convert(dictionary.values(), declared)?, dictionary.keys(), None);
    }
    let text = matches!(found, Utf8 | LargeUtf8 | Utf8View);
    let bytes = matches!(found, Binary | LargeBinary | BinaryView);
    Ok(match declared {
        ColumnType::Text if text || found.is_integer() => cut_long(safe_cast(array, &Utf8View)?),
        ColumnType::Text => repaired(&safe_cast(array, &BinaryView)?),
        ColumnType::Integer if text || bytes => {
            Arc::new(read_text::<Int64Array, _>(array, field::integer)?)
        }
        ColumnType::Real if text || bytes => {
            Arc::new(read_text::<Float64Array, _>(array, field::real)?)
        }
        ColumnType::Boolean if text || bytes => {
            Arc::new(read_text::<BooleanArray, _>(array, field::boolean)?)
        }
        ColumnType::Date if text || bytes => {
            Arc::new(read_text::<Date32Array, _>(array, field::date)?)
        }
        ColumnType::Timestamp if text || bytes => {
            Arc::new(read_text::<TimestampMicrosecondArray, _>(array, field::timestamp)?)
        }
        ColumnType::Integer if found.is_floating() => {
            let numbers = safe_cast(array, &Float64)?;
            Arc::new(numbers.as_primitive::<Float64Type>().unary_opt::<_, Int64Type>(field::whole))
        }
        ColumnType::Integer => safe_cast(array, &Int64)?,
        ColumnType::Real => canonical(safe_cast(array, &Float64)?),
        ColumnType::Boolean if *found == Boolean => Arc::clone(array),
        ColumnType::Boolean => {
            let numbers = safe_cast(array, &Int64)?;
            let truths = numbers.as_primitive::<Int64Type>().iter().map(|number| match number? {
                0 => Some(false),
                1 => Some(true),
                _ => None,
            });
            Arc::new(truths.collect::<BooleanArray>())
        }
        ColumnType::Date if *found == Date32 => Arc::clone(array),
        ColumnType::Date => {
            let days = moments(array)?.unary_opt::<_, Date32Type>(|moment| {
                i32::try_from(moment.div_euclid(MICROSECONDS_OF_DAY)).ok()
            });
            Arc::new(days)
        }
        ColumnType::Timestamp => Arc::new(moments(array)?),
    })
}

const MICROSECONDS_OF_DAY: i64 = 86_400_000_000;

/// Dates and moments in microseconds, rounded down; those beyond 64 bits are NULL. A time zone only
/// says how a moment is shown.
fn moments(array: &ArrayRef) -> Result<TimestampMicrosecondArray, ArrowError> {
    let (ticks, per_tick) = match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            return Ok(days.unary_opt(|day| i64::from(day).checked_mul(MICROSECONDS_OF_DAY)));
        }
        DataType::Date64 => {
            (array.as_primitive::<Date64Type>().reinterpret_cast::<Int64Type>(), 1_000)
        }
        DataType::Timestamp(unit, _) => {
            let ticks = safe_cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
            match unit {
                TimeUnit::Second => (ticks, 1_000_000),
                TimeUnit::Millisecond => (ticks, 1_000),
                TimeUnit::Microsecond => return Ok(ticks.reinterpret_cast()),
                TimeUnit::Nanosecond => {
                    return Ok(
                        ticks.unary::<_, TimestampMicrosecondType>(|tick| tick.div_euclid(1_000))
                    );
                }
            }
        }
        other => return Err(ArrowError::CastError(format!("{other} is no date"))),
    };
    Ok(ticks.unary_opt(|tick| tick.checked_mul(per_tick)))
}

fn safe_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() })
}

fn read_text<A, T>(array: &ArrayRef, read: fn(&[u8]) -> Option<T>) -> Result<A, ArrowError>
where
    A: FromIterator<Option<T>>,
{
    let texts = safe_cast(array, &DataType::BinaryView)?;
    Ok(texts.as_binary_view().iter().map(|text| read(text?)).collect())
}

/// Reals in their one form. Most arrays are, and stay as they are. All values are looked at, in
/// vectors, which is faster than to stop at the first.
fn canonical(array: ArrayRef) -> ArrayRef {
    let numbers = array.as_primitive::<Float64Type>();
    let other = |number: &f64| number.is_nan() | (number.to_bits() == (-0.0_f64).to_bits());
    if numbers.values().iter().fold(false, |any, number| any | other(number)) {
        Arc::new(numbers.unary_opt::<_, Float64Type>(field::canonical))
    } else {
        array
    }
}

/// Long texts are cut. Most arrays have none, which the lengths in the views tell, and stay as they
/// are.
fn cut_long(array: ArrayRef) -> ArrayRef {
    let texts = array.as_string_view();
    // The low half of a view's first word is the length.
    if texts.views().iter().all(|view| (*view as u32) as usize <= LONGEST_TEXT) {
        return array;
    }
    Arc::new(texts.iter().map(|text| text.map(field::cut)).collect::<StringViewArray>())
}

/// Bytes as text. Most arrays are UTF-8, and stay as they are.
fn repaired(array: &ArrayRef) -> ArrayRef {
    if let Ok(texts) = array.as_binary_view().clone().to_string_view() {
        return cut_long(Arc::new(texts));
    }
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for bytes in array.as_binary_view() {
        builder.append_option(bytes.map(field::text));
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryArray, Date64Array, Decimal128Array, DictionaryArray, Float32Array, Int8Array,
        LargeStringArray, StringArray, TimestampMillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt64Array, new_null_array,
    };
    use arrow::datatypes::{Field, Int32Type};

    use super::super::engine_type;
    use super::*;

    /// As text, NULL as "-".
    fn shown(array: impl Array + 'static, declared: ColumnType) -> Vec<String> {
        let array: ArrayRef = Arc::new(array);
        assert!(accepts(array.data_type(), declared));
        let converted = convert(&array, declared).expect("accepted");
        assert_eq!(converted.data_type(), &engine_type(declared));
        assert_eq!(converted.len(), array.len());
        let options = arrow::util::display::FormatOptions::new().with_null("-");
        let formatter =
            arrow::util::display::ArrayFormatter::try_new(&converted, &options).expect("shown");
        (0..converted.len()).map(|row| formatter.value(row).to_string()).collect()
    }

    #[test]
    fn numbers_of_every_size() {
        use ColumnType::*;
        assert_eq!(shown(UInt64Array::from(vec![7, u64::MAX]), Integer), ["7", "-"]);
        assert_eq!(shown(Int8Array::from(vec![Some(-128), None]), Real), ["-128.0", "-"]);
        let floats = Float64Array::from(vec![2.9, -2.9, f64::NAN, f64::INFINITY, 9.3e18, -0.0]);
        assert_eq!(shown(floats.clone(), Integer), ["2", "-2", "-", "-", "-", "0"]);
        assert_eq!(shown(floats, Real), ["2.9", "-2.9", "-", "inf", "9.3e18", "0.0"]);
        assert_eq!(shown(Float32Array::from(vec![0.5, f32::NAN]), Real), ["0.5", "-"]);
        let money = Decimal128Array::from(vec![12_345, -199, i128::MAX / 10])
            .with_precision_and_scale(38, 2)
            .expect("decimals");
        assert_eq!(shown(money.clone(), Integer), ["123", "-1", "-"]);
        assert_eq!(shown(money, Real)[..2], ["123.45", "-1.99"]);
        let texts = StringArray::from(vec![Some(" 12 "), Some("3.7"), Some("x"), Some(""), None]);
        assert_eq!(shown(texts.clone(), Integer), ["12", "3", "-", "-", "-"]);
        assert_eq!(shown(texts, Real), ["12.0", "3.7", "-", "-", "-"]);
    }

    #[test]
    fn text_of_every_kind() {
        use ColumnType::*;
        let dictionary: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        assert_eq!(shown(dictionary, Text), ["a", "b", "a"]);
        let numbers: DictionaryArray<Int32Type> = ["1", "x", "1"].into_iter().collect();
        assert_eq!(shown(numbers, Integer), ["1", "-", "1"]);
        assert_eq!(shown(BinaryArray::from(vec![&b"ok"[..], b"\xff"]), Text), ["ok", "\u{fffd}"]);
        assert_eq!(shown(Int64Array::from(vec![i64::MIN]), Text), ["-9223372036854775808"]);
        assert_eq!(
            shown(LargeStringArray::from(vec!["yes", "0", "maybe"]), Boolean),
            ["true", "false", "-"]
        );
        assert_eq!(shown(Int64Array::from(vec![1, 0, 2]), Boolean), ["true", "false", "-"]);
        let long = "é".repeat(LONGEST_TEXT);
        let cut =
            shown(StringViewArray::from(vec![Some("short"), Some(long.as_str()), None]), Text);
        assert_eq!((cut[0].as_str(), cut[1].len(), cut[2].as_str()), ("short", LONGEST_TEXT, "-"));
    }

    #[test]
    fn dates_and_moments_have_no_limit_that_is_an_error() {
        use ColumnType::*;
        assert_eq!(shown(Date64Array::from(vec![-1, i64::MAX]), Date), ["1969-12-31", "-"]);
        assert_eq!(
            shown(TimestampSecondArray::from(vec![-1, i64::MAX, i64::MIN]), Date),
            ["1969-12-31", "-", "-"]
        );
        // Arrow's own safe cast ends with an error that quotes the value, or overflows.
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        assert!(
            safe_cast(&far, &DataType::Date32)
                .is_err_and(|error| error.to_string().contains("9223372036854775807"))
        );
        let converted = |array: ArrayRef| {
            let converted = convert(&array, Timestamp).expect("accepted");
            converted.as_primitive::<TimestampMicrosecondType>().iter().collect::<Vec<_>>()
        };
        let zoned = TimestampMillisecondArray::from(vec![-1, i64::MAX]).with_timezone("+05:00");
        assert_eq!(converted(Arc::new(zoned)), [Some(-1000), None]);
        assert_eq!(
            converted(Arc::new(TimestampNanosecondArray::from(vec![-1, 1999]))),
            [Some(-1), Some(1)]
        );
        assert_eq!(
            converted(Arc::new(Date32Array::from(vec![1, i32::MAX]))),
            [Some(MICROSECONDS_OF_DAY), None]
        );
        assert_eq!(converted(Arc::new(Date64Array::from(vec![1, i64::MIN]))), [Some(1000), None]);
        let named = TimestampMicrosecondArray::from(vec![i64::MIN]).with_timezone("Europe/Prague");
        assert_eq!(converted(Arc::new(named)), [Some(i64::MIN)]);
        assert_eq!(
            shown(StringArray::from(vec!["2000-02-29", "2001-02-29"]), Date),
            ["2000-02-29", "-"]
        );
    }

    #[test]
    fn what_is_accepted_is_converted_and_nothing_else_is() {
        use DataType::*;
        let simple = [
            Null,
            Boolean,
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
            Utf8,
            LargeUtf8,
            Utf8View,
            Binary,
            LargeBinary,
            BinaryView,
            FixedSizeBinary(3),
            Date32,
            Date64,
            Decimal32(9, 2),
            Decimal64(18, 0),
            Decimal128(38, 10),
            Decimal256(76, 20),
            Decimal128(10, -3),
            Timestamp(TimeUnit::Second, None),
            Timestamp(TimeUnit::Nanosecond, Some("Asia/Tokyo".into())),
            Time32(TimeUnit::Second),
            Time64(TimeUnit::Nanosecond),
            Duration(TimeUnit::Second),
            DataType::new_list(Int64, true),
            Struct(vec![Field::new("a", Int64, true)].into()),
        ];
        let mut accepted = 0;
        for found in simple {
            let dictionary = Dictionary(Box::new(Int32), Box::new(found.clone()));
            for declared in KINDS {
                assert_eq!(
                    accepts(&found, declared),
                    accepts(&dictionary, declared),
                    "{found} {declared}"
                );
                if !accepts(&found, declared) {
                    continue;
                }
                accepted += 1;
                let array = new_null_array(&found, 3);
                let converted = convert(&array, declared).expect("accepted");
                assert_eq!(
                    (converted.data_type(), converted.null_count()),
                    (&engine_type(declared), 3),
                    "{found}"
                );
            }
        }
        assert_eq!(accepted, 79);
        assert!(!accepts(&DataType::new_list(Int64, true), ColumnType::Text));
        // A scale that the type cannot hold, and values without bytes.
        assert!(
            !accepts(&Decimal32(9, -128), ColumnType::Integer)
                && !accepts(&FixedSizeBinary(0), ColumnType::Text)
        );
    }
}
