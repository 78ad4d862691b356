//! Rows of every type and of extreme values, as writers write them. Whatever the values, every
//! query over such a file must be answered.

use std::path::Path;
use std::sync::Arc;

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt64Type, i256,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use reticent_policy::Policy;

use crate::files::Engine;
use crate::target::Outcome;

/// Bytes that say what to make; zeros after the last.
struct Recipe<'a>(&'a [u8]);

impl Recipe<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit.max(1)
    }

    fn bits(&mut self) -> u64 {
        (0..8).fold(0, |bits, _| bits << 8 | u64::from(self.byte()))
    }

    /// A missing value, one at an end of its type, or any.
    fn number(&mut self) -> Option<i64> {
        Some(match self.below(12) {
            0 => return None,
            1 => i64::MIN,
            2 => i64::MAX,
            3 => 0,
            4 => -1,
            5 => f64::NAN.to_bits() as i64,
            6 => (-0.0_f64).to_bits() as i64,
            7 => f64::NEG_INFINITY.to_bits() as i64,
            8 => self.byte().into(),
            _ => self.bits() as i64,
        })
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let pieces: [&[u8]; 8] =
            [b"", b"Alice", b"-0.0", b"\xff", "é\0".as_bytes(), b"2024-02-30", b"1e400", b"true"];
        let piece = pieces[usize::from(self.below(8))];
        match self.below(4) {
            0 => None,
            1 => Some(piece.repeat(usize::from(self.byte()) * 64)),
            _ => Some(piece.to_vec()),
        }
    }
}

fn numbers<T: ArrowPrimitiveType>(
    recipe: &mut Recipe,
    rows: usize,
    of: fn(i64) -> T::Native,
) -> PrimitiveArray<T> {
    (0..rows).map(|_| recipe.number().map(of)).collect()
}

/// How often [`column`] has a type of its own.
const TYPES: u8 = 22;

