//! The map from the papers to the code, `docs/papers.md`: every command, file and test that it
//! names exists.

use crate::files::{read, root, with_ending};
use std::collections::BTreeSet;
use std::path::Path;

/// A line of a table: what it is, the command, the code, the test, the errata.
struct Row {
    item: String,
    command: String,
    code: String,
    test: String,
    errata: String,
}

/// The rows of all tables. A cell holds no bar, in code neither.
fn rows() -> Vec<Row> {
    let page = read(Path::new("docs/papers.md"));
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| item"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 7, "{line}");
        let plain = |index: usize| cells[index].trim_matches('`').to_owned();
        Row { item: plain(1), command: plain(2), code: plain(3), test: plain(4), errata: plain(5) }
    };
    lines.map(row).collect()
}

/// All source of the workspace below these folders.
fn source(folders: &[&str]) -> String {
    let files = with_ending(&[".rs"]);
    let own = files.iter().filter(|file| folders.iter().any(|folder| file.starts_with(folder)));
    own.map(|file| read(file)).collect()
}

/// What is wrong with a command, if anything is. Words that are not options are the mechanism with
/// its parameters, such as `gaussian sigma=2`, or the values of options.
fn fault(command: &str, program: &str, mechanisms: &str, experiments: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["reproduce", name] => {
            (!experiments.contains(&format!("\"{name}\""))).then(|| format!("no experiment {name}"))
        }
        ["reticent", subcommand, ..] => {
            let file = root().join(format!("crates/cli/src/commands/{subcommand}.rs"));
            if !file.exists() {
                return Some(format!("no command {subcommand}"));
            }
            let mechanism = words.get(2).filter(|word| !word.starts_with("--"));
            let unknown = mechanism.filter(|name| !mechanisms.contains(&format!("\"{name}\"")));
            let option = |word: &&&str| {
                let name = word.trim_start_matches("--").replace('-', "_");
                word.starts_with("--") && !program.contains(&format!("{name}: "))
            };
            let option = words.iter().find(option);
            unknown.or(option).map(|word| format!("nothing is called {word}"))
        }
        _ => Some("neither `reticent` nor `reproduce`".into()),
    }
}

#[test]
fn every_command_file_and_test_of_the_map_exists() {
    let program = source(&["crates/cli/src"]);
    let mechanisms = source(&["crates/mechanisms/src"]);
    let experiments = source(&["research/src"]);
    let tests = source(&["crates", "research", "stat-tests"]);
    let functions: BTreeSet<&str> =
        tests.split("fn ").skip(1).map(|rest| rest.split(['(', '<']).next().unwrap()).collect();
    let mut faults = Vec::new();
    for Row { item, command, code, test, .. } in rows() {
        let file = || ["", "crates"].iter().any(|from| root().join(from).join(&code).exists());
        if !file() {
            faults.push(format!("{item}: there is no {code}"));
        }
        if !functions.contains(test.as_str()) {
            faults.push(format!("{item}: there is no test {test}"));
        }
        let fault = fault(&command, &program, &mechanisms, &experiments);
        faults.extend(fault.map(|fault| format!("{item}: `{command}`: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_map_names_errata_that_exist_and_every_erratum_of_the_papers() {
    let page = read(Path::new("docs/errata.md"));
    let known: BTreeSet<String> = page
        .split("\n**")
        .skip(1)
        .map(|rest| rest.split(['.', '*']).next().unwrap().to_owned())
        .collect();
    let rows = rows();
    let named: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| row.errata.split(", "))
        .filter(|erratum| !erratum.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(named.is_subset(&known), "{:?}", named.difference(&known));
    let numbered = |erratum: &&String| erratum[1..].parse::<u32>().is_ok();
    let missing: Vec<_> = known.iter().filter(numbered).filter(|e| !named.contains(*e)).collect();
    assert!(missing.is_empty(), "errata without a row: {missing:?}");
    assert!(rows.len() > 80 && known.len() > 25, "{} {}", rows.len(), known.len());
}

#[test]
fn what_does_not_exist_is_found() {
    let fault = |command: &str| fault(command, "epsilon: f64", "\"laplace\"", "\"liu-czech\"");
    assert_eq!(fault("reproduce liu-czech"), None);
    assert_eq!(fault("reticent calibrate laplace --epsilon 1"), None);
    for wrong in [
        "reproduce liu-table",
        "reticent sanitise laplace",
        "reticent calibrate laplas --epsilon 1",
        "reticent calibrate laplace --sigma 1",
        "cargo run",
    ] {
        assert!(fault(wrong).is_some(), "{wrong}");
    }
}
