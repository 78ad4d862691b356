//! Which files a table has: paths, glob patterns and folders become a list of files of one format, each file once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reticent_policy::{Format, TablePolicy};

use super::error::SourceError;

/// The format and the files of a table, in the order of their full names. A file that is reached in two ways is there once: twice, each of its rows would
/// count as two people's.
pub(super) fn find(table: &TablePolicy, folder: &Path) -> Result<(Format, Vec<PathBuf>), SourceError> {
    let mut search = Search { table, found: BTreeSet::new(), folders: BTreeSet::new() };
    for source in table.source() {
        search.add_source(source, folder)?;
    }
    let files: Vec<PathBuf> = search.found.into_iter().collect();
    let Some(first) = files.first() else {
        return Err(SourceError::NoFiles {
            table: table.name().to_owned(),
            source_text: table.source().join(", "),
            format: table.format().map(Format::name),
        });
    };
    if let Some(format) = table.format() {
        return Ok((format, files));
    }
    let format = format_of(first).ok_or_else(|| SourceError::UnknownFormat { path: first.clone() })?;
    for other in &files {
        match format_of(other) {
            None => return Err(SourceError::UnknownFormat { path: other.clone() }),
            Some(other_format) if other_format != format => {
                return Err(SourceError::SeveralFormats {
                    table: table.name().to_owned(),
                    one: first.clone(),
                    other: other.clone(),
                });
            }
            Some(_) => {}
        }
    }
    Ok((format, files))
}

/// The format that a file's name says.
pub(crate) fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (_, ending) = name.rsplit_once('.')?;
    match ending {
        "csv" | "tsv" => Some(Format::Csv),
        "parquet" => Some(Format::Parquet),
        "arrow" | "ipc" | "feather" => Some(Format::Arrow),
        _ => None,
    }
}

