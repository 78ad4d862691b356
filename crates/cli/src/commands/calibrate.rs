//! `reticent calibrate`: the least scale that provably keeps a promise.

use crate::Format;
use crate::failure::Failure;
use crate::options::{Budget, Options, Sensitivities, Shape};
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
    sensitivities: Sensitivities,
    #[command(flatten)]
    shape: Shape,
}

/// Calibrates, and reports the scale with its certificate.
pub fn run(arguments: Calibrate, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Calibrate { mechanism, budget, sensitivities, shape } = arguments;
    let options = Options { budget, sensitivities, shape, ..Options::default() };
    let request = Request::new(mechanism, Purpose::Calibrate, options)?;
    let report = Report::of(&*request.mechanism()?, request.note());
    match format {
        Format::Json => output.json(&report),
        Format::Table => output.text(&report.render()),
    }
}
