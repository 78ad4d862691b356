//! `reticent account`: what releases cost together, by every accountant.

use crate::Format;
use crate::failure::Failure;
use crate::options::{count, number};
use crate::output::Output;
use crate::plot::{Chart, Curve};
use crate::progress::Progress;
use crate::report::Interval;
use crate::table::Table;
use reticent_accounting::{
    Accountant, Comparison, Composition, PrivacyQuestion, Verdict, accountants, group_event,
};
use reticent_events::{Event, TextError, events_from_json};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use reticent_numerics::digits::exact;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How many points a curve has, besides its start.
const STEPS: u32 = 40;
/// A curve runs from this share of the answer's epsilon to this multiple of it at most.
const AROUND: (f64, f64) = (0.25, 2.0);
/// It ends where delta has fallen to this share of the answer's.
const DEPTH: f64 = 1e-6;
/// Curves are drawn from brackets of this width, which a picture does not show.
const DRAWN_PRECISION: f64 = 1e-3;
/// The most that is read of a file. A million events take about 100 MB.
const LONGEST_FILE: u64 = 1 << 28;
/// The largest loss that a profile is asked for.
const LARGEST_EPSILON: f64 = 700.0;
/// The delta to begin with where the answer is none.
const USUAL_DELTA: f64 = 1e-6;

/// The options of `account`.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("releases").required(true).args(["events", "event"]))]
#[command(group = clap::ArgGroup::new("question").required(true).args(["delta", "epsilon"]))]
pub struct Account {
    /// The events as JSON: one, or a list; - is standard input
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// One event, such as "gaussian sigma=10 times=1000"; give one --event for each
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Bound epsilon at this delta
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Bound delta at this epsilon
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Bound what a group of so many units together can rely on: the same noise, with so many times
    /// the sensitivity, or the guarantee of a group where there is none
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    group: Option<u64>,
    /// How narrow the bracket should be, as a share of the figure; from 1e-9 to 0.1
    #[arg(
        long,
        value_name = "P",
        value_parser = number,
        allow_hyphen_values = true,
        default_value = "1e-4"
    )]
    precision: f64,
    /// Draw delta at each epsilon to this file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// A number that was given, or bounds on the one that was asked for.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Figure {
    Given(f64),
    Bounded(Interval),
}

#[derive(Debug, Serialize)]
struct Answer {
    epsilon: Figure,
    delta: Figure,
    releases: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u64>,
    accountants: Comparison,
}

