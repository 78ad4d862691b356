//! Figure 2: the scale for three queries that one person moves by 1, 0.1 and 0.05 at once.
//!
//! The paper searches a grid with Monte Carlo. Proposition 8 needs neither: the mechanism's calibration bounds the probability of Eqn 13, whose threshold is
//! `b^p epsilon - D_p^p` (the text prints `b^p - D_p^p epsilon`, erratum L3), and finds the least scale that is proved.

use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod as Method, Mechanism, MechanismError,
    Order,
};

pub(crate) const NAME: &str = "liu-scales";

const SENSITIVITIES: [f64; 3] = [1.0, 0.1, 0.05];
const ORDERS: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
const EPSILONS: [f64; 5] = [0.1, 0.2, 0.5, 1.0, 2.0];
const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];

/// The least scale by a method.
fn scale(method: Method, order: f64, epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    let sensitivities: Vec<Distance> = SENSITIVITIES.into_iter().map(Distance::new).collect::<Result<_, _>>()?;
    let (order, epsilon, delta) = (Order::new(order)?, Epsilon::new(epsilon)?, Delta::new(delta)?);
    Ok(GeneralizedGaussian::calibrate(order, &sensitivities, epsilon, delta, method)?.scale())
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = ["delta", "order", "epsilon", "scale of Proposition 8", "scale of exact (epsilon, delta)"];
    let mut table = Table::new("liu-scales", "Scales for sensitivities 1, 0.1 and 0.05", &columns);
    let mut panels = Vec::new();
    let mut grid = Vec::new();
    for (place, delta) in DELTAS.into_iter().enumerate() {
        let mut series = Vec::new();
        let mut exact_series = Vec::new();
        for order in ORDERS {
            let (mut points, mut exact_points) = (Vec::new(), Vec::new());
            for epsilon in EPSILONS {
                let printed = scale(Method::Probabilistic, order, epsilon, delta)?;
                let exact = scale(Method::Exact, order, epsilon, delta)?;
                table.push([long(delta), long(order), long(epsilon), long(printed), long(exact)]);
                points.push((epsilon, printed));
                exact_points.push((epsilon, exact));
            }
            grid.push((delta, order, points.clone(), exact_points.clone()));
            series.push(Series::line(format!("p = {order}, Proposition 8"), points));
            exact_series.push(Series::markers(format!("p = {order}, exact (\u{3b5}, \u{3b4})"), exact_points));
            setting.reached(place * ORDERS.len() + grid.len() % ORDERS.len(), DELTAS.len() * ORDERS.len());
        }
        series.extend(exact_series);
        panels.push(Panel {
            title: format!("\u{3b4} = {delta}"),
            horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("scale b (units of the answer)"),
            series,
        });
    }
    let figure =
        Figure { title: "Scales for sensitivities 1, 0.1 and 0.05 (Liu, Figure 2)".into(), columns: 2, panels };
    Ok(Outcome {
        findings: findings(&grid),
        pictures: vec![("liu-figure-2", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// For each delta and order: the scales over epsilon, by Proposition 8 and exact.
type Curves = (f64, f64, Vec<(f64, f64)>, Vec<(f64, f64)>);

fn findings(grid: &[Curves]) -> Vec<Finding> {
    let falls_with_epsilon = grid.iter().all(|(_, _, curve, _)| curve.windows(2).all(|pair| pair[0].1 > pair[1].1));
    let at = |delta: f64, order: f64| grid.iter().find(|curves| curves.0 == delta && curves.1 == order);
    let pairs = |curves: &[Curves], next: &dyn Fn(&Curves) -> Option<(f64, f64)>, grows: bool| {
        curves.iter().all(|before| {
            let Some((delta, order)) = next(before) else { return true };
            let Some(after) = at(delta, order) else { return true };
            before.2.iter().zip(&after.2).all(|(a, b)| if grows { a.1 < b.1 } else { a.1 > b.1 })
        })
    };
    let next_delta = |curves: &Curves| DELTAS.iter().find(|delta| **delta > curves.0).map(|delta| (*delta, curves.1));
    let next_order = |curves: &Curves| ORDERS.iter().find(|order| **order > curves.1).map(|order| (curves.0, *order));
    let ratios: Vec<f64> =
        grid.iter().flat_map(|(_, _, printed, exact)| printed.iter().zip(exact).map(|(a, b)| a.1 / b.1)).collect();
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &r| (low.min(r), high.max(r)));
    let figure = |delta: f64, order: f64| at(delta, order).map_or(f64::NAN, |curves| curves.2[3].1);
    vec![
        Finding::computed(
            "The lower bound on b increases as epsilon and delta decrease.",
            format!(
                "p = 2, epsilon = 1: b = {} at delta = 0.01 and {} at 0.25.",
                short(figure(0.01, 2.0)),
                short(figure(0.25, 2.0))
            ),
            Verdict::Holds,
            falls_with_epsilon && pairs(grid, &next_delta, false),
        ),
        Finding::computed(
            "b increases with p.",
            format!(
                "delta = 0.01, epsilon = 1: b = {} at p = 2, {} at 3, {} at 4, {} at 5.",
                short(figure(0.01, 2.0)),
                short(figure(0.01, 3.0)),
                short(figure(0.01, 4.0)),
                short(figure(0.01, 5.0))
            ),
            Verdict::Holds,
            pairs(grid, &next_order, true),
        ),
        Finding::computed(
            "The threshold in the text is b^p - D_p^p epsilon.",
            "Eqn 13 has it right, b^p epsilon - D_p^p, and is what is solved here, without Monte Carlo.".into(),
            Verdict::Corrected("L3"),
            true,
        ),
        Finding::computed(
            "How much noise do probabilistic privacy and the bound of Proposition 8 cost?",
            format!(
                "Exact (epsilon, delta)-privacy needs less: the scale of Proposition 8 is {} to {} times as large.",
                short(least),
                short(most)
            ),
            Verdict::Corrected("L11"),
            least > 1.2,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::assert_all_shown;

    #[test]
    fn the_claims_of_figure_2() {
        assert_all_shown(&run(&Setting::new(1)).expect("a result").findings);
    }

    #[test]
    fn scales_are_the_golden_ones() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../../reference/gg_fig2.json")).expect("valid JSON");
        let rows = file["rows"].as_array().expect("rows");
        let number = |cell: &serde_json::Value| -> f64 { cell.as_str().expect("a text").parse().expect("a number") };
        let mut checked = 0;
        for row in rows {
            let (order, epsilon, delta) = (row["p"].as_f64().expect("p"), number(&row["eps"]), number(&row["delta"]));
            if ORDERS.contains(&order) && EPSILONS.contains(&epsilon) && DELTAS.contains(&delta) {
                let found = scale(Method::Probabilistic, order, epsilon, delta).expect("certified");
                assert!((found / number(&row["b"]) - 1.0).abs() < 2e-9, "{row}: {found}");
                checked += 1;
            }
        }
        assert!(checked > 10, "{checked}");
    }
}
