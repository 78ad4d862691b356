//! The program `reticent`: parse, call, print.
//!
//! What it is: the way from a shell to the mechanisms. What it never does: compute a privacy figure
//! of its own, print a part of an answer, or quote private input.
//!
//! A mechanism, an event, a noise is text that the library reads; [`options`] are what is said
//! besides. No file here knows the list of mechanisms.

mod answer_table;
mod choice_plot;
mod commands;
mod denoised;
mod failure;
mod input;
mod loss_file;
mod metric_text;
mod options;
mod output;
mod plot;
mod progress;
mod public_graph;
mod random_scale;
mod release;
mod report;
mod scan_progress;
mod stated;
mod table;
mod value_plot;
mod words;
mod workload_table;

use clap::{Parser, Subcommand, ValueEnum};
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a fault, such as a file that cannot be read or an operating system without entropy
  2  wrong usage, parameters that no proof covers, or a ledger that is missing or not the \
  policy's; the message names what is accepted
  3  the privacy budget does not allow it; nothing was spent
Nothing is written to standard output before the whole answer is ready.";

const QUERY_EXAMPLES: &str = "\
Examples:
  reticent ledger create --policy clinic.toml
  reticent query --policy examples/factory/policy.toml \"SELECT smokes, COUNT(*) FROM workers \
  GROUP BY smokes\"
  reticent query --policy clinic.toml --epsilon 0.5 --format csv \"SELECT ward, AVG(age) FROM \
  visits GROUP BY ward\"
  reticent explain --policy clinic.toml \"SELECT MEDIAN(age) FROM visits\"
  reticent query --policy clinic.toml \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, \
  delta = 1e-8) ...\"

Aggregates: COUNT, SUM, AVG, VAR, STDDEV, MEDIAN, PERCENTILE_CONT; what else is offered, and what \
happens to NULL, NaN, overflow and
division by zero, is in docs/sql.md. The same query under the same policy returns the stored \
answer and costs nothing; --fresh pays
again. What a query reserved stays spent, whatever fails.";

const WORKLOAD_EXAMPLES: &str = "\
Examples:
  reticent workload --policy examples/factory/policy.toml --marginals 2 --epsilon 1 --plan
  reticent workload --policy clinic.toml --table visits --marginals 2 --over ward,sex,age \
  --epsilon 1 --delta 1e-6 --format csv
  reticent workload --policy clinic.toml --over 'FLOOR(age / 10) AS decade,sex' --up-to 2 --rho 0.1
  reticent workload --policy clinic.toml --ask 'prefixes of age' --epsilon 0.5
  reticent workload --policy clinic.toml --ask 'count where age >= 65' --ask 'sum of age where \
  ward = 3'
  reticent workload --policy clinic.toml --workload tables.txt --integers totals --format json

Attributes need public values: a column's `values` or whole `bounds` in the policy, or an expression
of such columns. What is measured is chosen so that the error of what is asked for is least; with
Gaussian noise the certified least error of any strategy stands beside it. All answers come from one
release and agree with each other. --plan reads and spends nothing. docs/workloads.md has the
statements.";

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  reticent calibrate laplace --epsilon 1 --sensitivity 1
  reticent calibrate gaussian --epsilon 1 --delta 1e-6 --l2 2.5
  reticent calibrate gaussian method=closed-form-2 --epsilon 1 --delta 1e-6 --sensitivity 1
  reticent calibrate staircase aim=usefulness:0.1 --epsilon 4 --sensitivity 1
  reticent calibrate generalized-gaussian order=3 --epsilon 1 --delta 1e-6 --sensitivity 1
  reticent calibrate generalized-gaussian order=3 --epsilon 1 --delta 1e-6 --lp 3:1 --dimension 20
  reticent calibrate truncated-generalized-gaussian order=2 lower=0 upper=9 --epsilon 1 --l1 1 \
  --dimension 1
  reticent calibrate inflated-generalized-gaussian order=2 lower=0,10 upper=1,14 --epsilon 1 \
  --per-element 0.5,1
  reticent calibrate laplace --epsilon 1 --disjoint 1 --replace
  reticent calibrate gaussian --epsilon 2 --delta 1e-6 --releases 1000
  reticent calibrate random-scale-laplace --epsilon 4 --metric usefulness:0.1 --family combined
  reticent calibrate random-scale-gaussian --epsilon 1 --delta 1e-6 --metric l2 --family two-point

