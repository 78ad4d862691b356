//! Figure 3: Eqn 17 for probabilistic privacy over the classical bound of Eqn 18, and both against
//! what is exact.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::ink::shaded;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014, Liu, Probabilistic};

pub(crate) const NAME: &str = "liu-bounds";

/// The paper's epsilons lie in (0, 1).
const EPSILONS: [f64; 4] = [0.01, 0.1, 0.5, 0.9];
/// Deltas from 0.005 to 0.495.
const STEPS: u32 = 99;

/// All standard deviations of one budget.
#[derive(Clone, Copy)]
struct Bounds {
    epsilon: f64,
    delta: f64,
    liu: f64,
    classical: f64,
    probabilistic: f64,
    analytic: f64,
}

fn grid() -> Result<Vec<Bounds>, ReproductionError> {
    let mut grid = Vec::new();
    for epsilon in EPSILONS {
        for step in 1..=STEPS {
            let delta = 0.005 * f64::from(step);
            grid.push(Bounds {
                epsilon,
                delta,
                liu: sigma(Liu, epsilon, delta)?,
                classical: sigma(Classical2014, epsilon, delta)?,
                probabilistic: sigma(Probabilistic, epsilon, delta)?,
                analytic: sigma(Analytic, epsilon, delta)?,
            });
        }
    }
    Ok(grid)
}

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let columns =
        ["epsilon", "delta", "Eqn 17", "Eqn 18", "exact probabilistic", "exact (epsilon, delta)"];
    let mut table = Table::new("liu-bounds", "Standard deviations for sensitivity 1", &columns);
    let grid = grid()?;
    for b in &grid {
        table.push([b.epsilon, b.delta, b.liu, b.classical, b.probabilistic, b.analytic].map(long));
    }
    let panel = |title: &str, vertical: Axis, ratio: &dyn Fn(&Bounds) -> f64| {
        let curve = |(index, epsilon): (usize, f64)| {
            let points =
                grid.iter().filter(|b| b.epsilon == epsilon).map(|b| (b.delta, ratio(b))).collect();
            let series = Series::line(format!("\u{3b5} = {epsilon}"), points);
            shaded(series, index, EPSILONS.len())
        };
        Panel {
            title: title.into(),
            horizontal: Axis::linear("\u{3b4}").from_to(0.0, 0.5),
            vertical,
            series: EPSILONS.into_iter().enumerate().map(curve).collect(),
        }
    };
    let ratio = || Axis::linear("ratio of \u{3c3}").with_zero();
    let figure = Figure {
        title: "Bounds on the standard deviation of Gaussian noise (Liu, Figure 3)".into(),
        columns: 3,
        panels: vec![
            panel("Eqn 17 over Eqn 18, as in the paper", ratio(), &|b| b.liu / b.classical),
            panel("Eqn 17 over the least for probabilistic", ratio(), &|b| b.liu / b.probabilistic),
            panel(
                "Least for probabilistic over exact (\u{3b5}, \u{3b4})",
                Axis::logarithmic("ratio of \u{3c3}, logarithmic"),
                &|b| b.probabilistic / b.analytic,
            ),
        ],
    };
    Ok(Outcome {
        findings: findings(&grid)?,
        pictures: vec![("liu-figure-3", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings(grid: &[Bounds]) -> Result<Vec<Finding>, ReproductionError> {
    let ratio = |b: &Bounds| b.liu / b.classical;
    let budget = |b: &Bounds| format!("epsilon = {}, delta = {}", b.epsilon, short(b.delta));
    let over = |so: &dyn Fn(&Bounds) -> bool| -> Verdict {
        Verdict::over(&grid.iter().map(|b| (budget(b), Answer::when(so(b)))).collect())
    };
    let most = grid.iter().map(ratio).fold(0.0, f64::max);
    let of = |epsilon: f64| grid.iter().filter(move |b| b.epsilon == epsilon);
    let mut trends: Vec<(String, Answer)> = Vec::new();
    let mut turns = Vec::new();
    for (index, epsilon) in EPSILONS.into_iter().enumerate() {
        let curve: Vec<f64> = of(epsilon).map(ratio).collect();
        let falls = curve.windows(2).all(|pair| pair[0] > pair[1]);
        trends.push((format!("epsilon = {epsilon} over delta"), Answer::when(falls)));
        if !falls {
            let least = of(epsilon).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            turns.extend(least.map(|b| format!("{} at epsilon = {epsilon}", short(b.delta))));
        }
        if let Some(larger) = EPSILONS.get(index + 1) {
            let grows = of(epsilon).zip(of(*larger)).all(|(a, b)| ratio(a) < ratio(b));
            trends.push((format!("epsilon = {epsilon} and {larger}"), Answer::when(grows)));
        }
    }
    let trends: Cases = trends.into_iter().collect();
    // The smallest delta of the grid for each epsilon.
    let small: Vec<&Bounds> = EPSILONS.into_iter().filter_map(|e| of(e).next()).collect();
    let apart = |b: &Bounds| b.probabilistic / b.analytic;
    let same: Cases =
        small.iter().map(|b| (budget(b), Answer::when((apart(b) - 1.0).abs() < 0.1))).collect();
    let loose = grid.iter().map(|b| b.liu / b.probabilistic).fold(0.0, f64::max);
    let (liu, exact) = (sigma(Liu, 0.1, 0.01)?, sigma(Analytic, 0.1, 0.01)?);
    let eleventh = profile(sigma(Liu, 1.0, 0.05)?)?.two_sided(1.0)?;
    let turn = if turns.is_empty() {
        String::new()
    } else {
        format!(" Along delta it is least at {} and rises again.", turns.join(", "))
    };
    Ok(vec![
        Finding::of_paper(
            "Section 3, Figure 3",
            "The pDP bound (Eqn 17) is tighter than the aDP bound (Eqn 18): their ratio is always \
             below 1.",
            format!("On {} points; the ratio is at most {}.", grid.len(), short(most)),
            over(&|b| ratio(b) < 1.0),
        ),
        Finding::of_paper(
            "Section 3, Figure 3",
            "The smaller epsilon is, or the larger delta is, the smaller the ratio is.",
            format!(
                "Compared between all neighbouring points, epsilon from {} to {}.{turn}",
                EPSILONS[0], EPSILONS[3]
            ),
            Verdict::over(&trends),
        ),
        Finding::of_paper(
            "Sections 2.1 and 3",
            "When delta is small, (epsilon, delta)-aDP and pDP are roughly the same.",
            format!(
                "The least sigma for pDP is {} times that for (epsilon, delta)-DP at delta = 0.005 \
                 and epsilon = 0.01, 0.1, 0.5, 0.9; within 10% would be roughly the same. At \
                 epsilon = 0.1, delta = 0.01 Eqn 17 asks for {}, exact (epsilon, delta)-DP for \
                 {}. Eqn 18 is above both because it is loose.",
                small.iter().map(|b| short(apart(b))).collect::<Vec<_>>().join(", "),
                short(liu),
                short(exact)
            ),
            Verdict::over(&same),
        )
        .corrected_by("L11"),
        Finding::of_paper(
            "Proposition 11, Eqn 17",
            "Eqn 17 is the lower bound on the scale for (epsilon, delta)-pDP.",
            format!(
                "It counts one tail twice: at epsilon = 1, delta = 0.05 the loss exceeds epsilon \
                 with probability {}. The least sigma is up to {} times smaller.",
                short(eleventh.estimate()),
                short(loose)
            ),
            over(&|b| b.liu <= b.probabilistic * (1.0 + 1e-6)),
        )
        .corrected_by("L9"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_figure_3() {
        let grid = grid().expect("computed");
        let real = findings(&grid).expect("a result");
        println!("{real:#?}");
        assert_eq!(kinds(&real)[..1], ["holds"]);
        let over = |change: &dyn Fn(&Bounds) -> Bounds| -> Vec<Bounds> {
            grid.iter().map(change).collect()
        };
        let agreeing = over(&|b| Bounds {
            liu: 2.0 * b.classical,
            probabilistic: 2.0 * b.classical,
            analytic: 2.0 * b.classical,
            ..*b
        });
        // A ratio that falls with delta and grows with epsilon everywhere.
        let steady = over(&|b| Bounds { liu: b.classical * (1.0 + b.epsilon - b.delta), ..*b });
        let turned = [findings(&agreeing).expect("a"), findings(&steady).expect("a")];
        assert_each_turns(&real, &turned);
    }
}
