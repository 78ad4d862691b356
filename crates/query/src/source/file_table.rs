//! A table of Parquet or Arrow files, with the declared columns in the engine's types.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result as EngineResult, ScalarValue};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use reticent_policy::{ColumnType, Format, TablePolicy};

use super::conversion::{accepts, convert, kinds};
use super::data_file::DataFile;
use super::error::SourceError;
use super::origins::{Origin, Origins};
use super::scan::{Batches, Share, scan};
use super::typed_file::{TypedFile, witness};

/// A table of Parquet or Arrow files.
#[derive(Debug)]
pub(super) struct FileTable {
    name: Arc<str>,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    format: Format,
    files: Vec<Pieces>,
}

/// Pieces of one file.
#[derive(Clone, Debug)]
struct Pieces {
    data: DataFile,
    /// How many the file had when the table was opened.
    of: usize,
    /// Those of this share.
    range: Range<usize>,
    /// For each column the value that all rows have, if the names of folders say it.
    values: Vec<Option<ScalarValue>>,
}

impl FileTable {
    /// Checks the columns of every file against the policy.
    pub(super) fn open(table: &TablePolicy, format: Format, files: &[DataFile]) -> Result<FileTable, SourceError> {
        let origins = Origins::new(table, files);
        let mut shares = Vec::with_capacity(files.len());
        for data in files {
            let file = TypedFile::open(data, format)?;
            let fields = file.schema().fields();
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            let mut values = Vec::new();
            for (column, origin) in table.columns().iter().zip(origins.of(data, &names)?) {
                values.push(match origin {
                    Origin::Folder(value) => Some(value),
                    Origin::File(place) => {
                        check_type(table, column, fields[place].data_type(), data)?;
                        None
                    }
                });
            }
            if witness(file.schema()).is_none() {
                return Err(SourceError::NoColumns { path: data.shown().to_owned() });
            }
            let of = file.pieces();
            shares.push(Pieces { data: data.clone(), of, range: 0..of, values });
        }
        Ok(FileTable {
            name: table.name().into(),
            schema: super::engine_schema(table),
            kinds: table.columns().iter().map(|column| column.kind()).collect(),
            format,
            files: shares,
        })
    }
}

fn check_type(
    table: &TablePolicy,
    column: &reticent_policy::Column,
    found: &DataType,
    data: &DataFile,
) -> Result<(), SourceError> {
    if accepts(found, column.kind()) {
        return Ok(());
    }
    let fitting: Vec<&str> = kinds(found).map(ColumnType::name).collect();
    let hint = if fitting.is_empty() {
        "no declaration fits this type; leave the column out, or write it in another way".to_owned()
    } else {
        format!("declare it as {}", fitting.join(" or "))
    };
    Err(SourceError::ColumnType {
        table: table.name().to_owned(),
        column: column.name().to_owned(),
        path: data.shown().to_owned(),
        problem: format!("the type {found}, which is not read as {}; {hint}", column.kind()),
    })
}

#[async_trait]
impl TableProvider for FileTable {
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
        _limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let wanted: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..self.kinds.len()).collect());
        let kinds: Arc<[ColumnType]> = wanted.iter().map(|column| self.kinds[*column]).collect();
        let share = |pieces: Pieces| FileShare {
            format: self.format,
            kinds: Arc::clone(&kinds),
            pieces: Pieces { values: wanted.iter().map(|column| pieces.values[*column].clone()).collect(), ..pieces },
        };
        let shares = divided(self.files.clone(), state.config().target_partitions());
        let shares = shares.into_iter().map(|pieces| pieces.into_iter().map(share).collect());
        scan(&self.name, &Arc::new(self.schema.project(&wanted)?), shares.collect())
    }
}

