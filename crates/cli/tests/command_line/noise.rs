//! `reticent noise`.

use crate::program::{TemporaryFile, reticent, reticent_with_input};

#[test]
fn numbers_come_out_with_noise_and_the_guarantee_is_stated() {
    let run = reticent_with_input("noise laplace --epsilon 1 --sensitivity 1", b"10\n20\n30\n");
    assert!(
        run.stderr.contains("Guarantee: pure differential privacy, epsilon = 1."),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("each of the 3 numbers"), "{}", run.stderr);
    let values: Vec<f64> = run.done().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), 3);
    for (value, truth) in values.iter().zip([10.0, 20.0, 30.0]) {
        // P[|X| > 50 b] = e^-50; no noise at all is one point of a lattice of spacing 2^-40, 5e-13.
        assert!(*value != truth && (value - truth).abs() < 50.0, "{value}");
    }
}

#[test]
fn two_runs_differ_unless_they_are_seeded() {
    let draw = |seed: &str| {
        reticent(&format!("noise laplace --epsilon 1 --sensitivity 1 --count 4{seed}"))
    };
    assert_ne!(draw("").done(), draw("").done());
    let seeded = draw(" --seed 7");
    assert!(seeded.stderr.starts_with("NOT PRIVATE"), "{}", seeded.stderr);
    assert_eq!(seeded.done(), draw(" --seed 7").done());
    assert_ne!(draw(" --seed 7").done(), draw(" --seed 8").done());
}

#[test]
fn a_release_file_describes_its_noise() {
    let release =
        reticent_with_input("noise laplace --epsilon 0.5 --l1 3 --format json", b"1\n2\n").json();
    assert_eq!(release["values"].as_array().unwrap().len(), 2);
    let record = &release["release"];
    assert_eq!(record["mechanism"], "laplace");
    assert_eq!(record["event"]["mechanism"], "laplace");
    assert!(record["event"]["scale"].as_f64().unwrap() >= 6.0);
    assert_eq!(record["guarantee"]["notion"], "pure");
    assert_eq!(record["guarantee"]["epsilon"], 0.5);
    assert!(record["spacing"].as_f64().unwrap() > 0.0);
    assert_eq!(record["random"], "secure");
    let seeded =
        reticent("noise laplace --epsilon 0.5 --sensitivity 1 --count 1 --seed 3 --format json")
            .json();
    assert_eq!(seeded["release"]["random"], "seeded");
}

#[test]
fn a_csv_column_is_replaced_and_the_rest_is_passed_on_with_a_warning() {
    let file = TemporaryFile::new("column.csv", b"town,total,note\nA,100,\"x, y\"\nB,200,z\n");
    let command =
        format!("noise laplace --epsilon 2 --sensitivity 1 --column total --input {}", file.path());
    let run = reticent(&command);
    assert!(run.stderr.contains("NOT PROTECTED: the other columns (2)"), "{}", run.stderr);
    let text = run.done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "town,total,note");
    assert!(lines[1].starts_with("A,") && lines[1].ends_with(",\"x, y\""), "{text}");
    let noisy: f64 = lines[2].split(',').nth(1).unwrap().parse().unwrap();
    assert!(noisy != 200.0 && (noisy - 200.0).abs() < 50.0, "{text}");
}

#[test]
fn bad_input_is_refused_by_line_and_never_quoted() {
    let command = "noise laplace --epsilon 1 --sensitivity 1";
    for (input, location) in [
        (&b"1\nsecret7\n"[..], "line 2"),
        (b"nan\n", "line 1"),
        (b"1\n2\ninf\n", "line 3"),
        (b"1\n-Infinity\n", "line 2"),
        (b"1\n\n2\n", "line 2"),
        (b"\xff\xfe\n", "line 1"),
        (b"1e999\n", "line 1"),
        (b"1,5\n", "line 1"),
    ] {
        let message = reticent_with_input(command, input).refused();
        assert!(message.contains(location), "{message}");
        assert!(
            !message.contains("secret7") && !message.contains("1e999") && !message.contains("1,5"),
            "{message}"
        );
    }
    assert!(reticent(command).refused().contains("standard input is empty"));
}

#[test]
fn bad_tables_are_refused_by_line_and_never_quoted() {
    for (name, content, expected) in [
        ("value.csv", &b"a,b\n1,2\n1,secret7\n"[..], "column `b` on line 3"),
        ("ragged.csv", b"a,b\n1,2\n1,secret7,3\n", "different lengths at line 3"),
        ("empty.csv", b"", "no such column"),
        ("heading.csv", b"a,b\n", "no records"),
        ("twice.csv", b"b,b\n1,2\n", "several columns"),
        ("other.csv", b"secret7,c\n1,2\n", "no such column"),
        ("bytes.csv", b"a,b\n1,\xff\n", "not UTF-8"),
    ] {
        let file = TemporaryFile::new(name, content);
        let command =
            format!("noise laplace --epsilon 1 --sensitivity 1 --column b --input {}", file.path());
        let message = reticent(&command).refused();
        assert!(message.contains(expected) && !message.contains("secret7"), "{name}: {message}");
    }
}

#[test]
fn a_missing_file_is_a_fault() {
    let run =
        reticent("noise laplace --epsilon 1 --sensitivity 1 --column a --input /no/such/file.csv");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("opening the file of --input failed"), "{}", run.stderr);
}

