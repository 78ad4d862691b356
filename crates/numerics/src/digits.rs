//! Numbers as people read them: short, and on the safe side where a claim is made.

use crate::Bounds;

/// The shortest text that reads back as the same number: digits in the usual range, an exponent
/// beyond it.
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
    // The text has six significant digits, and reading it gives the nearest double: both steps
    // cannot fail.
    let short = format!("{value:.5e}").parse().unwrap_or(value);
    exact(short)
}

/// Six significant digits of an amount that is not negative, and no less than it: for what is
/// spent.
pub fn rounded_up(amount: f64) -> String {
    exact(six_digits(amount, true))
}

/// Six significant digits of an amount that is not negative, and no more than it: for what is left.
pub fn rounded_down(amount: f64) -> String {
    exact(six_digits(amount, false))
}

/// The nearest number of six decimal digits on one side; the amount itself where it has no more, or
/// is not finite.
fn six_digits(amount: f64, up: bool) -> f64 {
    let right_side = |short: f64| if up { short >= amount } else { short <= amount };
    let nearest = format!("{amount:.5e}");
    let read = |text: &str| text.parse::<f64>().unwrap_or(amount);
    if right_side(read(&nearest)) {
        return read(&nearest);
    }
    // One step in the sixth digit is on the other side: the nearest is half a step away at most.
    let Some((mantissa, exponent)) = nearest.split_once('e') else { return amount };
    let (Ok(digits), Ok(exponent)) =
        (mantissa.replace('.', "").parse::<i64>(), exponent.parse::<i32>())
    else {
        return amount;
    };
    read(&format!("{}e{}", if up { digits + 1 } else { digits - 1 }, exponent - 5))
}

/// The number to report for bounds: the middle of tight bounds, and the upper end of others. `None`
/// if that is not finite.
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
    fn amounts_are_rounded_to_the_safe_side() {
        for amount in [
            0.1,
            1.0 / 3.0,
            2.0 / 3.0,
            1.9999999,
            0.99999951,
            1.00000049,
            1e-7,
            123456.5,
            7e-300,
            5e-324,
        ] {
            let (down, up): (f64, f64) = (
                rounded_down(amount).parse().expect("a number"),
                rounded_up(amount).parse().expect("a number"),
            );
            assert!(
                down <= amount && amount <= up && up - down <= 2e-5 * amount,
                "{down} {amount} {up}"
            );
        }
        assert_eq!(
            (rounded_down(1.9999999), rounded_up(1.0000001)),
            ("1.99999".to_owned(), "1.00001".to_owned())
        );
        assert_eq!(
            (rounded_down(0.25), rounded_up(0.25), rounded_up(0.0)),
            ("0.25".into(), "0.25".into(), "0".into())
        );
    }

    #[test]
    fn a_figure_never_hides_doubt() {
        assert_eq!(figure(Bounds::new(1.0, 2.0)), Some(2.0));
        assert_eq!(figure(Bounds::exact(1.5)), Some(1.5));
        assert_eq!(figure(Bounds::new(1.0, f64::INFINITY)), None);
    }
}