/// A column of some type, and the declarations that fit it.
fn column(
    recipe: &mut Recipe,
    rows: usize,
) -> Result<(ArrayRef, &'static [&'static str]), ArrowError> {
    let whole: &[&str] = &["integer", "real", "text", "boolean"];
    let number: &[&str] = &["integer", "real"];
    let moment: &[&str] = &["date", "timestamp"];
    let every: &[&str] = &["integer", "real", "text", "boolean", "date", "timestamp"];
    let bytes = |recipe: &mut Recipe| (0..rows).map(|_| recipe.text()).collect::<Vec<_>>();
    let text = |recipe: &mut Recipe| {
        let lossy = |bytes: Option<Vec<u8>>| {
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        bytes(recipe).into_iter().map(lossy).collect::<Vec<_>>()
    };
    Ok(match recipe.below(TYPES) {
        0 => (Arc::new(numbers::<Int8Type>(recipe, rows, |v| v as i8)), whole),
        1 => (Arc::new(numbers::<UInt8Type>(recipe, rows, |v| v as u8)), whole),
        2 => (Arc::new(numbers::<Int64Type>(recipe, rows, |v| v)), whole),
        3 => (Arc::new(numbers::<UInt64Type>(recipe, rows, |v| v as u64)), whole),
        4 => (
            Arc::new(numbers::<Float32Type>(recipe, rows, |v| f64::from_bits(v as u64) as f32)),
            number,
        ),
        5 => (Arc::new(numbers::<Float64Type>(recipe, rows, |v| f64::from_bits(v as u64))), number),
        6 => {
            let all = numbers::<Decimal128Type>(recipe, rows, |v| i128::from(v) << 60);
            (Arc::new(all.with_precision_and_scale(38, 10)?), number)
        }
        7 => {
            let all = numbers::<Decimal256Type>(recipe, rows, |v| {
                i256::from_parts(v as u128, i128::from(v) << 61)
            });
            (Arc::new(all.with_precision_and_scale(76, -3)?), number)
        }
        8 => (Arc::new(numbers::<Date32Type>(recipe, rows, |v| v as i32)), moment),
        9 => (Arc::new(numbers::<Date64Type>(recipe, rows, |v| v)), moment),
        10 => (Arc::new(numbers::<TimestampSecondType>(recipe, rows, |v| v)), moment),
        11 => (
            Arc::new(
                numbers::<TimestampMillisecondType>(recipe, rows, |v| v).with_timezone("+14:00"),
            ),
            moment,
        ),
        12 => (Arc::new(numbers::<TimestampMicrosecondType>(recipe, rows, |v| v)), moment),
        13 => (
            Arc::new(numbers::<TimestampNanosecondType>(recipe, rows, |v| v).with_timezone("UTC")),
            moment,
        ),
        14 => (Arc::new(text(recipe).into_iter().collect::<StringArray>()), every),
        15 => (Arc::new(text(recipe).into_iter().collect::<LargeStringArray>()), every),
        16 => (Arc::new(text(recipe).into_iter().collect::<StringViewArray>()), every),
        17 => (Arc::new(bytes(recipe).into_iter().collect::<BinaryArray>()), &["text"]),
        18 => (
            Arc::new(
                numbers::<Int8Type>(recipe, rows, |v| v as i8)
                    .iter()
                    .map(|v| Some(v? > 0))
                    .collect::<BooleanArray>(),
            ),
            &["boolean"],
        ),
        19 => {
            let all: DictionaryArray<Int16Type> = {
                let texts = text(recipe);
                texts.iter().map(Option::as_deref).collect()
            };
            (Arc::new(all), every)
        }
        20 => {
            let all: ArrayRef = Arc::new(numbers::<Int64Type>(recipe, rows, |v| v));
            let keys = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int64));
            (cast(&all, &keys)?, whole)
        }
        _ => {
            let all = numbers::<Int64Type>(recipe, rows, |v| v);
            let three = all.iter().map(|v| v.map(|v| v.to_le_bytes()[..3].to_vec()));
            (Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(three, 3)?), &["text"])
        }
    })
}

fn parquet_bytes(batch: &RecordBatch, ways: u8) -> Option<Vec<u8>> {
    let version =
        if ways & 1 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
    let statistics = if ways & 4 == 0 { EnabledStatistics::Page } else { EnabledStatistics::None };
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(ways & 2 == 0)
        .set_statistics_enabled(statistics)
        .set_max_row_group_row_count(Some(1 + usize::from(ways >> 3)))
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(2)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).ok()?;
    writer.write(batch).ok()?;
    writer.close().ok()?;
    Some(bytes)
}

fn arrow_bytes(batch: &RecordBatch, ways: u8) -> Option<Vec<u8>> {
    let compression = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)]
        [usize::from(ways % 3)];
    let options = IpcWriteOptions::default().try_with_compression(compression).ok()?;
    let mut bytes = Vec::new();
    let half = batch.num_rows() / 2;
    let parts = [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
    if ways & 4 == 0 {
        let mut writer =
            FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).ok()?;
        parts.iter().try_for_each(|part| writer.write(part)).ok()?;
        writer.finish().ok()?;
    } else {
        let mut writer =
            StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).ok()?;
        parts.iter().try_for_each(|part| writer.write(part)).ok()?;
        writer.finish().ok()?;
    }
    Some(bytes)
}

/// Recipes to begin with: one for each type.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let body = || (0..90_u8).map(|byte| byte.wrapping_mul(7));
    (0..TYPES).map(|of| [9, of].into_iter().chain(body()).collect()).collect()
}

