//! `reticent profile`.

use crate::never_panics::REQUESTS;
use crate::program::{TemporaryFile, reticent};

#[test]
fn one_loss_gives_one_interval() {
    // Laplace: delta(epsilon) = 1 - exp((epsilon - 1/b)/2).
    let answer = reticent("profile laplace scale=0.5 --epsilon 1 --format json").json();
    let truth = -(-0.5f64).exp_m1();
    let (lower, upper) =
        (answer["delta"]["lower"].as_f64().unwrap(), answer["delta"]["upper"].as_f64().unwrap());
    assert!(
        lower <= truth * (1.0 + 1e-15) && truth * (1.0 - 1e-15) <= upper && upper - lower < 1e-10,
        "{lower} {upper}"
    );
    assert_eq!(answer["profile"][0]["delta"], answer["delta"]);
    assert_eq!(answer["event"]["sensitivity"], 1.0);
}

#[test]
fn many_losses_keep_their_order() {
    let answer = reticent("profile gaussian sigma=1 --epsilon 2,0,0.5 --format json").json();
    assert!(answer.get("delta").is_none());
    let profile = answer["profile"].as_array().unwrap();
    let losses: Vec<f64> = profile.iter().map(|point| point["epsilon"].as_f64().unwrap()).collect();
    assert_eq!(losses, [2.0, 0.0, 0.5]);
    // 2 Phi(1/2) - 1.
    let at_zero = profile[1]["delta"]["upper"].as_f64().unwrap();
    assert!((at_zero - 0.382_924_922_548_026).abs() < 1e-12, "{at_zero}");
}

#[test]
fn the_table_has_a_heading_and_one_row_for_each_loss() {
    let text = reticent("profile laplace scale=1 --epsilon 1,2").done();
    assert_eq!(
        text,
        "epsilon  delta, at least  delta, at most\n-------  ---------------  \
         --------------\n1        0                0\n2        0                0\n"
    );
}

#[test]
fn a_curve_falls_from_zero_to_a_trillionth_and_can_be_drawn() {
    let file = TemporaryFile::new("profile.svg", b"");
    let answer =
        reticent(&format!("profile gaussian sigma=1 --format json --plot {}", file.path())).json();
    let profile = answer["profile"].as_array().unwrap();
    assert_eq!(profile[0]["epsilon"], 0.0);
    let deltas: Vec<f64> =
        profile.iter().map(|point| point["delta"]["upper"].as_f64().unwrap()).collect();
    assert!(deltas.windows(2).all(|pair| pair[1] <= pair[0]));
    let depth = deltas[deltas.len() - 1] / deltas[0];
    assert!((1e-13..=1e-12).contains(&depth), "{depth:e}");
    let svg = std::fs::read_to_string(&file.0).unwrap();
    assert!(
        svg.starts_with("<svg")
            && svg.contains("polyline")
            && svg.contains("Privacy profile of gaussian<")
    );
}

#[test]
fn a_picture_that_cannot_be_written_is_a_fault() {
    let run = reticent("profile laplace scale=1 --plot /no/such/folder/picture.svg");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
}

#[test]
fn every_mechanism_has_a_profile() {
    for request in REQUESTS.iter().filter(|request| request.starts_with("profile ")) {
        let answer = reticent(&format!("{request} --format json")).json();
        let (lower, upper) = (
            answer["delta"]["lower"].as_f64().unwrap(),
            answer["delta"]["upper"].as_f64().unwrap(),
        );
        assert!(0.0 < lower && lower <= upper && upper < 1.0, "{request}: {answer}");
        assert!((upper - lower) / upper < 1e-10, "{request}: {answer}");
    }
}

/// Whatever the size of the noise, the curve covers where its profile falls.
#[test]
fn a_curve_finds_its_own_range() {
    for (sigma, least, most) in
        [("1e7", 1e-7, 1e-6), ("1", 5.0, 10.0), ("0.1", 100.0, 150.0), ("0.01", 700.0, 700.0)]
    {
        let answer = reticent(&format!("profile gaussian sigma={sigma} --format json")).json();
        let end =
            answer["profile"].as_array().unwrap().last().unwrap()["epsilon"].as_f64().unwrap();
        assert!((least..=most).contains(&end), "{sigma}: {end}");
    }
}
