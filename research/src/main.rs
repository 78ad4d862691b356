//! The program `reproduce`: the results of the papers, recomputed.

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use research::{Experiment, Finding, ReproductionError, Run, Setting, Tally, Verdict, reproduce};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Steps of the progress bar for each experiment.
const STEPS: u64 = 1000;

const EXAMPLES: &str = "\
Examples:
  reproduce list
  reproduce --out results
  reproduce liu-mildew --repeats 50 --seed 7 --out mildew
  reproduce --data ../data --out results

Each experiment adds its results to the folder as CSV, SVG and PNG, and to one page, index.html,
beside what the papers state; what earlier runs left there stays. A verdict is computed from the
statement as the paper makes it. The noise comes from the seed and protects nobody.";

/// Recompute the results of the papers, as tables, figures and a page
#[derive(Parser, Debug)]
#[command(version, after_help = EXAMPLES)]
struct Reproduce {
    /// The experiment; all of them if none is named, and their names if it is `list`
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The folder that results are written to, which is made if need be
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// The folder of the data that are not part of the program; what reads it is skipped without it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Repeats of every simulation, instead of the papers' own numbers
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    repeats: Option<u32>,
    /// The seed; the same seed gives the same files, byte for byte
    #[arg(long, value_name = "S", default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For programs: JSON on one line
    Json,
}

impl Reproduce {
    /// The command that makes the same files, without the paths of this machine.
    fn command(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        let data = if self.data.is_some() { " --data DIR" } else { "" };
        let repeats =
            self.repeats.map_or_else(String::new, |repeats| format!(" --repeats {repeats}"));
        format!("reproduce{name}{data}{repeats} --seed {}", self.seed)
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

fn main() -> ExitCode {
    let arguments = Reproduce::parse();
    match run(&arguments) {
        Ok(text) => {
            // A reader that stops listening, such as `head`, is no fault.
            let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("reproduce: {error}");
            ExitCode::from(if error.is_usage() { 2 } else { 1 })
        }
    }
}

/// Runs one experiment or all of them, writes their results, and says what each showed.
fn run(arguments: &Reproduce) -> Result<String, ReproductionError> {
    if arguments.name.as_deref() == Some("list") {
        return Ok(list(arguments.format));
    }
    if let Some(folder) = arguments.data.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(ReproductionError::NoFolder(folder.clone()));
    }
    let count = if arguments.name.is_some() { 1 } else { Experiment::ALL.len() };
    let bar = ProgressBar::new(count as u64 * STEPS);
    // The template is fixed and valid; were it not, the bar would have its usual look.
    bar.set_style(
        ProgressStyle::with_template("{elapsed_precise} {bar:40} {percent:>3}% {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let setting = arguments.setting(&bar)?;
    let begins = |index: usize, experiment: &Experiment| {
        bar.set_position(index as u64 * STEPS);
        bar.set_message(experiment.name);
    };
    let runs = reproduce(
        arguments.name.as_deref(),
        &setting,
        &arguments.out,
        &arguments.command(),
        begins,
    )?;
    bar.finish_and_clear();
    Ok(match arguments.format {
        Format::Table => summary(&runs, arguments),
        Format::Json => json(&runs.iter().map(Report::of).collect::<Vec<_>>()),
    })
}

/// One line of JSON. The reports are plain data, whose writing cannot fail.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// Rows in columns as wide as their widest cell, under a ruled heading.
fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let rules = widths.map(|width| "-".repeat(width));
    let mut text = line(heading) + &line(std::array::from_fn(|column| rules[column].as_str()));
    text.extend(rows.iter().map(|row| line(std::array::from_fn(|column| row[column].as_str()))));
    text
}

fn list(format: Format) -> String {
    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        paper: &'static str,
        title: &'static str,
        reads: Option<&'static str>,
    }
    let line = |e: &Experiment| Line {
        name: e.name,
        paper: e.paper.citation(),
        title: e.title,
        reads: e.reads,
    };
    match format {
        Format::Json => json(&Experiment::ALL.iter().map(line).collect::<Vec<_>>()),
        Format::Table => {
            let row = |e: &Experiment| [e.name, e.title, e.reads.unwrap_or("")].map(str::to_owned);
            let rows: Vec<_> = Experiment::ALL.iter().map(row).collect();
            table(["name", "what it reproduces", "data"], &rows)
        }
    }
}

/// How many statements hold, hold in part, do not hold, are not decided.
fn counts([holds, part, fails, open]: [usize; 4]) -> String {
    let open = if open > 0 { format!(", {open} open") } else { String::new() };
    format!("{holds} hold, {part} in part, {fails} not{open}")
}

fn summary(runs: &[Run], arguments: &Reproduce) -> String {
    let row = |run: &Run| {
        let state = match &run.outcome {
            Some(outcome) => counts(outcome.findings.iter().collect::<Tally>().papers),
            None => format!("SKIPPED: reads {}", run.experiment.reads.unwrap_or("data")),
        };
        [run.experiment.name.to_owned(), state, run.experiment.title.to_owned()]
    };
    let rows: Vec<_> = runs.iter().map(row).collect();
    let mut text = table(["experiment", "statements of the paper", "what it reproduces"], &rows);
    let findings = || runs.iter().filter_map(|run| run.outcome.as_ref()).flat_map(|o| &o.findings);
    text.push_str(&format!("\n{}\n", findings().collect::<Tally>().of_papers()));
    for finding in findings().filter(|finding| finding.verdict == Verdict::Open) {
        text.push_str(&format!("\nNOT DECIDED by this run: {}\n", finding.claim));
    }
    if runs.iter().any(|run| run.outcome.is_none()) {
        text.push_str(
            "\nSkipped experiments read data that are not part of the program: say with --data \
             where they are.\n",
        );
    }
    text.push_str(&format!(
        "\nThe page with all of it: {}\n",
        arguments.out.join("index.html").display()
    ));
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
    statement: &'a str,
    /// The section of the paper; nothing for a statement of our own.
    source: Option<&'a str>,
    here: &'a str,
    verdict: &'static str,
    /// The verdict with where the statement holds and the erratum.
    text: String,
}

impl<'a> Report<'a> {
    fn of(run: &'a Run) -> Self {
        let line = |finding: &'a Finding| Line {
            statement: &finding.claim,
            source: finding.source.as_deref(),
            here: &finding.here,
            verdict: finding.verdict.kind(),
            text: finding.verdict_text(),
        };
        let findings = run.outcome.iter().flat_map(|outcome| &outcome.findings).map(line).collect();
        Report { experiment: run.experiment.name, skipped: run.outcome.is_none(), findings }
    }
}
