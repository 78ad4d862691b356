//! What `reticent reproduce` does, without the query engine, which takes long to build.
//!
//!     cargo run -p reticent-reproduction --example reproduce -- OUT SEED [DATA [NAME [REPEATS]]]
//!
//! `DATA` is a folder of data, or `-` for none; `NAME` an experiment, or `-` for all. It says how long each experiment took, and ends with code 1 if a claim was not shown.

use reticent_reproduction::{ReproductionError, Setting, reproduce};
use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> Result<ExitCode, ReproductionError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |place: usize| arguments.get(place).map(String::as_str).filter(|text| *text != "-");
    let (Some(out), Some(Ok(seed))) = (given(0), given(1).map(str::parse)) else {
        eprintln!("usage: reproduce OUT SEED [DATA [NAME [REPEATS]]]");
        return Ok(ExitCode::from(2));
    };
    let mut setting = Setting::new(seed).watched_by(|share| eprint!("{:5.1}%\r", 100.0 * share));
    let mut command = "reticent reproduce".to_string();
    if let Some(name) = given(3) {
        command += &format!(" {name}");
    }
    if let Some(data) = given(2) {
        setting = setting.with_data(PathBuf::from(data));
        command += " --data DIR";
    }
    if let Some(Ok(repeats)) = given(4).map(str::parse) {
        setting = setting.with_repeats(repeats)?;
        command += &format!(" --repeats {repeats}");
    }
    command += &format!(" --seed {seed}");
    let begun = Cell::new(Instant::now());
    let runs = reproduce(given(3), &setting, &PathBuf::from(out), &command, |_, experiment| {
        eprintln!("{:8.1} s; {}", begun.replace(Instant::now()).elapsed().as_secs_f64(), experiment.name);
    })?;
    eprintln!("{:8.1} s; written", begun.get().elapsed().as_secs_f64());
    let mut missed = 0;
    for run in &runs {
        let findings = run.outcome.iter().flat_map(|outcome| &outcome.findings);
        for finding in findings.filter(|finding| !finding.is_remark() && !finding.is_shown()) {
            missed += 1;
            println!("not shown: {}: {}", run.experiment.name, finding.claim);
        }
    }
    Ok(ExitCode::from(u8::from(missed > 0)))
}
