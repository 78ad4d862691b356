//! The protocol, without faults: what is charged, what is returned, what is refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_ledger::{
    Admission, Charge, ChargeRequest, Digest, Ledger, LedgerError, Limits, Protected, ReleaseState,
    Reservation, verify,
};
use std::path::PathBuf;
use tempfile::TempDir;

fn limits(epsilon: f64) -> Limits {
    Limits::new(FilterBudget::Pure { epsilon }, 1e-6).unwrap()
}

/// What the ledgers of these tests protect.
fn protects() -> Protected {
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    serde_json::from_str(text).unwrap()
}

/// A query that costs `1/scale`.
fn request(query: &str, scale: f64) -> ChargeRequest {
    ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query: query.into(),
        events: vec![Event::Laplace { scale, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: None,
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    (folder, path)
}

fn reserved(ledger: &Ledger, request: &ChargeRequest) -> Reservation {
    match ledger.reserve(request).unwrap() {
        Admission::Reserved(reservation) => reservation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_is_paid_once_and_answered_the_same_ever_after() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let asked = request("SELECT 1", 4.0);
    let quote = ledger.check(&asked).unwrap();
    assert_eq!(
        (quote.charge, quote.remaining.cost),
        (Some(Charge { cost: 0.25, delta: 0.0 }), 0.75)
    );
    assert_eq!(ledger.lookup(asked.fingerprint).unwrap(), None);
    let reservation = reserved(&ledger, &asked);
    assert_eq!((reservation.number(), reservation.charge().cost), (2, 0.25));
    let bytes: Vec<u8> = (0..=255).collect();
    let answer = ledger.complete(&reservation, &bytes).unwrap();
    assert_eq!(answer.bytes, bytes);
    // A lost reply, asked again: in this process, in another handle, and by looking it up.
    let other = Ledger::open(&path, &limits(1.0), &protects()).unwrap();
    for ledger in [&ledger, &other] {
        assert!(
            matches!(ledger.reserve(&asked).unwrap(), Admission::Stored(stored) if stored == answer)
        );
        assert_eq!(ledger.lookup(asked.fingerprint).unwrap(), Some(answer.clone()));
        let quote = ledger.check(&asked).unwrap();
        assert_eq!((quote.charge, quote.remaining.cost), (None, 0.75));
    }
    // A fresh answer is paid for, and becomes the stored one; the old one is kept in the file.
    let fresh = ChargeRequest { fresh: true, ..asked.clone() };
    let reservation = reserved(&other, &fresh);
    other.complete(&reservation, b"new").unwrap();
    assert_eq!(ledger.lookup(asked.fingerprint).unwrap().unwrap().bytes, b"new");
    let statement = ledger.statement(None).unwrap();
    assert_eq!(
        (statement.balance.spent.cost, statement.balance.remaining.cost, statement.releases.len()),
        (0.5, 0.5, 2)
    );
    let verification = verify(&path, None).unwrap();
    assert_eq!(
        (verification.entries, verification.answers, verification.leftover_bytes),
        (5, 2, 0)
    );
}

#[test]
fn an_empty_answer_is_an_answer() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let asked = request("q", 4.0);
    let reservation = reserved(&ledger, &asked);
    ledger.complete(&reservation, b"").unwrap();
    assert_eq!(ledger.lookup(asked.fingerprint).unwrap().unwrap().bytes, b"");
    assert_eq!(verify(&path, None).unwrap().answers, 1);
}

#[test]
fn what_is_reserved_stays_spent_and_pending_until_somebody_says_otherwise() {
    let (_folder, path) = folder();
    let first = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let second = Ledger::open(&path, &limits(1.0), &protects()).unwrap();
    let asked = request("q", 4.0);
    let reservation = reserved(&first, &asked);
    let Admission::Pending(pending) = second.reserve(&asked).unwrap() else { panic!("paid twice") };
    assert_eq!((pending.reservation, pending.charge.cost), (2, 0.25));
    assert_eq!(second.pending(asked.fingerprint).unwrap(), Some(pending));
    assert_eq!(second.lookup(asked.fingerprint).unwrap(), None);
    let answer = first.complete(&reservation, b"42").unwrap();
    assert_eq!(second.pending(asked.fingerprint).unwrap(), None);
    assert_eq!(second.lookup(asked.fingerprint).unwrap(), Some(answer));
    // A run that failed is spent, and asking again pays again.
    let failing = request("f", 4.0);
    let reservation = reserved(&first, &failing);
    first.abandon(&reservation).unwrap();
    assert_eq!(first.pending(failing.fingerprint).unwrap(), None);
    assert_eq!(first.lookup(failing.fingerprint).unwrap(), None);
    // One whose process ended is pending for ever, unless a fresh answer is paid for.
    let _lost = reserved(&first, &failing);
    assert!(matches!(first.reserve(&failing).unwrap(), Admission::Pending(_)));
    let fresh = ChargeRequest { fresh: true, ..failing };
    assert!(matches!(first.reserve(&fresh).unwrap(), Admission::Reserved(_)));
    let statement = first.statement(None).unwrap();
    assert_eq!((statement.balance.spent.cost, statement.balance.remaining.cost), (1.0, 0.0));
    let states: Vec<_> = statement.releases.iter().map(|release| release.state).collect();
    use ReleaseState::{Abandoned, Answered, Open};
    assert_eq!(states, [Answered, Abandoned, Open, Open]);
    verify(&path, None).unwrap();
}

/// Two fresh runs of one query may end in either order, and one may never end.
#[test]
fn several_runs_of_one_query_at_once() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let fresh = ChargeRequest { fresh: true, ..request("q", 8.0) };
    let runs: Vec<_> = (0..4).map(|_| reserved(&ledger, &fresh)).collect();
    ledger.complete(&runs[2], b"2").unwrap();
    assert_eq!(ledger.pending(fresh.fingerprint).unwrap().unwrap().reservation, 5);
    ledger.complete(&runs[0], b"0").unwrap();
    assert_eq!(ledger.lookup(fresh.fingerprint).unwrap().unwrap().bytes, b"0");
    ledger.abandon(&runs[3]).unwrap();
    assert_eq!(ledger.pending(fresh.fingerprint).unwrap(), None);
    for ended in [&runs[0], &runs[2], &runs[3]] {
        assert!(matches!(ledger.abandon(ended), Err(LedgerError::NotReserved { .. })));
    }
    verify(&path, None).unwrap();
}

/// One handle, many threads: each query is paid for once, and what was seen is what is stored.
#[test]
fn threads_share_a_handle() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                for query in 0..8 {
                    let asker = Some(format!("analyst {thread}"));
                    let asked = ChargeRequest { asker, ..request(&format!("q{query}"), 16.0) };
                    match ledger.reserve(&asked).unwrap() {
                        Admission::Reserved(reservation) => {
                            ledger.complete(&reservation, asked.query.as_bytes()).unwrap();
                        }
                        Admission::Stored(answer) => {
                            assert_eq!(answer.bytes, asked.query.as_bytes())
                        }
                        Admission::Pending(_) => {}
                    }
                }
            });
        }
    });
    let statement = ledger.statement(None).unwrap();
    assert_eq!((statement.balance.spent.cost, statement.releases.len()), (0.5, 8));
    let askers = statement.releases.iter().map(|release| release.asker.as_deref().unwrap());
    assert!(askers.into_iter().all(|asker| asker.starts_with("analyst ")));
    let long = ChargeRequest { asker: Some("x".repeat(2000)), ..request("r", 16.0) };
    assert!(ledger.reserve(&long).unwrap_err().to_string().contains("`asker`"));
    verify(&path, None).unwrap();
}

