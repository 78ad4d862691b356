//! `reticent noise`: numbers in, private numbers out.

use crate::Format;
use crate::failure::Failure;
use crate::input::{CsvTable, numbers_from_standard_input, place};
use crate::numbers::{exact, figure, rounded};
use crate::options::{Budget, Options, OwnParameters, Sensitivities, Shape, count};
use crate::output::Output;
use crate::progress::Progress;
use crate::registry::{self, Entry};
use crate::release_file::{ReleaseRecord, WrittenRelease};
use crate::report::power_of_two;
use crate::request::{Purpose, Request, Sensitivity};
use reticent_mechanisms::Mechanism;
use reticent_noise::randomness::{Provenance, RandomBits, SecureRandom, SeededRandom};
use std::io::{self, Write};
use std::path::PathBuf;

/// The most draws without input: their values are held in memory, so that an answer is never half of one.
const LARGEST_COUNT: u64 = 100_000_000;

/// The options of `noise`.
#[derive(clap::Args, Debug)]
pub struct Noise {
    /// The mechanism (see `reticent mechanisms`)
    #[arg(value_parser = registry::entry_named, value_name = "MECHANISM")]
    mechanism: &'static Entry,
    /// Read this CSV file, with a heading, in place of standard input
    #[arg(long, value_name = "FILE.csv", requires = "column", conflicts_with = "count")]
    input: Option<PathBuf>,
    /// The column of the CSV file to release; all others are passed on as they are
    #[arg(long, value_name = "NAME", requires = "input")]
    column: Option<String>,
    /// Draw this many times pure noise, and read nothing
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    count: Option<u64>,
    /// Draw from this seed, for reproductions: the result is NOT private
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64), allow_hyphen_values = true)]
    seed: Option<u64>,
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
    let Noise { mechanism, input, column, count, seed, budget, own, sensitivities, shape } = arguments;
    let purpose = if budget.epsilon.is_some() { Purpose::Calibrate } else { Purpose::Describe };
    let request = Request::new(mechanism, purpose, Options { budget, sensitivities, shape, own })?;
    // A wrong request is refused before it waits for input.
    let mechanism = request.for_a_try().mechanism()?;

    let (table, numbers) = match (input.zip(column), count) {
        (Some((path, name)), _) => {
            let (table, numbers) = CsvTable::read(&path, &name)?;
            (Some(table), numbers)
        }
        (None, Some(count)) => (None, zeros(count, &request, &*mechanism)?),
        (None, None) => (None, numbers_from_standard_input()?),
    };
    let request = request.for_numbers(numbers.len())?;
    let mechanism = request.mechanism()?;
    let mut random: Box<dyn RandomBits> = match seed {
        Some(seed) => Box::new(SeededRandom::new(seed)),
        None => Box::new(SecureRandom::new()?),
    };
    let data = Data { table, numbers };
    let (values, lattice) = match request.entry().choose {
        Some(choose) => (vec![choose(&request, &data.numbers, &mut *random)? as f64 + 1.0], None),
        None => data.release(&request, &*mechanism, &mut *random).map(|(values, spacing)| (values, Some(spacing)))?,
    };

    let statement = Statement {
        mechanism: &*mechanism,
        coverage: match (count, lattice) {
            (Some(_), _) => Coverage::Nothing,
            (None, None) => Coverage::Choice(data.numbers.len()),
            (None, Some(_)) => Coverage::Numbers(request.sensitivity().ok(), values.len()),
        },
        lattice,
        unprotected_columns: data.table.as_ref().map_or(0, CsvTable::other_columns),
        seeded: random.provenance() == Provenance::Seeded,
    };
    // Standard error that cannot be written to must not keep the answer back: the guarantee holds unread.
    let _ = io::stderr().write_all(statement.text().as_bytes());

    match (format, data.table) {
        (Format::Json, _) => {
            let release = ReleaseRecord::new(&*mechanism, lattice, random.provenance().to_string(), request.clamp()?);
            output.json(&WrittenRelease { release, values: &values })
        }
        (Format::Table, Some(table)) if lattice.is_some() => {
            output.write(|stream| table.write(values.iter().map(|value| exact(*value)), stream))
        }
        (Format::Table, _) => {
            output.write(|stream| values.iter().try_for_each(|value| writeln!(stream, "{}", exact(*value))))
        }
    }
}

