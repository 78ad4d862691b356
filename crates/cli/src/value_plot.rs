//! Released and denoised values side by side, as SVG.

use crate::numbers::rounded;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = HEIGHT - 56.0;
/// Longer vectors are drawn as the least and the greatest value of each of so many stretches.
const STRETCHES: usize = 600;

/// The picture of a vector before and after: grey and blue vertical strokes, from the least to the greatest value at each place.
pub fn svg(title: &str, before: &[f64], after: &[f64]) -> String {
    let all = || before.iter().chain(after);
    let least = all().copied().fold(f64::INFINITY, f64::min);
    let most = all().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if most > least { most - least } else { 1.0 };
    let y = |value: f64| BOTTOM - (value - least) / span * (BOTTOM - TOP);
    let count = before.len().max(1);
    let x = |place: f64| LEFT + (place + 0.5) / count as f64 * (RIGHT - LEFT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n",
        title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    );
    for step in 0..=4 {
        let value = least + span * f64::from(step) / 4.0;
        // Writing to a String does not fail.
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{0:.2}\" x2=\"{RIGHT}\" y2=\"{0:.2}\" stroke=\"#ddd\"/>\
             <text x=\"{1}\" y=\"{2:.2}\" text-anchor=\"end\">{3}</text>",
            y(value),
            LEFT - 8.0,
            y(value) + 4.5,
            rounded(value)
        );
    }
    for (name, values, colour, width, legend) in
        [("released", before, "#999", 1.0, LEFT), ("denoised", after, "#0072B2", 2.2, LEFT + 110.0)]
    {
        let length = count.div_ceil(STRETCHES);
        let mut path = String::new();
        for (index, stretch) in values.chunks(length).enumerate() {
            let low = stretch.iter().copied().fold(f64::INFINITY, f64::min);
            let high = stretch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let place = index as f64 * length as f64 + (stretch.len() as f64 - 1.0) / 2.0;
            // A single value is a short stroke, which would otherwise have no length.
            let _ = write!(path, "M{:.2} {:.2}V{:.2}", x(place), y(low) + 1.0, y(high) - 1.0);
        }
        let _ = writeln!(svg, "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{width}\" fill=\"none\"/>");
        let _ = writeln!(
            svg,
            "<line x1=\"{legend}\" y1=\"50\" x2=\"{}\" y2=\"50\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"{}\" y=\"54\">{name}</text>",
            legend + 24.0,
            legend + 32.0
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" stroke=\"#222\" fill=\"none\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">place, from 1 to {count}</text>\n</svg>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 18.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_stay_inside_and_odd_data_make_a_picture() {
        for (before, after) in [
            (vec![1.0], vec![1.0]),
            (vec![0.0; 5], vec![0.0; 5]),
            ((0..5000).map(f64::from).collect(), vec![1e9; 5000]),
        ] {
            let picture = svg("a < b", &before, &after);
            assert!(!picture.contains("NaN") && !picture.contains("inf") && picture.contains("a &lt; b"));
            let strokes = picture.lines().filter_map(|line| line.strip_prefix("<path d=\"M")).take(2);
            for stroke in strokes.flat_map(|path| path.split('"').next().unwrap_or_default().split('M')) {
                let x: f64 = stroke.split(' ').next().and_then(|x| x.parse().ok()).expect("a number");
                assert!((LEFT..=RIGHT).contains(&x), "{stroke}");
            }
        }
    }
}
