//! One way to answer, run in a process of its own.

use super::{BOUNDED, PLAIN};
use clap::ValueEnum;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use reticent_noise::randomness::SecureRandom;
use reticent_policy::Policy;
use reticent_query::{Options, prepare};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

type Error = Box<dyn std::error::Error>;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// DataFusion's own aggregation, without privacy.
    Plain,
    /// A private answer where each row is a unit.
    Rows,
    /// A private answer where a person counts in at most 5 groups with the weight of one row in
    /// each.
    People,
    /// The same bounding, written in SQL, on DataFusion.
    Sql,
}

impl Case {
    /// In the order of the report.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Rows, Self::People, Self::Sql];

    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "DataFusion, plain",
            Self::Rows => "Reticent, each row a unit",
            Self::People => "Reticent, 5 groups a person",
            Self::Sql => "DataFusion, bounded in SQL",
        }
    }

    /// The name on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Rows => "rows",
            Self::People => "people",
            Self::Sql => "sql",
        }
    }
}

/// What one process measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Of the fastest run.
    pub seconds: f64,
    /// Processor time of all threads, of the run that took the least. On a busy machine this is the
    /// figure to compare.
    pub processor_seconds: f64,
    /// The most memory that the process had.
    pub peak_mebibytes: f64,
    /// How many groups were in the answer.
    pub groups: u64,
    /// The sum of the counts: that the work was done.
    pub counted: u64,
}

impl Figures {
    /// The shorter time and the smaller peak of two.
    pub fn best(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.min(other.seconds),
            processor_seconds: self.processor_seconds.min(other.processor_seconds),
            peak_mebibytes: self.peak_mebibytes.min(other.peak_mebibytes),
            ..self
        }
    }
}

/// Runs one way on a file, whose groups are numbers or text, so many times, on all processors that
/// this process may use.
pub fn run(case: Case, file: &Path, text: bool, runs: usize) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut best: Option<Figures> = None;
    for _ in 0..runs {
        let (start, used) = (Instant::now(), processor_seconds()?);
        let (groups, counted) = runtime.block_on(answer(case, file, text))?;
        let figures = Figures {
            seconds: start.elapsed().as_secs_f64(),
            processor_seconds: processor_seconds()? - used,
            peak_mebibytes: f64::INFINITY,
            groups,
            counted,
        };
        best = Some(best.map_or(figures, |best| best.best(figures)));
    }
    let best = best.ok_or("no runs")?;
    Ok(Figures { peak_mebibytes: peak_mebibytes()?, ..best })
}

/// How many groups, and the sum of their counts.
async fn answer(case: Case, file: &Path, text: bool) -> Result<(u64, u64), Error> {
    let answer = match case {
        Case::Plain => collected(file, PLAIN).await?,
        Case::Sql => collected(file, BOUNDED).await?,
        Case::Rows => private(file, "each_row = true", text).await?,
        Case::People => private(file, "unit = \"u\"\nmax_groups = 5\nmax_rows = 1", text).await?,
    };
    let groups = answer.iter().map(|batch| batch.num_rows() as u64).sum();
    let counts =
        answer.iter().flat_map(|batch| batch.column(1).as_primitive::<Int64Type>().values());
    Ok((groups, counts.sum::<i64>().unsigned_abs()))
}

/// DataFusion's answer.
async fn collected(file: &Path, query: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
    let session = SessionContext::new();
    session.register_parquet("t", file.to_string_lossy(), ParquetReadOptions::default()).await?;
    session.sql(&query.replace("{table}", "t")).await?.collect().await
}

/// A private answer: policy, planning, exact totals, choice of groups and noise; everything but the
/// ledger.
async fn private(file: &Path, unit: &str, text: bool) -> Result<Vec<RecordBatch>, Error> {
    let group = if text { "text" } else { "integer" };
    let name = file.file_name().ok_or("a file has a name")?.to_string_lossy();
    let policy = format!(
        "[budget]\nepsilon = 1\ndelta = 1e-6\nquery_epsilon = 1\nquery_delta = 1e-6\n\
         [tables.t]\nsource = \"{name}\"\n{unit}\n\
         [tables.t.columns]\nu.type = \"integer\"\ng.type = \"{group}\"\n\
         x = {{ type = \"real\", bounds = [0, 100] }}\n"
    );
    let policy = Policy::parse(&policy, &file.with_file_name("policy.toml"))?;
    let prepared = prepare(&policy, &PLAIN.replace("{table}", "t"), Options::default()).await?;
    let opened = prepared.open(&policy).await?;
    Ok(vec![opened.run(&mut SecureRandom::new()?, |_| ()).await?.table])
}

/// What the threads of this process have used so far.
fn processor_seconds() -> Result<f64, Error> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let statistics = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds +=
            statistics.split_whitespace().next().ok_or("no number in schedstat")?.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

fn peak_mebibytes() -> Result<f64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .ok_or("no peak of memory in /proc/self/status")?;
    let kibibytes: f64 = line.split_whitespace().nth(1).ok_or("no number in VmHWM")?.parse()?;
    Ok(kibibytes / 1024.0)
}
