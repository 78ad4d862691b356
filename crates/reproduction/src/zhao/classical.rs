//! Where the classical Gaussian mechanisms stop being private.

use crate::count_query::profile;
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const NAME: &str = "zhao-classical-limits";

/// `sqrt(2 ln(c/delta))/epsilon`.
const CLASSICAL: [(&str, f64); 2] =
    [("2006: \u{221a}(2 ln(2/\u{3b4}))/\u{3b5}", 2.0), ("2014: \u{221a}(2 ln(1.25/\u{3b4}))/\u{3b5}", 1.25)];
const DELTAS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];

fn sigma(c: f64, epsilon: f64, delta: f64) -> f64 {
    (2.0 * (c / delta).ln()).sqrt() / epsilon
}

/// Certified bounds on the exact delta of a classical sigma, as a multiple of the promised one.
fn overrun(c: f64, epsilon: f64, delta: f64) -> Result<(f64, f64), ReproductionError> {
    let exact = profile(sigma(c, epsilon, delta))?.delta(epsilon)?;
    Ok((exact.lower() / delta, exact.upper() / delta))
}

/// The epsilon from which on the promise is broken.
fn threshold(c: f64, delta: f64) -> Result<f64, ReproductionError> {
    let (mut kept, mut broken) = (1.0, 60.0);
    while broken - kept > 1e-9 * broken {
        let middle = 0.5 * (kept + broken);
        if overrun(c, middle, delta)?.0 > 1.0 { broken = middle } else { kept = middle }
    }
    Ok(broken)
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let mut table = Table::new(
        "zhao-classical-limits",
        "Epsilon from which on the classical sigmas are not (epsilon, delta)-private",
        &["delta", "2006", "2014"],
    );
    let mut curves: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
    for step in 0..=48 {
        let delta = 10f64.powf(-0.25 * f64::from(step)) * 0.4;
        let limits = [threshold(CLASSICAL[0].1, delta)?, threshold(CLASSICAL[1].1, delta)?];
        table.push([delta, limits[0], limits[1]].map(long));
        for (curve, limit) in curves.iter_mut().zip(limits) {
            curve.push((delta, limit));
        }
    }
    let mut panels = vec![Panel {
        title: "Where the promise breaks".into(),
        horizontal: Axis::logarithmic("\u{3b4}"),
        vertical: Axis::linear("privacy loss \u{3b5}").from_to(0.0, 12.0),
        series: CLASSICAL.iter().zip(&curves).map(|((name, _), curve)| Series::line(*name, curve.clone())).collect(),
    }];
    let mut series = Vec::new();
    for delta in DELTAS {
        let mut points = Vec::new();
        for step in 1..=150 {
            let epsilon = 0.1 * f64::from(step);
            points.push((epsilon, overrun(1.25, epsilon, delta)?.1));
        }
        series.push(Series::line(format!("2014 at \u{3b4} = {delta:e}"), points));
    }
    series.push(Series::reference("as promised", vec![(0.1, 1.0), (15.0, 1.0)]));
    panels.push(Panel {
        title: "The exact \u{3b4} in promised \u{3b4}".into(),
        horizontal: Axis::linear("privacy loss \u{3b5}"),
        vertical: Axis::logarithmic("exact \u{3b4} : promised \u{3b4}").from_to(1e-4, 100.0),
        series,
    });
    let figure =
        Figure { title: "Where the classical Gaussian mechanisms fail (Zhao et al.)".into(), columns: 2, panels };
    let fifth = [threshold(2.0, 1e-5)?, threshold(1.25, 1e-5)?];
    let (lowest_delta, lowest) =
        curves[1].iter().copied().fold((0.0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
    let at_ten = overrun(1.25, 10.0, 1e-5)?.0;
    let fine_at_one = curves.iter().flatten().all(|point| point.1 > 1.0);
    Ok(Outcome {
        findings: vec![
            Finding::computed(
                "The classical mechanisms do not achieve (epsilon, delta)-privacy for large epsilon.",
                format!(
                    "At delta = 1e-5 the sigma of 2006 fails from epsilon = {} on, that of 2014 from {} on; at epsilon = 10 the exact delta is {} times the promised one.",
                    short(fifth[0]),
                    short(fifth[1]),
                    short(at_ten)
                ),
                Verdict::Holds,
                at_ten > 2.0 && fifth[0] > fifth[1],
            ),
            Finding::computed(
                "Both assume 0 < epsilon <= 1.",
                format!(
                    "There they keep their promise. The smallest epsilon at which one fails, over delta down to 4e-13, is {} (2014, delta = {}).",
                    short(lowest),
                    short(lowest_delta)
                ),
                Verdict::Holds,
                fine_at_one && lowest > 3.0,
            ),
        ],
        pictures: vec![("zhao-classical-limits", Picture::Figure(figure))],
        tables: vec![table],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_of_the_abstract() {
        crate::finding::assert_all_shown(&run(&Setting::new(1)).expect("a result").findings);
    }

    #[test]
    fn thresholds_are_the_golden_ones() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../../reference/gaussian_classical_threshold.json"))
                .expect("JSON");
        let rows = file["rows"].as_array().expect("rows");
        let number = |cell: &serde_json::Value| -> f64 { cell.as_str().expect("a text").parse().expect("a number") };
        for row in rows {
            let delta = number(&row["delta"]);
            for (c, name) in [(2.0, "eps_fail_2006_const2"), (1.25, "eps_fail_2014_const1.25")] {
                let found = threshold(c, delta).expect("found");
                assert!((found / number(&row[name]) - 1.0).abs() < 1e-8, "{delta} {name} {found}");
            }
        }
        assert!(rows.len() > 2);
    }
}
