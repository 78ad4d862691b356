//! `reticent account`: what releases cost together, by every accountant.

use crate::Format;
use crate::comparison::{Comparison, Question, Verdict, accountants};
use crate::event_file::events_of;
use crate::event_text::event_of;
use crate::failure::Failure;
use crate::numbers::exact;
use crate::options::number;
use crate::output::Output;
use crate::plot::{Chart, Curve};
use crate::progress::Progress;
use crate::report::Interval;
use crate::table::Table;
use reticent_accounting::{Accountant, Charges};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use serde::Serialize;
use std::path::PathBuf;

/// How many points a curve has, besides its start.
const STEPS: u32 = 40;
/// A curve runs from this share of the answer's epsilon to this multiple of it at most.
const AROUND: (f64, f64) = (0.25, 2.0);
/// It ends where delta has fallen to this share of the answer's.
const DEPTH: f64 = 1e-6;
/// Curves are drawn from brackets of this width, which a picture does not show.
const DRAWN_PRECISION: f64 = 1e-3;
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
    /// How narrow the bracket should be, as a share of the figure; from 1e-9 to 0.1
    #[arg(long, value_name = "P", value_parser = number, allow_hyphen_values = true, default_value = "1e-4")]
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
    accountants: Comparison,
}

/// Asks every accountant, and reports what they say and what they prove together.
pub fn run(arguments: Account, format: Format, output: &mut Output) -> Result<(), Failure> {
    let Account { events, event, delta, epsilon, precision, plot } = arguments;
    let question = match (delta, epsilon) {
        (Some(delta), None) => Question::EpsilonAt(Delta::new(delta)?),
        (None, Some(epsilon)) => Question::DeltaAt(Epsilon::new(epsilon)?),
        _ => return Err(Failure::usage("give one of --delta and --epsilon: the other is what is found")),
    };
    let known = accountants(precision)?;
    let events = match events {
        Some(path) => events_of(&path)?,
        None => event.iter().enumerate().map(|(index, text)| event_of(text, index + 1)).collect::<Result<_, _>>()?,
    };
    let charges = Charges::new(&events)?;
    let comparison = Comparison::new(&known, &charges, question);
    let headline = comparison.headline()?;
    if let Some(path) = plot {
        let picture = chart(&charges, question, headline, &comparison)?.svg();
        std::fs::write(path, picture).map_err(|error| Failure::while_doing("writing the file of --plot", &error))?;
    }
    match format {
        Format::Table => output.text(&render(&charges, question, headline, &comparison)),
        Format::Json => {
            let bounded = Figure::Bounded(headline.into());
            let (epsilon, delta) = match question {
                Question::EpsilonAt(delta) => (bounded, Figure::Given(delta.get())),
                Question::DeltaAt(epsilon) => (Figure::Given(epsilon.get()), bounded),
            };
            output.json(&Answer { epsilon, delta, releases: charges.releases(), accountants: comparison })
        }
    }
}

fn render(charges: &Charges, question: Question, headline: Bounds, comparison: &Comparison) -> String {
    let figure = question.figure();
    let (given, value) = match question {
        Question::EpsilonAt(delta) => ("delta", delta.get()),
        Question::DeltaAt(epsilon) => ("epsilon", epsilon.get()),
    };
    let mut facts = Table::of_pairs();
    facts.row(["releases".to_string(), charges.releases().to_string()]);
    facts.row([given.to_string(), exact(value)]);
    facts.row([figure.to_string(), format!("from {} to {}", exact(headline.lower()), exact(headline.upper()))]);
    let mut table = Table::with_heading(&["accountant", &format!("{figure}, at least"), &format!("{figure}, at most")]);
    let mut silent = Table::of_pairs();
    for (name, verdict) in &comparison.verdicts {
        match verdict {
            Verdict::Bracket(bounds) => table.row([(*name).to_string(), exact(bounds.lower()), exact(bounds.upper())]),
            Verdict::NotCovered(why) => silent.row([*name, &format!("does not cover {why}")]),
            Verdict::NotProved(why) => silent.row([*name, &format!("proves nothing: {why}")]),
        }
    }
    format!("{}\n{}{}", facts.render(), table.render(), silent.render())
}

/// delta at about forty epsilons around the answer.
fn chart(charges: &Charges, question: Question, headline: Bounds, comparison: &Comparison) -> Result<Chart, Failure> {
    let drawn = accountants(DRAWN_PRECISION)?;
    let (middle, mark) = match question {
        Question::EpsilonAt(delta) => (headline.upper(), (headline.upper(), delta.get())),
        Question::DeltaAt(epsilon) => (epsilon.get(), (epsilon.get(), headline.upper())),
    };
    let floor = DEPTH * if mark.1 > 0.0 { mark.1 } else { USUAL_DELTA };
    let end = match (Delta::new(floor), drawn.first()) {
        // A little further, so that curves are seen to arrive.
        (Ok(deep), Some(default)) => {
            default.epsilon(charges, deep).map_or(f64::INFINITY, |bounds| 1.02 * bounds.upper())
        }
        _ => f64::INFINITY,
    };
    let low = AROUND.0 * middle;
    let high = end.min(LARGEST_EPSILON).min(if middle > 0.0 { AROUND.1 * middle } else { f64::INFINITY });
    if !(low < high && high.is_finite()) {
        return Err(Failure::usage("--plot draws delta around the answer, which has no finite epsilon below 700 here"));
    }
    let losses = || (0..=STEPS).map(|index| low + (high - low) * f64::from(index) / f64::from(STEPS));
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
            if let Ok(delta) = accountant.delta(charges, Epsilon::new(loss)?) {
                bounds.push((loss, delta));
            }
        }
        let curve = |side: fn(&Bounds) -> f64| bounds.iter().map(|(loss, delta)| (*loss, side(delta))).collect();
        let name = accountant.name();
        if curves.is_empty() {
            curves.push(Curve { name: format!("{name}, upper"), points: curve(Bounds::upper) });
            curves.push(Curve { name: format!("{name}, lower"), points: curve(Bounds::lower) });
        } else {
            curves.push(Curve { name: name.into(), points: curve(Bounds::upper) });
        }
    }
    let releases = charges.releases();
    Ok(Chart {
        title: format!("What {releases} release{} cost together", if releases == 1 { "" } else { "s" }),
        horizontal: "privacy loss \u{3b5} (nats)".into(),
        vertical: "\u{3b4}(\u{3b5}), the least exception (a probability)".into(),
        floor,
        mark: Some(("the answer", mark)),
        curves,
    })
}
