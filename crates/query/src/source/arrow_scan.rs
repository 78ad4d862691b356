//! Reading Arrow files for a query, batch by batch, each share of them on a thread of its own.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{Result as EngineResult, ScalarValue};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use super::arrow_file::{ArrowBatches, ArrowFile, bytes_of};
use super::data_file::DataFile;
use super::error::SourceError;

/// Batches of one file, and what is wanted of them.
#[derive(Clone, Debug)]
pub(super) struct ArrowShare {
    pub(super) data: DataFile,
    /// How many batches the file had when the table was opened.
    pub(super) of: usize,
    /// Those of this share.
    pub(super) batches: Range<usize>,
    /// For each column of the scan the value that all rows have, if the names of folders say it.
    pub(super) values: Vec<Option<ScalarValue>>,
}

/// The columns of a schema, in the types in which the files have them, but texts as bytes.
pub(super) fn arrow_scan(
    schema: &SchemaRef,
    files: Vec<ArrowShare>,
    partitions: usize,
    limit: Option<usize>,
) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let partition =
        |shares| Arc::new(ArrowPartition { schema: Arc::clone(schema), shares }) as Arc<dyn PartitionStream>;
    let partitions: Vec<_> = divided(files, partitions).into_iter().map(partition).collect();
    if partitions.is_empty() {
        return Ok(Arc::new(EmptyExec::new(Arc::clone(schema))));
    }
    Ok(Arc::new(StreamingTableExec::try_new(Arc::clone(schema), partitions, None, [], false, limit)?))
}

/// Equal numbers of batches for at most so many threads.
fn divided(files: Vec<ArrowShare>, partitions: usize) -> Vec<Vec<ArrowShare>> {
    let total: usize = files.iter().map(|file| file.batches.len()).sum();
    let fair = total.div_ceil(partitions.max(1)).max(1);
    let mut all: Vec<Vec<ArrowShare>> = Vec::new();
    let mut room = 0;
    for mut file in files {
        while !file.batches.is_empty() {
            if room == 0 {
                all.push(Vec::new());
                room = fair;
            }
            let end = file.batches.end.min(file.batches.start + room);
            let batches = file.batches.start..end;
            room -= batches.len();
            file.batches.start = end;
            if let Some(last) = all.last_mut() {
                last.push(ArrowShare { batches, ..file.clone() });
            }
        }
    }
    all
}

/// Batches that are read one after the other.
#[derive(Debug)]
struct ArrowPartition {
    schema: SchemaRef,
    shares: Vec<ArrowShare>,
}

impl PartitionStream for ArrowPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Two pieces of a batch are read ahead.
    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = stream.tx();
        let (schema, shares) = (Arc::clone(&self.schema), self.shares.clone());
        let most_rows = context.session_config().batch_size().max(1);
        stream.spawn_blocking(move || {
            for share in shares {
                let mut batches = share.open(&schema)?;
                while let Some(batch) = batches.next()? {
                    let batch = share.complete(&batch, &schema)?;
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
        });
        stream.build()
    }
}

impl ArrowShare {
    /// Opens the file again: it must be what it was.
    fn open(&self, schema: &SchemaRef) -> Result<ArrowBatches, SourceError> {
        let changed = || SourceError::Changed { path: self.data.shown().to_owned() };
        let file = ArrowFile::open(&self.data)?;
        if file.batches() != self.of {
            return Err(changed());
        }
        let mut positions = Vec::new();
        for (field, _) in schema.fields().iter().zip(&self.values).filter(|(_, value)| value.is_none()) {
            let (position, found) = file.schema().column_with_name(field.name()).ok_or_else(changed)?;
            if bytes_of(found.data_type()) != *field.data_type() {
                return Err(changed());
            }
            positions.push(position);
        }
        Ok(file.read(&positions, self.batches.clone()))
    }

    /// The columns of the file with those of its folders between them.
    fn complete(&self, batch: &RecordBatch, schema: &SchemaRef) -> EngineResult<RecordBatch> {
        let mut read = batch.columns().iter().cloned();
        let mut columns = Vec::with_capacity(self.values.len());
        for value in &self.values {
            columns.push(match value {
                Some(value) => value.to_array_of_size(batch.num_rows())?,
                None => match read.next() {
                    Some(column) => column,
                    None => return datafusion::common::internal_err!("a column was not read"),
                },
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::data_file::Way;
    use super::*;

    #[test]
    fn batches_are_divided_evenly_and_each_is_read_once() {
        for counts in [vec![], vec![0, 0], vec![1], vec![7], vec![3, 0, 5, 1, 1], vec![1; 9]] {
            for partitions in [0, 1, 2, 3, 20] {
                let file = |(number, count): (usize, &usize)| ArrowShare {
                    data: DataFile::new(number.to_string().into(), Way::named(Path::new(""), Path::new("x"))),
                    of: *count,
                    batches: 0..*count,
                    values: vec![],
                };
                let parts = divided(counts.iter().enumerate().map(file).collect(), partitions);
                let total: usize = counts.iter().sum();
                let fair = total.div_ceil(partitions.max(1));
                assert!(parts.len() <= partitions.max(1), "{counts:?} in {partitions}");
                assert!(
                    parts.iter().all(|part| (1..=fair).contains(&part.iter().map(|share| share.batches.len()).sum()))
                );
                let mut read: Vec<(String, usize)> = Vec::new();
                for share in parts.iter().flatten() {
                    read.extend(share.batches.clone().map(|batch| (share.data.path().display().to_string(), batch)));
                }
                let all = counts
                    .iter()
                    .enumerate()
                    .flat_map(|(file, count)| (0..*count).map(move |batch| (file.to_string(), batch)));
                assert_eq!(read, all.collect::<Vec<_>>(), "{counts:?} in {partitions}");
            }
        }
    }
}
