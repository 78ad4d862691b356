//! The protocol in processes of its own, which are killed, starved and lied to at every change they
//! make.
//!
//! A shim (`shim.c`, compiled here with `cc`) stands between the program and the C library: no hook
//! in the ledger is needed, and what runs is what users run.
#![allow(clippy::unwrap_used, clippy::panic)]

mod child;
mod power_loss;

use child::FAILED;
use reticent_accounting::FilterBudget;
use reticent_ledger::{Digest, Ledger, LedgerError, Limits, Protected, verify};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// Each query costs 1/8.
pub const COST_SCALE: f64 = 8.0;
const COST: f64 = 1.0 / COST_SCALE;

/// Room for eight queries.
pub fn limits() -> Limits {
    Limits::new(FilterBudget::Pure { epsilon: 1.0 }, 0.0).unwrap()
}

/// What the ledgers of these tests protect.
pub fn protects() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).unwrap()
}

/// What they may be made to protect.
pub fn others() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/moved/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).unwrap()
}

/// The process that the other tests start.
#[test]
#[ignore = "it is the child of the other tests"]
fn child_process() {
    child::run()
}

fn shim() -> &'static Path {
    static SHIM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_folder, path) = SHIM.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&path)
            .arg(source)
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success());
        (folder, path)
    });
    path
}

/// A program that does a task on a ledger.
fn program(path: &Path, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_process", "--ignored", "--nocapture"]);
    command.env("LEDGER_PATH", path).env("LEDGER_TASK", task);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program to which the `at`-th change of a file in the folder of the ledger goes wrong.
fn faulty(path: &Path, task: &str, kind: &str, at: u32, mark: &Path) -> Command {
    let mut command = program(path, task);
    command.env("LD_PRELOAD", shim()).env("FAULT_FOLDER", path.parent().unwrap());
    command.env("FAULT_KIND", kind).env("FAULT_AT", at.to_string()).env("FAULT_MARK", mark);
    command
}

/// What a program released: query and answer.
fn released(output: &Output) -> Vec<(String, String)> {
    released_in(&String::from_utf8_lossy(&output.stdout))
}

fn released_in(text: &str) -> Vec<(String, String)> {
    assert!(!text.contains("still open after a failure"), "{text}");
    let parts = |line: &str| {
        let (query, answer) =
            line.strip_suffix('\n')?.strip_prefix("released ")?.split_once('=')?;
        Some((query.to_owned(), answer.to_owned()))
    };
    text.split_inclusive('\n').filter_map(parts).collect()
}

/// Whatever happened: the ledger is whole, opens, has spent at least what was released and at most
/// the budget, and still has every answer. If not, what is wrong.
fn fault(path: &Path, released: &[(String, String)]) -> Result<(), String> {
    if !path.exists() {
        return if released.is_empty() { Ok(()) } else { Err("released without a ledger".into()) };
    }
    let verification = verify(path, None).map_err(|error| error.to_string())?;
    let ledger = Ledger::open(path, &limits(), &protects()).map_err(|error| error.to_string())?;
    let distinct: HashMap<_, _> = released.iter().cloned().collect();
    let spent = ledger.statement(None).map_err(|error| error.to_string())?.balance.spent.cost;
    if spent < COST * distinct.len() as f64
        || spent > 1.0
        || verification.answers < distinct.len() as u64
    {
        return Err(format!(
            "{spent} is spent on {} answers, {} released",
            verification.answers,
            distinct.len()
        ));
    }
    for (query, answer) in distinct {
        let stored =
            ledger.lookup(Digest::of(&[query.as_bytes()])).map_err(|error| error.to_string())?;
        if stored.map(|stored| stored.bytes) != Some(answer.into_bytes()) {
            return Err(format!("the answer to {query} is another"));
        }
    }
    Ok(())
}

fn check(path: &Path, released: &[(String, String)], context: &str) {
    if let Err(problem) = fault(path, released) {
        panic!("{context}: {problem}");
    }
}

/// Makes every change of a session go wrong in one way, each in a session of its own, and lets
/// another session follow. Returns how many changes there were.
fn at_every_change(kind: &str, begin_with_a_ledger: bool) -> u32 {
    for at in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let (path, mark) = (inside.join("ledger"), folder.path().join("mark"));
        if begin_with_a_ledger {
            Ledger::create(&path, limits(), &protects()).unwrap();
        }
        let output = faulty(&path, "session", kind, at, &mark).output().unwrap();
        let context = format!("{kind} at change {at}, {:?}", output.status);
        let ended = output.status.code();
        assert!(
            matches!(ended, None | Some(0 | FAILED)),
            "{context}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(ended.is_none(), output.status.signal() == Some(9), "{context}");
        let first = released(&output);
        check(&path, &first, &context);
        if !mark.exists() {
            assert_eq!((ended, first.len()), (Some(0), 2), "{context}");
            return at - 1;
        }
        // The next session gets the answers that were shown, and pays for those that were not.
        let output = program(&path, "session").output().unwrap();
        let second = released(&output);
        assert_eq!(
            (output.status.code(), second.len()),
            (Some(0), 2),
            "{context}, then {output:?}"
        );
        assert!(second.starts_with(&first), "{context}: {first:?} became {second:?}");
        check(&path, &second, &context);
    }
    unreachable!("a session ends")
}

#[test]
fn killed_before_and_after_every_change() {
    let before = at_every_change("kill-before", false);
    let after = at_every_change("kill-after", false);
    // A creation and four entries, each with a journal, a file and a folder to write and to
    // synchronise.
    assert!(before == after && before > 50, "{before} and {after}");
}

#[test]
fn killed_in_the_middle_of_every_write() {
    assert!(at_every_change("torn", false) > 50);
}

#[test]
fn the_disk_is_full_once_or_from_then_on() {
    assert!(at_every_change("enospc", false) > 50);
    assert!(at_every_change("enospc-on", true) > 40);
}

#[test]
fn the_disk_fails_once_or_from_then_on() {
    assert!(at_every_change("eio", false) > 50);
    assert!(at_every_change("eio-on", true) > 40);
}

#[test]
fn writes_are_cut_short() {
    assert!(at_every_change("short", true) > 40);
}

/// A ledger that is made is there with its limits and what it protects, or is not there; and then
/// it can be made.
#[test]
fn killed_at_every_change_while_a_ledger_is_made() {
    for kind in ["kill-before", "torn", "eio", "enospc"] {
        let mut changes = 0;
        for at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let inside = folder.path().join("inside");
            std::fs::create_dir(&inside).unwrap();
            let (path, mark) = (inside.join("ledger"), folder.path().join("mark"));
            let ended = faulty(&path, "create", kind, at, &mark).output().unwrap().status.code();
            if !mark.exists() {
                assert_eq!(ended, Some(0), "{kind} at {at}");
                break;
            }
            changes = at;
            let again = program(&path, "create").output().unwrap().status.code();
            let there = if again == Some(0) { "made now" } else { "made before" };
            let verification = verify(&path, None)
                .unwrap_or_else(|error| panic!("{kind} at {at}, {there}: {error}"));
            assert_eq!(
                (verification.entries, &verification.protects),
                (1, &protects()),
                "{kind} at {at}, {there}"
            );
            Ledger::open(&path, &limits(), &protects()).unwrap();
        }
        assert!(changes > 8, "{kind}: {changes}");
    }
}

