//! Charts in a grid with one legend above them all.

use crate::axis::{Axis, Ruler};
use crate::number::{escaped, set, width};
use crate::palette::Ink;
use crate::series::{Series, Shape};
use std::fmt::Write;

/// Where the data area of a panel begins; labels live in the margins around it.
const LEFT: f64 = 72.0;
const TOP: f64 = 34.0;
/// Where the legend's first line is, and how far apart its lines are.
const LEGEND: f64 = 56.0;
const LEGEND_LINE: f64 = 21.0;
/// The size of its letters.
const LEGEND_SIZE: f64 = 13.0;
const MARGIN: f64 = 18.0;
/// The width of a dot among many.
const DOT: f64 = 2.6;

/// The size of a panel with its labels.
#[derive(Clone, Copy, Debug)]
struct Size {
    width: f64,
    height: f64,
}

impl Size {
    /// The fewer panels stand side by side, the larger they are.
    fn for_columns(columns: usize) -> Self {
        match columns {
            1 => Size { width: 700.0, height: 440.0 },
            2 => Size { width: 480.0, height: 340.0 },
            _ => Size { width: 400.0, height: 310.0 },
        }
    }

    /// The right edge of the data area.
    fn right(self) -> f64 {
        self.width - 14.0
    }

    /// Its lower edge.
    fn bottom(self) -> f64 {
        self.height - 52.0
    }

    /// The name of the clip at the data area: the same for panels of one size, also in other
    /// figures on one page.
    fn clip(self) -> String {
        format!("data-{}-{}", self.width, self.height)
    }
}

/// One chart of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What sets it apart from the other panels.
    pub title: String,
    /// The horizontal axis.
    pub horizontal: Axis,
    /// The vertical axis.
    pub vertical: Axis,
    /// What is drawn; later series cover earlier ones.
    pub series: Vec<Series>,
}

/// Charts with a common legend, which stands above them and so covers no data.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The heading.
    pub title: String,
    /// How many panels stand side by side.
    pub columns: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// The picture.
    pub fn svg(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let size = Size::for_columns(columns);
        let width = columns as f64 * size.width + 2.0 * MARGIN;
        let entries = self.legend_entries();
        let places = legend_places(&entries, width);
        let top = places.last().map_or(LEGEND - 8.0, |place| place.1 + 12.0);
        let rows = self.panels.len().div_ceil(columns);
        let height = top + rows as f64 * size.height + 8.0;
        let mut svg = opening(&self.title, width, height);
        let _ = writeln!(
            svg,
            "<clipPath id=\"{}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" \
             height=\"{}\"/></clipPath>",
            size.clip(),
            size.right() - LEFT,
            size.bottom() - TOP
        );
        for ((name, look), (x, y)) in entries.iter().zip(&places) {
            legend_sample(&mut svg, look, *x, *y);
            text(&mut svg, x + 38.0, y + 4.5, "start", LEGEND_SIZE, &set(name));
        }
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let (x, y) = (MARGIN + column as f64 * size.width, top + row as f64 * size.height);
            // Writing to a String does not fail.
            let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
            panel.draw(&mut svg, size, &entries, &self.heights(panel));
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The distinct names of the series in the order in which they appear, with their look.
    fn legend_entries(&self) -> Vec<(String, Look)> {
        let mut entries: Vec<(String, Look)> = Vec::new();
        let mut index = 0;
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if entries.iter().any(|(name, _)| *name == series.name) {
                continue;
            }
            let (lined, marked) = match series.shape {
                Shape::Line | Shape::Reference | Shape::Faint => (true, false),
                Shape::Measured(_) => (true, true),
                Shape::Markers | Shape::Ranges(_) | Shape::Dots => (false, true),
            };
            let ink = match (&series.shape, &series.ink) {
                (_, Some(ink)) => {
                    // Two series of one mechanism in a figure differ in their dashes.
                    let taken = |ink: &Ink| entries.iter().any(|(_, look)| look.ink == *ink);
                    let free = ink.variants().find(|variant| !taken(variant));
                    free.unwrap_or_else(|| ink.clone())
                }
                (Shape::Reference, None) => Ink::help(),
                (Shape::Faint, None) => Ink::faint(),
                (_, None) => {
                    index += 1;
                    Ink::in_order(index - 1)
                }
            };
            entries.push((series.name.clone(), Look { ink, lined, marked }));
        }
        entries
    }

    /// The values along the vertical axis of a panel: those of all panels that show the same
    /// quantity, so that heights can be compared.
    fn heights(&self, panel: &Panel) -> Vec<f64> {
        let same = self.panels.iter().filter(|other| other.vertical == panel.vertical);
        same.flat_map(|other| &other.series).flat_map(Series::heights).collect()
    }
}

