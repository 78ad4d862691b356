//! Figures 4 and 5: how likely large errors are under Laplace and Gaussian noise, and what equal
//! tails cost.

use crate::count_query::{least_epsilon, sigma};
use crate::format::{long, short};
use crate::ink::{inked, shaded};
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Liu};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;
use reticent_numerics::normal_quantile::normal_isf;

pub(crate) const NAME: &str = "liu-tails";

const EPSILONS: [f64; 3] = [0.1, 1.0, 2.0];
const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.2];
/// Errors that neither noise exceeds with this probability are drawn in grey, as in the paper.
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

/// The epsilon at which Eqn 17 gives `sigma`: `1/(2 sigma^2) + q/sigma` with `q` the upper
/// `delta/2` point.
fn epsilon_of_equation_17(sigma: f64, delta: f64) -> f64 {
    0.5 / (sigma * sigma) + upper_point(delta / 2.0) / sigma
}

/// The error, `epsilon_2` of Eqn 17, the exact one, and whether the tail is likelier than 1e-4.
type Cost = (f64, f64, f64, bool);

/// The ratios of one budget.
#[derive(Clone)]
struct Curve {
    epsilon: f64,
    delta: f64,
    /// The error `t`, the ratio of the tails, and whether either is likelier than 1e-4.
    ratios: Vec<(f64, f64, bool)>,
    costs: Vec<Cost>,
}

impl Curve {
    fn at(epsilon: f64, delta: f64) -> Result<Self, ReproductionError> {
        let printed = sigma(Liu, epsilon, delta)?;
        // From there on Laplace noise itself is unlikely.
        let reach = -UNLIKELY.ln() / epsilon;
        let (mut ratios, mut costs) = (Vec::new(), Vec::new());
        for i in 1..=POINTS {
            let t = 1.3 * reach * f64::from(i) / f64::from(POINTS);
            let (ratio, likely) = tail_ratio(t, epsilon, printed);
            ratios.push((t, ratio, likely > UNLIKELY));
            let equal = t / upper_point((-t * epsilon).exp() / 2.0);
            let (second, least) =
                (epsilon_of_equation_17(equal, delta), least_epsilon(equal, delta)?);
            costs.push((t, second, least, t <= reach));
        }
        Ok(Curve { epsilon, delta, ratios, costs })
    }

    fn name(&self) -> String {
        format!("epsilon = {}, delta = {}", self.epsilon, self.delta)
    }

    /// The ratios of errors that are not unlikely.
    fn likely(&self) -> Vec<(f64, f64)> {
        self.ratios.iter().filter(|point| point.2).map(|point| (point.0, point.1)).collect()
    }

    /// The lowest point among them.
    fn bottom(&self) -> (f64, f64) {
        let lower = |a: (f64, f64), b: (f64, f64)| if b.1 < a.1 { b } else { a };
        self.likely().into_iter().fold((0.0, f64::INFINITY), lower)
    }

    /// Whether the ratio falls from 1 until the bottom and rises from there on, and does rise.
    fn bounces(&self) -> bool {
        let (likely, bottom) = (self.likely(), self.bottom());
        let falling = |pair: &[(f64, f64)]| pair[0].1 > pair[1].1;
        let before: Vec<_> = likely.iter().copied().filter(|point| point.0 <= bottom.0).collect();
        let after: Vec<_> = likely.iter().copied().filter(|point| point.0 >= bottom.0).collect();
        bottom.1 < 1.0
            && before.windows(2).all(falling)
            && after.len() > 1
            && !after.windows(2).any(falling)
    }

    /// Whether it is above 1 after the bottom.
    fn exceeds(&self) -> bool {
        let bottom = self.bottom();
        self.likely().iter().any(|point| point.0 > bottom.0 && point.1 > 1.0)
    }
}