`reticent mechanisms` lists the parameters of each mechanism. The scale is sigma for gaussian and
discrete-gaussian, and b for all others. `certified` is computed anew from the scale that is
printed: the true epsilon or delta lies between the two numbers, and the upper one is within the
budget. With --releases or --subsample both are of all releases together, mechanisms of pure
differential privacy may be given a --delta too, and the sensitivity is 1 unless it is given.
With --metric or --family the distribution of a random scale is optimised first (Algorithm 1 of
R2DP); the sensitivity is 1 unless it is given, and of the noise that was found it is said how far
it is from the best of all random scales.";

const CHECK_EXAMPLES: &str = "\
Examples:
  reticent check gaussian --sigma 0.4845 --epsilon 10 --delta 1e-5 --sensitivity 1
  reticent check gaussian --sigma 5 --epsilon 1 --delta 1e-6 --l2 1 --format json
  reticent check laplace --scale 2 --epsilon 0.5 --sensitivity 1

Says of any published setting whether it is private, by how much not, and which scale would be
right. Both figures are proved from both sides. The exit code is 0 whether the claim is true or
not: read `private` in the JSON, which is true, false, or null where the bounds do not tell; there,
an upper bound of null is infinite.";

const PROFILE_EXAMPLES: &str = "\
Examples:
  reticent profile gaussian sigma=3.73 --epsilon 1
  reticent profile laplace scale=2 sensitivity=1 --epsilon 0.1,0.2,0.5 --format json
  reticent profile gaussian sigma=1 --plot profile.svg

A mechanism is (epsilon, delta)-differentially private with the upper number, and not with any
delta below the lower one. Noise is written as an event is for `reticent account`; the sensitivity
is 1 unless it is given.";

const NOISE_EXAMPLES: &str = "\
Examples:
  printf '17\\n25\\n' | reticent noise laplace --epsilon 1 --sensitivity 1
  reticent noise gaussian --epsilon 1 --delta 1e-6 --l2 2.5 --input sums.csv --column total > \
  private.csv
  reticent noise discrete-laplace scale=2 sensitivity=1 --count 5
  reticent noise random-scale-laplace --epsilon 4 --metric usefulness:0.1 --family combined \
  --count 5
  reticent noise laplace --epsilon 1 --l1 3 --format json < answers.txt > release.json

Every number is a release. With --sensitivity the guarantee is that of one number, and of all
together only if each privacy unit is in one of them: otherwise the costs add up. With --l1, --l2,
--lp, --per-element, --ranges or --disjoint it is that of all numbers together. The guarantee is
stated on standard error. All input is checked before anything is written, and no message quotes it.
Without --epsilon the noise is as it is written, and a guarantee with a delta is stated at epsilon =
1. Input is one number on each line, or a column of a CSV file with a heading; CSV comes out with
the column replaced. With --metric or --family the distribution of a random scale is optimised first
(Algorithm 1 of R2DP).";

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
  loss:FILE     the mean of a loss of your own: CSV with columns |error| and loss, straight lines \
  between them,
                level before the first, and on from the last as steeply as it arrived
  expression:E  the same from an expression of t = |error|, such as 'expression:min(t,3)^2'

