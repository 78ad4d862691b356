//! Names and types of the columns of a file: all that is read of it before a query.

use arrow::datatypes::{DataType, FieldRef};
use reticent_policy::{CsvOptions, Format};

use super::csv_reader::Records;
use super::data_file::DataFile;
use super::error::SourceError;
use super::typed_file::{TypedFile, TypedFormat};

/// The name of a column, and its type where the format of the file has types.
pub(crate) type FoundColumn = (String, Option<DataType>);

/// The columns of a file; none of an empty CSV file.
pub(crate) fn columns_of(
    data: &DataFile,
    format: Format,
    options: &CsvOptions,
) -> Result<Option<Vec<FoundColumn>>, SourceError> {
    Ok(match format {
        Format::Csv => {
            let header = Records::open(data, options)?.header()?;
            header.map(|names| names.into_iter().map(|name| (name, None)).collect())
        }
        Format::Parquet => Some(typed_columns(data, TypedFormat::Parquet)?),
        Format::Arrow => Some(typed_columns(data, TypedFormat::Arrow)?),
    })
}

fn typed_columns(data: &DataFile, format: TypedFormat) -> Result<Vec<FoundColumn>, SourceError> {
    let file = TypedFile::open(data, format)?;
    let column = |field: &FieldRef| (field.name().clone(), Some(field.data_type().clone()));
    Ok(file.schema().fields().iter().map(column).collect())
}
