//! Numbers in tables and sentences.

/// So many significant digits, without an exponent in the usual range.
pub(crate) fn digits(value: f64, count: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{}", value + 0.0);
    }
    let rounded = format!("{value:.*e}", count.saturating_sub(1));
    let number: f64 = rounded.parse().unwrap_or(value);
    if (1e-4..1e7).contains(&number.abs()) { format!("{number}") } else { format!("{number:e}") }
}

/// Four significant digits, for sentences.
pub(crate) fn short(value: f64) -> String {
    digits(value, 4)
}

/// Eight significant digits, for tables.
pub(crate) fn long(value: f64) -> String {
    digits(value, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.123456), "0.1235");
        assert_eq!(short(1234567.0), "1235000");
        assert_eq!(short(1e-9), "1e-9");
        assert_eq!(long(2.0), "2");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(f64::INFINITY), "inf");
    }
}
