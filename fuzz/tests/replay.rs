//! The corpus again, and some changes of it from a fixed seed, for every target.

#![allow(clippy::panic)]

use std::time::Duration;

use fuzz::target::Target;
use fuzz::worker::{remember_panics, work};

fn replay(target: Target) {
    let folder = tempfile::tempdir().expect("a folder");
    remember_panics();
    let most = (60, Duration::from_secs(600));
    let done = work(target, 7, most, folder.path(), false, |_| {}).expect("a target");
    drop(std::panic::take_hook());
    if let Some((input, what)) = done.failure {
        let path = std::env::temp_dir().join(format!("reticent-fuzz-{}", target.name()));
        std::fs::write(&path, &input).expect("written");
        panic!("{what}\ncargo run -p fuzz -- {} --input {}", target.name(), path.display());
    }
    assert!(done.inputs > 60, "only {} inputs", done.inputs);
}

#[test]
fn sql() {
    replay(Target::Sql);
}

#[test]
fn csv() {
    replay(Target::Csv);
}

#[test]
fn parquet() {
    replay(Target::Parquet);
}

#[test]
fn arrow() {
    replay(Target::Arrow);
}

#[test]
fn values() {
    replay(Target::Values);
}

#[test]
fn policy() {
    replay(Target::Policy);
}

#[test]
fn ledger() {
    replay(Target::Ledger);
}
