//! The program `reticent`: parse, call, print.
//!
//! What it is: the way from a shell to the mechanisms. What it never does: compute a privacy figure of its own, print a part of an answer, or
//! quote private input.
//!
//! Parsing has two steps. [`options`] turns the command line into plain values; [`request`] judges them together. [`registry`] is the only file
//! that knows all mechanisms.

mod answer_table;
mod choice_plot;
mod commands;
mod comparison;
mod event_file;
mod event_text;
mod failure;
mod input;
mod loss_file;
mod many_releases;
mod noise_words;
mod numbers;
mod options;
mod output;
mod plot;
mod progress;
mod public_graph;
mod registry;
mod release;
mod release_file;
mod report;
mod request;
mod scan_progress;
mod table;
mod value_plot;

use clap::{Parser, Subcommand, ValueEnum};
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a fault, such as a file that cannot be read or an operating system without entropy
  2  wrong usage, parameters that no proof covers, or a ledger that is missing or not the policy's; the message names what is accepted
  3  the privacy budget does not allow it; nothing was spent
Nothing is written to standard output before the whole answer is ready.";

const QUERY_EXAMPLES: &str = "\
Examples:
  reticent ledger create --policy clinic.toml
  reticent query --policy examples/factory/policy.toml \"SELECT smokes, COUNT(*) FROM workers GROUP BY smokes\"
  reticent query --policy clinic.toml --epsilon 0.5 --format csv \"SELECT ward, AVG(age) FROM visits GROUP BY ward\"
  reticent explain --policy clinic.toml \"SELECT MEDIAN(age) FROM visits\"
  reticent query --policy clinic.toml \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-8) ...\"

Aggregates: COUNT, SUM, AVG, VAR, STDDEV, MEDIAN, PERCENTILE_CONT; what else is offered, and what happens to NULL, NaN, overflow and
division by zero, is in docs/sql.md. The same query under the same policy returns the stored answer and costs nothing; --fresh pays
again. What a query reserved stays spent, whatever fails.";

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  reticent calibrate laplace --epsilon 1 --sensitivity 1
  reticent calibrate gaussian --epsilon 1 --delta 1e-6 --l2 2.5
  reticent calibrate gaussian --method closed-form-2 --epsilon 1 --delta 1e-6 --sensitivity 1
  reticent calibrate staircase --epsilon 4 --sensitivity 1 --metric usefulness:0.1
  reticent calibrate generalized-gaussian --order 3 --epsilon 1 --delta 1e-6 --sensitivity 1 --format json
  reticent calibrate gaussian --epsilon 2 --delta 1e-6 --releases 1000

The scale is sigma for gaussian and discrete-gaussian, and b for all others. `certified` is computed anew from the scale that is
printed: the true epsilon or delta lies between the two numbers, and the upper one is within the budget. With --releases or --subsample
both are of all releases together, mechanisms of pure differential privacy may be given a --delta too, and the sensitivity is 1
unless it is given.";

const PROFILE_EXAMPLES: &str = "\
Examples:
  reticent profile gaussian --sigma 3.73 --epsilon 1
  reticent profile laplace --scale 2 --sensitivity 1 --epsilon 0.1,0.2,0.5 --format json
  reticent profile gaussian --sigma 1 --plot profile.svg

A mechanism is (epsilon, delta)-differentially private with the upper number, and not with any delta below the lower one.
The sensitivity is 1 unless it is given.";

const NOISE_EXAMPLES: &str = "\
Examples:
  printf '17\\n25\\n' | reticent noise laplace --epsilon 1 --sensitivity 1
  reticent noise gaussian --epsilon 1 --delta 1e-6 --l2 2.5 --input sums.csv --column total > private.csv
  reticent noise discrete-laplace --scale 2 --sensitivity 1 --count 5
  reticent noise laplace --epsilon 1 --l1 3 --format json < answers.txt > release.json

Every number is a release. With --sensitivity the guarantee is that of one number, and of all together only if each privacy unit
is in one of them: otherwise the costs add up. With --l1, --l2 or --per-element it is that of all numbers together.
The guarantee is stated on standard error. All input is checked before anything is written, and no message quotes it.
With the mechanism's own parameters in place of --epsilon, a promise with an exception is stated at epsilon = 1.
Input is one number on each line, or a column of a CSV file with a heading; CSV comes out with the column replaced.";

