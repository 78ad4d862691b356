//! Reading files for a query, each share of them on a thread of its own, behind a wall: neither the
//! text of an error nor a panic of a file library gets through.
//!
//! A source is told which columns are wanted, and nothing else: no condition, no limit. It reads every
//! row of every file. Statistics of a file, which could spare some rows, are sums over the rows of many
//! people: what they leave out (NaN) or cut off (long texts) would let one person's row decide whether
//! somebody else's is read.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use super::error::SourceError;

/// Batches in the engine's types.
pub(super) type Batches = Box<dyn Iterator<Item = EngineResult<RecordBatch>>>;

/// A part of a table that is read in one piece.
pub(super) trait Share: Clone + Debug + Send + Sync + 'static {
    /// Its rows, with the columns of `schema`, in batches of about so many rows.
    fn rows(&self, schema: &SchemaRef, most_rows: usize) -> EngineResult<Batches>;
}

/// All rows of these shares. Each list of shares is read by one thread.
pub(super) fn scan(
    table: &Arc<str>,
    schema: &SchemaRef,
    shares: Vec<Vec<impl Share>>,
) -> EngineResult<Arc<dyn ExecutionPlan>> {
    if shares.is_empty() {
        return Ok(Arc::new(EmptyExec::new(Arc::clone(schema))));
    }
    let partitions = shares.into_iter().map(|shares| {
        let (table, schema) = (Arc::clone(table), Arc::clone(schema));
        Arc::new(Partition { table, schema, shares }) as Arc<dyn PartitionStream>
    });
    let partitions = partitions.collect();
    Ok(Arc::new(StreamingTableExec::try_new(Arc::clone(schema), partitions, None, [], false, None)?))
}

/// Shares that are read one after the other.
#[derive(Debug)]
struct Partition<S> {
    table: Arc<str>,
    schema: SchemaRef,
    shares: Vec<S>,
}

impl<S: Share> PartitionStream for Partition<S> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Two pieces are read ahead.
    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = stream.tx();
        let (table, schema, shares) = (Arc::clone(&self.table), Arc::clone(&self.schema), self.shares.clone());
        let most_rows = context.session_config().batch_size().max(1);
        let read = move || -> EngineResult<()> {
            for share in shares {
                for batch in share.rows(&schema, most_rows)? {
                    let batch = batch?;
                    for start in (0..batch.num_rows()).step_by(most_rows) {
                        let piece = batch.slice(start, most_rows.min(batch.num_rows() - start));
                        // Whoever asked may have seen enough.
                        if sender.blocking_send(Ok(piece)).is_err() {
                            return Ok(());
                        }
                    }
                }
            }
            Ok(())
        };
        stream.spawn_blocking(move || match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(SourceError::scan(&table, &error).into()),
            // The file libraries assert what a damaged file breaks.
            Err(_) => Err(SourceError::Scan { table: table.to_string(), reason: "a file is damaged" }.into()),
        });
        stream.build()
    }
}
