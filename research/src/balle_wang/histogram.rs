//! Histogram release (Section 4 and Appendix B): mean squared errors of histograms from flat to
//! sparse.
//!
//! The appendix is not part of the copy at hand. Its reference (Telgarsky, *Dirichlet draws are
//! sparse with high probability*) suggests histograms of items whose bins are drawn from a
//! symmetric Dirichlet distribution, which are the first here; Section 4 speaks of power laws
//! `n i^-k` with `k > 1`, which are the second. The numbers of items and bins, the concentrations,
//! the epsilons and the flat histogram are our own. Replacing an item moves two bins, so that the
//! l2 sensitivity is `sqrt 2`.

use super::release::{gaussian_release, squared_error};
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::sample::Sample;
use crate::{Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_denoising::shrinkage::{JamesStein, Target, Thresholding};
use reticent_denoising::{Auto, Denoiser, Unchanged};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014};
use reticent_noise::randomness::RandomBits;

pub(crate) const NAME: &str = "balle-wang-histogram";

const BINS: usize = 1000;
const ITEMS: u32 = 10_000;
const DELTA: f64 = 1e-6;
const EPSILONS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
const REPEATS: u32 = 40;
/// Those of the paper as printed, then our own choice from the release.
const NAMES: [&str; 5] = [
    "classical Gaussian",
    "analytic Gaussian",
    "James-Stein (Theorem 11)",
    "soft threshold (Theorem 12)",
    "auto: chosen from the release (our own)",
];
const ANALYTIC: usize = 1;
const THRESHOLD: usize = 3;
const AUTO: usize = 4;

/// How a histogram is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Bins of probabilities from a symmetric Dirichlet distribution of this concentration, drawn
    /// anew for each repeat.
    Dirichlet(f64),
    /// Bins in proportion to `i^-k`; flat for `k = 0`.
    PowerLaw(f64),
}

const KINDS: [Kind; 6] = [
    Kind::Dirichlet(0.01),
    Kind::Dirichlet(0.1),
    Kind::Dirichlet(1.0),
    Kind::PowerLaw(2.0),
    Kind::PowerLaw(1.2),
    Kind::PowerLaw(0.0),
];

/// A uniform number in (0, 1].
fn uniform(random: &mut dyn RandomBits) -> Result<f64, ReproductionError> {
    Ok(((random.next_u64()? >> 11) + 1) as f64 * 2f64.powi(-53))
}

/// A draw from the gamma distribution of a shape up to 1 and scale 1 (Ahrens and Dieter 1974,
/// algorithm GS). The data are made up and public: nothing here is private.
fn gamma(shape: f64, random: &mut dyn RandomBits) -> Result<f64, ReproductionError> {
    let b = 1.0 + shape / std::f64::consts::E;
    loop {
        let p = b * uniform(random)?;
        let (x, accepted) = if p <= 1.0 {
            let x = p.powf(1.0 / shape);
            (x, (-x).exp())
        } else {
            let x = -((b - p) / shape).ln();
            (x, x.powf(shape - 1.0))
        };
        if uniform(random)? <= accepted {
            return Ok(x);
        }
    }
}

impl Kind {
    fn title(self) -> String {
        match self {
            Kind::Dirichlet(concentration) => format!("Dirichlet draws, {concentration} a bin"),
            Kind::PowerLaw(0.0) => "flat (our own)".into(),
            Kind::PowerLaw(k) => format!("power law, k = {k}"),
        }
    }

    /// The counts of 10,000 items.
    fn histogram(self, random: &mut dyn RandomBits) -> Result<Vec<f64>, ReproductionError> {
        let weights: Vec<f64> = match self {
            Kind::Dirichlet(concentration) => {
                (0..BINS).map(|_| gamma(concentration, random)).collect::<Result<_, _>>()?
            }
            Kind::PowerLaw(k) => (1..=BINS).map(|bin| (bin as f64).powf(-k)).collect(),
        };
        let sum: f64 = weights.iter().sum();
        if let Kind::PowerLaw(_) = self {
            let items = f64::from(ITEMS);
            return Ok(weights.iter().map(|weight| (items * weight / sum).round()).collect());
        }
        let mut until = 0.0;
        let ends: Vec<f64> = weights
            .iter()
            .map(|weight| {
                until += weight / sum;
                until
            })
            .collect();
        let mut counts = vec![0.0; BINS];
        for _ in 0..ITEMS {
            let u = uniform(random)?;
            counts[ends.partition_point(|end| *end < u).min(BINS - 1)] += 1.0;
        }
        Ok(counts)
    }
}

