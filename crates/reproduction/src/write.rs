//! Results as files.

use crate::{Experiment, Outcome, ReproductionError, Setting, page, summary};
use reticent_figures::png;
use std::fs;
use std::path::{Path, PathBuf};

/// Pixels for each unit of a figure: sharp on a dense screen and in print.
const PIXELS: f32 = 2.0;

/// An experiment with its outcome, or without one because its data were not given.
#[derive(Debug)]
pub struct Run {
    /// The experiment.
    pub experiment: Experiment,
    /// What came out; `None` if it was skipped.
    pub outcome: Option<Outcome>,
}

/// Writes tables as CSV, figures as SVG and PNG, the findings as Markdown, `results.md`, and the page that shows all of it, `index.html`, into a folder, which is made if need be.
///
/// # Errors
/// If the folder or a file cannot be written, or a figure cannot be drawn.
pub fn write(folder: &Path, runs: &[Run], setting: &Setting, command: &str) -> Result<(), ReproductionError> {
    let failed = |path: PathBuf| move |source| ReproductionError::Write { path, source };
    fs::create_dir_all(folder).map_err(failed(folder.to_path_buf()))?;
    let store = |name: String, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).map_err(failed(path))
    };
    for outcome in runs.iter().filter_map(|run| run.outcome.as_ref()) {
        for table in &outcome.tables {
            store(format!("{}.csv", table.name), table.csv().as_bytes())?;
        }
        for (name, picture) in &outcome.pictures {
            let svg = picture.svg();
            store(format!("{name}.png"), &png(&svg, PIXELS)?)?;
            store(format!("{name}.svg"), svg.as_bytes())?;
        }
    }
    store("results.md".into(), summary(runs).as_bytes())?;
    store("index.html".into(), page(runs, setting, command).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_writes_the_same_bytes() {
        let folder = std::env::temp_dir().join(format!("reticent-reproduction-{}", std::process::id()));
        let write_once = |place: &str| {
            let setting = Setting::new(5).with_repeats(3).expect("enough");
            let runs: Vec<Run> = ["liu-czech", "zhao-classical-limits"]
                .into_iter()
                .map(|name| {
                    let experiment = Experiment::named(name).expect("known");
                    Run { experiment, outcome: Some(experiment.run(&setting).expect("a result")) }
                })
                .collect();
            let place = folder.join(place);
            write(&place, &runs, &setting, "reticent reproduce").expect("written");
            let mut files: Vec<_> =
                fs::read_dir(&place).expect("there").map(|entry| entry.expect("an entry").path()).collect();
            files.sort();
            files
        };
        let (first, second) = (write_once("a"), write_once("b"));
        assert!(first.len() >= 6, "{first:?}");
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.file_name(), b.file_name());
            assert!(fs::read(a).expect("readable") == fs::read(b).expect("readable"), "{a:?}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = write(Path::new("/dev/null/there"), &[], &Setting::new(1), "").expect_err("no folder");
        assert!(error.to_string().contains("/dev/null/there"), "{error}");
    }
}
