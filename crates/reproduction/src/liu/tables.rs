//! Figures 6 to 9: the mildew and the Czech table.

use super::ways::{
    CLASSICAL, DELTAS, DENOISED, EPSILONS, EXACT, LAPLACE, OPTIMAL, PROBABILISTIC, THIRD_ORDER, Way, of_the_paper,
    of_this_project, third_order,
};
use crate::counts::{divergence, l1_distance};
use crate::format::{long, short};
use crate::parallel::repeated;
use crate::sample::{Margin, Sample};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict, data};
use reticent_figures::{Axis, Figure, Panel, Series};

pub(crate) const MILDEW: &str = "liu-mildew";
pub(crate) const CZECH: &str = "liu-czech";

/// As in the paper.
const REPEATS: u32 = 500;
/// The delta of the figures that show counts.
const SHOWN_DELTA: f64 = 0.05;

pub(crate) fn mildew(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let experiment = Releases::simulate(setting, MILDEW, data::mildew()?, all_ways(true)?)?;
    experiment.outcome("mildew", ["liu-figure-6", "liu-figure-7", "liu-mildew"], mildew_findings)
}

pub(crate) fn czech(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let experiment = Releases::simulate(setting, CZECH, data::czech()?, all_ways(false)?)?;
    experiment.outcome("Czech", ["liu-figure-8", "liu-figure-9", "liu-czech"], czech_findings)
}

fn all_ways(with_order_3: bool) -> Result<Vec<Way>, ReproductionError> {
    let mut ways = Vec::new();
    for epsilon in EPSILONS {
        ways.extend(of_the_paper(epsilon)?);
        if with_order_3 {
            ways.extend(third_order(epsilon)?);
        }
        ways.extend(of_this_project(epsilon)?);
    }
    Ok(ways)
}

/// Repeated releases of one table in every way.
pub(super) struct Releases {
    pub(super) original: Vec<f64>,
    pub(super) results: Vec<Measured>,
}

/// One of the two distances.
type SampleOf = fn(&Measured) -> &Sample;

/// What came of one way.
pub(super) struct Measured {
    pub(super) way: Way,
    pub(super) l1: Sample,
    pub(super) divergence: Sample,
    /// The counts of the first repeat.
    pub(super) first: Vec<f64>,
}

impl Releases {
    /// Each repeat of each way has its own stream of random bits.
    pub(super) fn simulate(
        setting: &Setting,
        experiment: &'static str,
        original: Vec<f64>,
        ways: Vec<Way>,
    ) -> Result<Self, ReproductionError> {
        let total: f64 = original.iter().sum();
        let streams = ways.len() as u64;
        let repeats = repeated(setting, u64::from(setting.repeats(REPEATS)), |repeat| {
            let mut distances = Vec::with_capacity(ways.len());
            for (place, way) in ways.iter().enumerate() {
                let mut random = setting.random(experiment, repeat * streams + place as u64);
                let counts = way.sanitised(&original, total, &mut random)?;
                distances.push((l1_distance(&original, &counts), divergence(&original, &counts)));
            }
            Ok(distances)
        })?;
        let mut results = Vec::with_capacity(ways.len());
        for (place, way) in ways.into_iter().enumerate() {
            let first = way.sanitised(&original, total, &mut setting.random(experiment, place as u64))?;
            results.push(Measured {
                l1: Sample(repeats.iter().map(|repeat| repeat[place].0).collect()),
                divergence: Sample(repeats.iter().map(|repeat| repeat[place].1).collect()),
                way,
                first,
            });
        }
        Ok(Releases { original, results })
    }

