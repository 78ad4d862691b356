//! `reticent query`: SQL over private tables.

use crate::AnswerFormat;
use crate::answer_table::{csv, parquet, people};
use crate::commands::ledger::say_unnoted;
use crate::failure::Failure;
use crate::options::number;
use crate::output::Output;
use crate::scan_progress::ScanProgress;
use reticent::query::{AnswerMetric, NoiseName, Options};
use reticent::{Ask, Error, Progress, Session};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// What `query` and `explain` take.
#[derive(clap::Args, Debug)]
pub struct Asked {
    /// The policy: what is private, what is public knowledge, and how much may be spent
    #[arg(long, value_name = "FILE", default_value = "policy.toml")]
    pub policy: PathBuf,
    /// The privacy loss that the query may cost; otherwise what the SQL or the policy says
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// The delta that the query may cost; 0 for pure differential privacy
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// The most groups of the answer in which one privacy unit counts
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    max_groups: Option<u32>,
    /// The most rows of one privacy unit that count in one group
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    max_rows: Option<u32>,
    /// What the noise of counts and sums is chosen by: l1, l2, entropy, usefulness:T (how often an
    /// error is above T) or quantile:Q; otherwise l2
    #[arg(long, value_name = "M", value_parser = str::parse::<AnswerMetric>)]
    metric: Option<AnswerMetric>,
    /// The noise of counts and sums by name; otherwise the best is chosen
    #[arg(long, value_name = "NAME", value_parser = str::parse::<NoiseName>)]
    mechanism: Option<NoiseName>,
    /// The query; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    sql: String,
}

impl Asked {
    /// Opens the policy and has something done with the question.
    pub fn asked<T>(
        &self,
        run: impl AsyncFnOnce(Ask<'_>) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let sql = match self.sql.as_str() {
            "-" => io::read_to_string(io::stdin().lock())
                .map_err(|error| Failure::while_doing("reading the query", &error))?,
            sql => sql.to_owned(),
        };
        let options = Options {
            epsilon: self.epsilon,
            delta: self.delta,
            max_groups: self.max_groups,
            max_rows: self.max_rows,
            metric: self.metric,
            mechanism: self.mechanism,
        };
        block_on(async {
            let session = Session::open(&self.policy).await?;
            run(session.ask(sql).options(options)).await
        })
    }
}

/// The options of `query`.
#[derive(clap::Args, Debug)]
pub struct Query {
    #[command(flatten)]
    asked: Asked,
    /// Pay for a new answer although this query was answered before
    #[arg(long)]
    fresh: bool,
    /// Who asks: recorded in the ledger, and shown by `reticent budget`
    #[arg(long, value_name = "NAME")]
    asker: Option<String>,
}

/// Runs what the library does in the background.
pub fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build();
    let runtime = runtime.map_err(|error| Failure::while_doing("starting threads", &error))?;
    Ok(runtime.block_on(future)?)
}

/// What happens while a question is answered, on standard error; without it there is nobody to
/// tell.
pub fn tell(progress: Progress, scan: &ScanProgress) {
    match progress {
        Progress::Rows(rows) => scan.add(rows),
        Progress::Created(ledger) => {
            let path = ledger.path.display();
            let _ = writeln!(
                io::stderr(),
                "A new ledger was created: {path}; nothing counts as spent."
            );
            say_unnoted(&ledger);
        }
        Progress::Waiting { entry, at_most } => {
            let _ = writeln!(
                io::stderr(),
                "the same query is being computed by another process (entry {entry} of the \
                 ledger): waiting for its answer, {} seconds at most",
                at_most.as_secs()
            );
        }
    }
}

/// Answers and prints.
pub fn run(arguments: &Query, format: AnswerFormat, output: &mut Output) -> Result<(), Failure> {
    if format == AnswerFormat::Parquet && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "Parquet is not for terminals: send standard output to a file, as in > answer.parquet",
        ));
    }
    // The words of a panic could be made of a row; that the query failed is said below.
    std::panic::set_hook(Box::new(|_| ()));
    let scan = ScanProgress::new();
    let told = scan.clone();
    let answer = arguments.asked.asked(async |mut ask| {
        ask = ask.progress(move |progress| tell(progress, &told));
        if arguments.fresh {
            ask = ask.fresh();
        }
        if let Some(asker) = &arguments.asker {
            ask = ask.asker(asker);
        }
        ask.await
    });
    scan.done();
    let answer = answer?;
    if answer.stored && format != AnswerFormat::Table {
        // Without standard error the answer still speaks.
        let _ = writeln!(
            io::stderr(),
            "answered before (entry {} of the ledger): nothing was spent",
            answer.record.entry
        );
    }
    match format {
        AnswerFormat::Json => output.write(|stream| {
            stream.write_all(&answer.bytes)?;
            stream.write_all(b"\n")
        }),
        AnswerFormat::Table => output.text(&people(&answer)),
        AnswerFormat::Csv => output.text(&csv(&answer.record)?),
        AnswerFormat::Parquet => {
            let bytes = parquet(&answer)?;
            output.write(|stream| stream.write_all(&bytes))
        }
    }
}