const CHOOSE_EXAMPLES: &str = "\
Examples:
  reticent choose --epsilon 4 --sensitivity 1 --metric usefulness:0.1
  reticent choose --epsilon 1 --delta 1e-6 --sensitivity 1 --metric l2 --plot choice.svg
  reticent choose --epsilon 1 --sensitivity 1 --integer --metric quantile:0.95 --format json
  reticent choose --epsilon 1 --delta 1e-6 --dimension 1000 --l1 20 --l2 4.5 --metric max
  reticent choose --epsilon 0.5 --sensitivity 1 --bounds 0,10 --metric loss:cost.csv
  printf '17\\n' | reticent choose --epsilon 1 --sensitivity 1 --release

Metrics, all of the error of one released number but for max:
  l1            mean absolute error                 l2            root mean square error
  max           expected maximum over --dimension   max:Q         its quantile
  usefulness:T  P(|error| > T), one less the usefulness
  quantile:Q    the T with P(|error| <= T) = Q      entropy       differential entropy (nats)
  loss:FILE     the mean of a loss of your own: CSV with columns |error| and loss, straight lines between them,
                level before the first, and on from the last as steeply as it arrived
  expression:E  the same from an expression of t = |error|, such as 'expression:min(t,3)^2'

The limit is the least error that any noise added to the answer can have, proved; `upper` is what some noise reaches.
With bounds, noise that depends on the answer joins, and can be better than that. A ratio is of the error to the lower
limit, and for the entropy of the widths e^h.";
const DENOISE_EXAMPLES: &str = "\
Examples:
  reticent noise laplace --epsilon 0.1 --sensitivity 1 --format json < counts.txt | reticent denoise > better.json
  reticent query --format json 'SELECT town, COUNT(*) FROM visits GROUP BY town' | reticent denoise --non-negative
  reticent denoise --noise 'gaussian sigma=2' --method james-stein --towards mean < released.txt
  reticent denoise --noise 'laplace scale=10' --method auto --non-negative --input released.csv --column count
  reticent denoise --noise 'gaussian sigma=5' --method trend-filter --graph grid:20x30 --plot picture.svg < released.txt
  reticent denoise --noise 'gaussian sigma=1' --method bayes --prior 'laplace mean=0 scale=5' < released.txt

Denoising is post-processing: it costs no privacy, for it sees nothing but what was released. Input is a release file, as `noise --format json`
writes it, the answer of `query --format json` (of which --column names a column), or numbers with --noise; the same comes out. The risk, the expected sum of squared errors, is estimated from the release, and
stated on standard error; where no estimate is known that would hold, none is stated. `auto` leaves the release as it is unless a method
is better with confidence.";

const ACCOUNT_EXAMPLES: &str = "\
Examples:
  reticent account --event \"gaussian sigma=10 times=1000\" --event \"laplace scale=20 times=5\" --delta 1e-6
  reticent account --event \"gaussian sigma=1 subsample=0.01 times=1000\" --epsilon 2 --format json
  reticent account --events events.json --delta 1e-6 --plot cost.svg

An event is a mechanism and its parameters: laplace scale, gaussian sigma, discrete-laplace scale, discrete-gaussian sigma,
generalized-gaussian order scale, staircase epsilon gamma, truncated-laplace scale support, randomized-response epsilon categories,
random-scale-laplace family=gamma shape theta, random-scale-gaussian sigmas=1:0.9,3:0.1, exponential epsilon,
permute-and-flip epsilon, and of unknown mechanisms approximate epsilon delta, zero-concentrated rho. Unless given,
sensitivity=1 and times=1; subsample=RATE is for Poisson sampling. In a file, events are written as `calibrate --format json` writes them.
The first figure is proved from both sides. Releases may be chosen from earlier answers, but not their parameters.
In JSON, null stands for infinity.";

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  reticent reproduce list
  reticent reproduce --out results
  reticent reproduce liu-mildew --repeats 50 --seed 7 --out mildew
  reticent reproduce --data ../data --out results

Each experiment is written as CSV, SVG and PNG, and all of them on one page, index.html, beside what the papers state. A finding from simulation
counts as shown from 5 standard errors on. The noise comes from the seed and protects nobody.";

