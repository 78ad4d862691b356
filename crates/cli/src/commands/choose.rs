//! `reticent choose`: the noise that hurts an answer least, by the user's own measure.

use crate::Format;
use crate::choice_plot;
use crate::failure::Failure;
use crate::metric_text::read_metric;
use crate::options::{count, number, whole};
use crate::output::Output;
use crate::progress::Progress;
use crate::release::{Coverage, Finished, Source};
use crate::report::{Parameter, by_name};
use crate::stated::{Known, Stated};
use crate::table::Table;
use reticent_choice::{Candidate, Metric, Query, Ranking, Requirements, SharedBudget, choose};
use reticent_mechanisms::{Guarantee, MechanismKind, Neighbours};
use reticent_numerics::Bounds;
use reticent_numerics::digits::{exact, figure, rounded};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// The steps of a choice, for the progress line: one a mechanism.
const STEPS: usize = 12;

/// The options of `choose`.
#[derive(clap::Args, Debug)]
pub struct Choose {
    /// The privacy loss to keep, above 0 and at most 700
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: f64,
    /// The small probability to keep, from 1e-300 to below 1; without it the guarantee is pure DP
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// How many releases of this kind share the budget
    #[arg(
        long,
        value_name = "N",
        value_parser = count,
        allow_hyphen_values = true,
        default_value = "1"
    )]
    releases: u64,
    /// The most by which one privacy unit moves a number; also for many numbers, if each unit is in
    /// one of them only
    #[arg(
        long,
        value_name = "S",
        value_parser = number,
        allow_hyphen_values = true,
        conflicts_with_all = ["l1", "l2"]
    )]
    sensitivity: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a sum of absolute
    /// differences
    #[arg(long, value_name = "A", value_parser = number, allow_hyphen_values = true)]
    l1: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a Euclidean
    /// distance
    #[arg(long, value_name = "B", value_parser = number, allow_hyphen_values = true)]
    l2: Option<f64>,
    /// How many numbers the vector of --l1 and --l2 has; with --release they are counted
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    dimension: Option<u64>,
    /// The answers are integers, and so are the releases
    #[arg(long)]
    integer: bool,
    /// The public range of the true answer
    #[arg(
        long,
        value_name = "LO,HI",
        value_parser = number,
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    bounds: Option<Vec<f64>>,
    /// What is to be small: l1, l2, max, max:Q, entropy, usefulness:T, quantile:Q, loss:FILE or
    /// expression:TEXT
    #[arg(long, value_name = "METRIC", default_value = "l1")]
    metric: String,
    /// Draw the densities, and the errors against epsilon with the limit, to this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Release numbers with the winner, as `reticent noise` does
    #[arg(long)]
    release: bool,
    #[command(flatten)]
    source: Source,
}

/// The limit; `null` where there is none, with the reason.
#[derive(Debug, Serialize)]
struct Limit {
    lower: Option<f64>,
    upper: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    mechanism: &'static str,
    parameters: BTreeMap<&'static str, Parameter>,
    error: Option<f64>,
    ratio_to_limit: Option<f64>,
    guarantee: Guarantee,
}

#[derive(Debug, Serialize)]
struct Answer {
    metric: String,
    limit: Limit,
    ranking: Vec<Row>,
}

/// Ranks, draws and releases as asked.
pub fn run(arguments: Choose, format: Format, output: &mut Output) -> Result<(), Failure> {
    if !arguments.release && (arguments.source.input.is_some() || arguments.source.seed.is_some()) {
        return Err(Failure::usage(
            "--input, --column and --seed are for a release: give --release, too",
        ));
    }
    if arguments.release && arguments.releases > 1 {
        return Err(Failure::usage(
            "--release makes one release, and --releases plans for several: calibrate the winner's \
             share with `reticent noise`",
        ));
    }
    let metric = arguments.metric()?;
    if arguments.release {
        return release(&arguments, metric, format, output);
    }
    let request = arguments.request(metric, None)?;
    let ranking = ranked(&request)?;
    arguments.draw(&ranking)?;
    match format {
        Format::Json => output.json(&answer(&ranking)),
        Format::Table => output.text(&table(&ranking)),
    }
}

