//! A table of CSV files: only the columns that a query needs are read as values.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use reticent_policy::{ColumnType, CsvOptions, TablePolicy};

use super::csv_reader::{Next, Records};
use super::error::{SourceError, listed};
use super::field;

/// A table of CSV files, each read as a stream.
#[derive(Debug)]
pub(super) struct CsvTable {
    schema: SchemaRef,
    columns: Vec<(String, ColumnType)>,
    options: CsvOptions,
    files: Vec<PathBuf>,
}

impl CsvTable {
    /// Checks that every file has the declared columns. A file of no bytes is a table without rows.
    pub(super) fn open(table: &TablePolicy, files: Vec<PathBuf>) -> Result<CsvTable, SourceError> {
        let columns: Vec<(String, ColumnType)> =
            table.columns().iter().map(|column| (column.name().to_owned(), column.kind())).collect();
        let options = table.csv().clone();
        for path in &files {
            let mut records = Records::open(path, &options)?;
            if options.header.is_none()
                && let Some(header) = records.header()?
            {
                check_header(table.name(), &columns, &header, path)?;
            }
        }
        Ok(CsvTable { schema: super::engine_schema(table), columns, options, files })
    }
}

fn check_header(
    table: &str,
    columns: &[(String, ColumnType)],
    header: &[String],
    path: &Path,
) -> Result<(), SourceError> {
    for (name, _) in columns {
        let (table, column, path) = (table.to_owned(), name.clone(), path.to_owned());
        match header.iter().filter(|found| *found == name).count() {
            1 => {}
            0 => return Err(SourceError::MissingColumn { table, column, path, available: listed(header) }),
            _ => return Err(SourceError::RepeatedColumn { table, column, path }),
        }
    }
    Ok(())
}

#[async_trait]
impl TableProvider for CsvTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let indices: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..self.columns.len()).collect());
        let schema = Arc::new(self.schema.project(&indices)?);
        let columns: Arc<[(String, ColumnType)]> = indices.iter().map(|index| self.columns[*index].clone()).collect();
        let share = self.files.len().div_ceil(state.config().target_partitions().max(1)).max(1);
        let partitions = self.files.chunks(share).map(|files| {
            Arc::new(CsvPartition {
                schema: Arc::clone(&schema),
                columns: Arc::clone(&columns),
                options: self.options.clone(),
                files: files.to_vec(),
            }) as Arc<dyn PartitionStream>
        });
        let partitions = partitions.collect();
        Ok(Arc::new(StreamingTableExec::try_new(Arc::clone(&schema), partitions, None, [], false, limit)?))
    }
}

/// Files that are read one after the other.
#[derive(Debug)]
struct CsvPartition {
    schema: SchemaRef,
    columns: Arc<[(String, ColumnType)]>,
    options: CsvOptions,
    files: Vec<PathBuf>,
}