    fn outcome(
        self,
        title: &str,
        names: [&'static str; 3],
        findings: fn(&Releases) -> Vec<Finding>,
    ) -> Result<Outcome, ReproductionError> {
        let number = |name: &str| name.rsplit('-').next().unwrap_or_default().to_string();
        let counts = self.counts_figure(format!("Sanitised {title} counts (Liu, Figure {})", number(names[0])));
        let distances =
            self.distances_figure(format!("Distance of sanitised {title} counts (Liu, Figure {})", number(names[1])));
        Ok(Outcome {
            findings: findings(&self),
            pictures: vec![(names[0], Picture::Figure(counts)), (names[1], Picture::Figure(distances))],
            tables: vec![self.table(names[2])],
        })
    }

    pub(super) fn table(&self, name: &'static str) -> Table {
        let columns = ["epsilon", "delta", "mechanism", "scale", "l1 mean", "l1 deviation", "KL mean", "KL deviation"];
        let mut table =
            Table::new(name, "l1 distance and Kullback-Leibler divergence from the original counts", &columns);
        for m in &self.results {
            table.push([
                long(m.way.epsilon),
                m.way.delta.map_or_else(String::new, long),
                m.way.name.into(),
                long(m.way.scale),
                long(m.l1.mean()),
                long(m.l1.deviation()),
                long(m.divergence.mean()),
                long(m.divergence.deviation()),
            ]);
        }
        table
    }

    /// The result of a way at an epsilon and, where it has one, a delta.
    pub(super) fn at(&self, name: &str, epsilon: f64, delta: f64) -> Option<&Measured> {
        self.results
            .iter()
            .find(|m| m.way.name == name && m.way.epsilon == epsilon && m.way.delta.is_none_or(|own| own == delta))
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for m in &self.results {
            if !names.contains(&m.way.name) {
                names.push(m.way.name);
            }
        }
        names
    }

    /// Sanitised against original counts: a row for each mechanism, a column for each epsilon.
    fn counts_figure(&self, title: String) -> Figure {
        let most = self.original.iter().copied().fold(1.0, f64::max);
        let mut panels = Vec::new();
        for name in [LAPLACE, PROBABILISTIC, CLASSICAL, THIRD_ORDER, OPTIMAL] {
            for epsilon in EPSILONS {
                let Some(m) = self.at(name, epsilon, SHOWN_DELTA) else { continue };
                let points = self.original.iter().copied().zip(m.first.iter().copied()).collect();
                let delta = m.way.delta.map_or_else(String::new, |delta| format!(", \u{3b4} = {delta}"));
                panels.push(Panel {
                    title: format!("{name}, \u{3b5} = {epsilon}{delta}"),
                    horizontal: Axis::linear("original count (people)").from_to(-0.03 * most, 1.05 * most),
                    vertical: Axis::linear("sanitised count (people)").from_to(-0.03 * most, 1.3 * most),
                    series: vec![
                        Series::reference("equal", vec![(0.0, 0.0), (1.05 * most, 1.05 * most)]),
                        Series::markers("a cell of the table, one release", points),
                    ],
                });
            }
        }
        Figure { title, columns: EPSILONS.len(), panels }
    }

    /// Distances against delta: l1 above, divergence below, a column for each epsilon.
    pub(super) fn distances_figure(&self, title: String) -> Figure {
        let kinds: [(&str, SampleOf); 2] = [
            ("\u{2113}\u{2081} distance (people)", |m| &m.l1),
            ("Kullback-Leibler divergence (nats)", |m| &m.divergence),
        ];
        let mut panels = Vec::new();
        for (label, sample) in kinds {
            for epsilon in EPSILONS {
                let curve = |(place, name): (usize, &'static str)| {
                    let mut points = Vec::new();
                    for delta in DELTAS {
                        if let Some(m) = self.at(name, epsilon, delta) {
                            // Set apart a little, so that bars do not lie upon each other.
                            let x = delta * 1.03f64.powf(place as f64 - 3.0);
                            points.push((x, sample(m).mean(), sample(m).deviation()));
                        }
                    }
                    Series::measured(name, &points)
                };
                panels.push(Panel {
                    title: format!("\u{3b5} = {epsilon}"),
                    horizontal: Axis::logarithmic("\u{3b4} (Laplace: none)"),
                    vertical: Axis::linear(label),
                    series: self.names().into_iter().enumerate().map(curve).collect(),
                });
            }
        }
        Figure { title, columns: EPSILONS.len(), panels }
    }

    /// The least margin by which one way is below another over all budgets, in l1 and in divergence.
    pub(super) fn least_margin(&self, better: &str, worse: &str, deltas: &[f64]) -> Margin {
        let mut least = Margin::LARGEST;
        for epsilon in EPSILONS {
            for delta in deltas {
                let (Some(a), Some(b)) = (self.at(better, epsilon, *delta), self.at(worse, epsilon, *delta)) else {
                    return Margin { standard_errors: f64::NAN, ..least };
                };
                least = least.least(a.l1.margin_below(&b.l1)).least(a.divergence.margin_below(&b.divergence));
            }
        }
        least
    }

    /// The l1 distances of a way, summed over all epsilons and these deltas, repeat by repeat.
    pub(super) fn pooled(&self, name: &str, deltas: &[f64]) -> Sample {
        let mut sums = Vec::new();
        for epsilon in EPSILONS {
            for m in deltas.iter().filter_map(|delta| self.at(name, epsilon, *delta)) {
                sums.resize(m.l1.0.len(), 0.0);
                for (sum, distance) in sums.iter_mut().zip(&m.l1.0) {
                    *sum += distance;
                }
            }
        }
        Sample(sums)
    }

    /// `l1` means of ways at a budget, in words.
    pub(super) fn means(&self, names: &[&'static str], epsilon: f64, delta: f64) -> String {
        let mean = |name: &&'static str| {
            self.at(name, epsilon, delta).map_or_else(String::new, |m| format!("{name} {}", short(m.l1.mean())))
        };
        names.iter().map(mean).collect::<Vec<_>>().join("; ")
    }
}

/// What is shown for both tables.
fn common_findings(releases: &Releases) -> Vec<Finding> {
    let all = [LAPLACE, PROBABILISTIC, CLASSICAL, EXACT, OPTIMAL, DENOISED];
    let pooled = |name: &str, deltas: &[f64]| releases.pooled(name, deltas);
    vec![
        Finding::simulated(
            "The Laplace sanitiser is the obvious winner in l1 distance and divergence.",
            format!(
                "Of the paper's mechanisms it is, at every epsilon and delta up to 0.1. l1 distance at epsilon = 1, delta = 0.05: {}.",
                releases.means(&all[..3], 1.0, 0.05)
            ),
            Verdict::Holds,
            releases.least_margin(LAPLACE, PROBABILISTIC, &DELTAS[..3]),
        ),
        Finding::simulated(
            "The classical Gaussian mechanism is the worst.",
            format!("Its l1 distance at epsilon = 1, delta = 0.25: {}.", releases.means(&all[..3], 1.0, 0.25)),
            Verdict::Holds,
            pooled(PROBABILISTIC, &DELTAS).margin_below(&pooled(CLASSICAL, &DELTAS)),
        ),
        Finding::simulated(
            "Is Gaussian noise worse than Laplace noise?",
            format!(
                "Not where delta is as large as in this experiment and the calibration exact. epsilon = 1, delta = 0.25: {}.",
                releases.means(&[LAPLACE, EXACT], 1.0, 0.25)
            ),
            Verdict::Corrected("N2"),
            pooled(EXACT, &DELTAS[3..]).margin_below(&pooled(LAPLACE, &DELTAS[3..])),
        ),
        Finding::simulated(
            "What is the best noise for these budgets?",
            format!(
                "The noise of least mean absolute error. epsilon = 1, delta = 0.05: {}.",
                releases.means(&all, 1.0, 0.05)
            ),
            Verdict::Beyond,
            pooled(OPTIMAL, &DELTAS)
                .margin_below(&pooled(LAPLACE, &DELTAS))
                .least(pooled(OPTIMAL, &DELTAS).margin_below(&pooled(EXACT, &DELTAS))),
        ),
    ]
}

fn mildew_findings(releases: &Releases) -> Vec<Finding> {
    let mut findings = common_findings(releases);
    let (third, second) = (releases.pooled(THIRD_ORDER, &DELTAS), releases.pooled(PROBABILISTIC, &DELTAS));
    findings.push(Finding::simulated(
        "Order 3 performs similarly to the Gaussian mechanism of probabilistic privacy.",
        format!(
            "Its l1 distance is larger, {} times over all budgets, and similar at delta = 0.25 only. epsilon = 1, delta = 0.05: {}.",
            short(third.mean() / second.mean()),
            releases.means(&[PROBABILISTIC, THIRD_ORDER], 1.0, 0.05)
        ),
        Verdict::Qualified,
        second.margin_below(&third).least(third.margin_below(&second.times(1.25))),
    ));
    let (plain, denoised) = (releases.pooled(LAPLACE, &DELTAS[..1]), releases.pooled(DENOISED, &DELTAS[..1]));
    findings.push(Finding::simulated(
        "Can the sparse table be improved after its release?",
        format!(
            "Moved to the nearest counts of the public total that are not negative, in place of clamping and scaling. epsilon = 1: {}.",
            releases.means(&[LAPLACE, DENOISED], 1.0, 0.05)
        ),
        Verdict::Beyond,
        denoised.margin_below(&plain),
    ));
    findings
}

fn czech_findings(releases: &Releases) -> Vec<Finding> {
    let mut findings = common_findings(releases);
    let at = |epsilon: f64| releases.at(LAPLACE, epsilon, 0.05).map(|m| &m.l1);
    if let (Some(half), Some(one), Some(two)) = (at(0.5), at(1.0), at(2.0)) {
        let drops = half.0.iter().zip(&one.0).zip(&two.0).map(|((half, one), two)| (half - one) - 1.25 * (one - two));
        findings.push(Finding::simulated(
            "The error falls drastically from epsilon = 0.5 to 1 and much more slowly from 1 to 2.",
            format!(
                "Laplace: l1 distance {}, {} and {}. It halves each time, as the noise does.",
                short(half.mean()),
                short(one.mean()),
                short(two.mean())
            ),
            Verdict::Holds,
            Sample(drops.collect()).margin_above(0.0),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::assert_all_shown;

    fn setting() -> Setting {
        Setting::new(11).with_repeats(200).expect("enough")
    }

    #[test]
    fn the_claims_of_figures_6_and_7() {
        assert_all_shown(&mildew(&setting()).expect("a result").findings);
    }

    #[test]
    fn the_claims_of_figures_8_and_9() {
        assert_all_shown(&czech(&setting()).expect("a result").findings);
    }
}
