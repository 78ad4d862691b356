//! Figure 3: Eqn 17 for probabilistic privacy over the classical bound of Eqn 18, and both against what is exact.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014, Liu, Probabilistic};

pub(crate) const NAME: &str = "liu-bounds";

const EPSILONS: [f64; 4] = [0.01, 0.1, 0.5, 1.0];
/// Deltas from 0.005 to 0.495.
const STEPS: u32 = 99;

/// All standard deviations of one budget.
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
    let columns = ["epsilon", "delta", "Eqn 17", "Eqn 18", "exact probabilistic", "exact (epsilon, delta)"];
    let mut table = Table::new("liu-bounds", "Standard deviations for sensitivity 1", &columns);
    let grid = grid()?;
    for b in &grid {
        table.push([b.epsilon, b.delta, b.liu, b.classical, b.probabilistic, b.analytic].map(long));
    }
    let panel = |title: &str, vertical: Axis, ratio: &dyn Fn(&Bounds) -> f64| {
        let curve = |epsilon: f64| {
            let points = grid.iter().filter(|b| b.epsilon == epsilon).map(|b| (b.delta, ratio(b))).collect();
            Series::line(format!("\u{3b5} = {epsilon}"), points)
        };
        Panel {
            title: title.into(),
            horizontal: Axis::linear("\u{3b4}").from_to(0.0, 0.5),
            vertical,
            series: EPSILONS.into_iter().map(curve).collect(),
        }
    };
    let figure = Figure {
        title: "Bounds on the standard deviation of Gaussian noise (Liu, Figure 3)".into(),
        columns: 3,
        panels: vec![
            panel("Eqn 17 over Eqn 18, as in the paper", Axis::linear("ratio of \u{3c3}"), &|b| b.liu / b.classical),
            panel("Eqn 17 over the least for probabilistic", Axis::linear("ratio of \u{3c3}"), &|b| {
                b.liu / b.probabilistic
            }),
            panel(
                "Least for probabilistic over exact (\u{3b5}, \u{3b4})",
                Axis::logarithmic("ratio of \u{3c3}"),
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
    let ratios: Vec<f64> = grid.iter().map(|b| b.liu / b.classical).collect();
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let steps = STEPS as usize;
    let falling = |curve: &[f64]| curve.windows(2).all(|pair| pair[0] > pair[1]);
    let falls_with_delta = ratios.chunks(steps).take(EPSILONS.len() - 1).all(falling);
    let turn = grid[grid.len() - steps..]
        .iter()
        .min_by(|a, b| (a.liu / a.classical).total_cmp(&(b.liu / b.classical)))
        .map_or(f64::NAN, |b| b.delta);
    let grows_with_epsilon = (0..ratios.len() - steps).all(|place| ratios[place] < ratios[place + steps]);
    let loose = grid.iter().map(|b| b.liu / b.probabilistic).fold(0.0, f64::max);
    let (liu, exact) = (sigma(Liu, 0.1, 0.01)?, sigma(Analytic, 0.1, 0.01)?);
    let eleventh = profile(sigma(Liu, 1.0, 0.05)?)?.two_sided(1.0)?;
    Ok(vec![
        Finding::computed(
            "The bound for probabilistic privacy is always below the one for approximate privacy.",
            format!("Eqn 17 is below Eqn 18 on all {} points; the ratio is at most {}.", grid.len(), short(most)),
            Verdict::Holds,
            most < 1.0,
        ),
        Finding::computed(
            "The smaller epsilon or the larger delta, the smaller the ratio.",
            format!(
                "So it is between all neighbouring points, but for epsilon = 1, where the ratio is least at delta = {} and rises again.",
                short(turn)
            ),
            Verdict::Qualified,
            falls_with_delta && grows_with_epsilon && (0.3..0.45).contains(&turn),
        ),
        Finding::computed(
            "Probabilistic and approximate privacy are roughly the same for small delta.",
            format!(
                "At epsilon = 0.1, delta = 0.01 Eqn 17 asks for sigma = {}, exact (epsilon, delta)-privacy for {}. Eqn 18 is above both because it is loose.",
                short(liu),
                short(exact)
            ),
            Verdict::Corrected("L11"),
            liu / exact > 2.5,
        ),
        Finding::computed(
            "Eqn 17 is the lower bound for probabilistic privacy.",
            format!(
                "It counts one tail twice: at epsilon = 1, delta = 0.05 the loss exceeds epsilon with probability {}. The least sigma is up to {} times smaller.",
                short(eleventh.estimate()),
                short(loose)
            ),
            Verdict::Corrected("L9"),
            eleventh.upper() < 0.05 && loose > 1.0,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::assert_all_shown;

    #[test]
    fn the_claims_of_figure_3() {
        assert_all_shown(&run(&Setting::new(1)).expect("a result").findings);
    }
}
