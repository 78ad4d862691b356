//! `reticent check`, and the sensitivities that `calibrate` and `noise` take.

use crate::program::{reticent, reticent_with_input};

/// Dwork and Roth's sigma at an epsilon that their proof does not cover.
#[test]
fn a_published_setting_that_is_not_private() {
    let request = "check gaussian --sigma 0.4845 --epsilon 10 --delta 1e-5 --sensitivity 1";
    let answer = reticent(&format!("{request} --format json")).json();
    assert_eq!(answer["private"], false);
    let figure = |name: &str, end: &str| answer[name][end].as_f64().unwrap();
    assert!(figure("delta_at_epsilon", "lower") > 2e-5);
    assert!(figure("delta_at_epsilon", "upper") < 3e-5);
    assert!(figure("epsilon_at_delta", "lower") > 10.0);
    assert!(answer["least_scale"].as_f64().unwrap() > 0.4845);
    // The exit code is that of an answer.
    let text = reticent(request).done();
    assert!(text.contains("NOT private: delta is 2."), "{text}");
    // What it says is right is right.
    let right = answer["least_scale"].as_f64().unwrap();
    let request =
        format!("check gaussian --sigma {right} --epsilon 10 --delta 1e-5 --sensitivity 1");
    assert_eq!(reticent(&format!("{request} --format json")).json()["private"], true);
    assert!(reticent(&request).done().contains("private: the claim is true"));
}

#[test]
fn other_mechanisms_and_refusals() {
    let answer =
        reticent("check laplace --scale 2 --epsilon 0.25 --l1 1 --dimension 1 --format json")
            .json();
    assert_eq!(answer["private"], false);
    assert!((answer["epsilon_at_delta"]["upper"].as_f64().unwrap() - 0.5).abs() < 1e-12);
    let tiny = "check gaussian --sigma 1e-3 --epsilon 1 --delta 1e-6 --sensitivity 1";
    assert!(reticent(tiny).done().contains("none is proved up to 700"));
    assert!(
        reticent(&format!("{tiny} --format json")).json()["epsilon_at_delta"]["upper"].is_null()
    );
    for (request, part) in [
        ("check gaussian --epsilon 1 --delta 1e-6 --sensitivity 1", "--sigma"),
        ("check gaussian --sigma 1 --scale 1 --epsilon 1 --delta 1e-6", "cannot be used with"),
        ("check gaussian --sigma 1 --epsilon 1 --sensitivity 1", "needs a `delta`"),
        ("check gaussian --sigma 1 --epsilon 1 --delta 1e-6", "needs to know the sensitivity"),
        ("check gaussian --sigma nan --epsilon 1 --delta 1e-6 --l2 1", "scale"),
        ("check staircase --scale 1 --epsilon 1 --sensitivity 1", "no scale alone"),
    ] {
        let message = reticent(request).refused();
        assert!(message.contains(part), "{request}: {message}");
    }
}

fn scale(request: &str) -> f64 {
    reticent(&format!("calibrate {request} --format json")).json()["scale"].as_f64().unwrap()
}