/// Equal numbers of pieces for at most so many threads.
fn divided(files: Vec<Pieces>, threads: usize) -> Vec<Vec<Pieces>> {
    let total: usize = files.iter().map(|file| file.range.len()).sum();
    let fair = total.div_ceil(threads.max(1)).max(1);
    let mut all: Vec<Vec<Pieces>> = Vec::new();
    let mut room = 0;
    for mut file in files {
        while !file.range.is_empty() {
            if room == 0 {
                all.push(Vec::new());
                room = fair;
            }
            let end = file.range.end.min(file.range.start + room);
            let range = file.range.start..end;
            room -= range.len();
            file.range.start = end;
            if let Some(last) = all.last_mut() {
                last.push(Pieces { range, ..file.clone() });
            }
        }
    }
    all
}

/// Pieces of one file, and what is wanted of them.
#[derive(Clone, Debug)]
struct FileShare {
    format: Format,
    kinds: Arc<[ColumnType]>,
    pieces: Pieces,
}

impl Share for FileShare {
    /// Opens the file again: it must be what it was.
    fn rows(&self, schema: &SchemaRef, most_rows: usize) -> EngineResult<Batches> {
        let changed = || SourceError::Changed { path: self.pieces.data.shown().to_owned() };
        let file = TypedFile::open(&self.pieces.data, self.format)?;
        if file.pieces() != self.pieces.of || witness(file.schema()).is_none() {
            return Err(changed().into());
        }
        let mut positions = Vec::new();
        for ((field, kind), value) in schema.fields().iter().zip(self.kinds.iter()).zip(&self.pieces.values) {
            if value.is_none() {
                let (position, found) = file.schema().column_with_name(field.name()).ok_or_else(changed)?;
                if !accepts(found.data_type(), *kind) {
                    return Err(changed().into());
                }
                positions.push(position);
            }
        }
        let (share, schema) = (self.clone(), Arc::clone(schema));
        let batches = file.read(&positions, self.pieces.range.clone(), most_rows);
        Ok(Box::new(batches.map(move |batch| share.converted(&batch?, &schema))))
    }
}

impl FileShare {
    /// The columns of the file in the engine's types, with those of its folders between them.
    fn converted(&self, batch: &RecordBatch, schema: &SchemaRef) -> EngineResult<RecordBatch> {
        let mut read = batch.columns().iter();
        let mut columns = Vec::with_capacity(self.kinds.len());
        for (kind, value) in self.kinds.iter().zip(&self.pieces.values) {
            columns.push(match value {
                Some(value) => value.to_array_of_size(batch.num_rows())?,
                None => match read.next() {
                    Some(column) => convert(column, *kind)?,
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
    fn pieces_are_divided_evenly_and_each_is_read_once() {
        for counts in [vec![], vec![0, 0], vec![1], vec![7], vec![3, 0, 5, 1, 1], vec![1; 9]] {
            for threads in [0, 1, 2, 3, 20] {
                let file = |(number, count): (usize, &usize)| Pieces {
                    data: DataFile::new(number.to_string().into(), Way::named(Path::new(""), Path::new("x"))),
                    of: *count,
                    range: 0..*count,
                    values: vec![],
                };
                let parts = divided(counts.iter().enumerate().map(file).collect(), threads);
                let total: usize = counts.iter().sum();
                let fair = total.div_ceil(threads.max(1));
                assert!(parts.len() <= threads.max(1), "{counts:?} in {threads}");
                let size = |part: &Vec<Pieces>| part.iter().map(|share| share.range.len()).sum::<usize>();
                assert!(parts.iter().all(|part| (1..=fair).contains(&size(part))));
                let mut read: Vec<(String, usize)> = Vec::new();
                for share in parts.iter().flatten() {
                    let name = share.data.path().display().to_string();
                    read.extend(share.range.clone().map(|piece| (name.clone(), piece)));
                }
                let of_file = |(file, count): (usize, &usize)| (0..*count).map(move |piece| (file.to_string(), piece));
                assert_eq!(read, counts.iter().enumerate().flat_map(of_file).collect::<Vec<_>>());
            }
        }
    }
}