/// The curves by epsilon and then by delta.
fn curves(setting: &Setting) -> Result<Vec<Curve>, ReproductionError> {
    repeated(setting, (EPSILONS.len() * DELTAS.len()) as u64, |job| {
        let job = job as usize;
        Curve::at(EPSILONS[job / DELTAS.len()], DELTAS[job % DELTAS.len()])
    })
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let curves = curves(setting)?;
    let columns = ["epsilon", "delta", "error", "Laplace : Gaussian of Eqn 17"];
    let mut tails =
        Table::new("liu-tails", "Ratios of the probabilities of a larger error", &columns);
    let columns = ["epsilon_1", "delta", "error", "epsilon_2 of Eqn 17", "exact epsilon_2"];
    let mut costs = Table::new("liu-costs", "Privacy losses of equal tails", &columns);
    for curve in &curves {
        for (t, ratio, _) in &curve.ratios {
            tails.push([curve.epsilon, curve.delta, *t, *ratio].map(long));
        }
        for (t, second, least, _) in &curve.costs {
            costs.push([curve.epsilon, curve.delta, *t, *second, *least].map(long));
        }
    }
    let panels = EPSILONS.into_iter().map(|epsilon| tail_panel(&curves, epsilon)).collect();
    let cost_panels = EPSILONS.into_iter().map(|epsilon| cost_panel(&curves, epsilon)).collect();
    let figure_4 = Figure {
        title: "Tail probabilities of the noise (Liu, Figure 4)".into(),
        columns: 3,
        panels,
    };
    let title = "Privacy loss of Gaussian noise with the tail of Laplace noise (Liu, Figure 5)";
    let figure_5 = Figure { title: title.into(), columns: 3, panels: cost_panels };
    Ok(Outcome {
        findings: findings(&curves, &Variances::computed()?),
        pictures: vec![
            ("liu-figure-4", Picture::Figure(figure_4)),
            ("liu-figure-5", Picture::Figure(figure_5)),
        ],
        tables: vec![tails, costs],
    })
}

/// The grey curves of the paper: unlikely errors.
const UNLIKELY_NAME: &str = "both tails below 1e-4";

fn tail_panel(curves: &[Curve], epsilon: f64) -> Panel {
    let mut series = Vec::new();
    for (index, curve) in curves.iter().filter(|curve| curve.epsilon == epsilon).enumerate() {
        let likely = curve.likely();
        // The grey part begins where the other ends.
        let last = likely.last().map_or(0.0, |point| point.0);
        let grey = curve.ratios.iter().filter(|point| point.0 >= last);
        series.push(Series::faint(UNLIKELY_NAME, grey.map(|point| (point.0, point.1)).collect()));
        let line = Series::line(format!("\u{3b4} = {}", curve.delta), likely);
        series.push(shaded(line, index, DELTAS.len()));
    }
    let ends = [0.0, -1.3 * UNLIKELY.ln() / epsilon];
    series.push(Series::reference("equal", ends.map(|t| (t, 1.0)).to_vec()));
    Panel {
        title: format!("\u{3b5} = {epsilon}"),
        horizontal: Axis::linear("error |t| (sensitivities)").from_to(ends[0], ends[1]),
        vertical: Axis::logarithmic("tail of Laplace : tail of Gaussian").from_to(0.01, 1000.0),
        series,
    }
}

fn cost_panel(curves: &[Curve], epsilon: f64) -> Panel {
    let mut series = Vec::new();
    for (index, curve) in curves.iter().filter(|curve| curve.epsilon == epsilon).enumerate() {
        let line = |likely: bool, value: &dyn Fn(&Cost) -> f64| {
            let own = curve.costs.iter().filter(|cost| cost.3 == likely);
            own.map(|cost| (cost.0, value(cost) / epsilon)).collect::<Vec<_>>()
        };
        series.push(Series::faint(UNLIKELY_NAME, line(false, &|cost| cost.1)));
        let name = format!("\u{3b4} = {}", curve.delta);
        let eqn_17 = Series::line(name, line(true, &|cost| cost.1));
        series.push(shaded(eqn_17, index, DELTAS.len()));
        if curve.delta == DELTAS[0] || curve.delta == DELTAS[3] {
            let name = format!("Gaussian, exact at \u{3b4} = {}", curve.delta);
            series.push(inked(Series::line(name, line(true, &|cost| cost.2))));
        }
    }
    let ends = [0.0, -1.3 * UNLIKELY.ln() / epsilon];
    series.push(Series::reference("equal", ends.map(|t| (t, 1.0)).to_vec()));
    Panel {
        title: format!("\u{3b5}\u{2081} = {epsilon}"),
        horizontal: Axis::linear("error |t| (sensitivities)").from_to(ends[0], ends[1]),
        vertical: Axis::linear("Gaussian \u{3b5}\u{2082} : Laplace \u{3b5}\u{2081}").with_zero(),
        series,
    }
}

