//! Names and types of the columns of a file: all that is read of it before a query.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use reticent_policy::{CsvOptions, Format};

use super::csv_reader::Records;
use super::error::SourceError;

/// The names in the header of a CSV file; none in an empty file.
pub(crate) fn csv_header(path: &Path, options: &CsvOptions) -> Result<Option<Vec<String>>, SourceError> {
    Records::open(path, options)?.header()
}

/// The columns of a Parquet or Arrow file in the types in which the engine reads them, and how an Arrow file is written.
pub(crate) fn file_schema(path: &Path, format: Format) -> Result<(Schema, Option<ArrowKind>), SourceError> {
    let mut file = File::open(path).map_err(|error| SourceError::unreadable(path, &error))?;
    let damaged = |format| SourceError::Damaged { path: path.to_owned(), format };
    if format == Format::Parquet {
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|_| damaged("Parquet"))?;
        let fields: Vec<Field> = metadata.schema().fields().iter().map(|field| as_view(field)).collect();
        return Ok((Schema::new(fields), None));
    }
    let kind = arrow_kind(&mut file).map_err(|error| SourceError::unreadable(path, &error))?;
    file.rewind().map_err(|error| SourceError::unreadable(path, &error))?;
    let schema = match kind {
        Some(ArrowKind::File) => FileReader::try_new(file, None).map_err(|_| damaged("Arrow"))?.schema(),
        Some(ArrowKind::Stream) => StreamReader::try_new(file, None).map_err(|_| damaged("Arrow"))?.schema(),
        None => return Err(damaged("Arrow")),
    };
    Ok((Schema::new(schema.fields().clone()), kind))
}

/// The two ways in which Arrow data is written; endings do not tell which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrowKind {
    /// With a footer: `ARROW1` at both ends.
    File,
    /// A sequence of messages, each with its length.
    Stream,
}

/// Which of the two a file is, if it can be either. Lengths are compared with the file's before a library makes room for them.
fn arrow_kind(file: &mut File) -> io::Result<Option<ArrowKind>> {
    const MAGIC: &[u8] = b"ARROW1";
    let size = file.metadata()?.len();
    let (mut head, mut tail) = ([0; 8], [0; 10]);
    if size < 18 {
        return Ok(None);
    }
    file.read_exact(&mut head)?;
    file.seek(SeekFrom::End(-10))?;
    file.read_exact(&mut tail)?;
    let fits = |length: [u8; 4], around: u64| {
        u64::try_from(i32::from_le_bytes(length)).is_ok_and(|length| length + around <= size)
    };
    Ok(match (head, tail) {
        ([b'A', b'R', b'R', b'O', b'W', b'1', ..], [a, b, c, d, end @ ..])
            if end == MAGIC && fits([a, b, c, d], 18) =>
        {
            Some(ArrowKind::File)
        }
        ([0xff, 0xff, 0xff, 0xff, a, b, c, d], _) if fits([a, b, c, d], 8) => Some(ArrowKind::Stream),
        _ => None,
    })
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
