//! Damage of every kind, and whether it is found.

use super::*;
use crate::entry::Entry;
use crate::store::{PAGE_BYTES, TABLE};
use crate::{Admission, Ledger, Request, Reservation};
use reticent_accounting::Budget;
use reticent_events::Event;
use std::path::PathBuf;
use tempfile::TempDir;

fn limits(epsilon: f64) -> Limits {
    Limits::new(Budget::Pure { epsilon }, 1e-6).expect("valid")
}

/// What the ledgers of these tests protect.
fn protects() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).expect("valid")
}

/// What they protect later.
fn others() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data","pattern":"*.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).expect("valid")
}

fn request(query: &str) -> Request {
    let events = vec![Event::Laplace { scale: 8.0, sensitivity: 1.0 }];
    let fingerprint = Digest::of(&[query.as_bytes()]);
    Request { fingerprint, query: query.into(), events, selection_delta: 1e-9, fresh: false }
}

fn reserve(ledger: &mut Ledger, query: &str) -> Reservation {
    match ledger.reserve(&request(query)).expect("fits") {
        Admission::Reserved(reservation) => reservation,
        other => unreachable!("{other:?}"),
    }
}

fn histogram() -> Vec<u8> {
    (0..40_000u32).map(|value| value as u8).collect()
}

/// A ledger with an entry of every kind, and a record that overflows if `long`.
fn specimen(long: bool) -> (TempDir, PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger");
    let mut ledger = Ledger::create(&path, limits(1.0), &protects()).expect("new");
    let reservation = reserve(&mut ledger, "SELECT COUNT(*) FROM workers");
    ledger.complete(&reservation, b"1841.25").expect("open");
    let reservation = reserve(&mut ledger, "SELECT AVG(pressure) FROM workers");
    ledger.abandon(&reservation).expect("open");
    ledger.amend(limits(2.0)).expect("more");
    ledger.adopt(&others()).expect("more tables");
    if long {
        let reservation = reserve(&mut ledger, "SELECT * FROM histogram");
        ledger.complete(&reservation, &histogram()).expect("open");
        let reservation = reserve(&mut ledger, "SELECT * FROM other");
        ledger.complete(&reservation, &[5; 28_000]).expect("open");
    }
    let _open = reserve(&mut ledger, "SELECT SUM(smoking) FROM workers");
    drop(ledger);
    let image = std::fs::read(&path).expect("a file");
    (folder, path, image)
}

/// The bits whose flip [`examine`] does not notice.
fn unnoticed(image: &[u8], bits: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut flipped = image.to_vec();
    let mut missed = Vec::new();
    for bit in bits {
        flipped[bit / 8] ^= 1 << (bit % 8);
        if examine(&flipped).is_ok() {
            missed.push(bit);
        }
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(flipped, image);
    missed
}

#[test]
fn every_bit_flip_of_a_small_ledger_is_found() {
    let (_folder, path, image) = specimen(false);
    assert_eq!(image.len(), 2 * PAGE_BYTES);
    verify(&path, None).expect("whole");
    assert_eq!(unnoticed(&image, 0..8 * image.len()), Vec::<usize>::new());
}

#[test]
fn bit_flips_in_inner_and_overflow_pages_are_found() {
    let (_folder, path, image) = specimen(true);
    verify(&path, None).expect("whole");
    let kinds: Vec<u8> = image.chunks(PAGE_BYTES).skip(1).map(|page| page[0]).collect();
    assert!(kinds.contains(&0x05) && kinds.contains(&0x0d) && kinds.contains(&0), "{kinds:?}");
    // All of the structure of each page, at both of its ends, and a part of the rest.
    let page_bits = 8 * PAGE_BYTES;
    let of_page = |page: usize| {
        let ends = (0..8 * 64).chain(page_bits - 8 * 64..page_bits).chain((0..page_bits).step_by(97));
        ends.map(move |bit| page * page_bits + bit)
    };
    assert_eq!(unnoticed(&image, (0..kinds.len() + 1).flat_map(of_page)), Vec::<usize>::new());
}

/// On the file itself, with SQLite in between: `verify` finds every flip, and `open` finds it or reads the same history, answers included.
#[test]
fn flips_on_disk_are_found_or_do_not_matter() {
    let (_folder, path, image) = specimen(true);
    let anchor = verify(&path, None).expect("whole").anchor;
    let before = Ledger::open_as_stored(&path).expect("whole").statement(None).expect("readable");
    let answers = [("SELECT COUNT(*) FROM workers", b"1841.25".to_vec()), ("SELECT * FROM histogram", histogram())];
    let header_and_samples = (0..8 * 120).chain((0..8 * image.len()).step_by(1499));
    let mut harmless = 0;
    for bit in header_and_samples {
        let mut flipped = image.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).expect("a file");
        assert!(verify(&path, None).is_err(), "bit {bit}");
        let Ok(mut ledger) = Ledger::open_as_stored(&path) else { continue };
        harmless += 1;
        assert_eq!(ledger.anchor().expect("readable"), anchor, "bit {bit}");
        assert_eq!(ledger.statement(None).expect("readable"), before, "bit {bit}");
        for (query, bytes) in &answers {
            // An answer that was hit is not returned.
            if let Ok(found) = ledger.lookup(Digest::of(&[query.as_bytes()])) {
                assert_eq!(found.map(|found| found.bytes).as_ref(), Some(bytes), "bit {bit}");
            }
        }
    }
    assert!(harmless > 0, "unused bytes are not looked at when a ledger is opened");
}