#[test]
fn a_reservation_is_answered_once_and_in_its_own_ledger() {
    let (_folder, path) = folder();
    let (_other_folder, other_path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let other = Ledger::create(&other_path, limits(1.0), &protects()).unwrap();
    let reservation = reserved(&ledger, &request("q", 4.0));
    let _same_number = reserved(&other, &request("q", 4.0));
    assert!(matches!(
        other.complete(&reservation, b"x"),
        Err(LedgerError::NotReserved { number: 2 })
    ));
    ledger.complete(&reservation, b"x").unwrap();
    assert!(matches!(
        ledger.complete(&reservation, b"y"),
        Err(LedgerError::NotReserved { number: 2 })
    ));
    assert!(matches!(ledger.abandon(&reservation), Err(LedgerError::NotReserved { number: 2 })));
    // A refusal closes nothing.
    assert_eq!(ledger.lookup(Digest::of(&[b"q"])).unwrap().unwrap().bytes, b"x");
}

#[test]
fn the_budget_refuses_and_says_what_remains() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let _most = reserved(&ledger, &request("most", 1.25));
    for attempt in
        [ledger.check(&request("more", 4.0)).err(), ledger.reserve(&request("more", 4.0)).err()]
    {
        let message = attempt.expect("too much").to_string();
        assert!(message.starts_with("the release costs epsilon 0.25, but 0.199"), "{message}");
    }
    let selection = ChargeRequest { selection_delta: 1e-5, ..request("selection", 100.0) };
    let message = ledger.reserve(&selection).expect_err("too much").to_string();
    assert_eq!(message, "the release costs delta 1e-5, but 1e-6 of 1e-6 remains");
    let selection = ChargeRequest { selection_delta: 1e-6, ..selection };
    assert_eq!(reserved(&ledger, &selection).charge().delta, 1e-6);
    assert_eq!(ledger.statement(None).unwrap().balance.remaining.delta, 0.0);
    let gaussian = Event::Gaussian { sigma: 1.0, sensitivity: 1.0 };
    let uncovered = ChargeRequest { events: vec![gaussian], ..request("g", 1.0) };
    assert!(matches!(ledger.reserve(&uncovered), Err(LedgerError::NotCovered(_))));
    let statement = ledger.statement(None).unwrap();
    assert_eq!(
        (statement.releases.len(), statement.anchor.number),
        (2, 3),
        "refusals leave no entry"
    );
}

