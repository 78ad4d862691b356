//! `reticent query`: SQL over private tables.

use crate::answer_table::{csv, parquet, people};
use crate::commands::ledger::say_unnoted;
use crate::failure::Failure;
use crate::options::number;
use crate::output::Output;
use crate::{AnswerFormat, scan_progress};
use reticent_query::Options;
use reticent_session::{Ask, Progress, Session};
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
    /// The exception that the query may cost; 0 for a pure promise
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// The most groups of the answer in which one privacy unit counts
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    max_groups: Option<u32>,
    /// The most rows of one privacy unit that count in one group
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    max_rows: Option<u32>,
    /// The query; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    sql: String,
}

impl Asked {
    /// The text of the query.
    pub fn sql(&self) -> Result<String, Failure> {
        if self.sql != "-" {
            return Ok(self.sql.clone());
        }
        io::read_to_string(io::stdin().lock()).map_err(|error| Failure::while_doing("reading the query", &error))
    }

    /// What the command line says about the cost.
    pub fn options(&self) -> Options {
        Options { epsilon: self.epsilon, delta: self.delta, max_groups: self.max_groups, max_rows: self.max_rows }
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
}

/// A runtime for the query engine.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .build()
        .map_err(|error| Failure::while_doing("starting threads", &error))
}

/// Answers and prints.
pub fn run(arguments: &Query, format: AnswerFormat, output: &mut Output) -> Result<(), Failure> {
    if format == AnswerFormat::Parquet && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "Parquet is not for terminals: send standard output to a file, as in > answer.parquet",
        ));
    }
    let session = Session::load(&arguments.asked.policy)?;
    let sql = arguments.asked.sql()?;
    let ask = Ask { sql: &sql, options: arguments.asked.options(), fresh: arguments.fresh };
    // The words of a panic could be made of a row; that the query failed is said below.
    std::panic::set_hook(Box::new(|_| ()));
    let progress = scan_progress::ScanProgress::new();
    let reached = progress.clone();
    let reply = runtime()?.block_on(session.ask(&ask, move |progress| match progress {
        Progress::Rows(rows) => reached.add(rows),
        Progress::Created(ledger) => {
            // Without standard error there is nobody to tell.
            let _ = writeln!(
                io::stderr(),
                "A new ledger was created: {}; nothing counts as spent.",
                ledger.path.display()
            );
            say_unnoted(&ledger);
        }
        Progress::Waiting { entry, at_most } => {
            // Without standard error there is nobody to tell.
            let _ = writeln!(
                io::stderr(),
                "the same query is being computed by another process (entry {entry} of the ledger): waiting for its answer, {} seconds at \
                 most",
                at_most.as_secs()
            );
        }
    }));
    progress.done();
    let reply = reply?;
    if reply.stored && format != AnswerFormat::Table {
        // Without standard error the answer still speaks.
        let _ =
            writeln!(io::stderr(), "answered before (entry {} of the ledger): nothing was spent", reply.record.entry);
    }
    match format {
        AnswerFormat::Json => output.write(|stream| {
            stream.write_all(&reply.bytes)?;
            stream.write_all(b"\n")
        }),
        AnswerFormat::Table => output.text(&people(&reply)),
        AnswerFormat::Csv => output.text(&csv(&reply.record)?),
        AnswerFormat::Parquet => {
            let bytes = parquet(&reply.record)?;
            output.write(|stream| stream.write_all(&bytes))
        }
    }
}
