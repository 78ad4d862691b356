//! What goes wrong around a query: refusals, damage, races and sudden ends. Never a panic, never an
//! answer that is not paid for.

use crate::program::{Run, run};
use crate::question::Folder;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use reticent::ledger::{Admission, Ledger};
use reticent::{Session, limits, protected};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SMOKERS: &str = "SELECT smokes, COUNT(*) FROM workers GROUP BY smokes";

/// A run that failed decently: its code, nothing on standard output, one message.
fn failed(run: Run, code: i32) -> String {
    assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
    assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("panicked"), "{run:?}");
    run.stderr
}

#[test]
fn policies_that_cannot_be_used() {
    let folder = Folder::factory("policies");
    let good = folder.read("policy.toml");
    for (policy, code, expected) in [
        (Vec::new(), 2, "budget"),
        (b"\xff\xfe".to_vec(), 1, "UTF-8"),
        (b"[budget\n".to_vec(), 2, "line 1"),
        (good.replace("epsilon = 2", "epsilon = nan").into_bytes(), 2, "budget.epsilon"),
        (good.replace("epsilon = 2", "epsilon = -1").into_bytes(), 2, "budget.epsilon"),
        (good.replace("epsilon = 2", "epsilon = 1e400").into_bytes(), 2, "epsilon"),
        (good.replace("max_rows", "most_rows").into_bytes(), 2, "most_rows"),
        (good.replace("unit = \"worker\"", "unit = \"nobody\"").into_bytes(), 2, "nobody"),
        (good.replace("workers.csv", "nowhere.csv").into_bytes(), 1, "nowhere.csv"),
        (good.replace("smokes", "drinks").into_bytes(), 2, "smokes"),
    ] {
        folder.write("policy.toml", &policy);
        let message = failed(folder.run(&["query", SMOKERS]), code);
        assert!(message.contains(expected), "{expected}: {message}");
    }
    folder.write("policy.toml", good.as_bytes());
    assert!(folder.budget()["releases"].as_array().unwrap().is_empty(), "nothing was spent");
    let message = failed(run(&["query", "--policy", "/no/such/policy.toml", SMOKERS], b""), 1);
    assert!(message.contains("reticent init"), "{message}");
    failed(run(&["query", "--policy", "/", SMOKERS], b""), 1);
}

#[test]
fn queries_that_are_refused_cost_nothing() {
    let folder = Folder::factory("refused");
    for (sql, expected) in [
        ("", "there is no statement"),
        ("SELEC", "SQL"),
        ("SELECT * FROM workers", "rows of single people"),
        ("SELECT smokes FROM workers", "rows of single people"),
        ("SELECT COUNT(*) FROM nowhere", "nowhere"),
        ("SELECT COUNT(nothing) FROM workers", "nothing"),
        ("SELECT MAX(worker) FROM workers", "max"),
        ("SELECT SUM(worker) FROM workers", "bounds"),
        ("DROP TABLE workers", "only SELECT"),
        ("SELECT COUNT(*) FROM workers; SELECT COUNT(*) FROM workers", "one statement"),
        ("EXPLAIN SELECT COUNT(*) FROM workers", "reticent explain"),
        ("SELECT COUNT(*) FROM workers WHERE random() < 0.5", "random"),
    ] {
        let message = failed(folder.run(&["query", sql]), 2);
        assert!(message.to_lowercase().contains(&expected.to_lowercase()), "{sql}: {message}");
    }
    for options in [
        ["--epsilon", "0"],
        ["--epsilon", "-1"],
        ["--epsilon", "nan"],
        ["--epsilon", "inf"],
        ["--epsilon", "1e-320"],
        ["--delta", "1"],
        ["--delta", "-1"],
        ["--delta", "nan"],
        ["--max-groups", "0"],
        ["--max-rows", "99999999999"],
        ["--epsilon", "x"],
    ] {
        failed(folder.run(&["query", options[0], options[1], SMOKERS]), 2);
    }
    let deep =
        format!("SELECT COUNT(*) FROM workers WHERE {}1 = 1{}", "(".repeat(5000), ")".repeat(5000));
    failed(folder.run(&["query", &deep]), 2);
    assert!(!folder.ledger().exists() || folder.spent() == 0.0);
}

#[test]
fn text_that_is_none() {
    let folder = Folder::factory("bytes");
    let strange = std::ffi::OsStr::from_bytes(b"SELECT \xff");
    for command in ["query", "explain", "init", "budget"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_reticent"))
            .arg(command)
            .arg(strange)
            .output()
            .unwrap();
        assert!(
            [1, 2].contains(&output.status.code().unwrap()) && output.stdout.is_empty(),
            "{command}"
        );
    }
    let policy = folder.file("policy.toml");
    let policy = policy.to_str().unwrap();
    failed(run(&["query", "--policy", policy, "-"], b"SELECT \xff"), 1);
    run(&["query", "--policy", policy, "-"], SMOKERS.as_bytes()).done();
}