/// How a series looks, in its panels and in the legend.
#[derive(Clone, Debug)]
struct Look {
    ink: Ink,
    lined: bool,
    marked: bool,
}

impl Look {
    fn line(&self) -> String {
        let width = f64::from(self.ink.tenths) / 10.0;
        let dashes = match self.ink.dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        format!("stroke=\"{}\" stroke-width=\"{width}\"{dashes} fill=\"none\"", self.ink.colour)
    }

    /// A marker whose shape goes with the colour.
    fn marker(&self, x: f64, y: f64, size: f64) -> String {
        let (colour, s) = (&self.ink.colour, size);
        match self.ink.marker {
            0 => format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{s:.2}\" fill=\"{colour}\"/>"),
            1 => {
                let (corner, side) = (0.9 * s, 1.8 * s);
                format!(
                    "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{side:.2}\" height=\"{side:.2}\" \
                     fill=\"{colour}\"/>",
                    x - corner,
                    y - corner
                )
            }
            2 => format!(
                "<path d=\"M{x:.2} {:.2}L{:.2} {:.2}H{:.2}Z\" fill=\"{colour}\"/>",
                y - 1.2 * s,
                x + 1.1 * s,
                y + 0.8 * s,
                x - 1.1 * s
            ),
            _ => format!(
                "<path d=\"M{x:.2} {:.2}L{:.2} {y:.2}L{x:.2} {:.2}L{:.2} {y:.2}Z\" \
                 fill=\"{colour}\"/>",
                y - 1.3 * s,
                x + 1.3 * s,
                y + 1.3 * s,
                x - 1.3 * s
            ),
        }
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, size: Size, entries: &[(String, Look)], heights: &[f64]) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let horizontal = self.horizontal.around(points().map(|point| point.0));
        let vertical = self.vertical.around(heights.iter().copied());
        let frame = Frame { horizontal, vertical, right: size.right(), bottom: size.bottom() };
        text(svg, LEFT, 20.0, "start", 14.0, &set(&self.title));
        frame.draw(svg);
        text(
            svg,
            (LEFT + frame.right) / 2.0,
            size.height - 14.0,
            "middle",
            13.0,
            &set(&self.horizontal.label),
        );
        let _ = writeln!(
            svg,
            "<text transform=\"translate(17 {}) rotate(-90)\" text-anchor=\"middle\" \
             font-size=\"13\">{}</text>",
            (TOP + frame.bottom) / 2.0,
            set(&self.vertical.label)
        );
        let _ = writeln!(svg, "<g clip-path=\"url(#{})\">", size.clip());
        for series in &self.series {
            if let Some((_, look)) = entries.iter().find(|(name, _)| *name == series.name) {
                frame.series(svg, series, look);
            }
        }
        svg.push_str("</g>\n");
    }
}

