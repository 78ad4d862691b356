//! A policy to begin with, from names and types alone.

use std::fmt::Write;
use std::path::Path;

use arrow::datatypes::DataType;
use reticent_policy::{ColumnType, CsvOptions, Format, fill_in};

use crate::{DataFile, SourceError, columns_of, find};

/// A draft of a policy for a file, a folder or a glob pattern, beside which it is meant to be kept:
/// names of columns, types where the files' schemas have them, and marks where a person must say
/// what is publicly known. It does not load before every mark is replaced.
///
/// Of a CSV file only the header line is read, of the others the schema; of a folder those columns
/// are drafted that all its files have, and those that are in the names of folders, as `year` in
/// `year=2024`. Guessing a type or a bound from rows or from names of folders would put private
/// facts into a file that is not private.
///
/// # Errors
/// If a file cannot be read, or its format cannot be seen from its name; if there is none.
pub fn draft(path: &Path) -> Result<String, SourceError> {
    // A folder may be given by a name that says nothing, as `.` does.
    let path = if path.is_dir() { path.canonicalize() } else { Ok(path.to_owned()) }
        .map_err(|error| SourceError::unreadable(path, &error))?;
    let source = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let table = table_name(&source);
    let (format, files) =
        find(&table, std::slice::from_ref(&source), None, path.parent().unwrap_or(Path::new("")))?;
    let columns = columns_of_all(&files, format)?;
    if columns.is_empty() {
        return Err(SourceError::NoColumns { path });
    }
    Ok(written(&source, &table, &columns))
}

/// The columns that all files have, with their types if these are stated and agree, and then those
/// in the names of folders.
fn columns_of_all(
    files: &[DataFile],
    format: Format,
) -> Result<Vec<(String, Option<ColumnType>)>, SourceError> {
    let mut common: Option<Vec<(String, Option<ColumnType>)>> = None;
    for file in files {
        let Some(found) = columns_of(file, format, &CsvOptions::default())? else { continue };
        let describable = found.into_iter().filter_map(|(name, of)| match of {
            None => Some((name, None)),
            Some(of) => type_of(&of).map(|kind| (name, Some(kind))),
        });
        let found: Vec<_> = describable.collect();
        common = Some(match common {
            None => found,
            Some(mut known) => {
                known.retain_mut(|(name, kind)| {
                    let other = found.iter().find(|(other, _)| other == name);
                    *kind =
                        kind.filter(|kind| other.is_some_and(|(_, other)| *other == Some(*kind)));
                    other.is_some()
                });
                known
            }
        });
    }
    let mut columns = common.unwrap_or_default();
    let mut in_folders: Vec<&str> = Vec::new();
    for name in files.iter().flat_map(DataFile::columns) {
        if !in_folders.contains(&name) {
            in_folders.push(name);
        }
    }
    columns.retain(|(name, _)| !in_folders.contains(&name.as_str()));
    columns.extend(in_folders.into_iter().map(|name| (name.to_owned(), None)));
    Ok(columns)
}

/// The policy's type that fits a file's type best; none for types that a policy cannot describe.
fn type_of(found: &DataType) -> Option<ColumnType> {
    match found {
        DataType::Dictionary(_, values) => type_of(values),
        DataType::Boolean => Some(ColumnType::Boolean),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(ColumnType::Text),
        DataType::Date32 | DataType::Date64 => Some(ColumnType::Date),
        DataType::Timestamp(..) => Some(ColumnType::Timestamp),
        found if found.is_integer() => Some(ColumnType::Integer),
        found if found.is_floating() || found.is_decimal() => Some(ColumnType::Real),
        _ => None,
    }
}

/// A name for SQL from a file's name.
fn table_name(file: &str) -> String {
    let stem = file.split('.').next().unwrap_or_default();
    let mut name: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    name.truncate(64);
    if name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
        name.insert_str(0, "table_");
    }
    name
}

