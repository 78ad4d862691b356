//! Ledgers that were written once stay readable, and mean the same, or are refused with the reason.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_ledger::{
    Admission, ChargeRequest, Digest, Ledger, LedgerError, Limits, Protected, ReleaseState, verify,
};

/// Written by the first version of the format, which was never published.
const VERSION_1: &[u8] = include_bytes!("format/version_1.ledger");
/// Written by the second.
const VERSION_2: &[u8] = include_bytes!("format/version_2.ledger");

#[test]
fn a_ledger_of_the_first_version_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    std::fs::write(&path, VERSION_1).unwrap();
    for error in [verify(&path, None).unwrap_err(), Ledger::open_as_stored(&path).unwrap_err()] {
        assert!(matches!(error, LedgerError::Unusable { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains("format 1, which does not say what it protects"), "{message}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), VERSION_1, "and is left as it is");
}

#[test]
fn a_ledger_of_the_second_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    std::fs::write(&path, VERSION_2).unwrap();
    let anchor =
        "8:c8d908fcb3c515ddc1dd446749fca6c4021fbe722c5fe3ddedbe2bf5cbd84377".parse().unwrap();
    let verification = verify(&path, Some(&anchor)).unwrap();
    assert_eq!((verification.anchor, verification.entries, verification.answers), (anchor, 8, 1));
    let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 0.5 }, 1e-6).unwrap();
    let protects: Protected = serde_json::from_str(
        r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"},{"path":"/data/workers","pattern":"*.csv"}],"unit":"worker"}]"#,
    )
    .unwrap();
    let ledger = Ledger::open(&path, &limits, &protects).unwrap();
    assert_eq!(
        ledger.lookup(Digest::of(&[b"fingerprint 1"])).unwrap().unwrap().bytes,
        b"town,count\nPrague,1841\n"
    );
    let statement = ledger.statement(None).unwrap();
    assert_eq!((statement.balance.spent.cost, statement.balance.spent.delta), (0.375, 1e-7));
    let releases: Vec<_> = statement
        .releases
        .iter()
        .map(|release| (release.number, release.query.as_str(), release.state))
        .collect();
    assert_eq!(
        releases,
        [
            (2, "SELECT town, COUNT(*) FROM workers GROUP BY town", ReleaseState::Answered),
            (4, "SELECT COUNT(*) FROM workers", ReleaseState::Abandoned),
            (8, "SELECT COUNT(*) FROM workers", ReleaseState::Open),
        ]
    );
    assert_eq!(statement.decisions.len(), 3);
    assert!(
        statement.decisions[0].protects != protects && statement.decisions[2].protects == protects
    );
    // It is used as before, and goes on in the present format.
    let request = |query: &str| ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query: query.into(),
        events: vec![Event::Gaussian { sigma: 4.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: Some("anna".into()),
    };
    assert!(matches!(ledger.reserve(&request("fingerprint 1")).unwrap(), Admission::Stored(_)));
    assert_eq!(std::fs::read(&path).unwrap(), VERSION_2, "reading changes nothing");
    let Admission::Reserved(reservation) = ledger.reserve(&request("new")).unwrap() else {
        panic!("nobody asked before")
    };
    ledger.complete(&reservation, b"1").unwrap();
    let fresh = ChargeRequest { fresh: true, ..request("fingerprint 1") };
    let Admission::Reserved(reservation) = ledger.reserve(&fresh).unwrap() else { panic!("fresh") };
    for ledger in [ledger.clone(), Ledger::open(&path, &limits, &protects).unwrap()] {
        assert_eq!(ledger.balance(None).unwrap().spent.cost, 0.4375);
        let answers = ["new", "fingerprint 1"]
            .map(|query| ledger.lookup(Digest::of(&[query.as_bytes()])).unwrap().unwrap().bytes);
        assert_eq!(answers, [b"1".to_vec(), b"town,count\nPrague,1841\n".to_vec()]);
    }
    ledger.complete(&reservation, b"2").unwrap();
    assert_eq!(ledger.lookup(fresh.fingerprint).unwrap().unwrap().bytes, b"2");
    assert_eq!(verify(&path, Some(&anchor)).unwrap().entries, 12);
    let statement = ledger.statement(None).unwrap();
    assert_eq!(statement.releases.last().unwrap().asker.as_deref(), Some("anna"));
}
