//! `cargo run -p fuzz -- TARGET --seconds N`: see the crate's page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use fuzz::campaign::{COUNT, CURRENT, FAILURE, campaign};
use fuzz::target::{ALL, Target};
use fuzz::worker::{outcome, remember_panics, work};

/// Looks for inputs that do what must never happen.
#[derive(Parser)]
struct Options {
    /// What to fuzz: all, or one of sql, csv, parquet, arrow, values, policy, ledger.
    target: String,
    /// For how long, in seconds; all targets share it.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the random changes begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Try this file and nothing else.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Be the worker whose supervisor looks into this folder.
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    let one = Target::from_str(&options.target, true);
    if let (Some(input), Ok(target)) = (&options.input, &one) {
        return single(*target, input, options.worker.as_deref());
    }
    if let (Some(folder), Ok(target)) = (&options.worker, &one) {
        return worker(*target, options, folder);
    }
    let targets = match (&*options.target, one) {
        ("all", _) => ALL.to_vec(),
        (_, Ok(target)) => vec![target],
        (_, Err(message)) => return Err(message),
    };
    let (mut known, mut found) = (BTreeSet::new(), false);
    let share = (options.seconds / targets.len() as u64).max(1);
    for target in targets {
        let report =
            campaign(target, share, options.seed, &mut known).map_err(|error| error.to_string())?;
        println!(
            "{}: {} inputs in {share} s, {} findings",
            target.name(),
            report.inputs,
            report.findings.len()
        );
        for path in &report.findings {
            found = true;
            println!("  {}", path.with_extension("txt").display());
        }
    }
    Ok(ExitCode::from(u8::from(found)))
}

/// Tries one input, and says what it did.
fn single(target: Target, input: &Path, folder: Option<&Path>) -> Result<ExitCode, String> {
    let text = |error: std::io::Error| error.to_string();
    let own = tempfile::tempdir().map_err(text)?;
    let input = std::fs::read(input).map_err(text)?;
    let mut subject = target.subject(own.path())?;
    remember_panics();
    match outcome(&mut subject, &input) {
        Ok(seen) => {
            seen.iter().for_each(|seen| println!("{seen}"));
            Ok(ExitCode::SUCCESS)
        }
        Err(what) => {
            println!("{what}");
            if let Some(folder) = folder {
                std::fs::write(folder.join(FAILURE), &what).map_err(text)?;
            }
            Ok(ExitCode::from(3))
        }
    }
}

fn worker(target: Target, options: &Options, folder: &Path) -> Result<ExitCode, String> {
    let text = |error: std::io::Error| error.to_string();
    remember_panics();
    let current = folder.join(CURRENT);
    let mut count = 0_u64;
    let time = (usize::MAX, Duration::from_secs(options.seconds));
    let done = work(target, options.seed, time, folder, true, |input| {
        count += 1;
        // Without these files the supervisor would see less, and the work would be the same.
        let _ = std::fs::write(&current, input);
        if count.is_multiple_of(64) {
            let _ = std::fs::write(folder.join(COUNT), count.to_string());
        }
    })?;
    std::fs::write(folder.join(COUNT), done.inputs.to_string()).map_err(text)?;
    match done.failure {
        None => Ok(ExitCode::SUCCESS),
        Some((_, what)) => {
            std::fs::write(folder.join(FAILURE), what).map_err(text)?;
            Ok(ExitCode::from(3))
        }
    }
}
