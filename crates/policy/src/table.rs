//! A table: where it is, what of it is protected, what is publicly known of its columns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::column::Column;
use crate::error::{FieldPath, PolicyError};
use crate::file::{Sources, TableFile};
use crate::value::{ColumnType, quoted};

/// The file beside the data that notes which ledgers protect it. It is never part of a table.
pub const NOTES: &str = ".reticent-ledgers";

/// The format of a table's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text with a delimiter, also compressed by gzip: `.csv`, `.csv.gz`, `.tsv`, `.tsv.gz`.
    Csv,
    /// Apache Parquet: `.parquet`.
    Parquet,
    /// Arrow IPC files: `.arrow`, `.ipc`, `.feather`.
    Arrow,
}

impl Format {
    /// The name as the policy file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        }
    }
}

/// How CSV files are written, where that cannot be seen from the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CsvOptions {
    /// The byte between fields; without it a comma, or a tab for `.tsv`.
    pub delimiter: Option<u8>,
    /// The names of the columns in order, of files without a header line. Declared columns that are
    /// not among them may be in the names of folders.
    pub header: Option<Vec<String>>,
}

/// What of a table is protected. Neighbouring tables differ by all rows of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// All rows with the same value in a column belong to one unit.
    Unit {
        /// The column; rows in which it is NULL belong to nobody and never count.
        column: String,
        /// The most groups of one answer in which a unit counts: at least 1.
        max_groups: u32,
        /// The most rows of one unit that count in one group: at least 1.
        max_rows: u32,
    },
    /// Each row is a unit.
    EachRow,
    /// Nothing: the table is public.
    Public {
        /// Columns that together identify a row; empty when nothing is known.
        unique: Vec<String>,
    },
}

/// A table that SQL can name.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePolicy {
    name: String,
    source: Vec<String>,
    format: Option<Format>,
    csv: CsvOptions,
    privacy: Privacy,
    columns: Vec<Column>,
}

impl TablePolicy {
    /// Its name, as the policy spells it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Files, glob patterns and folders, relative to the policy file; at least one.
    #[must_use]
    pub fn source(&self) -> &[String] {
        &self.source
    }

    /// The format, if the policy says it; otherwise the endings of the files do.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// How CSV files are written.
    #[must_use]
    pub fn csv(&self) -> &CsvOptions {
        &self.csv
    }

    /// What is protected.
    #[must_use]
    pub fn privacy(&self) -> &Privacy {
        &self.privacy
    }

    /// Whether nothing of the table is protected.
    #[must_use]
    pub fn is_public(&self) -> bool {
        matches!(self.privacy, Privacy::Public { .. })
    }

    /// The most groups of one answer in which a unit counts: 1 where each row is a unit, none for a
    /// public table.
    #[must_use]
    pub fn max_groups(&self) -> Option<u32> {
        match self.privacy {
            Privacy::Unit { max_groups, .. } => Some(max_groups),
            Privacy::EachRow => Some(1),
            Privacy::Public { .. } => None,
        }
    }

    /// The most rows of one unit that count in one group: 1 where each row is a unit, none for a
    /// public table.
    #[must_use]
    pub fn max_rows(&self) -> Option<u32> {
        match self.privacy {
            Privacy::Unit { max_rows, .. } => Some(max_rows),
            Privacy::EachRow => Some(1),
            Privacy::Public { .. } => None,
        }
    }

    /// The column that says to whom a row belongs.
    #[must_use]
    pub fn unit(&self) -> Option<&Column> {
        match &self.privacy {
            Privacy::Unit { column, .. } => self.column(column),
            _ => None,
        }
    }

