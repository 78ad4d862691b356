//! `reticent choose`.

use crate::program::{TemporaryFile, reticent, reticent_with_input};

#[test]
fn the_json_has_the_documented_shape_with_the_best_first() {
    let answer =
        reticent("choose --epsilon 4 --sensitivity 1 --metric usefulness:0.1 --format json").json();
    let keys: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["limit", "metric", "ranking"]);
    assert_eq!(answer["metric"], "usefulness:0.1");
    let limit = |end: &str| answer["limit"][end].as_f64().unwrap();
    assert!(
        limit("lower") <= limit("upper") && (limit("lower") - 0.15723727804642887).abs() < 1e-14
    );
    let rows = answer["ranking"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["mechanism"].as_str().unwrap()).collect();
    assert_eq!(names[0], "staircase");
    assert!(names.contains(&"random-scale-laplace") && names.contains(&"laplace"));
    let errors: Vec<_> = rows.iter().map(|row| row["error"].as_f64().unwrap()).collect();
    assert!(errors.is_sorted(), "{errors:?}");
    for row in rows {
        let keys: Vec<_> = row.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["error", "guarantee", "mechanism", "parameters", "ratio_to_limit"]);
        assert_eq!(row["guarantee"]["notion"], "pure");
        assert!(
            row["ratio_to_limit"].as_f64().unwrap() >= 1.0
                && row["parameters"]["scale"].as_f64().unwrap() > 0.0
        );
    }
    assert!(rows[0]["ratio_to_limit"].as_f64().unwrap() < 1.0 + 1e-9);
}

#[test]
fn with_a_delta_the_programme_wins_and_the_limit_has_two_ends() {
    let answer = reticent("choose --epsilon 1 --delta 1e-6 --sensitivity 1 --format json").json();
    let rows = answer["ranking"].as_array().unwrap();
    assert_eq!(rows[0]["guarantee"]["epsilon"], 1.0);
    assert!(rows[0]["ratio_to_limit"].as_f64().unwrap() < 1.01);
    assert!(rows.iter().any(|row| row["mechanism"] == "optimal"));
    assert!(
        answer["limit"]["lower"].as_f64().unwrap() < answer["limit"]["upper"].as_f64().unwrap()
    );
    let quantile = reticent(
        "choose --epsilon 1 --delta 1e-6 --sensitivity 1 --metric quantile:0.9 --format json",
    )
    .json();
    assert!(quantile["ranking"][0]["ratio_to_limit"].as_f64().unwrap() < 1.01, "{quantile}");
    let entropy =
        reticent("choose --epsilon 1 --delta 1e-6 --sensitivity 1 --metric entropy").done();
    assert!(entropy.contains("Least entropy of any added noise: none: with a delta"), "{entropy}");
    // Without a limit there is no ratio, and the reason is given.
    let vector =
        reticent("choose --epsilon 1 --delta 1e-6 --dimension 100 --l1 100 --l2 10 --format json")
            .json();
    assert!(vector["limit"]["lower"].is_null() && vector["ranking"][0]["ratio_to_limit"].is_null());
    assert_eq!(vector["ranking"][0]["mechanism"], "gaussian");
    assert!(vector["limit"]["reason"].as_str().unwrap().contains("for one number"), "{vector}");
}

#[test]
fn a_loss_is_read_from_a_file_with_or_without_a_heading() {
    let file = TemporaryFile::new("loss.csv", b"error,loss\n0,0\n1,1\n");
    let table = reticent(&format!(
        "choose --epsilon 1 --sensitivity 1 --metric loss:{} --format json",
        file.path()
    ))
    .json();
    let l1 = reticent("choose --epsilon 1 --sensitivity 1 --metric l1 --format json").json();
    let error = |answer: &serde_json::Value| answer["ranking"][0]["error"].as_f64().unwrap();
    assert!((error(&table) / error(&l1) - 1.0).abs() < 1e-12);
    let written =
        reticent("choose --epsilon 1 --sensitivity 1 --metric expression:t --format json").json();
    assert!((error(&written) / error(&l1) - 1.0).abs() < 1e-9 && written["metric"] == "loss");
    let falling =
        reticent("choose --epsilon 1 --sensitivity 1 --metric expression:exp(0-t)").refused();
    assert!(falling.contains("cannot cost less"), "{falling}");
    for (content, why) in [
        (&b"0,0\n1,secret\n"[..], "line 2 of the loss"),
        (b"0,1\n1,0\n", "cannot cost less"),
        (b"0,0,0\n1,1,1\n", "line 1 of the loss"),
        (b"", "points of the loss"),
        (b"\xff\xfe,1\n2,3\n", "line 1 of the loss"),
    ] {
        let file = TemporaryFile::new("bad-loss.csv", content);
        let refused =
            reticent(&format!("choose --epsilon 1 --sensitivity 1 --metric loss:{}", file.path()))
                .refused();
        assert!(refused.contains(why) && !refused.contains("secret"), "{refused}");
    }
}