impl Choose {
    fn metric(&self) -> Result<Metric, Failure> {
        let distance = self.sensitivity.or(self.l1).or(self.l2).unwrap_or(1.0);
        read_metric(&self.metric, distance / self.epsilon)
    }

    /// What the options say together, for so many numbers if they were counted.
    fn request(&self, metric: Metric, counted: Option<usize>) -> Result<Requirements, Failure> {
        // What was said is the move itself, so that which data sets are neighbours does not change
        // it.
        let neighbours = Neighbours::AddRemove;
        let mut query = match (self.sensitivity, self.l1.is_some() || self.l2.is_some()) {
            (Some(_), _) if self.dimension.is_some() => {
                return Err(Failure::usage(
                    "--dimension goes with --l1 and --l2: --sensitivity is about each number by \
                     itself",
                ));
            }
            (Some(sensitivity), _) => Query::scalar(sensitivity, neighbours)?,
            (None, true) => {
                let dimension = match (self.dimension, counted) {
                    (Some(said), Some(counted)) if said != counted as u64 => {
                        return Err(Failure::usage(format!(
                            "--dimension is {said}, but the input has {counted} numbers"
                        )));
                    }
                    (Some(said), _) => said,
                    (None, Some(counted)) => counted as u64,
                    (None, None) => {
                        return Err(Failure::usage(
                            "--l1 and --l2 are about a vector: give its --dimension, too",
                        ));
                    }
                };
                Query::vector(whole("dimension", dimension)?, self.l1, self.l2, neighbours)?
            }
            (None, false) => {
                return Err(Failure::usage(
                    "a choice needs to know the sensitivity: give --sensitivity, or --l1 or --l2 \
                     with --dimension",
                ));
            }
        };
        if self.integer {
            query = query.of_integers()?;
        }
        if let Some(bounds) = &self.bounds {
            let &[lower, upper] = bounds.as_slice() else {
                return Err(Failure::usage(
                    "--bounds must be two finite numbers, the smaller first",
                ));
            };
            query = query.within(lower, upper)?;
        }
        let budget =
            SharedBudget::new(self.epsilon, self.delta, whole("releases", self.releases)?)?;
        Ok(Requirements { query, budget, metric })
    }

    fn draw(&self, ranking: &Ranking) -> Result<(), Failure> {
        let Some(path) = &self.plot else { return Ok(()) };
        let picture = choice_plot::picture(ranking);
        std::fs::write(path, picture)
            .map_err(|error| Failure::while_doing("writing the file of --plot", &error))
    }

    /// The sensitivity as a release states it.
    fn sensitivity(&self, ranking: &Ranking) -> Stated {
        let query = &ranking.requirements().query;
        match (self.sensitivity, ranking.best().mechanism.kind()) {
            (Some(distance), _) => Known::OfOneNumber(distance).into(),
            (None, MechanismKind::Gaussian) => Known::Norm { order: 2.0, bound: query.l2() }.into(),
            (None, _) => Known::Norm { order: 1.0, bound: query.l1() }.into(),
        }
    }
}

fn ranked(request: &Requirements) -> Result<Ranking, Failure> {
    let mut progress = Progress::new("comparing mechanisms", STEPS, 1);
    let mut done = 0;
    Ok(choose(request, |_| {
        progress.reach(done);
        done += 1;
    })?)
}

