//! Numbers as people read them.

use reticent_numerics::Bounds;

/// The shortest text that reads back as the same number: digits in the usual range, an exponent beyond it.
pub fn exact(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) || !value.is_finite() {
        format!("{}", value + 0.0)
    } else {
        format!("{value:e}")
    }
}

/// Six significant digits, for figures that nothing is proved from.
pub fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return exact(value);
    }
    // The text has six significant digits, and reading it gives the nearest double: both steps cannot fail.
    let short = format!("{value:.5e}").parse().unwrap_or(value);
    exact(short)
}

/// The number to report for bounds: the middle of tight bounds, and the upper end of others. `None` if that is not finite.
pub fn figure(bounds: Bounds) -> Option<f64> {
    let value = if bounds.relative_width() < 1e-9 { bounds.estimate() } else { bounds.upper() };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_read_back() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (1e15, "1000000000000000"),
        ] {
            assert_eq!(exact(value), text);
            assert_eq!(text.parse::<f64>(), Ok(value));
        }
        assert_eq!(rounded(3.730631634815942), "3.73063");
        assert_eq!(rounded(1.23456789e-9), "1.23457e-9");
        assert_eq!(rounded(f64::INFINITY), "inf");
    }

    #[test]
    fn a_figure_never_hides_doubt() {
        assert_eq!(figure(Bounds::new(1.0, 2.0)), Some(2.0));
        assert_eq!(figure(Bounds::exact(1.5)), Some(1.5));
        assert_eq!(figure(Bounds::new(1.0, f64::INFINITY)), None);
    }
}
