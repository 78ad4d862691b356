//! A source as a table of the engine: the one place where rows come in, behind a wall. Neither the
//! text of an error nor a panic of a file library gets through.
//!
//! A source is told which columns are wanted, and nothing else: no condition, no limit. Statistics
//! of a file, which could spare some rows, are sums over the rows of many people: what they leave
//! out (NaN) or cut off (long texts) would let one person's row decide whether somebody else's is
//! read.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result as EngineResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use reticent_sources::{Share, Source, SourceError};

/// The rows of a source, as a table of the engine.
#[derive(Debug)]
pub struct SourceTable {
    name: Arc<str>,
    source: Arc<dyn Source>,
}

impl SourceTable {
    /// A table of this name.
    #[must_use]
    pub fn new(name: &str, source: Arc<dyn Source>) -> SourceTable {
        SourceTable { name: name.into(), source }
    }

    /// The error of a source that the engine reports, if that is what it is. Every other text of
    /// the engine can quote a cell and must not be shown.
    #[must_use]
    pub fn error_in(error: &DataFusionError) -> Option<SourceError> {
        match error.find_root() {
            DataFusionError::External(ours) => ours.downcast_ref::<SourceError>().cloned(),
            _ => None,
        }
    }
}

fn told(error: SourceError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[async_trait]
impl TableProvider for SourceTable {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// All rows. Each share is read by a thread of its own.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let all = self.source.schema();
        let columns: Vec<usize> =
            projection.cloned().unwrap_or_else(|| (0..all.fields().len()).collect());
        let schema = Arc::new(all.project(&columns)?);
        let shares =
            self.source.shares(&columns, state.config().target_partitions()).map_err(told)?;
        if shares.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let partition = |share| -> Arc<dyn PartitionStream> {
            let (table, schema) = (Arc::clone(&self.name), Arc::clone(&schema));
            Arc::new(Partition { table, schema, share })
        };
        let partitions = shares.into_iter().map(partition).collect();
        let schema = Arc::clone(&schema);
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, [], false, None)?))
    }
}

/// What one thread reads.
#[derive(Debug)]
struct Partition {
    table: Arc<str>,
    schema: SchemaRef,
    share: Arc<dyn Share>,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Two pieces are read ahead.
    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = stream.tx();
        let (table, share) = (Arc::clone(&self.table), Arc::clone(&self.share));
        let batch_rows = context.session_config().batch_size().max(1);
        let read = move || -> Result<(), SourceError> {
            for batch in share.rows(batch_rows)? {
                let batch = batch?;
                for start in (0..batch.num_rows()).step_by(batch_rows) {
                    let piece = batch.slice(start, batch_rows.min(batch.num_rows() - start));
                    // Whoever asked may have seen enough.
                    if sender.blocking_send(Ok(piece)).is_err() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        stream.spawn_blocking(move || match catch_unwind(AssertUnwindSafe(read)) {
            Ok(outcome) => outcome.map_err(told),
            // The file libraries assert what a damaged file breaks.
            Err(_) => Err(told(SourceError::Scan {
                table: table.to_string(),
                reason: "a file is damaged",
            })),
        });
        stream.build()
    }
}
