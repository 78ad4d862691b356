//! Figures in one style: line charts and maps, as SVG text.
//!
//! What it is: drawing, without data of its own. What it never does: choose what to show, or put a
//! legend over data. Colours are those of Okabe and Ito for series and viridis for values, so that
//! every kind of colour vision can read them; dashes and markers tell series apart in print.

mod axis;
mod figure;
mod map;
mod number;
mod palette;
mod series;

pub use axis::{Axis, AxisScale};
pub use figure::{Figure, Panel};
pub use map::{Map, MapPanel};
pub use number::escaped;
pub use palette::Ink;
pub use series::{Series, Shape};
