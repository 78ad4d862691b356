//! `reticent noise`: numbers in, private numbers out.

use crate::Format;
use crate::failure::Failure;
use crate::options::{Budget, Options, OwnParameters, Sensitivities, Shape, count};
use crate::output::Output;
use crate::registry::{self, Entry};
use crate::release::{Coverage, Data, Finished, Source};
use crate::request::{Purpose, Request};
use reticent_mechanisms::Mechanism;

/// The most draws without input: their values are held in memory, so that an answer is never half of one.
const LARGEST_COUNT: u64 = 100_000_000;

/// The options of `noise`.
#[derive(clap::Args, Debug)]
pub struct Noise {
    /// The mechanism (see `reticent mechanisms`)
    #[arg(value_parser = registry::entry_named, value_name = "MECHANISM")]
    mechanism: &'static Entry,
    #[command(flatten)]
    source: Source,
    /// Draw this many times pure noise, and read nothing
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true, conflicts_with = "input")]
    count: Option<u64>,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    own: OwnParameters,
    #[command(flatten)]
    sensitivities: Sensitivities,
    #[command(flatten)]
    shape: Shape,
}

/// Reads and checks everything, draws everything, states the guarantee, and only then writes.
pub fn run(arguments: Noise, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Noise { mechanism, source, count, budget, own, sensitivities, shape } = arguments;
    let purpose = if budget.epsilon.is_some() { Purpose::Calibrate } else { Purpose::Describe };
    let request = Request::new(mechanism, purpose, Options { budget, sensitivities, shape, own })?;
    // A wrong request is refused before it waits for input.
    let mechanism = request.for_a_try().mechanism()?;

    let data = match count {
        Some(count) => Data { table: None, numbers: zeros(count, &request, &*mechanism)? },
        None => source.read()?,
    };
    let request = request.for_numbers(data.numbers.len())?;
    let mechanism = request.mechanism()?;
    let mut random = source.random()?;
    let (values, lattice) = match request.entry().choose {
        Some(choose) => (vec![choose(&request, &data.numbers, &mut *random)? as f64 + 1.0], None),
        None => {
            // A sensitivity of one number, or none at all, is about each number by itself.
            let numbers = data.numbers.len();
            let coordinates = request.sensitivity().map_or(Ok(1), |sensitivity| sensitivity.coordinates(numbers))?;
            let (values, spacing) = data.release(coordinates, &*mechanism, &mut *random)?;
            (values, Some(spacing))
        }
    };
    let coverage = match (count, lattice) {
        (Some(_), _) => Coverage::Nothing,
        (None, None) => Coverage::Choice(data.numbers.len()),
        (None, Some(_)) => Coverage::Numbers(request.sensitivity().ok(), values.len()),
    };
    let provenance = random.provenance();
    let finished =
        Finished { mechanism: &*mechanism, coverage, values: &values, lattice, table: data.table, provenance };
    finished.publish(format, output)
}

/// What noise is added to when there is no input.
fn zeros(count: u64, request: &Request, mechanism: &dyn Mechanism) -> Result<Vec<f64>, Failure> {
    if !(1..=LARGEST_COUNT).contains(&count) {
        return Err(Failure::usage(format!("--count is {count}, but it must be from 1 to {LARGEST_COUNT}")));
    }
    let given = request.options().given();
    if let Some(range) = ["bounds", "clamp"].into_iter().find(|name| given.contains(name)) {
        return Err(Failure::usage(format!(
            "--count draws noise alone, which --{range} would make depend on an answer"
        )));
    }
    if mechanism.errors().is_none() {
        let name = mechanism.name();
        return Err(Failure::usage(format!(
            "--count cannot be used with the {name} mechanism, which adds no noise to an answer"
        )));
    }
    Ok(vec![0.0; count as usize])
}