/// Differentially private statistics, with a proof of every privacy figure.
///
/// Ask SQL over private tables under a policy and a budget that is remembered; or name a mechanism and a budget, and get the least scale
/// that provably keeps the promise, exact noise, and the error to expect.
#[derive(Debug, Parser)]
#[command(name = "reticent", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// How to print the answer
    #[arg(long, global = true, value_enum, default_value_t = AnswerFormat::Table)]
    format: AnswerFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer SQL over private tables, and remember what it cost
    #[command(after_help = QUERY_EXAMPLES)]
    Query(Box<commands::query::Query>),
    /// Show what a query would do, how far off it would be, and what it would cost; nothing is read or spent
    #[command(after_help = QUERY_EXAMPLES)]
    Explain(Box<commands::explain::Explain>),
    /// Show what is spent, what is left, and what each query cost
    Budget(Box<commands::budget::Budget>),
    /// Make the ledger of a policy, check it, or print its anchor
    Ledger(Box<commands::ledger::LedgerCommand>),
    /// Draft a policy from the names and types of a file's columns; no row is read
    Init(Box<commands::init::Init>),
    /// List the mechanisms, what they promise and what they take
    #[command(after_help = EXIT_CODES)]
    Mechanisms,
    /// Find the least scale that provably keeps a promise
    #[command(after_help = CALIBRATE_EXAMPLES)]
    Calibrate(Box<commands::calibrate::Calibrate>),
    /// Bound delta at each epsilon, for noise of given parameters
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(Box<commands::profile::Profile>),
    /// Rank every mechanism by your own measure of error, and say how far the best is from the best there can be
    #[command(after_help = CHOOSE_EXAMPLES)]
    Choose(Box<commands::choose::Choose>),
    /// Bound what releases cost together, by every accountant
    #[command(after_help = ACCOUNT_EXAMPLES)]
    Account(Box<commands::account::Account>),
    /// Release numbers with calibrated noise
    #[command(after_help = NOISE_EXAMPLES)]
    Noise(Box<commands::noise::Noise>),
    /// Improve released numbers, at no cost in privacy
    #[command(after_help = DENOISE_EXAMPLES)]
    Denoise(Box<commands::denoise::Denoise>),
    /// Recompute the results of the papers, as tables, figures and a page
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Box<commands::reproduce::Reproduce>),
}

/// How the answer of a query is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    /// For people: a table, or plain numbers
    Table,
    /// For programs: one JSON object on one line
    Json,
    /// For `query`: CSV, with a column of half-widths after each noisy one
    Csv,
    /// For `query`: the same as Parquet
    Parquet,
}

/// How other answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Table,
    Json,
}

impl AnswerFormat {
    fn of_report(self) -> Result<Format, Failure> {
        match self {
            AnswerFormat::Table => Ok(Format::Table),
            AnswerFormat::Json => Ok(Format::Json),
            AnswerFormat::Csv | AnswerFormat::Parquet => Err(Failure::usage(
                "--format csv and parquet are for `reticent query`: table and json are accepted here",
            )),
        }
    }
}

fn main() -> ExitCode {
    let CommandLine { command, format } = CommandLine::parse();
    let mut output = Output::new();
    let result = run(command, format, &mut output);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Without standard error the exit code still speaks.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            failure.exit_code()
        }
    }
}

fn run(command: Command, format: AnswerFormat, output: &mut Output) -> Result<(), Failure> {
    if let Command::Query(arguments) = &command {
        return commands::query::run(arguments, format, output);
    }
    let format = format.of_report()?;
    match command {
        Command::Query(_) => Ok(()),
        Command::Explain(arguments) => commands::explain::run(&arguments, format, output),
        Command::Init(arguments) => commands::init::run(&arguments, output),
        Command::Budget(arguments) => commands::budget::run(&arguments, format, output),
        Command::Ledger(arguments) => commands::ledger::run(&arguments, format, output),
        Command::Mechanisms => commands::mechanisms::run(format, output),
        Command::Calibrate(arguments) => commands::calibrate::run(*arguments, format, output),
        Command::Profile(arguments) => commands::profile::run(*arguments, format, output),
        Command::Choose(arguments) => commands::choose::run(*arguments, format, output),
        Command::Account(arguments) => commands::account::run(*arguments, format, output),
        Command::Noise(arguments) => commands::noise::run(*arguments, format, output),
        Command::Denoise(arguments) => commands::denoise::run(*arguments, format, output),
        Command::Reproduce(arguments) => commands::reproduce::run(*arguments, format, output),
    }
}
