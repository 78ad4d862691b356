//! A table of Parquet or Arrow files, with the declared columns in the engine's types.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_policy::{ColumnType, TablePolicy};

use super::conversion::{accepts, convert};
use super::data_file::{DataFile, repeated};
use super::error::{Failure, SourceError};
use super::origins::{Origin, Origins, check_type};
use super::source::{Batches, FileBatches, Share, Source};
use super::typed_file::{TypedFile, TypedFormat, witness};

/// A table of Parquet or Arrow files.
#[derive(Debug)]
pub(super) struct FileTable {
    name: Arc<str>,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    format: TypedFormat,
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
    /// For each column the value that all rows have, as an array of one, if the names of folders
    /// say it.
    values: Vec<Option<ArrayRef>>,
}

impl FileTable {
    /// Checks the columns of every file against the policy.
    pub(super) fn open(
        table: &TablePolicy,
        format: TypedFormat,
        files: &[DataFile],
    ) -> Result<FileTable, SourceError> {
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
                    Origin::File(index) => {
                        let location = data.shown().display().to_string();
                        check_type(table, column, fields[index].data_type(), &location)?;
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

impl Source for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn shares(
        &self,
        columns: &[usize],
        threads: usize,
    ) -> Result<Vec<Arc<dyn Share>>, SourceError> {
        let kinds: Arc<[ColumnType]> = columns.iter().map(|column| self.kinds[*column]).collect();
        let schema = super::projected(&self.schema, columns);
        let wanted = |pieces: Pieces| Pieces {
            values: columns.iter().map(|column| pieces.values[*column].clone()).collect(),
            ..pieces
        };
        let share = |pieces: Vec<Pieces>| -> Arc<dyn Share> {
            Arc::new(FileShare {
                table: Arc::clone(&self.name),
                schema: Arc::clone(&schema),
                format: self.format,
                kinds: Arc::clone(&kinds),
                pieces: pieces.into_iter().map(wanted).collect(),
            })
        };
        Ok(divided(self.files.clone(), threads).into_iter().map(share).collect())
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

/// Pieces of files, and what is wanted of them.
#[derive(Clone, Debug)]
struct FileShare {
    table: Arc<str>,
    schema: SchemaRef,
    format: TypedFormat,
    kinds: Arc<[ColumnType]>,
    pieces: Vec<Pieces>,
}

impl Share for FileShare {
    fn rows(&self, batch_rows: usize) -> Result<Batches, SourceError> {
        let share = self.clone();
        let rows = self.pieces.clone().into_iter().flat_map(move |pieces| {
            share.read(pieces, batch_rows).unwrap_or_else(|failure| failed(failure))
        });
        let table = Arc::clone(&self.table);
        Ok(Box::new(rows.map(move |batch| batch.map_err(|failure| failure.in_table(&table)))))
    }
}

/// No batch but a failure.
pub(super) fn failed(failure: Failure) -> FileBatches {
    Box::new(std::iter::once(Err(failure)))
}

impl FileShare {
    /// Opens the file again: it must be what it was.
    fn read(&self, pieces: Pieces, batch_rows: usize) -> Result<FileBatches, Failure> {
        let changed = || SourceError::Changed { path: pieces.data.shown().to_owned() };
        let file = TypedFile::open(&pieces.data, self.format)?;
        if file.pieces() != pieces.of || witness(file.schema()).is_none() {
            return Err(changed().into());
        }
        let mut positions = Vec::new();
        for ((field, kind), value) in
            self.schema.fields().iter().zip(self.kinds.iter()).zip(&pieces.values)
        {
            if value.is_none() {
                let (position, found) =
                    file.schema().column_with_name(field.name()).ok_or_else(changed)?;
                if !accepts(found.data_type(), *kind) {
                    return Err(changed().into());
                }
                positions.push(position);
            }
        }
        let batches = file.read(&positions, pieces.range, batch_rows);
        let (schema, kinds, values) = (self.schema.clone(), self.kinds.clone(), pieces.values);
        Ok(Box::new(batches.map(move |batch| Ok(converted(&batch?, &schema, &kinds, &values)?))))
    }
}

/// The columns of a file in the engine's types, with those of its folders between them.
fn converted(
    batch: &RecordBatch,
    schema: &SchemaRef,
    kinds: &[ColumnType],
    values: &[Option<ArrayRef>],
) -> Result<RecordBatch, ArrowError> {
    let mut read = batch.columns().iter();
    let mut columns = Vec::with_capacity(kinds.len());
    for (kind, value) in kinds.iter().zip(values) {
        columns.push(match value {
            Some(value) => repeated(value, batch.num_rows())?,
            // A batch with too few columns does not fit the schema, below.
            None => match read.next() {
                Some(column) => convert(column, *kind)?,
                None => break,
            },
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
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
                    data: DataFile::new(
                        number.to_string().into(),
                        Way::named(Path::new(""), Path::new("x")),
                    ),
                    of: *count,
                    range: 0..*count,
                    values: vec![],
                };
                let parts = divided(counts.iter().enumerate().map(file).collect(), threads);
                let total: usize = counts.iter().sum();
                let fair = total.div_ceil(threads.max(1));
                assert!(parts.len() <= threads.max(1), "{counts:?} in {threads}");
                let size =
                    |part: &Vec<Pieces>| part.iter().map(|share| share.range.len()).sum::<usize>();
                assert!(parts.iter().all(|part| (1..=fair).contains(&size(part))));
                let mut read: Vec<(String, usize)> = Vec::new();
                for share in parts.iter().flatten() {
                    let name = share.data.path().display().to_string();
                    read.extend(share.range.clone().map(|piece| (name.clone(), piece)));
                }
                let of_file = |(file, count): (usize, &usize)| {
                    (0..*count).map(move |piece| (file.to_string(), piece))
                };
                assert_eq!(read, counts.iter().enumerate().flat_map(of_file).collect::<Vec<_>>());
            }
        }
    }
}
