//! One way to answer, run in a process of its own.

use super::{BOUNDED, PLAIN};
use clap::ValueEnum;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use reticent_noise::randomness::SecureRandom;
use reticent_query::engine::{GroupKeys, Layout, Measure, SecretKey, exact_totals};
use reticent_release::{Contribution, Grid, Statistic, Totals};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

type Error = Box<dyn std::error::Error>;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// DataFusion's own aggregation, without privacy.
    Plain,
    /// Exact totals where each row is a unit.
    Rows,
    /// Exact totals where a person is in at most 5 groups with the weight of one row in each.
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
    /// Processor time of all threads, of the run that took the least. On a busy machine this is the figure to compare.
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

/// Runs one way on a file so many times.
pub fn run(case: Case, file: &Path, threads: usize, runs: usize) -> Result<Figures, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let file = file.to_str().ok_or("the file's name is not UTF-8")?;
    let mut best: Option<Figures> = None;
    for _ in 0..runs {
        let (start, used) = (Instant::now(), processor_seconds()?);
        let answer = runtime.block_on(runtime.spawn(answer(case, file.to_owned(), threads)))?;
        let (groups, counted) = answer.map_err(|error| error.to_string())?;
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
async fn answer(
    case: Case,
    file: String,
    threads: usize,
) -> Result<(u64, u64), Box<dyn std::error::Error + Send + Sync>> {
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
    session.register_parquet("t", &file, ParquetReadOptions::default()).await?;
    let (unit, query) = match case {
        Case::Plain | Case::Sql => {
            let query = if case == Case::Plain { PLAIN } else { BOUNDED }.replace("{table}", "t");
            let answer = session.sql(&query).await?.collect().await?;
            let groups = answer.iter().map(|batch| batch.num_rows() as u64).sum();
            let counts = answer.iter().flat_map(|batch| batch.column(1).as_primitive::<Int64Type>().values());
            return Ok((groups, counts.map(|&count| count as u64).sum()));
        }
        Case::Rows => (None, "SELECT g, x FROM t"),
        Case::People => (Some(2), "SELECT g, x, u FROM t"),
    };
    let rows = session.sql(query).await?.create_physical_plan().await?;
    let grid = Grid { centre: 50.0, step: 2_f64.powi(-20), lower: -50 << 20, upper: 50 << 20 };
    let layout = Layout {
        unit,
        keys: vec![0],
        measures: vec![
            Measure { statistic: Statistic::Count { max_rows: 1 }, value: None },
            Measure { statistic: Statistic::Sum { grid, contribution: Contribution::Rows(1) }, value: Some(1) },
        ],
        max_groups: 5,
    };
    let key = SecretKey::draw(&mut SecureRandom::new()?)?;
    let (keys, exact) = exact_totals(rows, &layout, GroupKeys::Found, session.task_ctx(), key, |_| ()).await?;
    let counted = match &exact.totals[0] {
        Totals::Integers(counts) => counts.iter().sum::<i128>(),
        Totals::Values(_) => 0,
    };
    Ok((keys.num_rows() as u64, counted as u64))
}

/// What the threads of this process have used so far.
fn processor_seconds() -> Result<f64, Error> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let statistics = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += statistics.split_whitespace().next().ok_or("no number in schedstat")?.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

fn peak_mebibytes() -> Result<f64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).ok_or("no peak of memory in /proc/self/status")?;
    let kibibytes: f64 = line.split_whitespace().nth(1).ok_or("no number in VmHWM")?.parse()?;
    Ok(kibibytes / 1024.0)
}
