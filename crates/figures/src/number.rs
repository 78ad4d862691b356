//! Numbers and texts as labels.

/// How far a superscript is raised, in heights of its own, smaller letters; and the way back, in
/// heights of the text around it.
const RAISE: &str = "-0.48em";
const LOWER: &str = "0.36em";

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
    power(value)
}

/// A value as a power of ten, whatever its size; zero is zero.
pub(crate) fn power(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    power_of_ten(digits, exponent)
}

/// `digits * 10^exponent`, with a raised exponent.
fn power_of_ten(digits: &str, exponent: &str) -> String {
    let minus = |text: &str| text.replace('-', "\u{2212}");
    let power = format!("10<tspan dy=\"{RAISE}\" font-size=\"75%\">{}</tspan>", minus(exponent));
    match digits {
        "1" => power,
        "-1" => format!("\u{2212}{power}"),
        _ => format!("{}\u{b7}{power}", minus(digits)),
    }
}

/// Text that is safe inside SVG and HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text for a picture: safe inside SVG, and a number such as `1e-6` is set as a power of ten.
pub(crate) fn set(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((start, end)) = scientific(rest) {
        result.push_str(&escaped(&rest[..start]));
        let (digits, exponent) =
            rest[start..end].split_once('e').unwrap_or((&rest[start..end], "0"));
        result.push_str(&power_of_ten(digits, exponent));
        rest = &rest[end..];
        if rest.is_empty() {
            return result;
        }
        // What follows is on the line again, up to the next power, whose own shift is relative to
        // it.
        let until = scientific(rest).map_or(rest.len(), |next| next.0);
        result.push_str(&format!("<tspan dy=\"{LOWER}\">{}</tspan>", escaped(&rest[..until])));
        rest = &rest[until..];
    }
    result + &escaped(rest)
}

/// Where the first number such as `1e-6` or `2.5e7` begins and ends.
fn scientific(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let digits_from =
        |start: usize| bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    for (e, _) in text.match_indices('e') {
        let start = e - bytes[..e]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let sign = usize::from(bytes.get(e + 1) == Some(&b'-'));
        let end = e + 1 + sign + digits_from((e + 1 + sign).min(bytes.len()));
        let begins =
            start < e && bytes[start].is_ascii_digit() && (start == 0 || !word(bytes[start - 1]));
        if begins
            && end > e + 1 + sign
            && bytes.get(end).is_none_or(|next| !next.is_ascii_alphanumeric())
        {
            return Some((start, end));
        }
    }
    None
}

/// About how wide a text is, in its font size: no less than in the fonts that figures are set in.
///
/// Letters fall into five classes by the widths of Ubuntu Light and of Helvetica, whichever is
/// wider.
pub(crate) fn width(text: &str) -> f64 {
    let letter = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' | ',' | '.' | ':' | ';' | ' ' | '!' => 0.28,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.39,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' | '&' => 0.74,
        _ => 0.58,
    };
    text.chars().map(letter).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        assert_eq!(label(0.1 + 0.2), "0.3");
        assert_eq!(label(-2.0), "\u{2212}2");
        let raised = |exponent: &str| {
            format!("10<tspan dy=\"-0.48em\" font-size=\"75%\">{exponent}</tspan>")
        };
        assert_eq!(label(1e-6), raised("\u{2212}6"));
        assert_eq!(label(2e6), format!("2\u{b7}{}", raised("6")));
        assert_eq!(label(2.5e6), format!("2.5\u{b7}{}", raised("6")));
        assert_eq!(label(-1e-9), format!("\u{2212}{}", raised("\u{2212}9")));
        assert_eq!(escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn powers_of_ten_are_set_and_other_words_left_alone() {
        let raised = |exponent: &str| {
            format!("10<tspan dy=\"-0.48em\" font-size=\"75%\">{exponent}</tspan>")
        };
        assert_eq!(set("\u{3b4} = 1e-6"), format!("\u{3b4} = {}", raised("\u{2212}6")));
        assert_eq!(
            set("1e-3 < x < 2e7, b"),
            format!(
                "{}<tspan dy=\"0.36em\"> &lt; x &lt; </tspan>2\u{b7}{}<tspan dy=\"0.36em\">, \
                 b</tspan>",
                raised("\u{2212}3"),
                raised("7")
            )
        );
        for plain in ["the 2 e", "a1e-3", "1e", "1e-", "node", "1e5x", "e-6", "0.5", "James-Stein"]
        {
            assert_eq!(set(plain), plain);
        }
    }

    #[test]
    fn wide_letters_need_more_room() {
        assert!(width("mmm") > width("iii") && width("") == 0.0);
        assert!((width("Laplace") - 3.9).abs() < 0.5, "{}", width("Laplace"));
    }
}