fn written(source: &str, table: &str, columns: &[(String, Option<ColumnType>)]) -> String {
    let mut text = format!(
        "# A draft, from the names and types of the columns; no row was read.\n\
         # Replace every \"FILL IN\" from public knowledge: what one may know without having seen \
         the data.\n\
         # A bound or a list of values taken from the data gives the data away, and no noise \
         covers it.\n\
         # Delete the columns that no query needs: what is not declared here is invisible.\n\
         \n\
         # Where what was spent is remembered; beside this file unless it says otherwise.\n\
         # ledger = \"policy.ledger\"\n\
         # `reticent ledger create --policy THIS_FILE` makes it, once. It must never be deleted: \
         it is all that knows what was spent.\n\
         \n\
         [budget]\n\
         # The privacy loss of all queries together. 1 is careful, 10 is weak.\n\
         epsilon = {epsilon}\n\
         # The probability with which it may be exceeded: far below 1 divided by the number of \
         people. 0 is possible,\n\
         # but then only groups of public values can be shown.\n\
         delta = {delta}\n\
         # What a query costs unless it says otherwise; without these a tenth and a hundredth of \
         the above.\n\
         # query_epsilon = 0.1\n\
         # query_delta = 1e-8\n\
         # The least epsilon that a query may ask for; without this a ten-thousandth of epsilon.\n\
         # min_query_epsilon = 1e-4\n\
         \n\
         [tables.{table}]\n\
         source = {source}\n\
         # To whom a row belongs. Or, if nobody is in two rows, `each_row = true` instead of these \
         three lines;\n\
         # or, if the table holds nothing private, `public = true`.\n\
         unit = {unit}\n\
         # In how many groups of one answer a person counts at most, and with how many rows in \
         each.\n\
         # Small numbers cut off those who have more; large ones mean more noise for everybody.\n\
         max_groups = {groups}\n\
         max_rows = {rows}\n",
        epsilon = fill_in("a number such as 1"),
        delta = fill_in("a number such as 1e-6"),
        source = quoted(source),
        unit = fill_in("the column that identifies a person"),
        groups = fill_in("a whole number from 1"),
        rows = fill_in("a whole number from 1"),
    );
    for (name, kind) in columns {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[tables.{table}.columns.{}]\n", quoted(name));
        text += &described(*kind);
    }
    text
}

fn described(kind: Option<ColumnType>) -> String {
    let values = "# values = [..]  # the values that are publicly known, so that their groups are \
        always shown\n";
    match kind {
        None => format!(
            "type = {}\n# bounds = [lowest, highest]  # numbers, dates and moments; needed for \
             sums, averages and quantiles\n{values}",
            fill_in("integer, real, text, boolean, date or timestamp")
        ),
        Some(ColumnType::Text) => format!("type = \"text\"\n{values}"),
        Some(ColumnType::Boolean) => "type = \"boolean\"\n".to_owned(),
        Some(kind) => {
            let example = match kind {
                ColumnType::Date => "2000-01-01, 2030-12-31",
                ColumnType::Timestamp => "2000-01-01T00:00:00Z, 2030-12-31T23:59:59Z",
                ColumnType::Integer | ColumnType::Real | ColumnType::Text | ColumnType::Boolean => {
                    "0, 100"
                }
            };
            format!(
                "type = \"{kind}\"\nbounds = {}\n",
                fill_in(&format!(
                    "[lowest, highest] as in [{example}], or delete this line if it is only a key"
                ))
            )
        }
    }
}

