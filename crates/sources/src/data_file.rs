//! A file of a table, and what the names of its folders say.
//!
//! Hive, and many programs after it, leave columns out of the files and write them into folders:
//! every row of `data/year=2024/month=3/part-0.parquet` has 2024 in its column `year` and 3 in
//! `month`. These values are content like any other. So they follow the rules of text sources
//! ([`super::field`]), and messages about the file leave them out.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::error::ArrowError;
use reticent_policy::ColumnType;

use super::csv_table::ColumnBuilder;

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFile {
    path: PathBuf,
    way: Way,
}

/// How a file or folder was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Its name in messages.
    shown: PathBuf,
    /// Columns in the names of the folders on the way, and their values; no bytes are NULL, as in
    /// CSV.
    values: Vec<(String, Vec<u8>)>,
}

impl Way {
    /// To what the policy names: its text is public.
    pub(super) fn named(folder: &Path, source: &Path) -> Way {
        let path = folder.join(source);
        let folders = if path.is_dir() { Some(source) } else { source.parent() };
        Way {
            values: folders.into_iter().flat_map(names).filter_map(column_of).collect(),
            shown: path,
        }
    }

    /// To what a pattern matched.
    pub(super) fn matched(folder: &Path, path: &Path) -> Way {
        let below = path.strip_prefix(folder).unwrap_or(path);
        let mut way = Way { shown: folder.to_owned(), values: Vec::new() };
        let file = if path.is_dir() { None } else { path.file_name() };
        let folders = if file.is_some() { below.parent().unwrap_or(below) } else { below };
        for component in folders.components() {
            match component {
                Component::Normal(name) => way = way.folder_in(&name.to_string_lossy()),
                // A root leads away from the folder, as it does when paths are joined.
                other => way.shown.push(other),
            }
        }
        way.shown.extend(file);
        way
    }

    /// To a folder in this one.
    pub(super) fn folder_in(&self, name: &str) -> Way {
        let mut way = self.clone();
        match column_of(name) {
            Some((column, value)) => {
                way.shown.push(format!("{column}=*"));
                way.values.push((column, value));
            }
            None => way.shown.push(name),
        }
        way
    }

    /// To a file in this folder.
    pub(super) fn file_in(&self, name: &str) -> Way {
        Way { shown: self.shown.join(name), values: self.values.clone() }
    }

    pub(super) fn shown(&self) -> &Path {
        &self.shown
    }
}

impl DataFile {
    pub(super) fn new(path: PathBuf, way: Way) -> DataFile {
        DataFile { path, way }
    }

    /// Where it is. Not for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What messages call it.
    pub(crate) fn shown(&self) -> &Path {
        &self.way.shown
    }

    /// The columns that are in the names of its folders.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.way.values.iter().map(|(name, _)| name.as_str())
    }

    /// The value that all its rows have in a column, as an array of one, if the name of a folder
    /// says it; the innermost, if several do.
    pub(super) fn value(&self, column: &str, kind: ColumnType) -> Option<ArrayRef> {
        let (_, bytes) = self.way.values.iter().rev().find(|(name, _)| name == column)?;
        Some(value_of(bytes, kind))
    }
}

/// The value of a column that neither a file nor its folders have.
pub(super) fn missing(kind: ColumnType) -> ArrayRef {
    value_of(b"", kind)
}

/// A value from text, as in CSV: no bytes, and what is no value of the type, are NULL.
fn value_of(bytes: &[u8], kind: ColumnType) -> ArrayRef {
    let mut builder = ColumnBuilder::new(kind);
    builder.append(bytes);
    builder.finish()
}

/// A value, given as an array of one, in so many rows.
pub(super) fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef, ArrowError> {
    take(value, &UInt32Array::from_value(0, rows), None)
}

/// What Hive writes for NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column and its value from the name of a folder.
fn column_of(name: &str) -> Option<(String, Vec<u8>)> {
    let (column, value) = name.split_once('=')?;
    let column = String::from_utf8_lossy(&decoded(column)).into_owned();
    let value = if value == NULL { Vec::new() } else { decoded(value).into_owned() };
    (!column.is_empty()).then_some((column, value))
}

/// Characters that names of folders cannot have are written as `%` and two hexadecimal digits.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(plain)
}

/// The names on a path, without `.`, `..` and what it begins with.
fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use arrow::array::{Array, Int64Array, StringViewArray};
    use std::sync::Arc;

    use super::*;

    pub(crate) fn text_value(value: Option<&str>) -> ArrayRef {
        Arc::new(StringViewArray::from_iter([value]))
    }

    pub(crate) fn integer(value: Option<i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter([value]))
    }

    fn file(path: &str) -> DataFile {
        DataFile::new(path.into(), Way::matched(Path::new("/data"), Path::new(path)))
    }

    #[test]
    fn names_of_folders_are_columns() {
        let part = file("/data/year=2024/other/city=K%c3%B6ln %26 more/x=1.csv");
        assert_eq!(
            part.columns().collect::<Vec<_>>(),
            ["year", "city"],
            "the file's own name is none"
        );
        assert_eq!(part.value("year", ColumnType::Integer), Some(integer(Some(2024))));
        assert_eq!(part.value("year", ColumnType::Text), Some(text_value(Some("2024"))));
        assert_eq!(part.value("city", ColumnType::Text), Some(text_value(Some("Köln & more"))));
        assert!(part.value("city", ColumnType::Real).is_some_and(|value| value.is_null(0)));
        assert_eq!(
            (part.value("x", ColumnType::Text), part.value("Year", ColumnType::Integer)),
            (None, None)
        );
    }

    #[test]
    fn null_nothing_and_strange_names() {
        let null = Some(text_value(None));
        let some = |value: &str| Some(text_value(Some(value)));
        let text = |path: &str| file(path).value("a", ColumnType::Text);
        assert_eq!(text("/data/a=__HIVE_DEFAULT_PARTITION__/f"), null);
        assert_eq!(text("/data/a=/f"), null);
        assert_eq!(text("/data/a=1/a=b=c/f"), some("b=c"), "the innermost");
        assert_eq!(text("/data/a=%/f"), some("%"));
        assert_eq!(text("/data/a=%4/f"), some("%4"));
        assert_eq!(text("/data/a=%zz%25%ff/f"), some("%zz%\u{fffd}"));
        assert_eq!(text("/data/=1/f"), None);
        assert_eq!(file("/data/b%3Dc=1/f").columns().collect::<Vec<_>>(), ["b=c"]);
        assert_eq!(Some(missing(ColumnType::Text)), null);
        let never = missing(ColumnType::Timestamp);
        assert_eq!((never.len(), never.is_null(0)), (1, true));
    }

    #[test]
    fn messages_leave_values_out() {
        let part = file("/data/by/patient=Alice/day=3/part-0.csv");
        assert_eq!(part.shown(), Path::new("/data/by/patient=*/day=*/part-0.csv"));
        let elsewhere = file("/other/patient=Alice/part-0.csv");
        assert_eq!(elsewhere.shown(), Path::new("/other/patient=*/part-0.csv"));
        // What the policy itself says is public.
        let named = Way::named(Path::new("/data"), Path::new("year=2024/x.csv"));
        assert_eq!(named.shown(), Path::new("/data/year=2024/x.csv"));
        assert_eq!(named.values, [("year".to_owned(), b"2024".to_vec())]);
        assert_eq!(named.folder_in("patient=Alice").file_in("y.csv").shown(), {
            Path::new("/data/year=2024/x.csv/patient=*/y.csv")
        });
    }
}
