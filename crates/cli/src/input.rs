//! The numbers to release: read completely and checked completely before anything is released.
//!
//! They are private. No message quotes one of them, or any other text of the input: a message names
//! the line.

use crate::failure::Failure;
use csv::ByteRecord;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A table of which one column is released.
#[derive(Debug)]
pub struct CsvTable {
    headers: ByteRecord,
    records: Vec<ByteRecord>,
    column: usize,
    name: String,
}

/// Where a number was read.
///
/// `table` is that of the input, if it was one.
pub fn location(table: Option<&CsvTable>, index: usize) -> String {
    match table {
        None => format!("line {} of the input", index + 1),
        Some(table) => {
            let line = table
                .records
                .get(index)
                .and_then(ByteRecord::position)
                .map_or(0, csv::Position::line);
            format!("column `{}` on line {line} of the file", table.name)
        }
    }
}

/// The cells of a column of a CSV file with a heading, as text without blanks around it.
///
/// # Errors
/// If the file cannot be read, is not a table, or has no such column.
pub fn column_texts(path: &Path, name: &str) -> Result<Vec<String>, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::while_doing("opening the file of --input", &error))?;
    let mut reader = csv::Reader::from_reader(file);
    let headers = reader.byte_headers().map_err(|error| not_a_table(&error))?.clone();
    let column = only_column(&headers, name)?;
    let cells = reader.into_byte_records().map(|record| {
        let record = record.map_err(|error| not_a_table(&error))?;
        let text = String::from_utf8_lossy(record.get(column).unwrap_or_default());
        Ok(text.trim().to_owned())
    });
    cells.collect()
}

/// The column of a name.
fn only_column(headers: &ByteRecord, name: &str) -> Result<usize, Failure> {
    let mut named = headers.iter().enumerate().filter(|(_, header)| *header == name.as_bytes());
    match (named.next(), named.next()) {
        (Some((column, _)), None) => Ok(column),
        (None, _) => Err(Failure::usage(format!(
            "--column is `{name}`, but the first line of the file names no such column"
        ))),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "--column is `{name}`, but the file has several columns of that name"
        ))),
    }
}

/// Numbers from standard input, one on each line.
///
/// # Errors
/// If there are none, or a line is not a finite number.
pub fn numbers_from_standard_input() -> Result<Vec<f64>, Failure> {
    numbers_of_lines(&standard_input()?)
}

/// All of standard input.
///
/// # Errors
/// If it cannot be read.
pub fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::while_doing("reading standard input", &error))?;
    Ok(bytes)
}

/// Numbers, one on each line.
///
/// # Errors
/// If there are none, or a line is not a finite number.
pub fn numbers_of_lines(bytes: &[u8]) -> Result<Vec<f64>, Failure> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Err(Failure::usage(
            "standard input is empty, but it must hold one number on each line (`noise --count N` \
             draws noise without input)",
        ));
    }
    let lines = bytes.split(|&byte| byte == b'\n').enumerate();
    lines.map(|(index, line)| parse(line, || location(None, index))).collect()
}

impl CsvTable {
    /// Reads a file with a heading, and the numbers of one column.
    ///
    /// # Errors
    /// If the file cannot be read, is not a table, has no such column, or if that holds anything
    /// but finite numbers.
    pub fn read(path: &Path, name: &str) -> Result<(Self, Vec<f64>), Failure> {
        let file = File::open(path)
            .map_err(|error| Failure::while_doing("opening the file of --input", &error))?;
        let mut reader = csv::Reader::from_reader(file);
        let headers = reader.byte_headers().map_err(|error| not_a_table(&error))?.clone();
        let column = only_column(&headers, name)?;
        let records = reader
            .into_byte_records()
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| not_a_table(&error))?;
        if records.is_empty() {
            return Err(Failure::usage("the file of --input has a heading but no records"));
        }
        let table = CsvTable { headers, records, column, name: name.to_string() };
        // The reader refuses records of another length than the heading, so that every record has
        // the column.
        let cells =
            table.records.iter().map(|record| record.get(column).unwrap_or_default()).enumerate();
        let numbers = cells
            .map(|(index, cell)| parse(cell, || location(Some(&table), index)))
            .collect::<Result<_, _>>()?;
        Ok((table, numbers))
    }

    /// The cells of another column as text.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let column =
            self.headers.iter().position(|header| header == name.as_bytes()).ok_or_else(|| {
                Failure::usage(format!(
                    "--node-column is `{name}`, but the first line of the file names no such column"
                ))
            })?;
        let cells = self.records.iter().map(|record| record.get(column).unwrap_or_default());
        Ok(cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
    }

    /// How many columns are passed on as they are.
    pub fn other_columns(&self) -> usize {
        self.headers.len() - 1
    }

    /// Writes the table with the column replaced.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(
        &self,
        replaced: impl Iterator<Item = String>,
        stream: &mut dyn io::Write,
    ) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(stream);
        writer.write_byte_record(&self.headers)?;
        for (record, text) in self.records.iter().zip(replaced) {
            let cells = record.iter().enumerate();
            let cells = cells
                .map(|(index, cell)| if index == self.column { text.as_bytes() } else { cell });
            writer.write_record(cells)?;
        }
        writer.flush()
    }
}

/// A finite number from a text that no message may quote.
fn parse(text: &[u8], location: impl Fn() -> String) -> Result<f64, Failure> {
    let refuse = |what: &str| Err(Failure::usage(format!("{} {what}", location())));
    match std::str::from_utf8(text).map(str::trim) {
        Err(_) => refuse("is not UTF-8 text"),
        Ok("") => refuse("is empty, but it must hold a number"),
        Ok(text) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => refuse("is not a finite number"),
            Err(_) => refuse("is not a number"),
        },
    }
}

fn not_a_table(error: &csv::Error) -> Failure {
    let line =
        error.position().map_or(String::new(), |position| format!(" at line {}", position.line()));
    match error.kind() {
        csv::ErrorKind::Io(error) => Failure::while_doing("reading the file of --input", error),
        csv::ErrorKind::UnequalLengths { .. } => {
            Failure::usage(format!("the file of --input has records of different lengths{line}"))
        }
        _ => Failure::usage(format!("the file of --input is not a CSV table{line}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbers_or_named() {
        assert_eq!(numbers_of_lines(b"1\n-2.5e3\r\n 7 \n"), Ok(vec![1.0, -2500.0, 7.0]));
        assert_eq!(numbers_of_lines(b"1"), Ok(vec![1.0]));
        let refused = [
            (&b"1\nsecret\n"[..], "line 2 of the input is not a number"),
            (b"1\n\n3\n", "line 2 of the input is empty, but it must hold a number"),
            (b"nan\n", "line 1 of the input is not a finite number"),
            (b"1\n2\n-inf", "line 3 of the input is not a finite number"),
            (b"1e999", "line 1 of the input is not a finite number"),
            (b"\xff\xfe\n", "line 1 of the input is not UTF-8 text"),
        ];
        for (bytes, message) in refused {
            assert_eq!(numbers_of_lines(bytes), Err(Failure::usage(message)));
        }
        assert!(numbers_of_lines(b"").is_err() && numbers_of_lines(b"\n").is_err());
    }
}
