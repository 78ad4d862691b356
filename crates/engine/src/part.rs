//! The totals of a part of the units as bytes, to be computed in one process and added in another.
//!
//! ```text
//! magic "reticent"   8 bytes
//! version            4 bytes, little endian
//! query             32 bytes: the identity of the query, from whoever asked
//! length             8 bytes, little endian: of the body
//! body               an Arrow IPC stream of one batch: keys, units, totals
//! checksum          32 bytes: SHA-256 of all of the above
//! ```
//!
//! One row of the batch is a group. Counts and sums are 16 bytes, little endian; the values of
//! quantiles are lists of a point of the grid and how often it occurs. Texts are written without
//! the views of the engine, whose buffers can hold more than the array: equal totals are equal
//! bytes.
//!
//! A checksum tells damage, not malice: a part holds private numbers, and whoever can write one can
//! write any. Keep them where the tables are kept.

use crate::{EngineError, GroupTotals};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryArray, Int64Array, ListArray, StructArray, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, UInt64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_release::{Exact, Totals};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"reticent";

/// The version of the format. A part of another is refused: parts live as long as a query.
const VERSION: u32 = 1;

const HEAD: usize = 8 + 4 + 32 + 8;
const CHECKSUM: usize = 32;

/// What a query is known by to whoever computes parts of its totals: a digest of the query, the
/// policy and the options.
pub type QueryIdentity = [u8; 32];

/// Why bytes are not a part of the totals of a query.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PartError {
    /// They are something else.
    #[error("these bytes are not a part of a query's totals")]
    Foreign,
    /// They were written by another version.
    #[error("this part of a query's totals has version {0}, and {known} is read", known = VERSION)]
    Version(u32),
    /// They are not what was written.
    #[error("this part of a query's totals is damaged or incomplete; compute it again")]
    Damaged,
    /// They belong to another query, policy or options.
    #[error("this part belongs to the totals of another query")]
    OtherQuery,
}

fn unreadable<E>(_: E) -> PartError {
    PartError::Damaged
}

impl GroupTotals {
    /// The totals as bytes, for [`GroupTotals::from_bytes`]. Equal totals give equal bytes.
    ///
    /// # Errors
    /// If there are more values than Arrow can list.
    pub fn to_bytes(&self, query: &QueryIdentity) -> Result<Vec<u8>, EngineError> {
        let fault = |_| EngineError::Fault { part: "writing a part of the totals" };
        let body = self.body().map_err(fault)?;
        let mut bytes = Vec::with_capacity(HEAD + body.len() + CHECKSUM);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(query);
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&body);
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        Ok(bytes)
    }

    /// The totals that were written. `like` are totals of the same query, as those of no rows
    /// ([`TotalsQuery::of_no_rows`](crate::TotalsQuery::of_no_rows)): the types of the keys, public
    /// groups and the kinds of the totals must be theirs.
    ///
    /// # Errors
    /// If these are not the bytes of a part of this query's totals, every one of them.
    pub fn from_bytes(
        bytes: &[u8],
        query: &QueryIdentity,
        like: &GroupTotals,
    ) -> Result<GroupTotals, PartError> {
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(PartError::Foreign)?;
        let (magic, head) = head.split_at(8);
        let (version, head) = head.split_at(4);
        let (identity, length) = head.split_at(32);
        if magic != MAGIC {
            return Err(PartError::Foreign);
        }
        let version = version.try_into().map(u32::from_le_bytes).map_err(unreadable)?;
        if version != VERSION {
            return Err(PartError::Version(version));
        }
        let length = length.try_into().map(u64::from_le_bytes).map_err(unreadable)?;
        let (body, checksum) = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(PartError::Damaged)?;
        if Sha256::digest(&bytes[..bytes.len() - checksum.len()]).as_slice() != checksum {
            return Err(PartError::Damaged);
        }
        if identity != query {
            return Err(PartError::OtherQuery);
        }
        let mut batches = StreamReader::try_new(body, None).map_err(unreadable)?;
        match (batches.next(), batches.next()) {
            (Some(Ok(batch)), None) => read(&batch, like),
            _ => Err(PartError::Damaged),
        }
    }

    fn body(&self) -> Result<Vec<u8>, ArrowError> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        for key in self.keys.columns() {
            columns.push(cast(key, &written_type(key.data_type()))?);
        }
        columns.push(Arc::new(UInt64Array::from(self.exact.units.clone())));
        for totals in &self.exact.totals {
            columns.push(written(totals)?);
        }
        let field = |(index, column): (usize, &ArrayRef)| {
            Field::new(index.to_string(), column.data_type().clone(), true)
        };
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
        writer.write(&batch)?;
        writer.into_inner()
    }
}