/// Variances of Gaussian noise in that of Laplace noise.
#[derive(Clone)]
struct Variances {
    /// Epsilon, delta, and the ratio with the sigma of Eqn 17.
    of_equation_17: Vec<(f64, f64, f64)>,
    /// The ratio at epsilon = 1, delta = 0.05 with the exact sigma.
    exact: f64,
}

impl Variances {
    /// On a grid of epsilon from 0.01 to 10 and delta up to 0.95, the printed 0.157 among them.
    fn computed() -> Result<Self, ReproductionError> {
        let mut of_equation_17 = Vec::new();
        for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0] {
            for delta in [1e-6, 0.01, 0.05, 0.1, 0.157, 0.25, 0.5, 0.95] {
                let ratio = sigma(Liu, epsilon, delta)?.powi(2) * epsilon * epsilon / 2.0;
                of_equation_17.push((epsilon, delta, ratio));
            }
        }
        let exact = sigma(Analytic, 1.0, 0.05)?.powi(2) / 2.0;
        Ok(Variances { of_equation_17, exact })
    }

    /// Whether the Gaussian variance is the larger at every epsilon, for the deltas below a bound.
    fn larger_below(&self, bound: f64) -> Answer {
        let mut own = self.of_equation_17.iter().filter(|row| row.1 <= bound);
        Answer::when(own.all(|row| row.2 > 1.0))
    }
}

