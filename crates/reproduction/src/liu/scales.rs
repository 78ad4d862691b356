//! Figure 2: the scale for three queries that one person moves by 1, 0.1 and 0.05 at once.
//!
//! The paper searches a grid with Monte Carlo. Proposition 8 needs neither: the mechanism's calibration bounds the probability of Eqn 13, whose threshold is
//! `b^p epsilon - D_p^p` (the text prints `b^p - D_p^p epsilon`, erratum L3), and finds the least scale that is proved.

use crate::format::{long, short};
use crate::parallel::repeated;
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod as Method, Mechanism, MechanismError,
    Order,
};

pub(crate) const NAME: &str = "liu-scales";

const SENSITIVITIES: [f64; 3] = [1.0, 0.1, 0.05];
const ORDERS: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
const EPSILONS: [f64; 4] = [0.1, 0.5, 1.0, 2.0];
const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];

/// The least scale by a method.
fn scale(method: Method, order: f64, epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    let sensitivities: Vec<Distance> = SENSITIVITIES.into_iter().map(Distance::new).collect::<Result<_, _>>()?;
    let (order, epsilon, delta) = (Order::new(order)?, Epsilon::new(epsilon)?, Delta::new(delta)?);
    Ok(GeneralizedGaussian::calibrate(order, &sensitivities, epsilon, delta, method)?.scale())
}

/// The scales of one budget: of Proposition 8 for each order, and at order 2 the exact one. (Exact scales of higher orders take a certified convolution of three noises: seconds each.)
struct Row {
    delta: f64,
    epsilon: f64,
    printed: [f64; ORDERS.len()],
    exact: f64,
}

fn row(epsilon: f64, delta: f64) -> Result<Row, ReproductionError> {
    let mut printed = [0.0; ORDERS.len()];
    for (scale_of, order) in printed.iter_mut().zip(ORDERS) {
        *scale_of = scale(Method::Probabilistic, order, epsilon, delta)?;
    }
    Ok(Row { delta, epsilon, printed, exact: scale(Method::Exact, ORDERS[0], epsilon, delta)? })
}

fn rows(setting: &Setting) -> Result<Vec<Row>, ReproductionError> {
    let columns = EPSILONS.len() as u64;
    repeated(setting, columns * DELTAS.len() as u64, |place| {
        row(EPSILONS[(place % columns) as usize], DELTAS[(place / columns) as usize])
    })
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let rows = rows(setting)?;
    let columns = ["delta", "epsilon", "p = 2", "p = 3", "p = 4", "p = 5", "p = 2, exact (epsilon, delta)"];
    let mut table = Table::new("liu-scales", "Scales of Proposition 8 for sensitivities 1, 0.1 and 0.05", &columns);
    for row in &rows {
        let figures = [row.delta, row.epsilon].into_iter().chain(row.printed).chain([row.exact]);
        table.push(figures.map(long));
    }
    let panel = |delta: f64| {
        let curve = |name: String, value: &dyn Fn(&Row) -> f64| {
            let own = rows.iter().filter(|row| row.delta == delta);
            Series::line(name, own.map(|row| (row.epsilon, value(row))).collect())
        };
        let mut series = Vec::new();
        for (place, order) in ORDERS.into_iter().enumerate() {
            series.push(curve(format!("p = {order}, Proposition 8"), &|row| row.printed[place]));
        }
        series.push(curve("p = 2, exact (\u{3b5}, \u{3b4})".into(), &|row| row.exact));
        Panel {
            title: format!("\u{3b4} = {delta}"),
            horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("scale b (units of the answer)"),
            series,
        }
    };
    let figure = Figure {
        title: "Scales for sensitivities 1, 0.1 and 0.05 (Liu, Figure 2)".into(),
        columns: 2,
        panels: DELTAS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&rows),
        pictures: vec![("liu-figure-2", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(rows: &[Row]) -> Vec<Finding> {
    let at = |epsilon: f64, delta: f64| rows.iter().find(|row| row.epsilon == epsilon && row.delta == delta);
    let rises = |of: &dyn Fn(&Row) -> Option<(f64, f64)>| {
        rows.iter().all(|row| match of(row).and_then(|(epsilon, delta)| at(epsilon, delta)) {
            Some(smaller) => smaller.printed.iter().zip(&row.printed).all(|(more, less)| more > less),
            None => true,
        })
    };
    let before =
        |values: &[f64], value: f64| values.iter().copied().filter(|other| *other < value).max_by(f64::total_cmp);
    let smaller_epsilon = |row: &Row| before(&EPSILONS, row.epsilon).map(|epsilon| (epsilon, row.delta));
    let smaller_delta = |row: &Row| before(&DELTAS, row.delta).map(|delta| (row.epsilon, delta));
    let up_to_a_tenth = || rows.iter().filter(|row| row.delta <= 0.1);
    let by_order = up_to_a_tenth().all(|row| row.printed.windows(2).all(|pair| pair[0] < pair[1]));
    let falling = at(0.1, 0.25).map_or([f64::NAN; ORDERS.len()], |row| row.printed);
    let ratios = rows.iter().map(|row| row.printed[0] / row.exact);
    let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    let printed = |delta: f64| at(1.0, delta).map_or([f64::NAN; ORDERS.len()], |row| row.printed);
    vec![
        Finding::computed(
            "The lower bound on b increases as epsilon and delta decrease.",
            format!(
                "p = 2, epsilon = 1: b = {} at delta = 0.01 and {} at 0.25.",
                short(printed(0.01)[0]),
                short(printed(0.25)[0])
            ),
            Verdict::Holds,
            rises(&smaller_epsilon) && rises(&smaller_delta),
        ),
        Finding::computed(
            "b increases with p in the examined scenarios.",
            format!(
                "So it does at every delta up to 0.1 (delta = 0.01, epsilon = 1, p = 2, 3, 4, 5: b = {}), and not at delta = 0.25, epsilon = 0.1: b = {}.",
                printed(0.01).map(short).join(", "),
                falling.map(short).join(", ")
            ),
            Verdict::Qualified,
            by_order && falling[1] > falling[3],
        ),
        Finding::computed(
            "The threshold in the text is b^p - D_p^p epsilon.",
            "Eqn 13 has it right, b^p epsilon - D_p^p, and is what is solved here, without Monte Carlo.".into(),
            Verdict::Corrected("L3"),
            true,
        ),
        Finding::computed(
            "How much noise does probabilistic privacy cost?",
            format!(
                "Exact (epsilon, delta)-privacy needs less: at p = 2 the scale of Proposition 8 is {} to {} times as large.",
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
            if order <= 3.0 && EPSILONS.contains(&epsilon) && DELTAS.contains(&delta) {
                let found = scale(Method::Probabilistic, order, epsilon, delta).expect("certified");
                assert!((found / number(&row["b"]) - 1.0).abs() < 2e-9, "{row}: {found}");
                checked += 1;
            }
        }
        assert!(checked > 10, "{checked}");
    }
}
