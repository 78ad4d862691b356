//! Why a table cannot be read. Nothing here depends on the content of a row.

use std::io;
use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use parquet::errors::ParquetError;

/// Why a table cannot be opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    #[error("table {table}: {source_text:?} has no {} file", format.unwrap_or("CSV, Parquet or \
        Arrow"))]
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
    #[error("{}: its format cannot be seen from its name; write `format = \"csv\"`, \"parquet\" \
        or \"arrow\" in the policy", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A table's files have several formats.
    #[error("table {table}: its files have several formats, among them {} and {}; a table has \
        one", one.display(), other.display())]
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
    /// The first line of a CSV file has none of the declared columns. It may be a row, and is not
    /// shown.
    #[error(
        "table {table}: the first line of {} has none of the declared columns; if it is a row, \
         name the columns with `header = [..]` in the policy, and if \
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
    /// A declared column is missing.
    #[error("table {table}: {location} has no column {column:?}; it has {available}")]
    MissingColumn {
        /// The table.
        table: String,
        /// The column that the policy declares.
        column: String,
        /// The file, or what else the rows come from.
        location: String,
        /// The names that are there.
        available: String,
    },
    /// A declared column is there twice.
    #[error("table {table}: {location} has several columns {column:?}")]
    RepeatedColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The file, or what else the rows come from.
        location: String,
    },
    /// A column's type cannot be read as the declared one.
    #[error("table {table}, column {column:?}: {location} has {problem}")]
    ColumnType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The file, or what else the rows come from.
        location: String,
        /// The type that it has, the one that is declared, and what would be accepted.
        problem: String,
    },
    /// A stream of rows that ends when it has been read is read by a query more than once.
    #[error(
        "table {table}: its rows come as a stream that can be read once, and the query reads it \
         again; give the rows as batches, or a stream that can be opened again"
    )]
    ReadOnce {
        /// The table.
        table: String,
    },
    /// A source was given for a table that the policy does not have, or has with other columns.
    #[error("the policy has no table {table} with the columns of the source that is given for it")]
    NoSuchTable {
        /// The table.
        table: String,
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
}

/// Why reading stops, for whoever knows the table. Messages of the file libraries can quote a cell,
/// so none of their text is kept.
#[derive(Debug)]
pub(crate) enum Failure {
    Source(SourceError),
    /// The kind of failure.
    Reason(&'static str),
}

impl Failure {
    pub(crate) const MEMORY: Failure = Failure::Reason("there was not enough memory");

    pub(crate) fn in_table(self, table: &str) -> SourceError {
        match self {
            Failure::Source(error) => error,
            Failure::Reason(reason) => SourceError::Scan { table: table.to_owned(), reason },
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Failure {
        Failure::Source(error)
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Failure {
        Failure::Reason(match error {
            ArrowError::ParquetError(_) => "a Parquet file is damaged",
            ArrowError::IoError(..) => "a file was moved, changed or could not be read",
            _ => "the data is damaged, or compressed by a method that is not supported",
        })
    }
}

impl From<ParquetError> for Failure {
    fn from(_: ParquetError) -> Failure {
        Failure::Reason("a Parquet file is damaged")
    }
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Failure {
        Failure::Reason("a file was moved, changed or could not be read")
    }
}

/// Names for a message, not too many. Where a quotation mark of a header is not closed, a name can
/// hold rows: what is no name is not shown.
pub(crate) fn listed(names: &[&str]) -> String {
    const MOST: usize = 20;
    const LONGEST: usize = 100;
    let is_name = |name: &str| name.len() <= LONGEST && !name.contains(char::is_control);
    let shown =
        |name: &&str| if is_name(name) { format!("{name:?}") } else { "\"…\"".to_owned() };
    let mut shown: Vec<String> = names.iter().take(MOST).map(shown).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_file_libraries_are_never_repeated() {
        let text = || "cannot cast 'Alice' to Int64".to_owned();
        for failure in [
            Failure::from(ArrowError::CastError(text())),
            ArrowError::ParquetError(text()).into(),
            ArrowError::IoError(text(), io::Error::other(text())).into(),
            ArrowError::ExternalError(text().into()).into(),
            ParquetError::General(text()).into(),
            io::Error::other(text()).into(),
        ] {
            let message = failure.in_table("visits").to_string();
            assert!(
                !message.contains("Alice") && message.starts_with("table visits could not be read"),
                "{message}"
            );
        }
        let ours = SourceError::Changed { path: "a.csv".into() };
        assert_eq!(Failure::from(ours.clone()).in_table("visits"), ours);
    }

    #[test]
    fn a_header_that_swallowed_rows_shows_none() {
        let long = "Alice".repeat(21);
        assert_eq!(
            listed(&["id", "na me", "x\n1,Alice", &long]),
            "\"id\", \"na me\", \"…\", \"…\""
        );
    }
}
