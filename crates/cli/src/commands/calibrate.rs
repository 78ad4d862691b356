//! `reticent calibrate`: the least scale that provably keeps a budget.

use crate::Format;
use crate::failure::Failure;
use crate::options::{
    BudgetOptions, ClampOption, DimensionOption, SensitivityOptions, Words, count, number,
};
use crate::output::Output;
use crate::random_scale::{ASSUMED, OptimiseOptions};
use crate::report::Report;
use crate::stated::{Known, Stated};
use reticent_accounting::ManyReleases;
use reticent_mechanisms::{MechanismKind, MechanismSpec};

/// The options of `calibrate`.
#[derive(clap::Args, Debug)]
pub struct Calibrate {
    #[command(flatten)]
    mechanism: Words,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    optimise: OptimiseOptions,
    #[command(flatten)]
    many: Many,
    #[command(flatten)]
    sensitivity: SensitivityOptions,
    #[command(flatten)]
    dimension: DimensionOption,
    #[command(flatten)]
    clamp: ClampOption,
}

/// One scale for many releases.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Many releases")]
struct Many {
    /// Keep the budget for so many releases together, about the same units; the scale is that of
    /// each
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    releases: Option<u64>,
    /// Each release is about a secret sample that every unit enters with this probability,
    /// independently
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
    let Calibrate { mechanism, budget, optimise, many, sensitivity, dimension, clamp } = arguments;
    let Many { releases, subsample, precision } = many;
    if let Some(optimisation) = optimise.wanted(&mechanism)? {
        if releases.is_some() || subsample.is_some() || precision.is_some() {
            return Err(Failure::usage(
                "--metric and --family optimise the noise of one release: leave out --releases, \
                 --subsample and --precision",
            ));
        }
        let stated = sensitivity.stated();
        let notes = if stated.is_none() { vec![ASSUMED.1.to_string()] } else { Vec::new() };
        let stated = stated.unwrap_or(Known::OfOneNumber(ASSUMED.0).into());
        let found = optimisation.run(&stated, dimension.dimension, budget.budget()?)?;
        let report = Report::of(&*clamp.apply(found.mechanism())?);
        let report = report.with_optimisation(found.record()).with_notes(notes);
        return match format {
            Format::Json => output.json(&report),
            Format::Table => output.text(&report.render()),
        };
    }
    let spec: MechanismSpec = mechanism.read()?;
    let many = ManyReleases::new(releases.unwrap_or(1), subsample, precision.unwrap_or(PRECISION))?;
    let several = releases.is_some() || subsample.is_some();
    if precision.is_some() && !several {
        return Err(Failure::usage(
            "--precision is for --releases and --subsample: the scale of one release is exact",
        ));
    }
    let mut notes = Vec::new();
    let stated = stated_for(&spec, &sensitivity)?;
    let stated = stated.or_else(|| {
        several.then(|| {
            notes.push("the sensitivity of each release is taken to be 1".to_string());
            Known::OfOneNumber(1.0).into()
        })
    });
    let stated = stated.ok_or_else(|| missing(&spec))?;
    let (sensitivity, budget) = (stated.sensitivity(dimension.dimension)?, budget.budget()?);
    let report = if many.is_single() {
        Report::of(&*clamp.apply(spec.calibrate(&sensitivity, budget)?)?)
    } else {
        Report::of_many(many.calibrate(&spec, &sensitivity, budget)?, many)
    };
    let report = report.with_notes(notes);
    match format {
        Format::Json => output.json(&report),
        Format::Table => output.text(&report.render()),
    }
}

/// The sensitivity that was stated; that of an answer of its own for randomized response, which has
/// no other.
///
/// # Errors
/// If one was stated for randomized response.
pub fn stated_for(
    spec: &MechanismSpec,
    options: &SensitivityOptions,
) -> Result<Option<Stated>, Failure> {
    match (spec.kind(), options.stated()) {
        (MechanismKind::RandomizedResponse, Some(_)) => Err(Failure::usage(
            "the randomized-response mechanism has no sensitivity: each answer is a person's own",
        )),
        (MechanismKind::RandomizedResponse, None) => Ok(Some(Known::OfOneNumber(1.0).into())),
        (_, stated) => Ok(stated),
    }
}

/// The failure of a mechanism without a sensitivity.
pub fn missing(spec: &MechanismSpec) -> Failure {
    Failure::usage(format!(
        "the {} mechanism needs to know the sensitivity: give one of --sensitivity, --l1, --l2, \
         --lp, --per-element, --ranges, --disjoint",
        spec.name()
    ))
}
