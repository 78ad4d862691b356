//! Figures 10 and 11: the non-empty cells of the Adult histogram.

use super::adult_data::Adult;
use super::releases::Releases;
use super::tables::{own_findings, winner_and_worst};
use super::ways::{
    CLASSICAL, EPSILONS, LAPLACE, PROBABILISTIC, Way, of_the_paper, of_this_project,
};
use crate::format::short;
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Verdict};

pub(crate) const NAME: &str = "liu-adult";

/// The stream of the split into training and testing data, apart from those of the releases.
pub(super) const SPLIT: u64 = u64::MAX;

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
    let counts = releases.counts_figure(
        "Sanitised Adult counts, one release (Liu, Figure 10)".into(),
        &[LAPLACE, PROBABILISTIC, CLASSICAL],
    );
    let distances =
        releases.distances_figure("Distance of sanitised Adult counts (Liu, Figure 11)".into());
    Ok(Outcome {
        findings: findings(&releases),
        pictures: vec![
            ("liu-figure-10", Picture::Figure(counts)),
            ("liu-figure-11", Picture::Figure(distances)),
        ],
        tables: vec![releases.table("liu-adult")],
    })
}

fn findings(releases: &Releases) -> Vec<Finding> {
    let names = [LAPLACE, PROBABILISTIC, CLASSICAL];
    let [winner, worst] = winner_and_worst(releases, "Figures 10 and 11", &names);
    let people: f64 = releases.original.iter().sum();
    let mut findings = vec![
        winner,
        worst,
        Finding::of_paper(
            "Section 4",
            "17,985 non-empty cells in the training data of 20,009 people.",
            format!(
                "{} cells, {people} people. Without the income among the attributes they would be \
                 about 18,000; the split of the paper is not known.",
                releases.original.len()
            ),
            Verdict::Remark,
        ),
        Finding::of_paper(
            "Section 4",
            "For simplicity, only the non-empty cells are sanitized.",
            format!(
                "Then which cells are empty is released without noise: a person alone in a cell is \
                 found with certainty, and no epsilon covers that. It concerns {} people here.",
                short(releases.original.iter().filter(|count| **count == 1.0).count() as f64)
            ),
            Verdict::Remark,
        ),
    ];
    findings.extend(own_findings(releases));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::adult_data::tests::{folder_with, people};
    use super::super::releases::tests::made_up;
    use super::super::ways::{DENOISED, EXACT, OPTIMAL};
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    /// 600 made-up people in place of the 30,014 of the data, and 40 repeats in place of 500; and
    /// figures that were made up to refute each verdict.
    #[test]
    fn the_verdicts_of_figures_10_and_11() {
        let folder = folder_with("adult-claims", &people(600));
        let setting =
            Setting::new(12).with_repeats(40).expect("enough").with_data(folder.0.clone());
        let real = run(&setting).expect("a result").findings;
        assert!(real[2].here.contains("400 people"), "{:?}", real[2]);
        let all = [
            (LAPLACE, false),
            (PROBABILISTIC, true),
            (CLASSICAL, true),
            (EXACT, true),
            (OPTIMAL, true),
            (DENOISED, false),
        ];
        let ranked = |order: [&'static str; 6]| {
            let level = move |name: &str, _: f64, _: f64| {
                order.iter().position(|other| *other == name).map_or(9.0, |at| 1.0 + at as f64)
            };
            findings(&made_up(&all, level))
        };
        let printed = ranked([OPTIMAL, DENOISED, EXACT, LAPLACE, PROBABILISTIC, CLASSICAL]);
        let opposite = ranked([CLASSICAL, PROBABILISTIC, LAPLACE, EXACT, DENOISED, OPTIMAL]);
        let computed = |findings: &[Finding]| -> Vec<&str> {
            kinds(findings).into_iter().filter(|kind| !kind.contains("remark")).collect()
        };
        assert_eq!(computed(&printed), ["holds"; 5]);
        assert_eq!(computed(&opposite), ["does not hold here"; 5]);
        assert_each_turns(&real, &[printed, opposite]);
    }
}
