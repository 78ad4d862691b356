//! The three figures of densities: Laplace and Gaussian of one variance, and how each changes when it is shifted.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
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
    Series::line(name, points.map(|x| (x, value(x))).collect())
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
            vec![curve("Laplace, variance 1", laplace(unit, 0.0)), curve("Gaussian, variance 1", gaussian(1.0, 0.0))],
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
                curve("Laplace, b = 1", |x| density(&Laplace, 1.0, x) / density(&Laplace, 1.0, x - 1.0)),
                curve("Gaussian, variance 1", |x| density(&Gaussian, 1.0, x) / density(&Gaussian, 1.0, x - 1.0)),
                Series::reference("e and 1/e", vec![(-5.0, 1f64.exp()), (5.0, 1f64.exp())]),
                Series::reference("e and 1/e", vec![(-5.0, (-1f64).exp()), (5.0, (-1f64).exp())]),
            ],
        ),
    ];
    let mut table = Table::new("lecture-densities", "Densities and ratios", &["panel", "curve", "x", "value"]);
    for panel in &panels {
        for series in &panel.series {
            for (x, y) in &series.points {
                table.push([panel.title.clone(), series.name.clone(), long(*x), long(*y)]);
            }
        }
    }
    let figure = Figure { title: "Densities of the noise (lecture notes, Figures 1 to 3)".into(), columns: 2, panels };
    Ok(Outcome {
        findings: findings()?,
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

fn findings() -> Result<Vec<Finding>, ReproductionError> {
    let ratio = |noise: &dyn Fn(f64) -> f64, x: f64| noise(x) / noise(x - 1.0);
    let laplace = |x: f64| density(&Laplace, 1.0, x);
    let gaussian = |x: f64| density(&Gaussian, 1.0, x);
    let places: Vec<f64> = (-500..=500).map(|i| f64::from(i) / 100.0).collect();
    let within = places.iter().all(|x| ratio(&laplace, *x).ln().abs() <= 1.0 + 1e-12);
    let growing = places.windows(2).all(|pair| ratio(&gaussian, pair[0]) > ratio(&gaussian, pair[1]));
    let far = 1.0 / ratio(&gaussian, 5.0);
    let decays = density(&Gaussian, 1.0, 5.0) / density(&Laplace, 0.5f64.sqrt(), 5.0);
    let (claimed, exact) = (1.25 * (-(20.0f64 * 0.25).powi(2) / 2.0).exp(), profile(0.25)?.delta(20.0)?);
    let threshold = variance_threshold()?;
    Ok(vec![
        Finding::computed(
            "The Gaussian decays much faster than Laplace noise of the same variance.",
            format!("At 5 standard deviations its density is {} times Laplace's.", short(decays)),
            Verdict::Holds,
            decays < 0.01,
        ),
        Finding::computed(
            "Laplace densities shifted by 1 stay within a factor of e; Gaussian ones deviate by an increasing factor.",
            format!("Laplace with b = 1: within e everywhere. Gaussian with sigma = 1: {} at x = 5.", short(far)),
            Verdict::Holds,
            within && growing && far > 50.0,
        ),
        Finding::computed(
            "Gaussian noise is (epsilon, delta)-private with delta = 1.25 exp(-epsilon^2 sigma^2/2) for every epsilon.",
            format!(
                "For epsilon up to 1 only: at sigma = 0.25, epsilon = 20 that is {}, and the exact delta is {}.",
                short(claimed),
                short(exact.lower())
            ),
            Verdict::Corrected("N1"),
            exact.lower() > 100.0 * claimed,
        ),
        Finding::computed(
            "For one query Gaussian noise always has a higher variance than Laplace noise.",
            format!("With optimal calibration at epsilon = 1 it has a lower one from delta = {} on.", short(threshold)),
            Verdict::Corrected("N2"),
            (threshold - 0.0396).abs() < 1e-3,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_of_the_figures() {
        crate::finding::assert_all_shown(&findings().expect("computed"));
    }
}
