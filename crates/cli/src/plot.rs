//! Line charts with a logarithmic vertical axis, as SVG: one, or several side by side.

use crate::numbers::rounded;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
/// The data area; labels live in the margins around it, and so does the legend, which can then not cover a curve.
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 28.0;
const TOP: f64 = 84.0;
/// Where the legend begins, and how far apart its lines are.
const LEGEND: f64 = 58.0;
const LEGEND_LINE: f64 = 20.0;
const BOTTOM: f64 = HEIGHT - 64.0;

/// The colours of Okabe and Ito, told apart by every kind of colour vision; dashes tell them apart in print. Yellow is left out: it does not show on white.
const STROKES: [(&str, &str); 8] = [
    ("#0072B2", ""),
    ("#D55E00", "8 4"),
    ("#009E73", "2 3"),
    ("#CC79A7", "10 3 2 3"),
    ("#E69F00", "14 5"),
    ("#56B4E9", "5 2"),
    ("#000000", "1 4"),
    ("#888888", "12 3 2 3 2 3"),
];

/// A named line.
#[derive(Debug)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Its points, from left to right, with values of zero or more.
    pub points: Vec<(f64, f64)>,
}

/// A chart of positive quantities.
#[derive(Debug)]
pub struct Chart {
    /// The heading.
    pub title: String,
    /// What the horizontal axis shows, with its unit.
    pub horizontal: String,
    /// What the vertical axis shows, with its unit.
    pub vertical: String,
    /// Values below are not drawn.
    pub floor: f64,
    /// A point to point out.
    pub mark: Option<(f64, f64)>,
    /// The lines.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        side_by_side(std::slice::from_ref(self))
    }

    /// What is drawn, with its corner at the origin.
    fn body(&self) -> String {
        let places = self.legend();
        let axes = Axes::around(self, places.last().map_or(TOP, |(_, y)| TOP + y - LEGEND));
        let mut svg = format!(
            "<text x=\"{LEFT}\" y=\"28\" font-size=\"17\" font-weight=\"bold\">{}</text>\n",
            escaped(&self.title)
        );
        axes.draw(&mut svg);
        let (middle_x, middle_y) = ((LEFT + RIGHT) / 2.0, (axes.top + BOTTOM) / 2.0);
        let mut add = |line: String| {
            svg.push_str(&line);
            svg.push('\n');
        };
        add(format!(
            "<text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 18.0,
            escaped(&self.horizontal)
        ));
        add(format!(
            "<text transform=\"translate(22 {middle_y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.vertical)
        ));
        for ((curve, (colour, dashes)), (x, y)) in self.curves.iter().zip(STROKES.iter().cycle()).zip(places) {
            let stroke =
                format!("stroke=\"{colour}\" stroke-width=\"2.2\" stroke-dasharray=\"{dashes}\" fill=\"none\"");
            let stroke = stroke.replace(" stroke-dasharray=\"\"", "");
            add(format!("<polyline points=\"{}\" stroke-linejoin=\"round\" {stroke}/>", axes.path(&curve.points)));
            add(format!("<line x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" {stroke}/>", x + 30.0));
            add(format!("<text x=\"{}\" y=\"{}\">{}</text>", x + 38.0, y + 4.0, escaped(&curve.name)));
        }
        if let Some((x, value)) = self.mark.filter(|(_, value)| (axes.least..=axes.most).contains(&value.log10())) {
            let (x, y) = (axes.x(x), axes.y(value.log10()));
            add(format!(
                "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"4.5\" fill=\"#fff\" stroke=\"#222\" stroke-width=\"1.8\"/>"
            ));
        }
        svg
    }

    /// Where the names of the curves begin, line by line.
    fn legend(&self) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (LEFT, LEGEND);
        let place = |curve: &Curve| {
            // An average letter is at most 7.4 units wide at this size.
            let width = 62.0 + 7.4 * curve.name.chars().count() as f64;
            if x > LEFT && x + width > WIDTH {
                (x, y) = (LEFT, y + LEGEND_LINE);
            }
            x += width;
            (x - width, y)
        };
        self.curves.iter().map(place).collect()
    }
}

