//! Where the columns of a table come from, file by file.
//!
//! | the column is | its values are |
//! |---|---|
//! | in the name of a folder of the file | that value, also when the file has such a column: so DuckDB and Spark do it |
//! | in the file | those |
//! | in neither, but in folders of other files | NULL |
//! | nowhere | an error |

use std::collections::BTreeSet;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use reticent_policy::{Column, ColumnType, TablePolicy};

use super::conversion::{accepts, kinds};
use super::data_file::{DataFile, missing};
use super::error::{SourceError, listed};

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Origin {
    /// This column of the file.
    File(usize),
    /// All rows have the value in this array of one.
    Folder(ArrayRef),
}

/// The columns that a table declares, and those of them that are in the names of folders.
#[derive(Debug)]
pub(super) struct Origins<'a> {
    table: &'a TablePolicy,
    in_folders: BTreeSet<&'a str>,
}

impl<'a> Origins<'a> {
    pub(super) fn new(table: &'a TablePolicy, files: &'a [DataFile]) -> Origins<'a> {
        Origins { table, in_folders: files.iter().flat_map(DataFile::columns).collect() }
    }

    /// Where each declared column comes from in a file that has these columns.
    pub(super) fn of(&self, file: &DataFile, found: &[&str]) -> Result<Vec<Origin>, SourceError> {
        let one = |column: &Column| {
            let name = column.name();
            if let Some(value) = file.value(name, column.kind()) {
                return Ok(Origin::Folder(value));
            }
            let location = file.shown().display().to_string();
            match index_of(self.table, column, found, &location) {
                Err(SourceError::MissingColumn { .. }) if self.in_folders.contains(name) => {
                    Ok(Origin::Folder(missing(column.kind())))
                }
                index => index.map(Origin::File),
            }
        };
        self.table.columns().iter().map(one).collect()
    }
}

/// The index of a declared column among those that are there.
pub(super) fn index_of(
    table: &TablePolicy,
    column: &Column,
    found: &[&str],
    location: &str,
) -> Result<usize, SourceError> {
    let mut indices = (0..found.len()).filter(|index| found[*index] == column.name());
    let (table, name) = (table.name().to_owned(), column.name().to_owned());
    let location = location.to_owned();
    match (indices.next(), indices.next()) {
        (Some(index), None) => Ok(index),
        (Some(_), Some(_)) => Err(SourceError::RepeatedColumn { table, column: name, location }),
        (None, _) => {
            let available = listed(found);
            Err(SourceError::MissingColumn { table, column: name, location, available })
        }
    }
}

/// Refuses a type that is not read as the declared one, with what would be.
pub(super) fn check_type(
    table: &TablePolicy,
    column: &Column,
    found: &DataType,
    location: &str,
) -> Result<(), SourceError> {
    if accepts(found, column.kind()) {
        return Ok(());
    }
    let fitting: Vec<&str> = kinds(found).map(ColumnType::name).collect();
    let hint = if fitting.is_empty() {
        "no declaration fits this type; leave the column out, or convert it first".to_owned()
    } else {
        format!("declare it as {}", fitting.join(" or "))
    };
    Err(SourceError::ColumnType {
        table: table.name().to_owned(),
        column: column.name().to_owned(),
        location: location.to_owned(),
        problem: format!("the type {found}, which is not read as {}; {hint}", column.kind()),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use reticent_policy::Policy;

    use super::super::data_file::Way;
    use super::super::data_file::tests::{integer, text_value};
    use super::*;

    #[test]
    fn folders_first_then_the_file_then_null() {
        let text = "[budget]\nepsilon = 1\n[tables.t]\neach_row = true\nsource = 'x'\n\
            columns.city.type = 'text'\ncolumns.n.type = 'integer'\ncolumns.year.type = \
            'integer'\n";
        let policy = Policy::parse(text, Path::new("policy.toml")).expect("a policy");
        let file =
            |path: &str| DataFile::new(path.into(), Way::matched(Path::new("/d"), Path::new(path)));
        let files = [file("/d/year=1/city=A/f"), file("/d/year=x/f"), file("/d/f")];
        let origins = Origins::new(&policy.tables()[0], &files);
        let of = |file: usize, found: &[&str]| {
            origins.of(&files[file], found).map_err(|error| error.to_string())
        };
        let text = |text: Option<&str>| Origin::Folder(text_value(text));
        let number = |number: Option<i64>| Origin::Folder(integer(number));
        assert_eq!(of(0, &["n"]), Ok(vec![text(Some("A")), Origin::File(0), number(Some(1))]));
        assert_eq!(
            of(0, &["year", "n", "city", "city"]),
            Ok(vec![text(Some("A")), Origin::File(1), number(Some(1))])
        );
        assert_eq!(of(1, &["n"]), Ok(vec![text(None), Origin::File(0), number(None)]));
        assert_eq!(of(2, &["n", "year"]), Ok(vec![text(None), Origin::File(0), Origin::File(1)]));
        assert!(
            of(2, &["m", "year"])
                .is_err_and(|message| message.ends_with("no column \"n\"; it has \"m\", \"year\""))
        );
        assert!(
            of(2, &["n", "year", "n"])
                .is_err_and(|message| message.ends_with("/d/f has several columns \"n\""))
        );
        let message = of(0, &[]).expect_err("without n");
        assert!(message.contains("/d/year=*/city=*/f has no column \"n\""), "{message}");
        // Nowhere in a folder: then every file must have it.
        let plain = Origins::new(&policy.tables()[0], &files[2..]);
        assert!(plain.of(&files[2], &["n", "city"]).is_err());
    }
}