/// The data area with its two axes.
struct Frame {
    horizontal: Ruler,
    vertical: Ruler,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn at(&self, point: (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = (self.horizontal.place(point.0)?, self.vertical.place(point.1)?);
        // Points far outside would only make numbers that renderers do not like; the clip hides
        // them all the same.
        let near = |share: f64| share.clamp(-20.0, 20.0);
        Some((LEFT + near(x) * (self.right - LEFT), self.bottom - near(y) * (self.bottom - TOP)))
    }

    fn draw(&self, svg: &mut String) {
        let (right, bottom) = (self.right, self.bottom);
        for (value, label) in self.vertical.ticks() {
            let Some(share) = self.vertical.place(value) else { continue };
            let y = bottom - share * (bottom - TOP);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.2}\" x2=\"{right}\" y2=\"{y:.2}\" \
                 stroke=\"#e2e2e2\"/>"
            );
            text(svg, LEFT - 7.0, y + 4.2, "end", 12.0, &label);
        }
        for (value, label) in self.horizontal.ticks() {
            let Some(share) = self.horizontal.place(value) else { continue };
            let x = LEFT + share * (right - LEFT);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.2}\" y1=\"{bottom}\" x2=\"{x:.2}\" y2=\"{}\" stroke=\"#222\"/>",
                bottom + 4.0
            );
            text(svg, x, bottom + 18.0, "middle", 12.0, &label);
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" stroke=\"#222\" fill=\"none\"/>"
        );
    }

    fn series(&self, svg: &mut String, series: &Series, look: &Look) {
        if look.lined {
            // A point that cannot be drawn ends the line, and the next begins another.
            for run in series.points.split(|point| self.at(*point).is_none()) {
                let path: Vec<String> = run
                    .iter()
                    .filter_map(|point| self.at(*point))
                    .map(|(x, y)| format!("{x:.2},{y:.2}"))
                    .collect();
                if path.len() > 1 {
                    let _ = writeln!(
                        svg,
                        "<polyline points=\"{}\" stroke-linejoin=\"round\" {}/>",
                        path.join(" "),
                        look.line()
                    );
                }
            }
        }
        let colour = &look.ink.colour;
        let mut bar = |x: f64, low: f64, high: f64| {
            if let (Some((x, low)), Some((_, high))) = (self.at((x, low)), self.at((x, high))) {
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x:.2} {low:.2}V{high:.2}\" stroke=\"{colour}\" \
                     stroke-width=\"1.3\"/>"
                );
            }
        };
        match &series.shape {
            Shape::Measured(deviations) => {
                for (point, by) in series.points.iter().zip(deviations) {
                    bar(point.0, point.1 - by, point.1 + by);
                }
            }
            Shape::Ranges(ranges) => {
                for (point, range) in series.points.iter().zip(ranges) {
                    bar(point.0, range.0, range.1);
                }
            }
            Shape::Dots => {
                // One path of lines without length, whose round ends are the dots.
                let dots: String = series
                    .points
                    .iter()
                    .filter_map(|point| self.at(*point))
                    .map(|(x, y)| format!("M{x:.1} {y:.1}h0"))
                    .collect();
                let _ = writeln!(
                    svg,
                    "<path d=\"{dots}\" stroke=\"{colour}\" stroke-width=\"{DOT}\" \
                     stroke-linecap=\"round\"/>"
                );
                return;
            }
            Shape::Line | Shape::Markers | Shape::Reference | Shape::Faint => {}
        }
        if look.marked {
            let size = if series.points.len() > 100 { 2.2 } else { 3.4 };
            for (x, y) in series.points.iter().filter_map(|point| self.at(*point)) {
                svg.push_str(&look.marker(x, y, size));
                svg.push('\n');
            }
        }
    }
}

/// The beginning of a picture of that size, with its heading.
pub(crate) fn opening(title: &str, width: f64, height: f64) -> String {
    let plain = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" \
         font-family=\"Ubuntu, Helvetica, Arial, sans-serif\" fill=\"#222\">\n\
         <title>{plain}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, MARGIN, 28.0, "start", 17.0, &set(title));
    svg
}

/// A line of text that is escaped already.
pub(crate) fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: f64, content: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" \
         font-size=\"{size}\">{content}</text>"
    );
}

fn legend_sample(svg: &mut String, look: &Look, x: f64, y: f64) {
    if look.lined {
        let _ = writeln!(svg, "<path d=\"M{x} {y}h30\" {}/>", look.line());
    }
    if look.marked {
        svg.push_str(&look.marker(x + 15.0, y, 3.4));
        svg.push('\n');
    }
}