/// Asks every accountant, and reports what they say and what they prove together.
pub fn run(arguments: Account, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Account { events, event, delta, epsilon, group, precision, plot } = arguments;
    let question = match (delta, epsilon) {
        (Some(delta), None) => PrivacyQuestion::EpsilonAt(Delta::new(delta)?),
        (None, Some(epsilon)) => PrivacyQuestion::DeltaAt(Epsilon::new(epsilon)?),
        _ => {
            return Err(Failure::usage(
                "give one of --delta and --epsilon: the other is what is found",
            ));
        }
    };
    let known = accountants(precision)?;
    let events = match events {
        Some(path) => events_of(&path)?,
        None => event
            .iter()
            .enumerate()
            .map(|(index, text)| {
                text.parse().map_err(|error: TextError| {
                    Failure::usage(format!("event {}: {error}", index + 1))
                })
            })
            .collect::<Result<_, _>>()?,
    };
    let events = match group {
        None => events,
        Some(size) => {
            events.iter().map(|event| group_event(event, size)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let composition = Composition::new(&events)?;
    let mut progress = Progress::new("asking the accountants", known.len(), 1);
    let comparison = Comparison::new(&known, &composition, question, |done| progress.reach(done));
    let headline = comparison.in_common()?;
    if let Some(path) = plot {
        let picture = chart(&composition, question, headline, &comparison, group)?.svg();
        std::fs::write(path, picture)
            .map_err(|error| Failure::while_doing("writing the file of --plot", &error))?;
    }
    match format {
        Format::Table => output.text(&render(&composition, question, headline, &comparison, group)),
        Format::Json => {
            let bounded = Figure::Bounded(headline.into());
            let (epsilon, delta) = match question {
                PrivacyQuestion::EpsilonAt(delta) => (bounded, Figure::Given(delta.get())),
                PrivacyQuestion::DeltaAt(epsilon) => (Figure::Given(epsilon.get()), bounded),
            };
            output.json(&Answer {
                epsilon,
                delta,
                releases: composition.releases(),
                group,
                accountants: comparison,
            })
        }
    }
}

/// The events of a file, or of standard input where the path is `-`. They are public, so that
/// messages may quote them.
fn events_of(path: &Path) -> Result<Vec<Event>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(LONGEST_FILE + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::while_doing("reading the file of --events", &error))?;
    if bytes.len() as u64 > LONGEST_FILE {
        let most = LONGEST_FILE >> 20;
        return Err(Failure::usage(format!("the file of --events is longer than {most} MB")));
    }
    events_from_json(&bytes)
        .map_err(|error| Failure::usage(format!("the file of --events: {error}")))
}

fn render(
    composition: &Composition,
    question: PrivacyQuestion,
    headline: Bounds,
    comparison: &Comparison,
    group: Option<u64>,
) -> String {
    let figure = question.figure();
    let (given, value) = match question {
        PrivacyQuestion::EpsilonAt(delta) => ("delta", delta.get()),
        PrivacyQuestion::DeltaAt(epsilon) => ("epsilon", epsilon.get()),
    };
    let mut facts = Table::of_pairs();
    facts.row(["releases".to_string(), composition.releases().to_string()]);
    if let Some(size) = group {
        facts.row(["for a group of".to_string(), size.to_string()]);
    }
    facts.row([given.to_string(), exact(value)]);
    facts.row([
        figure.to_string(),
        format!("from {} to {}", exact(headline.lower()), exact(headline.upper())),
    ]);
    let mut table = Table::with_heading(&[
        "accountant",
        &format!("{figure}, at least"),
        &format!("{figure}, at most"),
    ]);
    let mut silent = Table::of_pairs();
    for (name, verdict) in &comparison.verdicts {
        match verdict {
            Verdict::Bracket(bounds) => {
                table.row([(*name).to_string(), exact(bounds.lower()), exact(bounds.upper())])
            }
            Verdict::NotCovered(why) => silent.row([*name, &format!("does not cover {why}")]),
            Verdict::NotProved(why) => silent.row([*name, &format!("proves nothing: {why}")]),
        }
    }
    format!("{}\n{}{}", facts.render(), table.render(), silent.render())
}

/// delta at about forty epsilons around the answer.
fn chart(
    composition: &Composition,
    question: PrivacyQuestion,
    headline: Bounds,
    comparison: &Comparison,
    group: Option<u64>,
) -> Result<Chart, Failure> {
    let drawn = accountants(DRAWN_PRECISION)?;
    let (middle, mark) = match question {
        PrivacyQuestion::EpsilonAt(delta) => (headline.upper(), (headline.upper(), delta.get())),
        PrivacyQuestion::DeltaAt(epsilon) => (epsilon.get(), (epsilon.get(), headline.upper())),
    };
    let floor = DEPTH * if mark.1 > 0.0 { mark.1 } else { USUAL_DELTA };
    let end = match (Delta::new(floor), drawn.first()) {
        // A little further, so that curves are seen to arrive.
        (Ok(deep), Some(default)) => {
            default.epsilon(composition, deep).map_or(f64::INFINITY, |bounds| 1.02 * bounds.upper())
        }
        _ => f64::INFINITY,
    };
    let low = AROUND.0 * middle;
    let high =
        end.min(LARGEST_EPSILON).min(if middle > 0.0 { AROUND.1 * middle } else { f64::INFINITY });
    if !(low < high && high.is_finite()) {
        return Err(Failure::usage(
            "--plot draws delta around the answer, which has no finite epsilon below 700 here",
        ));
    }
    let losses =
        || (0..=STEPS).map(|index| low + (high - low) * f64::from(index) / f64::from(STEPS));
    let covered = |accountant: &dyn Accountant| {
        let verdict = comparison.verdicts.iter().find(|(name, _)| *name == accountant.name());
        verdict.is_some_and(|(_, verdict)| verdict.bracket().is_some())
    };
    let shown: Vec<_> = drawn.iter().filter(|accountant| covered(&***accountant)).collect();
    let mut progress = Progress::new("drawing curves", shown.len() * (STEPS as usize + 1), 1);
    let mut done = 0;
    let mut curves = Vec::new();
    for accountant in shown {
        let mut bounds = Vec::new();
        for loss in losses() {
            progress.reach(done);
            done += 1;
            // A point at which nothing is proved is left out.
            if let Ok(delta) = accountant.delta(composition, Epsilon::new(loss)?) {
                bounds.push((loss, delta));
            }
        }
        let curve = |side: fn(&Bounds) -> f64| {
            bounds.iter().map(|(loss, delta)| (*loss, side(delta))).collect()
        };
        let name = accountant.name();
        if curves.is_empty() {
            curves.push(Curve { name: format!("{name}, upper"), points: curve(Bounds::upper) });
            curves.push(Curve { name: format!("{name}, lower"), points: curve(Bounds::lower) });
        } else {
            curves.push(Curve { name: name.into(), points: curve(Bounds::upper) });
        }
    }
    let releases = composition.releases();
    Ok(Chart {
        title: format!(
            "What {releases} release{} cost together{}",
            if releases == 1 { "" } else { "s" },
            group.map_or(String::new(), |size| format!(", for a group of {size}"))
        ),
        horizontal: "privacy loss \u{3b5} (nats)".into(),
        vertical: "\u{3b4}(\u{3b5}), the least that is proved".into(),
        floor,
        mark: Some(("the answer", mark)),
        curves,
    })
}
