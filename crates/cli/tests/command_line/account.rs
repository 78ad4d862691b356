//! `reticent account`, and `reticent calibrate` for many releases.

use crate::program::{TemporaryFile, reticent, reticent_with_input, run};
use serde_json::Value;

/// Runs `account` with inline events and more words.
fn account(events: &[&str], more: &str) -> crate::program::Run {
    let mut arguments = vec!["account"];
    for event in events {
        arguments.extend(["--event", event]);
    }
    arguments.extend(more.split_whitespace());
    run(&arguments, b"")
}

fn bracket(value: &Value) -> (f64, f64) {
    (value["lower"].as_f64().unwrap(), value["upper"].as_f64().unwrap())
}

/// Exact figures: reference/composition.json for ten Laplace releases; k Gaussians of scale sigma
/// sqrt(k) are one of scale sigma (reference/gaussian_sigma.json).
#[test]
fn brackets_hold_known_figures() {
    let answer = account(&["laplace scale=10 times=10"], "--delta 1e-6 --format json").json();
    let (lower, upper) = bracket(&answer["epsilon"]);
    assert!(
        lower <= 0.998_978_089_447_219_8
            && 0.998_978_089_447_219_8 <= upper
            && upper - lower < 1e-4,
        "{answer}"
    );
    assert_eq!(answer["delta"], 1e-6);
    let answer =
        account(&["gaussian sigma=37.30631634815942 times=100"], "--delta 1e-5 --format json")
            .json();
    let (lower, upper) = bracket(&answer["epsilon"]);
    assert!(
        (lower - 1.0).abs() < 1e-11 && (upper - 1.0).abs() < 1e-11 && lower <= upper,
        "{answer}"
    );
    let answer =
        account(&["gaussian sigma=37.30631634815942 times=100"], "--epsilon 1 --format json")
            .json();
    let (lower, upper) = bracket(&answer["delta"]);
    assert!(
        (lower / 1e-5 - 1.0).abs() < 1e-10 && (upper / 1e-5 - 1.0).abs() < 1e-10 && lower <= upper,
        "{answer}"
    );
    assert_eq!(answer["epsilon"], 1.0);
}

/// The headline is within every bracket, and those who say nothing say why.
#[test]
fn every_accountant_has_its_say() {
    let events = ["gaussian sigma=10 times=1000", "laplace scale=20 times=5"];
    let answer = account(&events, "--delta 1e-6 --format json").json();
    let (lower, upper) = bracket(&answer["epsilon"]);
    assert!(lower > 0.0 && upper - lower <= 1e-4 * upper, "{answer}");
    assert_eq!(answer["releases"], 1005);
    let accountants = answer["accountants"].as_object().unwrap();
    for name in
        ["loss-distribution", "gaussian-dp", "optimal", "renyi", "zcdp", "advanced", "basic"]
    {
        match &accountants[name]["epsilon"] {
            Value::Null => {
                assert!(accountants[name]["not_covered"].is_string(), "{name}: {answer}")
            }
            figure => {
                let (least, most) = bracket(figure);
                assert!(least <= lower && upper <= most, "{name}: {answer}");
            }
        }
    }
    assert_eq!(accountants.len(), 7);
    let text = account(&events, "--delta 1e-6").done();
    assert!(text.starts_with("releases  1005\ndelta     1e-6\nepsilon   from 19.43"), "{text}");
    assert!(text.contains("does not cover gaussian: "), "{text}");
    let finer =
        account(&["laplace scale=10 times=10"], "--delta 1e-6 --precision 1e-6 --format json")
            .json();
    let (lower, upper) = bracket(&finer["epsilon"]);
    assert!(upper - lower <= 1e-6 * upper, "{finer}");
}

