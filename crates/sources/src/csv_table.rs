//! A table of CSV files: only the columns that a query needs are read as values.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_policy::{Column, ColumnType, CsvOptions, TablePolicy};

use super::csv_reader::{Next, Records};
use super::data_file::{DataFile, repeated};
use super::error::{Failure, SourceError, listed};
use super::field;
use super::file_table::failed;
use super::origins::{Origin, Origins};
use super::source::{Batches, FileBatches, Share, Source};

/// A table of CSV files, each read as a stream.
#[derive(Debug)]
pub(super) struct CsvTable {
    name: Arc<str>,
    schema: SchemaRef,
    columns: Vec<(String, ColumnType)>,
    options: CsvOptions,
    /// Those that have at least a header.
    files: Vec<CsvFile>,
}

/// A file, and for each declared column the value that all its rows have, as an array of one, if
/// the names of folders say it.
#[derive(Clone, Debug)]
struct CsvFile {
    data: DataFile,
    values: Vec<Option<ArrayRef>>,
}

impl CsvTable {
    /// Checks that every file has the declared columns. A file of no bytes is a table without rows.
    pub(super) fn open(table: &TablePolicy, files: &[DataFile]) -> Result<CsvTable, SourceError> {
        let options = table.csv().clone();
        let origins = Origins::new(table, files);
        let mut readable = Vec::with_capacity(files.len());
        for data in files {
            let mut records = Records::open(data, &options)?;
            let header = match &options.header {
                Some(names) => Some(names.clone()),
                None => records.header()?,
            };
            let Some(header) = header else { continue };
            let names: Vec<&str> = header.iter().map(String::as_str).collect();
            let value = |origin| match origin {
                Origin::File(_) => None,
                Origin::Folder(value) => Some(value),
            };
            // A first line that should be a header may be a row: no name of it is quoted that the
            // policy does not have.
            let found = origins.of(data, &names).map_err(|error| match error {
                SourceError::MissingColumn { table: name, column, location, .. }
                    if options.header.is_none() =>
                {
                    let declared = table.columns().iter().map(Column::name);
                    let known: Vec<&str> = declared.filter(|name| names.contains(name)).collect();
                    if known.is_empty() {
                        return SourceError::NoHeader {
                            table: name,
                            path: data.shown().to_owned(),
                        };
                    }
                    let available = format!("{} of those declared", listed(&known));
                    SourceError::MissingColumn { table: name, column, location, available }
                }
                other => other,
            });
            let values = found?.into_iter().map(value).collect();
            readable.push(CsvFile { data: data.clone(), values });
        }
        Ok(CsvTable {
            name: table.name().into(),
            schema: super::engine_schema(table),
            columns: table
                .columns()
                .iter()
                .map(|column| (column.name().to_owned(), column.kind()))
                .collect(),
            options,
            files: readable,
        })
    }
}

impl Source for CsvTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn shares(
        &self,
        columns: &[usize],
        threads: usize,
    ) -> Result<Vec<Arc<dyn Share>>, SourceError> {
        let schema = super::projected(&self.schema, columns);
        let wanted: Arc<[(String, ColumnType)]> =
            columns.iter().map(|column| self.columns[*column].clone()).collect();
        let file = |file: &CsvFile| CsvFile {
            data: file.data.clone(),
            values: columns.iter().map(|column| file.values[*column].clone()).collect(),
        };
        let share = |files: &[CsvFile]| -> Arc<dyn Share> {
            Arc::new(CsvShare {
                table: Arc::clone(&self.name),
                schema: Arc::clone(&schema),
                columns: Arc::clone(&wanted),
                options: self.options.clone(),
                files: files.iter().map(file).collect(),
            })
        };
        let fair = self.files.len().div_ceil(threads.max(1)).max(1);
        Ok(self.files.chunks(fair).map(share).collect())
    }
}

/// Files, and what is wanted of them.
#[derive(Clone, Debug)]
struct CsvShare {
    table: Arc<str>,
    schema: SchemaRef,
    columns: Arc<[(String, ColumnType)]>,
    options: CsvOptions,
    files: Vec<CsvFile>,
}

