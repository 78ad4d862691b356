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

/// Numbers along an axis: whole multiples of 1, 2 or 5 times a power of ten, some `about` of them, the first at or below the least value and the last at or above
/// the greatest.
struct Scale {
    step: f64,
    first: f64,
    last: f64,
}

impl Scale {
    fn over(least: f64, most: f64, about: f64) -> Scale {
        let span = if most > least { (most - least) / about } else { least.abs().max(1.0) / about };
        // Values that differ in their last digits only would need multiples beyond the integers that a number holds.
        let span = span.max(1e-12 * least.abs().max(most.abs())).max(1e-300);
        let power = 10f64.powf(span.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|&step| step >= span);
        let step = step.unwrap_or(span);
        let (first, last) = ((least / step).floor(), (most / step).ceil());
        Scale { step, first, last: if last > first { last } else { first + 1.0 } }
    }

    /// The multiples, of which there are a handful.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (step, first) = (self.step, self.first);
        (0..=((self.last - self.first) as u32).min(20)).map(move |n| (first + f64::from(n)) * step)
    }
}

/// The picture of a vector before and after: grey and blue dots, or for long vectors vertical strokes from the least to the greatest value of each stretch.
pub fn svg(title: &str, before: &[f64], after: &[f64]) -> String {
    let all = || before.iter().chain(after);
    let least = all().copied().fold(f64::INFINITY, f64::min);
    let most = all().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = Scale::over(least, most, 5.0);
    let y = |value: f64| BOTTOM - (value / scale.step - scale.first) / (scale.last - scale.first) * (BOTTOM - TOP);
    let count = before.len().max(1);
    let x = |place: f64| LEFT + (place + 0.5) / count as f64 * (RIGHT - LEFT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n",
        title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    );
    for value in scale.ticks() {
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
    let places = Scale::over(1.0, count as f64, 6.0);
    for place in places.ticks().filter(|&place| place.fract() == 0.0 && place >= 1.0 && place <= count as f64) {
        let _ = writeln!(
            svg,
            "<path d=\"M{0:.2} {BOTTOM}v5\" stroke=\"#222\"/><text x=\"{0:.2}\" y=\"{1}\" text-anchor=\"middle\">{place}</text>",
            x(place - 1.0),
            BOTTOM + 20.0
        );
    }
    for (name, values, colour, width, legend) in
        [("released", before, "#999", 2.6, LEFT), ("denoised", after, "#0072B2", 3.0, LEFT + 110.0)]
    {
        let length = count.div_ceil(STRETCHES);
        let mut path = String::new();
        for (index, stretch) in values.chunks(length).enumerate() {
            let low = stretch.iter().copied().fold(f64::INFINITY, f64::min);
            let high = stretch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let place = index as f64 * length as f64 + (stretch.len() as f64 - 1.0) / 2.0;
            // Round ends make a dot of a single value.
            let _ = write!(path, "M{:.2} {:.2}V{:.2}", x(place), y(low), y(high));
        }
        let width = if length == 1 { width } else { 0.5 * width };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\" fill=\"none\"/>"
        );
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
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">place</text>\n</svg>",
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 12.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_numbers_around_the_values() {
        for (least, most, step, first, last) in
            [(-17.1, 49.2, 20.0, -1.0, 3.0), (0.0, 1.0, 0.2, 0.0, 5.0), (3.0, 3.0, 1.0, 3.0, 4.0)]
        {
            let scale = Scale::over(least, most, 5.0);
            assert!((scale.step / step - 1.0).abs() < 1e-12, "{least} {most}: {}", scale.step);
            assert_eq!((scale.first, scale.last), (first, last), "{least} {most}");
        }
    }

    #[test]
    fn strokes_stay_inside_and_odd_data_make_a_picture() {
        for (before, after) in [
            (vec![1.0], vec![1.0]),
            (vec![0.0; 5], vec![0.0; 5]),
            (vec![-1e150, 1e150], vec![5e-324, 1e-300]),
            (vec![1e9, 1e9f64.next_up()], vec![0.0, 5e-324]),
            (vec![5e-324; 3], vec![0.0; 3]),
            (vec![1e150; 3], vec![1e150f64.next_down(); 3]),
            ((0..5000).map(f64::from).collect(), vec![1e9; 5000]),
        ] {
            let picture = svg("a < b", &before, &after);
            assert!(!picture.contains("NaN") && !picture.contains("inf") && picture.contains("a &lt; b"));
            let strokes = picture.lines().filter(|line| line.contains("stroke-linecap"));
            let strokes = strokes.filter_map(|line| line.strip_prefix("<path d=\"M"));
            for stroke in strokes.flat_map(|path| path.split('"').next().unwrap_or_default().split('M')) {
                let x: f64 = stroke.split(' ').next().and_then(|x| x.parse().ok()).expect("a number");
                assert!((LEFT..=RIGHT).contains(&x), "{stroke}");
            }
        }
    }
}
