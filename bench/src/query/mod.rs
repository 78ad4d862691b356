//! Seconds and memory of private answers, next to the same question without privacy and to bounding
//! that is written in SQL.
//!
//! Every figure is taken in a process of its own, contenders taking turns: the peak of memory is
//! the process's, the time is that of the query, planning included, the best of all runs. Processor
//! time is measured as well: other programs on the machine have less part in it.

mod contender;
mod table;

pub use contender::{Case, Figures, run};
pub use table::Shape;

use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

type Error = Box<dyn std::error::Error>;

/// Processes per figure.
const ROUNDS: usize = 3;
/// Runs within a process.
const RUNS: usize = 3;

/// Bounding in SQL: a unit's rows of a group become one of the same weight, and five groups are
/// drawn for each unit.
const BOUNDED: &str = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM \
                       (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY r) AS nth FROM \
                       (SELECT u, g, x, RANDOM() AS r FROM \
                       (SELECT u, g, AVG(x) AS x FROM {table} GROUP BY u, g) AS pairs) AS drawn) \
                       AS ranked \
                       WHERE nth <= 5 GROUP BY g";
const PLAIN: &str = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM {table} GROUP BY g";

/// What the run found.
#[derive(Serialize)]
pub struct Report {
    shape: Shape,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    threads: usize,
    #[serde(flatten)]
    figures: Figures,
    /// Time over that of the plain DataFusion query with as many threads.
    times_plain: f64,
    /// The same of processor time.
    processor_times_plain: f64,
}

/// Measures all contenders on a new table. With `python`, a Python with the package duckdb, DuckDB
/// is among them.
pub fn measure(shape: Shape, python: Option<&Path>) -> Result<Report, Error> {
    let folder = std::env::temp_dir().join(format!("reticent-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = measure_in(shape, python, &folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure_in(shape: Shape, python: Option<&Path>, folder: &Path) -> Result<Report, Error> {
    let file = folder.join("table.parquet");
    table::write(&file, shape)?;
    let mut contenders = Vec::new();
    for threads in [1, 2] {
        for case in Case::ALL {
            contenders.push((case.name(), threads, Contender::This(case)));
        }
        if let Some(python) = python {
            contenders.push(("DuckDB, plain", threads, Contender::Duck(python.to_owned(), PLAIN)));
            contenders.push((
                "DuckDB, bounded in SQL",
                threads,
                Contender::Duck(python.to_owned(), BOUNDED),
            ));
        }
    }
    let mut best: Vec<Option<Figures>> = vec![None; contenders.len()];
    for _ in 0..ROUNDS {
        for (best, (_, threads, contender)) in best.iter_mut().zip(&contenders) {
            let figures = contender.measure(&file, shape.text, *threads)?;
            *best = Some(best.take().map_or(figures, |best| best.best(figures)));
        }
    }
    let figures: Vec<Figures> = best.into_iter().flatten().collect();
    let plain = |threads: usize| {
        let at = contenders
            .iter()
            .position(|c| c.1 == threads && c.0 == Case::Plain.name())
            .unwrap_or(0);
        figures[at]
    };
    let rows = contenders.iter().zip(&figures).map(|(&(name, threads, _), &figures)| Row {
        name,
        threads,
        figures,
        times_plain: figures.seconds / plain(threads).seconds,
        processor_times_plain: figures.processor_seconds / plain(threads).processor_seconds,
    });
    Ok(Report { shape, rows: rows.collect() })
}

enum Contender {
    This(Case),
    Duck(PathBuf, &'static str),
}

impl Contender {
    /// Runs it in a process of its own, which may use so many processors.
    fn measure(&self, file: &Path, text: bool, threads: usize) -> Result<Figures, Error> {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", if threads == 1 { "0" } else { "0-1" }]);
        match self {
            Contender::This(case) => {
                command.arg(std::env::current_exe()?).args(["query-case", "--case", case.key()]);
                command
                    .args(["--runs", &RUNS.to_string(), "--file"])
                    .arg(file)
                    .args(text.then_some("--text"));
            }
            Contender::Duck(python, query) => {
                command.arg(python).arg(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../docs/benchmarks/query_duckdb.py"
                ));
                command.arg(file).args([&threads.to_string(), &RUNS.to_string(), *query]);
            }
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.shape)?;
        writeln!(
            out,
            "{:<28} {:>7} {:>9} {:>8} {:>9} {:>8} {:>9}",
            "", "threads", "seconds", "x plain", "processor", "x plain", "peak MiB"
        )?;
        for row in &self.rows {
            let Figures { seconds, processor_seconds, peak_mebibytes, .. } = row.figures;
            writeln!(
                out,
                "{:<28} {:>7} {:>9.3} {:>8.2} {:>9.3} {:>8.2} {:>9.0}",
                row.name,
                row.threads,
                seconds,
                row.times_plain,
                processor_seconds,
                row.processor_times_plain,
                peak_mebibytes
            )?;
        }
        Ok(())
    }
}
