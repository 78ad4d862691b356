//! The answer: exact totals, noise, and the rest of the query over released figures.

use crate::error::QueryError;
use crate::figures::{Figure, figures};
use crate::prepare::Prepared;
use crate::sql::{RELEASED, released_schema};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use datafusion::arrow::compute::{cast, concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::collect;
use futures::FutureExt;
use reticent_engine::{
    Engine, EngineError, GroupKeys, GroupTotals, Layout, OpenQuery, SecretKey, Sources,
    TotalsQuery, tables_of, with_tables,
};
use reticent_noise::randomness::SecureRandom;
use reticent_release::{Noisy, Released};
use reticent_sources::TableSources;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// The answer to a query: a table, and how far off its figures may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the noise was added to, before anything was derived from it, in the order of the
    /// statistics and of the groups that are shown: for whoever goes on with the figures.
    pub released: Vec<Noisy>,
    /// The keys of the groups that are shown, in that order; a table without columns where there
    /// are no keys.
    pub groups: RecordBatch,
    /// The table that the query asked for.
    pub table: RecordBatch,
    /// For each column of the table the 95% half-width of each of its cells; none for what is not a
    /// noisy number.
    pub half_widths: Vec<Vec<Option<f64>>>,
}

/// What an error of the engine may tell where private rows are near: nothing.
pub(crate) fn closed(
    part: &'static str,
) -> impl Fn(datafusion::common::DataFusionError) -> QueryError {
    move |_| EngineError::Fault { part }.into()
}

/// A query whose tables are open: what can be wrong with files has been found, and no row has been
/// read.
#[derive(Debug)]
pub struct Opened<'a> {
    prepared: &'a Prepared,
    rows: Box<dyn OpenQuery>,
}

