//! Rows of files in the engine's types, behind a wall: neither an error's text nor a panic of a file library gets through, and conditions reach
//! the files only where that cannot change an answer.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result as EngineResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions};
use futures::StreamExt;
use reticent_policy::ColumnType;

use super::conversion::{convert, is_unchanged};
use super::error::SourceError;

/// An operator of the engine that converts each column of its input.
#[derive(Clone, Debug)]
pub(super) struct ConvertedRows {
    table: Arc<str>,
    input: Arc<dyn ExecutionPlan>,
    kinds: Arc<[ColumnType]>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl ConvertedRows {
    /// The columns of `input` have the names of `schema`, in the same order, and types that [`super::conversion::accepts`] accepted.
    pub(super) fn new(
        table: Arc<str>,
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        kinds: Arc<[ColumnType]>,
    ) -> ConvertedRows {
        let below = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            datafusion::physical_plan::Partitioning::UnknownPartitioning(below.output_partitioning().partition_count()),
            below.emission_type,
            below.boundedness,
        );
        ConvertedRows { table, input, kinds, schema, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ConvertedRows {
    fn fmt_as(&self, _: DisplayFormatType, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "ConvertedRows: table={}", self.table)
    }
}

impl ExecutionPlan for ConvertedRows {
    fn name(&self) -> &str {
        "ConvertedRows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(ConvertedRows::new(
                Arc::clone(&self.table),
                input,
                Arc::clone(&self.schema),
                Arc::clone(&self.kinds),
            ))),
            _ => datafusion::common::internal_err!("a conversion has one input"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(datafusion::physical_plan::ChildrenPropertiesMode::Recompute),
        )
    }

    /// A condition reaches the files, whose statistics may then rule out whole groups of rows, if all its columns are the engine's as they are.
    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> EngineResult<FilterDescription> {
        let below = self.input.schema();
        let unchanged = |index: &usize| is_unchanged(below.field(*index).data_type(), self.kinds[*index]);
        let indices = (0..self.kinds.len()).filter(unchanged).collect();
        let child = ChildFilterDescription::from_child_with_allowed_indices(&filters, indices, &self.input)?;
        Ok(FilterDescription::new().with_child(child))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        let table = Arc::clone(&self.table);
        let told = move |error: &DataFusionError| DataFusionError::from(SourceError::scan(&table, error));
        let rows = self.input.execute(partition, context).map_err(|error| told(&error))?;
        let (schema, kinds, table) = (Arc::clone(&self.schema), Arc::clone(&self.kinds), Arc::clone(&self.table));
        // The file libraries assert what a damaged file breaks.
        let converted = AssertUnwindSafe(rows).catch_unwind().map(move |batch| match batch {
            Ok(Ok(batch)) => converted(&batch, &schema, &kinds).map_err(|error| told(&error.into())),
            Ok(Err(error)) => Err(told(&error)),
            Err(_) => Err(SourceError::Scan { table: table.to_string(), reason: "a file is damaged" }.into()),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), converted)))
    }
}

fn converted(batch: &RecordBatch, schema: &SchemaRef, kinds: &[ColumnType]) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(kinds).map(|(column, kind)| convert(column, *kind));
    let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}
