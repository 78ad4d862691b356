//! Which files a table has: paths, glob patterns and folders become a list of files of one format,
//! each file once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use reticent_policy::{Format, NOTES};

use super::data_file::{DataFile, Way};
use super::error::SourceError;

/// The format and the files of a table, in the order of their full names. A file that is reached in
/// two ways is there once: twice, each of its rows would count as two people's. The first way says
/// what the names of its folders are; in a folder, ways are tried in the order of their names.
pub(crate) fn find(
    table: &str,
    sources: &[String],
    format: Option<Format>,
    folder: &Path,
) -> Result<(Format, Vec<DataFile>), SourceError> {
    let mut search = Search { table, format, found: BTreeMap::new(), folders: BTreeSet::new() };
    for source in sources {
        search.add_source(source, folder)?;
    }
    let files: Vec<DataFile> =
        search.found.into_iter().map(|(path, way)| DataFile::new(path, way)).collect();
    let Some(first) = files.first() else {
        return Err(SourceError::NoFiles {
            table: table.to_owned(),
            source_text: sources.join(", "),
            format: format.map(Format::name),
        });
    };
    if let Some(format) = format {
        return Ok((format, files));
    }
    let unknown = |file: &DataFile| SourceError::UnknownFormat { path: file.shown().to_owned() };
    let format = format_of(first.path()).ok_or_else(|| unknown(first))?;
    for other in &files {
        match format_of(other.path()) {
            None => return Err(unknown(other)),
            Some(other_format) if other_format != format => {
                return Err(SourceError::SeveralFormats {
                    table: table.to_owned(),
                    one: first.shown().to_owned(),
                    other: other.shown().to_owned(),
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
    table: &'a str,
    format: Option<Format>,
    /// Files by their full names, each with the first way to it.
    found: BTreeMap<PathBuf, Way>,
    /// Folders that were entered, by their full names: links cannot lead in circles.
    folders: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn add_source(&mut self, source: &str, folder: &Path) -> Result<(), SourceError> {
        let path = folder.join(source);
        if path.exists() {
            let before = self.found.len();
            self.add_path(&path, Way::named(folder, Path::new(source)))?;
            if path.is_dir() && self.found.len() == before && !self.holds_part_of(&path) {
                return Err(self.no_files(source));
            }
            return Ok(());
        }
        let missing = || SourceError::Missing { table: self.table.to_owned(), path: path.clone() };
        if !source.contains(['*', '?', '[']) {
            return Err(missing());
        }
        // Only the policy's own text is a pattern; the folder's name may hold such characters.
        let pattern = match folder.to_str() {
            Some("") => source.to_owned(),
            Some(_) if Path::new(source).is_absolute() => source.to_owned(),
            Some(text) => format!("{}/{source}", glob::Pattern::escape(text)),
            None => return Err(missing()),
        };
        let wrong = |error: glob::PatternError| SourceError::Pattern {
            table: self.table.to_owned(),
            pattern: source.to_owned(),
            reason: error.msg,
        };
        let refused = |path: &Path, error: &io::Error| {
            SourceError::unreadable(Way::matched(folder, path).shown(), error)
        };
        let mut matches: Vec<PathBuf> = Vec::new();
        if source.contains("**") {
            let pattern = glob::Pattern::new(&pattern).map_err(wrong)?;
            let plain = source.find(['*', '?', '[']).map_or(source, |first| &source[..first]);
            let start = plain.rfind('/').map_or("", |slash| &plain[..=slash]);
            walk(&folder.join(start), &pattern, &mut matches)
                .map_err(|(path, error)| refused(&path, &error))?;
            matches.sort();
        } else {
            for entry in glob::glob(&pattern).map_err(wrong)? {
                matches.push(entry.map_err(|error| refused(error.path(), error.error()))?);
            }
        }
        let mut any = false;
        for path in matches {
            if is_passed_over(path.strip_prefix(folder).unwrap_or(&path)) {
                continue;
            }
            any = true;
            self.add_path(&path, Way::matched(folder, &path))?;
        }
        if any { Ok(()) } else { Err(self.no_files(source)) }
    }

    fn no_files(&self, source: &str) -> SourceError {
        SourceError::NoFiles {
            table: self.table.to_owned(),
            source_text: source.to_owned(),
            format: self.format.map(Format::name),
        }
    }

    /// Whether files of this folder were found on another way already.
    fn holds_part_of(&self, folder: &Path) -> bool {
        folder
            .canonicalize()
            .is_ok_and(|folder| self.found.keys().any(|file| file.starts_with(&folder)))
    }

    /// A file that is named is taken; of a folder those are taken whose name fits.
    fn add_path(&mut self, path: &Path, way: Way) -> Result<(), SourceError> {
        let full =
            path.canonicalize().map_err(|error| SourceError::unreadable(way.shown(), &error))?;
        let kind = std::fs::metadata(&full)
            .map_err(|error| SourceError::unreadable(way.shown(), &error))?;
        if kind.is_dir() {
            return self.add_folder(&full, &way);
        }
        if !kind.is_file() {
            return Err(SourceError::Unreadable {
                path: way.shown().to_owned(),
                reason: "neither a file nor a folder".to_owned(),
            });
        }
        self.found.entry(full).or_insert(way);
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path, way: &Way) -> Result<(), SourceError> {
        if !self.folders.insert(folder.to_owned()) {
            return Ok(());
        }
        let refused = |error: io::Error| SourceError::unreadable(way.shown(), &error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(refused)? {
            names.push(entry.map_err(refused)?.file_name());
        }
        names.sort();
        for name in &names {
            let Some(name) = name.to_str().filter(|name| !is_passed_over(Path::new(name))) else {
                continue;
            };
            let path = folder.join(name);
            let is_folder = path.is_dir();
            // Hidden files and the marks that other programs leave beside their data, as
            // `_SUCCESS`. A column may begin with an underscore.
            if name.starts_with('.') || name.starts_with('_') && !(is_folder && name.contains('='))
            {
                continue;
            }
            let fits = match self.format {
                None => format_of(&path).is_some(),
                Some(format) => format_of(&path) == Some(format),
            };
            if is_folder {
                self.add_path(&path, way.folder_in(name))?;
            } else if fits {
                self.add_path(&path, way.file_in(name))?;
            }
        }
        Ok(())
    }
}

/// What a pattern with `**` matches in a folder. Linked folders are not entered: links that lead in
/// circles have endlessly many names below them, and the library would try them all.
fn walk(
    folder: &Path,
    pattern: &glob::Pattern,
    found: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, io::Error)> {
    let options =
        glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let refused = |error: io::Error| (folder.to_owned(), error);
    let mut folders = Vec::new();
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match std::fs::read_dir(here) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(refused)?,
    };
    for entry in entries {
        let entry = entry.map_err(refused)?;
        let path = folder.join(entry.file_name());
        if entry.file_type().map_err(refused)?.is_dir() {
            folders.push(path.clone());
        }
        if pattern.matches_path_with(&path, options) {
            found.push(path);
        }
    }
    folders.iter().try_for_each(|folder| walk(folder, pattern, found))
}

/// Names that the file libraries cannot be told: those that are not UTF-8, or have control
/// characters. What the folder of such a name says is content, so that it cannot be an error; its
/// rows do not count. And the notes of this program, which are no data.
fn is_passed_over(path: &Path) -> bool {
    path.components().any(|component| match component {
        Component::Normal(name) => name
            .to_str()
            .is_none_or(|name| name == NOTES || name.contains(|c: char| c.is_ascii_control())),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use reticent_policy::{Policy, TablePolicy};

    use super::*;

    fn table(fields: &str) -> TablePolicy {
        let text = format!(
            "[budget]\nepsilon = 1\n[tables.t]\neach_row = true\ncolumns.a.type = 'text'\n{fields}"
        );
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
        let table = table(fields);
        let (format, files) = find(table.name(), table.source(), table.format(), folder.path())
            .map_err(|error| error.to_string())?;
        let root = folder.path().canonicalize().expect("a path");
        let name = |file: &DataFile| {
            file.path().strip_prefix(&root).expect("inside").display().to_string()
        };
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
        let parquet =
            Ok((Format::Parquet, vec!["in/deep/y.parquet".into(), "in/x.parquet".into()]));
        assert_eq!(found("source = 'in'", &folder), parquet);
        assert_eq!(
            found("source = '**/*.parquet'\nformat = 'parquet'", &folder)
                .map(|found| found.1.len()),
            Ok(3)
        );
        // The same file on three ways is one file.
        let once = found("source = ['b.csv', './b.csv', '*.csv', 'in/../b.csv']", &folder);
        assert_eq!(once, Ok((Format::Csv, vec!["b.csv".into()])));
        assert_eq!(found("source = ['in/x.parquet', 'in']", &folder), parquet);
        assert_eq!(
            found("source = '.'\nformat = 'csv'", &folder).map(|found| found.1.len()),
            Ok(3)
        );
    }

    #[test]
    fn notes_of_ledgers_are_no_data() {
        let folder = folder_with(&["in/a.csv", "in/.reticent-ledgers", ".reticent-ledgers"]);
        for source in ["in", "in/*", "**", "i*/*", "*/.r*"] {
            let found = found(&format!("source = '{source}'\nformat = 'csv'"), &folder);
            if source == "*/.r*" {
                assert!(found.is_err(), "{found:?}");
            } else {
                assert_eq!(found, Ok((Format::Csv, vec!["in/a.csv".into()])), "{source}");
            }
        }
        assert_eq!(found("source = 'in/*'", &folder), Ok((Format::Csv, vec!["in/a.csv".into()])));
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
        assert_eq!(
            found("source = 'note'\nformat = 'csv'", &folder),
            Ok((Format::Csv, vec!["note".into()]))
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once_and_lead_in_no_circles() {
        let folder = folder_with(&["in/b.csv"]);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, folder.path().join(name)).expect("a link")
        };
        link(".", "in/again");
        link("in/b.csv", "c.csv");
        link("nowhere.csv", "d.csv");
        assert_eq!(
            found("source = ['in', 'c.csv']", &folder),
            Ok((Format::Csv, vec!["in/b.csv".into()]))
        );
        assert!(
            found("source = 'd.csv'", &folder)
                .expect_err("broken")
                .contains("there is no file or folder")
        );
        assert!(found("source = '?.csv'", &folder).is_err(), "a broken link among matches");
        // Two links to where they are: 2^40 names before the system gives up.
        std::fs::remove_file(folder.path().join("d.csv")).expect("removed");
        link(".", "in/once more");
        let all = Ok((Format::Csv, vec!["in/b.csv".into()]));
        assert_eq!(found("source = '**/*.csv'", &folder), all);
        assert_eq!(found("source = 'in/**/b.csv'", &folder), all);
        assert_eq!(found("source = '*/**/?.csv'", &folder), all);
        assert_eq!(found("source = 'in/**'\nformat = 'csv'", &folder), all);
        assert!(
            found("source = 'out/**'", &folder)
                .expect_err("nothing")
                .contains("\"out/**\" has no CSV")
        );
    }
}
