//! Why a table cannot be read. Nothing here depends on the content of a row.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use datafusion::common::DataFusionError;

/// Why a table cannot be opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A path of the policy leads nowhere.
    #[error("table {table}: there is no file or folder {}", path.display())]
    Missing {
        /// The table.
        table: String,
        /// The path, with the folder of the policy.
        path: PathBuf,
    },
    /// A pattern or a folder holds no file of a known format.
    #[error("table {table}: {source_text:?} has no {} file", format.unwrap_or("CSV, Parquet or Arrow"))]
    NoFiles {
        /// The table.
        table: String,
        /// The pattern or folder, as the policy has it.
        source_text: String,
        /// The format, if the policy says it.
        format: Option<&'static str>,
    },
    /// A glob pattern is wrong.
    #[error("table {table}: {pattern:?} is not a glob pattern: {reason}")]
    Pattern {
        /// The table.
        table: String,
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The format cannot be seen from the name.
    #[error("{}: its format cannot be seen from its name; write `format = \"csv\"`, \"parquet\" or \"arrow\" in the policy", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A table's files have several formats.
    #[error("table {table}: its files have several formats, among them {} and {}; a table has one", one.display(), other.display())]
    SeveralFormats {
        /// The table.
        table: String,
        /// A file.
        one: PathBuf,
        /// A file of another format.
        other: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The kind of failure.
        reason: String,
    },
    /// A file is not what its name or the policy says.
    #[error("{}: this is not a complete {format} file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
    },
    /// Columns of a file are nested in each other deeper than any writer does it.
    #[error("{}: its columns are nested too deep in each other", path.display())]
    Nesting {
        /// The file.
        path: PathBuf,
    },
    /// The first line of a CSV file has none of the declared columns. It may be a row, and is not shown.
    #[error(
        "table {table}: the first line of {} has none of the declared columns; if it is a row, name the columns with `header = [..]` in the policy, and if \
         fields are not separated by commas, say how with `delimiter`",
        path.display()
    )]
    NoHeader {
        /// The table.
        table: String,
        /// The file.
        path: PathBuf,
    },
    /// A file of text in another encoding.
    #[error("{}: this is UTF-16; save it as UTF-8", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
    },
    /// A compressed file whose name does not say so.
    #[error("{}: this is compressed by gzip; give it a name that ends in .gz", path.display())]
    Compression {
        /// The file.
        path: PathBuf,
    },
    /// A declared column is not in a file.
    #[error("table {table}: {} has no column {column:?}; it has {available}", path.display())]
    MissingColumn {
        /// The table.
        table: String,
        /// The column that the policy declares.
        column: String,
        /// The file.
        path: PathBuf,
        /// The names that the file has.
        available: String,
    },
    /// A declared column is in a file twice.
    #[error("table {table}: {} has several columns {column:?}", path.display())]
    RepeatedColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The file.
        path: PathBuf,
    },
    /// A column's type cannot be read as the declared one.
    #[error("table {table}, column {column:?}: {} has {problem}", path.display())]
    ColumnType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The file.
        path: PathBuf,
        /// The type that it has, the one that is declared, and what would be accepted.
        problem: String,
    },
    /// A file without columns of a type that a policy knows.
    #[error("{}: it has no column that a policy could describe", path.display())]
    NoColumns {
        /// The file.
        path: PathBuf,
    },
    /// A file changed between opening and reading.
    #[error("{}: this file changed while it was in use", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed on the way; what was being read is not repeated.
    #[error("table {table} could not be read to the end: {reason}")]
    Scan {
        /// The table.
        table: String,
        /// The kind of failure.
        reason: &'static str,
    },
}

impl SourceError {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> SourceError {
        SourceError::Unreadable { path: path.to_owned(), reason: error.kind().to_string() }
    }

    /// What may be said of a failure of the engine while it read a table. Messages of the engine and of the file libraries can quote a cell, so none of
    /// their text is kept.
    pub(crate) fn scan(table: &str, error: &DataFusionError) -> SourceError {
        if let Some(ours) = SourceError::found_in(error) {
            return ours;
        }
        let reason = match error.find_root() {
            DataFusionError::ParquetError(_) => "a Parquet file is damaged",
            DataFusionError::ArrowError(..) => "a file is damaged, or compressed in a way that is not supported",
            DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => {
                "a file was moved, changed or could not be read"
            }
            DataFusionError::ResourcesExhausted(_) => "there was not enough memory",
            _ => "the engine gave up",
        };
        SourceError::Scan { table: table.to_owned(), reason }
    }

    /// The error of this module that travelled through the engine, if that is what the engine reports. Every other text of the engine can quote a cell
    /// and must not be shown.
    #[must_use]
    pub fn found_in(error: &DataFusionError) -> Option<SourceError> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(current) = cause {
            if let Some(ours) = current.downcast_ref::<SourceError>() {
                return Some(ours.clone());
            }
            cause = match current.downcast_ref::<DataFusionError>() {
                Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
                Some(DataFusionError::Shared(shared)) => Some(shared.as_ref()),
                Some(DataFusionError::Collection(errors)) => {
                    return errors.iter().find_map(SourceError::found_in);
                }
                _ => current.source(),
            };
        }
        None
    }
}

impl From<SourceError> for DataFusionError {
    fn from(error: SourceError) -> DataFusionError {
        DataFusionError::External(Box::new(error))
    }
}

/// Names for a message, not too many. Where a quotation mark of a header is not closed, a name can hold
/// rows: what is no name is not shown.
pub(crate) fn listed(names: &[&str]) -> String {
    const MOST: usize = 20;
    const LONGEST: usize = 100;
    let is_name = |name: &str| name.len() <= LONGEST && !name.contains(char::is_control);
    let shown = |name: &&str| if is_name(name) { format!("{name:?}") } else { "\"…\"".to_owned() };
    let mut shown: Vec<String> = names.iter().take(MOST).map(shown).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::error::ArrowError;

    use super::*;

    #[test]
    fn texts_of_the_engine_are_never_repeated() {
        let secret = || DataFusionError::from(ArrowError::CastError("cannot cast 'Alice' to Int64".into()));
        for error in [
            secret(),
            secret().context("reading row 'Alice'"),
            DataFusionError::Shared(std::sync::Arc::new(secret())),
            DataFusionError::Collection(vec![secret(), secret()]),
            DataFusionError::Execution("'Alice'".into()),
            DataFusionError::External("'Alice'".into()),
        ] {
            assert_eq!(SourceError::found_in(&error), None);
            let message = SourceError::scan("visits", &error).to_string();
            assert!(!message.contains("Alice") && message.starts_with("table visits could not be read"), "{message}");
        }
    }

    #[test]
    fn a_header_that_swallowed_rows_shows_none() {
        let long = "Alice".repeat(21);
        assert_eq!(listed(&["id", "na me", "x\n1,Alice", &long]), "\"id\", \"na me\", \"…\", \"…\"");
    }

    #[test]
    fn our_own_errors_arrive() {
        let ours = || DataFusionError::from(SourceError::Changed { path: "a.csv".into() });
        let other = || DataFusionError::Execution("other".into());
        for error in [
            ours(),
            ours().context("outer"),
            DataFusionError::Shared(std::sync::Arc::new(ours())),
            DataFusionError::Collection(vec![other(), ours().context("inner")]),
            DataFusionError::from(ArrowError::ExternalError(Box::new(ours()))),
        ] {
            let changed = SourceError::Changed { path: "a.csv".into() };
            assert_eq!(SourceError::found_in(&error), Some(changed.clone()));
            assert_eq!(SourceError::scan("visits", &error), changed);
        }
    }
}
