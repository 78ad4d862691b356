//! Charts of positive quantities on a logarithmic axis: one, or several side by side, in the style
//! of all figures of the project.

use reticent_figures::{Axis, Figure, Panel, Series};

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
    /// A point to point out, and what the legend calls it.
    pub mark: Option<(&'static str, (f64, f64))>,
    /// The lines.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        Figure { title: self.title.clone(), columns: 1, panels: vec![self.panel("")] }.svg()
    }

    fn panel(&self, title: &str) -> Panel {
        let vertical = self.vertical_axis();
        let curve = |curve: &Curve| {
            Series::line(curve.name.clone(), until_below(&curve.points, vertical.range))
        };
        let mut series: Vec<Series> = self.curves.iter().map(curve).collect();
        series.extend(self.mark.map(|(name, point)| Series::markers(name, vec![point])));
        Panel {
            title: title.into(),
            horizontal: Axis::linear(self.horizontal.clone()),
            vertical,
            series,
        }
    }

    /// From the least value that is not below the floor to the greatest, the mark among them, with
    /// a little room: a line which falls further ends at the edge.
    fn vertical_axis(&self) -> Axis {
        let axis = Axis::logarithmic(self.vertical.clone());
        let points = self
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .copied()
            .chain(self.mark.map(|mark| mark.1));
        let values = points.map(|point| point.1);
        let drawn =
            values.filter(|value| *value >= self.floor && *value > 0.0 && value.is_finite());
        let (low, high) = drawn
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let room = (high / low).powf(0.03);
        if self.floor > 0.0 && low < high && room.is_finite() {
            axis.from_to(low / room, high * room)
        } else {
            axis
        }
    }
}

/// The points up to the first below the range. A value of zero there, or one that is deeper by more
/// than the height of the axis, is taken to be at its edge: a line towards it would fall at once,
/// and seem to say that values between are as small.
fn until_below(points: &[(f64, f64)], range: Option<(f64, f64)>) -> Vec<(f64, f64)> {
    let Some((low, high)) = range else { return points.to_vec() };
    let inside = points.iter().take_while(|point| point.1 >= low).count();
    let below = points
        .get(inside)
        .map(|&(x, value)| (x, if value > low * (low / high) { value } else { low }));
    points[..inside].iter().copied().chain(below).collect()
}

/// Several charts in one picture, from left to right, with one legend.
pub fn side_by_side(title: &str, charts: &[Chart]) -> String {
    let panels = charts.iter().map(|chart| chart.panel(&chart.title)).collect();
    Figure { title: title.into(), columns: charts.len(), panels }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let curves = vec![Curve { name: "a < b".into(), points }];
        Chart {
            title: "t".into(),
            horizontal: "h".into(),
            vertical: "v".into(),
            floor: 1e-12,
            mark: None,
            curves,
        }
    }

    #[test]
    fn the_axis_ends_at_the_floor() {
        let falling = chart((0..=10).map(|i| (f64::from(i), 0.5 * 10f64.powi(-2 * i))).collect());
        let (low, high) = falling.vertical_axis().range.expect("a range");
        assert!(
            (0.1..1.0).contains(&(low / 0.5e-10)) && (1.0..10.0).contains(&(high / 0.5)),
            "{low} {high}"
        );
        let svg = falling.svg();
        assert!(
            svg.contains("a &lt; b")
                && svg.contains("clip-path")
                && svg.matches("<polyline").count() == 1
        );
        let marked = Chart { mark: Some(("the answer", (2.0, 1e-11))), ..falling };
        assert!(marked.vertical_axis().range.is_some_and(|range| range.0 < 1e-11));
        assert!(marked.svg().contains(">the answer<"));
    }

    #[test]
    fn a_line_that_falls_out_ends_at_the_edge() {
        let points = [(0.0, 1.0), (1.0, 0.1), (2.0, 1e-300), (3.0, 0.0)];
        assert_eq!(until_below(&points, Some((0.01, 1.0))), [(0.0, 1.0), (1.0, 0.1), (2.0, 0.01)]);
        assert_eq!(until_below(&points, Some((0.2, 1.0))), [(0.0, 1.0), (1.0, 0.1)]);
        assert_eq!(until_below(&points[..2], Some((0.01, 1.0))), points[..2]);
        assert_eq!(until_below(&points, None), points);
    }

    #[test]
    fn odd_data_make_a_picture_too() {
        for points in [
            vec![(0.0, 0.0)],
            vec![(0.0, 1.0)],
            vec![(0.0, 0.0), (1.0, 0.0)],
            vec![(0.0, 1e-300), (1e-9, 0.0)],
        ] {
            let svg = chart(points).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let both = side_by_side(
            "both",
            &[chart(vec![(0.0, 1.0), (1.0, 0.1)]), chart(vec![(0.0, 1.0), (1.0, 0.5)])],
        );
        assert!(
            both.matches("<g transform").count() == 2 && both.matches("<polyline").count() == 2
        );
    }
}
