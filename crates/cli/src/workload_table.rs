//! A released workload as people and spreadsheets read it.

use crate::answer_table::on_one_line;
use crate::failure::Failure;
use crate::table::Table;
use reticent::{Cell, MarginalRecord, WorkloadAnswer, WorkloadRecord};
use reticent_numerics::digits::{rounded_down, rounded_up};

/// The most rows that are printed for people.
const MOST_ROWS: usize = 2000;

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The values of the attributes of each cell of a table, in its order.
fn keys<'a>(record: &'a WorkloadRecord, table: &MarginalRecord) -> Vec<Vec<&'a Cell>> {
    let lists: Vec<&[Cell]> = table
        .attributes
        .iter()
        .filter_map(|name| record.attributes.iter().find(|attribute| attribute.name == *name))
        .map(|attribute| attribute.values.as_slice())
        .collect();
    let mut repeat = table.values.len();
    let strides: Vec<usize> = lists
        .iter()
        .map(|list| {
            repeat = repeat.checked_div(list.len()).unwrap_or(0);
            repeat
        })
        .collect();
    (0..table.values.len())
        .map(|cell| {
            let one = lists.iter().zip(&strides);
            one.filter_map(|(list, stride)| list.get(cell / stride.max(&1) % list.len())).collect()
        })
        .collect()
}

/// A value and its half-width with as many decimals as the half-width deserves.
fn figure(value: f64, half_width: Option<f64>) -> String {
    let decimals = match half_width {
        Some(width) if width < 0.2 => 3,
        Some(width) if width < 2.0 => 2,
        Some(width) if width < 20.0 => 1,
        Some(_) => 0,
        None if value.fract() == 0.0 => 0,
        None => 1,
    };
    let shown = format!("{value:.decimals$}");
    match half_width {
        // Rounded up: what is shown is rounded too, by at most half a unit of its last place.
        Some(width) => {
            let unit = 10f64.powi(decimals as i32);
            format!("{shown} ± {:.decimals$}", (width * unit + 0.5).ceil() / unit)
        }
        None => shown,
    }
}

/// For people: the tables, what they cost and how good they are.
pub fn people(answer: &WorkloadAnswer) -> String {
    let record = &answer.record;
    let mut text = String::new();
    let mut left = MOST_ROWS;
    for table in &record.tables {
        if table.values.len() > left {
            let cells: usize = record.tables.iter().map(|table| table.values.len()).sum();
            text.push_str(&format!(
                "... of {} tables with {cells} cells: --format csv or json has all of them\n\n",
                record.tables.len()
            ));
            break;
        }
        left -= table.values.len();
        let mut rows = Table::default();
        let names = table.attributes.iter().map(|name| on_one_line(name));
        rows.heading(names.chain(std::iter::once("count".to_owned())));
        for (key, value) in keys(record, table).iter().zip(&table.values) {
            let cells = key.iter().map(|cell| on_one_line(&cell_text(cell)));
            rows.cells(cells.chain(std::iter::once(figure(*value, table.half_width))));
        }
        text.push_str(&rows.render());
        text.push('\n');
    }
    if !record.answers.is_empty() {
        let mut rows = Table::with_heading(&["query", "answer"]);
        for answer in record.answers.iter().take(left) {
            rows.row([on_one_line(&answer.query), figure(answer.value, answer.half_width)]);
        }
        text.push_str(&rows.render());
        if record.answers.len() > left {
            let more = record.answers.len() - left;
            text.push_str(&format!("... and {more} more: --format csv or json has all of them\n"));
        }
        text.push('\n');
    }
    let widths = record.tables.iter().any(|table| table.half_width.is_some())
        || record.answers.iter().any(|answer| answer.half_width.is_some());
    if widths {
        text.push_str("The exact figure is within ± of the one shown with probability 95%.\n");
    }
    if let Some(error) = record.expected_error {
        text.push_str(&format!("Expected error: {} (root mean square)", rounded_up(error.rmse)));
        if let Some(ratio) = error.ratio {
            text.push_str(&format!(
                ", at most {} times the least of any Gaussian strategy of this cost",
                rounded_up(ratio)
            ));
        }
        text.push_str(".\n");
    }
    text.push_str(&format!("Strategy: {}. Why: {}.\n", record.strategy, record.reason));
    if answer.stored {
        text.push_str(&format!(
            "Answered before (entry {} of the ledger): nothing was spent.\n",
            record.entry
        ));
    } else {
        let delta = |delta: f64, text: fn(f64) -> String| {
            if delta > 0.0 { format!(", delta {}", text(delta)) } else { String::new() }
        };
        text.push_str(&format!(
            "Spent: epsilon {}{}. Left of the budget: epsilon {}{}.\n",
            rounded_up(record.cost.epsilon),
            delta(record.cost.delta, rounded_up),
            rounded_down(record.remaining.epsilon),
            delta(record.remaining.delta, rounded_down),
        ));
    }
    text
}

/// CSV: one row for each cell, with the name of its table, a column for each attribute (empty where
/// the table does not have it), the count and its half-width; or one row for each query.
pub fn csv(record: &WorkloadRecord) -> Result<String, Failure> {
    let broken = || Failure::Fault("the answer cannot be written as CSV".to_owned());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let width = |width: Option<f64>| width.map(|width| width.to_string()).unwrap_or_default();
    if record.tables.is_empty() {
        writer.write_record(["query", "answer", "half_width"]).map_err(|_| broken())?;
        for answer in &record.answers {
            let value = answer.value.to_string();
            let row = [answer.query.clone(), value, width(answer.half_width)];
            writer.write_record(row).map_err(|_| broken())?;
        }
    } else {
        let names = record.attributes.iter().map(|attribute| attribute.name.as_str());
        let heading = std::iter::once("table").chain(names).chain(["count", "half_width"]);
        writer.write_record(heading).map_err(|_| broken())?;
        for table in &record.tables {
            let name = if table.attributes.is_empty() {
                "total".to_owned()
            } else {
                table.attributes.join(", ")
            };
            for (key, value) in keys(record, table).iter().zip(&table.values) {
                let mut row = vec![name.clone()];
                for attribute in &record.attributes {
                    let own = table.attributes.iter().position(|name| *name == attribute.name);
                    let cell = own.and_then(|index| key.get(index));
                    row.push(cell.map_or_else(String::new, |cell| cell_text(cell)));
                }
                row.extend([value.to_string(), width(table.half_width)]);
                writer.write_record(row).map_err(|_| broken())?;
            }
        }
    }
    String::from_utf8(writer.into_inner().map_err(|_| broken())?).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_keeps_the_claim() {
        assert_eq!(figure(1234.56, Some(3.21)), "1234.6 ± 3.3");
        assert_eq!(figure(1234.56, Some(321.0)), "1235 ± 322");
        assert_eq!(figure(12.0, None), "12");
        assert_eq!(figure(-1.26, None), "-1.3");
        for (value, width) in [(10.04, 3.26), (0.449, 0.101), (99.5, 20.4), (7.449999, 1.999)] {
            let shown = figure(value, Some(width));
            let (left, right) = shown.split_once(" ± ").expect("both");
            let (left, right): (f64, f64) =
                (left.parse().unwrap_or(0.0), right.parse().unwrap_or(0.0));
            assert!(left - right <= value - width && left + right >= value + width, "{shown}");
        }
    }
}