#[test]
fn pure_noise_costs_nothing_and_is_bounded_in_number() {
    let run = reticent("noise gaussian sigma=2 sensitivity=1 --count 1e3");
    assert!(run.stderr.contains("costs nothing"), "{}", run.stderr);
    assert_eq!(run.done().lines().count(), 1000);
    for count in ["0", "1e9", "-1", "1.5", "nan"] {
        reticent(&format!("noise gaussian sigma=2 sensitivity=1 --count {count}")).refused();
    }
}

#[test]
fn a_vector_is_covered_as_a_whole() {
    let run = reticent_with_input("noise gaussian --epsilon 1 --delta 1e-6 --l2 2", b"1\n2\n3\n");
    assert!(run.stderr.contains("all 3 numbers together"), "{}", run.stderr);
    run.done();
    let message = reticent_with_input(
        "noise gaussian --epsilon 1 --delta 1e-6 --per-element 1,2",
        b"1\n2\n3\n",
    )
    .refused();
    assert!(message.contains("2 sensitivities") && message.contains("3 numbers"), "{message}");
}

#[test]
fn bounded_answers_stay_in_their_bounds() {
    let input = "0.5\n".repeat(300);
    for mechanism in [
        "truncated-generalized-gaussian order=2 lower=0 upper=1 --sensitivity 0.5",
        "inflated-generalized-gaussian order=2 lower=0 upper=1 --sensitivity 0.5",
        "laplace --sensitivity 0.5 --clamp 0,1",
        "discrete-laplace --sensitivity 1 --clamp 0,1",
    ] {
        let input = if mechanism.starts_with("discrete") {
            input.replace("0.5", "1")
        } else {
            input.clone()
        };
        let text =
            reticent_with_input(&format!("noise {mechanism} --epsilon 1"), input.as_bytes()).done();
        let values: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(
            values.len() == 300 && values.iter().all(|value| (0.0..=1.0).contains(value)),
            "{mechanism}"
        );
        // Clamped noise of scale 1/2 or more is on a bound with probability 1/e or more: 300 misses
        // have probability 1e-59. Truncated noise is there with the probability of two points of a
        // lattice of spacing 2^-45: 2e-11 in 300 draws.
        let on_a_bound = values.iter().any(|value| *value == 0.0 || *value == 1.0);
        assert_eq!(on_a_bound, !mechanism.starts_with("truncated"), "{mechanism}");
    }
}

#[test]
fn answers_that_a_mechanism_cannot_mean_are_refused_by_line() {
    for (mechanism, input) in [
        ("randomized-response categories=3", "1\n7\n"),
        ("discrete-laplace --sensitivity 1", "1\n0.25\n"),
    ] {
        let message =
            reticent_with_input(&format!("noise {mechanism} --epsilon 1"), input.as_bytes())
                .refused();
        assert!(
            message.contains("line 2") && !message.contains('7') && !message.contains("0.25"),
            "{message}"
        );
    }
}

#[test]
fn a_choice_is_named_by_its_index() {
    for mechanism in ["exponential", "permute-and-flip"] {
        // The second is ahead by 10^3 at a scale of 2: any other has probability e^-500.
        let run = reticent_with_input(
            &format!("noise {mechanism} --epsilon 1 --sensitivity 1"),
            b"10\n1010\n9\n",
        );
        assert!(run.stderr.contains("the choice of one of 3 candidates"), "{}", run.stderr);
        assert_eq!(run.done(), "2\n");
    }
}

/// Algorithm 1 of R2DP from the shell, as the paper has it: a value, a budget and a metric in, a
/// private value out.
#[test]
fn algorithm_1_releases_a_value() {
    let request =
        "noise random-scale-laplace --epsilon 4 --metric usefulness:0.1 --family combined";
    let run = reticent_with_input(request, b"17\n25\n");
    assert!(
        run.stderr.contains("Optimised for the metric usefulness:0.1 over the family combined"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("it is proved that no random scale has less than"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("no sensitivity was given: it is taken to be 1"), "{}", run.stderr);
    assert!(
        run.stderr.contains("Guarantee: pure differential privacy, epsilon = 4."),
        "{}",
        run.stderr
    );
    let values: Vec<f64> = run.done().lines().map(|line| line.parse().unwrap()).collect();
    assert!(values.len() == 2 && values[0] != 17.0, "{values:?}");
    // The event that is charged is that of the noise: `profile` reads its text back.
    let release =
        reticent_with_input(&format!("{request} --sensitivity 1 --format json"), b"3\n").json();
    assert_eq!(release["release"]["event"]["inverse_scale"]["family"], "combined");
    // A vector, whose length is counted; and a random standard deviation.
    let vector = reticent_with_input(
        "noise random-scale-laplace --epsilon 9 --metric max --l1 3 --seed 5",
        b"1\n2\n3\n",
    );
    assert!(vector.stderr.contains("all 3 numbers together"), "{}", vector.stderr);
    let gaussian = reticent_with_input(
        "noise random-scale-gaussian --epsilon 1 --delta 1e-5 --metric l1 --family two-point \
         --sensitivity 1",
        b"3\n",
    );
    assert!(gaussian.stderr.contains("over the family two-point"), "{}", gaussian.stderr);
    assert!(gaussian.stderr.contains("delta = 1e-5"), "{}", gaussian.stderr);
}
