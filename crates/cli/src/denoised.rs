//! What `denoise` reads, and what it says and writes.

use crate::AnswerFormat;
use crate::answer_table::on_one_line;
use crate::failure::Failure;
use crate::input::{CsvTable, numbers_of_lines, standard_input};
use crate::output::Output;
use crate::table::Table;
use reticent::{GroupsRecord, ReleaseFile, ReleaseRecord};
use reticent_denoising::{Denoised, NoiseDescription, RiskEstimate};
use reticent_numerics::digits::{exact, rounded};
use serde::Serialize;
use std::path::Path;

/// What was done, besides the values.
#[derive(Debug, Serialize)]
struct Account<'a> {
    method: &'a str,
    risk_before: Option<f64>,
    risk_after: Option<RiskEstimate>,
    assumptions: &'a [String],
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<ReleaseRecord>,
    denoised: Account<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<GroupsRecord>,
    values: &'a [f64],
}

/// What was read: values, and what came with them.
#[derive(Debug)]
pub struct Given {
    /// The released values.
    pub values: Vec<f64>,
    /// The CSV table that they are a column of.
    pub table: Option<CsvTable>,
    /// What released them, if a file says it.
    pub record: Option<ReleaseRecord>,
    /// The column of a query's answer, and its groups.
    pub of_query: Option<(String, GroupsRecord)>,
}

/// A release file, the answer of a query, a column of a CSV file, or numbers.
///
/// # Errors
/// If it cannot be read or is none of these.
pub fn read(input: Option<&Path>, column: Option<&str>) -> Result<Given, Failure> {
    let bytes = match input {
        Some(path) => std::fs::read(path)
            .map_err(|error| Failure::while_doing("reading the file of --input", &error))?,
        None => standard_input()?,
    };
    if ReleaseFile::looks_like_one(&bytes) {
        let (file, of_query) = ReleaseFile::read(&bytes, column)?;
        let (values, record) = (file.values, Some(file.release));
        return Ok(Given { values, table: None, record, of_query });
    }
    let (values, table) = match (input, column) {
        (Some(path), Some(name)) => {
            let (table, values) = CsvTable::read(path, name)?;
            (values, Some(table))
        }
        (None, Some(_)) => {
            return Err(Failure::usage(
                "--column of a CSV table needs --input: give the file's name",
            ));
        }
        (_, None) => (numbers_of_lines(&bytes)?, None),
    };
    Ok(Given { values, table, record: None, of_query: None })
}

/// The noise of a release file.
///
/// # Errors
/// If its values are not numbers plus noise.
pub fn noise_of(record: &ReleaseRecord) -> Result<NoiseDescription, Failure> {
    if record.clamp.is_some() {
        return Err(Failure::usage(
            "the values of the release file were clamped after noise was added, so that they are \
             no longer a number plus noise; release without --clamp and denoise with --within",
        ));
    }
    Ok(NoiseDescription::of_event(&record.event)?)
}

/// What is said on standard error.
pub fn statement(denoised: &Denoised) -> String {
    let mut lines = vec![format!("Method: {}.", denoised.method)];
    lines.push(match (denoised.risk_before.is_finite(), &denoised.risk_after) {
        (false, _) => "Risk: infinite before, and not estimated after.".to_string(),
        (true, None) => {
            format!(
                "Risk: {} before; after, no estimate is known that would hold.",
                rounded(denoised.risk_before)
            )
        }
        (true, Some(after)) => {
            let kind = if after.unbiased { "unbiased" } else { "not unbiased" };
            let (value, error) = (rounded(after.value), rounded(after.standard_error));
            format!(
                "Risk: {} before, {value} after (estimated, {kind}, standard error {error}).",
                rounded(denoised.risk_before)
            )
        }
    });
    lines.extend(denoised.assumptions.iter().map(|assumption| format!("Assumed: {assumption}.")));
    lines.join("\n") + "\n"
}

/// A key of a group as text: nothing for NULL in CSV, the word in a table.
fn key(cell: &serde_json::Value, null: &str) -> String {
    match cell {
        serde_json::Value::Null => null.to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Writes the denoised values as what they came as: a CSV table with its column replaced, a table
/// of groups and values, or one number on each line; or all that is known as JSON.
///
/// # Errors
/// If standard output cannot be written to, or the format is not offered.
pub fn write(
    denoised: &Denoised,
    given: Given,
    format: AnswerFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    let Given { table, record, of_query, .. } = given;
    let (column, groups) = of_query.unzip();
    let texts = || denoised.values.iter().map(|value| exact(*value));
    let heading = column.clone().unwrap_or_else(|| "value".to_owned());
    if format == AnswerFormat::Json {
        return output.json(&Answer {
            release: record,
            denoised: Account {
                method: &denoised.method,
                risk_before: denoised.risk_before.is_finite().then_some(denoised.risk_before),
                risk_after: denoised.risk_after,
                assumptions: &denoised.assumptions,
            },
            column,
            groups,
            values: &denoised.values,
        });
    }
    match (format, table, groups) {
        (AnswerFormat::Parquet | AnswerFormat::Json, ..) => Err(Failure::usage(
            "--format parquet is for `reticent query`: table, csv and json are accepted here",
        )),
        (AnswerFormat::Table | AnswerFormat::Csv, Some(table), _) => {
            output.write(|stream| table.write(texts(), stream))
        }
        (AnswerFormat::Table, None, Some(groups)) => {
            let mut table = Table::default();
            table.heading(groups.columns.iter().cloned().chain([heading]));
            for (row, value) in groups.rows.iter().zip(&denoised.values) {
                let keys = row.iter().map(|cell| on_one_line(&key(cell, "NULL")));
                table.cells(keys.chain([rounded(*value)]));
            }
            output.text(&table.render())
        }
        (AnswerFormat::Table, None, None) => {
            output.write(|stream| texts().try_for_each(|text| writeln!(stream, "{text}")))
        }
        (AnswerFormat::Csv, None, groups) => output.write(|stream| {
            let mut writer = csv::Writer::from_writer(stream);
            let names = groups.iter().flat_map(|groups| &groups.columns);
            writer.write_record(names.chain([&heading]))?;
            for (index, text) in texts().enumerate() {
                let row = groups.as_ref().and_then(|groups| groups.rows.get(index));
                let keys = row.into_iter().flatten().map(|cell| key(cell, ""));
                writer.write_record(keys.chain([text]))?;
            }
            writer.flush()
        }),
    }
}