/// The support of an event is in scales and that of a command in units of the answer: two releases
/// of noise that costs a delta of 1e-6 each for certain have no epsilon at 1e-6. (A support divided
/// by the scale twice made it 8.)
#[test]
fn truncated_laplace_noise_is_read_in_the_units_it_was_written_in() {
    let calibrated = reticent(
        "calibrate truncated-laplace --epsilon 4 --delta 1e-6 --sensitivity 1 --format json",
    )
    .json();
    let event = calibrated["event"].to_string();
    let support = calibrated["parameters"]["support"].as_f64().unwrap();
    assert!((support / 4.275_969_491_973_291 - 1.0).abs() < 1e-12, "{calibrated}");
    let in_scales = &calibrated["event"]["support_in_scales"];
    let typed = format!("truncated-laplace scale=0.25 support_in_scales={in_scales}");
    let from_file = |more: &str, times: u64| {
        let events =
            format!(r#"[{{"mechanism": "repetition", "times": {times}, "event": {event}}}]"#);
        reticent_with_input(&format!("account --events - {more} --format json"), events.as_bytes())
            .json()
    };
    let from_words = |more: &str, times: u64| {
        account(&[&format!("{typed} times={times}")], &format!("{more} --format json")).json()
    };
    for answer in [from_file("--delta 1e-6", 2), from_words("--delta 1e-6", 2)] {
        assert_eq!(
            (&answer["epsilon"]["lower"], &answer["epsilon"]["upper"]),
            (&Value::Null, &Value::Null),
            "{answer}"
        );
    }
    for answer in [from_file("--epsilon 4", 1), from_words("--epsilon 4", 1)] {
        let (lower, upper) = bracket(&answer["delta"]);
        assert!(
            lower <= 1e-6 * (1.0 + 1e-12) && upper >= 1e-6 * (1.0 - 1e-9) && upper - lower < 1e-15,
            "{answer}"
        );
    }
    for answer in [from_file("--delta 3e-6", 2), from_words("--delta 3e-6", 2)] {
        let (lower, upper) = bracket(&answer["epsilon"]);
        assert!(lower > 7.9 && upper <= 8.0 * (1.0 + 1e-12), "{answer}");
    }
}

/// Nothing was known beyond a loss of 700, and it was said that epsilon is at least 1e9.
#[test]
fn a_truncated_laplace_loss_above_700_has_no_false_lower_bound() {
    let answer = account(
        &["truncated-laplace scale=1 support_in_scales=2000 sensitivity=1000"],
        "--delta 1e-6 --format json",
    );
    let answer = answer.json();
    let (lower, upper) = bracket(&answer["epsilon"]);
    // delta = 1 - e^((epsilon - 1000)/2), but for what is beyond a thousand scales.
    let exact = 1000.0 + 2.0 * f64::ln_1p(-1e-6);
    assert!(
        lower <= exact * (1.0 + 1e-12) && exact * (1.0 - 1e-12) <= upper && upper - lower < 1e-3,
        "{answer}"
    );
}

/// A file says the same as words do, and so does standard input.
#[test]
fn events_come_from_files_too() {
    let expected =
        account(&["gaussian sigma=2 subsample=0.1 times=30", "laplace scale=3"], "--delta 1e-6")
            .done();
    let text = br#"[{"mechanism": "repetition", "times": 30,
        "event": {"mechanism": "poisson-subsampled", "rate": 0.1,
        "event": {"mechanism": "gaussian", "sigma": 2, "sensitivity": 1}}},
        {"mechanism": "laplace", "scale": 3, "sensitivity": 1}]"#;
    let file = TemporaryFile::new("events.json", text);
    assert_eq!(
        reticent(&format!("account --events {} --delta 1e-6", file.path())).done(),
        expected
    );
    assert_eq!(reticent_with_input("account --events - --delta 1e-6", text).done(), expected);
}

#[test]
fn the_picture_is_written() {
    let file = TemporaryFile::new("account.svg", b"");
    account(&["laplace scale=10 times=10"], &format!("--delta 1e-6 --plot {}", file.path())).done();
    let picture = std::fs::read_to_string(file.path()).unwrap();
    assert!(
        picture.starts_with("<svg")
            && picture.contains("loss-distribution, upper")
            && picture.contains("renyi")
    );
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert_eq!(picture.matches("<polyline").count(), 8);
}

