//! Figure 1: the probability of an error within a bound, by Laplace noise, by R2DP and by the
//! optimal noise.
//!
//! The R2DP mechanisms are those of Sections 4.5 and 4.6, each with the parameters that its family
//! does best with, and the loss of Theorem 4.3, certified. Above them is the best that any
//! distribution of the inverse scale can reach, which has two points (erratum R3), and above that
//! the best that any noise can reach, the staircase.

use super::algorithm_1;
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_choice::least_exceedance;
use reticent_choice::random_scale::{ConditionalLoss, Family, best_inverse_scale};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const NAME: &str = "r2dp-usefulness";

/// Error bounds, in sensitivities.
const BOUNDS: [f64; 4] = [0.05, 0.1, 0.3, 0.5];
/// Epsilons from 0.5 to 8.
const STEPS: u64 = 61;
const STEP: f64 = 0.125;
/// What "near-optimal" is taken to mean: at least so much of the usefulness of the optimum.
const NEAR: f64 = 0.95;
const FAMILIES: [(&str, Family); 4] = [
    ("R2DP, gamma", Family::Gamma),
    ("R2DP, uniform", Family::Uniform),
    ("R2DP, truncated Gaussian", Family::TruncatedGaussian),
    (algorithm_1::NAME, Family::Combined),
];
const LAPLACE: &str = "Laplace";
const TWO_POINT: &str = "R2DP, best possible (two points)";
const STAIRCASE: &str = "staircase (best of all noise)";

/// The usefulness of every noise at one epsilon and one error bound: lower bounds, but for the
/// staircase's estimate of the limit.
#[derive(Clone)]
struct Row {
    bound: f64,
    epsilon: f64,
    laplace: f64,
    families: Vec<f64>,
    two_point: f64,
    /// No distribution of the inverse scale does better: proved.
    ceiling: f64,
    staircase: f64,
}