/// The winner's release, by the way of every other release.
fn release(
    arguments: &Choose,
    metric: Metric,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    // A wrong request is refused before it waits for input. A vector's length may not be known yet.
    let trial = if arguments.sensitivity.is_none() && arguments.dimension.is_none() {
        Some(1)
    } else {
        None
    };
    arguments.request(metric.clone(), trial)?;
    let data = arguments.source.read()?;
    let request = arguments.request(metric, Some(data.numbers.len()))?;
    let ranking = ranked(&request)?;
    arguments.draw(&ranking)?;
    let mut random = arguments.source.random()?;
    let sensitivity = arguments.sensitivity(&ranking);
    let coordinates = sensitivity.coordinates(data.numbers.len())?;
    let mechanism = &*ranking.best().mechanism;
    let (values, spacing) = data.release(coordinates, mechanism, &mut *random)?;
    let _ = writeln!(
        io::stderr(),
        "Chosen for the metric {}: {}",
        request.metric,
        ranking.explanation()
    );
    let finished = Finished {
        mechanism,
        coverage: Coverage::Numbers(Some(sensitivity), values.len()),
        values: &values,
        lattice: Some(spacing),
        table: data.table,
        provenance: random.provenance(),
        clamp: None,
    };
    finished.publish(format, output)
}

fn parameters(candidate: &Candidate) -> BTreeMap<&'static str, Parameter> {
    let mut named = by_name(candidate.mechanism.parameters());
    named.insert("scale", Parameter::One(candidate.mechanism.scale()));
    named
}

fn answer(ranking: &Ranking) -> Answer {
    let row = |candidate: &Candidate| Row {
        mechanism: candidate.name,
        parameters: parameters(candidate),
        error: figure(candidate.error),
        ratio_to_limit: ranking.ratio_to_limit(candidate),
        guarantee: ranking.guarantee(candidate),
    };
    Answer {
        metric: ranking.requirements().metric.to_string(),
        limit: Limit {
            lower: ranking.limit.as_ref().ok().map(Bounds::lower),
            upper: ranking.limit.as_ref().ok().map(Bounds::upper),
            reason: ranking.limit.clone().err(),
        },
        ranking: ranking.candidates.iter().map(row).collect(),
    }
}

fn table(ranking: &Ranking) -> String {
    let mut table =
        Table::with_heading(&["mechanism", "error", "times the limit", "guarantee", "parameters"]);
    for candidate in &ranking.candidates {
        let parameters = parameters(candidate);
        let text = |(name, value): (&&str, &Parameter)| {
            let values: Vec<_> = value.values().iter().map(|value| rounded(*value)).collect();
            let shown = if values.len() > 4 {
                format!("{} values", values.len())
            } else {
                values.join(", ")
            };
            format!("{name} {shown}")
        };
        let kept = ranking.guarantee(candidate);
        let epsilon = exact(kept.epsilon);
        let guarantee =
            if kept.delta > 0.0 { format!("{epsilon}, {:e}", kept.delta) } else { epsilon };
        table.row([
            candidate.name.to_string(),
            figure(candidate.error).map_or("not finite".to_string(), rounded),
            ranking.ratio_to_limit(candidate).map_or("not known".to_string(), |ratio| {
                if ratio < 1e4 { format!("{ratio:.4}") } else { rounded(ratio) }
            }),
            guarantee,
            parameters.iter().map(text).collect::<Vec<_>>().join("; "),
        ]);
    }
    let metric = &ranking.requirements().metric;
    let limit = match &ranking.limit {
        Ok(limit) => {
            format!("from {} to {}, proved.", rounded(limit.lower()), rounded(limit.upper()))
        }
        Err(reason) => format!("{reason}."),
    };
    let limit = format!("Least {metric} of any added noise: {limit}");
    let mut text = format!(
        "{}\n{limit}\nBest: {}\n\nWhy the others:\n",
        table.render(),
        ranking.explanation()
    );
    for candidate in ranking.candidates.iter().skip(1) {
        text += &format!("  {}: {}.\n", candidate.name, candidate.why);
    }
    for refusal in &ranking.refusals {
        text += &format!("  {} is left out: {}.\n", refusal.mechanism, refusal.reason);
    }
    text
}
