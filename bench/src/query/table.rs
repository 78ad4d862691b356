//! The table that is asked: people, groups and a number.

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use reticent_noise::randomness::{RandomBits, SeededRandom};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// How large it is.
#[derive(Clone, Copy, Serialize)]
pub struct Shape {
    /// How many rows.
    pub rows: usize,
    /// How many people, each in about `rows / people` rows.
    pub people: u64,
    /// How many groups.
    pub groups: u64,
    /// Whether groups are named by text instead of small numbers, and people by numbers of 64 bits.
    pub text: bool,
}

impl fmt::Display for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.text { "large numbers and text" } else { "small numbers" };
        write!(
            out,
            "{} rows, {} people, {} groups, known by {kind}; COUNT and SUM by group",
            self.rows, self.people, self.groups
        )
    }
}

/// Writes columns `u` (person), `g` (group) and `x` (a number from 0 to 100 with two decimals),
/// independent and uniform, in random order.
pub fn write(file: &Path, shape: Shape) -> Result<(), Box<dyn std::error::Error>> {
    let group_type = if shape.text { DataType::Utf8View } else { DataType::Int64 };
    let schema = Arc::new(Schema::new(vec![
        Field::new("u", DataType::Int64, true),
        Field::new("g", group_type, true),
        Field::new("x", DataType::Float64, true),
    ]));
    let mut writer = ArrowWriter::try_new(File::create(file)?, schema.clone(), None)?;
    let mut random = SeededRandom::new(1);
    let mut words = vec![0; 3 * (1 << 16)];
    let mut left = shape.rows;
    while left > 0 {
        let rows = left.min(1 << 16);
        random.fill(&mut words)?;
        let below = |at: usize, bound: u64| {
            words[at * (1 << 16)..][..rows].iter().map(move |word| word % bound)
        };
        let groups: ArrayRef = if shape.text {
            let names =
                below(1, shape.groups).map(|group| Some(format!("the group with number {group}")));
            Arc::new(StringViewArray::from_iter(names))
        } else {
            Arc::new(Int64Array::from_iter_values(below(1, shape.groups).map(|group| group as i64)))
        };
        // An odd factor keeps people apart.
        let factor: u64 = if shape.text { 0x9e37_79b9_7f4a_7c15 } else { 1 };
        let people = below(0, shape.people).map(|person| person.wrapping_mul(factor) as i64);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(people)),
            groups,
            Arc::new(Float64Array::from_iter_values(below(2, 10_001).map(|x| x as f64 / 100.0))),
        ];
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
        left -= rows;
    }
    writer.close()?;
    Ok(())
}
