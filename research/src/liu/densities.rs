//! Figure 1: densities of generalized Gaussian noise, of one scale and of one variance.

use crate::format::{long, short};
use crate::ink::shaded;
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_noise::{GeneralizedGaussian, Noise};
use reticent_numerics::gamma::ln_gamma;
use reticent_numerics::{Bounds, Enclosure};

pub(crate) const NAME: &str = "liu-densities";

const ORDERS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 8.0];
/// The points of a curve on each side of zero.
const POINTS: i32 = 200;

/// The scale for an order.
type ScaleOf = fn(f64) -> f64;

/// The density at `x` of noise of scale `b`.
fn density(order: f64, b: f64, x: f64) -> Result<f64, ReproductionError> {
    let noise = GeneralizedGaussian::new(order)?;
    let density = noise.density_bounds(Bounds::exact(x.abs() / b)) / noise.mass(&Bounds::ONE);
    Ok(density.estimate() / b)
}

/// `Gamma(3/p)/Gamma(1/p)`, the variance at scale 1.
fn unit_variance(order: f64) -> f64 {
    let argument = |times: f64| Bounds::exact(times) / Bounds::exact(order);
    (ln_gamma(&argument(3.0)) - ln_gamma(&argument(1.0))).exp().estimate()
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let mut table = Table::new(
        "liu-densities",
        "Densities",
        &["panel", "order", "scale", "variance", "x", "density"],
    );
    let mut panels = Vec::new();
    let panels_of: [(&str, ScaleOf); 2] = [
        ("scale \u{221a}2", |_| 2f64.sqrt()),
        ("variance 1", |order| unit_variance(order).powf(-0.5)),
    ];
    for (title, scale) in panels_of {
        let mut series = Vec::new();
        for order in ORDERS {
            let b = scale(order);
            let mut points = Vec::new();
            for i in -POINTS..=POINTS {
                let x = 4.0 * f64::from(i) / f64::from(POINTS);
                let y = density(order, b, x)?;
                points.push((x, y));
                table.push([
                    title.into(),
                    long(order),
                    long(b),
                    long(b * b * unit_variance(order)),
                    long(x),
                    long(y),
                ]);
            }
            let name = match order {
                1.0 => "p = 1 (Laplace)".into(),
                2.0 => "p = 2 (Gaussian)".into(),
                _ => format!("p = {order}"),
            };
            series.push(shaded(Series::line(name, points), series.len(), ORDERS.len()));
        }
        panels.push(Panel {
            title: format!("All of {title}"),
            horizontal: Axis::linear("noise (units of the answer)").from_to(-4.0, 4.0),
            vertical: Axis::linear("density (per unit)"),
            series,
        });
    }
    let figure = Figure {
        title: "Generalized Gaussian densities (Liu, Figure 1)".into(),
        columns: 2,
        panels,
    };
    Ok(Outcome {
        findings: findings(&facts()?),
        pictures: vec![("liu-figure-1", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// The standard deviation of each order at one scale, and its density at zero at one variance.
fn facts() -> Result<[Vec<f64>; 2], ReproductionError> {
    let deviations = ORDERS.map(|order| (2.0 * unit_variance(order)).sqrt()).to_vec();
    let peaks = ORDERS
        .iter()
        .map(|&order| density(order, unit_variance(order).powf(-0.5), 0.0))
        .collect::<Result<Vec<_>, _>>()?;
    Ok([deviations, peaks])
}

fn findings([deviations, peaks]: &[Vec<f64>; 2]) -> Vec<Finding> {
    let falling = |values: &[f64]| values.windows(2).all(|pair| pair[0] > pair[1]);
    let listed =
        |values: &[f64]| values.iter().map(|value| short(*value)).collect::<Vec<_>>().join(", ");
    vec![
        Finding::of_paper(
            "Section 2.3, Figure 1, left",
            "When the scale is the same, the distributions become less spread out as p increases.",
            format!("Standard deviations at p = 1, 2, 3, 4, 8: {}.", listed(deviations)),
            Verdict::when(falling(deviations)),
        ),
        Finding::of_paper(
            "Section 2.3, Figure 1, right",
            "When the variance is the same, the Laplace distribution is most likely to generate \
             values that are close to the mean, followed by the Gaussian distribution.",
            format!("Densities at the mean for p = 1, 2, 3, 4, 8: {}.", listed(peaks)),
            Verdict::when(falling(&peaks[..2]) && peaks[2..].iter().all(|peak| *peak < peaks[1])),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_figure_1() {
        let facts = facts().expect("computed");
        assert_eq!(kinds(&findings(&facts)), ["holds", "holds"]);
        let reversed = facts.clone().map(|values| values.into_iter().rev().collect());
        assert_each_turns(&findings(&facts), &[findings(&reversed)]);
    }

    #[test]
    fn densities_are_those_of_the_printed_formula() {
        // p/(2 b Gamma(1/p)) exp(-(|x|/b)^p), with Gamma(1) = 1 and Gamma(1/2) = sqrt(pi).
        let (b, x) = (1.7, -0.9);
        let laplace = (-0.9f64 / b).exp() / (2.0 * b);
        let gaussian =
            2.0 / (2.0 * b * std::f64::consts::PI.sqrt()) * (-(0.9f64 / b).powi(2)).exp();
        assert!((density(1.0, b, x).expect("valid") / laplace - 1.0).abs() < 1e-13);
        assert!((density(2.0, b, x).expect("valid") / gaussian - 1.0).abs() < 1e-13);
        assert!(
            (unit_variance(1.0) - 2.0).abs() < 1e-13 && (unit_variance(2.0) - 0.5).abs() < 1e-13
        );
    }
}