    /// The columns that SQL can name, in the order of their names.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name, whatever its case: no two columns differ by case alone.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        let folded = name.to_lowercase();
        self.columns.iter().find(|column| column.name().to_lowercase() == folded)
    }

    /// What of this table's policy matters to an answer, in a form that never changes: neither
    /// comments nor the order of fields have a part.
    #[must_use]
    pub fn fingerprint_text(&self) -> String {
        let mut lines = vec![format!("table {}", quoted(&self.name))];
        let mut source = self.source.clone();
        source.sort();
        lines.extend(source.iter().map(|path| format!("source {}", quoted(path))));
        if let Some(format) = self.format {
            lines.push(format!("format {}", format.name()));
        }
        if let Some(delimiter) = self.csv.delimiter {
            lines.push(format!("delimiter {delimiter}"));
        }
        if let Some(header) = &self.csv.header {
            lines.push(format!("header {}", listed(header)));
        }
        lines.push(match &self.privacy {
            Privacy::Unit { column, max_groups, max_rows } => {
                format!("unit {} max_groups {max_groups} max_rows {max_rows}", quoted(column))
            }
            Privacy::EachRow => "each_row".to_owned(),
            Privacy::Public { unique } => {
                let mut unique = unique.clone();
                unique.sort();
                format!("public unique {}", listed(&unique))
            }
        });
        lines.extend(self.columns.iter().map(Column::canonical));
        lines.join("\n") + "\n"
    }

    pub(crate) fn read(name: &str, file: &TableFile) -> Result<TablePolicy, PolicyError> {
        let field = FieldPath::top("tables").at(name);
        check_name(name, &field)?;
        let source = read_source(&file.source, &field.at("source"))?;
        let columns = read_columns(file, &field)?;
        let table = TablePolicy {
            name: name.to_owned(),
            source,
            format: file.format,
            csv: read_csv(file, &field)?,
            privacy: read_privacy(file, &columns, &field)?,
            columns,
        };
        table.check_columns(&field.at("columns"))?;
        Ok(table)
    }

    /// What a column may say depends on what is protected.
    fn check_columns(&self, field: &FieldPath) -> Result<(), PolicyError> {
        for column in &self.columns {
            let field = field.at(column.name());
            if column.unit_bounds().is_some() && !matches!(self.privacy, Privacy::Unit { .. }) {
                return Err(field.at("unit_bounds").invalid(
                    "[..]",
                    "it bounds the sum of one unit's rows and needs a table with `unit`; use \
                     `bounds` here",
                ));
            }
        }
        let Some(unit) = self.unit() else { return Ok(()) };
        let field = field.at(unit.name());
        if !matches!(unit.kind(), ColumnType::Integer | ColumnType::Text) {
            return Err(field
                .at("type")
                .invalid(unit.kind(), "the unit is identified by an integer or a text"));
        }
        if unit.bounds().is_some() || unit.values().is_some() || unit.unit_bounds().is_some() {
            return Err(field.invalid(
                "bounds or values",
                "the column of the unit has neither `bounds` nor `values` nor `unit_bounds`: it \
                 identifies people and is never released",
            ));
        }
        Ok(())
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(" ")
}

/// The longest name of a table.
const LONGEST_NAME: usize = 128;

/// What names of tables do not begin with: queries are rewritten with tables of such names, of
/// released figures for example.
const RESERVED: &str = "__";

fn check_name(name: &str, field: &FieldPath) -> Result<(), PolicyError> {
    let first = name.bytes().next();
    let fine = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(RESERVED);
    if fine {
        return Ok(());
    }
    Err(field.invalid(
        quoted(name),
        "the name of a table has letters, digits and underscores, begins with no digit and not \
         with two underscores, and has at most 128 \
         characters",
    ))
}

/// The most paths of one table; a folder or a pattern stands for any number of files.
const MOST_PATHS: usize = 10_000;

fn read_source(sources: &Sources, field: &FieldPath) -> Result<Vec<String>, PolicyError> {
    let paths = match sources {
        Sources::One(path) => vec![path.clone()],
        Sources::Several(paths) => paths.clone(),
    };
    if paths.is_empty() || paths.len() > MOST_PATHS {
        return Err(field.invalid(
            format!("a list of {} paths", paths.len()),
            format!("1 to {MOST_PATHS} paths of files, glob patterns or folders"),
        ));
    }
    for (index, path) in paths.iter().enumerate() {
        if path.is_empty() || path.contains('\0') {
            let field =
                if matches!(sources, Sources::One(_)) { field.clone() } else { field.item(index) };
            return Err(
                field.invalid(quoted(path), "the path of a file, a glob pattern or a folder")
            );
        }
    }
    Ok(paths)
}

fn read_columns(file: &TableFile, field: &FieldPath) -> Result<Vec<Column>, PolicyError> {
    let field = field.at("columns");
    let mut folded_names = BTreeMap::new();
    let mut columns = Vec::with_capacity(file.columns.len());
    for (name, column) in &file.columns {
        columns.push(Column::read(name, column, &field.at(name))?);
        if let Some(earlier) = folded_names.insert(name.to_lowercase(), name) {
            return Err(field.at(name).invalid(
                quoted(name),
                format!(
                    "a name that differs by more than case from {}: SQL does not tell them apart",
                    quoted(earlier)
                ),
            ));
        }
    }
    if columns.is_empty() {
        return Err(field.missing(
            "declare each column that SQL may name, for example `columns.age.type = \"integer\"`",
        ));
    }
    Ok(columns)
}

