//! The answer of a query as text, CSV or Parquet.

use crate::failure::Failure;
use crate::table::Table;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::ArrowWriterOptions;
use reticent::{Answer, Cell, Record};
use reticent_numerics::digits::{exact, rounded, rounded_down, rounded_up};

/// The digits after the point with which a half-width has two digits that count.
fn digits_of(half_width: f64) -> usize {
    if half_width > 0.0 && half_width.is_finite() {
        // Between 0 and 12 by the clamp.
        (1.0 - half_width.log10().floor()).clamp(0.0, 12.0) as usize
    } else {
        0
    }
}

/// A half-width with so many digits, never less than it is.
fn width_text(half_width: f64, digits: usize) -> String {
    // At most 12 digits by `digits_of`.
    let unit = 10_f64.powi(digits as i32);
    let up = (half_width * unit).ceil() / unit;
    format!("{:.digits$}", if up >= half_width { up } else { half_width })
}

/// Text on one line of a terminal: what could move its cursor is spelt out.
pub(crate) fn on_one_line(text: &str) -> String {
    let spelt =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(spelt).collect()
}

/// A cell, and its half-width: whole numbers stay whole, others have as many digits as the
/// half-width makes sense of.
fn cell_text(cell: &Cell, half_width: Option<f64>) -> (String, Option<String>) {
    match (cell, half_width) {
        (Cell::Null, _) => ("NULL".to_owned(), None),
        (Cell::String(text), _) => (on_one_line(text), None),
        (Cell::Number(number), Some(width)) if number.is_i64() || number.is_u64() => {
            (number.to_string(), Some(width_text(width, 0)))
        }
        (Cell::Number(number), Some(0.0)) => {
            (exact(number.as_f64().unwrap_or(f64::NAN)), Some("0".to_owned()))
        }
        (Cell::Number(number), Some(width)) => {
            let digits = digits_of(width);
            let value = number.as_f64().unwrap_or(f64::NAN);
            (format!("{value:.digits$}"), Some(width_text(width, digits)))
        }
        (Cell::Number(number), None) => (
            if number.is_f64() {
                rounded(number.as_f64().unwrap_or(f64::NAN))
            } else {
                number.to_string()
            },
            None,
        ),
        (other, _) => (on_one_line(&other.to_string()), None),
    }
}

/// A column as people read it: numbers end, and half-widths begin, at the same column of every
/// line.
fn column_text(record: &Record, index: usize) -> Vec<String> {
    let cells: Vec<(String, Option<String>)> = record
        .rows
        .iter()
        .zip(&record.half_widths)
        .map(|(row, widths)| {
            cell_text(row.get(index).unwrap_or(&Cell::Null), widths.get(index).copied().flatten())
        })
        .collect();
    let length = |text: &String| text.chars().count();
    let values = cells.iter().map(|(value, _)| length(value)).max().unwrap_or(0);
    let widths = cells.iter().filter_map(|(_, width)| width.as_ref().map(length)).max();
    let joined = cells.iter().map(|(value, width)| match (width, widths) {
        (Some(width), Some(widths)) => format!("{value:>values$} ± {width:>widths$}"),
        (None, Some(widths)) => format!("{value:>values$}   {:widths$}", ""),
        _ => value.clone(),
    });
    let numeric = record.data_type(index).is_some_and(|of| of.is_integer() || of.is_floating());
    let name = on_one_line(record.columns.get(index).map_or("", String::as_str));
    let mut column: Vec<String> = std::iter::once(name).chain(joined).collect();
    if numeric {
        let widest = column.iter().map(length).max().unwrap_or(0);
        column.iter_mut().for_each(|cell| *cell = format!("{cell:>widest$}"));
    }
    column
}

/// What is left, as a sentence has it.
fn amount(epsilon: String, delta: f64, delta_text: fn(f64) -> String) -> String {
    if delta > 0.0 {
        format!("epsilon {epsilon}, delta {}", delta_text(delta))
    } else {
        format!("epsilon {epsilon}")
    }
}

