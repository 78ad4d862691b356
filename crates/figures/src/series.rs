//! What is drawn in a panel.

use crate::palette::Ink;

/// How the points of a series are shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A line through the points.
    Line,
    /// A line with a marker at each point, and a bar of so much on either side of it.
    Measured(Vec<f64>),
    /// Markers only.
    Markers,
    /// A bar from the one to the other value at each point, with a marker at the point.
    Ranges(Vec<(f64, f64)>),
    /// Many small dots.
    Dots,
    /// A thin grey line that helps to read the others.
    Reference,
    /// A pale grey line: shown, and of little importance.
    Faint,
}

/// A named set of points. Series of one name have one colour in all panels of a figure and one
/// entry in its legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// How they are shown.
    pub shape: Shape,
    /// Its look, where that is the same in all figures; the next of the palette if not given.
    pub ink: Option<Ink>,
}

impl Series {
    fn new(name: impl Into<String>, points: Vec<(f64, f64)>, shape: Shape) -> Self {
        Series { name: name.into(), points, shape, ink: None }
    }

    /// The same with a look of its own.
    pub fn with_ink(self, ink: Ink) -> Self {
        Series { ink: Some(ink), ..self }
    }

    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::new(name, points, Shape::Line)
    }

    /// A line with a bar of `deviation` on either side of each point: `(x, y, deviation)`.
    pub fn measured(name: impl Into<String>, points: &[(f64, f64, f64)]) -> Self {
        let deviations = points.iter().map(|point| point.2).collect();
        let points = points.iter().map(|point| (point.0, point.1)).collect();
        Series::new(name, points, Shape::Measured(deviations))
    }

    /// Markers.
    pub fn markers(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::new(name, points, Shape::Markers)
    }

    /// Markers with a range each: `(x, low, middle, high)`.
    pub fn ranges(name: impl Into<String>, points: &[(f64, f64, f64, f64)]) -> Self {
        let ranges = points.iter().map(|point| (point.1, point.3)).collect();
        let points = points.iter().map(|point| (point.0, point.2)).collect();
        Series::new(name, points, Shape::Ranges(ranges))
    }

    /// A line that helps to read the others.
    pub fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::new(name, points, Shape::Reference)
    }

    /// Many small dots.
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::new(name, points, Shape::Dots)
    }

    /// A pale line: what is unlikely or out of range.
    pub fn faint(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series::new(name, points, Shape::Faint)
    }

    /// All heights that are drawn.
    pub(crate) fn heights(&self) -> Vec<f64> {
        let own = self.points.iter().map(|point| point.1);
        match &self.shape {
            Shape::Measured(deviations) => {
                let ends = self
                    .points
                    .iter()
                    .zip(deviations)
                    .flat_map(|(point, by)| [point.1 - by, point.1 + by]);
                own.chain(ends).collect()
            }
            Shape::Ranges(ranges) => {
                own.chain(ranges.iter().flat_map(|range| [range.0, range.1])).collect()
            }
            Shape::Line | Shape::Markers | Shape::Dots | Shape::Reference | Shape::Faint => {
                own.collect()
            }
        }
    }
}