/// The type in which a key is written.
fn written_type(of: &DataType) -> DataType {
    if *of == DataType::Utf8View { DataType::LargeUtf8 } else { of.clone() }
}

fn point_fields() -> Fields {
    let field = |name, of| Field::new(name, of, false);
    Fields::from(vec![field("point", DataType::Int64), field("times", DataType::UInt64)])
}

fn written(totals: &Totals) -> Result<ArrayRef, ArrowError> {
    Ok(match totals {
        Totals::Integers(numbers) => {
            let bytes: Vec<[u8; 16]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
            // An iterator would have no width where there is no group.
            Arc::new(FixedSizeBinaryArray::try_new(16, bytes.concat().into(), None)?)
        }
        Totals::Values(groups) => {
            let lengths = groups.iter().map(Vec::len);
            let most = i32::MAX as usize;
            if groups.iter().map(Vec::len).sum::<usize>() > most {
                return Err(ArrowError::OffsetOverflowError(most));
            }
            let points = || groups.iter().flatten();
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int64Array::from_iter_values(points().map(|(point, _)| *point))),
                Arc::new(UInt64Array::from_iter_values(points().map(|(_, times)| *times))),
            ];
            let points = StructArray::try_new(point_fields(), columns, None)?;
            let field = Arc::new(Field::new("points", points.data_type().clone(), false));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::try_new(field, offsets, Arc::new(points), None)?)
        }
    })
}

/// Totals of the kinds of `like`; anything else is of another query.
fn read(batch: &RecordBatch, like: &GroupTotals) -> Result<GroupTotals, PartError> {
    let schema = like.keys.schema();
    let mut columns = batch.columns().iter();
    let mut next = || columns.next().ok_or(PartError::OtherQuery);
    let mut keys: Vec<ArrayRef> = Vec::new();
    for field in schema.fields() {
        let column = next()?;
        if *column.data_type() != written_type(field.data_type()) {
            return Err(PartError::OtherQuery);
        }
        keys.push(cast(column, field.data_type()).map_err(unreadable)?);
    }
    let units = next()?.as_primitive_opt::<UInt64Type>().ok_or(PartError::OtherQuery)?;
    let totals = like
        .exact
        .totals
        .iter()
        .map(|totals| match totals {
            Totals::Integers(_) => integers(next()?),
            Totals::Values(_) => values(next()?),
        })
        .collect::<Result<_, _>>()?;
    if columns.next().is_some() {
        return Err(PartError::OtherQuery);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let keys = RecordBatch::try_new_with_options(schema, keys, &options).map_err(unreadable)?;
    // Public groups are the same in all parts.
    if like.keys.num_rows() > 0 && keys != like.keys {
        return Err(PartError::OtherQuery);
    }
    let exact = Exact { units: units.values().to_vec(), totals };
    Ok(GroupTotals { keys, exact })
}

fn integers(column: &ArrayRef) -> Result<Totals, PartError> {
    let bytes = column.as_fixed_size_binary_opt().ok_or(PartError::OtherQuery)?;
    let number = |bytes: Option<&[u8]>| {
        let bytes = bytes.ok_or(PartError::Damaged)?.try_into();
        bytes.map(i128::from_le_bytes).map_err(|_| PartError::OtherQuery)
    };
    Ok(Totals::Integers(bytes.iter().map(number).collect::<Result<_, _>>()?))
}

fn values(column: &ArrayRef) -> Result<Totals, PartError> {
    let lists = column.as_list_opt::<i32>().ok_or(PartError::OtherQuery)?;
    let points = lists.values().as_struct_opt().ok_or(PartError::OtherQuery)?;
    if points.fields() != &point_fields() {
        return Err(PartError::OtherQuery);
    }
    let (points, times) = (
        points.column(0).as_primitive::<Int64Type>().values(),
        points.column(1).as_primitive::<UInt64Type>().values(),
    );
    let group = |ends: &[i32]| {
        let range = ends[0] as usize..ends[1] as usize;
        range.map(|index| (points[index], times[index])).collect()
    };
    Ok(Totals::Values(lists.value_offsets().windows(2).map(group).collect()))
}