/// A TOML string: JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, Schema, TimeUnit};
    use parquet::arrow::ArrowWriter;
    use reticent_policy::{Policy, PolicyError};

    use super::*;

    fn open_fields(text: &str) -> Vec<String> {
        match Policy::parse(text, Path::new("policy.toml")) {
            Err(PolicyError::Unfinished { fields }) => fields
                .iter()
                .map(|field| field.split(':').next().unwrap_or_default().to_owned())
                .collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn a_csv_file_gives_its_header_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("2024 Visits.csv");
        std::fs::write(&path, "patient,\"cost, in \"\"€\"\"\"\nAlice,17\n").expect("written");
        let text = draft(&path).expect("a draft");
        assert!(
            text.contains("[tables.table_2024_visits]\nsource = \"2024 Visits.csv\"\n"),
            "{text}"
        );
        assert!(
            text.contains("columns.\"patient\"") && !text.contains("Alice") && !text.contains("17"),
            "{text}"
        );
        let open = open_fields(&text);
        assert!(
            open.contains(&"tables.table_2024_visits.columns.patient.type".to_owned()),
            "{open:?}"
        );
        assert_eq!(open.len(), 7);
    }

    #[test]
    fn a_parquet_file_gives_its_types() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("visits.parquet");
        let schema = Arc::new(Schema::new(vec![
            Field::new("patient", DataType::Utf8, false),
            Field::new("cost", DataType::Decimal128(10, 2), true),
            Field::new("at", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
            Field::new("paid", DataType::Boolean, true),
            Field::new("tags", DataType::new_list(DataType::Utf8, true), true),
        ]));
        let file = std::fs::File::create(&path).expect("a file");
        ArrowWriter::try_new(file, schema, None).expect("a writer").close().expect("written");
        let text = draft(&path).expect("a draft");
        assert!(text.contains("\"cost\"]\ntype = \"real\"\nbounds = \"FILL IN"), "{text}");
        assert!(text.contains("type = \"timestamp\"") && !text.contains("tags"), "{text}");
        // Filled in, it is a policy.
        let filled = text
            .replace(&fill_in("a number such as 1"), "1")
            .replace(&fill_in("a number such as 1e-6"), "1e-6")
            .replace(&fill_in("the column that identifies a person"), "\"patient\"")
            .replace(&fill_in("a whole number from 1"), "1");
        let filled: Vec<&str> = filled.lines().filter(|line| !line.starts_with("bounds")).collect();
        let policy = Policy::parse(&filled.join("\n"), Path::new("policy.toml")).expect("a policy");
        assert_eq!(policy.tables()[0].columns().len(), 4);
    }

    #[test]
    fn a_folder_gives_the_names_of_its_columns_and_no_value() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in [
            ("visits/year=2031/ward=Alice/a.csv", "patient,cost,extra\nBob,17\n"),
            ("visits/year=2032/b.csv", "cost,patient\n"),
            ("visits/year=2032/_old.csv", "nothing\n"),
            ("visits/c.csv", ""),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
            std::fs::write(path, content).expect("written");
        }
        let text = draft(&folder.path().join("visits")).expect("a draft");
        assert!(text.contains("[tables.visits]\nsource = \"visits\"\n"), "{text}");
        for private in ["Alice", "Bob", "203", "17", "extra", "a.csv"] {
            assert!(!text.contains(private), "{private} in {text}");
        }
        let columns: Vec<&str> =
            text.lines().filter(|line| line.starts_with("[tables.visits.columns.")).collect();
        let named = |name: &str| format!("[tables.visits.columns.\"{name}\"]");
        assert_eq!(columns, ["patient", "cost", "year", "ward"].map(named));
        assert_eq!(draft(&folder.path().join("visits/.")).expect("the same folder"), text);
        let pattern = draft(&folder.path().join("vis*")).expect("a pattern");
        assert!(
            pattern.contains("source = \"vis*\"") && pattern.contains("columns.\"ward\""),
            "{pattern}"
        );
    }

    #[test]
    fn what_cannot_be_drafted_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content, expected) in [
            ("a.xlsx", "", "its format cannot be seen from its name"),
            ("a.csv", "", "it has no column that a policy could describe"),
            ("a.parquet", "PAR1", "this is not a complete Parquet file"),
            ("a.arrow", "Alice", "this is not a complete Arrow file"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("written");
            let message = draft(&path).expect_err(name).to_string();
            assert!(message.contains(expected) && !message.contains("Alice"), "{message}");
        }
        assert!(draft(&folder.path().join("b.csv")).is_err());
    }

    #[test]
    fn names_become_names_of_tables() {
        for (file, name) in [
            ("visits.csv.gz", "visits"),
            ("Größe-1.csv", "gr__e_1"),
            (".csv", "table_"),
            ("7.csv", "table_7"),
        ] {
            assert_eq!(table_name(file), name);
        }
    }
}
