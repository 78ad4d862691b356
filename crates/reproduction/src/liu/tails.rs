//! Figures 4 and 5: how likely large errors are under Laplace and Gaussian noise, and what equal tails cost.

use crate::count_query::{least_epsilon, sigma};
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Liu};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;
use reticent_numerics::normal_quantile::normal_isf;

pub(crate) const NAME: &str = "liu-tails";

const EPSILONS: [f64; 3] = [0.1, 1.0, 2.0];
const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.2];
/// Errors that neither noise exceeds with this probability are left out, as in the paper.
const UNLIKELY: f64 = 1e-4;
const POINTS: u32 = 160;

fn above(z: f64) -> f64 {
    normal_sf(Bounds::exact(z)).estimate()
}

/// The `z` with upper tail `p`.
fn upper_point(p: f64) -> f64 {
    normal_isf(Bounds::exact(p)).estimate()
}

/// `P[|Laplace| > t] / P[|Gaussian| > t]` and the larger of the two.
fn tail_ratio(t: f64, epsilon: f64, sigma: f64) -> (f64, f64) {
    let (laplace, gaussian) = ((-t * epsilon).exp(), 2.0 * above(t / sigma));
    (laplace / gaussian, laplace.max(gaussian))
}

/// The epsilon at which Eqn 17 gives `sigma`: `1/(2 sigma^2) + q/sigma` with `q` the upper `delta/2` point.
fn epsilon_of_equation_17(sigma: f64, delta: f64) -> f64 {
    0.5 / (sigma * sigma) + upper_point(delta / 2.0) / sigma
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = ["epsilon", "delta", "error", "Laplace : Gaussian of Eqn 17", "Laplace : exact Gaussian"];
    let mut tails = Table::new("liu-tails", "Ratios of the probabilities of a larger error", &columns);
    let columns = ["epsilon_1", "delta", "error", "epsilon_2 of Eqn 17", "exact epsilon_2"];
    let mut costs = Table::new("liu-costs", "Privacy losses of equal tails", &columns);
    let (mut panels, mut cost_panels) = (Vec::new(), Vec::new());
    let mut turning = Vec::new();
    for (place, epsilon) in EPSILONS.into_iter().enumerate() {
        setting.reached(place, EPSILONS.len());
        let (mut series, mut cost_series) = (Vec::new(), Vec::new());
        // From there on Laplace noise itself is unlikely.
        let reach = -UNLIKELY.ln() / epsilon;
        for delta in DELTAS {
            let (printed, exact) = (sigma(Liu, epsilon, delta)?, sigma(Analytic, epsilon, delta)?);
            let (mut ratios, mut losses) = (Vec::new(), Vec::new());
            for i in 1..=POINTS {
                let t = 1.3 * reach * f64::from(i) / f64::from(POINTS);
                let (ratio, likely) = tail_ratio(t, epsilon, printed);
                tails.push([epsilon, delta, t, ratio, tail_ratio(t, epsilon, exact).0].map(long));
                if likely > UNLIKELY {
                    ratios.push((t, ratio));
                }
                if t <= reach {
                    let equal = t / upper_point((-t * epsilon).exp() / 2.0);
                    let (second, least) = (epsilon_of_equation_17(equal, delta), least_epsilon(equal, delta)?);
                    costs.push([epsilon, delta, t, second, least].map(long));
                    losses.push((t, second / epsilon, least / epsilon));
                }
            }
            let lowest = ratios.iter().copied().fold((0.0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
            let back = ratios.iter().find(|point| point.0 > lowest.0 && point.1 > 1.0).map(|point| point.0);
            turning.push((epsilon, delta, lowest, back));
            series.push(Series::line(format!("\u{3b4} = {delta}"), ratios));
            cost_series
                .push(Series::line(format!("\u{3b4} = {delta}, Eqn 17"), losses.iter().map(|l| (l.0, l.1)).collect()));
            if delta == 0.01 || delta == 0.2 {
                let exact = losses.iter().map(|l| (l.0, l.2)).collect();
                cost_series.push(Series::line(format!("\u{3b4} = {delta}, exact (\u{3b5}, \u{3b4})"), exact));
            }
        }
        let ends = [0.0, 1.3 * reach];
        let one = |to: f64| Series::reference("equal", vec![(ends[0], 1.0), (to, 1.0)]);
        series.push(one(ends[1]));
        cost_series.push(one(reach));
        let horizontal = || Axis::linear("error |t| (sensitivities)");
        panels.push(Panel {
            title: format!("\u{3b5} = {epsilon}"),
            horizontal: horizontal(),
            vertical: Axis::logarithmic("tail of Laplace : tail of Gaussian").from_to(0.03, 100.0),
            series,
        });
        cost_panels.push(Panel {
            title: format!("\u{3b5}\u{2081} = {epsilon}"),
            horizontal: horizontal(),
            vertical: Axis::linear("Gaussian \u{3b5}\u{2082} : Laplace \u{3b5}\u{2081}"),
            series: cost_series,
        });
    }
    let figure_4 = Figure { title: "Tail probabilities of the noise (Liu, Figure 4)".into(), columns: 3, panels };
    let title = "Privacy loss of Gaussian noise with the tail of Laplace noise (Liu, Figure 5)";
    let figure_5 = Figure { title: title.into(), columns: 3, panels: cost_panels };
    Ok(Outcome {
        findings: findings(&turning)?,
        pictures: vec![("liu-figure-4", Picture::Figure(figure_4)), ("liu-figure-5", Picture::Figure(figure_5))],
        tables: vec![tails, costs],
    })
}

/// Epsilon, delta, the lowest point of the ratio, and where it is above 1 again.
type Turning = (f64, f64, (f64, f64), Option<f64>);

fn findings(turning: &[Turning]) -> Result<Vec<Finding>, ReproductionError> {
    let later = |a: Option<f64>, b: Option<f64>| a.unwrap_or(f64::INFINITY) >= b.unwrap_or(f64::INFINITY);
    let by_delta = turning.chunks(DELTAS.len()).all(|row| row.windows(2).all(|pair| later(pair[0].3, pair[1].3)));
    let columns = DELTAS.len();
    let by_epsilon = (0..turning.len() - columns)
        .filter_map(|place| turning[place].3.zip(turning[place + columns].3))
        .all(|(smaller, larger)| smaller > larger);
    let dips = turning.iter().all(|(_, _, lowest, _)| lowest.1 < 1.0);
    let returns: Vec<_> = turning.iter().filter(|turn| turn.3.is_some()).collect();
    let smallest = turning.iter().min_by(|a, b| a.2.1.total_cmp(&b.2.1)).map_or((0.0, 0.0, 0.0), |t| (t.0, t.1, t.2.1));
    // Proposition 12: sigma^2 against 2/epsilon^2, with the constant as printed and as it is.
    let printed_constant = 2.0 * (1.0 - above(2f64.sqrt()));
    let constant = 2.0 * above(2f64.sqrt());
    let variance_ratio = |epsilon: f64, delta: f64| {
        Ok::<_, ReproductionError>(sigma(Liu, epsilon, delta)?.powi(2) * epsilon * epsilon / 2.0)
    };
    let exact_condition = |epsilon: f64| 2.0 * above(2f64.sqrt() - epsilon / 8f64.sqrt());
    let (inside, outside) = (exact_condition(1.0) * 0.999, exact_condition(1.0) * 1.001);
    let boundary = variance_ratio(1.0, inside)? > 1.0 && variance_ratio(1.0, outside)? < 1.0;
    let analytic = sigma(Analytic, 1.0, 0.05)?.powi(2) / 2.0;
    Ok(vec![
        Finding::computed(
            "From 1 at t = 0 the ratio falls, hits the bottom and bounces back, in some cases above 1.",
            format!(
                "It falls below 1 in all {} cases (lowest: {} at epsilon = {}, delta = {}) and is above 1 again in {} of them, among errors that are not unlikely.",
                turning.len(),
                short(smallest.2),
                smallest.0,
                smallest.1,
                returns.len()
            ),
            Verdict::Holds,
            dips && !returns.is_empty(),
        ),
        Finding::computed(
            "The smaller epsilon or delta is, the longer it takes to bounce back.",
            "So it is, in units of the answer, wherever it does so among errors that are not unlikely.".into(),
            Verdict::Holds,
            by_delta && by_epsilon,
        ),
        Finding::computed(
            "Proposition 12: for delta < 2 Phi(sqrt 2) = 0.157 Gaussian noise has the larger variance.",
            format!(
                "2 Phi(sqrt 2) is {}; the constant is 2 Phi(-sqrt 2) = {}, and the exact condition delta < 2 Phi(-sqrt 2 + epsilon/sqrt 8), at epsilon = 1: {}.",
                short(printed_constant),
                short(constant),
                short(exact_condition(1.0))
            ),
            Verdict::Corrected("L10"),
            boundary && printed_constant > 1.0 && (constant - 0.1573).abs() < 1e-4,
        ),
        Finding::computed(
            "Laplace noise is superior to Gaussian noise.",
            format!(
                "To Gaussian noise of Eqn 17. With exact (epsilon, delta)-calibration the variance at epsilon = 1, delta = 0.05 is {} of Laplace's.",
                short(analytic)
            ),
            Verdict::Corrected("N2"),
            analytic < 1.0,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::assert_all_shown;

    #[test]
    fn the_claims_of_figures_4_and_5() {
        assert_all_shown(&run(&Setting::new(1)).expect("a result").findings);
    }

    #[test]
    fn equation_17_is_solved_for_epsilon() {
        for (epsilon, delta) in [(0.1, 0.01), (2.0, 0.2)] {
            let back = epsilon_of_equation_17(sigma(Liu, epsilon, delta).expect("certified"), delta);
            assert!((back / epsilon - 1.0).abs() < 1e-12, "{back}");
        }
    }
}
