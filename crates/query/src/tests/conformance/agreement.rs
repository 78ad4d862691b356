//! With the noise off and limits that do not bind, answers are those of the plain engine over the
//! same rows.

use super::setting::{Setting, Stored};
use crate::tests::grammar::{Grammar, Kind, Query};
use crate::tests::noiseless::{Cell, Draw, cells, wait};
use crate::tests::tables::{World, regions};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use reticent_release::ReleasePlan;
use std::sync::Arc;

/// The plain engine over the same rows in memory.
fn plain_engine(world: &World) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(1);
    config.options_mut().sql_parser.parse_float_as_decimal = false;
    let context = SessionContext::new_with_config(config);
    let belonging = world.clone().with_people_only();
    for (name, table) in [
        ("people", belonging.people_batch()),
        ("visits", belonging.visits_batch()),
        ("records", belonging.records_batch()),
        ("regions", regions()),
    ] {
        let table = MemTable::try_new(table.schema(), vec![vec![table]]).expect("a table");
        context.register_table(name, Arc::new(table)).expect("registered");
    }
    context
}

async fn plain_answer(context: &SessionContext, sql: &str) -> Result<RecordBatch, DataFusionError> {
    let frame = context.sql(sql).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    Ok(concat_batches(&schema, &frame.collect().await?)?)
}

/// How far values that are moved to a grid may be from those that are not, over all rows: for sums,
/// and for sums of squares.
fn slack(plan: &ReleasePlan, rows: usize) -> (f64, f64) {
    let grids = plan.statistics().iter().filter_map(|planned| planned.statistic().grid());
    let steps = grids.map(|grid| (grid.step, grid.width()));
    steps.fold((0.0, 0.0), |(sums, squares), (step, width)| {
        (f64::max(sums, step * rows as f64), f64::max(squares, step + 1e-12 * width))
    })
}

fn agree(kind: Kind, ours: &Cell, theirs: &Cell, (sums, squares): (f64, f64)) -> bool {
    match (ours, theirs) {
        // The plain engine has no figure for a group without values; a release has one whatever the
        // group is.
        (_, Cell::Null) if kind != Kind::Key => true,
        (Cell::Number(a), Cell::Number(b)) => {
            let near = |a: f64, b: f64, more: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0) + more;
            match kind {
                Kind::Key => a == b,
                Kind::Number => near(*a, *b, sums),
                Kind::Variance => near(*a, *b, sums + squares),
                Kind::Deviation => near(a * a, b * b, sums + squares),
                Kind::Rank => near(*a, *b, 1.0),
                Kind::Quantile => near(*a, *b, sums + 1e-3),
            }
        }
        _ => ours == theirs,
    }
}

fn same_answer(
    query: &Query,
    ours: Vec<Vec<Cell>>,
    theirs: Vec<Vec<Cell>>,
    slack: (f64, f64),
) -> Result<(), String> {
    let keys = query.kinds.iter().filter(|kind| **kind == Kind::Key).count();
    let sorted = |mut rows: Vec<Vec<Cell>>| {
        if !query.ordered {
            rows.sort_by_key(|row| format!("{:?}", &row[..keys]));
        }
        rows
    };
    let (ours, theirs) = (sorted(ours), sorted(theirs));
    if ours.len() != theirs.len() {
        return Err(format!("{} rows for {}: {ours:?}\n{theirs:?}", ours.len(), theirs.len()));
    }
    for (one, other) in ours.iter().zip(&theirs) {
        for ((kind, a), b) in query.kinds.iter().zip(one).zip(other) {
            if !agree(*kind, a, b, slack) {
                return Err(format!("{kind:?}: {a:?} for {b:?} in {one:?} for {other:?}"));
            }
        }
    }
    Ok(())
}

async fn check(
    context: &SessionContext,
    stored: &Stored,
    query: &Query,
    rows: usize,
    draw: &mut Draw,
) -> Result<bool, String> {
    let Ok(theirs) = plain_answer(context, &query.sql).await else { return Ok(false) };
    let (prepared, answer) =
        stored.exact_answer(&query.sql, draw.key()).await.map_err(|error| error.to_string())?;
    let (sums, squares) = slack(&prepared.plan, rows);
    let slack = (if query.inexact { sums } else { 0.0 }, squares);
    same_answer(query, cells(&answer.table), cells(&theirs), slack)?;
    Ok(true)
}

pub(super) fn compare_many(setting: Setting, seed: u64, worlds: usize, queries: usize) {
    let mut draw = Draw::new(seed);
    let (mut compared, mut wrong) = (0, Vec::new());
    wait(async {
        for _ in 0..worlds {
            let rows = draw.of(&[0, 3, 60, 90]);
            let world = World::random(rows, 12, &mut draw);
            let stored = world.stored_in(setting, 64, 256);
            let context = plain_engine(&world);
            for _ in 0..queries {
                let query = Grammar::new(&mut draw).query();
                // A join with visits multiplies rows.
                match check(&context, &stored, &query, 40 * rows, &mut draw).await {
                    Ok(done) => compared += usize::from(done),
                    Err(message) => wrong.push(format!("{}\n  {message}", query.sql)),
                }
            }
        }
    });
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
    // What the plain engine cannot answer is compared with nothing: it must stay rare.
    assert!(
        compared * 20 >= worlds * queries * 19,
        "only {compared} of {} could be compared",
        worlds * queries
    );
}

/// The comparison above would notice a wrong figure.
#[test]
fn a_wrong_figure_would_be_noticed() {
    for (kind, ours, theirs) in [
        (Kind::Number, Cell::Number(10.0), Cell::Number(10.00001)),
        (Kind::Variance, Cell::Number(4.0), Cell::Number(4.001)),
        (Kind::Deviation, Cell::Number(2.0), Cell::Number(2.001)),
        (Kind::Rank, Cell::Number(2.0), Cell::Number(4.0)),
        (Kind::Quantile, Cell::Number(2.0), Cell::Number(2.125)),
        (Kind::Key, Cell::Text("a".into()), Cell::Null),
        (Kind::Number, Cell::Null, Cell::Number(0.0)),
    ] {
        assert!(!agree(kind, &ours, &theirs, (0.0, 1e-6)), "{kind:?}");
    }
}