/// What a ledger protects changes wholly or not at all.
#[test]
fn killed_at_every_change_while_other_tables_are_adopted() {
    for kind in ["kill-before", "torn", "eio"] {
        let mut seen = std::collections::HashSet::new();
        for at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let inside = folder.path().join("inside");
            std::fs::create_dir(&inside).unwrap();
            let (path, mark) = (inside.join("ledger"), folder.path().join("mark"));
            Ledger::create(&path, limits(), &protects()).unwrap();
            let _ended = faulty(&path, "adopt", kind, at, &mark).output().unwrap();
            let protects_now = verify(&path, None).unwrap().protects;
            assert!(protects_now == protects() || protects_now == others(), "{kind} at {at}");
            if !mark.exists() {
                assert_eq!(protects_now, others(), "{kind} at {at}");
                break;
            }
            seen.insert(protects_now == others());
            assert!(program(&path, "adopt").output().unwrap().status.success(), "{kind} at {at}");
            assert_eq!(verify(&path, None).unwrap().protects, others(), "{kind} at {at}");
        }
        assert!(seen.contains(&false), "{kind}: nothing was interrupted before it was done");
    }
}

/// A failing change must be one that the session notices, or the tests above prove nothing: most
/// are, and those that are not have been repeated or do not matter.
#[test]
fn a_failure_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let (path, mark) = (inside.join("ledger"), folder.path().join("mark"));
    Ledger::create(&path, limits(), &protects()).unwrap();
    let failed = (1..=10).filter(|&at| {
        let output = faulty(&path, "session", "eio", at, &mark).output().unwrap();
        output.status.code() == Some(FAILED)
    });
    assert!(failed.count() >= 5);
}

/// Three processes at work on one ledger, killed at any time, again and again.
#[test]
fn killed_at_random_times_while_others_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..12 {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(folder.path().join("ledger-journal"));
        Ledger::create(&path, limits(), &protects()).unwrap();
        let mut children: Vec<Child> =
            (0..3).map(|_| program(&path, "many").spawn().unwrap()).collect();
        for child in &mut children {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros(state >> 49));
            child.kill().unwrap();
        }
        let outputs = children.into_iter().map(|child| child.wait_with_output().unwrap());
        let all: Vec<_> = outputs.flat_map(|output| released(&output)).collect();
        check(&path, &all, &format!("round {round}"));
    }
}