/// The mean squared error of a bin by each method, over repeats.
#[derive(Clone)]
struct Cell {
    kind: Kind,
    epsilon: f64,
    /// The mean number of bins that are not empty.
    occupied: f64,
    errors: Vec<Sample>,
}

impl Cell {
    fn name(&self) -> String {
        format!("{}, epsilon = {}", self.kind.title(), self.epsilon)
    }
}

/// The errors of one repeat by method, and how many bins are not empty.
type Repeat = ([f64; 5], f64);

fn simulate(setting: &Setting, repeats: u32) -> Result<Vec<Cell>, ReproductionError> {
    let kinds: Vec<(Kind, f64)> =
        KINDS.into_iter().flat_map(|kind| EPSILONS.map(|epsilon| (kind, epsilon))).collect();
    let all = repeated(setting, kinds.len() as u64 * u64::from(repeats), |job| {
        let (kind, epsilon) = kinds[(job / u64::from(repeats)) as usize];
        let mut random = setting.random(NAME, job);
        let truth = kind.histogram(&mut random)?;
        let budget = (epsilon, DELTA, 2f64.sqrt());
        let classical = gaussian_release(Classical2014, budget, &truth, &mut random)?;
        let analytic = gaussian_release(Analytic, budget, &truth, &mut random)?;
        let auto = Auto::new().within(0.0, f64::INFINITY);
        let james_stein = JamesStein { target: Target::Zero, positive_part: false, block: None };
        let runs: [(_, &dyn Denoiser); 5] = [
            (&classical, &Unchanged),
            (&analytic, &Unchanged),
            (&analytic, &james_stein),
            (&analytic, &Thresholding::soft_universal()),
            (&analytic, &auto),
        ];
        let mut errors = [0.0; 5];
        for (error, (release, denoiser)) in errors.iter_mut().zip(runs) {
            *error = squared_error(&denoiser.denoise(release)?.values, &truth) / BINS as f64;
        }
        Ok((errors, truth.iter().filter(|count| **count > 0.0).count() as f64))
    })?;
    let of_kind = |((kind, epsilon), runs): ((Kind, f64), &[Repeat])| Cell {
        kind,
        epsilon,
        occupied: Sample(runs.iter().map(|run| run.1).collect()).mean(),
        errors: (0..NAMES.len())
            .map(|index| Sample(runs.iter().map(|run| run.0[index]).collect()))
            .collect(),
    };
    Ok(kinds.into_iter().zip(all.chunks(repeats as usize)).map(of_kind).collect())
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let cells = simulate(setting, setting.repeats(REPEATS))?;
    let columns =
        ["histogram", "occupied bins", "epsilon", "method", "mean squared error", "deviation"];
    let mut table = Table::new("balle-wang-histogram", "Mean squared error of a bin", &columns);
    for cell in &cells {
        for (name, errors) in NAMES.iter().zip(&cell.errors) {
            let first =
                [cell.kind.title(), long(cell.occupied), long(cell.epsilon), (*name).into()];
            table.push(first.into_iter().chain([errors.mean(), errors.deviation()].map(long)));
        }
    }
    let panel = |kind: Kind| {
        let own = || cells.iter().filter(move |cell| cell.kind == kind);
        let curve = |(index, name): (usize, &&'static str)| {
            let points: Vec<_> = own()
                .map(|cell| {
                    (cell.epsilon, cell.errors[index].mean(), cell.errors[index].deviation())
                })
                .collect();
            inked(Series::measured(*name, &points))
        };
        let occupied = own().next().map_or(0.0, |cell| cell.occupied);
        Panel {
            title: format!("{}: {} bins in use", kind.title(), occupied.round()),
            horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("mean squared error (items\u{b2})"),
            series: NAMES.iter().enumerate().map(curve).collect(),
        }
    };
    let figure = Figure {
        title: "Histograms of 10,000 items in 1,000 bins, \u{3b4} = 1e-6 (after Balle and Wang, \
                Section 4 and Appendix B)"
            .into(),
        columns: 3,
        panels: KINDS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&cells),
        pictures: vec![("balle-wang-histogram", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(cells: &[Cell]) -> Vec<Finding> {
    let over = |include: &dyn Fn(&Cell) -> bool, better: usize, worse: usize| -> Verdict {
        let cases: Cases = cells
            .iter()
            .filter(|cell| include(cell))
            .map(|cell| (cell.name(), cell.errors[better].below(&cell.errors[worse])))
            .collect();
        Verdict::over(&cases)
    };
    let at = |kind: Kind, epsilon: f64| {
        let cell = cells.iter().find(|cell| cell.kind == kind && cell.epsilon == epsilon);
        let mean = |index: usize| short(cell.map_or(f64::NAN, |cell| cell.errors[index].mean()));
        format!("{} as released, {} thresholded", mean(ANALYTIC), mean(THRESHOLD))
    };
    let all = |_: &Cell| true;
    vec![
        Finding::of_paper(
            "Section 4, after Theorem 12",
            "The soft-thresholding estimator improves over the naive private release for all d, n \
             and s.",
            format!(
                "Mean squared error at epsilon = 1: Dirichlet draws of 0.01 {}; flat {}. The bound \
                 hides a factor of log d.",
                at(KINDS[0], 1.0),
                at(KINDS[5], 1.0)
            ),
            over(&all, THRESHOLD, ANALYTIC),
        ),
        Finding::of_paper(
            "Section 4, after Theorem 12",
            "It can take advantage of an unknown power law (k > 1) even if the histogram is not \
             really sparse.",
            format!("Mean squared error at epsilon = 1, k = 1.2: {}.", at(KINDS[4], 1.0)),
            over(&|cell| matches!(cell.kind, Kind::PowerLaw(k) if k > 1.0), THRESHOLD, ANALYTIC),
        ),
        Finding::own(
            "Analytic calibration improves on the classical one.",
            "For every histogram and epsilon.".into(),
            over(&all, ANALYTIC, 0),
        ),
        Finding::own(
            "The automatic choice, made from the release alone, improves every one of these \
             histograms.",
            "Over the release as it is.".into(),
            over(&all, AUTO, ANALYTIC),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    /// Cells of one kind whose errors have these means.
    fn made_up(kind: Kind, means: [f64; 5]) -> Cell {
        let sample = |mean: f64| Sample((0..40).map(|i| mean + 0.01 * f64::from(i % 5)).collect());
        Cell { kind, epsilon: 1.0, occupied: 1.0, errors: means.map(sample).to_vec() }
    }

    #[test]
    fn the_verdicts_about_histograms() {
        let real = findings(&simulate(&Setting::new(6), 10).expect("a result"));
        println!("{real:#?}");
        assert_eq!(kinds(&real)[0], "holds in part", "{real:#?}");
        let with =
            |means: [f64; 5]| findings(&[made_up(KINDS[0], means), made_up(KINDS[4], means)]);
        let printed = with([5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(kinds(&printed), ["holds"; 4]);
        let opposite = with([1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(kinds(&opposite), ["does not hold here"; 4]);
        assert_each_turns(&real, &[printed, opposite]);
    }

    #[test]
    fn histograms_hold_about_ten_thousand_items() {
        let mut random = Setting::new(1).random("test", 0);
        for kind in KINDS {
            let sum: f64 = kind.histogram(&mut random).expect("made").iter().sum();
            assert!((sum / f64::from(ITEMS) - 1.0).abs() < 0.05, "{kind:?} {sum}");
        }
        assert_eq!(Kind::PowerLaw(0.0).histogram(&mut random).expect("made"), vec![10.0; BINS]);
    }

    /// Mean `a` and variance `a` of 40,000 draws: a relative error of the mean of
    /// `1/sqrt(40,000 a)`, 1.6% at 0.1; five of them are a false alarm of 6e-7 each. The variance
    /// has the fourth cumulant `6a`, so a relative error of `sqrt((2a^2 + 6a)/40,000)/a`. Half the
    /// shape is rejected by far.
    #[test]
    fn gamma_draws_have_the_moments_of_their_shape() {
        let mut random = Setting::new(2).random("test", 0);
        for shape in [0.1, 0.5, 1.0] {
            let draws = (0..40_000).map(|_| gamma(shape, &mut random).expect("drawn"));
            let sample = Sample(draws.collect());
            let error = (1.0 / (40_000.0 * shape)).sqrt();
            assert!((sample.mean() / shape - 1.0).abs() < 5.0 * error, "{shape}");
            let error = ((2.0 * shape * shape + 6.0 * shape) / 40_000.0).sqrt() / shape;
            let variance = sample.deviation().powi(2);
            assert!((variance / shape - 1.0).abs() < 5.0 * error, "{shape} {variance}");
            assert!(error < 0.1 && shape / 2.0 < sample.mean() * 0.9);
        }
    }
}
