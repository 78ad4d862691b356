//! Runs of one experiment or of all of them, from the setting to the files.

use crate::{Experiment, ReproductionError, Run, Setting, write};
use std::path::Path;

/// Runs the experiment of a name, or all of them if none is named, and writes the results into a folder, which is made if need be. `begins` is told each experiment
/// and its place before it is run.
///
/// Among all experiments those whose data were not given are skipped, which the results say by name; one that is asked for by name is refused instead.
///
/// # Errors
/// If there is no such experiment, data are not as expected, a figure could not be computed, or the folder cannot be written to, which is known before the work.
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
    write(folder, &[], setting, command)?;
    let mut runs = Vec::with_capacity(experiments.len());
    for (place, experiment) in experiments.into_iter().enumerate() {
        begins(place, &experiment);
        let skipped = name.is_none() && experiment.reads.is_some() && setting.data().is_none();
        let outcome = if skipped { None } else { Some(experiment.run(setting)?) };
        runs.push(Run { experiment, outcome });
    }
    write(folder, &runs, setting, command)?;
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn one_experiment_is_run_and_written() {
        let folder = std::env::temp_dir().join(format!("reticent-reproduce-one-{}", std::process::id()));
        let begun = RefCell::new(Vec::new());
        let runs = reproduce(
            Some("zhao-classical-limits"),
            &Setting::new(1),
            &folder,
            "reticent reproduce",
            |place, experiment| {
                begun.borrow_mut().push((place, experiment.name));
            },
        )
        .expect("a result");
        assert!(folder.join("index.html").is_file() && folder.join("zhao-classical-limits.csv").is_file());
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(begun.into_inner(), [(0, "zhao-classical-limits")]);
        assert!(runs.len() == 1 && runs[0].outcome.is_some());
    }

    #[test]
    fn data_that_are_asked_for_by_name_are_missed() {
        let folder = std::env::temp_dir().join(format!("reticent-reproduce-none-{}", std::process::id()));
        let refused = reproduce(Some("liu-adult"), &Setting::new(1), &folder, "", |_, _| ());
        let unknown = reproduce(Some("figure-1"), &Setting::new(1), Path::new("/dev/null/there"), "", |_, _| ());
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(matches!(refused, Err(ReproductionError::NoData { .. })));
        assert!(matches!(unknown, Err(ReproductionError::UnknownExperiment { .. })));
    }
}
