//! Figure 2: small epsilon, and the thresholds below which nothing can be gained.

use super::algorithm_1;
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_choice::random_scale::{ConditionalLoss, Family, best_inverse_scale};
use reticent_choice::{PiecewiseLoss, least_exceedance};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const NAME: &str = "r2dp-small-epsilon";

const BOUNDS: [f64; 4] = [0.01, 0.1, 0.3, 0.5];
/// Epsilons from 0.1 to 3.
const STEPS: u64 = 30;

/// What errors are measured by, with the epsilon of erratum R8 from which on R2DP can gain.
fn measures() -> Vec<(String, ConditionalLoss, f64)> {
    let usefulness = [(0.01, 1.160), (0.1, 1.688), (0.3, 2.701), (0.5, 4.00), (0.8, 8.73)];
    let mut measures: Vec<_> = usefulness
        .into_iter()
        .map(|(bound, from)| {
            (format!("usefulness at {bound}"), ConditionalLoss::Exceedance(bound), from)
        })
        .collect();
    measures.push((
        "mean absolute error".into(),
        ConditionalLoss::Real(PiecewiseLoss::absolute()),
        3.840,
    ));
    measures.push((
        "mean square error".into(),
        ConditionalLoss::Real(PiecewiseLoss::square()),
        4.907,
    ));
    measures
}

/// The epsilon from which on a random scale can be better than Laplace noise, to four digits.
fn threshold(loss: &ConditionalLoss) -> f64 {
    let gains = |epsilon: f64| best_inverse_scale(loss, epsilon, 1.0).two_point.is_some();
    let (mut low, mut high) = (0.5, 12.0);
    while high - low > 2e-4 {
        let middle = 0.5 * (low + high);
        if gains(middle) { high = middle } else { low = middle }
    }
    high
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = [
        "bound",
        "epsilon",
        "Laplace",
        "best R2DP",
        "proved ceiling of R2DP",
        "staircase",
        algorithm_1::NAME,
    ];
    let mut table =
        Table::new("r2dp-small-epsilon", "P(|error| <= bound) for small epsilon", &columns);
    let rows = repeated(setting, STEPS * BOUNDS.len() as u64, |index| {
        let (bound, epsilon) = (BOUNDS[(index / STEPS) as usize], 0.1 * (index % STEPS + 1) as f64);
        let best = best_inverse_scale(&ConditionalLoss::Exceedance(bound), epsilon, 1.0);
        let staircase = 1.0 - least_exceedance(epsilon, 1.0, bound).least.upper();
        Ok([
            bound,
            epsilon,
            1.0 - best.laplace.estimate(),
            1.0 - best.cost.estimate(),
            1.0 - best.floor,
            staircase,
            algorithm_1::usefulness(Family::Combined, bound, epsilon)?,
        ])
    })?;
    for row in &rows {
        table.push(row.map(long));
    }
    let panel = |bound: f64| {
        let curve = |name: &str, index: usize| {
            let own = rows.iter().filter(|row| row[0] == bound);
            inked(Series::line(name, own.map(|row| (row[1], row[index] / row[2])).collect()))
        };
        Panel {
            title: format!("error bound {bound} sensitivities"),
            horizontal: Axis::linear("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("usefulness : that of Laplace noise"),
            series: vec![
                curve("Laplace", 2),
                curve(algorithm_1::NAME, 6),
                curve("R2DP, best possible", 3),
                curve("staircase (best of all noise)", 5),
            ],
        }
    };
    let figure = Figure {
        title: "Usefulness at small \u{3b5}, relative to Laplace noise (Mohammady, Figure 2)"
            .into(),
        columns: 2,
        panels: BOUNDS.into_iter().map(panel).collect(),
    };
    let measures = measures();
    let found = repeated(setting, measures.len() as u64, |index| {
        Ok(threshold(&measures[index as usize].1))
    })?;
    let mut thresholds = Table::new(
        "r2dp-thresholds",
        "Epsilon below which no R2DP gains anything",
        &["measure", "here", "erratum R8"],
    );
    for ((name, _, expected), found) in measures.iter().zip(&found) {
        thresholds.push([name.clone(), short(*found), long(*expected)]);
    }
    let expected: Vec<f64> = measures.iter().map(|measure| measure.2).collect();
    Ok(Outcome {
        findings: findings(&rows, &found, &expected),
        pictures: vec![("r2dp-figure-2", Picture::Figure(figure))],
        tables: vec![table, thresholds],
    })
}

fn findings(rows: &[[f64; 7]], found: &[f64], expected: &[f64]) -> Vec<Finding> {
    // The paper's "stronger privacy guarantee" is an epsilon below 2.
    let strong = || rows.iter().filter(|row| row[1] < 1.999);
    let effective: Cases = strong()
        .map(|row| {
            let name = format!("epsilon = {}, bound {}", short(row[1]), row[0]);
            (name, Answer::when(row[4] > row[2] + 1e-9))
        })
        .collect();
    let gain = strong().filter(|row| row[1] < 1.05).map(|row| row[4] - row[2]).fold(0.0, f64::max);
    let close =
        found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 2e-3);
    vec![
        Finding::of_paper(
            "Section 4.2, Figure 2",
            "Randomized DP is effective for small epsilon (epsilon < 2).",
            format!(
                "For epsilon up to 1 no distribution of the scale beats Laplace noise: the proved \
                 gain is at most {}.",
                short(gain)
            ),
            Verdict::over(&effective),
        )
        .corrected_by("R8"),
        Finding::own(
            "The epsilons from which on a random scale helps are those of erratum R8.",
            format!(
                "Usefulness at 0.01, 0.1, 0.3, 0.5 and 0.8 sensitivities: from {}; mean absolute \
                 error: {}; mean square error: {}.",
                found[..5].iter().map(|x| short(*x)).collect::<Vec<_>>().join(", "),
                short(found[5]),
                short(found[6])
            ),
            Verdict::when(close),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_erratum_r8() {
        let measures = measures();
        let found: Vec<f64> = measures.iter().map(|measure| threshold(&measure.1)).collect();
        let expected: Vec<f64> = measures.iter().map(|measure| measure.2).collect();
        let doubled: Vec<f64> = found.iter().map(|x| 2.0 * x).collect();
        // Rows are a bound, epsilon, Laplace, R2DP, its ceiling, the staircase, Algorithm 1.
        let row = |epsilon: f64, ceiling: f64| [0.1, epsilon, 0.2, 0.2, ceiling, 0.9, 0.2];
        let (nothing, gain) = ([row(0.5, 0.2), row(1.5, 0.2)], [row(0.5, 0.3), row(1.5, 0.3)]);
        let kinds = |rows: &[[f64; 7]], found: &[f64]| {
            crate::finding::tests::kinds(&findings(rows, found, &expected))
        };
        assert_eq!(kinds(&nothing, &found), ["does not hold here", "holds"], "{found:?}");
        assert_eq!(kinds(&gain, &doubled), ["holds", "does not hold here"]);
        assert_eq!(kinds(&[nothing[0], gain[1]], &found)[0], "holds in part");
    }

    #[test]
    fn no_random_scale_beats_laplace_up_to_epsilon_1() {
        for epsilon in [0.1, 0.5, 1.0] {
            for (_, loss, _) in measures() {
                let best = best_inverse_scale(&loss, epsilon, 1.0);
                assert!(
                    best.two_point.is_none() && best.floor > best.laplace.lower() * (1.0 - 1e-9),
                    "{epsilon} {loss:?}"
                );
            }
        }
    }
}