/// Several charts in one picture, from left to right.
pub fn side_by_side(charts: &[Chart]) -> String {
    let width = WIDTH * charts.len() as f64;
    let title: Vec<_> = charts.iter().map(|chart| escaped(&chart.title)).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>{}</title>\n<rect width=\"{width}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n",
        title.join("; "),
    );
    for (index, chart) in charts.iter().enumerate() {
        let corner = WIDTH * index as f64;
        // Writing to a String does not fail.
        let _ = writeln!(svg, "<g transform=\"translate({corner} 0)\">\n{}</g>", chart.body());
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where values lie in the picture.
struct Axes {
    /// The horizontal range.
    low: f64,
    high: f64,
    /// The vertical range, in powers of ten.
    least: f64,
    most: f64,
    /// The upper edge of the data area.
    top: f64,
}

impl Axes {
    fn around(chart: &Chart, top: f64) -> Self {
        let points = || chart.curves.iter().flat_map(|curve| &curve.points);
        let low = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let high = points().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
        let drawn = || points().map(|point| point.1).filter(|&value| value >= chart.floor && value > 0.0);
        let most = drawn().fold(f64::MIN_POSITIVE, f64::max).log10().ceil();
        let least = drawn().fold(f64::INFINITY, f64::min).min(10f64.powf(most)).log10().floor().min(most - 1.0);
        Axes { low, high: if high > low { high } else { low + 1.0 }, least, most, top }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.low) / (self.high - self.low) * (RIGHT - LEFT)
    }

    /// The height of a power of ten.
    fn y(&self, exponent: f64) -> f64 {
        BOTTOM - (exponent - self.least) / (self.most - self.least) * (BOTTOM - self.top)
    }

    /// The points in the picture. A line that falls out of it ends at the edge.
    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        let mut previous: Option<(f64, f64)> = None;
        for &(x, value) in points {
            let exponent = value.log10();
            let inside = exponent >= self.least;
            let (x, exponent) = match previous {
                // Where the segment crosses the edge. A value of zero, or one that is deeper by far, is taken to be at the edge: a line towards it would
                // fall at once, and seem to say that values between are as small.
                Some((before, above)) if !inside && exponent > 2.0 * self.least - self.most => {
                    (before + (x - before) * (above - self.least) / (above - exponent), self.least)
                }
                _ => (x, exponent.max(self.least)),
            };
            // Writing to a String does not fail.
            let _ = write!(path, "{:.2},{:.2} ", self.x(x), self.y(exponent));
            if !inside {
                break;
            }
            previous = Some((x, exponent));
        }
        path.trim_end().to_string()
    }

    fn draw(&self, svg: &mut String) {
        let mut add = |line: String| {
            svg.push_str(&line);
            svg.push('\n');
        };
        let decades = (self.most - self.least).max(1.0);
        let every =
            [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|every| decades / every <= 9.0).unwrap_or(100.0);
        let mut exponent = self.most;
        while exponent >= self.least {
            let y = self.y(exponent);
            add(format!("<line x1=\"{LEFT}\" y1=\"{y:.2}\" x2=\"{RIGHT}\" y2=\"{y:.2}\" stroke=\"#ddd\"/>"));
            let label = if exponent == 0.0 {
                "1".to_string()
            } else {
                format!(
                    "10<tspan dy=\"-5\" font-size=\"10\">{}</tspan>",
                    format!("{exponent}").replace('-', "\u{2212}")
                )
            };
            add(format!("<text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">{label}</text>", LEFT - 10.0, y + 4.5));
            exponent -= every;
        }
        let step = round_step((self.high - self.low) / 8.0);
        let first = (self.low / step).ceil() as i64;
        for tick in (first..).take_while(|&tick| tick as f64 * step <= self.high * (1.0 + 1e-12)).take(20) {
            let x = self.x(tick as f64 * step);
            add(format!("<line x1=\"{x:.2}\" y1=\"{BOTTOM}\" x2=\"{x:.2}\" y2=\"{}\" stroke=\"#222\"/>", BOTTOM + 5.0));
            let label = rounded(tick as f64 * step);
            add(format!("<text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", BOTTOM + 21.0));
        }
        add(format!("<path d=\"M{LEFT} {}V{BOTTOM}H{RIGHT}\" stroke=\"#222\" fill=\"none\"/>", self.top));
    }
}

/// 1, 2 or 5 times a power of ten, and at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|&round| round >= step * 0.999).unwrap_or(step)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let curves = vec![Curve { name: "a < b".into(), points }];
        Chart { title: "t".into(), horizontal: "h".into(), vertical: "v".into(), floor: 1e-12, mark: None, curves }
    }

    #[test]
    fn a_line_stays_inside_its_axes() {
        let svg = chart((0..=10).map(|i| (f64::from(i), 0.5 * 10f64.powi(-2 * i))).collect()).svg();
        let path = svg.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("one polyline");
        for pair in path.split(' ') {
            let (x, y) = pair.split_once(',').expect("a pair");
            let (x, y): (f64, f64) = (x.parse().expect("a number"), y.parse().expect("a number"));
            assert!((LEFT..=RIGHT).contains(&x) && (TOP..=BOTTOM).contains(&y), "{pair}");
        }
        assert!(svg.contains("a &lt; b"));
    }

    #[test]
    fn odd_data_make_a_picture_too() {
        for points in
            [vec![(0.0, 0.0)], vec![(0.0, 1.0)], vec![(0.0, 0.0), (1.0, 0.0)], vec![(0.0, 1e-300), (1e-9, 0.0)]]
        {
            let svg = chart(points).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let both = side_by_side(&[chart(vec![(0.0, 1.0), (1.0, 0.1)]), chart(vec![(0.0, 1.0)])]);
        assert!(both.contains("translate(720 0)") && both.matches("<polyline").count() == 2);
        assert_eq!(round_step(0.13), 0.2);
        assert_eq!(round_step(1.0), 1.0);
    }
}
