//! `reticent calibrate`: the least scale that provably keeps a promise.

use crate::Format;
use crate::failure::Failure;
use crate::many_releases::Plan;
use crate::options::{Budget, Options, Sensitivities, Shape, count, number};
use crate::output::Output;
use crate::registry::{self, Entry};
use crate::report::Report;
use crate::request::{Purpose, Request};

/// The options of `calibrate`.
#[derive(clap::Args, Debug)]
pub struct Calibrate {
    /// The mechanism (see `reticent mechanisms`)
    #[arg(value_parser = registry::entry_named, value_name = "MECHANISM")]
    mechanism: &'static Entry,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    many: ManyReleases,
    #[command(flatten)]
    sensitivities: Sensitivities,
    #[command(flatten)]
    shape: Shape,
}

/// One scale for many releases.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Many releases")]
struct ManyReleases {
    /// Keep the promise for so many releases together, about the same units; the scale is that of each
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    releases: Option<u64>,
    /// Each release is about a secret sample that every unit enters with this probability, independently
    #[arg(long, value_name = "RATE", value_parser = number, allow_hyphen_values = true)]
    subsample: Option<f64>,
    /// How near to the least scale, as a share of it; from 1e-9 to 0.1
    #[arg(long, value_name = "P", value_parser = number, allow_hyphen_values = true)]
    precision: Option<f64>,
}

/// The precision of a scale for many releases, unless another is given.
const PRECISION: f64 = 1e-4;

/// Calibrates, and reports the scale with its certificate.
pub fn run(arguments: Calibrate, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Calibrate { mechanism, budget, many, mut sensitivities, shape } = arguments;
    let ManyReleases { releases, subsample, precision } = many;
    let plan = Plan::new(releases.unwrap_or(1), subsample, precision.unwrap_or(PRECISION))?;
    let mut notes = Vec::new();
    if releases.is_none() && subsample.is_none() {
        if precision.is_some() {
            return Err(Failure::usage(
                "--precision is for --releases and --subsample: the scale of one release is exact",
            ));
        }
    } else if mechanism.calibrated_by.contains(&"sensitivity") && !is_given(&sensitivities) {
        sensitivities.sensitivity = Some(1.0);
        notes.push("the sensitivity of each release is taken to be 1".to_string());
    }
    let options = Options { budget, sensitivities, shape, ..Options::default() };
    let report = if plan.is_single() {
        let request = Request::new(mechanism, Purpose::Calibrate, options)?;
        Report::of(&*request.mechanism()?, request.note())
    } else {
        Report::of_many(plan.calibrate(mechanism, &options)?, plan)
    };
    let report = report.with_notes(notes);
    match format {
        Format::Json => output.json(&report),
        Format::Table => output.text(&report.render()),
    }
}

fn is_given(sensitivities: &Sensitivities) -> bool {
    !Options { sensitivities: sensitivities.clone(), ..Options::default() }.given().is_empty()
}