#[test]
fn every_truncation_and_extension_is_found() {
    let (_folder, path, image) = specimen(true);
    for length in (0..image.len()).step_by(509).chain((0..image.len()).step_by(PAGE_BYTES)).chain([1, image.len() - 1])
    {
        assert!(examine(&image[..length]).is_err(), "{length}");
        std::fs::write(&path, &image[..length]).expect("a file");
        assert!(verify(&path, None).is_err() && Ledger::open_as_stored(&path).is_err(), "{length}");
    }
    for more in [1, 512, PAGE_BYTES] {
        let longer = [&image[..], &vec![0; more]].concat();
        assert!(examine(&longer).is_err(), "{more}");
        std::fs::write(&path, &longer).expect("a file");
        assert!(verify(&path, None).is_err() && Ledger::open_as_stored(&path).is_err(), "{more}");
    }
}

/// Somebody changes a row and computes its hash anew, but not those of all rows after it.
#[test]
fn a_row_that_was_changed_or_removed_is_found() {
    let (_folder, path, image) = specimen(false);
    for change in [
        "UPDATE entry SET body = replace(body, '0.125', '0.001') WHERE number = 2",
        "UPDATE entry SET answer = x'00' WHERE number = 3",
        "UPDATE entry SET answer = NULL WHERE number = 3",
        "UPDATE entry SET answer = x'00' WHERE number = 2",
        "UPDATE entry SET hash = zeroblob(32) WHERE number = 8",
        "UPDATE entry SET hash = x'00' WHERE number = 8",
        "UPDATE entry SET number = 10 WHERE number = 8",
        "UPDATE entry SET number = -1 WHERE number = 8",
        "DELETE FROM entry WHERE number = 4",
        "DELETE FROM entry WHERE number = 8",
        "DELETE FROM entry WHERE number = 1",
        "DELETE FROM entry",
        "INSERT INTO entry VALUES (0, '', zeroblob(32), NULL)",
        "INSERT INTO entry SELECT 9, body, hash, answer FROM entry WHERE number = 8",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 7",
        "CREATE INDEX by_hash ON entry (hash)",
        "CREATE VIEW v AS SELECT * FROM entry",
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END",
        "CREATE TABLE more (x)",
        "ANALYZE",
        "PRAGMA journal_mode = WAL",
        "VACUUM; PRAGMA auto_vacuum = 1; VACUUM",
    ] {
        std::fs::write(&path, &image).expect("a file");
        let connection = rusqlite::Connection::open(&path).expect("a database");
        let changed = connection.execute_batch(change);
        assert!(changed.is_ok() || change.starts_with("PRAGMA journal"), "{change}: {changed:?}");
        connection.close().expect("closed");
        assert!(verify(&path, None).is_err(), "{change}");
        // What concerns an answer only is found when the answer is used.
        if !["SET answer", "VACUUM", "DELETE FROM entry WHERE number = 8"].iter().any(|part| change.contains(part)) {
            assert!(Ledger::open_as_stored(&path).is_err(), "{change}");
        }
        for ending in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
        }
    }
}

