//! `reticent noise`: numbers in, private numbers out.

use crate::Format;
use crate::commands::calibrate::{missing, stated_for};
use crate::failure::Failure;
use crate::options::{
    BudgetOptions, ClampOption, DimensionOption, SensitivityOptions, Words, count,
};
use crate::output::Output;
use crate::random_scale::{ASSUMED, Found, Optimisation, OptimiseOptions};
use crate::release::{Coverage, Data, Finished, Source};
use crate::stated::{Known, Stated};
use reticent_events::Event;
use reticent_mechanisms::{
    Budget, Mechanism, MechanismError, MechanismKind, MechanismSpec, described,
};
use std::io::{self, Write};

/// The most draws without input: their values are held in memory, so that an answer is never half
/// of one.
const LARGEST_COUNT: u64 = 100_000_000;

/// The options of `noise`.
#[derive(clap::Args, Debug)]
pub struct Noise {
    #[command(flatten)]
    mechanism: Words,
    #[command(flatten)]
    source: Source,
    /// Draw this many times pure noise, and read nothing
    #[arg(
        long,
        value_name = "N",
        value_parser = count,
        allow_hyphen_values = true,
        conflicts_with = "input"
    )]
    count: Option<u64>,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    optimise: OptimiseOptions,
    #[command(flatten)]
    sensitivity: SensitivityOptions,
    #[command(flatten)]
    dimension: DimensionOption,
    #[command(flatten)]
    clamp: ClampOption,
}

type Made = (Box<dyn Mechanism>, Option<Found>);

/// Noise that is calibrated to a budget, or optimised first, or with its parameters as they are.
enum Wanted {
    Optimised(Optimisation, Budget, Stated),
    Calibrated(MechanismSpec, Budget, Stated),
    Described(Event),
}

impl Wanted {
    fn new(arguments: &Noise) -> Result<Self, Failure> {
        if let Some(optimisation) = arguments.optimise.wanted(&arguments.mechanism)? {
            let stated =
                arguments.sensitivity.stated().unwrap_or(Known::OfOneNumber(ASSUMED.0).into());
            return Ok(Wanted::Optimised(optimisation, arguments.budget.budget()?, stated));
        }
        if arguments.budget.epsilon.is_none() && arguments.budget.delta.is_none() {
            if arguments.sensitivity.stated().is_some() {
                return Err(Failure::usage(
                    "a sensitivity is an option of noise that is calibrated to --epsilon; with the \
                     mechanism's own parameters it is one of them, `sensitivity=`",
                ));
            }
            return Ok(Wanted::Described(arguments.mechanism.read()?));
        }
        let spec: MechanismSpec = arguments.mechanism.read()?;
        let stated = stated_for(&spec, &arguments.sensitivity)?.ok_or_else(|| missing(&spec))?;
        Ok(Wanted::Calibrated(spec, arguments.budget.budget()?, stated))
    }

    /// The mechanism, with what was found if it was optimised.
    fn mechanism(&self, dimension: Option<u64>) -> Result<Made, Failure> {
        Ok(match self {
            Wanted::Optimised(optimisation, budget, stated) => {
                let found = optimisation.run(stated, dimension, *budget)?;
                (found.mechanism(), Some(found))
            }
            Wanted::Calibrated(spec, budget, stated) => {
                (spec.calibrate(&stated.sensitivity(dimension)?, *budget)?, None)
            }
            Wanted::Described(event) => (described(event)?, None),
        })
    }

    /// How many numbers there are bounds for.
    fn numbers(&self) -> Option<u64> {
        match self {
            Wanted::Calibrated(spec, _, _) => spec.numbers().map(|numbers| numbers as u64),
            Wanted::Optimised(..) | Wanted::Described(_) => None,
        }
    }

    /// Whether the mechanism is another one for another number of numbers.
    fn depends_on_dimension(&self) -> bool {
        match self {
            Wanted::Optimised(_, _, stated) | Wanted::Calibrated(_, _, stated) => {
                matches!(stated.known, Known::Norm { .. })
            }
            Wanted::Described(_) => false,
        }
    }

