//! Names and types of the columns of a file: all that is read of it before a query.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use reticent_policy::{CsvOptions, Format};

use super::arrow_file::ArrowFile;
use super::csv_reader::Records;
use super::data_file::DataFile;
use super::error::SourceError;
use super::parquet_nesting::{DEEPEST, nesting};

/// The name of a column, and its type where the format of the file has types.
pub(crate) type FoundColumn = (String, Option<DataType>);

/// The columns of a file; none of an empty CSV file.
pub(crate) fn columns_of(
    data: &DataFile,
    format: Format,
    options: &CsvOptions,
) -> Result<Option<Vec<FoundColumn>>, SourceError> {
    let typed = |schema: &Schema| {
        let fields = schema.fields().iter();
        Some(fields.map(|field| (field.name().clone(), Some(field.data_type().clone()))).collect())
    };
    Ok(match format {
        Format::Csv => {
            let header = Records::open(data, options)?.header()?;
            header.map(|names| names.into_iter().map(|name| (name, None)).collect())
        }
        Format::Parquet => typed(&parquet_schema(data)?),
        Format::Arrow => typed(ArrowFile::open(data)?.schema()),
    })
}

/// The columns of a Parquet file in the types in which the engine reads them.
pub(super) fn parquet_schema(data: &DataFile) -> Result<Schema, SourceError> {
    let file = File::open(data.path()).map_err(|error| SourceError::unreadable(data.shown(), &error))?;
    let damaged = || SourceError::Damaged { path: data.shown().to_owned(), format: "Parquet" };
    let depth = nesting(&file).map_err(|error| SourceError::unreadable(data.shown(), &error))?.ok_or_else(damaged)?;
    if depth > DEEPEST {
        return Err(SourceError::Nesting { path: data.shown().to_owned() });
    }
    // The library gives up on some of what no writer writes.
    let load = AssertUnwindSafe(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()));
    let metadata = catch_unwind(load).ok().and_then(Result::ok).ok_or_else(damaged)?;
    Ok(Schema::new(metadata.schema().fields().iter().map(|field| as_view(field)).collect::<Vec<_>>()))
}

/// The engine reads text of Parquet files as views, without copying it.
fn as_view(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    };
    Field::new(field.name(), kind, true)
}