fn findings(curves: &[Curve], variances: &Variances) -> Vec<Finding> {
    let each = |so: &dyn Fn(&Curve) -> bool| -> Cases {
        curves.iter().map(|curve| (curve.name(), Answer::when(so(curve)))).collect()
    };
    // Pairs of neighbouring budgets: one parameter smaller, the other the same.
    let mut later = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let by_delta = curves.get(index + 1).filter(|next| next.epsilon == curve.epsilon);
        let by_epsilon = curves.get(index + DELTAS.len());
        for larger in by_delta.into_iter().chain(by_epsilon) {
            let so = curve.bottom().0 > larger.bottom().0;
            later.push((format!("{} and {}", curve.name(), larger.name()), Answer::when(so)));
        }
    }
    let later: Cases = later.into_iter().collect();
    let cheaper: Cases = curves
        .windows(2)
        .filter(|pair| pair[0].epsilon == pair[1].epsilon)
        .map(|pair| {
            let mut costs = pair[0].costs.iter().zip(&pair[1].costs).filter(|cost| cost.0.3);
            (
                format!("{} and {}", pair[0].name(), pair[1].delta),
                Answer::when(costs.all(|(less, more)| more.1 < less.1)),
            )
        })
        .collect();
    let lowest = curves.iter().min_by(|a, b| a.bottom().1.total_cmp(&b.bottom().1));
    let lowest = lowest.map_or_else(String::new, |curve| {
        format!("{} at {}", short(curve.bottom().1), curve.name())
    });
    let exceeding = curves.iter().filter(|curve| curve.exceeds()).count();
    let below_exact: Cases = each(&|curve| curve.costs.iter().all(|cost| cost.2 < cost.1));
    // Proposition 12: sigma^2 against 2/epsilon^2, with the constant as printed and as it is.
    let printed_constant = 2.0 * (1.0 - above(2f64.sqrt()));
    let constant = 2.0 * above(2f64.sqrt());
    let exact_condition = |epsilon: f64| 2.0 * above(2f64.sqrt() - epsilon / 8f64.sqrt());
    let twelfth: Cases = [
        ("0.157, the number that is printed".to_string(), variances.larger_below(0.157)),
        (format!("2 Phi(sqrt 2) = {}", short(printed_constant)), variances.larger_below(1.0)),
    ]
    .into_iter()
    .collect();
    let experiments = |row: &&(f64, f64, f64)| {
        [0.5, 1.0, 2.0].contains(&row.0) && [0.01, 0.05, 0.1, 0.25].contains(&row.1)
    };
    let superior: Cases = variances
        .of_equation_17
        .iter()
        .filter(experiments)
        .map(|row| (format!("epsilon = {}, delta = {}", row.0, row.1), Answer::when(row.2 > 1.0)))
        .collect();
    vec![
        Finding::of_paper(
            "Section 3, Figure 4",
            "After the take-off at 1 the ratio of the tails decreases until it hits the bottom and \
             then bounces back.",
            format!(
                "Over {} curves, errors that neither noise exceeds with probability 1e-4 left out. \
                 Lowest: {lowest}.",
                curves.len()
            ),
            Verdict::over(&each(&Curve::bounces)),
        ),
        Finding::of_paper(
            "Section 3, Figure 4",
            "Some cases eventually exceed 1.",
            format!("{exceeding} of {} do, among errors that are not unlikely.", curves.len()),
            Verdict::when(exceeding > 0),
        ),
        Finding::of_paper(
            "Section 3, Figure 4",
            "The smaller epsilon or delta is, the longer it takes for the bounce-back to occur.",
            "Where the bottom lies, in units of the answer, between neighbouring budgets.".into(),
            Verdict::over(&later),
        ),
        Finding::of_paper(
            "Section 3, Figure 5",
            "The larger delta is at a given |t|, the smaller epsilon_2 is, relative to epsilon_1.",
            "Between neighbouring deltas, at every error that is not unlikely.".into(),
            Verdict::over(&cheaper),
        ),
        Finding::of_paper(
            "Proposition 12",
            "When delta < 2 Phi(sqrt 2), about 0.157, the variance of Gaussian noise is always \
             greater than that of Laplace noise.",
            format!(
                "2 Phi(sqrt 2) is {}; the constant is 2 Phi(-sqrt 2) = {}, and the exact condition \
                 delta < 2 Phi(-sqrt 2 + epsilon/sqrt 8), at epsilon = 1: {}.",
                short(printed_constant),
                short(constant),
                short(exact_condition(1.0))
            ),
            Verdict::over(&twelfth),
        )
        .corrected_by("L10"),
        Finding::of_paper(
            "Section 3, after Proposition 12",
            "It can be argued that the Laplace mechanism is superior to the Gaussian mechanism.",
            format!(
                "By variance, with the sigma of Eqn 17, at the twelve budgets of Section 4. With \
                 exact (epsilon, delta)-calibration the variance at epsilon = 1, delta = 0.05 is \
                 {} of Laplace's.",
                short(variances.exact)
            ),
            Verdict::over(&superior),
        )
        .corrected_by("N2"),
        Finding::own(
            "With exact calibration the epsilon_2 of equal tails is smaller than Eqn 17 says.",
            "At every error and budget of Figure 5.".into(),
            Verdict::over(&below_exact),
        ),
        Finding::own(
            "With exact calibration Gaussian noise has the smaller variance at epsilon = 1, delta \
             = 0.05.",
            format!("{} of the variance of Laplace noise (erratum N2).", short(variances.exact)),
            Verdict::when(variances.exact < 1.0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn the_verdicts_of_figures_4_and_5() {
        let curves = curves(&Setting::new(1)).expect("computed");
        let variances = Variances::computed().expect("computed");
        let real = findings(&curves, &variances);
        println!("{real:#?}");
        assert_eq!(kinds(&real)[3..5], ["holds", "holds in part"]);
        let changed = |change: &dyn Fn(&mut Curve)| {
            let mut curves = curves.clone();
            curves.iter_mut().for_each(change);
            curves
        };
        // Ratios that never bounce back, and costs that grow with delta.
        let falling = changed(&|curve| {
            curve.ratios.iter_mut().for_each(|point| point.1 = 1.0 / (1.0 + point.0));
            let delta = curve.delta;
            curve.costs.iter_mut().for_each(|cost| (cost.1, cost.2) = (delta, 1.0));
        });
        let bouncing = changed(&|curve| {
            let bottom = 2.0 / curve.epsilon - curve.delta;
            for point in &mut curve.ratios {
                *point = (point.0, 0.5 + (point.0 - bottom).powi(2), true);
            }
        });
        let smaller = Variances {
            of_equation_17: variances.of_equation_17.iter().map(|v| (v.0, v.1, 0.5)).collect(),
            exact: 2.0,
        };
        let turned = [findings(&falling, &smaller), findings(&bouncing, &variances)];
        assert_each_turns(&real, &turned);
    }

    #[test]
    fn equation_17_is_solved_for_epsilon() {
        for (epsilon, delta) in [(0.1, 0.01), (2.0, 0.2)] {
            let back =
                epsilon_of_equation_17(sigma(Liu, epsilon, delta).expect("certified"), delta);
            assert!((back / epsilon - 1.0).abs() < 1e-12, "{back}");
        }
    }
}
