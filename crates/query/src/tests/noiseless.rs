//! Exact totals in place of released figures.

use crate::error::QueryError;
use crate::{Answer, Options, Prepared, TableSources, prepare};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_engine::SecretKey;
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_policy::Policy;
use reticent_release::{
    Exact, Grid, Noisy, PlannedStatistic, ReleasePlan, Released, Statistic, Totals,
};
use reticent_sources::mutation::{Mend, take_out};

/// Runs a future to its end, on a stack like that of a program's main thread: threads of tests have
/// a quarter of it.
pub(super) fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    wait_without(None, work)
}

/// The same with a mend taken out, on all threads that work for it.
pub(super) fn wait_without<T: Send>(mend: Option<Mend>, work: impl Future<Output = T> + Send) -> T {
    let run = || {
        take_out(mend);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder
            .enable_all()
            .on_thread_start(move || take_out(mend))
            .build()
            .expect("a runtime")
            .block_on(work)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(8 << 20)
            .spawn_scoped(scope, run)
            .expect("a thread");
        thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// Choices of a test, the same each time.
pub(super) struct Draw(SeededRandom);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Draw(SeededRandom::new(seed))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64().expect("a seeded generator does not fail") % bound as u64) as usize
    }

    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    pub(super) fn key(&mut self) -> SecretKey {
        SecretKey::draw(&mut self.0).expect("a seeded generator does not fail")
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// The value at a rank, between two values on the line that joins them: what `PERCENTILE_CONT`
/// means.
fn quantile(values: &[(i64, u64)], grid: &Grid, point: f64) -> f64 {
    let count: u64 = values.iter().map(|(_, times)| times).sum();
    let at = |rank: u64| {
        let mut passed = 0;
        let found = values.iter().find(|(_, times)| {
            passed += times;
            rank < passed
        });
        found.map_or(grid.centre, |(step, _)| grid.value(*step))
    };
    let rank = count.saturating_sub(1) as f64 * point;
    let (below, above) = (at(rank.floor() as u64), at(rank.ceil() as u64));
    below + (above - below) * rank.fract()
}

/// The exact totals as if they had been released, with every group shown.
pub(super) fn without_noise(plan: &ReleasePlan, exact: &Exact) -> Released {
    let noisy =
        |(planned, totals): (&PlannedStatistic, &Totals)| match (planned.statistic(), totals) {
            (Statistic::Quantiles { grid, points, .. }, Totals::Values(groups)) => {
                Noisy::Quantiles(
                    groups
                        .iter()
                        .map(|group| {
                            points.iter().map(|&point| quantile(group, grid, point)).collect()
                        })
                        .collect(),
                )
            }
            (_, Totals::Integers(steps)) => {
                Noisy::Numbers { steps: steps.clone(), step: planned.step() }
            }
            (_, Totals::Values(_)) => Noisy::Quantiles(Vec::new()),
        };
    let statistics = plan.statistics().iter().zip(&exact.totals).map(noisy).collect();
    Released { kept: (0..exact.units.len()).collect(), statistics }
}

/// The keys of the groups and the exact totals of a query over the tables of `policy`, which may be
/// another than the one it was prepared under.
pub(super) async fn totals(
    prepared: &Prepared,
    policy: &Policy,
    key: SecretKey,
) -> Result<(RecordBatch, Exact), QueryError> {
    let totals = prepared.open(policy).await?.totals(key, |_| ()).await?;
    Ok((totals.keys, totals.exact))
}

/// The answer that a query would have without noise.
pub(super) async fn exact_answer(
    policy: &Policy,
    sql: &str,
    key: SecretKey,
) -> Result<(Prepared, Answer), QueryError> {
    let prepared = prepare(policy, sql, Options::default()).await?;
    let (keys, exact) = totals(&prepared, policy, key).await?;
    let answer = prepared.finish(&keys, &without_noise(&prepared.plan, &exact)).await?;
    Ok((prepared, answer))
}

/// A random query, ready to run. The planner names columns by their expressions without casts, and
/// refuses two of one name; such a query is left out.
pub(super) async fn prepared<'a>(
    tables: impl Into<TableSources<'a>>,
    sql: &str,
    options: Options,
) -> Option<Prepared> {
    match prepare(tables, sql, options).await {
        Err(error) if error.to_string().contains("duplicate") => None,
        refused => Some(refused.expect(sql)),
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Number(f64),
    Text(String),
}

/// The rows of a table.
pub(super) fn cells(table: &RecordBatch) -> Vec<Vec<Cell>> {
    let mut rows = vec![Vec::new(); table.num_rows()];
    for column in table.columns() {
        if column.data_type().is_numeric() {
            let numbers = cast(column, &DataType::Float64).expect("a number is a float");
            for (row, number) in rows.iter_mut().zip(numbers.as_primitive::<Float64Type>().iter()) {
                row.push(number.map_or(Cell::Null, Cell::Number));
            }
        } else {
            let text = ArrayFormatter::try_new(column, &FormatOptions::new())
                .expect("a column that can be shown");
            for (index, row) in rows.iter_mut().enumerate() {
                let cell = if column.is_null(index) {
                    Cell::Null
                } else {
                    Cell::Text(text.value(index).to_string())
                };
                row.push(cell);
            }
        }
    }
    rows
}
