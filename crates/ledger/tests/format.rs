//! Ledgers that were written once stay readable, and mean the same.
#![allow(clippy::unwrap_used)]

use reticent_accounting::Budget;
use reticent_ledger::{Digest, Ledger, Limits, ReleaseState, verify};

/// Written by the first version of the format.
const VERSION_1: &[u8] = include_bytes!("format/version_1.ledger");

#[test]
fn a_ledger_of_the_first_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    std::fs::write(&path, VERSION_1).unwrap();
    let anchor = "7:957547908a0e13db1bab8b8cb5ada031a5daec7676eac6ca94cdb45474d1e5e1".parse().unwrap();
    let verification = verify(&path, Some(&anchor)).unwrap();
    assert_eq!((verification.anchor, verification.entries, verification.answers), (anchor, 7, 1));
    let limits = Limits::new(Budget::ZeroConcentrated { rho: 0.5 }, 1e-6).unwrap();
    let mut ledger = Ledger::open(&path, &limits).unwrap();
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
            (7, "SELECT COUNT(*) FROM workers", ReleaseState::Open),
        ]
    );
    assert_eq!(statement.decisions.len(), 2);
}
