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
    #[error("table {table}, column {column:?}: {} has the type {found}, which is not read as {declared}; {hint}", path.display())]
    ColumnType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The file.
        path: PathBuf,
        /// The type in the file.
        found: String,
        /// The type in the policy.
        declared: &'static str,
        /// What would be accepted.
        hint: String,
    },
    /// A file without columns of a type that a policy knows.
    #[error("{}: it has no column that a policy could describe", path.display())]
    NoColumns {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed on the way; what was being read is not repeated.
    #[error("the tables could not be read to the end: {0}")]
    Scan(&'static str),
}

impl SourceError {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> SourceError {
        SourceError::Unreadable { path: path.to_owned(), reason: error.kind().to_string() }
    }

    /// What may be said of a failure while rows were being read. Messages of the engine and of the file libraries can quote a cell, so none of their
    /// text is kept: an error of this module is passed on, everything else becomes one of a few fixed sentences.
    #[must_use]
    pub fn of_scan(error: &DataFusionError) -> SourceError {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(current) = cause {
            if let Some(ours) = current.downcast_ref::<ScanError>() {
                return ours.clone().into();
            }
            cause = match current.downcast_ref::<DataFusionError>() {
                Some(DataFusionError::Shared(shared)) => Some(shared.as_ref()),
                Some(DataFusionError::Collection(errors)) => {
                    errors.first().map(|first| first as &(dyn Error + 'static))
                }
                _ => current.source(),
            };
        }
        SourceError::Scan(match error.find_root() {
            DataFusionError::ParquetError(_) => "a Parquet file is damaged, or not what its footer says",
            DataFusionError::ArrowError(..) => "an Arrow file is damaged, or compressed in a way that is not supported",
            DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => {
                "a file was moved, changed or could not be read"
            }
            DataFusionError::ResourcesExhausted(_) => "there was not enough memory",
            _ => "the engine gave up",
        })
    }
}

/// A failure while rows are read, which has to travel through the engine.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub(crate) struct ScanError {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

impl From<ScanError> for SourceError {
    fn from(error: ScanError) -> SourceError {
        SourceError::Unreadable { path: error.path, reason: error.reason }
    }
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> DataFusionError {
        DataFusionError::External(Box::new(error))
    }
}

/// Names for a message, not too many.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| format!("{name:?}")).collect();
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
            let message = SourceError::of_scan(&error).to_string();
            assert!(!message.contains("Alice") && message.starts_with("the tables could not be read"), "{message}");
        }
    }

    #[test]
    fn our_own_errors_arrive() {
        let ours = || DataFusionError::from(ScanError { path: "a.csv".into(), reason: "not found".into() });
        for error in [
            ours(),
            ours().context("outer"),
            DataFusionError::Shared(std::sync::Arc::new(ours())),
            DataFusionError::Collection(vec![ours().context("inner"), ours()]),
        ] {
            assert_eq!(SourceError::of_scan(&error).to_string(), "a.csv: not found");
        }
    }
}
