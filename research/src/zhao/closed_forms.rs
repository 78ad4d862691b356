//! The closed forms against the optimum.

use crate::count_query::sigma;
use crate::format::{long, short};
use crate::ink::inked;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{
    self, Analytic, Classical2014, ClosedForm1, ClosedForm2, Vinterbo,
};

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
#[derive(Clone)]
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
    let columns =
        ["epsilon", "delta", "optimal sigma", "form 1", "form 2", "Vinterbo", "classical 2014"];
    let mut table =
        Table::new("zhao-closed-forms", "Standard deviations in the optimal one", &columns);
    let mut rows = Vec::new();
    for delta in DELTAS {
        for step in 0..=STEPS {
            let row = row(epsilon(step), delta)?;
            let classical = row.classical.map_or_else(|| "not private".to_string(), long);
            let figures =
                [row.epsilon, row.delta, row.optimum].into_iter().chain(row.ratios).map(long);
            table.push(figures.chain([classical]));
            rows.push(row);
        }
    }
    let panel = |delta: f64| {
        let own = || rows.iter().filter(move |row| row.delta == delta);
        let curve = |index: usize| own().map(|row| (row.epsilon, row.ratios[index])).collect();
        let mut series: Vec<Series> = FORMS
            .iter()
            .enumerate()
            .map(|(index, (name, _))| inked(Series::line(*name, curve(index))))
            .collect();
        let classical =
            own().filter_map(|row| row.classical.map(|ratio| (row.epsilon, ratio))).collect();
        series.push(inked(Series::line("classical 2014, where it is private", classical)));
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

/// What "close to optimal" is taken to mean: within a quarter.
const CLOSE: f64 = 1.25;

fn findings(rows: &[Row]) -> Result<Vec<Finding>, ReproductionError> {
    // The two forms of the paper; Vinterbo's is later and another's.
    let over = |include: &dyn Fn(&Row) -> bool, so: &dyn Fn(&Row, f64) -> bool| -> Verdict {
        let mut cases = Vec::new();
        for row in rows.iter().filter(|row| include(row)) {
            for (form, ratio) in ["form 1", "form 2"].into_iter().zip(row.ratios) {
                let name =
                    format!("{form}, epsilon = {}, delta = {:e}", short(row.epsilon), row.delta);
                cases.push((name, Answer::when(so(row, ratio))));
            }
        }
        Verdict::over(&cases.into_iter().collect::<Cases>())
    };
    let order: Cases = rows
        .iter()
        .map(|row| {
            let [form_1, form_2, vinterbo] = row.ratios;
            // The least sigma of each method is stored a few units in the last place above its
            // formula.
            let above = 1.0 + 1e-12;
            let so = form_1 <= vinterbo * above && vinterbo <= form_2 * above;
            (format!("epsilon = {}, delta = {:e}", short(row.epsilon), row.delta), Answer::when(so))
        })
        .collect();
    let usual = row(1.0, 1e-6)?.ratios;
    let small = row(1e-3, 1e-3)?.ratios;
    let last = rows
        .iter()
        .filter(|row| row.classical.is_some_and(|classical| row.ratios[1] > classical))
        .map(|row| row.epsilon)
        .fold(f64::INFINITY, f64::min);
    let worse = if last.is_finite() {
        format!("Form 2 needs more noise than the sigma of 2014 from epsilon = {} on.", short(last))
    } else {
        "Form 2 needs less noise than the sigma of 2014 everywhere.".into()
    };
    Ok(vec![
        Finding::of_paper(
            "Abstract",
            "Our mechanisms achieve (epsilon, delta)-DP for any epsilon.",
            format!("On {} points from epsilon = 0.001 to 100, certified.", rows.len()),
            over(&|_| true, &|_, ratio| ratio >= 1.0 - 1e-12),
        ),
        Finding::of_paper(
            "Abstract",
            "The utilities of our mechanisms improve those of the classical ones.",
            format!("Wherever the sigma of 2014 is private. {worse}"),
            over(&|row| row.classical.is_some(), &|row, ratio| {
                row.classical.is_some_and(|classical| ratio < classical)
            }),
        ),
        Finding::of_paper(
            "Abstract",
            "They are close to that of the optimal mechanism.",
            format!(
                "Close: within 25%. At epsilon = 1, delta = 1e-6 form 1 is {} times the optimum \
                 and form 2 {} times; at epsilon = delta = 1e-3 form 1 is {} times: not close as \
                 epsilon goes to 0.",
                short(usual[0]),
                short(usual[1]),
                short(small[0])
            ),
            over(&|_| true, &|_, ratio| ratio <= CLOSE),
        ),
        Finding::own(
            "Form 1 needs at most the noise of Vinterbo's form, and that at most the noise of form \
             2.",
            format!("On {} points.", rows.len()),
            Verdict::over(&order),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_the_abstract() {
        let rows: Vec<Row> = [(1e-3, 1e-6), (0.1, 1e-4), (1.0, 1e-6), (7.0, 1e-6), (50.0, 1e-2)]
            .into_iter()
            .map(|(epsilon, delta)| row(epsilon, delta).expect("a row"))
            .collect();
        let real = findings(&rows).expect("a result");
        println!("{real:#?}");
        assert_eq!(
            (kinds(&real)[0], kinds(&real)[2], kinds(&real)[3]),
            ("holds", "holds in part", "holds")
        );
        let with = |ratios: [f64; 3], classical: f64| {
            let change = |row: &Row| Row { ratios, classical: Some(classical), ..row.clone() };
            findings(&rows.iter().map(change).collect::<Vec<_>>()).expect("a result")
        };
        let turned = [with([0.9, 0.8, 1.0], 0.5), with([1.1, 1.2, 1.15], 2.0)];
        assert_each_turns(&real, &turned);
    }
}
