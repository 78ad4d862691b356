//! `reticent profile`: the least delta at each epsilon, as certified bounds.

use crate::Format;
use crate::failure::Failure;
use crate::options::{Words, number};
use crate::output::Output;
use crate::plot::{Chart, Curve};
use crate::progress::Progress;
use crate::report::Interval;
use crate::table::Table;
use reticent_events::Event;
use reticent_mechanisms::{Mechanism, described};
use reticent_numerics::digits::exact;
use serde::Serialize;
use std::path::PathBuf;

/// How many points a curve has, besides its start.
const STEPS: usize = 100;
/// Of how many points of a curve the table shows one.
const TABLE_STRIDE: usize = 5;
/// A curve ends where delta has fallen to this share of its start.
const CURVE_DEPTH: f64 = 1e-12;
/// The largest loss that a profile is asked for.
const LARGEST_EPSILON: f64 = 700.0;

/// The options of `profile`.
#[derive(clap::Args, Debug)]
pub struct Profile {
    #[command(flatten)]
    mechanism: Words,
    /// Where to evaluate the profile: one loss or several; a whole curve if not given
    #[arg(
        long,
        value_name = "E1,E2,...",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    epsilon: Option<Vec<f64>>,
    /// Draw the profile to this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    epsilon: f64,
    delta: Interval,
}

#[derive(Debug, Serialize)]
struct Answer {
    mechanism: &'static str,
    event: Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<Interval>,
    profile: Vec<Point>,
}

/// Evaluates the profile where it was asked for.
pub fn run(arguments: Profile, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Profile { mechanism, epsilon, plot } = arguments;
    let event: Event = mechanism.read()?;
    let mechanism = described(&event)?;
    let curve =
        if epsilon.is_none() || plot.is_some() { curve_of(&*mechanism)? } else { Vec::new() };
    let profile = match &epsilon {
        Some(losses) => points(&*mechanism, losses.iter().copied())?,
        None => curve.clone(),
    };
    if let Some(path) = plot {
        let picture = chart(&*mechanism, &event, &curve).svg();
        std::fs::write(path, picture)
            .map_err(|error| Failure::while_doing("writing the file of --plot", &error))?;
    }
    match format {
        Format::Json => output.json(&Answer {
            mechanism: mechanism.name(),
            event: mechanism.event(),
            delta: (epsilon.is_some() && profile.len() == 1).then(|| profile[0].delta),
            profile,
        }),
        Format::Table => {
            let stride = if epsilon.is_some() { 1 } else { TABLE_STRIDE };
            let mut table = Table::with_heading(&["epsilon", "delta, at least", "delta, at most"]);
            for Point { epsilon, delta } in profile.iter().step_by(stride) {
                table.row([exact(*epsilon), exact(delta.lower), exact(delta.upper)]);
            }
            output.text(&table.render())
        }
    }
}

fn points(
    mechanism: &dyn Mechanism,
    losses: impl ExactSizeIterator<Item = f64>,
) -> Result<Vec<Point>, Failure> {
    let mut progress = Progress::new("evaluating the profile", losses.len(), 1);
    let point = |(done, epsilon)| {
        progress.reach(done);
        Ok(Point { epsilon, delta: mechanism.delta(epsilon)?.into() })
    };
    losses.enumerate().map(point).collect()
}

/// The profile from 0 to where delta is a trillionth of what it is at 0, in equal steps.
fn curve_of(mechanism: &dyn Mechanism) -> Result<Vec<Point>, Failure> {
    let start = mechanism.delta(0.0)?.upper();
    let is_deep =
        |epsilon| Ok::<_, Failure>(mechanism.delta(epsilon)?.upper() <= CURVE_DEPTH * start);
    let mut end = 1.0;
    if is_deep(end)? {
        while end > f64::EPSILON && is_deep(end / 2.0)? {
            end /= 2.0;
        }
    } else {
        while end < LARGEST_EPSILON && !is_deep(end)? {
            end = (2.0 * end).min(LARGEST_EPSILON);
        }
    }
    let mut before = end / 2.0;
    // To a thousandth of the width of the picture.
    while end - before > 1e-3 * end {
        let middle = (before + end) / 2.0;
        if is_deep(middle)? { end = middle } else { before = middle }
    }
    // Three digits make losses that can be read.
    let end = format!("{end:.2e}").parse().unwrap_or(end).min(LARGEST_EPSILON);
    points(mechanism, (0..STEPS + 1).map(|index| index as f64 * end / STEPS as f64))
}

fn chart(mechanism: &dyn Mechanism, event: &Event, curve: &[Point]) -> Chart {
    Chart {
        title: format!("Privacy profile of {}", mechanism.name()),
        horizontal: "privacy loss \u{3b5} (nats)".into(),
        vertical: "\u{3b4}(\u{3b5}), the least that is proved".into(),
        floor: curve.first().map_or(0.0, |point| CURVE_DEPTH * point.delta.upper),
        mark: None,
        curves: vec![Curve {
            name: format!("{event}: certified upper bound"),
            points: curve.iter().map(|point| (point.epsilon, point.delta.upper)).collect(),
        }],
    }
}
