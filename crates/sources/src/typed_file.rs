//! Files whose columns have types: Parquet and Arrow.

use std::ops::Range;

use arrow::datatypes::{Schema, SchemaRef};

use super::arrow_file::ArrowFile;
use super::conversion::kinds;
use super::data_file::DataFile;
use super::error::SourceError;
use super::parquet_file::ParquetFile;
use super::source::FileBatches;

/// A format whose columns have types.
#[derive(Clone, Copy, Debug)]
pub(super) enum TypedFormat {
    Parquet,
    Arrow,
}

/// A file whose columns have types. It consists of pieces, which can be read apart from each other:
/// groups of rows in Parquet, batches in Arrow.
#[derive(Debug)]
pub(super) enum TypedFile {
    Parquet(ParquetFile),
    Arrow(ArrowFile),
}

impl TypedFile {
    /// Reads names and types of the columns, and where the pieces are. No value is read.
    pub(super) fn open(data: &DataFile, format: TypedFormat) -> Result<TypedFile, SourceError> {
        Ok(match format {
            TypedFormat::Arrow => TypedFile::Arrow(ArrowFile::open(data)?),
            TypedFormat::Parquet => TypedFile::Parquet(ParquetFile::open(data)?),
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        match self {
            TypedFile::Parquet(file) => file.schema(),
            TypedFile::Arrow(file) => file.schema(),
        }
    }

    pub(super) fn pieces(&self) -> usize {
        match self {
            TypedFile::Parquet(file) => file.pieces(),
            TypedFile::Arrow(file) => file.pieces(),
        }
    }

    /// The columns at these positions, in this order, of the pieces in a range. Texts are bytes:
    /// whether they are UTF-8 is for the conversion to see. Where no column is wanted, some column
    /// proves the number of rows; the one that is read then is [`witness`], and there must be one.
    pub(super) fn read(
        self,
        positions: &[usize],
        pieces: Range<usize>,
        most_rows: usize,
    ) -> FileBatches {
        let witness: Vec<usize> = witness(self.schema()).into_iter().collect();
        let read = if positions.is_empty() { &witness } else { positions };
        match self {
            TypedFile::Parquet(file) => file.read(read, pieces, most_rows),
            TypedFile::Arrow(file) => file.read(read, pieces),
        }
    }
}

/// A column that has at least one bit for every row, so that a file cannot state a number of rows
/// that it does not have.
pub(super) fn witness(schema: &Schema) -> Option<usize> {
    schema.fields().iter().position(|field| kinds(field.data_type()).next().is_some())
}
