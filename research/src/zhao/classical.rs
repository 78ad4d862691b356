//! Where the classical Gaussian mechanisms stop being private.

use crate::count_query::profile;
use crate::format::{long, short};
use crate::ink::{inked, shaded};
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::classical_failure;

pub(crate) const NAME: &str = "zhao-classical-limits";

/// `sqrt(2 ln(c/delta))/epsilon`.
const CLASSICAL: [(&str, f64); 2] = [
    ("classical 2006: \u{221a}(2 ln(2/\u{3b4}))/\u{3b5}", 2.0),
    ("classical 2014: \u{221a}(2 ln(1.25/\u{3b4}))/\u{3b5}", 1.25),
];
const DELTAS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];

fn sigma(c: f64, epsilon: f64, delta: f64) -> f64 {
    (2.0 * (c / delta).ln()).sqrt() / epsilon
}

/// Certified bounds on the exact delta of a classical sigma, as a multiple of the claimed one.
fn overrun(c: f64, epsilon: f64, delta: f64) -> Result<(f64, f64), ReproductionError> {
    let exact = profile(sigma(c, epsilon, delta))?.delta(epsilon)?;
    Ok((exact.lower() / delta, exact.upper() / delta))
}

/// The epsilon from which on it is not `(epsilon, delta)`-private; infinite if that is above 60.
fn threshold(c: f64, delta: f64) -> Result<f64, ReproductionError> {
    let (mut kept, mut broken) = (1.0, 60.0);
    if overrun(c, broken, delta)?.0 <= 1.0 {
        return Ok(f64::INFINITY);
    }
    while broken - kept > 1e-9 * broken {
        let middle = 0.5 * (kept + broken);
        if overrun(c, middle, delta)?.0 > 1.0 { broken = middle } else { kept = middle }
    }
    Ok(broken)
}

/// Deltas over the whole range: down to 1e-12 by quarters of a decade, and from 0.01 to 0.99.
fn all_deltas() -> Vec<f64> {
    let small = (0..=40).rev().map(|step| 0.01 * 10f64.powf(-0.25 * f64::from(step)));
    small.chain((2..=99).map(|percent| f64::from(percent) / 100.0)).collect()
}

/// What was found out about the classical sigmas.
#[derive(Clone)]
struct Facts {
    /// Delta and the thresholds of 2006 and 2014.
    thresholds: Vec<(f64, [f64; 2])>,
    /// The exact delta of 2014 at epsilon = 10, in the claimed 1e-5.
    at_ten: f64,
    /// The least epsilon at which that of 2014 fails, over all deltas, and the delta there.
    failure: (f64, f64),
}

