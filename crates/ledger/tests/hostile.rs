//! Files that are not ledgers, or are in the way, or are changed while in use: an error that says
//! what is wrong, and never an answer.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_ledger::{
    Admission, ChargeRequest, Digest, Ledger, LedgerError, Limits, Protected, verify,
};
use rusqlite::Connection;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn limits() -> Limits {
    Limits::new(FilterBudget::Pure { epsilon: 1.0 }, 0.0).unwrap()
}

/// What the ledgers of these tests protect.
fn protects() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).unwrap()
}

fn request(query: &str) -> ChargeRequest {
    ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query: query.into(),
        events: vec![Event::Laplace { scale: 10.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: None,
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    (folder, path)
}

/// Both ways to open refuse, and say this.
fn refused(path: &Path, expected: &str) {
    let opened = Ledger::open(path, &limits(), &protects()).expect_err("refused").to_string();
    let verified = verify(path, None).expect_err("refused").to_string();
    for message in [opened, verified] {
        assert!(message.contains(expected), "{message}, not {expected}");
    }
}

#[test]
fn files_that_are_no_ledgers() {
    let (folder, path) = folder();
    std::fs::write(&path, "name,age\nAnna,41\n".repeat(100)).unwrap();
    refused(&path, "not a database");
    std::fs::write(&path, "").unwrap();
    refused(&path, "is empty");
    std::fs::write(&path, b"SQLite format 3\0").unwrap();
    refused(&path, "damaged");
    std::fs::write(&path, vec![0; 65_536]).unwrap();
    refused(&path, "not a database");
    std::fs::remove_file(&path).unwrap();
    refused(folder.path(), "is not a regular file");
    refused(Path::new("/"), "does not end with the name of a file");
    refused(Path::new("/dev/null"), "is not a regular file");
    refused(&folder.path().join("missing/ledger"), "there is no ledger");
    // Opening a pipe would wait for ever.
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&pipe, "is not a regular file");
}

#[test]
fn other_databases() {
    let (_folder, path) = folder();
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT, hash BLOB, answer BLOB)",
        )
        .unwrap();
    refused(&path, "is a database, but not a ledger");
    database.execute_batch("PRAGMA application_id = 0x52746374").unwrap();
    refused(&path, "is a ledger of another format");
    database.execute_batch("PRAGMA user_version = 4").unwrap();
    refused(&path, "is a ledger of another format");
    database.execute_batch("PRAGMA user_version = 3").unwrap();
    refused(&path, "its schema is not that of a ledger");
    database
        .execute_batch(
            "DROP TABLE entry; CREATE TABLE entry (number INTEGER PRIMARY KEY, body \
        TEXT NOT NULL, hash BLOB NOT NULL, answer BLOB) STRICT",
        )
        .unwrap();
    let opened = Ledger::open(&path, &limits(), &protects()).expect_err("empty").to_string();
    assert!(opened.contains("it has no entries"), "{opened}");
    assert!(verify(&path, None).is_err());
}

#[test]
fn links_and_permissions() {
    let (folder, path) = folder();
    Ledger::create(&path, limits(), &protects()).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    refused(&link, "is a symbolic link");
    assert!(matches!(
        Ledger::create(&link, limits(), &protects()),
        Err(LedgerError::Exists { .. })
    ));
    std::fs::remove_file(&link).unwrap();
    // A link to nowhere is not followed to create something there.
    let nowhere = folder.path().join("nowhere");
    std::os::unix::fs::symlink(&nowhere, &link).unwrap();
    assert!(matches!(
        Ledger::create(&link, limits(), &protects()),
        Err(LedgerError::Exists { .. })
    ));
    assert!(!nowhere.exists());
    std::fs::hard_link(&path, folder.path().join("second name")).unwrap();
    refused(&path, "has several names");
    std::fs::remove_file(folder.path().join("second name")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    refused(&path, "may not be written");
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    // A folder may be reached through a link.
    let other_way = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(folder.path(), other_way.path().join("folder")).unwrap();
    Ledger::open(&other_way.path().join("folder/ledger"), &limits(), &protects()).unwrap();
}

#[test]
fn files_beside_the_ledger() {
    let (_folder, path) = folder();
    Ledger::create(&path, limits(), &protects()).unwrap();
    for ending in ["-wal", "-shm"] {
        let beside = PathBuf::from(format!("{}{ending}", path.display()));
        std::fs::write(&beside, b"anything").unwrap();
        refused(&path, "has a write-ahead log beside it");
        std::fs::remove_file(beside).unwrap();
    }
    // A journal that is none is ignored by SQLite, and the file is what it was.
    std::fs::write(format!("{}-journal", path.display()), b"anything").unwrap();
    verify(&path, None).unwrap();
    Ledger::open(&path, &limits(), &protects()).unwrap();
}

/// The trigger would delete what was spent as soon as an answer is stored.
#[test]
fn a_trigger_that_is_added_while_the_ledger_is_in_use_does_not_run() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
    let Admission::Reserved(reservation) = ledger.reserve(&request("q")).unwrap() else { panic!() };
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER refund AFTER INSERT ON entry BEGIN DELETE FROM entry WHERE \
            number = 2; END",
        )
        .unwrap();
    let error = ledger.complete(&reservation, b"1").unwrap_err();
    assert!(error.to_string().contains("its schema was changed while it was in use"), "{error}");
    assert!(matches!(ledger.anchor(), Err(LedgerError::Closed)));
    refused(&path, "its schema is not that of a ledger");
    let rows: i64 = database.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 2);
}

