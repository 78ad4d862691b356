//! Case II: Gaussian noise of random scale, where it helps and where not.
//!
//! For budgets over four decades of delta: the best distribution of the standard deviation that a
//! linear programme finds, the best of each family, plain Gaussian noise, and what no distribution
//! can do better than, proved. The guarantee is that of the mixture (erratum R2), not the averages
//! of the paper's Eqns 4, 5, 8 and 9.

use crate::count_query::least_epsilon;
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_choice::Metric;
use reticent_choice::random_scale_gaussian::{SigmaFamily, optimise_gaussian_families};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, Mechanism, Neighbours, RandomScaleGaussianMechanism, Sensitivity,
};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;

pub(crate) const NAME: &str = "r2dp-gaussian";

const EPSILONS: [f64; 4] = [0.1, 0.5, 1.0, 3.0];
const DELTAS: [f64; 6] = [1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5];
const PLAIN: &str = "Gaussian, plain";
const LAPLACE: &str = "Laplace (delta not used)";

/// The names of the families in figures.
fn name(family: SigmaFamily) -> &'static str {
    match family {
        SigmaFamily::Discrete => "R2DP, best possible (discrete)",
        SigmaFamily::TwoPoint => "R2DP, two points",
        SigmaFamily::Gamma => "R2DP, gamma",
        SigmaFamily::Uniform => "R2DP, uniform",
        SigmaFamily::TruncatedGaussian => "R2DP, truncated Gaussian",
    }
}

/// Mean absolute errors at one budget, in sensitivities.
#[derive(Clone)]
struct Row {
    epsilon: f64,
    delta: f64,
    plain: f64,
    /// By family, upper bounds; infinite where the search found no member.
    families: Vec<f64>,
    /// No distribution of the standard deviation does better: proved.
    floor: f64,
    /// Proved: plain noise is the best.
    is_plain: bool,
}

impl Row {
    fn at(epsilon: f64, delta: f64) -> Result<Self, ReproductionError> {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
        let budget = (Epsilon::new(epsilon)?, Delta::new(delta)?);
        let failed = |_| ReproductionError::NotComputed("the best random scale of Gaussian noise");
        let found = optimise_gaussian_families(&Metric::MeanAbsolute, &one, budget);
        let mut row = Row {
            epsilon,
            delta,
            plain: f64::INFINITY,
            families: Vec::new(),
            floor: 0.0,
            is_plain: false,
        };
        for (_, found) in found.map_err(failed)? {
            row.families.push(found.as_ref().map_or(f64::INFINITY, |best| best.error.upper()));
            if let Ok(best) = found {
                row.plain = best.plain.upper();
                row.floor = row.floor.max(best.least);
                row.is_plain |= best.is_plain;
            }
        }
        Ok(row)
    }

    fn name(&self) -> String {
        format!("epsilon = {}, delta = {}", self.epsilon, self.delta)
    }