The limit is the least error that any noise added to the answer can have, proved; `upper` is what \
some noise reaches.
With bounds, noise that depends on the answer joins, and can be better than that. A ratio is of \
the error to the lower
limit, and for the entropy of the widths e^h.";
const DENOISE_EXAMPLES: &str = "\
Examples:
  reticent noise laplace --epsilon 0.1 --sensitivity 1 --format json < counts.txt | reticent \
  denoise --format json > better.json
  reticent query --format json 'SELECT town, COUNT(*) FROM visits GROUP BY town' | reticent \
  denoise --format csv
  reticent denoise --noise 'gaussian sigma=2' --method james-stein-positive --towards mean < \
  released.txt
  reticent denoise --noise 'laplace scale=10' --non-negative --input released.csv --column count
  reticent denoise --noise 'gaussian sigma=5' --method trend-filter --graph grid:20x30 --plot \
  picture.svg < released.txt
  reticent denoise --noise 'gaussian sigma=5' --method ball --ball 1:2000 < released.txt
  reticent denoise --noise 'gaussian sigma=1' --method bayes --prior 'laplace mean=0 scale=5' < \
  released.txt
  reticent denoise --noise 'gaussian sigma=1' --method markov-chain --log-prior=-abs(t)/9 \
  --log-prior-steps=-t^2/2 < released.txt

Denoising is post-processing: it costs no privacy, for it sees nothing but what was released. \
Input is a release file, as `noise --format json`
writes it, the answer of `query --format json` (of which --column names a column), or numbers with \
--noise. A table or CSV of groups comes out of an answer, CSV out of CSV, numbers out of \
numbers, and with --format json a release file that says what was done. A release of randomized \
response is estimated as `reticent estimate` does. The risk, the expected sum of squared errors, \
is estimated from the release, and
stated on standard error; where no estimate is known that would hold, none is stated. `auto` \
leaves the release as it is, or moved into the bounds that are known, unless the squared error of \
this very release is estimated to be less with a method though the estimate be off by 1.6 \
of its standard deviations.";

const ESTIMATE_EXAMPLES: &str = "\
Examples:
  reticent estimate randomized-response --epsilon 1 --labels no,yes --input survey.csv --column \
  answer
  reticent estimate randomized-response --epsilon 2 --categories 5 --simplex < answers.txt
  reticent noise randomized-response categories=3 --epsilon 1 --format json < truth.txt | reticent \
  estimate randomized-response --format json";

const ERRORS_EXAMPLES: &str = "\
Examples:
  reticent errors --queries 100 --epsilon 1
  reticent errors --queries 100 --epsilon 1 --delta 1e-6 --people 10000 --beta 0.01 --format json

Limits: of pure differential privacy by packing, of approximate differential privacy from two \
neighbours m apart (that of a single query; the constant of the rate sqrt(K) is not known), of \
local differential privacy from the posterior variance of fair bits. For one number and a metric, \
`reticent choose` computes the least error exactly.";

const ACCOUNT_EXAMPLES: &str = "\
Examples:
  reticent account --event \"gaussian sigma=10 times=1000\" --event \"laplace scale=20 times=5\" \
  --delta 1e-6
  reticent account --event \"gaussian sigma=1 subsample=0.01 times=1000\" --epsilon 2 --format json
  reticent account --event \"gaussian sigma=10 times=20\" --delta 1e-6 --group 4
  reticent account --events events.json --delta 1e-6 --plot cost.svg

An event is a mechanism and its parameters: laplace scale=, gaussian sigma=,
discrete-laplace scale=, discrete-gaussian sigma=, generalized-gaussian order= scale=
sensitivities=A,B, staircase epsilon= gamma=, truncated-laplace scale= support_in_scales=,
randomized-response epsilon= categories=,
random-scale-laplace inverse_scale=[gamma shape= theta=], random-scale-gaussian sigmas=1:0.9,3:0.1,
exponential epsilon=, permute-and-flip epsilon=, and of unknown mechanisms approximate epsilon=
delta=, zero-concentrated rho=. Unless given, sensitivity=1; subsample=RATE is for Poisson sampling,
times=N for repetition. In a file, events are written as `calibrate --format json` writes them. The
first figure is proved from both sides. Releases may be chosen from earlier answers, but not their
parameters. In JSON, null stands for infinity.";