/// A chain that is whole and breaks the rules: nobody has written such a file but by hand.
#[test]
fn a_chain_against_the_rules_is_refused() {
    let reserve = |cost: f64, fingerprint: &[u8]| Deed::Reserve {
        fingerprint: Digest::of(&[fingerprint]),
        query: String::new(),
        events: vec![Event::Laplace { scale: 1.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        charge: Charge { cost, delta: 0.0 },
    };
    let create = || Deed::Create { ledger: Digest::ZERO, limits: limits(1.0), protects: protects() };
    let digest = Digest::of(&[b"a"]);
    let refused: [(Vec<Deed>, &str); 10] = [
        (vec![reserve(1.0, b"")], "is not the creation"),
        (vec![create(), create()], "creates a ledger inside another"),
        (vec![create(), reserve(1.5, b"")], "costs 1.5e0 epsilon, but 1e0 of 1e0 remains"),
        (vec![create(), reserve(-1.0, b"")], "`cost` is -1e0"),
        (vec![create(), reserve(0.0, b"")], "`cost` is 0e0"),
        (vec![create(), reserve(1.0, b""), reserve(f64::MIN_POSITIVE, b"")], "entry 3"),
        (vec![create(), Deed::Abandon { reservation: 2 }], "not open"),
        (vec![create(), reserve(1.0, b""), Deed::Answer { reservation: 1, digest }], "not open"),
        (
            vec![
                create(),
                reserve(1.0, b""),
                Deed::Abandon { reservation: 2 },
                Deed::Answer { reservation: 2, digest },
            ],
            "not open",
        ),
        (vec![create(), reserve(1.0, b""), Deed::Amend { limits: limits(0.5) }], "is spent already"),
    ];
    for (deeds, expected) in refused {
        let error = replay(deeds).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let history = replay(vec![create(), reserve(1.0, b"")]).expect("allowed");
    assert_eq!(history.spent().total().cost, 1.0);
}

fn replay(deeds: Vec<Deed>) -> Result<History, LedgerError> {
    let mut history: Option<History> = None;
    for (number, deed) in (1..).zip(deeds) {
        let previous = history.as_ref().map_or(Digest::ZERO, History::head);
        let row = Row::new(previous, number, &Entry { time: 0, sqlite: 0, deed }, None)?;
        match &mut history {
            None => history = Some(History::begin(&row)?),
            Some(history) => history.follow(&row)?,
        }
    }
    history.ok_or(LedgerError::Closed)
}

/// A tree of three levels, made in one transaction: the unused bytes of its inner pages are counted, all else is still checked.
#[test]
fn a_very_large_ledger_is_read_and_its_leftovers_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger");
    drop(Ledger::create(&path, limits(1e6), &protects()).expect("new"));
    let connection = rusqlite::Connection::open(&path).expect("a database");
    let sql: String = connection.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).expect("a table");
    assert_eq!(sql, TABLE);
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA secure_delete = ON; BEGIN")
        .expect("quick");
    let mut head: Vec<u8> = connection.query_row("SELECT hash FROM entry", [], |row| row.get(0)).expect("a row");
    let answer = vec![1; 31_000];
    let digest = Digest::of(&[&answer]);
    let sqlite = rusqlite::version_number();
    let events = vec![Event::Laplace { scale: 1.0, sensitivity: 1.0 }];
    for pair in 0..4300u64 {
        let fingerprint = Digest::of(&[&pair.to_be_bytes()]);
        let charge = Charge { cost: 1.0, delta: 0.0 };
        let number = 2 * pair + 2;
        let deeds = [
            (
                Deed::Reserve { fingerprint, query: "q".into(), events: events.clone(), selection_delta: 0.0, charge },
                None,
            ),
            (Deed::Answer { reservation: number, digest }, Some(answer.clone())),
        ];
        for (number, (deed, answer)) in (number..).zip(deeds) {
            let previous = Digest::from_bytes(head.as_slice().try_into().expect("32 bytes"));
            let row = Row::new(previous, number, &Entry { time: 0, sqlite, deed }, answer).expect("has a text");
            let values = rusqlite::params![row.number as i64, row.body, row.hash.as_bytes(), row.answer];
            connection.execute("INSERT INTO entry VALUES (?1, ?2, ?3, ?4)", values).expect("appended");
            head = row.hash.as_bytes().to_vec();
        }
    }
    connection.execute_batch("COMMIT").expect("written");
    connection.close().expect("closed");
    // As many changes as entries: the counter, and the value for which the version of SQLite is.
    let mut image = std::fs::read(&path).expect("a file");
    for at in [24, 92] {
        image[at..at + 4].copy_from_slice(&8601u32.to_be_bytes());
    }
    std::fs::write(&path, image).expect("a file");
    let verification = verify(&path, None).expect("whole");
    assert_eq!((verification.entries, verification.answers, verification.spent.cost), (8601, 4300, 4300.0));
    assert!(verification.leftover_bytes > 0 && verification.leftover_bytes < 4 * PAGE_BYTES as u64, "{verification:?}");
}
