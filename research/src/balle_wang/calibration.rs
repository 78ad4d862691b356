//! Figure 1, left: the standard deviation of the analytic Gaussian mechanism beside the classical
//! one.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::ink::{inked, shaded};
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014};

pub(crate) const NAME: &str = "balle-wang-calibration";

const DELTAS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = ["epsilon", "delta", "classical sigma", "analytic sigma", "gain in variance"];
    let mut table =
        Table::new("balle-wang-calibration", "Standard deviations for sensitivity 1", &columns);
    let mut rows = Vec::new();
    for delta in DELTAS {
        for step in 0..=80 {
            let epsilon = 10f64.powf(-4.0 + 0.05 * f64::from(step));
            let (classical, analytic) =
                (sigma(Classical2014, epsilon, delta)?, sigma(Analytic, epsilon, delta)?);
            table.push(
                [epsilon, delta, classical, analytic, (classical / analytic).powi(2)].map(long),
            );
            rows.push((epsilon, delta, classical, analytic));
        }
    }
    let own = |delta: f64| rows.iter().filter(move |row| row.1 == delta);
    let mut absolute = Vec::new();
    for delta in [1e-3, 1e-7] {
        let mut line = |what: &str, points: Vec<(f64, f64)>| {
            absolute.push(inked(Series::line(format!("{what}, \u{3b4} = {delta:e}"), points)));
        };
        line("classical Gaussian", own(delta).map(|row| (row.0, row.2)).collect());
        line("analytic Gaussian", own(delta).map(|row| (row.0, row.3)).collect());
    }
    let gain = |(index, delta): (usize, f64)| {
        let points = own(delta)
            .filter(|row| row.0 >= 0.0099)
            .map(|row| (row.0, (row.2 / row.3).powi(2)))
            .collect();
        let line = Series::line(format!("gain, \u{3b4} = {delta:e}"), points);
        shaded(line, index, DELTAS.len())
    };
    let figure = Figure {
        title: "Analytic and classical Gaussian mechanism (Balle and Wang, Figure 1, left)".into(),
        columns: 2,
        panels: vec![
            Panel {
                title: "Standard deviation as \u{3b5} goes to 0".into(),
                horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
                vertical: Axis::logarithmic("\u{3c3} (sensitivities)"),
                series: absolute,
            },
            Panel {
                title: "Gain in variance".into(),
                horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
                vertical: Axis::logarithmic("classical \u{3c3}\u{b2} : analytic \u{3c3}\u{b2}"),
                series: DELTAS.into_iter().enumerate().map(gain).collect(),
            },
        ],
    };
    Ok(Outcome {
        findings: findings(&Facts::computed()?),
        pictures: vec![("balle-wang-figure-1-left", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// What the statements are judged by.
#[derive(Clone)]
struct Facts {
    /// Delta, and classical over analytic sigma at `epsilon = delta/100`, towards 0.
    near_zero: Vec<(f64, f64)>,
    /// Delta, and the gain in variance at `epsilon = 1`.
    at_one: Vec<(f64, f64)>,
    /// Epsilon, delta below Theorem 4's bound, and the least sigma in the one it claims to be
    /// needed.
    theorem_4: Vec<(f64, f64, f64)>,
    /// Delta, and the least sigma for `(0, delta)`-privacy in Theorem 2's.
    theorem_2: Vec<(f64, f64)>,
}

impl Facts {
    fn computed() -> Result<Self, ReproductionError> {
        let ratio = |epsilon: f64, delta: f64| -> Result<f64, ReproductionError> {
            Ok(sigma(Classical2014, epsilon, delta)? / sigma(Analytic, epsilon, delta)?)
        };
        let (mut near_zero, mut at_one, mut theorem_2) = (Vec::new(), Vec::new(), Vec::new());
        for delta in DELTAS {
            near_zero.push((delta, ratio(delta / 100.0, delta)?));
            theorem_2.push((delta, sigma(Analytic, 0.0, delta)? * 2.0 * delta));
        }
        for delta in DELTAS.into_iter().chain([1e-15]) {
            at_one.push((delta, ratio(1.0, delta)?.powi(2)));
        }
        let mut theorem_4 = Vec::new();
        for epsilon in [0.5f64, 1.0, 2.0, 5.0] {
            let bound: f64 =
                0.5 - (-3.0 * epsilon).exp() / (4.0 * std::f64::consts::PI * epsilon).sqrt();
            for delta in [1e-6, 0.1, 0.4].into_iter().filter(|delta| *delta < bound) {
                let least = sigma(Analytic, epsilon, delta)?;
                let kept = profile(least)?.delta(epsilon)?.upper() <= delta;
                let claimed = (0.5 / epsilon).sqrt();
                theorem_4.push((epsilon, delta, if kept { least / claimed } else { f64::NAN }));
            }
        }
        Ok(Facts { near_zero, at_one, theorem_4, theorem_2 })
    }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let over = |rows: &[(f64, f64)], so: &dyn Fn(f64) -> bool| -> Verdict {
        let case = |row: &(f64, f64)| (format!("delta = {:e}", row.0), Answer::when(so(row.1)));
        Verdict::over(&rows.iter().map(case).collect())
    };
    let listed = |rows: &[(f64, f64)]| {
        let text = |row: &(f64, f64)| format!("{} at delta = {:e}", short(row.1), row.0);
        rows.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let higher: Cases = facts
        .at_one
        .windows(2)
        .map(|pair| {
            (
                format!("delta = {:e} and {:e}", pair[0].0, pair[1].0),
                Answer::when(pair[0].1 > pair[1].1),
            )
        })
        .collect();
    let fourth: Cases = facts
        .theorem_4
        .iter()
        .map(|(epsilon, delta, share)| {
            (format!("epsilon = {epsilon}, delta = {delta}"), Answer::when(*share >= 1.0))
        })
        .collect();
    let lowest = facts
        .theorem_4
        .iter()
        .fold((0.0, 0.0, f64::INFINITY), |a, b| if b.2 < a.2 { *b } else { a });
    vec![
        Finding::of_paper(
            "Section 5.1, Figure 1",
            "As epsilon goes to 0 the optimally calibrated perturbation outperforms the classical \
             mechanism by several orders of magnitude.",
            format!(
                "Several: a hundred times in sigma, at epsilon = delta/100. There: {}.",
                listed(&facts.near_zero)
            ),
            over(&facts.near_zero, &|ratio| ratio >= 100.0),
        ),
        Finding::of_paper(
            "Section 5.1, Figure 1",
            "Even for epsilon close to 1 the variance is reduced by a factor of 1.4 or more.",
            format!("Factors at epsilon = 1: {}.", listed(&facts.at_one)),
            over(&facts.at_one, &|gain| gain >= 1.4),
        )
        .corrected_by("B4"),
        Finding::of_paper(
            "Abstract",
            "Analytical calibration removes at least a third of the variance of the noise.",
            "A third is a factor of 1.5; at epsilon = 1, the least favourable of those the \
             classical mechanism has."
                .into(),
            over(&facts.at_one, &|gain| gain >= 1.5),
        )
        .corrected_by("B4"),
        Finding::of_paper(
            "Section 5.1, Figure 1",
            "The improvements are higher for larger delta.",
            "Between neighbouring deltas at epsilon = 1.".into(),
            Verdict::over(&higher),
        ),
        Finding::of_paper(
            "Theorem 4",
            "For delta < 1/2 - e^(-3 epsilon)/sqrt(4 pi epsilon), sigma is at least D/sqrt(2 \
             epsilon).",
            format!(
                "At epsilon = {}, delta = {} {} of that is enough, certified.",
                lowest.0,
                lowest.1,
                short(lowest.2)
            ),
            Verdict::over(&fourth),
        )
        .corrected_by("B1"),
        Finding::of_paper(
            "Theorem 2",
            "sigma = D/(2 delta) is (0, delta)-DP.",
            format!("Enough, and loose: the least sigma is {} of it.", listed(&facts.theorem_2)),
            over(&facts.theorem_2, &|share| share <= 1.0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_figure_1_left() {
        let facts = Facts::computed().expect("computed");
        let real = findings(&facts);
        let (so, part) = ("holds", "holds in part");
        assert_eq!(kinds(&real), [so, part, part, so, part, so], "{real:#?}");
        let other = Facts {
            near_zero: vec![(1e-3, 2.0)],
            at_one: vec![(1e-3, 1.6), (1e-5, 1.7)],
            theorem_4: vec![(1.0, 0.4, 1.1)],
            theorem_2: vec![(1e-3, 1.2)],
        };
        assert_each_turns(&real, &[findings(&other)]);
    }
}