/// For people: the table, what it cost and how it was made.
pub fn people(answer: &Answer) -> String {
    let record = &answer.record;
    let mut table = Table::default();
    let columns: Vec<Vec<String>> =
        (0..record.columns.len()).map(|index| column_text(record, index)).collect();
    let line =
        |row: usize| columns.iter().map(move |column| column.get(row).cloned().unwrap_or_default());
    table.heading(line(0));
    for row in 1..=record.rows.len() {
        table.cells(line(row));
    }
    let mut text = table.render();
    if record.rows.is_empty() {
        text.push_str("(no group is shown)\n");
    }
    text.push('\n');
    if record.half_widths.iter().flatten().any(Option::is_some) {
        text.push_str("The exact figure is within ± of the one shown with probability 95%.\n");
    }
    for statistic in &record.mechanisms {
        if let Some(ranks) = &statistic.rank_errors {
            let worst = ranks.iter().copied().fold(0.0, f64::max);
            text.push_str(&format!(
                "The {} are off by at most {} ranks with probability 95%.\n",
                statistic.statistic,
                width_text(worst, 0)
            ));
        }
    }
    if let Some(selection) = &record.selection {
        text.push_str(&format!(
            "Groups with too few people are left out: one with {} is shown as often as not.\n",
            size_of_group(selection.shown_from, selection.rows_of_unit)
        ));
    }
    if answer.stored {
        text.push_str(&format!(
            "Answered before (entry {} of the ledger): nothing was spent.\n",
            record.entry
        ));
    } else {
        text.push_str(&format!(
            "Spent: {}. Left of the budget: {}.\n",
            amount(rounded_up(record.cost.epsilon), record.cost.delta, rounded_up),
            amount(rounded_down(record.remaining.epsilon), record.remaining.delta, rounded_down),
        ));
    }
    text
}

/// CSV: the columns, and after each noisy one its half-width.
pub fn csv(record: &Record) -> Result<String, Failure> {
    let broken = || Failure::Fault("the answer cannot be written as CSV".to_owned());
    let noisy: Vec<bool> = (0..record.columns.len())
        .map(|index| {
            record.half_widths.iter().any(|row| row.get(index).is_some_and(Option::is_some))
        })
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heading = record.columns.iter().zip(&noisy).flat_map(|(name, noisy)| {
        std::iter::once(name.clone()).chain(noisy.then(|| format!("{name} half_width")))
    });
    writer.write_record(heading).map_err(|_| broken())?;
    for (row, widths) in record.rows.iter().zip(&record.half_widths) {
        let cells = row.iter().zip(widths).zip(&noisy).flat_map(|((cell, width), noisy)| {
            let text = match cell {
                Cell::Null => String::new(),
                Cell::String(text) => text.clone(),
                other => other.to_string(),
            };
            let width = noisy.then(|| width.map(|width| width.to_string()).unwrap_or_default());
            std::iter::once(text).chain(width)
        });
        writer.write_record(cells).map_err(|_| broken())?;
    }
    String::from_utf8(writer.into_inner().map_err(|_| broken())?).map_err(|_| broken())
}

/// Parquet: the same columns.
pub fn parquet(answer: &Answer) -> Result<Vec<u8>, Failure> {
    let table = answer.table_with_half_widths()?;
    let mut bytes = Vec::new();
    // Plain Parquet types: readers that do not know the engine's views of text read text.
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    let written = ArrowWriter::try_new_with_options(&mut bytes, table.schema(), options).and_then(
        |mut writer| {
            writer.write(&table)?;
            writer.close()
        },
    );
    written.map_err(|_| Failure::Fault("the answer cannot be written as Parquet".to_owned()))?;
    Ok(bytes)
}

/// How large a group is, in what it is selected by.
pub(crate) fn size_of_group(count: u64, rows_of_unit: u32) -> String {
    match rows_of_unit {
        1 => format!("{count} people"),
        most => format!("{count} rows, at most {most} of a person,"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_the_half_width_makes_sense_of() {
        let shown = |number: f64, width: f64| cell_text(&Cell::from(number), Some(width));
        assert_eq!(shown(4.4331, 0.0171), ("4.433".to_owned(), Some("0.018".to_owned())));
        assert_eq!(shown(237_850.151, 21_570.2), ("237850".to_owned(), Some("21571".to_owned())));
        // Nothing is left out where nothing is in doubt.
        assert_eq!(shown(4.433_500_837, 0.0), ("4.433500837".to_owned(), Some("0".to_owned())));
    }
}