impl Row {
    fn at(bound: f64, epsilon: f64) -> Result<Self, ReproductionError> {
        let loss = ConditionalLoss::Exceedance(bound);
        let best = best_inverse_scale(&loss, epsilon, 1.0);
        let mut families = Vec::new();
        for (_, family) in FAMILIES {
            families.push(algorithm_1::usefulness(family, bound, epsilon)?);
        }
        Ok(Row {
            bound,
            epsilon,
            laplace: 1.0 - best.laplace.upper(),
            families,
            two_point: 1.0 - best.cost.upper(),
            ceiling: 1.0 - best.floor,
            staircase: 1.0 - least_exceedance(epsilon, 1.0, bound).least.upper(),
        })
    }
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let rows = repeated(setting, STEPS * BOUNDS.len() as u64, |place| {
        Row::at(BOUNDS[(place / STEPS) as usize], STEP * (place % STEPS + 4) as f64)
    })?;
    let columns = [
        "bound",
        "epsilon",
        LAPLACE,
        FAMILIES[0].0,
        FAMILIES[1].0,
        FAMILIES[2].0,
        FAMILIES[3].0,
        TWO_POINT,
        "proved ceiling of R2DP",
        STAIRCASE,
    ];
    let mut table =
        Table::new("r2dp-usefulness", "P(|error| <= bound), bounds in sensitivities", &columns);
    for row in &rows {
        let figures =
            [row.bound, row.epsilon, row.laplace].into_iter().chain(row.families.iter().copied());
        table.push(figures.chain([row.two_point, row.ceiling, row.staircase]).map(long));
    }
    let panel = |bound: f64| {
        let own = || rows.iter().filter(move |row| row.bound == bound);
        let curve = |name: &str, value: &dyn Fn(&Row) -> f64| {
            inked(Series::line(name, own().map(|row| (row.epsilon, value(row))).collect()))
        };
        let mut series = vec![curve(LAPLACE, &|row| row.laplace)];
        for (place, (name, _)) in FAMILIES.iter().enumerate() {
            series.push(curve(name, &|row| row.families[place]));
        }
        series.push(curve(TWO_POINT, &|row| row.two_point));
        series.push(curve(STAIRCASE, &|row| row.staircase));
        Panel {
            title: format!("error bound {bound} sensitivities"),
            horizontal: Axis::linear("privacy loss \u{3b5}"),
            vertical: Axis::linear("P(|error| within the bound)").from_to(0.0, 1.03),
            series,
        }
    };
    let figure = Figure {
        title: "Usefulness of Laplace, R2DP and staircase noise (Mohammady, Figure 1)".into(),
        columns: 2,
        panels: BOUNDS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&rows, two_point_epsilons([0.01, 5.0], [0.5, 0.5]))?,
        pictures: vec![("r2dp-figure-1", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// Theorem 4.8's epsilon for inverse scales `t` of weights `p`, and the true one of Theorem 4.3.
fn two_point_epsilons(t: [f64; 2], p: [f64; 2]) -> (f64, f64) {
    let printed = (p[0] * t[0].exp() + p[1] * t[1].exp()).ln();
    let mean = p[0] * t[0] + p[1] * t[1];
    (printed, (mean / (p[0] * t[0] * (-t[0]).exp() + p[1] * t[1] * (-t[1]).exp())).ln())
}

fn findings(rows: &[Row], eighth: (f64, f64)) -> Result<Vec<Finding>, ReproductionError> {
    let four = rows
        .iter()
        .find(|row| row.bound == 0.1 && row.epsilon == 4.0)
        .ok_or(ReproductionError::NotComputed("the usefulness at epsilon = 4"))?;
    let largest = rows.iter().map(|row| row.epsilon).fold(0.0, f64::max);
    let best_family = |row: &Row| row.families.iter().copied().fold(0.0, f64::max);
    let over = |include: &dyn Fn(&Row) -> bool, so: &dyn Fn(&Row) -> bool| -> Verdict {
        let cases: Cases = rows
            .iter()
            .filter(|row| include(row))
            .map(|row| {
                let name = format!("epsilon = {}, bound {}", short(row.epsilon), row.bound);
                (name, Answer::when(so(row)))
            })
            .collect();
        Verdict::over(&cases)
    };
    let all = |_: &Row| true;
    let certified = rows.iter().map(|row| row.ceiling - row.two_point).fold(0.0, f64::max);
    let (printed, right) = eighth;
    Ok(vec![
        Finding::of_paper(
            "Section 4.2, Figure 1",
            "Randomized DP improves Laplace mechanisms for larger epsilon.",
            format!(
                "At epsilon = {}, where it must be so at every bound. At epsilon = 4 and a bound \
                 of 0.1: Laplace {}, gamma {}, uniform {}, truncated Gaussian {}, combined {}.",
                short(largest),
                short(four.laplace),
                short(four.families[0]),
                short(four.families[1]),
                short(four.families[2]),
                short(four.families[3])
            ),
            over(&|row| row.epsilon == largest, &|row| best_family(row) > row.laplace + 1e-6),
        ),
        Finding::of_paper(
            "Sections 4.2 and 4.6, Figure 1, Algorithm 1",
            "Randomized DP approaches the optimal mechanism; Algorithm 1 is near-optimal.",
            format!(
                "Near: at least 95% of the usefulness of the staircase. At epsilon = 4 and a bound \
                 of 0.1 the staircase reaches {}, Algorithm 1 {}, the best of all distributions of \
                 the scale {}.",
                short(four.staircase),
                short(four.families[3]),
                short(four.two_point)
            ),
            over(&all, &|row| best_family(row) >= NEAR * row.staircase),
        )
        .corrected_by("R8"),
        Finding::of_paper(
            "Section 4.5.1",
            "The Bernoulli distribution does not improve on the baseline.",
            format!(
                "The best two-point distribution is the best of all, proved within {} of \
                 usefulness on all {} points; it brings nothing where nothing does.",
                short(certified),
                rows.len()
            ),
            over(&all, &|row| row.two_point <= row.laplace + 1e-9),
        )
        .corrected_by("R3"),
        Finding::of_paper(
            "Theorem 4.8",
            "Two inverse scales with probability p and 1 - p satisfy ln E[e^(T D)]-DP.",
            format!(
                "Unsound: for inverse scales 0.01 and 5 with equal chance it gives {}, and the \
                 loss is {}.",
                short(printed),
                short(right)
            ),
            Verdict::when(right <= printed),
        )
        .corrected_by("R1"),
        Finding::own(
            "No family is above the best two-point distribution, nor that above the staircase.",
            format!("On all {} points.", rows.len()),
            over(&all, &|row| {
                best_family(row) <= row.ceiling && row.two_point <= row.staircase + 1e-12
            }),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of erratum R8 at epsilon = 4 and a bound of 0.1, from an independent
    /// computation.
    #[test]
    fn figures_of_erratum_r8() {
        let row = Row::at(0.1, 4.0).expect("a row");
        for (found, expected) in [
            (row.laplace, 0.330),
            (row.families[0], 0.394),
            (row.families[1], 0.386),
            (row.families[2], 0.406),
            (row.two_point, 0.481),
            (row.staircase, 0.843),
        ] {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
        assert!(row.families[3] > 0.406, "{}", row.families[3]);
        let (printed, right) = two_point_epsilons([0.01, 5.0], [0.5, 0.5]);
        assert!(
            (printed - 4.314).abs() < 1e-3 && (right - 4.744).abs() < 1e-3,
            "erratum R1: {printed} {right}"
        );
    }

    #[test]
    fn no_family_is_above_the_proved_ceiling_nor_that_above_the_staircase() {
        for (bound, epsilon) in [(0.3, 2.0), (0.5, 6.0), (0.8, 9.5)] {
            let row = Row::at(bound, epsilon).expect("a row");
            assert!(row.families.iter().all(|useful| *useful <= row.ceiling), "{bound} {epsilon}");
            assert!(
                row.ceiling <= row.staircase + 1e-9 && row.laplace <= row.two_point,
                "{bound} {epsilon}"
            );
        }
    }

    /// Rows that were made up: R2DP worse than Laplace noise, as good as the staircase, above it.
    #[test]
    fn the_verdicts_of_figure_1() {
        use crate::finding::tests::{assert_each_turns, kinds};
        let row = |bound: f64, epsilon: f64| Row::at(bound, epsilon).expect("a row");
        let rows = vec![row(0.1, 1.0), row(0.1, 4.0), row(0.1, 8.0), row(0.5, 8.0)];
        let eighth = two_point_epsilons([0.01, 5.0], [0.5, 0.5]);
        let real = findings(&rows, eighth).expect("a result");
        assert_eq!(
            kinds(&real),
            ["holds", "holds in part", "holds in part", "does not hold here", "holds"],
            "{real:#?}"
        );
        let changed = |change: &dyn Fn(&mut Row)| {
            let mut rows = rows.clone();
            rows.iter_mut().for_each(change);
            findings(&rows, (5.0, 4.0)).expect("a result")
        };
        let useless = changed(&|row| {
            row.families = vec![row.laplace - 0.1; 4];
            row.two_point = row.laplace;
        });
        let best = changed(&|row| row.families = vec![row.staircase + 0.1; 4]);
        assert_each_turns(&real, &[useless, best]);
    }
}
