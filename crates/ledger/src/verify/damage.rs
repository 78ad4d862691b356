//! Damage of every kind, and whether it is found.

use super::*;
use crate::entry::Entry;
use crate::index::{Node, find};
use crate::store::PAGE_BYTES;
use crate::{Admission, ChargeRequest, Ledger, Reservation};
use reticent_accounting::FilterBudget;
use reticent_events::Event;
use std::path::PathBuf;
use tempfile::TempDir;

fn limits(epsilon: f64) -> Limits {
    Limits::new(FilterBudget::Pure { epsilon }, 1e-6).expect("valid")
}

/// What the ledgers of these tests protect.
fn protects() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).expect("valid")
}

/// What they protect later.
fn others() -> Protected {
    let text =
        r#"[{"name":"workers","sources":[{"path":"/data","pattern":"*.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).expect("valid")
}

fn request(query: &str) -> ChargeRequest {
    let events = vec![Event::Laplace { scale: 8.0, sensitivity: 1.0 }];
    let fingerprint = Digest::of(&[query.as_bytes()]);
    ChargeRequest {
        fingerprint,
        query: query.into(),
        events,
        selection_delta: 1e-9,
        fresh: false,
        asker: None,
    }
}

fn reserve(ledger: &Ledger, query: &str) -> Reservation {
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
    let ledger = Ledger::create(&path, limits(1.0), &protects()).expect("new");
    let reservation = reserve(&ledger, "SELECT COUNT(*) FROM workers");
    ledger.complete(&reservation, b"1841.25").expect("open");
    let reservation = reserve(&ledger, "SELECT AVG(pressure) FROM workers");
    ledger.abandon(&reservation).expect("open");
    ledger.amend(limits(2.0)).expect("more");
    ledger.adopt(&others()).expect("more tables");
    if long {
        let reservation = reserve(&ledger, "SELECT * FROM histogram");
        ledger.complete(&reservation, &histogram()).expect("open");
        let reservation = reserve(&ledger, "SELECT * FROM other");
        ledger.complete(&reservation, &[5; 28_000]).expect("open");
    }
    let _open = reserve(&ledger, "SELECT SUM(smoking) FROM workers");
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
        let ends =
            (0..8 * 64).chain(page_bits - 8 * 64..page_bits).chain((0..page_bits).step_by(97));
        ends.map(move |bit| page * page_bits + bit)
    };
    assert_eq!(unnoticed(&image, (0..kinds.len() + 1).flat_map(of_page)), Vec::<usize>::new());
}

