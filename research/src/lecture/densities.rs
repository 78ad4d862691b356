//! The three figures of densities: Laplace and Gaussian of one variance, and how each changes when
//! it is shifted.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::ink::inked;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::Analytic;
use reticent_noise::{Gaussian, Laplace, Noise};
use reticent_numerics::Bounds;

pub(crate) const NAME: &str = "lecture-densities";

/// Points of a curve, from -5 to 5.
const POINTS: i32 = 400;

fn density(noise: &impl Noise, scale: f64, x: f64) -> f64 {
    noise.density_bounds(Bounds::exact(x.abs() / scale)).estimate() / scale
}

fn curve(name: impl Into<String>, value: impl Fn(f64) -> f64) -> Series {
    let points = (0..=POINTS).map(|i| -5.0 + 10.0 * f64::from(i) / f64::from(POINTS));
    inked(Series::line(name, points.map(|x| (x, value(x))).collect()))
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let panel = |title: &str, vertical: Axis, series: Vec<Series>| Panel {
        title: title.into(),
        horizontal: Axis::linear("x (sensitivities)").from_to(-5.0, 5.0),
        vertical,
        series,
    };
    let laplace = |b: f64, centre: f64| move |x: f64| density(&Laplace, b, x - centre);
    let gaussian = |s: f64, centre: f64| move |x: f64| density(&Gaussian, s, x - centre);
    let unit = 0.5f64.sqrt();
    let panels = vec![
        panel(
            "Laplace noise",
            Axis::linear("density (per sensitivity)"),
            [0.5, 1.0, 2.0].map(|b| curve(format!("Laplace, b = {b}"), laplace(b, 0.0))).to_vec(),
        ),
        panel(
            "Both of variance 1 (Figure 1)",
            Axis::logarithmic("density (per sensitivity)").from_to(1e-6, 1.0),
            vec![
                curve("Laplace, variance 1", laplace(unit, 0.0)),
                curve("Gaussian, variance 1", gaussian(1.0, 0.0)),
            ],
        ),
        panel(
            "Shifted by 1 (Figures 2 and 3)",
            Axis::linear("density (per sensitivity)"),
            vec![
                curve("Laplace, b = 1", laplace(1.0, 0.0)),
                curve("Laplace, b = 1, shifted", laplace(1.0, 1.0)),
                curve("Gaussian, variance 1", gaussian(1.0, 0.0)),
                curve("Gaussian, variance 1, shifted", gaussian(1.0, 1.0)),
            ],
        ),
        panel(
            "Ratio to the shifted density",
            Axis::logarithmic("ratio of densities").from_to(1e-2, 1e3),
            vec![
                curve("Laplace, b = 1", |x| {
                    density(&Laplace, 1.0, x) / density(&Laplace, 1.0, x - 1.0)
                }),
                curve("Gaussian, variance 1", |x| {
                    density(&Gaussian, 1.0, x) / density(&Gaussian, 1.0, x - 1.0)
                }),
                Series::reference("e and 1/e", vec![(-5.0, 1f64.exp()), (5.0, 1f64.exp())]),
                Series::reference("e and 1/e", vec![(-5.0, (-1f64).exp()), (5.0, (-1f64).exp())]),
            ],
        ),
    ];
    let mut table =
        Table::new("lecture-densities", "Densities and ratios", &["panel", "curve", "x", "value"]);
    for panel in &panels {
        for series in &panel.series {
            for (x, y) in &series.points {
                table.push([panel.title.clone(), series.name.clone(), long(*x), long(*y)]);
            }
        }
    }
    let figure = Figure {
        title: "Densities of the noise (lecture notes, Figures 1 to 3)".into(),
        columns: 2,
        panels,
    };
    Ok(Outcome {
        findings: findings(&Facts::computed()?),
        pictures: vec![("lecture-densities", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// The delta from which on Gaussian noise has at most the variance of Laplace noise at epsilon = 1.
fn variance_threshold() -> Result<f64, ReproductionError> {
    let (mut above, mut below) = (1e-6f64, 0.5f64);
    while below / above > 1.0 + 1e-6 {
        let middle = (above * below).sqrt();
        if sigma(Analytic, 1.0, middle)?.powi(2) > 2.0 { above = middle } else { below = middle }
    }
    Ok(below)
}

/// What the statements are judged by.
#[derive(Clone)]
struct Facts {
    /// The Gaussian density in that of Laplace noise of the same variance, at 2 to 5 deviations.
    decay: Vec<f64>,
    /// The largest ratio of shifted Laplace densities, and the ratios of Gaussian ones, from -5 to
    /// 5.
    laplace: f64,
    gaussian: Vec<f64>,
    /// Sigma, epsilon, the printed delta and the exact one.
    deltas: Vec<(f64, f64, f64, f64)>,
    /// Delta, and the variance of Gaussian noise by Definition 7 and by optimal calibration, in
    /// that of Laplace noise, at epsilon = 1.
    variances: Vec<(f64, f64, f64)>,
    threshold: f64,
}

impl Facts {
    fn computed() -> Result<Self, ReproductionError> {
        let ratio = |noise: &dyn Fn(f64) -> f64, x: f64| noise(x - 1.0) / noise(x);
        let laplace = |x: f64| density(&Laplace, 1.0, x);
        let gaussian = |x: f64| density(&Gaussian, 1.0, x);
        let places = || (-500..=500).map(|i| f64::from(i) / 100.0);
        let apart = |x: f64| ratio(&laplace, x).ln().abs().exp();
        let mut deltas = Vec::new();
        for (sigma, epsilon) in [(4.0f64, 0.5), (5.0, 1.0), (0.5, 10.0), (0.25, 20.0)] {
            let printed = 1.25 * (-(epsilon * sigma).powi(2) / 2.0f64).exp();
            deltas.push((sigma, epsilon, printed, profile(sigma)?.delta(epsilon)?.lower()));
        }
        let mut variances = Vec::new();
        for delta in [1e-6f64, 1e-3, 0.05, 0.3] {
            let printed = 2.0 * (1.25 / delta).ln();
            variances.push((delta, printed / 2.0, sigma(Analytic, 1.0, delta)?.powi(2) / 2.0));
        }
        Ok(Facts {
            decay: (2..=5)
                .map(f64::from)
                .map(|x| gaussian(x) / density(&Laplace, 0.5f64.sqrt(), x))
                .collect(),
            laplace: places().map(apart).fold(0.0, f64::max),
            gaussian: places().map(|x| ratio(&gaussian, x)).collect(),
            deltas,
            variances,
            threshold: variance_threshold()?,
        })
    }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let falling = facts.decay.windows(2).all(|pair| pair[0] > pair[1]);
    let last = facts.decay.last().copied().unwrap_or(f64::NAN);
    let growing = facts.gaussian.windows(2).all(|pair| pair[0] < pair[1]);
    let far = facts.gaussian.last().copied().unwrap_or(f64::NAN);
    let every: Cases = facts
        .deltas
        .iter()
        .map(|(sigma, epsilon, printed, exact)| {
            (format!("sigma = {sigma}, epsilon = {epsilon}"), Answer::when(exact <= printed))
        })
        .collect();
    let higher: Cases = facts
        .variances
        .iter()
        .flat_map(|(delta, printed, exact)| {
            let case = |how: &str, ratio: f64| {
                (format!("delta = {delta:e}, {how}"), Answer::when(ratio > 1.0))
            };
            [case("Definition 7", *printed), case("optimal", *exact)]
        })
        .collect();
    let worst = facts.deltas.last().copied().unwrap_or((f64::NAN, f64::NAN, f64::NAN, f64::NAN));
    vec![
        Finding::of_paper(
            "Section 2, Figure 1",
            "The Gaussian distribution decays much faster than the Laplace distribution.",
            format!("At 5 standard deviations its density is {} times Laplace's.", short(last)),
            Verdict::when(falling && last < 0.01),
        ),
        Finding::of_paper(
            "Section 2, Figure 2",
            "Laplace distributions shifted by 1 stay within a factor of e (b = 1).",
            format!("The largest factor is {}.", short(facts.laplace)),
            Verdict::when(facts.laplace <= 1f64.exp() * (1.0 + 1e-12)),
        ),
        Finding::of_paper(
            "Section 2, Figure 3",
            "Gaussians shifted by 1 deviate by an increasing factor (sigma = 1).",
            format!("{} at x = 5.", short(far)),
            Verdict::when(growing && far > 1f64.exp()),
        ),
        Finding::of_paper(
            "Section 4, after Theorem 3",
            "Gaussian noise is (epsilon, delta(epsilon))-DP for every epsilon > 0, where \
             delta(epsilon) = 1.25 exp(-epsilon^2 sigma^2/2).",
            format!(
                "For epsilon up to 1 only: at sigma = {}, epsilon = {} that is {}, and the exact \
                 delta is {}.",
                worst.0,
                worst.1,
                short(worst.2),
                short(worst.3)
            ),
            Verdict::over(&every),
        )
        .corrected_by("N1"),
        Finding::of_paper(
            "Section 4, after Definition 7",
            "In the univariate case the Gaussian mechanism always adds noise of higher variance \
             than the Laplace mechanism.",
            format!(
                "With optimal calibration at epsilon = 1 it has a lower one from delta = {} on.",
                short(facts.threshold)
            ),
            Verdict::over(&higher),
        )
        .corrected_by("N2"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_the_figures() {
        let facts = Facts::computed().expect("computed");
        let real = findings(&facts);
        let (so, part) = ("holds", "holds in part");
        assert_eq!(kinds(&real), [so, so, so, part, part], "{real:#?}");
        assert!((facts.threshold - 0.0396).abs() < 1e-3, "erratum N2");
        let other = Facts {
            decay: vec![0.1, 0.2],
            laplace: 3.0,
            gaussian: vec![2.0, 1.0],
            deltas: vec![(1.0, 1.0, 0.5, 0.1)],
            variances: vec![(0.1, 1.5, 1.2)],
            threshold: 0.0,
        };
        assert_each_turns(&real, &[findings(&other)]);
    }
}