impl Share for CsvShare {
    fn rows(&self, batch_rows: usize) -> Result<Batches, SourceError> {
        let share = self.clone();
        let rows = self.files.clone().into_iter().flat_map(move |file| {
            share.read(&file, batch_rows).unwrap_or_else(|error| failed(error.into()))
        });
        let table = Arc::clone(&self.table);
        Ok(Box::new(rows.map(move |batch| batch.map_err(|failure| failure.in_table(&table)))))
    }
}

impl CsvShare {
    fn read(&self, file: &CsvFile, batch_rows: usize) -> Result<FileBatches, SourceError> {
        let Some(mut scan) = CsvScan::open(file, &self.options, &self.columns)? else {
            return Ok(Box::new(std::iter::empty()));
        };
        let schema = Arc::clone(&self.schema);
        Ok(Box::new(std::iter::from_fn(move || scan.next_batch(&schema, batch_rows).transpose())))
    }
}

/// The most bytes of text in one batch, more or less: batches of long texts have fewer rows.
const BATCH_BYTES: usize = 16 << 20;

/// The wanted columns of one file, in batches.
struct CsvScan {
    records: Records,
    /// For each field of a record, the column that wants it; fields after these are wanted by none.
    wanted: Vec<Option<usize>>,
    columns: Vec<Values>,
}

/// The values of a column in one file.
enum Values {
    Read(ColumnBuilder),
    Same(ArrayRef),
}

impl CsvScan {
    /// None for an empty file.
    fn open(
        file: &CsvFile,
        options: &CsvOptions,
        columns: &[(String, ColumnType)],
    ) -> Result<Option<CsvScan>, SourceError> {
        let mut records = Records::open(&file.data, options)?;
        let header = match &options.header {
            Some(names) => names.clone(),
            None => match records.header()? {
                Some(names) => names,
                None => return Ok(None),
            },
        };
        let (mut wanted, mut values) = (Vec::new(), Vec::new());
        for (index, ((name, kind), same)) in columns.iter().zip(&file.values).enumerate() {
            if let Some(value) = same {
                values.push(Values::Same(value.clone()));
                continue;
            }
            let Some(position) = header.iter().position(|found| found == name) else {
                return Err(SourceError::Changed { path: file.data.shown().to_owned() });
            };
            if wanted.len() <= position {
                wanted.resize(position + 1, None);
            }
            wanted[position] = Some(index);
            values.push(Values::Read(ColumnBuilder::new(*kind)));
        }
        Ok(Some(CsvScan { records, wanted, columns: values }))
    }

    fn next_batch(
        &mut self,
        schema: &SchemaRef,
        most_rows: usize,
    ) -> Result<Option<RecordBatch>, Failure> {
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
        let columns = self.columns.iter_mut().map(|values| match values {
            Values::Read(builder) => Ok(builder.finish()),
            Values::Same(value) => repeated(value, rows),
        });
        let columns = columns.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?))
    }

    /// Reads one record; its length in bytes, or none at the end of the file. Fields that are
    /// missing are NULL, fields too many are left out.
    fn next_row(&mut self) -> Result<Option<usize>, SourceError> {
        let (mut position, mut bytes) = (0, 0);
        loop {
            let column = self.wanted.get(position).copied().flatten();
            match self.records.next(column.is_some())? {
                // The parser ends a last line without a line break as a record of its own.
                Next::End => return Ok(None),
                Next::Field(value, last) => {
                    if let Some(Values::Read(builder)) =
                        column.map(|column| &mut self.columns[column])
                    {
                        builder.append(value);
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
            if let Values::Read(builder) = &mut self.columns[column] {
                builder.append(b"");
            }
        }
        Ok(Some(bytes))
    }
}

/// The values of one column on their way to the engine.
pub(super) enum ColumnBuilder {
    Integer(Int64Builder),
    Real(Float64Builder),
    Text(StringViewBuilder),
    Boolean(BooleanBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl ColumnBuilder {
    pub(super) fn new(kind: ColumnType) -> ColumnBuilder {
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
    pub(super) fn append(&mut self, bytes: &[u8]) {
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

    pub(super) fn finish(&mut self) -> ArrayRef {
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