#[test]
fn the_winner_releases_as_noise_would() {
    let run =
        reticent_with_input("choose --epsilon 1 --sensitivity 1 --release --seed 7", b"17\n25\n");
    assert!(
        run.stderr.contains("NOT PRIVATE")
            && run.stderr.contains("Chosen for the metric l1: staircase"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("Guarantee: pure differential privacy, epsilon = 1."));
    let same = reticent_with_input(
        "noise staircase aim=l1 --epsilon 1 --sensitivity 1 --seed 7",
        b"17\n25\n",
    );
    assert_eq!(run.done(), same.done());

    let integers = reticent_with_input(
        "choose --epsilon 1 --sensitivity 3 --integer --metric l2 --release",
        b"17\n",
    );
    assert!(integers.done().trim().parse::<i64>().is_ok());
    let half =
        reticent_with_input("choose --epsilon 1 --sensitivity 3 --integer --release", b"17.5\n")
            .refused();
    assert!(half.contains("line 1 of the input is not a value"), "{half}");
    let vector = reticent_with_input(
        "choose --epsilon 1 --delta 1e-6 --l1 3 --l2 1.8 --metric max --release",
        b"1\n2\n3\n",
    );
    assert_eq!(vector.done().lines().count(), 3);
    let wrong =
        reticent_with_input("choose --epsilon 1 --l1 3 --dimension 2 --release", b"1\n2\n3\n")
            .refused();
    assert!(wrong.contains("--dimension is 2, but the input has 3 numbers"));
}

#[test]
fn the_picture_has_two_panels_and_the_limit() {
    let file = TemporaryFile::new("choice.svg", b"");
    reticent(&format!("choose --epsilon 4 --sensitivity 1 --metric l2 --plot {}", file.path()))
        .done();
    let svg = std::fs::read_to_string(file.path()).unwrap();
    assert!(
        svg.matches("<g transform").count() == 2
            && svg.contains(">limit<")
            && svg.contains(">staircase<")
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn impossible_requests_are_explained() {
    for (arguments, why) in [
        ("choose --epsilon 1", "needs to know the sensitivity"),
        ("choose --epsilon 1 --delta 0 --sensitivity 1", "a pure budget has none, so leave it out"),
        ("choose --epsilon 0 --sensitivity 1", "above 0 and at most 700"),
        ("choose --epsilon 1 --l1 2", "give its --dimension"),
        ("choose --epsilon 1 --sensitivity 1 --dimension 3", "each number by itself"),
        ("choose --epsilon 1 --sensitivity 1 --metric l3", "it must be l1, l2, max"),
        ("choose --epsilon 1 --sensitivity 1 --metric usefulness:-1", "usefulness"),
        ("choose --epsilon 1 --sensitivity 0.5 --integer", "because the answers are integers"),
        ("choose --epsilon 1 --sensitivity 5 --bounds 0,1", "at most the distance of the bounds"),
        ("choose --epsilon 1 --l1 5 --dimension 2 --bounds 0,9", "bounds are for one number"),
        ("choose --epsilon 1 --sensitivity 1 --seed 1", "give --release"),
        ("choose --epsilon 1 --sensitivity 1 --release --releases 3", "plans for several"),
        ("choose --epsilon 1 --l2 5 --dimension 2 --metric entropy --releases 0", "releases"),
    ] {
        let refused = reticent(arguments).refused();
        assert!(refused.contains(why), "{arguments}: {refused}");
    }
    // What is left out is named with the reason, in the table.
    let table = reticent("choose --epsilon 1 --sensitivity 1").done();
    assert!(table.contains("gaussian is left out: its guarantee has a delta"), "{table}");
    assert!(table.contains("it needs public bounds of the answer"));
}

/// All families of random scales are ranked, the best of them first; the table is that of erratum
/// R8.
#[test]
fn every_family_of_random_scales_is_ranked() {
    let answer =
        reticent("choose --epsilon 4 --sensitivity 1 --metric usefulness:0.1 --format json").json();
    let rows = answer["ranking"].as_array().unwrap();
    let error = |name: &str| {
        let row = rows.iter().find(|row| row["mechanism"] == name);
        row.unwrap_or_else(|| panic!("{name}"))["error"].as_f64().unwrap()
    };
    for (name, useful) in [
        ("random-scale-laplace", 0.481),
        ("random-scale-laplace combined", 0.410),
        ("random-scale-laplace truncated-gaussian", 0.406),
        ("random-scale-laplace gamma", 0.394),
        ("random-scale-laplace uniform", 0.386),
        ("laplace", 0.330),
    ] {
        assert!((1.0 - error(name) - useful).abs() < 1e-3, "{name}: {}", error(name));
    }
    // At small epsilon it is proved that none gains, for the entropy too.
    for metric in ["l1", "entropy"] {
        let text =
            reticent(&format!("choose --epsilon 1 --sensitivity 1 --metric {metric}")).done();
        assert!(
            text.contains(
                "random-scale-laplace is left out: equals laplace: it is proved that no \
                 distribution of the scale"
            ),
            "{text}"
        );
    }
}
