//! Every command and mechanism with every number replaced by one that no mechanism expects.

use crate::program::{reticent, reticent_with_input, run};

/// A request of each kind that is right as it stands.
pub const REQUESTS: &[&str] = &[
    "calibrate laplace --epsilon 1 --sensitivity 1",
    "calibrate laplace --epsilon 1 --l1 2 --dimension 3",
    "calibrate laplace --epsilon 1 --per-element 1,2",
    "profile laplace scale=1 sensitivity=1 --epsilon 0.5",
    "noise laplace scale=1 sensitivity=1",
    "noise laplace --epsilon 1 --sensitivity 1 --count 2 --seed 1",
    "calibrate discrete-laplace --epsilon 1 --sensitivity 1",
    "profile discrete-laplace scale=1 sensitivity=1 --epsilon 0.5",
    "noise discrete-laplace scale=1 sensitivity=1",
    "noise discrete-laplace --epsilon 1 --sensitivity 1 --clamp 0,100",
    "calibrate staircase --epsilon 1 --sensitivity 1",
    "calibrate staircase aim=usefulness:0.3 --epsilon 1 --sensitivity 1",
    "profile staircase epsilon=1 gamma=0.3 sensitivity=1 --epsilon 0.5",
    "noise staircase --epsilon 1 --sensitivity 1",
    "calibrate gaussian --epsilon 1 --delta 1e-6 --sensitivity 1",
    "calibrate gaussian --epsilon 1 --delta 1e-6 --l2 2",
    "calibrate gaussian method=probabilistic --epsilon 1 --delta 1e-6 --sensitivity 1",
    "calibrate gaussian method=classical-2014 --epsilon 0.5 --delta 1e-6 --sensitivity 1",
    "profile gaussian sigma=1 sensitivity=1 --epsilon 0.5",
    "noise gaussian sigma=1 sensitivity=1",
    "calibrate discrete-gaussian --epsilon 1 --delta 1e-6 --sensitivity 1",
    "profile discrete-gaussian sigma=1 sensitivity=1 --epsilon 0.5",
    "noise discrete-gaussian sigma=1 sensitivity=1",
    "calibrate generalized-gaussian order=3 --epsilon 1 --delta 1e-6 --sensitivity 1",
    "calibrate truncated-generalized-gaussian order=2 lower=0 upper=1 --epsilon 1 --sensitivity \
     0.5",
    "calibrate inflated-generalized-gaussian order=2 lower=0 upper=1 --epsilon 1 --sensitivity 0.5",
    "calibrate inflated-generalized-gaussian order=2 lower=0,5 upper=1,7 --epsilon 1 --per-element \
     0.5,1",
    "calibrate truncated-generalized-gaussian order=1 lower=0,5 upper=1,7 --epsilon 1 --lp 2:0.5",
    "calibrate generalized-gaussian order=3 --epsilon 1 --delta 1e-6 --lp 3:2 --dimension 4",
    "calibrate laplace --epsilon 1 --ranges 0:1,2:5 --l2 2",
    "calibrate laplace --epsilon 1 --disjoint 1 --replace",
    "check gaussian --sigma 2 --epsilon 1 --delta 1e-6 --sensitivity 1",
    "check laplace --scale 2 --epsilon 1 --sensitivity 1",
    "profile generalized-gaussian order=3 scale=1 sensitivities=1 --epsilon 0.5",
    "noise generalized-gaussian order=3 scale=1 sensitivities=1",
    "calibrate random-scale-laplace inverse_scale=[gamma shape=2 theta=1] --epsilon 1 \
     --sensitivity 1",
    "profile random-scale-laplace inverse_scale=[gamma shape=2 theta=0.5] --epsilon 0.5",
    "noise random-scale-laplace inverse_scale=[two-point first=1 second=2 weight=0.5]",
    "profile random-scale-laplace inverse_scale=[uniform lower=1 upper=2] --epsilon 0.5",
    "profile random-scale-laplace inverse_scale=[truncated-gaussian mu=1 sigma=1 lower=0.5 \
     upper=2] --epsilon 0.5",
    "calibrate randomized-response categories=3 --epsilon 1",
    "profile randomized-response epsilon=1 categories=3 --epsilon 0.5",
    "noise randomized-response categories=3 --epsilon 1",
    "calibrate exponential --epsilon 1 --sensitivity 1",
    "profile exponential epsilon=1 --epsilon 0.5",
    "noise exponential change=one-way --epsilon 1 --sensitivity 1",
    "calibrate permute-and-flip --epsilon 1 --sensitivity 1",
    "noise permute-and-flip epsilon=1",
    "calibrate random-scale-laplace inverse_scale=[two-point first=1 second=5 weight=0.5] \
     --epsilon 1 --l1 2 --dimension 3",
    "noise random-scale-laplace inverse_scale=[gamma shape=2 theta=1] --epsilon 1 --l1 1",
    "calibrate random-scale-gaussian sigmas=1:0.9,3:0.1 --epsilon 1 --delta 1e-6 --sensitivity 1",
    "profile random-scale-gaussian sigmas=1:0.9,3:0.1 --epsilon 0.5",
    "calibrate random-scale-laplace --epsilon 4 --sensitivity 1 --metric usefulness:0.1 --family \
     gamma",
    "choose --epsilon 1 --sensitivity 1 --metric l2",
    "choose --epsilon 1 --l1 3 --l2 2 --dimension 5 --metric max:0.9 --releases 2",
    "choose --epsilon 1 --sensitivity 2 --integer --metric usefulness:3",
    "choose --epsilon 1 --sensitivity 1 --release --metric quantile:0.9",
    "noise random-scale-gaussian sigmas=1:0.9,3:0.1",
    "calibrate truncated-laplace --epsilon 1 --delta 1e-6 --sensitivity 1",
    "profile truncated-laplace scale=1 support_in_scales=10 --epsilon 0.5",
    "calibrate gaussian --epsilon 1 --delta 1e-6 --sensitivity 1 --releases 9",
    "noise truncated-laplace --epsilon 0.5 --delta 1e-3 --sensitivity 2 --clamp 0,9",
];