struct Search<'a> {
    table: &'a TablePolicy,
    found: BTreeSet<PathBuf>,
    /// Folders that were entered, by their full names: links cannot lead in circles.
    folders: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn add_source(&mut self, source: &str, folder: &Path) -> Result<(), SourceError> {
        let path = folder.join(source);
        if path.exists() {
            let before = self.found.len();
            self.add_path(&path)?;
            if path.is_dir() && self.found.len() == before && !self.holds_part_of(&path) {
                return Err(self.no_files(source));
            }
            return Ok(());
        }
        if !source.contains(['*', '?', '[']) {
            return Err(SourceError::Missing { table: self.table.name().to_owned(), path });
        }
        // Only the policy's own text is a pattern; the folder's name may hold such characters.
        let pattern = match folder.to_str() {
            Some("") => source.to_owned(),
            Some(_) if Path::new(source).is_absolute() => source.to_owned(),
            Some(text) => format!("{}/{source}", glob::Pattern::escape(text)),
            None => return Err(SourceError::Missing { table: self.table.name().to_owned(), path }),
        };
        let matches = glob::glob(&pattern).map_err(|error| SourceError::Pattern {
            table: self.table.name().to_owned(),
            pattern: source.to_owned(),
            reason: error.msg,
        })?;
        let mut any = false;
        for entry in matches {
            let path = entry.map_err(|error| SourceError::unreadable(error.path(), error.error()))?;
            any = true;
            self.add_path(&path)?;
        }
        if any { Ok(()) } else { Err(self.no_files(source)) }
    }

    fn no_files(&self, source: &str) -> SourceError {
        SourceError::NoFiles {
            table: self.table.name().to_owned(),
            source_text: source.to_owned(),
            format: self.table.format().map(Format::name),
        }
    }

    /// Whether files of this folder were found on another way already.
    fn holds_part_of(&self, folder: &Path) -> bool {
        folder.canonicalize().is_ok_and(|folder| self.found.iter().any(|file| file.starts_with(&folder)))
    }

    /// A file that is named is taken; of a folder those are taken whose name fits.
    fn add_path(&mut self, path: &Path) -> Result<(), SourceError> {
        let full = path.canonicalize().map_err(|error| SourceError::unreadable(path, &error))?;
        let kind = std::fs::metadata(&full).map_err(|error| SourceError::unreadable(path, &error))?;
        if kind.is_dir() {
            return self.add_folder(&full);
        }
        if !kind.is_file() {
            return Err(SourceError::Unreadable {
                path: path.to_owned(),
                reason: "neither a file nor a folder".to_owned(),
            });
        }
        self.found.insert(full);
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), SourceError> {
        if !self.folders.insert(folder.to_owned()) {
            return Ok(());
        }
        let entries = std::fs::read_dir(folder).map_err(|error| SourceError::unreadable(folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| SourceError::unreadable(folder, &error))?.path();
            // Hidden files and the marks that other programs leave beside their data, as `_SUCCESS`.
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("_");
            if name.starts_with(['.', '_']) {
                continue;
            }
            let fits = match self.table.format() {
                None => format_of(&path).is_some(),
                Some(format) => format_of(&path) == Some(format),
            };
            if fits || path.is_dir() {
                self.add_path(&path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reticent_policy::Policy;

    use super::*;

    fn table(fields: &str) -> TablePolicy {
        let text = format!("[budget]\nepsilon = 1\n[tables.t]\neach_row = true\ncolumns.a.type = 'text'\n{fields}");
        Policy::parse(&text, Path::new("policy.toml")).expect("a policy").tables()[0].clone()
    }

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::Builder::new().prefix("files [1] ").tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, "a\n").expect("a file");
        }
        folder
    }

    fn found(fields: &str, folder: &tempfile::TempDir) -> Result<(Format, Vec<String>), String> {
        let (format, files) = find(&table(fields), folder.path()).map_err(|error| error.to_string())?;
        let root = folder.path().canonicalize().expect("a path");
        let name = |path: &PathBuf| path.strip_prefix(&root).expect("inside").display().to_string();
        Ok((format, files.iter().map(name).collect()))
    }

    #[test]
    fn files_patterns_and_folders() {
        let folder = folder_with(&[
            "b.csv",
            "a.CSV.gz",
            "c.tsv",
            "in/x.parquet",
            "in/deep/y.parquet",
            "in/_z.parquet",
            "in/note",
        ]);
        assert_eq!(found("source = 'b.csv'", &folder), Ok((Format::Csv, vec!["b.csv".into()])));
        assert_eq!(found("source = '?.csv'", &folder), Ok((Format::Csv, vec!["b.csv".into()])));
        let parquet = Ok((Format::Parquet, vec!["in/deep/y.parquet".into(), "in/x.parquet".into()]));
        assert_eq!(found("source = 'in'", &folder), parquet);
        assert_eq!(found("source = '**/*.parquet'\nformat = 'parquet'", &folder).map(|found| found.1.len()), Ok(3));
        // The same file on three ways is one file.
        let once = found("source = ['b.csv', './b.csv', '*.csv', 'in/../b.csv']", &folder);
        assert_eq!(once, Ok((Format::Csv, vec!["b.csv".into()])));
        assert_eq!(found("source = ['in/x.parquet', 'in']", &folder), parquet);
        assert_eq!(found("source = '.'\nformat = 'csv'", &folder).map(|found| found.1.len()), Ok(3));
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        let folder = folder_with(&["b.csv", "x.parquet", "note", "empty/.hidden.csv"]);
        for (fields, expected) in [
            ("source = 'c.csv'", "there is no file or folder"),
            ("source = '*.arrow'", "\"*.arrow\" has no CSV, Parquet or Arrow file"),
            ("source = 'empty'", "\"empty\" has no CSV, Parquet or Arrow file"),
            ("source = 'empty'\nformat = 'arrow'", "has no arrow file"),
            ("source = 'note'", "its format cannot be seen from its name"),
            ("source = '.'", "its files have several formats"),
            ("source = '[b.csv'", "is not a glob pattern"),
        ] {
            let message = found(fields, &folder).expect_err(fields);
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(found("source = 'note'\nformat = 'csv'", &folder), Ok((Format::Csv, vec!["note".into()])));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once_and_lead_in_no_circles() {
        let folder = folder_with(&["in/b.csv"]);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).expect("a link");
        link(".", "in/again");
        link("in/b.csv", "c.csv");
        link("nowhere.csv", "d.csv");
        assert_eq!(found("source = ['in', 'c.csv']", &folder), Ok((Format::Csv, vec!["in/b.csv".into()])));
        assert!(found("source = 'd.csv'", &folder).expect_err("broken").contains("there is no file or folder"));
        assert!(found("source = '?.csv'", &folder).is_err(), "a broken link among matches");
    }
}