impl Opened<'_> {
    /// Runs the query: computes the exact totals, adds the noise that was planned, and computes the
    /// rest. `progress` is told how many rows were read.
    ///
    /// What it costs must have been paid before: everything is spent once a row has been read.
    ///
    /// # Errors
    /// [`QueryError::Interrupted`], whatever the cause, a panic among them: the error that is
    /// hidden could have been made of rows.
    pub async fn run(
        &self,
        random: &mut SecureRandom,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Answer, QueryError> {
        match AssertUnwindSafe(self.release(random, progress)).catch_unwind().await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(_) => Err(QueryError::Interrupted),
        }
    }

    async fn release(
        &self,
        random: &mut SecureRandom,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Answer, QueryError> {
        let key = SecretKey::draw(random)?;
        let GroupTotals { keys, exact } = self.totals(key, progress).await?;
        let released = self.prepared.plan.release(&exact, random)?;
        drop(exact);
        self.prepared.finish(&keys, &released).await
    }

    /// The exact totals of bounded contributions.
    pub(crate) async fn totals(
        &self,
        key: SecretKey,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<GroupTotals, QueryError> {
        Ok(self.rows.totals(key, Arc::new(progress)).await?)
    }
}

impl Prepared {
    /// Opens the private tables: the policy's files, or the sources that are given. Names and types
    /// of their columns are compared with the policy; no row is read.
    ///
    /// # Errors
    /// If a source cannot be opened.
    pub async fn open<'a>(
        &self,
        sources: impl Into<TableSources<'a>>,
    ) -> Result<Opened<'_>, QueryError> {
        self.open_in(&self.engine, sources).await
    }

    /// The same in another engine than the embedded one.
    ///
    /// # Errors
    /// If a source cannot be opened, or the engine does not take the query.
    pub async fn open_in<'a>(
        &self,
        engine: &dyn Engine,
        sources: impl Into<TableSources<'a>>,
    ) -> Result<Opened<'_>, QueryError> {
        let sources = self.sources(&sources.into())?;
        let rows = engine.open(&self.totals_query()?, sources).await?;
        Ok(Opened { prepared: self, rows })
    }

    /// The private tables that the query reads, open.
    pub(crate) fn sources(&self, tables: &TableSources<'_>) -> Result<Sources, QueryError> {
        private_sources(&self.aggregation.rows, tables)
    }

    /// What the engine is asked for.
    pub(crate) fn totals_query(&self) -> Result<TotalsQuery, QueryError> {
        let rows = self.aggregation.rows.clone();
        Ok(TotalsQuery { rows, layout: self.layout(), groups: self.group_keys()? })
    }

    fn layout(&self) -> Layout {
        let private = &self.aggregation;
        let first_key = usize::from(private.has_unit);
        let first_value = first_key + private.keys.len();
        let statistics = self.plan.statistics().iter();
        Layout {
            unit: private.has_unit.then_some(0),
            keys: (first_key..first_value).collect(),
            statistics: statistics.map(|planned| planned.statistic().clone()).collect(),
            max_groups: private.max_groups,
        }
    }

    /// All combinations of the keys' public values, the last key changing fastest.
    fn group_keys(&self) -> Result<GroupKeys, QueryError> {
        let keys = &self.aggregation.keys;
        let lists: Option<Vec<&Vec<ScalarValue>>> =
            keys.iter().map(|key| key.values.as_ref()).collect();
        let Some(lists) = lists else { return Ok(GroupKeys::Found) };
        let fault = closed("the list of public groups");
        let groups: usize = lists.iter().map(|list| list.len()).product();
        let mut repeat = groups;
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (key, list) in keys.iter().zip(lists) {
            repeat = repeat.checked_div(list.len()).unwrap_or(0);
            let values = ScalarValue::iter_to_array(list.iter().cloned()).map_err(&fault)?;
            let values = cast(&values, &key.engine_type).map_err(|error| fault(error.into()))?;
            let indices: UInt64Array = (0..groups)
                .map(|group| Some(((group / repeat.max(1)) % list.len()) as u64))
                .collect();
            columns.push(take(&values, &indices, None).map_err(|error| fault(error.into()))?);
            fields.push(Field::new(format!("key{}", fields.len()), key.engine_type.clone(), true));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(groups));
        let batch =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options);
        Ok(GroupKeys::Public(batch.map_err(|error| fault(error.into()))?))
    }

    /// The rest of the query over released figures.
    pub(crate) async fn finish(
        &self,
        keys: &RecordBatch,
        released: &Released,
    ) -> Result<Answer, QueryError> {
        let private = &self.aggregation;
        let columns = figures(&private.outputs, &self.plan, released);
        let kept = UInt64Array::from_iter_values(released.kept.iter().map(|&group| group as u64));
        let fault = closed("the table of released figures");
        let schema = Arc::new(released_schema(private));
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for column in keys.columns() {
            arrays.push(take(column, &kept, None).map_err(|error| fault(error.into()))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(released.kept.len()));
        let groups = RecordBatch::try_new_with_options(keys.schema(), arrays.clone(), &options)
            .map_err(|error| fault(error.into()))?;
        for (column, output) in columns.iter().zip(&private.outputs) {
            arrays.push(numbers(column, &output.data_type).map_err(|error| fault(error.into()))?);
        }
        for column in &columns {
            arrays.push(Arc::new(
                column.iter().map(|figure| figure.half_width).collect::<Float64Array>(),
            ));
        }
        let arrays: Vec<ArrayRef> = arrays
            .iter()
            .zip(schema.fields())
            .map(|(array, field)| cast(array, field.data_type()))
            .collect::<Result<_, _>>()
            .map_err(|error| fault(error.into()))?;
        let table = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
            .map_err(|error| fault(error.into()))?;
        let table: Arc<dyn TableProvider> =
            Arc::new(MemTable::try_new(schema, vec![vec![table]]).map_err(&fault)?);
        let filled = HashMap::from([(RELEASED.to_owned(), table)]);
        let after = with_tables(self.after.clone(), &filled)?;
        self.rest(&after, released, groups).await
    }

    async fn rest(
        &self,
        after: &LogicalPlan,
        released: &Released,
        groups: RecordBatch,
    ) -> Result<Answer, QueryError> {
        let fault = closed("the part of the query above its aggregates");
        let state = self.engine.context().state();
        let physical = state.create_physical_plan(after).await.map_err(&fault)?;
        let schema = physical.schema();
        let batches = collect(physical, state.task_ctx()).await.map_err(&fault)?;
        let whole = concat_batches(&schema, &batches).map_err(|error| fault(error.into()))?;
        let count = self.columns.len();
        let fields: Vec<Field> = self
            .columns
            .iter()
            .zip(schema.fields())
            .map(|(name, field)| Field::new(name, field.data_type().clone(), true))
            .collect();
        let values = whole.columns()[..count].to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(whole.num_rows()));
        let table =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), values, &options)
                .map_err(|error| fault(error.into()))?;
        let half_widths = whole.columns()[count..]
            .iter()
            .map(|column| column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
            .collect();
        Ok(Answer { released: released.statistics.clone(), groups, table, half_widths })
    }
}

/// The private tables that rows are made of, open.
pub(crate) fn private_sources(
    rows: &LogicalPlan,
    tables: &TableSources<'_>,
) -> Result<Sources, QueryError> {
    let mut sources = Sources::new();
    for name in tables_of(rows)? {
        let mut declared = tables.policy().tables().iter();
        // Public ones are in memory already.
        if let Some(table) = declared.find(|table| table.name() == name && !table.is_public()) {
            sources.insert(name, tables.open(table)?);
        }
    }
    Ok(sources)
}

/// Figures in the type of their column: counts and sums of integers are integers.
fn numbers(
    column: &[Figure],
    of: &DataType,
) -> Result<ArrayRef, datafusion::arrow::error::ArrowError> {
    let values: Float64Array = column
        .iter()
        .map(|figure| figure.value.map(|value| if of.is_integer() { value.round() } else { value }))
        .collect();
    cast(&(Arc::new(values) as ArrayRef), of)
}