#[test]
fn norms_ranges_and_replacement() {
    let gg = "generalized-gaussian order=2 --epsilon 1 --delta 1e-6";
    let known = scale(&format!("{gg} --sensitivity 2.5"));
    for same in
        ["--l2 2.5 --dimension 9", "--lp 2:2.5 --dimension 9", "--lp inf:1.25 --dimension 4"]
    {
        let found = scale(&format!("{gg} {same}"));
        assert!((found / known - 1.0).abs() < 1e-9, "{same}: {found} {known}");
    }
    // Claim 3: the widths of the ranges; a norm that is known makes it less, replacing no more.
    let ranges = scale("laplace --epsilon 1 --ranges 0:1,-2:2");
    assert!((ranges - 5.0).abs() < 1e-9, "{ranges}");
    assert_eq!(scale("laplace --epsilon 1 --ranges 0:1,-2:2 --replace"), ranges);
    assert!((scale("laplace --epsilon 1 --ranges 0:1,-2:2 --l1 3") - 3.0).abs() < 1e-9);
    for (plain, replaced) in [
        ("--sensitivity 1", 2.0),
        ("--l1 1.5 --dimension 4", 3.0),
        ("--per-element 1,0.5", 3.0),
        ("--disjoint 1", 2.0),
    ] {
        let found = scale(&format!("laplace --epsilon 1 {plain} --replace"));
        assert!((found - replaced).abs() < 1e-6, "{plain}: {found}");
    }
    for (request, part) in [
        ("laplace --epsilon 1 --lp 2", "colon"),
        ("laplace --epsilon 1 --lp 0:1 --dimension 2", "order"),
        ("laplace --epsilon 1 --ranges 3:1", "sensitivity"),
        ("laplace --epsilon 1 --ranges 0:1 --per-element 1", "cannot be used with"),
        ("laplace --epsilon 1 --disjoint 1 --l1 1", "cannot be used with"),
        ("laplace --epsilon 1 --l1 1 --lp 3:1", "cannot be used with"),
        ("generalized-gaussian order=3 --epsilon 1 --delta 1e-6 --lp 3:1", "coordinates"),
    ] {
        let message = reticent(&format!("calibrate {request}")).refused();
        assert!(message.contains(part), "{request}: {message}");
    }
}

#[test]
fn bounds_of_each_number() {
    for mechanism in ["truncated", "inflated"] {
        let request = format!(
            "{mechanism}-generalized-gaussian order=2 lower=0,10 upper=1,14 --epsilon 1 \
             --per-element 0.5,1"
        );
        let run = reticent_with_input(&format!("noise {request}"), b"0.5\n12\n");
        assert!(run.stderr.contains("It covers all 2 numbers together"), "{}", run.stderr);
        let text = run.done();
        let values: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!((0.0..=1.0).contains(&values[0]) && (10.0..=14.0).contains(&values[1]), "{text}");
        let run = reticent_with_input(&format!("noise {request}"), b"0.5\n12\n3\n");
        assert!(run.refused().contains("the input has 3 numbers"));
        let norm = format!("noise {}", request.replace("--per-element 0.5,1", "--lp 2:0.5"));
        assert_eq!(reticent_with_input(&norm, b"0.5\n12\n").done().lines().count(), 2);
        assert!(reticent_with_input(&norm, b"0.5\n").refused().contains("as many numbers"));
        let exact = scale(&request);
        let one = scale(&request.replace("--per-element 0.5,1", "--disjoint 0.5"));
        let norm = scale(&request.replace("--per-element 0.5,1", "--lp 2:0.5"));
        assert!(one <= norm * (1.0 + 1e-9) && norm < exact, "{one} {norm} {exact}");
    }
    let paper = "truncated-generalized-gaussian order=2 lower=0,10 upper=1,14 --epsilon 1 \
        --per-element 0.5,1";
    let by = |method: &str| scale(&paper.replace("order=2", &format!("order=2 method={method}")));
    assert!((by("paper") - 20.5f64.sqrt()).abs() < 1e-9);
    // Lemma 10 b: 2 sum D R = 9.
    assert!((by("lemma-10") - 18f64.sqrt()).abs() < 1e-9);
    assert!(by("exact") < by("exponential") && by("exponential") < by("lemma-10"));
}

#[test]
fn a_replaced_unit_among_many_numbers() {
    let run = reticent_with_input("noise laplace --epsilon 1 --disjoint 1 --replace", b"1\n2\n3\n");
    assert!(run.stderr.contains("differ in one unit that is replaced"), "{}", run.stderr);
    assert_eq!(run.done().lines().count(), 3);
    let run =
        reticent_with_input("noise laplace --epsilon 1 --sensitivity 1 --replace", b"1\n2\n3\n");
    assert!(run.refused().contains("--disjoint"));
    let run = reticent_with_input("noise laplace --epsilon 1 --sensitivity 1 --replace", b"1\n");
    assert!(run.stderr.contains("scale 2,"), "{}", run.stderr);
}
