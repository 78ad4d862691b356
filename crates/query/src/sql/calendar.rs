//! The part of the calendar for which the engine's functions of dates have an answer. Dates and moments of 64 bits reach farther, and there they stop.

use super::rows::refused;
use crate::error::QueryError;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::prelude::lit;

/// The first and the last day of the years 1 to 9999, in days since 1970: beyond them calendar functions have no answer.
pub(super) const DAYS: (i32, i32) = (-719_162, 2_932_896);

/// The same for the years 1678 to 2261: `date_trunc` computes in nanoseconds, of which 64 bits hold no more.
pub(super) const DAYS_OF_NANOSECONDS: (i32, i32) = (-106_650, 106_650);

/// Whether a date or a moment is from the first to the last of these days.
pub(super) fn covered(value: Expr, of: &DataType, days: (i32, i32), name: &str) -> Result<Expr, QueryError> {
    let (first, last) = calendar(of, days, name)?;
    Ok(value.clone().gt_eq(lit(first)).and(value.lt_eq(lit(last))))
}

/// The first and the last moment for which calendar functions have an answer, in the type of the argument.
fn calendar(of: &DataType, (first, last): (i32, i32), name: &str) -> Result<(ScalarValue, ScalarValue), QueryError> {
    match of {
        DataType::Date32 => Ok((ScalarValue::Date32(Some(first)), ScalarValue::Date32(Some(last)))),
        DataType::Timestamp(unit, None) => {
            let second: i64 = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let of_day = |day: i32| Some(i64::from(day).saturating_mul(86_400).saturating_mul(second));
            let value = |moment| match unit {
                TimeUnit::Second => ScalarValue::TimestampSecond(moment, None),
                TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(moment, None),
                TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(moment, None),
                TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(moment, None),
            };
            Ok((value(of_day(first)), value(of_day(last))))
        }
        other => refused(format!("{name} of {other} is not offered: it takes a date or a timestamp")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::NaiveDate;

    fn day(year: i32, month: u32, day: u32) -> i32 {
        let date = NaiveDate::from_ymd_opt(year, month, day).expect("a day");
        date.signed_duration_since(NaiveDate::default()).num_days() as i32
    }

    #[test]
    fn the_days_are_those_of_the_years() {
        assert_eq!(DAYS, (day(1, 1, 1), day(9999, 12, 31)));
        let (first, last) = DAYS_OF_NANOSECONDS;
        assert!(day(1677, 9, 21) < first && first <= day(1678, 1, 1), "{first}");
        assert!(day(2261, 12, 31) <= last && last < day(2262, 4, 11), "{last}");
        let of_day = |day: i32| i64::from(day).checked_mul(86_400_000_000_000);
        assert!(of_day(first).is_some() && of_day(last + 1).is_some(), "64 bits hold their nanoseconds");
    }

    #[test]
    fn limits_are_in_the_unit_of_the_argument() {
        let limits = |of: &DataType| calendar(of, (-1, 2), "a test").map_err(|error| error.to_string());
        assert_eq!(limits(&DataType::Date32), Ok((ScalarValue::Date32(Some(-1)), ScalarValue::Date32(Some(2)))));
        let milliseconds = |moment| ScalarValue::TimestampMillisecond(Some(moment), None);
        let found = limits(&DataType::Timestamp(TimeUnit::Millisecond, None));
        assert_eq!(found, Ok((milliseconds(-86_400_000), milliseconds(172_800_000))));
        let nanoseconds = |moment| ScalarValue::TimestampNanosecond(Some(moment), None);
        let found = calendar(&DataType::Timestamp(TimeUnit::Nanosecond, None), DAYS, "a test").expect("limits");
        assert_eq!(found, (nanoseconds(i64::MIN), nanoseconds(i64::MAX)), "all that there are");
        assert!(limits(&DataType::Int64).is_err_and(|message| message.contains("a test of Int64 is not offered")));
    }
}
