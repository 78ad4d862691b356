//! Figures 10 and 11: the non-empty cells of the Adult histogram.

use super::adult_data::Adult;
use super::tables::Releases;
use super::ways::{
    CLASSICAL, DELTAS, DENOISED, EPSILONS, EXACT, LAPLACE, OPTIMAL, PROBABILISTIC, Way, of_the_paper, of_this_project,
};
use crate::format::short;
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const NAME: &str = "liu-adult";

/// The stream of the split into training and testing data, apart from those of the releases.
pub(super) const SPLIT: u64 = u64::MAX;
const SHOWN_DELTA: f64 = 0.05;

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let Some(folder) = setting.data() else {
        return Err(ReproductionError::NoData { experiment: NAME, folder: "adult" });
    };
    let adult = Adult::read(folder, &mut setting.random(NAME, SPLIT))?;
    let mut ways: Vec<Way> = Vec::new();
    for epsilon in EPSILONS {
        ways.extend(of_the_paper(epsilon)?);
        ways.extend(of_this_project(epsilon)?);
    }
    let releases = Releases::simulate(setting, NAME, adult.counts(), ways)?;
    let counts = counts_figure(&releases);
    let distances = releases.distances_figure("Distance of sanitised Adult counts (Liu, Figure 11)".into());
    Ok(Outcome {
        findings: findings(&releases),
        pictures: vec![("liu-figure-10", Picture::Figure(counts)), ("liu-figure-11", Picture::Figure(distances))],
        tables: vec![releases.table("liu-adult")],
    })
}

/// For each original count the median and the middle 90% of the sanitised counts of one release: 18,000 points would be a blot.
fn counts_figure(releases: &Releases) -> Figure {
    let mut panels = Vec::new();
    for name in [LAPLACE, PROBABILISTIC, CLASSICAL, EXACT, OPTIMAL] {
        for epsilon in EPSILONS {
            let Some(m) = releases.at(name, epsilon, SHOWN_DELTA) else { continue };
            let mut ranges = Vec::new();
            let most = releases.original.iter().copied().fold(1.0, f64::max) as u32;
            for count in 1..=most {
                let pairs = releases.original.iter().zip(&m.first);
                let mut found: Vec<f64> =
                    pairs.filter(|(original, _)| **original == f64::from(count)).map(|pair| *pair.1).collect();
                found.sort_by(f64::total_cmp);
                if let Some(last) = found.len().checked_sub(1) {
                    let quantile = |share: f64| found[(share * last as f64).round() as usize];
                    ranges.push((f64::from(count), quantile(0.05), quantile(0.5), quantile(0.95)));
                }
            }
            let highest = 1.1 * f64::from(most);
            panels.push(Panel {
                title: format!("{name}, \u{3b5} = {epsilon}"),
                horizontal: Axis::linear("original count (people)").from_to(0.0, highest),
                vertical: Axis::linear("sanitised count (people)").from_to(-0.5, highest),
                series: vec![
                    Series::reference("equal", vec![(0.0, 0.0), (highest, highest)]),
                    Series::ranges("median and middle 90% of the cells, one release, \u{3b4} = 0.05", &ranges),
                ],
            });
        }
    }
    Figure { title: "Sanitised Adult counts (Liu, Figure 10)".into(), columns: EPSILONS.len(), panels }
}

fn findings(releases: &Releases) -> Vec<Finding> {
    let names = [LAPLACE, PROBABILISTIC, CLASSICAL];
    let pooled = |name: &str, deltas: &[f64]| releases.pooled(name, deltas);
    let people: f64 = releases.original.iter().sum();
    vec![
        Finding::stated(
            "17,985 non-empty cells in the training data of 20,009 people.",
            format!(
                "{} cells, {people} people. Without the income among the attributes they would be about 18,000; the split of the paper is not known.",
                releases.original.len()
            ),
            Verdict::Qualified,
        ),
        Finding::simulated(
            "Laplace noise is the winner, the classical Gaussian mechanism the worst.",
            format!(
                "Of the paper's mechanisms. l1 distance at epsilon = 1, delta = 0.05: {}.",
                releases.means(&names, 1.0, 0.05)
            ),
            Verdict::Holds,
            pooled(LAPLACE, &DELTAS)
                .margin_below(&pooled(PROBABILISTIC, &DELTAS))
                .least(pooled(PROBABILISTIC, &DELTAS).margin_below(&pooled(CLASSICAL, &DELTAS))),
        ),
        Finding::simulated(
            "Is Gaussian noise worse than Laplace noise?",
            format!(
                "Not at delta = 0.25 with exact calibration. epsilon = 1: {}.",
                releases.means(&[LAPLACE, EXACT], 1.0, 0.25)
            ),
            Verdict::Corrected("N2"),
            pooled(EXACT, &DELTAS[3..]).margin_below(&pooled(LAPLACE, &DELTAS[3..])),
        ),
        Finding::simulated(
            "What is the best noise for these budgets?",
            format!(
                "The noise of least mean absolute error. l1 distance at epsilon = 1, delta = 0.05: {}.",
                releases.means(&[LAPLACE, EXACT, OPTIMAL, DENOISED], 1.0, 0.05)
            ),
            Verdict::Beyond,
            pooled(OPTIMAL, &DELTAS)
                .margin_below(&pooled(LAPLACE, &DELTAS))
                .least(pooled(OPTIMAL, &DELTAS).margin_below(&pooled(EXACT, &DELTAS))),
        ),
        Finding::stated(
            "Only the non-empty cells are sanitised, \"for simplicity\".",
            format!(
                "Then which cells are empty is released without noise: a person alone in a cell is found with certainty, and no epsilon covers that. It concerns {} people here.",
                short(releases.original.iter().filter(|count| **count == 1.0).count() as f64)
            ),
            Verdict::Qualified,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::adult_data::tests::{folder_with, people};
    use super::*;

    /// 600 made-up people in place of the 30,014 of the data, and 40 repeats in place of 500.
    #[test]
    fn the_claims_of_figures_10_and_11() {
        let folder = folder_with("adult-claims", &people(600));
        let setting = Setting::new(12).with_repeats(40).expect("enough").with_data(folder.0.clone());
        let outcome = run(&setting).expect("a result");
        crate::finding::assert_all_shown(&outcome.findings);
        assert!(outcome.findings[0].here.contains("400 people"), "{:?}", outcome.findings[0]);
    }
}