/// Where the entries of a legend begin, line by line, in a picture that is `room` wide.
fn legend_places(entries: &[(String, Look)], room: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (MARGIN, LEGEND);
    let place = |(name, _): &(String, Look)| {
        let needed = 66.0 + LEGEND_SIZE * width(name);
        if x > MARGIN && x + needed > room {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        x += needed;
        (x - needed, y)
    };
    entries.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(series: Vec<Series>) -> Figure {
        let panel = Panel {
            title: "a < b".into(),
            horizontal: Axis::linear("x (units)"),
            vertical: Axis::logarithmic("y"),
            series,
        };
        Figure { title: "t & u".into(), columns: 2, panels: vec![panel.clone(), panel] }
    }

    #[test]
    fn a_name_has_one_colour_and_one_entry_in_the_legend() {
        let picture = figure(vec![
            Series::line("first", vec![(0.0, 1.0), (1.0, 0.1)]),
            Series::measured("second", &[(0.0, 1.0, 0.5), (1.0, 0.1, 0.01)]),
            Series::reference("help", vec![(0.0, 0.5), (1.0, 0.5)]),
        ])
        .svg();
        for name in [">first<", ">second<", ">help<"] {
            assert_eq!(picture.matches(name).count(), 1, "{name}");
        }
        assert!(picture.contains("a &lt; b") && picture.contains("t &amp; u"));
        // Two panels and the legend for each of the lines; the bars of four measurements.
        assert_eq!(picture.matches("#0072B2").count(), 3);
        assert_eq!(picture.matches("stroke-width=\"1.3\"").count(), 4);
    }

    #[test]
    fn a_look_of_its_own_stays_and_dots_are_one_path() {
        let own = || Ink::new(4, 2);
        let picture = figure(vec![
            Series::line("first", vec![(0.0, 1.0), (1.0, 0.1)]).with_ink(own()),
            Series::line("second", vec![(0.0, 1.0), (1.0, 0.1)]),
            Series::dots("third", vec![(0.0, 1.0), (0.5, 0.5), (1.0, 0.1)]),
            Series::faint("pale", vec![(0.0, 1.0), (1.0, 0.1)]),
        ])
        .svg();
        assert_eq!(picture.matches(&own().colour).count(), 3);
        // The next series without a look has the first colour of the palette all the same.
        assert_eq!(picture.matches("#0072B2").count(), 3);
        assert_eq!(picture.matches("h0M").count(), 4, "three dots in each of two panels");
        let same =
            |name: &str| Series::line(name, vec![(0.0, 1.0), (1.0, 0.1)]).with_ink(Ink::new(6, 0));
        let two = figure(vec![same("one"), same("other")]).legend_entries();
        assert_eq!(two[0].1.ink, Ink::new(6, 0));
        assert!(two[1].1.ink.colour == two[0].1.ink.colour && two[1].1.ink != two[0].1.ink);
        assert_eq!(picture.matches("#bbbbbb").count(), 3);
    }

    /// Panels with one vertical axis have one range: the lower half of the first panel is empty.
    #[test]
    fn panels_of_one_quantity_share_their_axis() {
        let panel = |label: &str, low: f64, high: f64| Panel {
            title: String::new(),
            horizontal: Axis::linear("x"),
            vertical: Axis::linear(label),
            series: vec![Series::line("s", vec![(0.0, low), (1.0, high)])],
        };
        let picture = |labels: [&str; 2]| {
            let panels = vec![panel(labels[0], 50.0, 100.0), panel(labels[1], 0.0, 40.0)];
            Figure { title: String::new(), columns: 2, panels }.svg()
        };
        let tick = ">90<";
        assert_eq!(picture(["y", "z"]).matches(tick).count(), 1);
        assert_eq!(picture(["y", "y"]).matches(">80<").count(), 2);
    }

    #[test]
    fn the_legend_stands_above_the_data() {
        let names: Vec<Series> = (0..9)
            .map(|i| {
                Series::line(
                    format!("a rather long name of series {i}"),
                    vec![(0.0, 1.0), (1.0, 2.0)],
                )
            })
            .collect();
        let picture = figure(names).svg();
        let translate = picture
            .split("translate(18 ")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
            .expect("a panel");
        let top: f64 = translate.parse().expect("a number");
        for line in picture.lines().filter(|line| line.contains("h30\"")) {
            let y: f64 = line
                .split(' ')
                .nth(2)
                .and_then(|y| y.split('h').next())
                .and_then(|y| y.parse().ok())
                .expect("y");
            assert!(y < top, "{line}");
        }
    }

    #[test]
    fn odd_data_make_a_picture_too() {
        for points in [
            vec![],
            vec![(0.0, 0.0)],
            vec![(0.0, -1.0), (1.0, f64::NAN)],
            vec![(f64::INFINITY, 1.0)],
        ] {
            let picture =
                figure(vec![Series::line("s", points.clone()), Series::markers("m", points)]).svg();
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }
}