impl Facts {
    fn computed() -> Result<Self, ReproductionError> {
        let mut thresholds = Vec::new();
        for delta in all_deltas() {
            let limits = [threshold(CLASSICAL[0].1, delta)?, threshold(CLASSICAL[1].1, delta)?];
            thresholds.push((delta, limits));
        }
        // Over all deltas, not those of the table: the limit is lowest at a delta near 1.
        let failure = classical_failure(CLASSICAL[1].1)?;
        let failure = (failure.epsilon.upper(), failure.delta);
        Ok(Facts { thresholds, at_ten: overrun(1.25, 10.0, 1e-5)?.0, failure })
    }
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let mut table = Table::new(
        "zhao-classical-limits",
        "Epsilon from which on the classical sigmas are not (epsilon, delta)-private",
        &["delta", "2006", "2014"],
    );
    let facts = Facts::computed()?;
    for (delta, limits) in &facts.thresholds {
        table.push([*delta, limits[0], limits[1]].map(long));
    }
    let curve = |(index, (name, _)): (usize, &(&str, f64))| {
        let points = facts.thresholds.iter().map(|(delta, limits)| (*delta, limits[index]));
        inked(Series::line(*name, points.collect()))
    };
    let mut panels = vec![Panel {
        title: "Where the classical sigmas fail".into(),
        horizontal: Axis::logarithmic("\u{3b4}"),
        vertical: Axis::linear("privacy loss \u{3b5}").from_to(0.0, 12.0),
        series: CLASSICAL.iter().enumerate().map(curve).collect(),
    }];
    let mut series = Vec::new();
    for (index, delta) in DELTAS.into_iter().enumerate() {
        let mut points = Vec::new();
        for step in 1..=150 {
            let epsilon = 0.1 * f64::from(step);
            points.push((epsilon, overrun(1.25, epsilon, delta)?.1));
        }
        let line = Series::line(format!("2014 at \u{3b4} = {delta:e}"), points);
        series.push(shaded(line, index, DELTAS.len()));
    }
    series.push(Series::reference("as claimed", vec![(0.1, 1.0), (15.0, 1.0)]));
    panels.push(Panel {
        title: "The exact \u{3b4} in claimed \u{3b4}".into(),
        horizontal: Axis::linear("privacy loss \u{3b5}"),
        vertical: Axis::logarithmic("exact \u{3b4} : claimed \u{3b4}").from_to(1e-4, 100.0),
        series,
    });
    let figure = Figure {
        title: "Where the classical Gaussian mechanisms fail (Zhao et al.)".into(),
        columns: 2,
        panels,
    };
    Ok(Outcome {
        findings: findings(&facts),
        pictures: vec![("zhao-classical-limits", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut fail = Vec::new();
    for (delta, limits) in &facts.thresholds {
        for (limit, year) in limits.iter().zip(["2006", "2014"]) {
            fail.push((
                format!("{year}, delta = {}", short(*delta)),
                Answer::when(limit.is_finite()),
            ));
        }
    }
    let fail: Cases = fail.into_iter().collect();
    let fifth = facts.thresholds.iter().find(|row| (row.0 / 1e-5 - 1.0).abs() < 1e-6);
    let fifth = fifth.map_or([f64::NAN; 2], |row| row.1);
    let (least, at) = facts.failure;
    vec![
        Finding::of_paper(
            "Abstract",
            "The classical mechanisms do not achieve (epsilon, delta)-DP for large epsilon given \
             delta.",
            format!(
                "At delta = 1e-5 the sigma of 2006 fails from epsilon = {} on, that of 2014 from \
                 {} on; at epsilon = 10 the exact delta of the latter is {} times the claimed one.",
                short(fifth[0]),
                short(fifth[1]),
                short(facts.at_ten)
            ),
            Verdict::over(&fail),
        ),
        Finding::own(
            "Up to epsilon = 1, which both assume, the classical mechanisms are private.",
            format!(
                "The least epsilon at which one fails, over all deltas, is {} (2014, delta = {}).",
                short(least),
                short(at)
            ),
            Verdict::when(least > 1.0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdicts_of_the_abstract() {
        use crate::finding::tests::{assert_each_turns, kinds};
        let facts = Facts::computed().expect("a result");
        let real = findings(&facts);
        assert_eq!(kinds(&real), ["holds", "holds"], "{real:#?}");
        // The number of docs/errata.md.
        assert!(real[1].here.contains("is 3.787"), "{}", real[1].here);
        let never = Facts { thresholds: vec![(1e-5, [f64::INFINITY; 2])], ..facts.clone() };
        let early =
            Facts { thresholds: vec![(1e-5, [0.5; 2])], failure: (0.5, 0.5), ..facts.clone() };
        assert_each_turns(&real, &[findings(&never), findings(&early)]);
    }

    #[test]
    fn thresholds_are_the_golden_ones() {
        let file: serde_json::Value = serde_json::from_str(include_str!(
            "../../../reference/gaussian_classical_threshold.json"
        ))
        .expect("JSON");
        let rows = file["rows"].as_array().expect("rows");
        let number = |cell: &serde_json::Value| -> f64 {
            cell.as_str().expect("a text").parse().expect("a number")
        };
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
