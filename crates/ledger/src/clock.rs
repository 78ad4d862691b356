//! The time of day, for people only: nothing depends on it, and it may be absurd.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the beginning of 1970, negative before it.
pub(crate) fn now() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds)
        }
    }
}

/// A time as `2026-11-16T02:18:37Z`, in the Gregorian calendar without leap seconds.
///
/// With years that begin in March, the leap day is the last of its year, and the first of a month
/// `m` (0 for March) is day `(153 m + 2)/5` of it; 400 years have 146097 days.
pub(crate) fn utc(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 1 March of the year 0.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = 400 * era + year_of_era + i64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_and_absurd_ones() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_794_795_517, "2026-11-16T02:18:37Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        assert!(utc(i64::MAX).ends_with('Z') && utc(i64::MIN).starts_with('-'));
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let lengths = |year: i64| {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let mut day = 0;
        for year in 1970..2770 {
            for (month, length) in lengths(year).into_iter().enumerate() {
                for of_month in 1..=length {
                    assert_eq!(
                        utc(86_400 * day)[..10],
                        format!("{year}-{:02}-{of_month:02}", month + 1)
                    );
                    day += 1;
                }
            }
        }
    }
}