/// Starts several processes at once, each with a query, and returns what they say.
fn race(path: &Path, start: &Path, queries: &[String]) -> Vec<String> {
    let mut children: Vec<Child> = queries
        .iter()
        .map(|query| {
            program(path, "race")
                .env("LEDGER_START", start)
                .env("LEDGER_QUERY", query)
                .spawn()
                .unwrap()
        })
        .collect();
    let mut readers: Vec<_> =
        children.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap())).collect();
    let next = |reader: &mut BufReader<_>, wanted: &[&str]| loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "ended without one of {wanted:?}");
        if wanted.iter().any(|word| line.starts_with(word)) {
            return line.trim_end().to_owned();
        }
    };
    for reader in &mut readers {
        next(reader, &["ready"]);
    }
    std::fs::write(start, b"").unwrap();
    let said = readers
        .iter_mut()
        .map(|reader| next(reader, &["paid", "waited", "refused", "failed"]))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    std::fs::remove_file(start).unwrap();
    said
}

#[test]
fn of_several_that_want_the_last_of_the_budget_one_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, start) = (folder.path().join("ledger"), folder.path().join("start"));
    for round in 0..20 {
        let _ = std::fs::remove_file(&path);
        let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
        for query in 0..7 {
            let _spent = ledger.reserve(&child::request(&format!("before {query}"))).unwrap();
        }
        let queries: Vec<String> = (0..4).map(|index| format!("query {index}")).collect();
        let mut said = race(&path, &start, &queries);
        said.sort();
        assert_eq!(said, ["paid", "refused", "refused", "refused"], "round {round}");
        assert_eq!(ledger.statement(None).unwrap().balance.remaining.cost, 0.0);
        verify(&path, None).unwrap();
    }
}

#[test]
fn of_several_that_ask_the_same_one_pays_and_all_get_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (path, start) = (folder.path().join("ledger"), folder.path().join("start"));
    for round in 0..20 {
        let _ = std::fs::remove_file(&path);
        let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
        let queries = vec!["the same".to_owned(); 4];
        let said = race(&path, &start, &queries);
        let stored = ledger.lookup(Digest::of(&[b"the same"])).unwrap().unwrap();
        let waited = format!("waited {}", String::from_utf8(stored.bytes).unwrap());
        assert_eq!(
            said.iter().filter(|line| *line == "paid").count(),
            1,
            "round {round}: {said:?}"
        );
        assert_eq!(
            said.iter().filter(|line| **line == waited).count(),
            3,
            "round {round}: {said:?}"
        );
        assert_eq!(ledger.statement(None).unwrap().balance.spent.cost, COST);
    }
}

#[test]
fn of_several_that_create_the_same_ledger_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    for _ in 0..20 {
        let _ = std::fs::remove_file(&path);
        let made: Vec<bool> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| Ledger::create(&path, limits(), &protects())))
                .collect();
            let made = |handle: std::thread::ScopedJoinHandle<'_, Result<Ledger, LedgerError>>| {
                match handle.join().unwrap() {
                    Ok(_) => true,
                    Err(LedgerError::Exists { .. }) => false,
                    Err(error) => panic!("{error}"),
                }
            };
            handles.into_iter().map(made).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}

#[test]
fn a_clock_that_is_years_off_changes_nothing_but_the_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    Ledger::create(&path, limits(), &protects()).unwrap();
    let century = 100 * 365 * 86_400i64;
    for (count, shift) in
        [century, -century, 1000 * century, -1000 * century].into_iter().enumerate()
    {
        let mut command = program(&path, "race");
        command.env("LEDGER_START", &path).env("LEDGER_QUERY", format!("query {count}"));
        command.env("LD_PRELOAD", shim()).env("FAULT_CLOCK", shift.to_string());
        let output = command.output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("paid"), "{output:?}");
        let statement =
            Ledger::open(&path, &limits(), &protects()).unwrap().statement(None).unwrap();
        assert_eq!(statement.balance.spent.cost, COST * (count + 1) as f64);
    }
    let statement = Ledger::open(&path, &limits(), &protects()).unwrap().statement(None).unwrap();
    let years: Vec<bool> = statement
        .releases
        .iter()
        .map(|release| release.time.starts_with("21") || release.time.starts_with("19"))
        .collect();
    assert_eq!(years, [true, true, false, false], "{:?}", statement.releases);
    verify(&path, None).unwrap();
}
