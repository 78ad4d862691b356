//! Figure 3: counting queries, of sensitivity 1, over the error bound.

use super::algorithm_1;
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_choice::least_exceedance;
use reticent_choice::random_scale::{ConditionalLoss, Family, best_inverse_scale};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const NAME: &str = "r2dp-counting";

const EPSILONS: [f64; 4] = [0.5, 1.0, 3.0, 8.0];
/// Error bounds from 0.05 to 3.
const STEPS: u64 = 60;

/// `P[|error| <= bound]` of Laplace noise, of the best R2DP, its proved ceiling, and of the best
/// noise.
fn usefulness(epsilon: f64, bound: f64) -> [f64; 4] {
    let best = best_inverse_scale(&ConditionalLoss::Exceedance(bound), epsilon, 1.0);
    let limit = least_exceedance(epsilon, 1.0, bound).least;
    [
        1.0 - best.laplace.estimate(),
        1.0 - best.cost.estimate(),
        1.0 - best.floor,
        1.0 - limit.estimate(),
    ]
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let rows = repeated(setting, STEPS * EPSILONS.len() as u64, |index| {
        let (epsilon, bound) =
            (EPSILONS[(index / STEPS) as usize], (index % STEPS + 1) as f64 / 20.0);
        let algorithm_1 = algorithm_1::usefulness(Family::Combined, bound, epsilon)?;
        Ok((epsilon, bound, usefulness(epsilon, bound), algorithm_1))
    })?;
    let columns = [
        "epsilon",
        "bound",
        "Laplace",
        "best R2DP",
        "proved ceiling of R2DP",
        "staircase",
        algorithm_1::NAME,
    ];
    let mut table = Table::new("r2dp-counting", "P(|error| <= bound) of a count", &columns);
    for (epsilon, bound, useful, algorithm_1) in &rows {
        table.push([*epsilon, *bound].into_iter().chain(*useful).chain([*algorithm_1]).map(long));
    }
    let panel = |epsilon: f64| {
        let curve = |name: &str, index: usize| {
            let own = rows.iter().filter(|row| row.0 == epsilon);
            inked(Series::line(name, own.map(|row| (row.1, row.2[index])).collect()))
        };
        Panel {
            title: format!("\u{3b5} = {epsilon}"),
            horizontal: Axis::linear("error bound (people)").from_to(0.0, 3.0),
            vertical: Axis::linear("P(|error| within the bound)").from_to(0.0, 1.03),
            series: vec![
                curve("Laplace", 0),
                inked(Series::line(
                    algorithm_1::NAME,
                    rows.iter().filter(|row| row.0 == epsilon).map(|row| (row.1, row.3)).collect(),
                )),
                curve("R2DP, best possible", 1),
                curve("staircase of each bound (best of all noise)", 3),
            ],
        }
    };
    let figure = Figure {
        title: "Usefulness of noise on counts (Mohammady, Figure 3)".into(),
        columns: 2,
        panels: EPSILONS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&rows),
        pictures: vec![("r2dp-figure-3", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(rows: &[(f64, f64, [f64; 4], f64)]) -> Vec<Finding> {
    let whole = |bound: f64| (bound - bound.round()).abs() < 1e-9;
    let over = |include: &dyn Fn(f64) -> bool, so: &dyn Fn(&[f64; 4]) -> bool| -> Verdict {
        let cases: Cases = rows
            .iter()
            .filter(|row| include(row.1))
            .map(|row| {
                (format!("epsilon = {}, bound {}", row.0, short(row.1)), Answer::when(so(&row.2)))
            })
            .collect();
        Verdict::over(&cases)
    };
    let at = |epsilon: f64, bound: f64| {
        rows.iter()
            .find(|row| row.0 == epsilon && (row.1 - bound).abs() < 1e-9)
            .map_or([f64::NAN; 4], |row| row.2)
    };
    let half = at(8.0, 0.5);
    let gain = |index: usize| {
        let gains = rows.iter().filter(|row| whole(row.1)).map(|row| row.2[index] - row.2[0]);
        short(gains.fold(0.0, f64::max))
    };
    vec![
        Finding::of_paper(
            "Section 4.2, Figure 3",
            "Randomized DP improves on Laplace noise for counting queries while the error bound \
             varies.",
            format!(
                "At epsilon = 8 and half a person Laplace noise has {}, the best R2DP {}, the \
                 staircase {}.",
                short(half[0]),
                short(half[1]),
                short(half[3])
            ),
            over(&|_| true, &|useful| useful[1] > useful[0] + 1e-9),
        )
        .corrected_by("R8"),
        Finding::own(
            "At whole bounds, which are what counts are asked for, no noise improves on Laplace's.",
            format!(
                "The proved gain of R2DP is at most {}, and that of any noise at most {}.",
                gain(2),
                gain(3)
            ),
            over(&whole, &|useful| useful[2] - useful[0] < 1e-9 && useful[3] - useful[0] < 1e-9),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn nothing_is_gained_at_whole_bounds_and_something_between_them() {
        let rows: Vec<_> = [(0.5, 1.0), (8.0, 1.0), (3.0, 2.0), (8.0, 0.5)]
            .into_iter()
            .map(|(epsilon, bound)| (epsilon, bound, usefulness(epsilon, bound), f64::NAN))
            .collect();
        let real = findings(&rows);
        assert_eq!(kinds(&real), ["holds in part", "holds"], "{real:#?}");
        let better = [0.5, 0.6, 0.7, 0.8];
        let always: Vec<_> = rows.iter().map(|row| (row.0, row.1, better, f64::NAN)).collect();
        assert_each_turns(&real, &[findings(&always)]);
    }
}
