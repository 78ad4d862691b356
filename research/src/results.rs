//! A folder of results, to which every experiment adds its own.
//!
//! An experiment leaves its tables as CSV, its figures as SVG and PNG, and last a record of its
//! findings, `records/NAME.json`. The page and the Markdown are made from the records that are
//! there, so that a single experiment adds to what earlier runs have left. While an experiment
//! runs, `records/NAME.unfinished` says so: an interrupted or failed run leaves the earlier record
//! and this mark, which the page shows. Files are replaced by renaming, never in parts.

use crate::{Experiment, Finding, Outcome, ReproductionError, page, png, summary};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Pixels for each unit of a figure: sharp on a dense screen and in print.
const PIXELS: f32 = 2.0;

/// How an experiment was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The command, without the paths of the machine.
    pub command: String,
    /// The seed.
    pub seed: u64,
}

/// What a finished experiment leaves behind, besides its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// How it was run.
    pub origin: Origin,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// The names of its figures.
    pub pictures: Vec<String>,
    /// The names and captions of its tables.
    pub tables: Vec<(String, String)>,
}

/// An experiment in a folder of results.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The experiment.
    pub experiment: Experiment,
    /// What it left when it was last finished, if it was.
    pub record: Option<Record>,
    /// Whether a later run of it was begun and not finished.
    pub unfinished: bool,
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> ReproductionError + '_ {
    |source| ReproductionError::Write { path: path.into(), source }
}

impl Results {
    /// The results in a folder, which is made if need be.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, ReproductionError> {
        let records = folder.join("records");
        fs::create_dir_all(&records).map_err(failed(&records))?;
        Ok(Results { folder: folder.into() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn record_path(&self, experiment: &Experiment) -> PathBuf {
        self.folder.join("records").join(format!("{}.json", experiment.name))
    }

    fn mark_path(&self, experiment: &Experiment) -> PathBuf {
        self.folder.join("records").join(format!("{}.unfinished", experiment.name))
    }

    /// Replaces a file as a whole.
    fn replace(path: &Path, content: &[u8]) -> Result<(), ReproductionError> {
        let beside = path.with_extension("partial");
        fs::write(&beside, content).map_err(failed(&beside))?;
        fs::rename(&beside, path).map_err(failed(path))
    }

    /// Marks an experiment as begun. What it left earlier stays.
    ///
    /// # Errors
    /// If the mark or the page cannot be written.
    pub fn begin(&self, experiment: &Experiment) -> Result<(), ReproductionError> {
        let mark = self.mark_path(experiment);
        fs::write(&mark, "").map_err(failed(&mark))?;
        self.write_page()
    }

    /// Writes what an experiment gave, takes its mark away and makes the page anew.
    ///
    /// # Errors
    /// If a file cannot be written or a figure cannot be drawn; then the mark stays.
    pub fn finish(
        &self,
        experiment: &Experiment,
        outcome: &Outcome,
        origin: &Origin,
    ) -> Result<(), ReproductionError> {
        let file = |name: &str, ending: &str| self.folder.join(format!("{name}.{ending}"));
        for table in &outcome.tables {
            Self::replace(&file(table.name, "csv"), table.csv().as_bytes())?;
        }
        for (name, picture) in &outcome.pictures {
            let svg = picture.svg();
            Self::replace(&file(name, "png"), &png(&svg, PIXELS)?)?;
            Self::replace(&file(name, "svg"), svg.as_bytes())?;
        }
        let record = Record {
            origin: origin.clone(),
            findings: outcome.findings.clone(),
            pictures: outcome.pictures.iter().map(|picture| picture.0.to_string()).collect(),
            tables: outcome
                .tables
                .iter()
                .map(|table| (table.name.to_string(), table.caption.clone()))
                .collect(),
        };
        let path = self.record_path(experiment);
        // The record is plain data, whose writing cannot fail.
        let text = serde_json::to_string_pretty(&record).unwrap_or_default() + "\n";
        Self::replace(&path, text.as_bytes())?;
        let mark = self.mark_path(experiment);
        fs::remove_file(&mark).map_err(failed(&mark))?;
        self.write_page()
    }

    /// What every experiment has left here.
    ///
    /// # Errors
    /// If there is a record that cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, ReproductionError> {
        let entry = |experiment: Experiment| {
            let path = self.record_path(&experiment);
            let record = match fs::read(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(source) => return Err(ReproductionError::Read { path, source }),
                Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(|error| {
                    let problem = format!("{error}; delete it and run `{}` again", experiment.name);
                    ReproductionError::Malformed { path, problem }
                })?),
            };
            let unfinished = self.mark_path(&experiment).exists();
            Ok(Entry { experiment, record, unfinished })
        };
        Experiment::ALL.into_iter().map(entry).collect()
    }

