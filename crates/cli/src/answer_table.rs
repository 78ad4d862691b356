//! The answer of a query as text, CSV or Parquet.

use crate::failure::Failure;
use crate::numbers::rounded;
use crate::table::Table;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use reticent_session::{Cell, Record, Reply};
use std::sync::Arc;

/// A number as people read it: as many digits as its half-width makes sense of.
fn to_width(value: f64, half_width: Option<f64>) -> String {
    let digits = match half_width {
        Some(width) if width > 0.0 && width.is_finite() => (1.0 - width.log10().floor()).clamp(0.0, 12.0),
        _ => return rounded(value),
    };
    // Between 0 and 12 by the line above.
    format!("{value:.*}", digits as usize)
}

fn cell_text(cell: &Cell, half_width: Option<f64>) -> String {
    let value = match cell {
        Cell::Null => return "NULL".to_owned(),
        Cell::String(text) => return text.clone(),
        Cell::Bool(truth) => return truth.to_string(),
        Cell::Number(number) if half_width.is_none() => return number.to_string(),
        other => other.as_f64().unwrap_or(f64::NAN),
    };
    match half_width {
        None => rounded(value),
        Some(width) => format!("{} ± {}", to_width(value, half_width), to_width(width, half_width)),
    }
}

/// For people: the table, what it cost and how it was made.
pub fn people(reply: &Reply) -> String {
    let record = &reply.record;
    let mut table = Table::default();
    table.heading(record.columns.iter().cloned());
    for (row, widths) in record.rows.iter().zip(&record.half_widths) {
        table.cells(row.iter().zip(widths).map(|(cell, width)| cell_text(cell, *width)));
    }
    let mut text = table.render();
    if record.rows.is_empty() {
        text.push_str("(no group is shown)\n");
    }
    text.push('\n');
    if record.half_widths.iter().flatten().any(Option::is_some) {
        text.push_str("± holds the exact figure of the bounded rows with probability 95%.\n");
    }
    if let Some(selection) = &record.selection {
        text.push_str(&format!(
            "Groups are those with enough people: one of {} is shown as often as not.\n",
            selection.shown_from
        ));
    }
    let delta = |delta: f64| if delta > 0.0 { format!(", delta {}", rounded(delta)) } else { String::new() };
    if reply.stored {
        text.push_str(&format!("Answered before (entry {} of the ledger): nothing was spent.\n", record.entry));
    } else {
        text.push_str(&format!(
            "Spent: epsilon {}{}. Left of the budget: epsilon {}{}.\n",
            rounded(record.cost.epsilon),
            delta(record.cost.delta),
            rounded(record.remaining.epsilon),
            delta(record.remaining.delta)
        ));
    }
    text
}

/// CSV: the columns, and after each noisy one its half-width.
pub fn csv(record: &Record) -> Result<String, Failure> {
    let broken = |_| Failure::Fault("the answer cannot be written as CSV".to_owned());
    let noisy = noisy_columns(record);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heading = record.columns.iter().enumerate().flat_map(|(place, name)| {
        std::iter::once(name.clone()).chain(noisy[place].then(|| format!("{name} half_width")))
    });
    writer.write_record(heading).map_err(broken)?;
    for (row, widths) in record.rows.iter().zip(&record.half_widths) {
        let cells = row.iter().zip(widths).enumerate().flat_map(|(place, (cell, width))| {
            let text = match cell {
                Cell::Null => String::new(),
                Cell::String(text) => text.clone(),
                other => other.to_string(),
            };
            let width = noisy[place].then(|| width.map(|width| width.to_string()).unwrap_or_default());
            std::iter::once(text).chain(width)
        });
        writer.write_record(cells).map_err(broken)?;
    }
    let bytes = writer.into_inner().map_err(|_| Failure::Fault("the answer cannot be written as CSV".to_owned()))?;
    String::from_utf8(bytes).map_err(|_| Failure::Fault("the answer cannot be written as CSV".to_owned()))
}

fn noisy_columns(record: &Record) -> Vec<bool> {
    let some = |place: usize| record.half_widths.iter().any(|row| row.get(place).is_some_and(Option::is_some));
    (0..record.columns.len()).map(some).collect()
}

/// Parquet: the same columns.
pub fn parquet(record: &Record) -> Result<Vec<u8>, Failure> {
    let broken = || Failure::Fault("the answer cannot be written as Parquet".to_owned());
    let noisy = noisy_columns(record);
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (place, name) in record.columns.iter().enumerate() {
        let cells = || record.rows.iter().map(move |row| row.get(place));
        let of = record.types.get(place).map_or("", String::as_str);
        let array: ArrayRef = if of.starts_with("Int") || of.starts_with("UInt") {
            Arc::new(cells().map(|cell| cell.and_then(Cell::as_i64)).collect::<Int64Array>())
        } else if of.starts_with("Float") {
            Arc::new(cells().map(|cell| cell.and_then(Cell::as_f64)).collect::<Float64Array>())
        } else if of == "Boolean" {
            Arc::new(cells().map(|cell| cell.and_then(Cell::as_bool)).collect::<BooleanArray>())
        } else {
            Arc::new(cells().map(|cell| cell.and_then(Cell::as_str)).collect::<StringArray>())
        };
        columns.push((name.clone(), array));
        if noisy[place] {
            let widths = record.half_widths.iter().map(|row| row.get(place).copied().flatten());
            columns.push((format!("{name} half_width"), Arc::new(widths.collect::<Float64Array>())));
        }
    }
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .map_err(|_| broken())?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).map_err(|_| broken())?;
    writer.write(&batch).map_err(|_| broken())?;
    writer.close().map_err(|_| broken())?;
    Ok(bytes)
}