#[test]
fn a_missing_file_of_data_costs_nothing() {
    let folder = Folder::factory("missing");
    std::fs::remove_file(folder.file("workers.csv")).unwrap();
    let message = failed(folder.run(&["query", SMOKERS]), 1);
    assert!(message.contains("workers.csv"), "{message}");
    assert!(folder.budget()["releases"].as_array().unwrap().is_empty());
}

/// A table of secrets as Parquet, without compression, so that its bytes can be met.
fn parquet_of_secrets() -> Vec<u8> {
    let people = 0..20_000_i64;
    let person: ArrayRef = Arc::new(people.clone().collect::<Int64Array>());
    let town: ArrayRef =
        Arc::new(people.map(|person| Some(format!("secret-{person}"))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("person", person), ("town", town)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn damaged_parquet_tells_nothing_and_is_not_refunded() {
    let folder = Folder::new("parquet");
    folder.write(
        "policy.toml",
        b"[budget]\nepsilon = 2\ndelta = 1e-6\nquery_epsilon = 0.25\n[tables.t]\nsource \
            = \"t.parquet\"\nunit = \"person\"\n\
          max_groups = 1\nmax_rows = 1\n[tables.t.columns]\nperson = { type = \"integer\" }\ntown \
          = { type = \"text\" }\n",
    );
    folder.run(&["ledger", "create"]).done();
    let sql = "SELECT COUNT(*) FROM t WHERE town <> 'x'";
    let good = parquet_of_secrets();
    // Without its end no file is Parquet: this is found when it is opened.
    for cut in [0, 4, 100, good.len() / 2, good.len() - 1] {
        folder.write("t.parquet", &good[..cut]);
        let message = failed(folder.run(&["query", sql]), 1);
        assert!(message.contains("t.parquet") && !message.contains("secret"), "{message}");
    }
    assert_eq!(folder.spent(), 0.0);
    // A page in the middle is found when rows are read, after the payment.
    let mut bad = good.clone();
    let end = good.len();
    bad[end / 5..end / 2].fill(0xff);
    folder.write("t.parquet", &bad);
    let message = failed(folder.run(&["query", sql]), 1);
    assert!(!message.contains("secret"), "{message}");
    assert_eq!(folder.spent(), 0.25);
    assert_eq!(folder.budget()["releases"][0]["state"], "abandoned");
    // Once the file is whole the same question is answered, and paid for again.
    folder.write("t.parquet", &good);
    folder.ask(sql);
    assert_eq!(folder.spent(), 0.5);
}

#[test]
fn a_ledger_that_is_not_one_is_refused() {
    let folder = Folder::factory("ledgers");
    folder.ask(SMOKERS);
    let good = std::fs::read(folder.ledger()).unwrap();
    let middle = good.len() / 2;
    let mut changed = good.clone();
    // Of the page with the entries, which end at the end of the file.
    let last = changed.len() - 40;
    changed[last] ^= 1;
    for bad in [
        Vec::new(),
        b"not a ledger".to_vec(),
        good[..middle].to_vec(),
        changed,
        vec![0; good.len()],
    ] {
        std::fs::write(folder.ledger(), &bad).unwrap();
        for command in [
            &["query", SMOKERS][..],
            &["query", "--fresh", SMOKERS],
            &["budget"],
            &["ledger", "verify"],
        ] {
            failed(folder.run(command), 1);
        }
        assert_eq!(std::fs::read(folder.ledger()).unwrap(), bad, "nobody repaired it");
    }
    std::fs::write(folder.ledger(), &good).unwrap();
    std::fs::set_permissions(folder.ledger(), std::fs::Permissions::from_mode(0o400)).unwrap();
    assert!(failed(folder.run(&["query", "--fresh", SMOKERS]), 1).contains("may not be written"));
    std::fs::set_permissions(folder.ledger(), std::fs::Permissions::from_mode(0o600)).unwrap();
    folder.run(&["query", SMOKERS]).done();
    // Paths where no ledger can be made, for data that no other ledger protects.
    let folder = Folder::factory("paths");
    let policy = folder.read("policy.toml");
    for path in ["no/such/folder/x.ledger", "/proc/x.ledger", "."] {
        folder.write("policy.toml", format!("ledger = \"{path}\"\n{policy}").as_bytes());
        failed(folder.run(&["query", SMOKERS]), 1);
    }
}

#[test]
fn one_of_many_gets_the_last_of_the_budget() {
    let folder = Folder::factory_with_budget("race", "epsilon = 0.25\nquery_epsilon = 0.25");
    let racing: Vec<_> =
        (0..4).map(|_| folder.spawn(&["query", "--fresh", "--format", "json", SMOKERS])).collect();
    let mut codes: Vec<i32> = racing
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let code = output.status.code().unwrap();
            assert_eq!(code == 0, !output.stdout.is_empty(), "{output:?}");
            code
        })
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 3, 3, 3]);
    assert_eq!(folder.spent(), 0.25);
    folder.run(&["ledger", "verify"]).done();
}

