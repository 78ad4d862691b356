//! Parquet data on disk, group of rows by group of rows.
//!
//! The decoding is Parquet's own, but two of its habits would let a row raise an error, and are
//! kept from it by reading the columns as what they are on disk:
//! - A text that is not UTF-8 ends the reading. So columns of bytes lose their annotations before
//!   they are read (the schema is replaced), and the conversion repairs texts, as it does for
//!   Arrow.
//! - Where the writer had a dictionary of Arrow's, keys of its type are numbered anew, and too many
//!   distinct values in a batch are an error. So no column is read as a dictionary.
//!
//! Besides, decimals in byte arrays of varying length are read here: the library asserts that they
//! have 1 to 16 bytes. Moments of 96 bits are read as microseconds; nanoseconds wrap around in the
//! year 2262. Bytes are read as views: with offsets of 32 bits, long texts of a batch could add up
//! to too much.
//!
//! What remains is total: values of a fixed width are any bits of that width. Statistics, page
//! indices, bloom filters and checksums are neither decoded nor used. What is an error: a footer or
//! a page that is not what its header says, a compression that cannot be undone, numbers of values
//! that do not agree. These are properties of pages, which a writer makes, and no value that it can
//! be given makes it write a wrong one.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal256Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit, i256};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetStatisticsPolicy};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::data_file::DataFile;
use super::error::SourceError;
use super::parquet_nesting::{DEEPEST, nesting};
use super::source::FileBatches;

/// Parquet data on disk.
#[derive(Debug)]
pub(super) struct ParquetFile {
    file: File,
    /// With columns in the types in which they are read.
    metadata: ArrowReaderMetadata,
    /// Columns in the types that the file says.
    schema: SchemaRef,
}

impl ParquetFile {
    /// Reads the footer. No value is read.
    pub(super) fn open(data: &DataFile) -> Result<ParquetFile, SourceError> {
        let unreadable = |error: &std::io::Error| SourceError::unreadable(data.shown(), error);
        let damaged = || SourceError::Damaged { path: data.shown().to_owned(), format: "Parquet" };
        let file = File::open(data.path()).map_err(|error| unreadable(&error))?;
        let depth = nesting(&file).map_err(|error| unreadable(&error))?.ok_or_else(damaged)?;
        if depth > DEEPEST {
            return Err(SourceError::Nesting { path: data.shown().to_owned() });
        }
        // The library gives up on some of what no writer writes.
        let load = AssertUnwindSafe(|| load(&file));
        let (metadata, schema) =
            catch_unwind(load).ok().and_then(Result::ok).ok_or_else(damaged)?;
        Ok(ParquetFile { file, metadata, schema })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many groups of rows it has.
    pub(super) fn pieces(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// The columns at these positions, of the groups in this range.
    pub(super) fn read(
        self,
        positions: &[usize],
        groups: Range<usize>,
        most_rows: usize,
    ) -> FileBatches {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), positions.iter().copied());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file, self.metadata)
            .with_projection(mask)
            .with_row_groups(groups.collect())
            .with_batch_size(most_rows)
            .build();
        let reader = match reader {
            Ok(reader) => reader,
            Err(error) => return Box::new(std::iter::once(Err(error.into()))),
        };
        // The reader has them in the order of the file, each once.
        let of_file = BTreeSet::from_iter(positions.iter().copied());
        let order: Vec<(usize, DataType)> = positions
            .iter()
            .map(|&position| {
                (of_file.range(..position).count(), self.schema.field(position).data_type().clone())
            })
            .collect();
        Box::new(reader.map(move |batch| Ok(arranged(&batch?, &order)?)))
    }
}

fn arranged(batch: &RecordBatch, order: &[(usize, DataType)]) -> Result<RecordBatch, ArrowError> {
    let columns = order.iter().map(|(index, found)| {
        let column = batch.column(*index);
        match found {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale)
                if *column.data_type() == DataType::BinaryView =>
            {
                decimals(column, *scale)
            }
            _ => Ok(Arc::clone(column)),
        }
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    let field = |(index, column): (usize, &ArrayRef)| {
        Field::new(index.to_string(), column.data_type().clone(), true)
    };
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<Field>>());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}

/// Numbers in two's complement, the highest byte first. No bytes, and numbers beyond 256 bits, are
/// NULL.
fn decimals(bytes: &ArrayRef, scale: i8) -> Result<ArrayRef, ArrowError> {
    let number = |bytes: &[u8]| {
        let sign = if *bytes.first()? < 0x80 { 0 } else { 0xff };
        let (high, low) = bytes.split_at(bytes.len().saturating_sub(32));
        let mut whole = [sign; 32];
        whole[32 - low.len()..].copy_from_slice(low);
        let fits = high.iter().all(|byte| *byte == sign) && whole[0] >> 7 == sign >> 7;
        fits.then(|| i256::from_be_bytes(whole))
    };
    let numbers: Decimal256Array =
        bytes.as_binary_view().iter().map(|bytes| number(bytes?)).collect();
    Ok(Arc::new(numbers.with_precision_and_scale(76, scale)?))
}

fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new()
        .with_page_index_policy(PageIndexPolicy::Skip)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
}

/// The footer for reading, and the columns in the types that the file says.
fn load(file: &File) -> Result<(ArrowReaderMetadata, SchemaRef), ParquetError> {
    let stated = ArrowReaderMetadata::load(file, options())?;
    let root = stated.parquet_schema().root_schema();
    let (mut types, mut fields): (Vec<TypePtr>, Vec<Field>) = (Vec::new(), Vec::new());
    for (column, field) in root.get_fields().iter().zip(stated.schema().fields()) {
        let (column, of) = as_read(column, field.data_type())?;
        types.push(column);
        fields.push(field.as_ref().clone().with_data_type(of));
    }
    let root = Type::group_type_builder(root.name()).with_fields(types).build()?;
    let plain = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let read = options().with_parquet_schema(plain).with_schema(Arc::new(Schema::new(fields)));
    Ok((ArrowReaderMetadata::load(file, read)?, Arc::clone(stated.schema())))
}

/// The type of a column of the file, and Arrow's for it, in which it is read.
fn as_read(column: &TypePtr, stated: &DataType) -> Result<(TypePtr, DataType), ParquetError> {
    let info = column.get_basic_info();
    let is_value =
        column.is_primitive() && info.has_repetition() && info.repetition() != Repetition::REPEATED;
    if !is_value || *stated == DataType::Null {
        return Ok((Arc::clone(column), stated.clone()));
    }
    match (column.get_physical_type(), stated) {
        (PhysicalType::BYTE_ARRAY, _) => {
            let plain = Type::primitive_type_builder(column.name(), PhysicalType::BYTE_ARRAY)
                .with_repetition(info.repetition())
                .build()?;
            Ok((Arc::new(plain), DataType::BinaryView))
        }
        (PhysicalType::INT96, _) => {
            Ok((Arc::clone(column), DataType::Timestamp(TimeUnit::Microsecond, None)))
        }
        (_, DataType::Dictionary(_, values)) => as_read(column, values),
        _ => Ok((Arc::clone(column), stated.clone())),
    }
}