    fn best(&self) -> f64 {
        self.families.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Whether a random scale helps: so where one is better, not so where it is proved that none
    /// is.
    fn helps(&self) -> Answer {
        match (self.best() < self.plain * (1.0 - 1e-6), self.is_plain) {
            (true, false) => Answer::Yes,
            (_, true) => Answer::No,
            (false, false) => Answer::Open,
        }
    }

    /// The condition of `docs/proofs/random_scale_gaussian.md` under which some mixture is better.
    fn below_condition(&self) -> bool {
        let tail = normal_sf(Bounds::exact((2.0 * self.epsilon).sqrt())).estimate();
        self.delta < 0.5 - self.epsilon.exp() * tail
    }
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let count = (EPSILONS.len() * DELTAS.len()) as u64;
    let rows = repeated(setting, count, |place| {
        let place = place as usize;
        Row::at(EPSILONS[place / DELTAS.len()], DELTAS[place % DELTAS.len()])
    })?;
    let families = SigmaFamily::ALL.map(name);
    let columns: Vec<&str> = ["epsilon", "delta", PLAIN]
        .into_iter()
        .chain(families)
        .chain(["proved floor of R2DP", LAPLACE])
        .collect();
    let mut table = Table::new(
        "r2dp-gaussian",
        "Mean absolute error of Gaussian noise of random scale, in sensitivities",
        &columns,
    );
    for row in &rows {
        let first = [row.epsilon, row.delta, row.plain].into_iter();
        let last = [row.floor, 1.0 / row.epsilon];
        table.push(first.chain(row.families.iter().copied()).chain(last).map(long));
    }
    let panel = |epsilon: f64| {
        let own = || rows.iter().filter(move |row| row.epsilon == epsilon);
        let curve = |name: &str, value: &dyn Fn(&Row) -> f64| {
            let points = own().map(|row| (row.delta, value(row) * row.epsilon));
            inked(Series::line(name, points.filter(|point| point.1.is_finite()).collect()))
        };
        let mut series = vec![curve(LAPLACE, &|row| 1.0 / row.epsilon)];
        series.push(curve(PLAIN, &|row| row.plain));
        for (place, name) in families.iter().enumerate() {
            series.push(curve(name, &|row| row.families[place]));
        }
        Panel {
            title: format!("\u{3b5} = {epsilon}"),
            horizontal: Axis::logarithmic("\u{3b4}"),
            vertical: Axis::linear("mean absolute error : that of Laplace noise").with_zero(),
            series,
        }
    };
    let figure = Figure {
        title: "Gaussian noise of random scale (Mohammady, Case II)".into(),
        columns: 2,
        panels: EPSILONS.into_iter().map(panel).collect(),
    };
    Ok(Outcome {
        findings: findings(&rows, &Averages::computed()?),
        pictures: vec![("r2dp-case-2", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// A mixture by the averages of Eqns 5 and 8.
#[derive(Clone)]
struct Averages {
    /// The epsilon at which the average of `e^epsilon` is that of both, each at `delta`.
    epsilon: f64,
    delta: f64,
    /// What the mixture has there, from below.
    exact: f64,
}

impl Averages {
    /// One component with a standard deviation of 1, and one so wide that it is hardly there.
    fn computed() -> Result<Self, ReproductionError> {
        let (delta, one) = (1e-6, Distance::new(1.0)?);
        let components = vec![(1.0, 0.5), (1e9, 0.5)];
        let mut mean = 0.0;
        for (sigma, weight) in &components {
            mean += weight * least_epsilon(*sigma, delta)?.exp();
        }
        let epsilon = mean.ln();
        let mixture = RandomScaleGaussianMechanism::new(components, one, Epsilon::new(epsilon)?)?;
        Ok(Averages { epsilon, delta, exact: mixture.delta(epsilon)?.lower() })
    }
}

fn findings(rows: &[Row], averages: &Averages) -> Vec<Finding> {
    let over = |answer: &dyn Fn(&Row) -> Answer| -> Verdict {
        let cases: Cases = rows.iter().map(|row| (row.name(), answer(row))).collect();
        Verdict::over(&cases)
    };
    let at = |epsilon: f64, delta: f64| {
        rows.iter().find(|row| row.epsilon == epsilon && row.delta == delta).map_or_else(
            String::new,
            |row| {
                format!(
                    "plain {}, the best random scale {}, proved floor {}",
                    short(row.plain),
                    short(row.best()),
                    short(row.floor)
                )
            },
        )
    };
    vec![
        Finding::of_paper(
            "Section 3, Case II, Eqns 4 and 9",
            "A random scale whose delta is that of a fixed one has a greater utility.",
            format!(
                "By mean absolute error, with the guarantee of the mixture. At epsilon = 1, delta \
                 = 1e-6: {}; at epsilon = 0.1, delta = 0.5: {}.",
                at(1.0, 1e-6),
                at(0.1, 0.5)
            ),
            over(&Row::helps),
        )
        .corrected_by("R2"),
        Finding::of_paper(
            "Section 3, Case II, Eqns 5 and 8",
            "What the mixture loses is the average of e^epsilon.",
            format!(
                "Standard deviations 1 and 1e9 with equal chance: at the epsilon of the average, \
                 {}, the mixture's delta is {}, not {}.",
                short(averages.epsilon),
                short(averages.exact),
                short(averages.delta)
            ),
            Verdict::when(averages.exact <= averages.delta),
        )
        .corrected_by("R2"),
        Finding::own(
            "A random scale helps exactly where delta < 1/2 - e^epsilon Phi(-sqrt(2 epsilon)).",
            "Where it is not below, plain noise is proved to be the best.".into(),
            over(&|row| match (row.helps(), row.below_condition()) {
                (Answer::Open, _) => Answer::Open,
                (helps, below) => Answer::when((helps == Answer::Yes) == below),
            }),
        ),
        Finding::own(
            "No family is below the proved floor, nor better by more than a thousandth than the \
             discrete distribution of the programme.",
            format!("On all {} budgets.", rows.len()),
            over(&|row| {
                let near = row.families[0] <= row.best() * 1.001;
                Answer::when(row.best() >= row.floor && near)
            }),
        ),
        Finding::own(
            "For delta up to 1e-4 the best random scale is at most a tenth better than Laplace \
             noise, which needs no delta.",
            "Laplace noise has a mean absolute error of 1/epsilon.".into(),
            Verdict::over(
                &rows
                    .iter()
                    .filter(|row| row.delta <= 1e-4)
                    .map(|row| (row.name(), Answer::when(row.best() * row.epsilon >= 0.9)))
                    .collect(),
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    /// A budget at which plain noise is proved to be the best, which takes no programme, and one
    /// that was made up; and rows that refute each verdict.
    #[test]
    fn the_verdicts_of_case_ii() {
        let plain = Row::at(0.1, 0.5).expect("a row");
        assert!(plain.is_plain && plain.families[0] <= plain.plain * (1.0 + 1e-6));
        let helped = Row {
            epsilon: 1.0,
            delta: 1e-6,
            plain: 3.37,
            families: vec![1.009, 1.5, 1.2, f64::INFINITY, 1.3],
            floor: 0.949,
            is_plain: false,
        };
        assert!(helped.below_condition() && !plain.below_condition());
        let averages = Averages::computed().expect("computed");
        assert!(averages.exact > 5.0 * averages.delta, "erratum R2: {}", averages.exact);
        let real = findings(&[helped.clone(), plain.clone()], &averages);
        let kinds_of_real = ["holds in part", "does not hold here", "holds", "holds", "holds"];
        assert_eq!(kinds(&real), kinds_of_real, "{real:#?}");
        let mut useless = helped.clone();
        useless.families = vec![4.0, 3.0, 0.5, 4.0, 4.0];
        useless.is_plain = true;
        let sound = Averages { exact: 0.5 * averages.delta, ..averages };
        assert_each_turns(&real, &[findings(&[useless], &sound)]);
    }
}
