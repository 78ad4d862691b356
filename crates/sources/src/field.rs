//! Values from text, the same for CSV fields and for text columns that are declared as something
//! else. Total: what cannot be read is `None`.

use std::borrow::Cow;

use arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use arrow::datatypes::Date32Type;
use chrono::Utc;
use reticent_policy::LONGEST_TEXT;

/// A whole number, with spaces around it; a number with a fraction or an exponent is cut towards
/// zero.
pub fn integer(bytes: &[u8]) -> Option<i64> {
    let text = ascii(bytes)?;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if !text.contains(['.', 'e', 'E']) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    whole(number)
}

/// A number without its fraction, if 64 bits hold it.
pub fn whole(number: f64) -> Option<i64> {
    // From -2^63 to below 2^63, both exact; NaN is in no range.
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&number)
        .then_some(number as i64)
}

/// A number, with spaces around it.
pub fn real(bytes: &[u8]) -> Option<f64> {
    canonical(ascii(bytes)?.parse().ok()?)
}

/// A number of which equal ones have equal bits: NaN is no number, and there is one zero.
/// Infinities are kept.
pub fn canonical(number: f64) -> Option<f64> {
    // -0.0 + 0.0 is 0.0; every other number is itself.
    (!number.is_nan()).then_some(number + 0.0)
}

/// True or false, as people write it.
pub fn boolean(bytes: &[u8]) -> Option<bool> {
    let text = ascii(bytes)?;
    let is = |words: [&str; 5]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["true", "t", "yes", "y", "1"]) {
        Some(true)
    } else if is(["false", "f", "no", "n", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// A date as `2024-01-31`, in days since 1970-01-01; a time of day after it is left out.
pub fn date(bytes: &[u8]) -> Option<i32> {
    let text = ascii(bytes)?;
    if let Some(days) = Date32Type::parse(text).filter(|_| text.len() <= 10) {
        return Some(days);
    }
    i32::try_from(timestamp(bytes)?.div_euclid(86_400_000_000)).ok()
}

/// A moment as ISO 8601 has it, in microseconds since 1970-01-01T00:00:00Z, UTC unless it says
/// otherwise.
pub fn timestamp(bytes: &[u8]) -> Option<i64> {
    string_to_datetime(&Utc, ascii(bytes)?).ok().map(|moment| moment.timestamp_micros())
}

/// Text, valid and not too long.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(cut(text)),
        Cow::Owned(mut text) => {
            text.truncate(cut(&text).len());
            Cow::Owned(text)
        }
    }
}

/// The beginning of a text that is kept.
pub fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// The longest text that can be a number or a date: `f64` needs at most 1,100 digits to be written
/// exactly.
const LONGEST_NUMBER: usize = 2048;

fn ascii(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.trim_ascii();
    if bytes.len() > LONGEST_NUMBER || !bytes.is_ascii() {
        None
    } else {
        std::str::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("17", Some(17)),
            (" -3 ", Some(-3)),
            ("+4", Some(4)),
            ("3.0", Some(3)),
            ("-2.9", Some(-2)),
            ("1e3", Some(1000)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("1e19", None),
            ("1,000", None),
            ("", None),
            ("seven", None),
            ("nan", None),
            ("0x10", None),
        ] {
            assert_eq!(integer(text.as_bytes()), expected, "{text:?}");
        }
        for (text, expected) in [
            ("2.5", Some(2.5)),
            ("\t.5", Some(0.5)),
            ("1e400", Some(f64::INFINITY)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("NaN", None),
            ("", None),
            ("1 2", None),
            ("2,5", None),
        ] {
            assert_eq!(real(text.as_bytes()), expected, "{text:?}");
        }
        for zero in ["0", "-0", "-0.0", "-0e9", "-1e-400"] {
            assert_eq!(real(zero.as_bytes()).map(f64::to_bits), Some(0), "{zero:?}");
        }
        assert_eq!(real("1".repeat(LONGEST_NUMBER + 1).as_bytes()), None);
        assert_eq!(integer(b"1\xff"), None);
    }

    #[test]
    fn truths_dates_and_moments() {
        assert_eq!(
            (boolean(b"Yes"), boolean(b"F"), boolean(b"0"), boolean(b"2")),
            (Some(true), Some(false), Some(false), None)
        );
        for (text, expected) in [
            ("1970-01-02", Some(1)),
            ("1969-12-31", Some(-1)),
            ("2000-02-29 23:59:59", Some(11016)),
            ("1969-12-31T23:59:59", Some(-1)),
            ("2023-02-29", None),
            ("31.12.1999", None),
            ("", None),
        ] {
            assert_eq!(date(text.as_bytes()), expected, "{text:?}");
        }
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1970-01-01 00:00:00.000001", Some(1)),
            ("1970-01-01T00:00:00.0000019Z", Some(1)),
            ("1970-01-01T02:00:00+02:00", Some(0)),
            ("1970-01-01T25:00:00", None),
            ("yesterday", None),
        ] {
            assert_eq!(timestamp(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn text_is_repaired_and_cut_at_a_character() {
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
        let long = "é".repeat(LONGEST_TEXT);
        assert_eq!(text(long.as_bytes()).len(), LONGEST_TEXT);
        let odd = format!("x{long}");
        assert_eq!(text(odd.as_bytes()).len(), LONGEST_TEXT - 1);
        let wrong = vec![0xff; LONGEST_TEXT];
        assert_eq!(text(&wrong).len(), LONGEST_TEXT / 3 * 3);
    }

    #[test]
    fn no_bytes_cause_a_panic() {
        // Pieces of numbers, dates and wrong bytes in random order.
        let pieces: [&[u8]; 24] = [
            b"1",
            b"-",
            b"+",
            b".",
            b"e",
            b"9223372036854775808",
            b"2024",
            b"-02-",
            b"29",
            b"T",
            b" ",
            b":",
            b"23",
            b"59",
            b"Z",
            b"z",
            b"America/New_York",
            b"+99:99",
            b"inf",
            b"nan",
            b"\xff",
            b"\xc3\xa9",
            b"00000",
            b"\0",
        ];
        let mut state = 7u64;
        let mut read = 0;
        for _ in 0..200_000 {
            let mut bytes = Vec::new();
            for _ in 0..10 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                bytes.extend_from_slice(pieces[(state >> 33) as usize % pieces.len()]);
            }
            bytes.truncate((state >> 20) as usize % 40);
            read += usize::from(integer(&bytes).is_some()) + usize::from(real(&bytes).is_some());
            read += usize::from(date(&bytes).is_some()) + usize::from(timestamp(&bytes).is_some());
            read += usize::from(boolean(&bytes).is_some()) + text(&bytes).len().min(1);
        }
        assert!(read > 100_000);
    }
}