#[test]
fn rows_that_are_changed_while_the_ledger_is_in_use_close_it() {
    for change in [
        "DELETE FROM entry WHERE number = 2",
        "UPDATE entry SET hash = zeroblob(32) WHERE number = 2",
        "INSERT INTO entry VALUES (3, '{}', zeroblob(32), NULL)",
        "INSERT INTO entry VALUES (4, '{}', zeroblob(32), NULL)",
    ] {
        let (_folder, path) = folder();
        let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
        let _spent = ledger.reserve(&request("q")).unwrap();
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        assert!(matches!(ledger.reserve(&request("r")), Err(LedgerError::Damaged(_))), "{change}");
        assert!(matches!(ledger.reserve(&request("r")), Err(LedgerError::Closed)), "{change}");
        assert!(ledger.reopen().is_err(), "{change}");
        assert!(verify(&path, None).is_err(), "{change}");
        // To whoever opens it, a ledger without its last entry is an older copy: an anchor or the
        // full check notices.
        assert_eq!(
            Ledger::open(&path, &limits(), &protects()).is_ok(),
            change.starts_with("DELETE"),
            "{change}"
        );
    }
}

/// What is written to a file that has lost its name is found by nobody.
#[test]
fn a_file_that_is_moved_or_replaced_while_in_use_is_not_written_to() {
    let (folder, path) = folder();
    let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
    std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    assert!(matches!(ledger.reserve(&request("q")), Err(LedgerError::Missing { .. })));
    assert!(matches!(ledger.reserve(&request("q")), Err(LedgerError::Closed)));
    let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
    std::fs::remove_file(&path).unwrap();
    drop(Ledger::create(&path, limits(), &protects()).unwrap());
    let error = ledger.reserve(&request("q")).expect_err("another file").to_string();
    assert!(error.contains("was replaced by another file"), "{error}");
    assert_eq!(
        Ledger::open(&path, &limits(), &protects())
            .unwrap()
            .statement(None)
            .unwrap()
            .balance
            .spent
            .cost,
        0.0
    );
}

/// A field of 140 million bytes is refused by its length, before there is memory for it.
#[test]
fn huge_fields() {
    let (_folder, path) = folder();
    Ledger::create(&path, limits(), &protects()).unwrap();
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "PRAGMA synchronous = OFF; INSERT INTO entry VALUES (2, printf('%.*c', \
        140000000, 'x'), zeroblob(32), NULL)",
        )
        .unwrap();
    database.close().unwrap();
    assert!(Ledger::open(&path, &limits(), &protects()).is_err());
    assert!(verify(&path, None).is_err());
}

#[test]
fn a_lock_that_somebody_keeps_is_waited_for_and_then_given_up() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(), &protects()).unwrap();
    ledger.set_patience(Duration::from_millis(200));
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begin = Instant::now();
    assert!(matches!(ledger.reserve(&request("q")), Err(LedgerError::Busy)));
    assert!(begin.elapsed() >= Duration::from_millis(200));
    // A reader keeps a writer from finishing, not from beginning: nothing is written then either.
    holder.execute_batch("ROLLBACK; BEGIN; SELECT * FROM entry").unwrap();
    assert!(matches!(ledger.reserve(&request("q")), Err(LedgerError::Busy)));
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ledger.statement(None).unwrap().balance.spent.cost, 0.0);
    let Admission::Reserved(reservation) = ledger.reserve(&request("q")).unwrap() else { panic!() };
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(ledger.complete(&reservation, b"1"), Err(LedgerError::Busy)));
    holder.execute_batch("ROLLBACK").unwrap();
    ledger.complete(&reservation, b"1").unwrap();
    verify(&path, None).unwrap();
}