/// What was read.
struct Data {
    table: Option<CsvTable>,
    numbers: Vec<f64>,
}

impl Data {
    /// All numbers with noise, and the spacing of the lattice they lie on.
    fn release(
        &self,
        request: &Request,
        mechanism: &dyn Mechanism,
        random: &mut dyn RandomBits,
    ) -> Result<(Vec<f64>, f64), Failure> {
        // A sensitivity of one number, or none at all, is about each number by itself.
        let coordinates =
            request.sensitivity().map_or(Ok(1), |sensitivity| sensitivity.coordinates(self.numbers.len()))?;
        let releaser = mechanism.vector_releaser(coordinates)?;
        if let Some(index) = self.numbers.iter().position(|number| !releaser.accepts(*number)) {
            let (place, name) = (place(self.table.as_ref(), index), mechanism.name());
            return Err(Failure::usage(format!("{place} is not a value that the {name} mechanism can release")));
        }
        let mut progress = Progress::new("adding noise", self.numbers.len(), 4096);
        let mut values = Vec::with_capacity(self.numbers.len());
        for (done, number) in self.numbers.iter().enumerate() {
            progress.reach(done);
            values.push(releaser.release(*number, random)?);
        }
        Ok((values, releaser.spacing()))
    }
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

/// What the guarantee is about.
enum Coverage {
    /// No data were released.
    Nothing,
    /// One of so many candidates was chosen.
    Choice(usize),
    /// So many numbers, with the sensitivity that was said; none where it is in the nature of the mechanism, as for randomized response.
    Numbers(Option<Sensitivity>, usize),
}

/// What is said on standard error about a release.
struct Statement<'a> {
    mechanism: &'a dyn Mechanism,
    coverage: Coverage,
    lattice: Option<f64>,
    unprotected_columns: usize,
    seeded: bool,
}

impl Statement<'_> {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        if self.seeded {
            lines.push(
                "NOT PRIVATE: the noise comes from --seed, and whoever knows or guesses the seed can remove it.".into(),
            );
        }
        let error = self.mechanism.errors().and_then(|errors| figure(errors.mean_absolute));
        let error = error.map_or(String::new(), |error| format!(", mean absolute error {}", rounded(error)));
        let name = self.mechanism.name();
        lines.push(format!("Noise: {name}, scale {}{error}.", exact(self.mechanism.scale())));
        if !matches!(self.coverage, Coverage::Nothing) {
            let kept = self.mechanism.released_guarantee();
            lines.push(format!("Guarantee: {kept}."));
            if kept.notion != self.mechanism.guarantee().notion {
                lines.push("(The probabilistic promise does not survive that answers are rounded; the approximate one, which it implies, does.)".into());
            }
        }
        lines.push(match &self.coverage {
            Coverage::Nothing => "No data were read: this is noise alone, and costs nothing.".into(),
            Coverage::Choice(candidates) => format!(
                "It covers the choice of one of {candidates} candidates, which is named by its place, counting from 1; another choice costs as much again."
            ),
            Coverage::Numbers(Some(sensitivity), numbers) => sensitivity.coverage(*numbers),
            Coverage::Numbers(None, _) => "It covers each answer; a person who gives several pays for each.".into(),
        });
        if let Some(spacing) = self.lattice {
            lines.push(format!("Answers are rounded to a public lattice of spacing {}.", power_of_two(spacing)));
            if self.unprotected_columns > 0 {
                let columns = self.unprotected_columns;
                lines.push(format!("NOT PROTECTED: the other columns ({columns}) are passed on as they are."));
            }
        }
        lines.join("\n") + "\n"
    }
}
