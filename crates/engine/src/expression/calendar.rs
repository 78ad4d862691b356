//! Parts of dates and moments, and moments cut to a part, in the years 1 to 9999; outside they are
//! NULL.

use super::kind::Kind;
use super::values::{Values, each};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Timelike};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, TimestampMicrosecondArray};

/// The first and the last day of the years 1 to 9999, in days since 1970-01-01.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

pub(super) const MICROSECONDS_OF_DAY: i64 = 86_400_000_000;

/// A part of a date or moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    DayOfYear,
    DayOfWeek,
    IsoDayOfWeek,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Epoch,
}

/// The names of the parts that `DATE_PART` and `EXTRACT` take; the first of each is for messages.
const NAMES: [(&str, Part); 17] = [
    ("year", Part::Year),
    ("isoyear", Part::IsoYear),
    ("quarter", Part::Quarter),
    ("qtr", Part::Quarter),
    ("month", Part::Month),
    ("week", Part::Week),
    ("day", Part::Day),
    ("doy", Part::DayOfYear),
    ("dow", Part::DayOfWeek),
    ("isodow", Part::IsoDayOfWeek),
    ("hour", Part::Hour),
    ("minute", Part::Minute),
    ("second", Part::Second),
    ("millisecond", Part::Millisecond),
    ("microsecond", Part::Microsecond),
    ("epoch", Part::Epoch),
    ("weekday", Part::DayOfWeek),
];

impl Part {
    /// The part of this name, in any case, also in the plural.
    pub(super) fn named(name: &str) -> Option<Part> {
        let name = name.to_lowercase();
        let singular = name.strip_suffix('s').unwrap_or(&name);
        NAMES.iter().find(|(known, _)| *known == name || *known == singular).map(|(_, part)| *part)
    }

    /// The parts to which a moment can be cut.
    pub(super) fn cuts(self) -> bool {
        use Part::{
            Day, Hour, Microsecond, Millisecond, Minute, Month, Quarter, Second, Week, Year,
        };
        matches!(
            self,
            Year | Quarter
                | Month
                | Week
                | Day
                | Hour
                | Minute
                | Second
                | Millisecond
                | Microsecond
        )
    }

    /// `DATE_PART`: an integer, but for the seconds since 1970, which are real.
    pub(super) fn extract(self, kind: Kind, values: &Values, rows: usize) -> ArrayRef {
        let moment = moments(kind, values);
        if self == Part::Epoch {
            return each::<Float64Array, _>(rows, |row| {
                let moment = moment(row)?;
                civil(moment).map(|_| moment as f64 / 1e6)
            });
        }
        each::<Int64Array, _>(rows, |row| civil(moment(row)?).map(|time| self.of(time)))
    }

    fn of(self, time: NaiveDateTime) -> i64 {
        let microseconds =
            i64::from(time.second()) * 1_000_000 + i64::from(time.nanosecond() / 1_000);
        match self {
            Part::Year => time.year().into(),
            Part::IsoYear => time.iso_week().year().into(),
            Part::Quarter => (time.month0() / 3 + 1).into(),
            Part::Month => time.month().into(),
            Part::Week => time.iso_week().week().into(),
            Part::Day => time.day().into(),
            Part::DayOfYear => time.ordinal().into(),
            Part::DayOfWeek => time.weekday().num_days_from_sunday().into(),
            Part::IsoDayOfWeek => time.weekday().number_from_monday().into(),
            Part::Hour => time.hour().into(),
            Part::Minute => time.minute().into(),
            Part::Second => time.second().into(),
            Part::Millisecond => microseconds / 1_000,
            Part::Microsecond => microseconds,
            Part::Epoch => time.and_utc().timestamp(),
        }
    }

    /// `DATE_TRUNC`: the first moment of the part that a moment is in.
    pub(super) fn truncate(self, kind: Kind, values: &Values, rows: usize) -> ArrayRef {
        let moment = moments(kind, values);
        each::<TimestampMicrosecondArray, _>(rows, |row| self.first(moment(row)?))
    }