/// Differentially private statistics, with a proof of every privacy figure.
///
/// Ask SQL over private tables under a policy and a budget that is remembered; or name a mechanism
/// and a budget, and get the least scale that provably keeps it, exact noise, and the error to
/// expect.
#[derive(Debug, Parser)]
#[command(
    name = "reticent",
    version,
    after_help = EXIT_CODES,
    subcommand_required = true,
    arg_required_else_help = true
)]
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
    /// Show what a query would do, how far off it would be, and what it would cost; nothing is read
    /// or spent
    #[command(after_help = QUERY_EXAMPLES)]
    Explain(Box<commands::explain::Explain>),
    /// Ask many counting queries at once: all tables of some attributes, distribution functions,
    /// ranges, any conditions; one release, one charge
    #[command(after_help = WORKLOAD_EXAMPLES)]
    Workload(Box<commands::workload::WorkloadCommand>),
    /// Show what is spent, what is left, and what each query cost
    Budget(Box<commands::budget::Budget>),
    /// Make the ledger of a policy, check it, or print its anchor
    Ledger(Box<commands::ledger::LedgerCommand>),
    /// Draft a policy from the names and types of a file's columns; no row is read
    Init(Box<commands::init::Init>),
    /// List the mechanisms, what they guarantee and what they take
    #[command(after_help = EXIT_CODES)]
    Mechanisms,
    /// Find the least scale that provably keeps a budget
    #[command(after_help = CALIBRATE_EXAMPLES)]
    Calibrate(Box<commands::calibrate::Calibrate>),
    /// Say whether noise of a published scale keeps a budget, and by how much not
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<commands::check::Check>),
    /// Bound delta at each epsilon, for noise of given parameters
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(Box<commands::profile::Profile>),
    /// Rank every mechanism by your own measure of error, and say how far the best is from the best
    /// there can be
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
    /// Estimate shares from randomized answers, with certified intervals
    #[command(after_help = ESTIMATE_EXAMPLES)]
    Estimate(Box<commands::estimate::Estimate>),
    /// Show the errors of many counting queries by each mechanism, beside what nobody can avoid
    #[command(after_help = ERRORS_EXAMPLES)]
    Errors(Box<commands::errors::ErrorsOfQueries>),
}

/// How the answer of a query is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    /// For people: a table, or plain numbers
    Table,
    /// For programs: one JSON object on one line
    Json,
    /// For `query`, `workload` and `denoise`: CSV, with a column of half-widths after each noisy
    /// one
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
                "--format csv is for `reticent query`, `workload` and `denoise`, and parquet for \
                 `query`: table and json are accepted here",
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
    if let Command::Workload(arguments) = &command {
        return commands::workload::run(arguments, format, output);
    }
    let command = match command {
        Command::Denoise(arguments) => return commands::denoise::run(*arguments, format, output),
        other => other,
    };
    let format = format.of_report()?;
    match command {
        Command::Query(_) | Command::Denoise(_) | Command::Workload(_) => Ok(()),
        Command::Explain(arguments) => commands::explain::run(&arguments, format, output),
        Command::Init(arguments) => commands::init::run(&arguments, output),
        Command::Budget(arguments) => commands::budget::run(&arguments, format, output),
        Command::Ledger(arguments) => commands::ledger::run(&arguments, format, output),
        Command::Mechanisms => commands::mechanisms::run(format, output),
        Command::Calibrate(arguments) => commands::calibrate::run(*arguments, format, output),
        Command::Check(arguments) => commands::check::run(*arguments, format, output),
        Command::Profile(arguments) => commands::profile::run(*arguments, format, output),
        Command::Choose(arguments) => commands::choose::run(*arguments, format, output),
        Command::Account(arguments) => commands::account::run(*arguments, format, output),
        Command::Noise(arguments) => commands::noise::run(*arguments, format, output),
        Command::Estimate(arguments) => commands::estimate::run(*arguments, format, output),
        Command::Errors(arguments) => commands::errors::run(*arguments, format, output),
    }
}
