//! The time of day, for people only: nothing depends on it, and it may be absurd.

use chrono::DateTime;
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

/// A time as `2026-11-16T02:18:37Z`; as a number of seconds where there is no such year.
pub(crate) fn utc(seconds: i64) -> String {
    match DateTime::from_timestamp_secs(seconds) {
        Some(time) => format!("{:?}Z", time.naive_utc()),
        None => format!("{seconds} seconds after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_and_absurd_ones() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_794_795_517, "2026-11-16T02:18:37Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"),
            (i64::MIN, "-9223372036854775808 seconds after 1970"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        assert!(utc(i64::MAX).contains("9223372036854775807"));
    }
}