impl PartitionStream for CsvPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads on a thread of its own, two batches ahead.
    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = stream.tx();
        let (schema, columns) = (Arc::clone(&self.schema), Arc::clone(&self.columns));
        let (options, files) = (self.options.clone(), self.files.clone());
        let most_rows = context.session_config().batch_size().max(1);
        stream.spawn_blocking(move || {
            for path in files {
                let mut scan = match CsvScan::open(&path, &options, &columns)? {
                    Some(scan) => scan,
                    None => continue,
                };
                while let Some(batch) = scan.next_batch(&schema, most_rows)? {
                    // Whoever asked may have seen enough.
                    if sender.blocking_send(Ok(batch)).is_err() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        stream.build()
    }
}

/// The most bytes of text in one batch, more or less: batches of long texts have fewer rows.
const BATCH_BYTES: usize = 16 << 20;

/// The wanted columns of one file, in batches.
struct CsvScan {
    records: Records,
    /// For each field of a record, the column that wants it; fields after these are wanted by none.
    wanted: Vec<Option<usize>>,
    columns: Vec<ColumnBuilder>,
}

impl CsvScan {
    /// None for an empty file.
    fn open(
        path: &Path,
        options: &CsvOptions,
        columns: &[(String, ColumnType)],
    ) -> Result<Option<CsvScan>, SourceError> {
        let mut records = Records::open(path, options)?;
        let header = match &options.header {
            Some(names) => names.clone(),
            None => match records.header()? {
                Some(names) => names,
                None => return Ok(None),
            },
        };
        let mut wanted = Vec::new();
        for (index, (name, _)) in columns.iter().enumerate() {
            let Some(position) = header.iter().position(|found| found == name) else {
                return Err(SourceError::Changed { path: records.path().to_owned() });
            };
            if wanted.len() <= position {
                wanted.resize(position + 1, None);
            }
            wanted[position] = Some(index);
        }
        let columns = columns.iter().map(|(_, kind)| ColumnBuilder::new(*kind)).collect();
        Ok(Some(CsvScan { records, wanted, columns }))
    }

    fn next_batch(&mut self, schema: &SchemaRef, most_rows: usize) -> EngineResult<Option<RecordBatch>> {
        let (mut rows, mut bytes) = (0, 0);
        while rows < most_rows && bytes < BATCH_BYTES {
            match self.next_row()? {
                None => break,
                Some(length) => bytes += length,
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?))
    }

    /// Reads one record; its length in bytes, or none at the end of the file. Fields that are missing are NULL, fields too many are left out.
    fn next_row(&mut self) -> Result<Option<usize>, SourceError> {
        let (mut position, mut bytes) = (0, 0);
        loop {
            let column = self.wanted.get(position).copied().flatten();
            match self.records.next(column.is_some())? {
                // The parser ends a last line without a line break as a record of its own.
                Next::End => return Ok(None),
                Next::Field(value, last) => {
                    if let Some(column) = column {
                        self.columns[column].append(value);
                        bytes += value.len();
                    }
                    position += 1;
                    if last {
                        break;
                    }
                }
            }
        }
        for column in self.wanted[position.min(self.wanted.len())..].iter().copied().flatten() {
            self.columns[column].append(b"");
        }
        Ok(Some(bytes))
    }
}

/// The values of one column on their way to the engine.
enum ColumnBuilder {
    Integer(Int64Builder),
    Real(Float64Builder),
    Text(StringViewBuilder),
    Boolean(BooleanBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl ColumnBuilder {
    fn new(kind: ColumnType) -> ColumnBuilder {
        match kind {
            ColumnType::Integer => ColumnBuilder::Integer(Int64Builder::new()),
            ColumnType::Real => ColumnBuilder::Real(Float64Builder::new()),
            ColumnType::Text => ColumnBuilder::Text(StringViewBuilder::new()),
            ColumnType::Boolean => ColumnBuilder::Boolean(BooleanBuilder::new()),
            ColumnType::Date => ColumnBuilder::Date(Date32Builder::new()),
            ColumnType::Timestamp => ColumnBuilder::Timestamp(TimestampMicrosecondBuilder::new()),
        }
    }

    /// A field's value; an empty field is NULL, with quotation marks or without.
    fn append(&mut self, bytes: &[u8]) {
        match self {
            ColumnBuilder::Integer(builder) => builder.append_option(field::integer(bytes)),
            ColumnBuilder::Real(builder) => builder.append_option(field::real(bytes)),
            ColumnBuilder::Text(builder) if bytes.is_empty() => builder.append_null(),
            ColumnBuilder::Text(builder) => builder.append_value(field::text(bytes)),
            ColumnBuilder::Boolean(builder) => builder.append_option(field::boolean(bytes)),
            ColumnBuilder::Date(builder) => builder.append_option(field::date(bytes)),
            ColumnBuilder::Timestamp(builder) => builder.append_option(field::timestamp(bytes)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Integer(builder) => ArrayBuilder::finish(builder),
            ColumnBuilder::Real(builder) => ArrayBuilder::finish(builder),
            ColumnBuilder::Text(builder) => ArrayBuilder::finish(builder),
            ColumnBuilder::Boolean(builder) => ArrayBuilder::finish(builder),
            ColumnBuilder::Date(builder) => ArrayBuilder::finish(builder),
            ColumnBuilder::Timestamp(builder) => ArrayBuilder::finish(builder),
        }
    }
}
