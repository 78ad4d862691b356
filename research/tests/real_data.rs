//! The statements about the Adult data and the trips, on the data themselves.
//!
//! The data are not part of the project, so this runs by hand: `RETICENT_DATA=DIR cargo test -p
//! research --test real_data -- --ignored`, with the layout of `docs/reproduction.md`.
//! The unit tests judge the same statements on made-up data. The seed is fixed.
#![allow(clippy::expect_used)]

use research::{Experiment, Setting, Verdict};
use std::path::PathBuf;

/// Asserts that every statement is decided, and that those listed by their beginnings hold.
fn assert_decided(name: &str, repeats: u32, holding: &[&str]) {
    let folder = std::env::var_os("RETICENT_DATA")
        .map(PathBuf::from)
        .expect("RETICENT_DATA names the folder of data");
    let setting = Setting::new(1).with_repeats(repeats).expect("enough").with_data(folder);
    let outcome = Experiment::named(name).expect("known").run(&setting).expect("a result");
    for finding in &outcome.findings {
        assert_ne!(finding.verdict, Verdict::Open, "{name}: {finding:#?}");
    }
    for start in holding {
        let found = outcome.findings.iter().find(|finding| finding.claim.starts_with(start));
        let verdict = found.map(|finding| &finding.verdict);
        assert_eq!(verdict, Some(&Verdict::Holds), "{name}: {found:#?}");
    }
}

#[test]
#[ignore = "reads the folder that RETICENT_DATA names"]
fn the_classical_gaussian_is_the_worst_on_adult() {
    assert_decided("liu-adult", 40, &["The Gaussian mechanism of (epsilon, delta)-aDP"]);
}

#[test]
#[ignore = "reads the folder that RETICENT_DATA names; trains 55 support vector machines"]
fn accuracy_is_barely_affected_on_adult() {
    assert_decided("liu-prediction", 2, &["The prediction accuracy is barely affected"]);
}

#[test]
#[ignore = "reads the folder that RETICENT_DATA names"]
fn the_road_graph_helps_to_denoise_trips() {
    assert_decided("balle-wang-heat-maps", 30, &["Both approaches significantly improve"]);
}