/// A table for the queries of [`crate::files`].
fn people() -> Option<RecordBatch> {
    let text = |all: [&str; 3]| Arc::new(StringArray::from(all.to_vec())) as ArrayRef;
    let as_type = |column: ArrayRef, of: &DataType| cast(&column, of).ok();
    let micros = DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, None);
    let day = text(["2024-01-31", "x", "1999-12-31"]);
    let names: DictionaryArray<Int8Type> = ["Alice", "Bob", "Alice"].into_iter().collect();
    RecordBatch::try_from_iter(vec![
        ("name", Arc::new(names) as ArrayRef),
        ("n", Arc::new(PrimitiveArray::<Int64Type>::from(vec![Some(1), None, Some(3)]))),
        ("x", Arc::new(PrimitiveArray::<Float64Type>::from(vec![0.5, -0.0, 1e9]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("day", as_type(Arc::clone(&day), &DataType::Date32)?),
        ("at", as_type(day, &micros)?),
    ])
    .ok()
}

/// [`people`] in Parquet, in several ways.
pub(crate) fn parquet_seeds() -> Vec<Vec<u8>> {
    people()
        .iter()
        .flat_map(|batch| {
            [0, 1, 2, 4, 0x17].into_iter().filter_map(|ways| parquet_bytes(batch, ways))
        })
        .collect()
}

/// [`people`] in Arrow, in several ways.
pub(crate) fn arrow_seeds() -> Vec<Vec<u8>> {
    people().iter().flat_map(|batch| (0..8).filter_map(|ways| arrow_bytes(batch, ways))).collect()
}

/// Makes rows of a recipe, writes them in both formats, and asks.
pub(crate) fn written_and_read(engine: &mut Engine, input: &[u8], folder: &Path) -> Outcome {
    let mut recipe = Recipe(input);
    let rows = 1 + usize::from(recipe.below(24));
    let (mut columns, mut fields, mut items) = (Vec::new(), String::new(), "COUNT(*)".to_owned());
    let mut seen = Vec::new();
    for name in ["a", "b"] {
        let Ok((values, kinds)) = column(&mut recipe, rows) else {
            return Ok(vec!["no column".to_owned()]);
        };
        let kind = kinds[usize::from(recipe.below(kinds.len() as u8))];
        seen.push(format!(
            "{} as {kind}, {} missing",
            values.data_type(),
            values.null_count().min(1)
        ));
        let bounds = if matches!(kind, "integer" | "real") { ", bounds = [-10, 10]" } else { "" };
        fields += &format!("columns.{name} = {{ type = '{kind}'{bounds} }}\n");
        items += &match kind {
            "integer" | "real" => format!(", COUNT({name}), SUM({name})"),
            "text" => format!(
                ", COUNT(*) FILTER (WHERE {name} LIKE '%lice' OR CHARACTER_LENGTH({name}) > 3)"
            ),
            "boolean" => format!(", COUNT(*) FILTER (WHERE {name})"),
            _ => format!(
                ", COUNT(*) FILTER (WHERE DATE_PART('year', {name}) > 2000 OR CAST({name} AS TEXT) \
                 = 'x')"
            ),
        };
        columns.push((name, values));
    }
    let batch = RecordBatch::try_from_iter(columns).map_err(|error| format!("harness: {error}"))?;
    let ways = recipe.byte();
    for (name, bytes) in
        [("t.parquet", parquet_bytes(&batch, ways)), ("t.arrow", arrow_bytes(&batch, ways))]
    {
        // Not every type is written by every writer.
        let Some(bytes) = bytes else { continue };
        std::fs::write(folder.join(name), bytes).map_err(|error| error.to_string())?;
        let text = format!(
            "[budget]\nepsilon = 9\n[tables.t]\nsource = '{name}'\neach_row = true\n{fields}"
        );
        let policy = Policy::parse(&text, &folder.join("policy.toml"))
            .map_err(|error| format!("harness: {error}"))?;
        let sql = format!("SELECT {items} FROM t");
        let query =
            engine.prepare(&policy, &sql).map_err(|error| format!("harness: {sql}: {error}"))?;
        if let Some((error, _)) = engine.run(&policy, &query) {
            return Err(format!("wrong: {name}: {sql}: {error}"));
        }
    }
    Ok(seen)
}