    /// Makes `results.md` and `index.html` from what is there.
    fn write_page(&self) -> Result<(), ReproductionError> {
        let entries = self.entries()?;
        let file = |name: &str| self.folder.join(name);
        Self::replace(&file("results.md"), summary(&entries).as_bytes())?;
        Self::replace(&file("index.html"), page(&entries, &self.folder)?.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::Folder;
    use crate::{Setting, Verdict};

    fn origin() -> Origin {
        Origin { command: "reproduce".into(), seed: 5 }
    }

    #[test]
    fn the_same_seed_writes_the_same_bytes() {
        let folder = Folder::new("same-seed");
        let write_once = |place: &str| {
            let setting = Setting::new(5).with_repeats(3).expect("enough");
            let results = Results::open(&folder.0.join(place)).expect("made");
            for name in ["liu-czech", "zhao-classical-limits"] {
                let experiment = Experiment::named(name).expect("known");
                results.begin(&experiment).expect("marked");
                let outcome = experiment.run(&setting).expect("a result");
                results.finish(&experiment, &outcome, &origin()).expect("written");
            }
            let mut files: Vec<_> = fs::read_dir(results.folder())
                .expect("there")
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.is_file())
                .collect();
            files.sort();
            files
        };
        let (first, second) = (write_once("a"), write_once("b"));
        assert!(first.len() >= 6, "{first:?}");
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.file_name(), b.file_name());
            assert!(fs::read(a).expect("readable") == fs::read(b).expect("readable"), "{a:?}");
        }
    }

    /// An experiment that was finished, begun again and never finished: its earlier findings are
    /// on the page, marked, and another experiment adds to it.
    #[test]
    fn an_interrupted_run_leaves_earlier_results_and_its_mark() {
        let folder = Folder::new("interrupted");
        let results = Results::open(&folder.0).expect("made");
        let [first, second] =
            ["zhao-classical-limits", "lecture-densities"].map(|n| Experiment::named(n).expect(n));
        let page = || fs::read_to_string(folder.0.join("index.html")).expect("a page");
        let claim = "an earlier finding";
        for experiment in [first, second] {
            let finding = Finding::own(claim, String::new(), Verdict::Holds);
            let outcome = Outcome { findings: vec![finding], ..Outcome::default() };
            results.begin(&experiment).expect("marked");
            assert!(page().contains("was begun and not finished"));
            results.finish(&experiment, &outcome, &origin()).expect("written");
        }
        let before = page();
        assert!(!before.contains("was begun and not finished"), "finished");
        results.begin(&first).expect("marked");
        let after = page();
        assert!(after.contains("was begun and not finished"));
        assert!(before.contains(claim) && after.contains(claim), "the earlier findings stay");
        let entries = results.entries().expect("readable");
        let of = |e: &Experiment| entries.iter().find(|entry| entry.experiment.name == e.name);
        assert!(of(&first).is_some_and(|entry| entry.unfinished && entry.record.is_some()));
        assert!(of(&second).is_some_and(|entry| !entry.unfinished && entry.record.is_some()));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_named_and_kept() {
        let folder = Folder::new("malformed-record");
        let results = Results::open(&folder.0).expect("made");
        let path = folder.0.join("records").join("liu-czech.json");
        fs::write(&path, "{").expect("written");
        let error = results.entries().expect_err("malformed").to_string();
        assert!(error.contains("liu-czech.json") && error.contains("delete it"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = Results::open(Path::new("/dev/null/there")).expect_err("no folder");
        assert!(error.to_string().contains("/dev/null/there"), "{error}");
    }
}
