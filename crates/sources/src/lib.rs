//! Where the rows of a table come from.
//!
//! What it is: the trait [`Source`] with what every source must keep, files of CSV, Parquet and
//! Arrow, and Arrow's batches and streams in memory. What it never does: let the content of a row
//! become an error, leave a row out, or take a hint from a query beyond which columns it wants.
//!
//! Whatever the source, a table shows only the columns that the policy declares, in the types of
//! the engine ([`engine_type`]), and what cannot be read as the declared type is NULL. An error
//! message that depends on a row would tell more about one person than any budget allows. Names,
//! types and paths are public, and errors about them say all there is to say; but for values that
//! are in the names of folders, as in `year=2024`, which are content.
//!
//! | rule | |
//! |---|---|
//! | not a value of the declared type, or out of its range | NULL |
//! | NaN | NULL |
//! | -0.0 | 0.0: equal reals have equal bits |
//! | infinities | kept: bounds clamp them |
//! | a number with a fraction in an integer column | cut towards zero |
//! | text that is not UTF-8 | each wrong piece becomes U+FFFD |
//! | text of more than [`LONGEST_TEXT`](reticent_policy::LONGEST_TEXT) bytes | cut there, at a character |
//! | moments with a time zone | UTC; without one they are taken as UTC |
//! | values in the names of folders | as in CSV, and left out of messages |
//!
//! Which damage of a file is an error, and why no row is, is said for each format: `csv_reader.rs`,
//! `parquet_file.rs`, `arrow_file.rs`. Damage is what no writer writes, whatever values it is
//! given.

mod arrow_file;
mod conversion;
mod csv_reader;
mod csv_table;
mod data_file;
mod draft;
mod error;
pub mod field;
mod file_table;
mod files;
mod memory;
#[doc(hidden)]
pub mod mutation;
mod origins;
mod parquet_file;
mod parquet_nesting;
mod schemas;
mod source;
mod table_sources;
mod typed_file;

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use reticent_policy::{ColumnType, Format, TablePolicy};

use csv_table::CsvTable;
use data_file::DataFile;
use file_table::FileTable;
use files::find;
use schemas::columns_of;
use typed_file::TypedFormat;

pub use draft::draft;
pub use error::SourceError;
pub use memory::MemorySource;
pub use source::{Batches, Share, Source};
pub use table_sources::TableSources;

/// Opens a table of a policy whose file is in `folder`. Names and types of the files' columns are
/// read and compared with the policy; no row is.
///
/// # Errors
/// If a file is missing, has an unknown format, or lacks a declared column; if a column's type
/// cannot be read as the declared one.
pub fn open(table: &TablePolicy, folder: &Path) -> Result<Arc<dyn Source>, SourceError> {
    let (format, files) = find(table.name(), table.source(), table.format(), folder)?;
    Ok(match format {
        Format::Csv => Arc::new(CsvTable::open(table, &files)?),
        Format::Parquet => Arc::new(FileTable::open(table, TypedFormat::Parquet, &files)?),
        Format::Arrow => Arc::new(FileTable::open(table, TypedFormat::Arrow, &files)?),
    })
}

/// The engine's type for values of a policy's type.
#[must_use]
pub fn engine_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Integer => DataType::Int64,
        ColumnType::Real => DataType::Float64,
        ColumnType::Text => DataType::Utf8View,
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// The declared columns in the engine's types. All may be NULL: that a policy says otherwise is
/// never relied upon for reading.
fn engine_schema(table: &TablePolicy) -> SchemaRef {
    let fields: Vec<Field> = table
        .columns()
        .iter()
        .map(|column| Field::new(column.name(), engine_type(column.kind()), true))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The columns of a schema at these indices.
fn projected(schema: &SchemaRef, columns: &[usize]) -> SchemaRef {
    let field = |column: &usize| Arc::clone(&schema.fields()[*column]);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
