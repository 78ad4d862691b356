//! What a query makes of tables: its rows before anything is bounded, bit by bit, its exact totals
//! and its answer.

use super::cell::Cell;
use super::layout::Layout;
use super::world::{Row, World};
use crate::error::QueryError;
use crate::tests::influence::bits;
use crate::tests::noiseless::without_noise;
use crate::{Options, Prepared, prepare};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::physical_plan::collect;
use futures::FutureExt;
use reticent_engine::SecretKey;
use reticent_policy::Policy;
use reticent_release::Exact;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::AssertUnwindSafe;
use tempfile::TempDir;

/// Tables in files.
pub(super) struct Stored {
    pub(super) world: World,
    pub(super) layout: Layout,
    _folder: TempDir,
    policy: Policy,
}

impl Stored {
    pub(super) fn new(world: World, layout: Layout) -> Stored {
        let tables = world.tables().map(|rows| layout.parts(rows));
        Stored::of_parts(world, tables, layout)
    }

    /// The tables without a person and a record. Everybody else's rows stay in their files.
    pub(super) fn without(world: &World, person: &Cell, record: usize, layout: Layout) -> Stored {
        let gone = layout.unit_of(person, world.unit);
        let unit_of = |row: &Row| layout.unit_of(&row[0], world.unit);
        let [mut people, mut visits, mut records] = world.tables().map(|rows| layout.parts(rows));
        people
            .iter_mut()
            .chain(&mut visits)
            .for_each(|part| part.retain(|row| unit_of(row) != gone));
        let mut number = 0..;
        records.iter_mut().for_each(|part| part.retain(|_| number.next() != Some(record)));
        let left = World {
            unit: world.unit,
            people: people.concat(),
            visits: visits.concat(),
            records: records.concat(),
        };
        Stored::of_parts(left, [people, visits, records], layout)
    }

    fn of_parts(world: World, tables: [Vec<Vec<Row>>; 3], layout: Layout) -> Stored {
        let (folder, policy) = layout.stored(world.unit, tables);
        Stored { world, layout, _folder: folder, policy }
    }

    /// The query, planned; none if it is refused. Which rows there are plays no part in that.
    pub(super) async fn prepared(
        &self,
        sql: &str,
        options: Options,
    ) -> Result<Prepared, QueryError> {
        prepare(&self.policy, sql, options).await
    }
}

/// A row before contributions are bounded: its unit, and the bits of its keys and values.
pub(super) type Contribution = (Option<String>, Vec<u8>);

/// What came of a query.
#[derive(Debug)]
pub(super) struct Outcome {
    /// In ascending order.
    pub(super) rows: Vec<Contribution>,
    pub(super) totals: Option<(RecordBatch, Exact)>,
    /// The names and types of the columns of the answer, and how many rows it has.
    pub(super) answer: Option<(Vec<(String, DataType)>, usize)>,
}

/// Runs a query over tables. `whole` is whether totals and the answer are wanted too.
///
/// # Errors
/// What went wrong: nothing may, since nothing is wrong with the files.
pub(super) async fn outcome(
    prepared: &Prepared,
    stored: &Stored,
    key: SecretKey,
    whole: bool,
) -> Result<Outcome, String> {
    {
        let state = prepared.engine.context().state_ref();
        let mut state = state.write();
        let config = state.config_mut();
        let (batch, partitions) = (stored.layout.batch, stored.layout.partitions);
        *config = config.clone().with_batch_size(batch).with_target_partitions(partitions);
    }
    let work = async {
        let opening = |error: QueryError| said("opening", &error);
        let sources = prepared.sources(&(&stored.policy).into()).map_err(opening)?;
        let query = prepared.totals_query().map_err(opening)?;
        let rows = prepared.engine.plan_rows(&query, sources).await;
        let rows = rows.map_err(|error| opening(error.into()))?;
        let context = prepared.engine.context().task_ctx();
        let batches = collect(rows, context).await.map_err(|error| {
            format!("rows: {}", error.strip_backtrace().chars().take(300).collect::<String>())
        })?;
        let mut rows = Vec::new();
        for batch in &batches {
            append(prepared.aggregation.has_unit, batch, &mut rows);
        }
        rows.sort_unstable();
        let mut found = Outcome { rows, totals: None, answer: None };
        if whole {
            // A physical plan is for one run.
            let opened =
                prepared.open(&stored.policy).await.map_err(|error| said("opening", &error))?;
            let totals =
                opened.totals(key, |_| ()).await.map_err(|error| said("totals", &error))?;
            let released = without_noise(&prepared.plan, &totals.exact);
            let answer = prepared
                .finish(&totals.keys, &released)
                .await
                .map_err(|error| said("the rest", &error))?;
            let fields = answer.table.schema();
            let columns = fields
                .fields()
                .iter()
                .map(|field| (field.name().clone(), field.data_type().clone()));
            found.answer = Some((columns.collect(), answer.table.num_rows()));
            found.totals = Some((totals.keys, totals.exact));
        }
        Ok::<Outcome, String>(found)
    };
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err("panicked".to_owned()))
}

fn said(step: &str, error: &QueryError) -> String {
    format!("{step}: {error}")
}

fn append(has_unit: bool, batch: &RecordBatch, rows: &mut Vec<Contribution>) {
    for row in 0..batch.num_rows() {
        let unit =
            has_unit.then(|| batch.column(0)).filter(|column| !column.is_null(row)).map(|column| {
                match column.data_type() {
                    DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
                    DataType::Utf8View => column.as_string_view().value(row).to_owned(),
                    _ => format!("{:?}", ScalarValue::try_from_array(column, row)),
                }
            });
        let mut all = Vec::new();
        for column in &batch.columns()[usize::from(has_unit)..] {
            let start = all.len();
            bits(column, row, &mut all);
            // Of a long text the beginning and a hash.
            if all.len() - start > 200 {
                let mut hasher = DefaultHasher::new();
                all[start..].hash(&mut hasher);
                all.truncate(start + 40);
                all.extend(hasher.finish().to_le_bytes());
            }
        }
        rows.push((unit, all));
    }
}
