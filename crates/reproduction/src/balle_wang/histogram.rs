//! Histogram release (Section 4 and Appendix B): mean squared errors over histograms from flat to sparse.
//!
//! 10,000 items in 1,000 bins whose sizes fall as `i^-k`; replacing an item moves two bins, so that the l2 sensitivity is `sqrt 2`. The appendix is not part of the copy at hand; this
//! is the experiment its text announces.

use super::release::{gaussian_release, squared_error};
use crate::format::{long, short};
use crate::parallel::repeated;
use crate::sample::{Margin, Sample};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_denoising::shrinkage::{JamesStein, Thresholding};
use reticent_denoising::{Auto, Denoiser, Unchanged};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014};

pub(crate) const NAME: &str = "balle-wang-histogram";

const BINS: usize = 1000;
const ITEMS: f64 = 10_000.0;
const DELTA: f64 = 1e-6;
const EPSILONS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
/// From a flat histogram to one in which a few bins hold everything.
const EXPONENTS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
const REPEATS: u32 = 40;
const NAMES: [&str; 5] = [
    "classical Gaussian",
    "analytic Gaussian",
    "analytic, James-Stein",
    "analytic, soft threshold",
    "analytic, chosen automatically",
];

/// Whole counts in proportion to `i^-k`.
fn histogram(exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=BINS).map(|bin| (bin as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| (ITEMS * weight / sum).round()).collect()
}

/// The mean squared error of a bin by each method, over repeats.
struct Cell {
    exponent: f64,
    epsilon: f64,
    occupied: usize,
    errors: Vec<Sample>,
}

fn simulate(setting: &Setting, repeats: u32) -> Result<Vec<Cell>, ReproductionError> {
    let kinds: Vec<(f64, f64)> =
        EXPONENTS.into_iter().flat_map(|exponent| EPSILONS.map(|epsilon| (exponent, epsilon))).collect();
    let all = repeated(setting, kinds.len() as u64 * u64::from(repeats), |job| {
        let (exponent, epsilon) = kinds[(job / u64::from(repeats)) as usize];
        let truth = histogram(exponent);
        let mut random = setting.random(NAME, job);
        let budget = (epsilon, DELTA, 2f64.sqrt());
        let classical = gaussian_release(Classical2014, budget, &truth, &mut random)?;
        let analytic = gaussian_release(Analytic, budget, &truth, &mut random)?;
        let auto = Auto::new().within(0.0, f64::INFINITY);
        let runs: [(_, &dyn Denoiser); 5] = [
            (&classical, &Unchanged),
            (&analytic, &Unchanged),
            (&analytic, &JamesStein::positive_part()),
            (&analytic, &Thresholding::soft_universal()),
            (&analytic, &auto),
        ];
        let mut errors = [0.0; 5];
        for (error, (release, denoiser)) in errors.iter_mut().zip(runs) {
            *error = squared_error(&denoiser.denoise(release)?.values, &truth) / BINS as f64;
        }
        Ok(errors)
    })?;
    let of_kind = |((exponent, epsilon), runs): ((f64, f64), &[[f64; 5]])| Cell {
        exponent,
        epsilon,
        occupied: histogram(exponent).iter().filter(|count| **count > 0.0).count(),
        errors: (0..NAMES.len()).map(|place| Sample(runs.iter().map(|run| run[place]).collect())).collect(),
    };
    Ok(kinds.into_iter().zip(all.chunks(repeats as usize)).map(of_kind).collect())
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let cells = simulate(setting, setting.repeats(REPEATS))?;
    let columns = ["exponent", "occupied bins", "epsilon", "method", "mean squared error", "deviation"];
    let mut table = Table::new("balle-wang-histogram", "Mean squared error of a bin", &columns);
    for cell in &cells {
        for (name, errors) in NAMES.iter().zip(&cell.errors) {
            let first = [long(cell.exponent), cell.occupied.to_string(), long(cell.epsilon), (*name).into()];
            table.push(first.into_iter().chain([errors.mean(), errors.deviation()].map(long)));
        }
    }
    let panel = |exponent: f64| {
        let own = || cells.iter().filter(move |cell| cell.exponent == exponent);
        let curve = |(place, name): (usize, &&'static str)| {
            let points: Vec<_> =
                own().map(|cell| (cell.epsilon, cell.errors[place].mean(), cell.errors[place].deviation())).collect();
            Series::measured(*name, &points)
        };
        let occupied = own().next().map_or(0, |cell| cell.occupied);
        Panel {
            title: format!("k = {exponent}: {occupied} of {BINS} bins occupied"),
            horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("mean squared error (items\u{b2})"),
            series: NAMES.iter().enumerate().map(curve).collect(),
        }
    };
    let figure = Figure {
        title:
            "10,000 items in bins that fall as i to the power \u{2212}k, \u{3b4} = 1e-6 (Balle and Wang, Appendix B)"
                .into(),
        columns: 2,
        panels: EXPONENTS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&cells),
        pictures: vec![("balle-wang-histogram", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(cells: &[Cell]) -> Vec<Finding> {
    let margin = |cells: &mut dyn Iterator<Item = &Cell>, better: usize, worse: usize| {
        cells.map(|cell| cell.errors[better].margin_below(&cell.errors[worse])).fold(Margin::LARGEST, Margin::least)
    };
    let at =
        |exponent: f64, epsilon: f64| cells.iter().find(|cell| cell.exponent == exponent && cell.epsilon == epsilon);
    let (Some(sparse), Some(flat)) = (at(2.0, 1.0), at(0.0, 1.0)) else { return Vec::new() };
    let pair = |cell: &Cell, a: usize, b: usize| (short(cell.errors[a].mean()), short(cell.errors[b].mean()));
    let (noisy, thresholded) = pair(sparse, 1, 3);
    let (flat_noisy, flat_thresholded) = pair(flat, 1, 3);
    vec![
        Finding::simulated(
            "Soft thresholding adapts to a histogram with few occupied bins.",
            format!(
                "With {} of 1,000 bins occupied, epsilon = 1: mean squared error {noisy} as released, {thresholded} thresholded.",
                sparse.occupied
            ),
            Verdict::Holds,
            margin(&mut cells.iter().filter(|cell| cell.exponent == 2.0), 3, 1),
        ),
        Finding::simulated(
            "It improves over the plain release for all d, n and s.",
            format!(
                "Not where all bins are well above the noise: flat, epsilon = 1: {flat_noisy} as released, {flat_thresholded} thresholded. The bound hides a factor of log d."
            ),
            Verdict::Qualified,
            flat.errors[1].margin_below(&flat.errors[3]),
        ),
        Finding::simulated(
            "Analytic calibration improves on the classical one.",
            "For every histogram and epsilon.".into(),
            Verdict::Holds,
            margin(&mut cells.iter(), 1, 0),
        ),
        Finding::simulated(
            "Which denoiser should be taken?",
            "The automatic choice, made from the release alone, improves every one of these histograms.".into(),
            Verdict::Beyond,
            margin(&mut cells.iter(), 4, 1),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_about_histograms() {
        crate::finding::assert_all_shown(&findings(&simulate(&Setting::new(6), 10).expect("a result")));
    }

    #[test]
    fn histograms_hold_about_ten_thousand_items() {
        for exponent in EXPONENTS {
            let sum: f64 = histogram(exponent).iter().sum();
            assert!((sum / ITEMS - 1.0).abs() < 0.05, "{exponent} {sum}");
        }
        assert_eq!(histogram(0.0), vec![10.0; BINS]);
    }
}
