//! Numbers as labels.

/// A short text for a value on an axis: digits in the usual range, a power of ten beyond it.
pub(crate) fn label(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs();
    if (1e-3..1e5).contains(&magnitude) {
        // Six significant digits, read back: 0.30000000000000004 is 0.3.
        let short: f64 = format!("{value:.5e}").parse().unwrap_or(value);
        return format!("{short}").replace('-', "\u{2212}");
    }
    let text = format!("{value:.0e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power = format!("10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>", exponent.replace('-', "\u{2212}"));
    if digits == "1" { power } else { format!("{}\u{b7}{power}", digits.replace('-', "\u{2212}")) }
}

/// Text that is safe inside SVG and HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        assert_eq!(label(0.1 + 0.2), "0.3");
        assert_eq!(label(-2.0), "\u{2212}2");
        assert_eq!(label(1e-6), "10<tspan dy=\"-5\" font-size=\"9\">\u{2212}6</tspan>");
        assert_eq!(label(2e6), "2\u{b7}10<tspan dy=\"-5\" font-size=\"9\">6</tspan>");
        assert_eq!(escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