#[test]
fn many_who_ask_the_same_at_once_get_one_answer() {
    let folder = Folder::factory("together");
    let asking: Vec<_> =
        (0..4).map(|_| folder.spawn(&["query", "--format", "json", SMOKERS])).collect();
    let outputs: Vec<_> =
        asking.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let made = outputs.iter().filter(|output| {
        String::from_utf8_lossy(&output.stderr).contains("A new ledger was created")
    });
    assert_eq!(made.count(), 1, "{outputs:?}");
    let answers: Vec<Vec<u8>> = outputs.into_iter().map(|output| output.stdout).collect();
    assert!(answers.iter().all(|answer| answer == &answers[0] && !answer.is_empty()));
    assert_eq!(folder.spent(), 0.25);
}

/// Somebody else has paid for the same question and is slow, and then gives up: one who waits is
/// told so, and that there is no answer.
#[test]
fn who_waits_for_another_process_is_told() {
    let folder = Folder::factory("waiting");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let session = runtime.block_on(Session::open(folder.file("policy.toml"))).unwrap();
    let request = runtime.block_on(session.ask(SMOKERS).question()).unwrap().request;
    session.create_ledger(false).unwrap();
    let (limits, protects) =
        (limits(session.policy().budget()).unwrap(), protected(session.policy()).unwrap());
    let ledger = Ledger::open(&folder.ledger(), &limits, &protects).unwrap();
    let Admission::Reserved(reservation) = ledger.reserve(&request).unwrap() else {
        panic!("nobody else is here")
    };
    let mut child = folder.spawn(&["query", SMOKERS]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(
        line.contains("another process (entry 2 of the ledger)")
            && line.contains("30 seconds at most"),
        "{line}"
    );
    ledger.abandon(&reservation).unwrap();
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("error: the same query was paid for before (entry 2"), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
}

/// The program is killed at moments spread over its whole run. Whatever it had printed is paid for,
/// and nothing more than the budget is spent.
#[test]
fn kill_at_any_moment() {
    let folder = Folder::factory_with_budget("kill", "epsilon = 5\nquery_epsilon = 0.25");
    let begin = Instant::now();
    folder.ask_afresh(SMOKERS);
    let whole = begin.elapsed();
    let (mut printed, mut killed) = (Vec::new(), 0);
    const MOMENTS: u32 = 40;
    for moment in 0..MOMENTS {
        let mut child = folder.spawn(&["query", "--fresh", "--format", "json", SMOKERS]);
        // From the first instruction to well after the last, on a machine that is busier than
        // before.
        std::thread::sleep((whole * 3 / 2) * moment / MOMENTS + Duration::from_micros(500));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        killed += u32::from(output.status.code().is_none());
        if output.stdout.ends_with(b"\n") {
            printed.push(serde_json::from_slice::<Value>(&output.stdout).unwrap());
        } else {
            assert!(output.stdout.is_empty(), "a part of an answer was printed");
        }
    }
    assert!(killed > 0, "none was killed");
    folder.run(&["ledger", "verify"]).done();
    let budget = folder.budget();
    let spent = budget["spent"]["cost"].as_f64().unwrap();
    let releases = budget["releases"].as_array().unwrap();
    assert!(
        spent <= 5.0 && spent >= 0.25 * (printed.len() + 1) as f64,
        "{spent} for {}",
        printed.len()
    );
    assert_eq!(spent, 0.25 * releases.len() as f64);
    for answer in &printed {
        let paid = releases.iter().find(|release| release["number"] == answer["entry"]).unwrap();
        assert_eq!(
            (paid["state"].as_str(), paid["charge"]["cost"].as_f64()),
            (Some("answered"), Some(0.25))
        );
    }
    // It works again, as long as the budget lasts.
    let after = folder.run(&["query", "--fresh", SMOKERS]);
    assert_eq!(after.code, if spent < 5.0 { 0 } else { 3 }, "{after:?}");
}