fn read_csv(file: &TableFile, field: &FieldPath) -> Result<CsvOptions, PolicyError> {
    if let Some(format) = file.format.filter(|format| *format != Format::Csv) {
        for (name, given) in
            [("delimiter", file.delimiter.is_some()), ("header", file.header.is_some())]
        {
            if given {
                return Err(field
                    .at(name)
                    .invalid("..", format!("it is for CSV, and format = \"{}\"", format.name())));
            }
        }
    }
    let delimiter = match file.delimiter.as_deref().map(|text| (text, text.as_bytes())) {
        None => None,
        Some((_, [byte])) if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | 0) => {
            Some(*byte)
        }
        Some((text, _)) => {
            return Err(field.at("delimiter").invalid(
                quoted(text),
                "one ASCII character that is neither a quotation mark nor a line break",
            ));
        }
    };
    if let Some(header) = &file.header {
        let field = field.at("header");
        for (index, name) in header.iter().enumerate() {
            if header[..index].contains(name) {
                return Err(field
                    .item(index)
                    .invalid(quoted(name), "a name that is not in the list already"));
            }
        }
    }
    Ok(CsvOptions { delimiter, header: file.header.clone() })
}

fn read_privacy(
    file: &TableFile,
    columns: &[Column],
    field: &FieldPath,
) -> Result<Privacy, PolicyError> {
    let (unit, each_row, public) =
        (file.unit.as_ref(), file.each_row == Some(true), file.public == Some(true));
    let protections = "exactly one of `unit = \"column\"` (all rows of a person are protected \
        together), \
                       `each_row = true` (nobody is in two rows) and `public = true`";
    match usize::from(unit.is_some()) + usize::from(each_row) + usize::from(public) {
        0 => return Err(field.at("unit").missing(protections)),
        1 => {}
        _ => {
            let given = [("unit", unit.is_some()), ("each_row", each_row), ("public", public)];
            let given: Vec<&str> =
                given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
            return Err(field.invalid(given.join(" and "), protections));
        }
    }
    if let Some(unique) = file.unique.as_ref().filter(|_| !public) {
        return Err(field
            .at("unique")
            .invalid(listed(unique), "it describes a table with `public = true`"));
    }
    let Some(unit) = unit else {
        for (name, given) in [("max_groups", file.max_groups), ("max_rows", file.max_rows)] {
            if let Some(number) = given {
                let why =
                    if public { "a public table has no limit" } else { "with `each_row` it is 1" };
                return Err(field
                    .at(name)
                    .invalid(number, format!("it belongs to a table with `unit`; {why}")));
            }
        }
        if each_row {
            return Ok(Privacy::EachRow);
        }
        return Ok(Privacy::Public { unique: read_unique(file, columns, field)? });
    };
    Ok(Privacy::Unit {
        column: declared(unit, columns, &field.at("unit"))?,
        max_groups: read_limit(
            file.max_groups,
            "the most groups of one answer in which one unit counts",
            &field.at("max_groups"),
        )?,
        max_rows: read_limit(
            file.max_rows,
            "the most rows of one unit that count in one group",
            &field.at("max_rows"),
        )?,
    })
}

fn read_unique(
    file: &TableFile,
    columns: &[Column],
    field: &FieldPath,
) -> Result<Vec<String>, PolicyError> {
    let field = field.at("unique");
    let mut unique = Vec::new();
    for (index, name) in file.unique.iter().flatten().enumerate() {
        let name = declared(name, columns, &field.item(index))?;
        if unique.contains(&name) {
            return Err(field
                .item(index)
                .invalid(quoted(&name), "a column that is not in the list already"));
        }
        unique.push(name);
    }
    Ok(unique)
}

/// The name as it is declared.
fn declared(name: &str, columns: &[Column], field: &FieldPath) -> Result<String, PolicyError> {
    match columns.iter().find(|column| column.name() == name) {
        Some(column) => Ok(column.name().to_owned()),
        None => {
            let names: Vec<String> = columns.iter().map(|column| quoted(column.name())).collect();
            Err(field
                .invalid(quoted(name), format!("a column that is declared: {}", names.join(", "))))
        }
    }
}

