//! What is said without computing anything.

use crate::program::reticent;

const NAMES: [&str; 14] = [
    "randomized-response",
    "laplace",
    "discrete-laplace",
    "staircase",
    "truncated-laplace",
    "gaussian",
    "discrete-gaussian",
    "generalized-gaussian",
    "truncated-generalized-gaussian",
    "inflated-generalized-gaussian",
    "random-scale-laplace",
    "random-scale-gaussian",
    "exponential",
    "permute-and-flip",
];

#[test]
fn every_mechanism_is_listed() {
    let text = reticent("mechanisms").done();
    let list = reticent("mechanisms --format json").json();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    for name in NAMES {
        assert!(names.contains(&name), "{name}");
        assert!(text.lines().any(|line| line.starts_with(&format!("{name}: "))), "{name}");
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    assert!(reticent("--help").done().contains("Exit codes:"));
    assert!(reticent("--help").done().contains("account"));
    let commands =
        ["calibrate", "check", "profile", "account", "noise", "denoise", "estimate", "errors"];
    for command in commands {
        assert!(reticent(&format!("{command} --help")).done().contains("Examples:"), "{command}");
    }
    assert!(reticent("--version").done().starts_with("reticent "));
}

/// The examples of the help texts are run as printed, but for those that read or write files.
#[test]
fn the_examples_work() {
    for command in ["calibrate", "check", "profile", "noise"] {
        let help = reticent(&format!("{command} --help")).done();
        let examples = help.lines().filter_map(|line| line.strip_prefix("  reticent "));
        let mut tried = 0;
        for example in
            examples.filter(|example| !example.contains(['<', '>']) && !example.contains("--plot"))
        {
            assert!(!reticent(example).done().is_empty(), "{example}");
            tried += 1;
        }
        assert!(tried > 0, "{command}");
    }
}