const STRANGE: &[&str] = &[
    "nan", "inf", "-inf", "-1", "0", "-0", "5e-324", "1e-310", "1e308", "1e-100", "1e100", "1e16",
    "0.1", "", "x", "1,2,3",
];

/// What every run owes: a documented exit code, and nothing on standard output unless it is done.
fn assert_decent(request: &str, arguments: &[&str], input: &[u8]) -> i32 {
    let run = run(arguments, input);
    assert!([0, 1, 2].contains(&run.code), "{request}: {run:?}");
    assert!(
        run.code == 0 || (run.stdout.is_empty() && run.stderr.starts_with("error: ")),
        "{request}: {run:?}"
    );
    assert!(!run.stderr.contains("panicked"), "{request}: {run:?}");
    run.code
}

#[test]
fn the_requests_are_right_as_they_stand() {
    for request in REQUESTS {
        assert!(!reticent_with_input(request, b"1\n0\n").done().is_empty(), "{request}");
    }
}

#[test]
fn strange_numbers() {
    let threads: Vec<_> = (0..2)
        .map(|part| {
            std::thread::spawn(move || {
                for request in REQUESTS.iter().skip(part).step_by(2) {
                    strange_numbers_in(request);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn strange_numbers_in(request: &str) {
    let words: Vec<&str> = request.split_whitespace().collect();
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    for at in 1..words.len() {
        // A number after an option, or the value of a parameter.
        let (before, after) = match words[at].split_once('=') {
            Some((name, value)) if is_number(value) => {
                (format!("{name}="), if value.ends_with(']') { "]" } else { "" })
            }
            None if words[at - 1].starts_with("--") && is_number(words[at]) => (String::new(), ""),
            _ => continue,
        };
        for strange in STRANGE {
            let replaced = format!("{before}{strange}{after}");
            let mut words = words.clone();
            words[at] = &replaced;
            let code = assert_decent(&words.join(" "), &words, b"1\n0\n");
            let hopeless = ["nan", "inf", "-inf", "x", ""].contains(strange);
            assert!(!hopeless || code == 2, "{} was accepted", words.join(" "));
        }
    }
}

#[test]
fn strange_input() {
    let long_line = [b"1".repeat(1 << 20), b"\n".to_vec()].concat();
    let many_digits = [b"0.".to_vec(), b"3".repeat(1 << 20), b"\n".to_vec()].concat();
    let inputs: [&[u8]; 9] = [
        b"",
        b"\n",
        b"\0\n",
        b"\xff\xfe\xfd",
        b"1e308\n-1e308\n5e-324\n",
        b"\r\n\r\n",
        b"1\n2",
        &long_line,
        &many_digits,
    ];
    for mechanism in [
        "laplace",
        "discrete-laplace",
        "gaussian --delta 1e-6",
        "discrete-gaussian --delta 1e-6",
        "staircase",
    ] {
        let request = format!("noise {mechanism} --epsilon 1 --sensitivity 1");
        let words: Vec<&str> = request.split_whitespace().collect();
        for input in inputs {
            assert_decent(&request, &words, input);
        }
    }
    let request = "noise randomized-response --epsilon 1 --categories 3";
    for input in inputs.into_iter().chain([&b"-1\n"[..], b"3\n", b"0.5\n"]) {
        assert_decent(request, &request.split_whitespace().collect::<Vec<_>>(), input);
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let program = || std::process::Command::new(env!("CARGO_BIN_EXE_reticent"));
    let strange = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for first in ["calibrate", "profile", "account", "noise", "mechanisms"] {
        let output = program().arg(first).arg(strange).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        let output = program().args([first, "laplace", "--scale"]).arg(strange).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    use std::process::{Command, Stdio};
    let arguments = "noise laplace scale=1 sensitivity=1 --count 1e5";
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(reticent(arguments).done().lines().count(), 100_000);
}