/// On the file itself, with SQLite in between: `verify` finds every flip, and whoever opens the
/// ledger finds it or reads the same history, answers included.
#[test]
fn flips_on_disk_are_found_or_do_not_matter() {
    let (_folder, path, image) = specimen(true);
    let anchor = verify(&path, None).expect("whole").anchor;
    let before = Ledger::open_as_stored(&path).expect("whole").statement(None).expect("readable");
    let answers = [
        ("SELECT COUNT(*) FROM workers", b"1841.25".to_vec()),
        ("SELECT * FROM histogram", histogram()),
    ];
    let header_and_samples = (0..8 * 120).chain((0..8 * image.len()).step_by(1499));
    let mut harmless = 0;
    for bit in header_and_samples {
        let mut flipped = image.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).expect("a file");
        assert!(verify(&path, None).is_err(), "bit {bit}");
        let Ok(ledger) = Ledger::open_as_stored(&path) else { continue };
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
    for length in (0..image.len())
        .step_by(509)
        .chain((0..image.len()).step_by(PAGE_BYTES))
        .chain([1, image.len() - 1])
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
        if !["SET answer", "VACUUM", "DELETE FROM entry WHERE number = 8"]
            .iter()
            .any(|part| change.contains(part))
        {
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
    let reserve = |cost: f64, fingerprint: &[u8]| Action::Reserve {
        fingerprint: Digest::of(&[fingerprint]),
        query: String::new(),
        events: vec![Event::Laplace { scale: 1.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        charge: Charge { cost, delta: 0.0 },
        asker: None,
    };
    let create =
        || Action::Create { ledger: Digest::ZERO, limits: limits(1.0), protects: protects() };
    let digest = Digest::of(&[b"a"]);
    let refused: [(Vec<Action>, &str); 10] = [
        (vec![reserve(1.0, b"")], "is not the creation"),
        (vec![create(), create()], "creates a ledger inside another"),
        (vec![create(), reserve(1.5, b"")], "costs epsilon 1.5, but 1 of 1 remains"),
        (vec![create(), reserve(-1.0, b"")], "`cost` is -1,"),
        (vec![create(), reserve(0.0, b"")], "`cost` is 0,"),
        (vec![create(), reserve(1.0, b""), reserve(f64::MIN_POSITIVE, b"")], "entry 3"),
        (vec![create(), Action::Abandon { reservation: 2 }], "not open"),
        (vec![create(), reserve(1.0, b""), Action::Answer { reservation: 1, digest }], "not open"),
        (
            vec![
                create(),
                reserve(1.0, b""),
                Action::Abandon { reservation: 2 },
                Action::Answer { reservation: 2, digest },
            ],
            "not open",
        ),
        (
            vec![create(), reserve(1.0, b""), Action::Amend { limits: limits(0.5) }],
            "is spent already",
        ),
    ];
    for (actions, expected) in refused {
        let error = replay(actions).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    let history = replay(vec![create(), reserve(1.0, b"")]).expect("allowed");
    assert_eq!(history.state.spent().total().cost, 1.0);
}

/// Rows of format 2, which state no sums: the rules are the same.
fn replay(actions: Vec<Action>) -> Result<History, LedgerError> {
    let mut history: Option<History> = None;
    for (number, action) in (1..).zip(actions) {
        let previous = history.as_ref().map_or(Digest::ZERO, |history| history.state.newest.hash);
        let entry = Entry { time: 0, sqlite: 0, action, summary: None, index: None };
        let row = Row::new(previous, number, &entry, None)?;
        match &mut history {
            None => history = Some(History::begin(&row)?),
            Some(history) => history.follow(&row)?,
        }
    }
    history.ok_or(LedgerError::Closed)
}

/// Many rows as the ledger would write them, each after a change of what it says, in one
/// transaction.
fn append(
    path: &Path,
    pairs: u64,
    answer: &[u8],
    mut change: impl FnMut(u64, &mut Entry),
) -> Result<(), LedgerError> {
    let store = Store::open(path)?;
    let mut history = History::read(&store, None, |_, _| ())?;
    drop(store);
    let connection = rusqlite::Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA secure_delete = ON; BEGIN",
    )?;
    let (mut state, mut hash) = (history.state.clone(), history.state.newest.hash);
    for pair in 0..pairs {
        let fingerprint = Digest::of(&[&pair.to_be_bytes()]);
        let number = state.newest.number + 1;
        let events = vec![Event::Laplace { scale: 1.0, sensitivity: 1.0 }];
        let charge = Charge { cost: 1.0, delta: 0.0 };
        let (query, selection_delta, asker) = ("q".into(), 0.0, None);
        let reserve =
            Action::Reserve { fingerprint, query, events, selection_delta, charge, asker };
        let ending = Action::Answer { reservation: number, digest: Digest::of(&[answer]) };
        for (number, (action, bytes)) in
            (number..).zip([(reserve, None), (ending, Some(answer.to_vec()))])
        {
            let mut node = find(&history, state.index(), fingerprint)?;
            node.fate = node.fate.after(number, &action)?;
            state = state.after(&action)?;
            let (summary, index) = (Some(state.summary.clone()), Some(node));
            let sqlite = rusqlite::version_number();
            let mut entry = Entry { time: 0, sqlite, action, summary, index };
            history.follow(&Row::new(history.state.newest.hash, number, &entry, None)?)?;
            change(number, &mut entry);
            let row = Row::new(hash, number, &entry, bytes)?;
            hash = row.hash;
            let values =
                rusqlite::params![row.number as i64, row.body, row.hash.as_bytes(), row.answer];
            connection.execute("INSERT INTO entry VALUES (?1, ?2, ?3, ?4)", values)?;
        }
    }
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    // As many changes as entries: the counter, and the value for which the version of SQLite is.
    let mut image = std::fs::read(path)?;
    for at in [24, 92] {
        image[at..at + 4].copy_from_slice(&(state.newest.number as u32).to_be_bytes());
    }
    Ok(std::fs::write(path, image)?)
}

/// Somebody who computes hashes anew makes the last entries say that less is spent. Whoever opens
/// the ledger replays 64 entries and sees the step from a true sum to a false one; if more were
/// rewritten, the full check sees it still.
#[test]
fn sums_that_do_not_follow_from_the_charges_are_found() {
    for (rewritten, opens) in [(0, true), (1, false), (2, false), (62, false), (70, true)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger");
        drop(Ledger::create(&path, limits(1e6), &protects()).expect("new"));
        append(&path, 50, b"1", |number, entry| {
            if number + rewritten > 101
                && let Some(summary) = &mut entry.summary
            {
                let mut text = serde_json::to_value(&*summary).expect("plain data");
                let spent = text["spent"]["cost"][0].as_f64().expect("a sum");
                text["spent"]["cost"][0] = (spent - 10.0).into();
                *summary = serde_json::from_value(text).expect("a summary");
            }
        })
        .expect("written");
        let opened = Ledger::open_as_stored(&path);
        assert_eq!(opened.is_ok(), opens, "{rewritten}: {opened:?}");
        assert_eq!(verify(&path, None).is_ok(), rewritten == 0, "{rewritten}");
        let statement = opened.and_then(|ledger| ledger.statement(None));
        assert_eq!(statement.is_ok(), rewritten == 0, "{rewritten}");
    }
}

/// An entry of the index that points elsewhere is found by the full check, and misleads nobody
/// into an answer of another query.
#[test]
fn an_index_that_does_not_follow_from_the_entries_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger");
    for change in [
        |node: &mut Node| node.fate.answer = Some(5),
        |node: &mut Node| node.fate.reservation = 4,
        |node: &mut Node| node.fingerprint = Digest::of(&[&9u64.to_be_bytes()]),
        |node: &mut Node| node.others = vec![201; 9],
    ] {
        let _ = std::fs::remove_file(&path);
        drop(Ledger::create(&path, limits(1e6), &protects()).expect("new"));
        append(&path, 100, b"1", |number, entry| {
            if number == 101 {
                entry.index.as_mut().map(change);
            }
        })
        .expect("written");
        assert!(verify(&path, None).is_err());
        let ledger = Ledger::open_as_stored(&path).expect("the sums are right");
        assert_eq!(ledger.balance(None).expect("readable").spent.cost, 100.0);
        for pair in 0..101u64 {
            let ledger = Ledger::open_as_stored(&path).expect("the sums are right");
            if let Ok(Some(found)) = ledger.lookup(Digest::of(&[&pair.to_be_bytes()])) {
                assert_eq!(found.reservation, 2 * pair + 2);
            }
        }
    }
}

/// A tree of three levels, made in one transaction: the unused bytes of its inner pages are
/// counted, all else is still checked.
#[test]
fn a_very_large_ledger_is_read_and_its_leftovers_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger");
    drop(Ledger::create(&path, limits(1e6), &protects()).expect("new"));
    append(&path, 4300, &vec![1; 31_000], |_, _| ()).expect("written");
    let verification = verify(&path, None).expect("whole");
    assert_eq!(
        (verification.entries, verification.answers, verification.spent.cost),
        (8601, 4300, 4300.0)
    );
    assert!(
        verification.leftover_bytes > 0 && verification.leftover_bytes < 4 * PAGE_BYTES as u64,
        "{verification:?}"
    );
}