#[test]
fn requests_that_cannot_be_written_are_refused_by_name() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1e6), &protects()).unwrap();
    let long = ChargeRequest { query: "x".repeat((1 << 20) + 1), ..request("q", 1.0) };
    assert!(
        ledger
            .reserve(&long)
            .expect_err("long")
            .to_string()
            .contains("`query` is 1048577 bytes long")
    );
    let mut nested = Event::Laplace { scale: 1.0, sensitivity: 1.0 };
    for _ in 0..64 {
        nested = Event::Composition { events: vec![nested] };
    }
    let deep = ChargeRequest { events: vec![nested], ..request("deep", 1.0) };
    assert!(ledger.reserve(&deep).expect_err("deep").to_string().contains("`events`"));
    let reservation = reserved(&ledger, &request("q", 1.0));
    let message =
        ledger.complete(&reservation, &vec![0; (64 << 20) + 1]).expect_err("long").to_string();
    assert!(message.contains("`answer`"), "{message}");
    ledger.complete(&reservation, &vec![7; 3 << 20]).unwrap();
    verify(&path, None).unwrap();
}

#[test]
fn limits_change_by_amendment_only() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let _all = reserved(&ledger, &request("all", 1.0));
    let message =
        Ledger::open(&path, &limits(2.0), &protects()).expect_err("other limits").to_string();
    assert!(
        message.contains("epsilon = 1")
            && message.contains("epsilon = 2")
            && message.contains("amendment")
    );
    let owner = Ledger::open_as_stored(&path).unwrap();
    let message = owner.amend(limits(0.5)).expect_err("below what is spent").to_string();
    assert!(message.contains("epsilon 1 is spent already"), "{message}");
    let other_currency = Limits::new(FilterBudget::ZeroConcentrated { rho: 9.0 }, 1e-6).unwrap();
    assert!(owner.amend(other_currency).is_err());
    owner.amend(limits(2.0)).unwrap();
    owner.amend(limits(2.0)).unwrap();
    // The handle that was open all along knows.
    let _more = reserved(&ledger, &request("more", 2.0));
    assert!(Ledger::open(&path, &limits(1.0), &protects()).is_err());
    let statement =
        Ledger::open(&path, &limits(2.0), &protects()).unwrap().statement(Some(1e-9)).unwrap();
    assert_eq!((statement.balance.spent.cost, statement.decisions.len()), (1.5, 2));
    assert_eq!(statement.balance.converted.unwrap().remaining, 0.5);
    verify(&path, None).unwrap();
    let text = serde_json::to_value(&statement).unwrap();
    assert_eq!(text["releases"][0]["state"], "open");
    assert_eq!(text["limits"]["budget"]["epsilon"], 2.0);
}

#[test]
fn a_ledger_is_bound_to_what_it_protects() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let asked = request("q", 2.0);
    let reservation = reserved(&ledger, &asked);
    ledger.complete(&reservation, b"42").unwrap();
    let moved: Protected = serde_json::from_str(
        r#"[{"name":"workers","sources":[{"path":"/moved","pattern":"w*.csv"}],"unit":"worker"}]"#,
    )
    .unwrap();
    let error = Ledger::open(&path, &limits(1.0), &moved).expect_err("other tables");
    assert!(matches!(&error, LedgerError::OtherTables { .. }));
    let message = error.to_string();
    assert!(
        message.contains("from /data/workers.csv, and in the policy it is from /moved/w*.csv"),
        "{message}"
    );
    let owner = Ledger::open_as_stored(&path).unwrap();
    owner.adopt(&moved).unwrap();
    owner.adopt(&moved).unwrap();
    assert!(matches!(
        Ledger::open(&path, &limits(1.0), &protects()),
        Err(LedgerError::OtherTables { .. })
    ));
    // Nothing is given back, and nothing is forgotten.
    let ledger = Ledger::open(&path, &limits(1.0), &moved).unwrap();
    assert_eq!(ledger.lookup(asked.fingerprint).unwrap().unwrap().bytes, b"42");
    let statement = ledger.statement(None).unwrap();
    assert_eq!(
        (statement.balance.spent.cost, statement.anchor.number, &statement.protects),
        (0.5, 4, &moved)
    );
    let decisions: Vec<_> =
        statement.decisions.iter().map(|made| (made.number, made.protects == moved)).collect();
    assert_eq!(decisions, [(1, false), (4, true)]);
    assert_eq!(verify(&path, None).unwrap().protects, moved);
    assert_eq!(
        (ledger.name(), ledger.path()),
        (statement.ledger, path.canonicalize().unwrap().as_path())
    );
}