    fn first(self, moment: i64) -> Option<i64> {
        let date = civil(moment)?.date();
        let floor = |ticks: i64| Some(moment.div_euclid(ticks) * ticks);
        let first = match self {
            Part::Year => date.with_ordinal(1)?,
            Part::Quarter => date.with_day(1)?.with_month0(date.month0() / 3 * 3)?,
            Part::Month => date.with_day(1)?,
            Part::Week => NaiveDate::from_epoch_days(
                date.to_epoch_days() - i32::try_from(date.weekday().num_days_from_monday()).ok()?,
            )?,
            Part::Day => return floor(MICROSECONDS_OF_DAY),
            Part::Hour => return floor(3_600_000_000),
            Part::Minute => return floor(60_000_000),
            Part::Second => return floor(1_000_000),
            Part::Millisecond => return floor(1_000),
            Part::Microsecond => return Some(moment),
            Part::IsoYear
            | Part::DayOfYear
            | Part::DayOfWeek
            | Part::IsoDayOfWeek
            | Part::Epoch => return None,
        };
        Some(i64::from(first.to_epoch_days()) * MICROSECONDS_OF_DAY)
    }
}

/// The moments of dates or moments, in microseconds. A date's is that of its midnight.
fn moments<'a>(kind: Kind, values: &'a Values) -> Box<dyn Fn(usize) -> Option<i64> + 'a> {
    if kind == Kind::Date {
        let dates = values.dates();
        Box::new(move |row| i64::from(dates.get(row)?).checked_mul(MICROSECONDS_OF_DAY))
    } else {
        let moments = values.moments();
        Box::new(move |row| moments.get(row))
    }
}

/// The date and the time of day of a moment of the years 1 to 9999.
pub(super) fn civil(moment: i64) -> Option<NaiveDateTime> {
    let day = i32::try_from(moment.div_euclid(MICROSECONDS_OF_DAY)).ok()?;
    if !DAYS.contains(&day) {
        return None;
    }
    DateTime::from_timestamp_micros(moment).map(|time| time.naive_utc())
}

/// The names of the parts, for messages.
pub(super) fn part_names(cutting: bool) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = Vec::new();
    for (name, part) in NAMES {
        if (!cutting || part.cuts()) && !seen.contains(&part) {
            seen.push(part);
            names.push(name);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i32, month: u32, day: u32, hour: u32, micro: u32) -> i64 {
        let date = NaiveDate::from_ymd_opt(year, month, day).expect("a day");
        date.and_hms_micro_opt(hour, 4, 5, micro).expect("a time").and_utc().timestamp_micros()
    }

    #[test]
    fn the_calendar_ends_where_it_says() {
        let first = i64::from(*DAYS.start()) * MICROSECONDS_OF_DAY;
        let last = i64::from(*DAYS.end() + 1) * MICROSECONDS_OF_DAY - 1;
        assert_eq!(civil(first).map(|time| (time.year(), time.ordinal())), Some((1, 1)));
        assert_eq!(civil(last).map(|time| (time.year(), time.ordinal())), Some((9999, 365)));
        assert_eq!([first - 1, last + 1, i64::MIN, i64::MAX].map(civil), [None; 4]);
    }

    #[test]
    fn parts_and_cuts() {
        let moment = at(2021, 1, 3, 13, 250_000);
        let of = |part: Part| part.of(civil(moment).expect("in the calendar"));
        let parts = [
            Part::Year,
            Part::IsoYear,
            Part::Quarter,
            Part::Week,
            Part::DayOfWeek,
            Part::IsoDayOfWeek,
        ];
        assert_eq!(parts.map(of), [2021, 2020, 1, 53, 0, 7], "a Sunday");
        assert_eq!(
            [Part::Hour, Part::Millisecond, Part::Microsecond].map(of),
            [13, 5_250, 5_250_000]
        );
        let cut = |part: Part| part.first(moment).and_then(civil).map(|time| time.to_string());
        assert_eq!(cut(Part::Week).as_deref(), Some("2020-12-28 00:00:00"));
        assert_eq!(cut(Part::Quarter).as_deref(), Some("2021-01-01 00:00:00"));
        assert_eq!(cut(Part::Hour).as_deref(), Some("2021-01-03 13:00:00"));
        // A day of another month: the first of the quarter is found all the same.
        assert_eq!(
            Part::Quarter.first(at(2021, 12, 31, 1, 0)),
            Some(at(2021, 10, 1, 0, 0) - 245_000_000)
        );
        // The first week of the calendar begins before it.
        assert!(Part::Week.first(at(1, 1, 2, 0, 0)).is_some());
    }

    #[test]
    fn names_in_any_case_and_number() {
        assert_eq!(Part::named("Years"), Some(Part::Year));
        assert_eq!(Part::named("century"), None);
        assert!(part_names(true).starts_with("year, quarter"), "{}", part_names(true));
    }
}