fn read_limit(written: Option<i64>, meaning: &str, field: &FieldPath) -> Result<u32, PolicyError> {
    let Some(number) = written else {
        return Err(field.missing(format!("{meaning}, a whole number from 1")));
    };
    match u32::try_from(number) {
        Ok(limit) if limit >= 1 => Ok(limit),
        _ => {
            Err(field.invalid(number, format!("{meaning}, a whole number from 1 to {}", u32::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TablePolicy, String> {
        let file: TableFile = toml::from_str(text).map_err(|error| error.to_string())?;
        TablePolicy::read("t", &file).map_err(|error| error.to_string())
    }

    const COLUMNS: &str =
        "columns.id.type = 'integer'\ncolumns.Age = { type = 'integer', bounds = [0, 120] }\n";

    fn with(text: &str) -> Result<TablePolicy, String> {
        read(&format!("{text}\n{COLUMNS}"))
    }

    #[test]
    fn each_protection_has_its_limits() {
        let unit =
            with("source = 'a.csv'\nunit = 'id'\nmax_groups = 2\nmax_rows = 3").expect("fine");
        assert_eq!(
            (unit.max_groups(), unit.max_rows(), unit.is_public()),
            (Some(2), Some(3), false)
        );
        assert_eq!(unit.unit().map(Column::name), Some("id"));
        assert_eq!(unit.column("AGE").map(Column::name), Some("Age"));
        let rows =
            with("source = ['a.csv', 'b/*.csv']\neach_row = true\npublic = false").expect("fine");
        assert_eq!((rows.max_groups(), rows.max_rows(), rows.unit()), (Some(1), Some(1), None));
        let public =
            with("source = 'a'\npublic = true\nunique = ['id']\ndelimiter = ';'").expect("fine");
        assert_eq!(
            (public.max_groups(), public.max_rows(), public.is_public()),
            (None, None, true)
        );
        assert_eq!(public.csv().delimiter, Some(b';'));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (text, expected) in [
            ("source = 'a'", "tables.t.unit is missing: exactly one of"),
            (
                "source = 'a'\nunit = 'id'\neach_row = true",
                "tables.t = unit and each_row is not accepted",
            ),
            ("source = 'a'\neach_row = true\npublic = true", "each_row and public"),
            ("source = 'a'\nunit = 'id'\nmax_rows = 1", "tables.t.max_groups is missing"),
            ("source = 'a'\nunit = 'id'\nmax_groups = 1", "tables.t.max_rows is missing"),
            ("source = 'a'\nunit = 'id'\nmax_groups = 0\nmax_rows = 1", "tables.t.max_groups = 0"),
            (
                "source = 'a'\nunit = 'id'\nmax_groups = 1\nmax_rows = 4294967296",
                "tables.t.max_rows = 4294967296",
            ),
            (
                "source = 'a'\nunit = 'who'\nmax_groups = 1\nmax_rows = 1",
                "a column that is declared: \"Age\", \"id\"",
            ),
            (
                "source = 'a'\nunit = 'Age'\nmax_groups = 1\nmax_rows = 1",
                "tables.t.columns.Age = bounds or values",
            ),
            ("source = 'a'\neach_row = true\nmax_rows = 1", "with `each_row` it is 1"),
            ("source = 'a'\npublic = true\nmax_groups = 1", "a public table has no limit"),
            ("source = 'a'\neach_row = true\nunique = ['id']", "tables.t.unique"),
            ("source = 'a'\npublic = true\nunique = ['id', 'id']", "tables.t.unique[1]"),
            ("source = ''\neach_row = true", "tables.t.source = \"\""),
            ("source = ['a', '']\neach_row = true", "tables.t.source[1] = \"\""),
            ("source = []\neach_row = true", "a list of 0 paths"),
            ("source = 5\neach_row = true", "a path in quotation marks, or a list of them"),
            ("source = 'a'\neach_row = true\ndelimiter = ';;'", "tables.t.delimiter = \";;\""),
            ("source = 'a'\neach_row = true\ndelimiter = '\"'", "tables.t.delimiter"),
            ("source = 'a'\neach_row = true\nformat = 'parquet'\ndelimiter = ';'", "it is for CSV"),
            ("source = 'a'\neach_row = true\nheader = ['id', 'Age', 'id']", "tables.t.header[2]"),
            (
                "source = 'a'\neach_row = true\nformat = 'xlsx'",
                "expected one of `csv`, `parquet`, `arrow`",
            ),
        ] {
            let message = with(text).expect_err(text);
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }

    #[test]
    fn columns_are_judged_with_their_table() {
        for (text, expected) in [
            ("source = 'a'\neach_row = true", "tables.t.columns is missing"),
            (
                "source = 'a'\neach_row = true\ncolumns.a.type = 'text'\ncolumns.A.type = 'text'",
                "SQL does not tell them apart",
            ),
            (
                "source = 'a'\neach_row = true\ncolumns.a = { type = 'real', unit_bounds = [0, 1] \
                 }",
                "use `bounds` here",
            ),
            (
                "source = 'a'\nunit = 'a'\nmax_groups = 1\nmax_rows = 1\ncolumns.a.type = 'real'",
                "an integer or a text",
            ),
            (
                "source = 'a'\nunit = 'a'\nmax_groups = 1\nmax_rows = 1\ncolumns.a.type = \
                 'boolean'",
                "an integer or a text",
            ),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(expected), "{message}");
        }
        let file: TableFile =
            toml::from_str(&format!("source = 'a'\neach_row = true\n{COLUMNS}")).expect("a table");
        for name in ["", "1st", "a b", "a.b", "tablé", &"x".repeat(129)] {
            assert!(TablePolicy::read(name, &file).is_err(), "{name:?}");
        }
    }
}
