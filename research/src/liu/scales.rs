//! Figure 2: the scale for three queries that one person moves by 1, 0.1 and 0.05 at once.
//!
//! The paper searches a grid with Monte Carlo. Proposition 8 needs neither: the mechanism's
//! calibration bounds the probability of Eqn 13, whose threshold is `b^p epsilon - D_p^p` (the text
//! prints `b^p - D_p^p epsilon`, erratum L3), and finds the least scale that is proved.

use crate::format::{long, short};
use crate::ink::{inked, shaded};
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod as Method, Mechanism,
    MechanismError, Order, Sensitivity,
};

pub(crate) const NAME: &str = "liu-scales";

const SENSITIVITIES: [f64; 3] = [1.0, 0.1, 0.05];
const ORDERS: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
const EPSILONS: [f64; 4] = [0.1, 0.5, 1.0, 2.0];
const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];

/// The least scale by a method.
fn scale(method: Method, order: f64, epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    let sensitivities: Vec<Distance> =
        SENSITIVITIES.into_iter().map(Distance::new).collect::<Result<_, _>>()?;
    let (order, epsilon, delta) = (Order::new(order)?, Epsilon::new(epsilon)?, Delta::new(delta)?);
    Ok(GeneralizedGaussian::calibrate(
        order,
        method,
        &Sensitivity::from(&sensitivities[..]),
        (epsilon, delta),
    )?
    .scale())
}

/// The scales of one budget: of Proposition 8 for each order, and at order 2 the exact one. (Exact
/// scales of higher orders take a certified convolution of three noises: seconds each.)
#[derive(Clone)]
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
    repeated(setting, columns * DELTAS.len() as u64, |index| {
        row(EPSILONS[(index % columns) as usize], DELTAS[(index / columns) as usize])
    })
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let rows = rows(setting)?;
    let columns =
        ["delta", "epsilon", "p = 2", "p = 3", "p = 4", "p = 5", "p = 2, exact (epsilon, delta)"];
    let mut table = Table::new(
        "liu-scales",
        "Scales of Proposition 8 for sensitivities 1, 0.1 and 0.05",
        &columns,
    );
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
        for (index, order) in ORDERS.into_iter().enumerate() {
            let own = curve(format!("p = {order}, Proposition 8"), &|row| row.printed[index]);
            series.push(shaded(own, index, ORDERS.len()));
        }
        series.push(inked(curve("Gaussian, exact (p = 2)".into(), &|row| row.exact)));
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

/// One case for each order and each pair of neighbouring budgets that differ in one parameter:
/// whether the scale of the smaller parameter is the larger.
fn rises(rows: &[Row]) -> Cases {
    let mut cases = Vec::new();
    for (i, a) in rows.iter().enumerate() {
        for b in &rows[i + 1..] {
            let by_epsilon = a.delta == b.delta;
            if !by_epsilon && a.epsilon != b.epsilon {
                continue;
            }
            let smaller_first = if by_epsilon { a.epsilon < b.epsilon } else { a.delta < b.delta };
            let (smaller, larger) = if smaller_first { (a, b) } else { (b, a) };
            for (index, order) in ORDERS.into_iter().enumerate() {
                let so = smaller.printed[index] > larger.printed[index];
                let name = format!(
                    "p = {order}, ({}, {}) and ({}, {})",
                    smaller.epsilon, smaller.delta, larger.epsilon, larger.delta
                );
                cases.push((name, Answer::when(so)));
            }
        }
    }
    cases.into_iter().collect()
}

fn findings(rows: &[Row]) -> Vec<Finding> {
    let budget = |row: &Row| format!("epsilon = {}, delta = {}", row.epsilon, row.delta);
    let printed = |delta: f64| {
        let row = rows.iter().find(|row| row.epsilon == 1.0 && row.delta == delta);
        row.map_or([f64::NAN; ORDERS.len()], |row| row.printed)
    };
    let by_order: Cases = rows
        .iter()
        .map(|row| {
            (budget(row), Answer::when(row.printed.windows(2).all(|pair| pair[0] < pair[1])))
        })
        .collect();
    let less: Cases =
        rows.iter().map(|row| (budget(row), Answer::when(row.exact < row.printed[0]))).collect();
    let (least, most) = rows
        .iter()
        .map(|row| row.printed[0] / row.exact)
        .fold((f64::INFINITY, 0.0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    vec![
        Finding::of_paper(
            "Section 2.6, Figure 2",
            "The lower bound on b increases with decreased epsilon and decreased delta.",
            format!(
                "p = 2, epsilon = 1: b = {} at delta = 0.01 and {} at 0.25.",
                short(printed(0.01)[0]),
                short(printed(0.25)[0])
            ),
            Verdict::over(&rises(rows)),
        ),
        Finding::of_paper(
            "Section 2.6, Figure 2",
            "b increases with p in the examined scenarios.",
            format!(
                "Epsilon = 1, p = 2, 3, 4, 5: b = {} at delta = 0.01, and {} at 0.25.",
                printed(0.01).map(short).join(", "),
                printed(0.25).map(short).join(", ")
            ),
            Verdict::over(&by_order),
        ),
        Finding::of_paper(
            "Section 2.6, text",
            "The probability is that of exceeding b^p - D_p^p epsilon.",
            "Eqn 13 has it right, b^p epsilon - D_p^p, and is what is solved here, without Monte \
             Carlo."
                .into(),
            Verdict::Remark,
        )
        .corrected_by("L3"),
        Finding::own(
            "Exact (epsilon, delta)-privacy at p = 2 needs a smaller scale than Proposition 8.",
            format!(
                "The scale of Proposition 8 is {} to {} times as large (erratum L11).",
                short(least),
                short(most)
            ),
            Verdict::over(&less),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_figure_2() {
        let rows = rows(&Setting::new(1)).expect("a result");
        let real = findings(&rows);
        assert_eq!(
            kinds(&real),
            ["holds", "holds in part", "a remark, not computed", "holds"],
            "{real:#?}"
        );
        // Scales that grow with epsilon and fall with the order, and an exact one above them.
        let upside_down: Vec<Row> = rows
            .iter()
            .map(|row| Row {
                printed: row.printed.map(|b| 1.0 / b),
                exact: 2.0 * row.printed[0].recip(),
                ..*row
            })
            .map(|row| Row { printed: [4.0, 3.0, 2.0, 1.0].map(|k| k * row.printed[0]), ..row })
            .map(|row| Row { exact: 5.0 * row.printed[0], ..row })
            .collect();
        assert_each_turns(&real, &[findings(&upside_down)]);
    }

    #[test]
    fn scales_are_the_golden_ones() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/gg_fig2.json"))
                .expect("valid JSON");
        let rows = file["rows"].as_array().expect("rows");
        let number = |cell: &serde_json::Value| -> f64 {
            cell.as_str().expect("a text").parse().expect("a number")
        };
        let mut checked = 0;
        for row in rows {
            let (order, epsilon, delta) =
                (row["p"].as_f64().expect("p"), number(&row["eps"]), number(&row["delta"]));
            if order <= 3.0 && EPSILONS.contains(&epsilon) && DELTAS.contains(&delta) {
                let found = scale(Method::Probabilistic, order, epsilon, delta).expect("certified");
                assert!((found / number(&row["b"]) - 1.0).abs() < 2e-9, "{row}: {found}");
                checked += 1;
            }
        }
        assert!(checked > 10, "{checked}");
    }
}
