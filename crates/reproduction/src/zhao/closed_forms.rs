//! The closed forms against the optimum.

use crate::count_query::sigma;
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{self, Analytic, Classical2014, ClosedForm1, ClosedForm2, Vinterbo};

pub(crate) const NAME: &str = "zhao-closed-forms";

const DELTAS: [f64; 4] = [1e-2, 1e-4, 1e-6, 1e-9];
/// Epsilons from 1e-3 to 1e2.
const STEPS: u32 = 100;
const FORMS: [(&str, GaussianMethod); 3] = [
    ("closed form 1 (inverse of erfc)", ClosedForm1),
    ("closed form 2 (elementary)", ClosedForm2),
    ("Vinterbo 2020 (elementary)", Vinterbo),
];

fn epsilon(step: u32) -> f64 {
    10f64.powf(-3.0 + 5.0 * f64::from(step) / f64::from(STEPS))
}

/// The ratio of each form to the optimum.
struct Row {
    epsilon: f64,
    delta: f64,
    optimum: f64,
    ratios: [f64; 3],
    /// `None` where the classical sigma is not enough.
    classical: Option<f64>,
}

fn row(epsilon: f64, delta: f64) -> Result<Row, ReproductionError> {
    let optimum = sigma(Analytic, epsilon, delta)?;
    let mut ratios = [0.0; 3];
    for (ratio, (_, method)) in ratios.iter_mut().zip(FORMS) {
        *ratio = sigma(method, epsilon, delta)? / optimum;
    }
    let classical = sigma(Classical2014, epsilon, delta).ok().map(|sigma| sigma / optimum);
    Ok(Row { epsilon, delta, optimum, ratios, classical })
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = ["epsilon", "delta", "optimal sigma", "form 1", "form 2", "Vinterbo", "classical 2014"];
    let mut table = Table::new("zhao-closed-forms", "Standard deviations in the optimal one", &columns);
    let mut rows = Vec::new();
    for delta in DELTAS {
        for step in 0..=STEPS {
            let row = row(epsilon(step), delta)?;
            let classical = row.classical.map_or_else(|| "not private".to_string(), long);
            let figures = [row.epsilon, row.delta, row.optimum].into_iter().chain(row.ratios).map(long);
            table.push(figures.chain([classical]));
            rows.push(row);
        }
    }
    let panel = |delta: f64| {
        let own = || rows.iter().filter(move |row| row.delta == delta);
        let curve = |place: usize| own().map(|row| (row.epsilon, row.ratios[place])).collect();
        let mut series: Vec<Series> =
            FORMS.iter().enumerate().map(|(place, (name, _))| Series::line(*name, curve(place))).collect();
        let classical = own().filter_map(|row| row.classical.map(|ratio| (row.epsilon, ratio))).collect();
        series.push(Series::line("classical 2014, where it is private", classical));
        Panel {
            title: format!("\u{3b4} = {delta:e}"),
            horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
            vertical: Axis::logarithmic("\u{3c3} : optimal \u{3c3}"),
            series,
        }
    };
    let figure = Figure {
        title: "Closed forms for the Gaussian mechanism against the optimum (Zhao et al.)".into(),
        columns: 2,
        panels: DELTAS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&rows)?,
        pictures: vec![("zhao-closed-forms", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(rows: &[Row]) -> Result<Vec<Finding>, ReproductionError> {
    let ordered = rows.iter().all(|row| {
        let [form_1, form_2, vinterbo] = row.ratios;
        // The least sigma of each method is stored a few units in the last place above its formula.
        1.0 <= form_1 * (1.0 + 1e-12) && form_1 <= vinterbo * (1.0 + 1e-12) && vinterbo <= form_2 * (1.0 + 1e-12)
    });
    let better =
        rows.iter().filter(|row| row.epsilon <= 1.0).all(|row| row.classical.is_some_and(|c| row.ratios[1] < c));
    let usual = row(1.0, 1e-6)?.ratios;
    let small = row(1e-3, 1e-3)?.ratios;
    Ok(vec![
        Finding::computed(
            "The closed forms achieve (epsilon, delta)-privacy for any epsilon.",
            format!("Certified on all {} points from epsilon = 0.001 to 100; none is below the optimum.", rows.len()),
            Verdict::Holds,
            ordered,
        ),
        Finding::computed(
            "They improve on the classical mechanisms.",
            format!(
                "Everywhere up to epsilon = 1; optimum <= form 1 <= Vinterbo <= form 2 at all {} points.",
                rows.len()
            ),
            Verdict::Holds,
            better && ordered,
        ),
        Finding::computed(
            "They are close to the optimal mechanism.",
            format!(
                "At epsilon = 1, delta = 1e-6 form 1 is {} times the optimum and form 2 {} times; at epsilon = delta = 1e-3 form 1 is {} times: not close as epsilon goes to 0.",
                short(usual[0]),
                short(usual[1]),
                short(small[0])
            ),
            Verdict::Qualified,
            usual[0] < 1.16 && small[0] > 11.0,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_of_the_abstract() {
        crate::finding::assert_all_shown(&run(&Setting::new(1)).expect("a result").findings);
    }
}
