//! Values at places: maps side by side with one colour scale.

use crate::figure::{opening, text};
use crate::number::{label, set};
use crate::palette::shade;
use std::fmt::Write;

/// The drawn height of a map.
const HEIGHT: f64 = 1040.0;
/// The room for the sentence below.
const FOOT: f64 = 30.0;
const MARGIN: f64 = 18.0;
const GAP: f64 = 16.0;
const TOP: f64 = 84.0;
/// The colour scale at the right.
const SCALE_WIDTH: f64 = 14.0;
const SCALE_ROOM: f64 = 84.0;

/// One map: a value at each place.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPanel {
    /// What it shows.
    pub title: String,
    /// A figure below the title, such as the error.
    pub subtitle: String,
    /// One value a place.
    pub values: Vec<f64>,
}

/// The same places with several sets of values, on one colour scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The heading.
    pub title: String,
    /// What the colours stand for, with its unit.
    pub unit: String,
    /// East and north of each place, in any unit.
    pub places: Vec<(f64, f64)>,
    /// Pairs of places with a road between them.
    pub roads: Vec<(usize, usize)>,
    /// The values of the two ends of the colour scale; beyond them the end's colour is used.
    /// Between them the square root of the value counts, so that small counts can be told apart.
    pub scale: (f64, f64),
    /// The maps, from left to right.
    pub panels: Vec<MapPanel>,
}

impl Map {
    /// The picture.
    pub fn svg(&self) -> String {
        let (west, east) = ends(self.places.iter().map(|place| place.0));
        let (south, north) = ends(self.places.iter().map(|place| place.1));
        let unit = HEIGHT / (north - south);
        let map_width = (east - west) * unit;
        let count = self.panels.len() as f64;
        let width = 2.0 * MARGIN + count * (map_width + GAP) + SCALE_ROOM;
        let mut svg = opening(&self.title, width.max(560.0), TOP + HEIGHT + MARGIN + FOOT);
        let at = |place: (f64, f64)| ((place.0 - west) * unit, (north - place.1) * unit);
        let (mut roads, mut lengths) = (String::new(), Vec::new());
        for (from, to) in &self.roads {
            if let (Some(from), Some(to)) = (self.places.get(*from), self.places.get(*to)) {
                let (from, to) = (at(*from), at(*to));
                // Writing to a String does not fail.
                let _ = write!(roads, "M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
                lengths.push((from.0 - to.0).hypot(from.1 - to.1));
            }
        }
        // Dots at both ends of a road of the usual length leave a part of it to be seen.
        lengths.sort_by(f64::total_cmp);
        let radius =
            lengths.get(lengths.len() / 2).map_or(2.0, |usual| (0.3 * usual).clamp(1.0, 4.0));
        for (index, panel) in self.panels.iter().enumerate() {
            let left = MARGIN + index as f64 * (map_width + GAP);
            text(&mut svg, left, 54.0, "start", 14.0, &set(&panel.title));
            text(&mut svg, left, 72.0, "start", 12.0, &set(&panel.subtitle));
            let _ = writeln!(
                svg,
                "<g transform=\"translate({left:.1} {TOP})\"><path d=\"{roads}\" \
                 stroke=\"#b5b5b5\" stroke-width=\"0.6\" fill=\"none\"/>"
            );
            for (place, value) in self.places.iter().zip(&panel.values) {
                let (x, y) = at(*place);
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.2}\" fill=\"{}\"/>",
                    colour(self.share(*value))
                );
            }
            svg.push_str("</g>\n");
        }
        let sentence = format!(
            "Colours follow the square root of the value; {} and more have the colour of {0}, {} \
             and less that of {1}.",
            self.shown(self.scale.1),
            self.shown(self.scale.0)
        );
        text(&mut svg, MARGIN, TOP + HEIGHT + FOOT, "start", 12.0, &set(&sentence));
        self.colour_scale(&mut svg, MARGIN + count * (map_width + GAP) + 8.0);
        svg.push_str("</svg>\n");
        svg
    }

    /// Where a value lies on the colour scale.
    fn share(&self, value: f64) -> f64 {
        let (low, high) = self.scale;
        ((value - low) / (high - low)).clamp(0.0, 1.0).sqrt()
    }

    /// A value of the colour scale: whole where the scale is long.
    fn shown(&self, value: f64) -> String {
        let (low, high) = self.scale;
        label(if high - low >= 16.0 { value.round() } else { value })
    }

    fn colour_scale(&self, svg: &mut String, left: f64) {
        const STEPS: u32 = 60;
        let tall = 0.4 * HEIGHT;
        let step = tall / f64::from(STEPS);
        for i in 0..STEPS {
            let y = TOP + 24.0 + tall - step * f64::from(i + 1);
            let colour = colour((f64::from(i) + 0.5) / f64::from(STEPS));
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{y:.2}\" width=\"{SCALE_WIDTH}\" height=\"{:.2}\" \
                 fill=\"{colour}\"/>",
                step + 0.3
            );
        }
        text(svg, left, TOP + 8.0, "start", 12.0, &set(&self.unit));
        let (low, high) = self.scale;
        for share in [0.0, 0.25, 0.5, 0.75, 1.0f64] {
            let value = low + (high - low) * share * share;
            let y = TOP + 28.0 + tall * (1.0 - share);
            text(svg, left + 20.0, y, "start", 12.0, &self.shown(value));
        }
    }
}

/// The colour of a share of the scale: little is light and fades into the paper, much is dark.
fn colour(share: f64) -> String {
    shade(1.0 - share)
}

/// The least and the greatest of finite values, apart from each other.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low < high { (low, high) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_dot_in_every_map_and_the_scale_covers_none() {
        let panel = |title: &str| MapPanel {
            title: title.into(),
            subtitle: "s".into(),
            values: vec![0.0, 4.0, 99.0],
        };
        let map = Map {
            title: "t".into(),
            unit: "count".into(),
            places: vec![(0.0, 0.0), (1.0, 2.0), (0.5, 4.0)],
            roads: vec![(0, 1), (1, 2), (7, 9)],
            scale: (0.0, 16.0),
            panels: vec![panel("one"), panel("two")],
        };
        let picture = map.svg();
        assert_eq!(picture.matches("<circle").count(), 6);
        // 4 of 16 is half of the way up, as a square root; beyond the end the end's colour.
        assert!(picture.contains(&colour(0.5)) && picture.contains(&colour(1.0)));
        assert!(picture.contains("16 and more have the colour of 16, 0 and less that of 0"));
        assert!(!picture.contains("NaN"));
    }
}
