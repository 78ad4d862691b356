//! Runs of one experiment or of all of them, from the setting to the files.

use crate::{Experiment, Origin, Outcome, ReproductionError, Results, Setting};
use std::path::Path;

/// An experiment with its outcome, or without one because its data were not given.
#[derive(Debug)]
pub struct Run {
    /// The experiment.
    pub experiment: Experiment,
    /// What came out; `None` if it was skipped.
    pub outcome: Option<Outcome>,
}

/// Runs the experiment of a name, or all of them if none is named, and adds each to the results in
/// a folder as soon as it is finished. `begins` is told each experiment and its index before it is
/// run.
///
/// Among all experiments those whose data were not given are skipped, which the results say by
/// name; one that is asked for by name is refused instead, before anything is touched.
///
/// # Errors
/// If there is no such experiment, data are not as expected, a figure could not be computed, or the
/// folder cannot be written to, which is known before the work. What was finished before stays.
pub fn reproduce(
    name: Option<&str>,
    setting: &Setting,
    folder: &Path,
    command: &str,
    begins: impl Fn(usize, &Experiment),
) -> Result<Vec<Run>, ReproductionError> {
    let experiments = match name {
        Some(name) => vec![Experiment::named(name)?],
        None => Experiment::ALL.to_vec(),
    };
    if name.is_some() {
        experiments.iter().try_for_each(|experiment| experiment.has_data(setting))?;
    }
    let results = Results::open(folder)?;
    let origin = Origin { command: command.into(), seed: setting.seed() };
    let mut runs = Vec::with_capacity(experiments.len());
    for (index, experiment) in experiments.into_iter().enumerate() {
        begins(index, &experiment);
        if experiment.has_data(setting).is_err() {
            runs.push(Run { experiment, outcome: None });
            continue;
        }
        results.begin(&experiment)?;
        let outcome = experiment.run(setting)?;
        results.finish(&experiment, &outcome, &origin)?;
        runs.push(Run { experiment, outcome: Some(outcome) });
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::Folder;
    use std::cell::RefCell;

    #[test]
    fn one_experiment_is_run_and_written() {
        let folder = Folder::new("one");
        let begun = RefCell::new(Vec::new());
        let runs = reproduce(
            Some("lecture-densities"),
            &Setting::new(1),
            &folder.0,
            "reproduce",
            |index, experiment| {
                begun.borrow_mut().push((index, experiment.name));
            },
        )
        .expect("a result");
        assert!(
            folder.0.join("index.html").is_file()
                && folder.0.join("lecture-densities.csv").is_file()
        );
        assert_eq!(begun.into_inner(), [(0, "lecture-densities")]);
        assert!(runs.len() == 1 && runs[0].outcome.is_some());
    }

    /// Without its data an experiment is refused before anything is touched; with data that cannot
    /// be read it is marked as unfinished. Either way the earlier page stays.
    #[test]
    fn a_refused_and_a_failed_run_leave_earlier_results_alone() {
        let folder = Folder::new("refused");
        let run = |name: &str, setting: &Setting| {
            reproduce(Some(name), setting, &folder.0, "reproduce", |_, _| ())
        };
        run("lecture-densities", &Setting::new(1)).expect("a result");
        let page = || std::fs::read_to_string(folder.0.join("index.html")).expect("a page");
        let before = page();
        let refused = run("liu-adult", &Setting::new(1));
        assert!(matches!(refused, Err(ReproductionError::NoData { .. })));
        assert_eq!(page(), before);
        let nothing_there = Setting::new(1).with_data(folder.0.join("no-data"));
        assert!(matches!(run("liu-adult", &nothing_there), Err(ReproductionError::Read { .. })));
        let after = page();
        assert!(
            after.contains("was begun and not finished") && after.contains("decays much faster")
        );
    }

    #[test]
    fn an_unknown_name_touches_nothing() {
        let there = Path::new("/dev/null/there");
        let unknown = reproduce(Some("figure-1"), &Setting::new(1), there, "", |_, _| ());
        assert!(matches!(unknown, Err(ReproductionError::UnknownExperiment { .. })));
    }
}
