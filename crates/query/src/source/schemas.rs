//! Names and types of the columns of a file: all that is read of it before a query.

use std::fs::File;
use std::path::Path;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use reticent_policy::{CsvOptions, Format};

use super::csv_reader::Records;
use super::error::SourceError;

/// The names in the header of a CSV file; none in an empty file.
pub(crate) fn csv_header(path: &Path, options: &CsvOptions) -> Result<Option<Vec<String>>, SourceError> {
    Ok(Records::open(path, options)?.header()?)
}

/// The columns of a Parquet or Arrow file in the types in which the engine reads them.
pub(crate) fn file_schema(path: &Path, format: Format) -> Result<Schema, SourceError> {
    let open = || File::open(path).map_err(|error| SourceError::unreadable(path, &error));
    let name = if format == Format::Parquet { "Parquet" } else { "Arrow" };
    let damaged = || SourceError::Damaged { path: path.to_owned(), format: name };
    let schema = if format == Format::Parquet {
        let metadata = ArrowReaderMetadata::load(&open()?, ArrowReaderOptions::new()).map_err(|_| damaged())?;
        let fields: Vec<Field> = metadata.schema().fields().iter().map(|field| as_view(field)).collect();
        Schema::new(fields)
    } else {
        // Arrow data is written as a file, with a footer, or as a stream; the endings do not tell.
        match FileReader::try_new(open()?, None) {
            Ok(reader) => reader.schema().as_ref().clone(),
            Err(_) => StreamReader::try_new(open()?, None).map_err(|_| damaged())?.schema().as_ref().clone(),
        }
    };
    Ok(Schema::new(schema.fields().clone()))
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
