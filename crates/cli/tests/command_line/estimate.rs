//! `reticent estimate`, `reticent errors`, and `denoise` of a survey.

use crate::program::{TemporaryFile, reticent, reticent_with_input};

/// 2,000 answers of two categories, a share of which say 1.
fn answers(ones: usize) -> String {
    (0..2000).map(|index| if index < ones { "1\n" } else { "0\n" }).collect()
}

#[test]
fn shares_come_with_certified_intervals() {
    // Warner's coin at epsilon = ln 3 tells the truth with probability 3/4.
    let options = format!("--epsilon {} --categories 2 --format json", 3f64.ln());
    let command = format!("estimate randomized-response {options}");
    let answer = reticent_with_input(&command, answers(1100).as_bytes()).json();
    assert_eq!(answer["responses"], 2000);
    assert_eq!(answer["categories"], 2);
    let share = &answer["shares"][1];
    let number = |key: &str| share[key].as_f64().unwrap();
    // (0.55 - 0.25)/0.5.
    assert!((number("share") - 0.6).abs() < 1e-12, "{answer}");
    // The normal interval is 1.96 sqrt(0.55 * 0.45/2000)/0.5 = 0.0436; the exact one a little more.
    let half = number("half_width");
    assert!((0.0436..0.0455).contains(&half), "{answer}");
    assert!(number("lower") >= 0.6 - half && number("upper") <= 0.6 + half, "{answer}");
    assert!((number("standard_error") - (0.75f64 * 0.25 / 2000.0).sqrt() / 0.5).abs() < 1e-9);
}

#[test]
fn labels_tables_and_the_simplex() {
    let mut text = String::from("id,answer\n");
    for index in 0..100 {
        text += &format!("{index},{}\n", ["red", "red", "green", "red"][index % 4]);
    }
    let file = TemporaryFile::new("survey.csv", text.as_bytes());
    let command = format!(
        "estimate randomized-response --epsilon 2 --labels red,green,blue --simplex --column \
         answer --input {}",
        file.path()
    );
    let run = reticent(&command);
    assert!(run.stderr.contains("95% or more") && run.stderr.contains("random sample"));
    let table = run.done();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("category") && lines[0].ends_with("nearest shares"), "{table}");
    assert!(lines[2].starts_with("red") && lines[4].starts_with("blue"), "{table}");
    // Blue was never the answer: its estimate is negative, and its nearest share is 0.
    let blue: Vec<&str> = lines[4].split_whitespace().collect();
    assert!(blue[2].starts_with('-') && blue[6] == "0", "{table}");
}

#[test]
fn a_release_of_randomized_response_is_estimated_by_both_commands() {
    let truth = "0\n1\n2\n0\n".repeat(50);
    let noise = "noise randomized-response categories=3 --epsilon 3 --format json";
    let release = reticent_with_input(noise, truth.as_bytes()).done();
    let command = "estimate randomized-response --simplex --format json";
    let estimated = reticent_with_input(command, release.as_bytes()).json();
    let denoised = reticent_with_input("denoise --format json", release.as_bytes()).json();
    assert_eq!(estimated, denoised);
    assert_eq!(estimated["epsilon"], 3.0);
    let shares = estimated["shares"].as_array().unwrap();
    let sum = |key: &str| shares.iter().map(|share| share[key].as_f64().unwrap()).sum::<f64>();
    assert!((sum("share") - 1.0).abs() < 1e-9 && (sum("nearest") - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_wrong_is_refused() {
    for (options, input, expected) in [
        ("--epsilon 1", "0\n", "--categories"),
        ("--categories 2", "0\n", "--epsilon"),
        ("--epsilon 0 --categories 2", "0\n", "epsilon"),
        ("--epsilon nan --categories 2", "0\n", "epsilon"),
        ("--epsilon 1 --categories 1", "0\n", "categories"),
        ("--epsilon 1 --categories 2", "0\n2\n", "answer 2"),
        ("--epsilon 1 --categories 2", "secret\n", "answer 1"),
        ("--epsilon 1 --categories 2", "", "from 1 to 2^63"),
        ("--epsilon 1 --categories 2 --confidence 1", "0\n", "confidence"),
        ("--epsilon 1 --labels a,a", "a\n", "different words"),
        ("--epsilon 1 --labels a,b --categories 3", "a\n", "as many"),
        ("--epsilon 1 --categories 9000000", "0\n", "at most 1000000"),
    ] {
        let command = format!("estimate randomized-response {options}");
        let message = reticent_with_input(&command, input.as_bytes()).refused();
        assert!(message.contains(expected) && !message.contains("secret"), "{options}: {message}");
    }
}

#[test]
fn errors_of_counting_queries_are_those_of_the_lecture() {
    let command = "errors --queries 100 --epsilon 1 --delta 1e-6 --people 10000 --format json";
    let answer = reticent(command).json();
    let of = |index: usize, key: &str| answer["mechanisms"][index][key]["upper"].as_f64().unwrap();
    assert_eq!(of(1, "scale"), 100.0, "Laplace noise of scale k/epsilon");
    // sqrt(k) times 4.2247, the sigma of one query.
    assert!((of(2, "scale") - 42.247).abs() < 0.01, "{answer}");
    for line in answer["mechanisms"].as_array().unwrap() {
        let limit = line["limit"].as_f64().unwrap();
        assert!(limit > 0.0 && limit < line["maximum"]["upper"].as_f64().unwrap(), "{line}");
        let union_bound = line["union_bound"].as_f64();
        assert!(union_bound.is_none_or(|bound| bound >= of(1, "maximum").min(of(2, "maximum"))));
    }
    // Packing: half the largest integer below 100 ln 2 + ln 0.95 = 69.26.
    assert_eq!(answer["mechanisms"][1]["limit"], 34.5);
    let run = reticent("errors --queries 100 --epsilon 1 --delta 1e-6");
    assert!(run.stderr.contains("From 9 queries on"), "{}", run.stderr);
    let table = run.done();
    assert!(table.contains("laplace") && !table.contains("randomized"), "{table}");
    for (options, expected) in [
        ("--queries 0 --epsilon 1", "queries"),
        ("--queries 5 --epsilon 0", "epsilon"),
        ("--queries 5 --epsilon 1 --delta 2", "delta"),
        ("--queries 5 --epsilon 1 --people 0", "people"),
        ("--queries 5 --epsilon 1 --beta 1", "beta"),
    ] {
        let message = reticent(&format!("errors {options}")).refused();
        assert!(message.contains(expected), "{options}: {message}");
    }
}
