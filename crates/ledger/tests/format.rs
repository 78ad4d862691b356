//! Ledgers that were written once stay readable, and mean the same, or are refused with the reason.
#![allow(clippy::unwrap_used)]

use reticent_accounting::Budget;
use reticent_ledger::{Digest, Ledger, LedgerError, Limits, Protected, ReleaseState, verify};

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
    let anchor = "8:c8d908fcb3c515ddc1dd446749fca6c4021fbe722c5fe3ddedbe2bf5cbd84377".parse().unwrap();
    let verification = verify(&path, Some(&anchor)).unwrap();
    assert_eq!((verification.anchor, verification.entries, verification.answers), (anchor, 8, 1));
    let limits = Limits::new(Budget::ZeroConcentrated { rho: 0.5 }, 1e-6).unwrap();
    let protects: Protected = serde_json::from_str(
        r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"},{"path":"/data/workers","pattern":"*.csv"}],"unit":"worker"}]"#,
    )
    .unwrap();
    let mut ledger = Ledger::open(&path, &limits, &protects).unwrap();
    assert_eq!(ledger.lookup(Digest::of(&[b"fingerprint 1"])).unwrap().unwrap().bytes, b"town,count\nPrague,1841\n");
    let statement = ledger.statement(None).unwrap();
    assert_eq!((statement.spent.cost, statement.spent.delta), (0.375, 1e-7));
    let releases: Vec<_> =
        statement.releases.iter().map(|release| (release.number, release.query.as_str(), release.state)).collect();
    assert_eq!(
        releases,
        [
            (2, "SELECT town, COUNT(*) FROM workers GROUP BY town", ReleaseState::Answered),
            (4, "SELECT COUNT(*) FROM workers", ReleaseState::Abandoned),
            (8, "SELECT COUNT(*) FROM workers", ReleaseState::Open),
        ]
    );
    assert_eq!(statement.decisions.len(), 3);
    assert!(statement.decisions[0].protects != protects && statement.decisions[2].protects == protects);
}