    /// What the guarantee is about: a sensitivity of one number is about each number by itself.
    fn stated(&self, mechanism: &dyn Mechanism) -> Option<Stated> {
        match self {
            _ if mechanism.kind() == MechanismKind::RandomizedResponse => None,
            Wanted::Optimised(_, _, stated) | Wanted::Calibrated(_, _, stated) => {
                Some(stated.clone())
            }
            Wanted::Described(Event::GeneralizedGaussian { sensitivities, .. })
                if sensitivities.len() > 1 =>
            {
                Some(Known::PerElement(sensitivities.clone(), None).into())
            }
            Wanted::Described(Event::RandomScaleLaplaceVector { sensitivity, .. }) => {
                Some(Known::Norm { order: 1.0, bound: *sensitivity }.into())
            }
            Wanted::Described(event) => {
                event.sensitivity().map(|distance| Known::OfOneNumber(distance).into())
            }
        }
    }
}

/// Reads and checks everything, draws everything, states the guarantee, and only then writes.
pub fn run(arguments: Noise, format: Format, output: &mut Output) -> Result<(), Failure> {
    let wanted = Wanted::new(&arguments)?;
    let Noise { source, count, clamp, dimension, sensitivity, .. } = arguments;
    let said = dimension.dimension;
    // A wrong request is refused before it waits for input, when a vector's length is not known.
    let (mechanism, mut found) = wanted.mechanism(said.or(wanted.numbers()).or(Some(1)))?;
    let mut mechanism = clamp.apply(mechanism)?;
    let data = match count {
        Some(count) => Data { table: None, numbers: zeros(count, &clamp, &*mechanism)? },
        None => source.read()?,
    };
    let numbers = data.numbers.len();
    let stated = wanted.stated(&*mechanism);
    if let Some(stated) = &stated {
        stated.of_numbers(numbers, said)?;
    }
    if wanted.depends_on_dimension() {
        let made = wanted.mechanism(Some(numbers as u64))?;
        (mechanism, found) = (clamp.apply(made.0)?, made.1);
    }
    let mut random = source.random()?;
    let (values, lattice) = match mechanism.choose(&data.numbers, &mut *random) {
        Some(chosen) => (vec![chosen.map_err(drawing)? as f64 + 1.0], None),
        None => {
            let coordinates =
                stated.as_ref().map_or(Ok(1), |stated| stated.coordinates(numbers))?;
            let (values, spacing) = data.release(coordinates, &*mechanism, &mut *random)?;
            (values, Some(spacing))
        }
    };
    let coverage = match (count, lattice) {
        (Some(_), _) => Coverage::Nothing,
        (None, None) => Coverage::Choice(numbers),
        (None, Some(_)) => Coverage::Numbers(stated, values.len()),
    };
    let finished = Finished {
        mechanism: &*mechanism,
        coverage,
        values: &values,
        lattice,
        table: data.table,
        provenance: random.provenance(),
        clamp: clamp.range()?,
    };
    if let Some(found) = found {
        let assumed = match sensitivity.stated() {
            None => format!(" ({})", ASSUMED.1),
            Some(_) => String::new(),
        };
        let _ = writeln!(io::stderr(), "{}{assumed}", found.record().sentence());
    }
    finished.publish(format, output)
}

/// The request was right, so that it was the noise that could not be drawn.
fn drawing(error: MechanismError) -> Failure {
    match error {
        MechanismError::Noise(error) => Failure::Fault(error.to_string()),
        error => error.into(),
    }
}

/// What noise is added to when there is no input.
fn zeros(count: u64, clamp: &ClampOption, mechanism: &dyn Mechanism) -> Result<Vec<f64>, Failure> {
    if !(1..=LARGEST_COUNT).contains(&count) {
        return Err(Failure::usage(format!(
            "--count is {count}, but it must be from 1 to {LARGEST_COUNT}"
        )));
    }
    let bounded = matches!(
        mechanism.kind(),
        MechanismKind::TruncatedGeneralizedGaussian | MechanismKind::InflatedGeneralizedGaussian
    );
    if clamp.clamp.is_some() || bounded {
        return Err(Failure::usage(
            "--count draws noise alone, which --clamp or bounds would make depend on an answer",
        ));
    }
    if mechanism.errors().is_none() {
        let name = mechanism.name();
        return Err(Failure::usage(format!(
            "--count cannot be used with the {name} mechanism, which adds no noise to an answer"
        )));
    }
    Ok(vec![0.0; count as usize])
}