#[test]
fn what_is_wrong_is_named_with_the_event() {
    let right = "laplace scale=1";
    for (events, more, expected) in [
        (vec![right, "gauss sigma=1"], "--delta 1e-6", "event 2: there is no mechanism `gauss`"),
        (
            vec![right, "gaussian scale=1"],
            "--delta 1e-6",
            "event 2: gaussian: there is no parameter `scale`",
        ),
        (vec![right, "gaussian sigma=0"], "--delta 1e-6", "event 2 (gaussian): `sigma` is 0,"),
        (vec!["gaussian sigma=1 times=0"], "--delta 1e-6", "event 1 (repetition): `times` is 0,"),
        (vec!["gaussian sigma=1 times=-2"], "--delta 1e-6", "event 1: gaussian: `times` is `-2`"),
        (
            vec!["gaussian sigma=1 subsample=1.1"],
            "--delta 1e-6",
            "event 1 (poisson-subsampled): `rate` is 1.1,",
        ),
        (
            vec!["approximate epsilon=1 delta=2"],
            "--delta 1e-6",
            "event 1 (approximate): `delta` is 2,",
        ),
        (vec![right], "--delta 0", "`delta` is 0,"),
        (vec![right], "--delta 1", "`delta` is 1,"),
        (vec![right], "--epsilon -1", "`epsilon` is -1,"),
        (vec![right], "--delta nan", "`delta` is NaN"),
        (vec![right], "--delta 1e-6 --precision 0", "`precision` is 0,"),
        (vec![right], "", "--delta"),
        (vec![right], "--delta 1e-6 --epsilon 1", "cannot be used with"),
        (vec![right], "--delta 1e-6 --events x", "cannot be used with"),
        (vec![], "--delta 1e-6", "--event"),
    ] {
        let message = account(&events, more).refused();
        assert!(message.contains(expected), "{events:?} {more}\n{message}");
        assert!(message.starts_with("error: "), "{message}");
    }
    for (file, expected) in [
        (&b""[..], "not JSON"),
        (b"[]", "there are no events"),
        (b"\xff", "not UTF-8"),
        (br#"{"mechanism": "laplace", "scale": 1, "sensitivity": 1, "rho": 2}"#, "event 1 \
            (laplace): there is no field `rho`"),
        (br#"{"mechanism": "repetition", "times": 0, "event": {"mechanism": "laplace", "scale": 1, "sensitivity": 1}}"#, "`times` is 0"),
        (br#"{"mechanism": "repetition", "times": -1, "event": {"mechanism": "laplace", "scale": 1, "sensitivity": 1}}"#, "event 1 (repetition): "),
        (br#"{"mechanism": "poisson-subsampled", "rate": 2, "event": {"mechanism": "laplace", "scale": 1, "sensitivity": 1}}"#, "`rate` is 2,"),
    ] {
        let message = reticent_with_input("account --events - --delta 1e-6", file).refused();
        assert!(message.contains(expected), "{}\n{message}", String::from_utf8_lossy(file));
    }
    let gone = reticent("account --events /no/such/file --delta 1e-6");
    assert_eq!((gone.code, gone.stdout.as_str()), (1, ""), "{gone:?}");
}

/// Every parameter of an event replaced by a strange number: a documented exit code, and nothing
/// printed unless it is done.
#[test]
fn strange_events() {
    let strange = ["nan", "inf", "-1", "0", "-0", "5e-324", "1e308", "1e-100", "1e100", "", "x"];
    for event in [
        "gaussian sigma=2 sensitivity=1 times=3",
        "laplace scale=2 sensitivity=1 times=3 subsample=0.5",
        "randomized-response epsilon=1 categories=3",
        "approximate epsilon=1 delta=1e-9 times=2",
        "zero-concentrated rho=0.1",
        "exponential epsilon=0.5",
    ] {
        let words: Vec<&str> = event.split(' ').collect();
        for at in 1..words.len() {
            for value in strange {
                let name = words[at].split('=').next().unwrap();
                let mut words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
                words[at] = format!("{name}={value}");
                let text = words.join(" ");
                let run = account(&[&text], "--delta 1e-6");
                assert!(
                    [0, 2].contains(&run.code) && !run.stderr.contains("panicked"),
                    "{text}: {run:?}"
                );
                assert!(
                    run.code == 0 || (run.stdout.is_empty() && run.stderr.starts_with("error: ")),
                    "{text}: {run:?}"
                );
                assert!(
                    !["nan", "inf", "", "x"].contains(&value) || run.code == 2,
                    "{text} was accepted"
                );
            }
        }
    }
}

/// The scale of many Gaussian releases is the root of their number times that of one, and its event
/// keeps the budget.
#[test]
fn one_scale_for_many_releases() {
    let one = reticent("calibrate gaussian --epsilon 2 --delta 1e-6 --sensitivity 1 --format json")
        .json();
    let single = reticent(
        "calibrate gaussian --epsilon 2 --delta 1e-6 --sensitivity 1 --releases 1 --format json",
    )
    .json();
    assert_eq!(one, single);
    let many =
        reticent("calibrate gaussian --epsilon 2 --delta 1e-6 --releases 10000 --format json")
            .json();
    let ratio = many["scale"].as_f64().unwrap() / one["scale"].as_f64().unwrap();
    assert!((ratio / 100.0 - 1.0).abs() < 1e-11, "{many}");
    assert_eq!(
        (&many["releases"], &many["method"]),
        (&Value::from(10_000), &Value::from("gaussian-dp"))
    );
    for request in [
        "gaussian --epsilon 2 --delta 1e-6 --releases 100",
        "laplace --epsilon 2 --delta 1e-6 --releases 100",
        "discrete-laplace --epsilon 1 --delta 1e-9 --releases 20",
        "staircase --epsilon 1 --delta 1e-6 --releases 20",
        "randomized-response categories=4 --epsilon 1 --delta 1e-6 --releases 50",
        "gaussian --epsilon 1 --delta 1e-5 --releases 200 --subsample 0.05",
    ] {
        let answer = reticent(&format!("calibrate {request} --format json")).json();
        let (lower, upper) = bracket(&answer["certified"]["delta"]);
        let budget = answer["guarantee"]["delta"].as_f64().unwrap();
        assert!(lower <= upper && upper <= budget, "{request}: {answer}");
        // The staircase is known by its sensitivity, and responses by their loss.
        if let Some(below) = answer["too_small"].as_f64() {
            let scale = answer["scale"].as_f64().unwrap();
            assert!(below < scale && scale - below < 4e-4 * scale, "{request}: {answer}");
        }
        // The same figure by the other command, from the event that was printed.
        let epsilon = answer["guarantee"]["epsilon"].as_f64().unwrap();
        let again = reticent_with_input(
            &format!("account --events - --epsilon {epsilon} --format json"),
            answer["event"].to_string().as_bytes(),
        );
        let (least, most) = bracket(&again.json()["delta"]);
        assert!(least <= upper && lower <= most && least <= budget, "{request}: {answer}");
    }
    let pure =
        reticent("calibrate laplace --epsilon 2 --sensitivity 1 --releases 8 --format json").json();
    assert_eq!(
        (&pure["scale"], &pure["certified"]["epsilon"]["upper"]),
        (&Value::from(4.0), &Value::from(2.0))
    );
    let text =
        reticent("calibrate laplace --epsilon 2 --delta 1e-6 --releases 10 --subsample 0.1").done();
    assert!(
        text.contains("guarantee, all together") && text.contains("each unit with probability 0.1"),
        "{text}"
    );
}

#[test]
fn wrong_plans_are_refused() {
    for (request, expected) in [
        ("gaussian --epsilon 1 --delta 1e-6 --releases 0", "`releases` is 0"),
        ("gaussian --epsilon 1 --delta 1e-6 --releases -1", "not a whole number"),
        ("gaussian --epsilon 1 --delta 1e-6 --subsample 1.5", "`subsample` is 1.5"),
        ("gaussian --epsilon 1 --delta 1e-6 --releases 2 --precision 1", "`precision` is 1,"),
        ("gaussian --epsilon 1 --delta 1e-6 --sensitivity 1 --precision 0.1", "--precision is for"),
        ("gaussian --epsilon 1 --delta 0 --releases 2", "`delta` is 0,"),
        ("gaussian --epsilon 1 --releases 2", "need a `delta`"),
        ("gaussian --delta 1e-6 --releases 2", "needs --epsilon"),
        ("laplace --epsilon 1 --releases 2 --subsample 0.5", "need a `delta`"),
        ("laplace order=3 --epsilon 1 --delta 1e-6 --releases 2", "no parameter `order`"),
        ("truncated-laplace --epsilon 1 --delta 1e-6 --releases 2", "more than a scale"),
        ("randomized-response --epsilon 1 --delta 1e-6 --releases 2", "`categories` is missing"),
    ] {
        let message = reticent(&format!("calibrate {request}")).refused();
        assert!(message.contains(expected), "{request}\n{message}");
    }
}

/// A group of k units moves the answer k times as far: the same noise, at so many sensitivities.
#[test]
fn groups_of_units() {
    for (event, alone) in [
        ("gaussian sigma=12 times=5", "gaussian sigma=12 sensitivity=4 times=5"),
        ("laplace scale=8 times=3", "laplace scale=8 sensitivity=4 times=3"),
        ("randomized-response epsilon=0.2 categories=3", "approximate epsilon=0.8 delta=0"),
        ("zero-concentrated rho=0.01", "zero-concentrated rho=0.16"),
    ] {
        let grouped = account(&[event], "--delta 1e-6 --group 4 --format json").json();
        let expected = account(&[alone], "--delta 1e-6 --format json").json();
        let ((low, high), (least, most)) =
            (bracket(&grouped["epsilon"]), bracket(&expected["epsilon"]));
        // Both brackets are of the same figure, but for the last bits of the parameters.
        let slack = 1e-9 * most;
        assert!(low <= most + slack && least <= high + slack, "{event}: {grouped} {expected}");
        assert_eq!(grouped["group"], 4);
        assert!(expected["group"].is_null());
    }
    let text = account(&["laplace scale=8"], "--delta 1e-6 --group 4").done();
    assert!(text.contains("for a group of  4\n"), "{text}");
    for (event, group, part) in [
        ("laplace scale=8", "0", "size"),
        ("gaussian sigma=1 subsample=0.1", "2", "not fixed"),
        ("approximate epsilon=1 delta=0.1", "10", "no delta below 1"),
    ] {
        let message = account(&[event], &format!("--delta 1e-6 --group {group}")).refused();
        assert!(message.contains(part), "{event}: {message}");
    }
}
