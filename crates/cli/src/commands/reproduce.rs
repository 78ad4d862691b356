//! `reticent reproduce`: the results of the papers, recomputed.

use crate::Format;
use crate::failure::Failure;
use crate::output::Output;
use crate::table::Table;
use indicatif::{ProgressBar, ProgressStyle};
use reticent_reproduction::{Experiment, Finding, ReproductionError, Run, Setting, reproduce};
use serde::Serialize;
use std::path::PathBuf;

/// Steps of the progress bar for each experiment.
const STEPS: u64 = 1000;

/// The options of `reproduce`.
#[derive(clap::Args, Debug)]
pub struct Reproduce {
    /// The experiment; all of them if none is named, and their names if it is `list`
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The folder that results are written to, which is made if need be
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// The folder of the data that are not part of the program; what reads it is skipped without it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Repeats of every simulation, in place of the papers' own numbers
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    repeats: Option<u32>,
    /// The seed; the same seed gives the same files, byte for byte
    #[arg(long, value_name = "S", default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
}

impl Reproduce {
    /// The command that makes the same files, without the folders' places.
    fn command(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        let data = if self.data.is_some() { " --data DIR" } else { "" };
        let repeats = self.repeats.map_or_else(String::new, |repeats| format!(" --repeats {repeats}"));
        format!("reticent reproduce{name}{data}{repeats} --seed {}", self.seed)
    }

    fn setting(&self, bar: &ProgressBar) -> Result<Setting, ReproductionError> {
        let shown = bar.clone();
        let setting = Setting::new(self.seed).watched_by(move |share| {
            let before = shown.position() / STEPS * STEPS;
            // Just short of the next experiment, which begins when this one has ended.
            shown.set_position(before + ((share * STEPS as f64) as u64).min(STEPS - 1));
        });
        let setting = match self.repeats {
            Some(repeats) => setting.with_repeats(repeats)?,
            None => setting,
        };
        Ok(match &self.data {
            Some(folder) => setting.with_data(folder.clone()),
            None => setting,
        })
    }
}

/// Runs one experiment or all of them, writes their results, and says what each showed.
pub fn run(arguments: Reproduce, format: Format, output: &mut Output) -> Result<(), Failure> {
    if arguments.name.as_deref() == Some("list") {
        return list(format, output);
    }
    if let Some(folder) = arguments.data.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("--data {}: there is no such folder", folder.display())));
    }
    let count = if arguments.name.is_some() { 1 } else { Experiment::ALL.len() };
    let bar = ProgressBar::new(count as u64 * STEPS);
    // The template is fixed and valid; were it not, the bar would have its usual look.
    bar.set_style(
        ProgressStyle::with_template("{elapsed_precise} {bar:40} {percent:>3}% {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let setting = arguments.setting(&bar)?;
    let begins = |place: usize, experiment: &Experiment| {
        bar.set_position(place as u64 * STEPS);
        bar.set_message(experiment.name);
    };
    let runs = reproduce(arguments.name.as_deref(), &setting, &arguments.out, &arguments.command(), begins)?;
    bar.finish_and_clear();
    match format {
        Format::Table => output.text(&summary(&runs, &arguments)),
        Format::Json => output.json(&runs.iter().map(Report::of).collect::<Vec<_>>()),
    }
}

fn list(format: Format, output: &mut Output) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        paper: &'static str,
        title: &'static str,
        reads: Option<&'static str>,
    }
    let line = |e: &Experiment| Line { name: e.name, paper: e.paper.citation(), title: e.title, reads: e.reads };
    match format {
        Format::Json => output.json(&Experiment::ALL.iter().map(line).collect::<Vec<_>>()),
        Format::Table => {
            let mut table = Table::with_heading(&["name", "what it reproduces", "data"]);
            for experiment in Experiment::ALL {
                table.row([experiment.name, experiment.title, experiment.reads.unwrap_or("")]);
            }
            output.text(&table.render())
        }
    }
}

fn summary(runs: &[Run], arguments: &Reproduce) -> String {
    let mut table = Table::with_heading(&["experiment", "findings shown", "what it reproduces"]);
    for run in runs {
        let shown = match &run.outcome {
            Some(outcome) => {
                let shown = outcome.findings.iter().filter(|finding| finding.is_shown()).count();
                let claims = outcome.findings.iter().filter(|finding| !finding.is_remark()).count();
                format!("{shown} of {claims}")
            }
            None => format!("SKIPPED: reads {}", run.experiment.reads.unwrap_or("data")),
        };
        table.row([run.experiment.name.to_string(), shown, run.experiment.title.to_string()]);
    }
    let mut text = table.render();
    for run in runs {
        let findings = run.outcome.iter().flat_map(|outcome| &outcome.findings);
        for finding in findings.filter(|finding| !finding.is_remark() && !finding.is_shown()) {
            text.push_str(&format!("\nNOT SHOWN by this run, {}: {}\n", run.experiment.name, finding.claim));
        }
    }
    if runs.iter().any(|run| run.outcome.is_none()) {
        text.push_str(
            "\nSkipped experiments read data that are not part of the program: say with --data where they are.\n",
        );
    }
    text.push_str(&format!("\nThe page with all of it: {}\n", arguments.out.join("index.html").display()));
    text
}

/// A run as data.
#[derive(Serialize)]
struct Report<'a> {
    experiment: &'static str,
    skipped: bool,
    findings: Vec<Line<'a>>,
}

/// A finding as data.
#[derive(Serialize)]
struct Line<'a> {
    paper: &'a str,
    here: &'a str,
    verdict: String,
    /// Nothing for a remark, which no run could show.
    shown: Option<bool>,
}

impl<'a> Report<'a> {
    fn of(run: &'a Run) -> Self {
        let line = |finding: &'a Finding| Line {
            paper: &finding.claim,
            here: &finding.here,
            verdict: finding.verdict.text(),
            shown: (!finding.is_remark()).then(|| finding.is_shown()),
        };
        let findings = run.outcome.iter().flat_map(|outcome| &outcome.findings).map(line).collect();
        Report { experiment: run.experiment.name, skipped: run.outcome.is_none(), findings }
    }
}

impl From<ReproductionError> for Failure {
    fn from(error: ReproductionError) -> Self {
        match error {
            ReproductionError::UnknownExperiment { .. }
            | ReproductionError::Repeats(_)
            | ReproductionError::NoData { .. }
            | ReproductionError::Malformed { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Fault(error.to_string()),
        }
    }
}