#[test]
fn an_anchor_notices_an_older_copy_and_another_history() {
    let (folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1.0), &protects()).unwrap();
    let _first = reserved(&ledger, &request("first", 10.0));
    let (old, copy) = (ledger.anchor().unwrap(), folder.path().join("copy"));
    std::fs::copy(&path, &copy).unwrap();
    let _second = reserved(&ledger, &request("second", 10.0));
    let new = ledger.anchor().unwrap();
    assert_eq!(verify(&path, Some(&old)).unwrap().anchor, new);
    verify(&path, Some(&new)).unwrap();
    drop(ledger);
    // The copy is put back: 0.1 is available again, and only the anchor knows.
    std::fs::copy(&copy, &path).unwrap();
    verify(&path, None).unwrap();
    verify(&path, Some(&old)).unwrap();
    let message = verify(&path, Some(&new)).expect_err("older").to_string();
    assert!(message.contains("it has 2 entries only, so it is an older copy"), "{message}");
    // And it is spent differently.
    let ledger = Ledger::open(&path, &limits(1.0), &protects()).unwrap();
    let _other = reserved(&ledger, &request("other", 10.0));
    let message = verify(&path, Some(&new)).expect_err("rewritten").to_string();
    assert!(message.contains("entry 3 has another hash"), "{message}");
}

#[test]
fn a_new_ledger_is_private_complete_and_never_replaces_anything() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = folder();
    Ledger::create(&path, limits(1.0), &protects()).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["budget.ledger"], "one file at rest");
    assert!(matches!(
        Ledger::create(&path, limits(5.0), &protects()),
        Err(LedgerError::Exists { .. })
    ));
    Ledger::open(&path, &limits(1.0), &protects()).unwrap();
    let missing = folder.path().join("missing");
    assert!(matches!(
        Ledger::open(&missing, &limits(1.0), &protects()),
        Err(LedgerError::Missing { .. })
    ));
    assert!(!missing.exists(), "opening makes no file");
    assert!(
        Ledger::create(&folder.path().join("no/such/folder"), limits(1.0), &protects()).is_err()
    );
}

#[test]
fn a_ledger_can_be_checked_while_it_is_written() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1e6), &protects()).unwrap();
    let answers = std::thread::scope(|scope| {
        let checker = scope.spawn(|| {
            (0..10)
                .fold(None, |anchor, _| Some(verify(&path, anchor.as_ref()).unwrap().anchor))
                .unwrap()
                .number
        });
        let mut answers = 0;
        while !checker.is_finished() || answers < 10 {
            let reservation = reserved(&ledger, &request(&format!("query {answers}"), 1.0));
            ledger.complete(&reservation, &[b'x'; 5000]).unwrap();
            answers += 1;
        }
        assert!(checker.join().unwrap() > 1, "something was written meanwhile");
        answers
    });
    assert_eq!(verify(&path, None).unwrap().answers, answers);
}

#[test]
fn answers_of_every_size_are_kept_and_every_byte_is_accounted_for() {
    let (_folder, path) = folder();
    let ledger = Ledger::create(&path, limits(1e6), &protects()).unwrap();
    // Around the sizes at which a record stops fitting into a page, and around multiples of an
    // overflow page.
    let sizes = (32_560..32_680)
        .step_by(7)
        .chain((65_300..65_540).step_by(13))
        .chain([1, 30_000, 98_000, 1_000_000]);
    for (index, size) in sizes.enumerate() {
        let reservation = reserved(&ledger, &request(&format!("query {index}"), 1.0));
        ledger.complete(&reservation, &vec![index as u8; size]).unwrap();
        let verification = verify(&path, None).unwrap();
        assert_eq!(
            (verification.entries, verification.leftover_bytes),
            (2 * index as u64 + 3, 0),
            "{size}"
        );
    }
}
