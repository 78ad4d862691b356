//! Repeated releases of one histogram in many ways, how far they are from it, and the figures.

use super::ways::{DELTAS, EPSILONS, Way};
use crate::counts::{divergence, l1_distance};
use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::sample::Sample;
use crate::{Answer, Cases, ReproductionError, Setting, Table};
use reticent_figures::{Axis, Figure, Panel, Series};
use std::collections::BTreeSet;

/// As in the paper.
const REPEATS: u32 = 500;
/// More cells than that are drawn as dots, and dots that would cover each other once.
const MANY: usize = 500;

/// Repeated releases of one table in every way.
#[derive(Clone)]
pub(super) struct Releases {
    pub(super) original: Vec<f64>,
    pub(super) results: Vec<Measured>,
}

/// What came of one way.
#[derive(Clone)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) epsilon: f64,
    /// `None` for pure mechanisms.
    pub(super) delta: Option<f64>,
    pub(super) scale: f64,
    pub(super) l1: Sample,
    pub(super) divergence: Sample,
    /// The counts of the first repeat.
    pub(super) first: Vec<f64>,
}

/// One of the two distances.
type SampleOf = fn(&Measured) -> &Sample;

/// The two distances, with their names in sentences and on axes.
pub(super) const MEASURES: [(&str, &str, SampleOf); 2] = [
    ("l1", "\u{2113}\u{2081} distance (people)", |m| &m.l1),
    ("KL", "Kullback-Leibler divergence (nats)", |m| &m.divergence),
];

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
            for (index, way) in ways.iter().enumerate() {
                let mut random = setting.random(experiment, repeat * streams + index as u64);
                let counts = way.sanitised(&original, total, &mut random)?;
                distances.push((l1_distance(&original, &counts), divergence(&original, &counts)));
            }
            Ok(distances)
        })?;
        let mut results = Vec::with_capacity(ways.len());
        for (index, way) in ways.into_iter().enumerate() {
            let first =
                way.sanitised(&original, total, &mut setting.random(experiment, index as u64))?;
            results.push(Measured {
                l1: Sample(repeats.iter().map(|repeat| repeat[index].0).collect()),
                divergence: Sample(repeats.iter().map(|repeat| repeat[index].1).collect()),
                name: way.name,
                epsilon: way.epsilon,
                delta: way.delta,
                scale: way.scale,
                first,
            });
        }
        Ok(Releases { original, results })
    }

    pub(super) fn table(&self, name: &'static str) -> Table {
        let columns = [
            "epsilon",
            "delta",
            "mechanism",
            "scale",
            "l1 mean",
            "l1 deviation",
            "KL mean",
            "KL deviation",
        ];
        let mut table = Table::new(
            name,
            "l1 distance and Kullback-Leibler divergence from the original counts",
            &columns,
        );
        for m in &self.results {
            table.push([
                long(m.epsilon),
                m.delta.map_or_else(String::new, long),
                m.name.into(),
                long(m.scale),
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
        self.results.iter().find(|m| {
            m.name == name && m.epsilon == epsilon && m.delta.is_none_or(|own| own == delta)
        })
    }

    /// The distances of a way at a budget; none, of which nothing can be said, if it was not run.
    pub(super) fn sample(&self, of: SampleOf, name: &str, budget: (f64, f64)) -> Sample {
        self.at(name, budget.0, budget.1).map(of).cloned().unwrap_or_default()
    }

    /// The names of all ways, in their order.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for m in &self.results {
            if !names.contains(&m.name) {
                names.push(m.name);
            }
        }
        names
    }

    /// One case for each distance and budget: the answer for the samples of named ways there.
    pub(super) fn by_budget(
        &self,
        include: impl Fn(f64, f64) -> bool,
        answer: impl Fn(&dyn Fn(&str) -> Sample) -> Answer,
    ) -> Cases {
        let mut cases = Vec::new();
        for epsilon in EPSILONS {
            for delta in DELTAS.into_iter().filter(|delta| include(epsilon, *delta)) {
                for (measure, _, of) in MEASURES {
                    let sample = |name: &str| self.sample(of, name, (epsilon, delta));
                    let name = format!("epsilon = {epsilon}, delta = {delta} ({measure})");
                    cases.push((name, answer(&sample)));
                }
            }
        }
        cases.into_iter().collect()
    }

    /// The distances of a way, summed over all epsilons and these deltas, repeat by repeat.
    pub(super) fn pooled(&self, name: &str, of: SampleOf, budgets: &[(f64, f64)]) -> Sample {
        let samples = budgets.iter().map(|budget| self.sample(of, name, *budget));
        samples.reduce(|sum, next| sum.plus(&next)).unwrap_or_default()
    }

    /// `l1` means of ways at a budget, in words.
    pub(super) fn means(&self, names: &[&'static str], epsilon: f64, delta: f64) -> String {
        let mean = |name: &&'static str| {
            self.at(name, epsilon, delta)
                .map_or_else(String::new, |m| format!("{name} {}", short(m.l1.mean())))
        };
        names.iter().map(mean).collect::<Vec<_>>().join("; ")
    }

    /// Sanitised against original counts of one release: a row for each delta, a column for each
    /// epsilon, the mechanisms of the paper in each of them.
    pub(super) fn counts_figure(&self, title: String, names: &[&'static str]) -> Figure {
        let most = self.original.iter().copied().fold(1.0, f64::max);
        let mut panels = Vec::new();
        for delta in DELTAS {
            for epsilon in EPSILONS {
                let mut series = vec![Series::reference("equal", vec![(0.0, 0.0), (most, most)])];
                for (index, name) in names.iter().enumerate() {
                    let Some(m) = self.at(name, epsilon, delta) else { continue };
                    // Set apart a little, so that mechanisms do not cover each other.
                    let aside = (index as f64 - 1.0) * 0.012 * most;
                    let points: Vec<(f64, f64)> =
                        self.original.iter().map(|x| x + aside).zip(m.first.clone()).collect();
                    series.push(inked(if points.len() > MANY {
                        Series::dots(*name, apart(&points, 0.006 * most))
                    } else {
                        Series::markers(*name, points)
                    }));
                }
                panels.push(Panel {
                    title: format!("\u{3b5} = {epsilon}, \u{3b4} = {delta} (Laplace: none)"),
                    horizontal: Axis::linear("original count (people)")
                        .from_to(-0.04 * most, 1.05 * most),
                    vertical: Axis::linear("sanitised count (people)").with_zero(),
                    series,
                });
            }
        }
        Figure { title, columns: EPSILONS.len(), panels }
    }

    /// Distances against delta: l1 above, divergence below, a column for each epsilon.
    pub(super) fn distances_figure(&self, title: String) -> Figure {
        let mut panels = Vec::new();
        for (_, label, sample) in MEASURES {
            for epsilon in EPSILONS {
                let curve = |(index, name): (usize, &'static str)| {
                    let mut points = Vec::new();
                    for delta in DELTAS {
                        if let Some(m) = self.at(name, epsilon, delta) {
                            // Set apart a little, so that bars do not lie upon each other.
                            let x = delta * 1.03f64.powf(index as f64 - 3.0);
                            points.push((x, sample(m).mean(), sample(m).deviation()));
                        }
                    }
                    inked(Series::measured(name, &points))
                };
                panels.push(Panel {
                    title: format!("\u{3b5} = {epsilon}"),
                    horizontal: Axis::logarithmic("\u{3b4} (Laplace: none)"),
                    vertical: Axis::linear(label).with_zero(),
                    series: self.names().into_iter().enumerate().map(curve).collect(),
                });
            }
        }
        Figure { title, columns: EPSILONS.len(), panels }
    }
}

/// The points without those that lie within `step` of another one.
fn apart(points: &[(f64, f64)], step: f64) -> Vec<(f64, f64)> {
    let mut taken = BTreeSet::new();
    let cell = |value: f64| (value / step).round() as i64;
    points.iter().copied().filter(|(x, y)| taken.insert((cell(*x), cell(*y)))).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Results with these means of both distances and a deviation of a thousandth, for each way at
    /// every budget.
    pub(crate) fn made_up(
        names: &[(&'static str, bool)],
        mean: impl Fn(&str, f64, f64) -> f64,
    ) -> Releases {
        let mut results = Vec::new();
        for epsilon in EPSILONS {
            for (name, has_delta) in names {
                for delta in &DELTAS[..if *has_delta { 4 } else { 1 }] {
                    let level = mean(name, epsilon, *delta);
                    let wave = |i: i32| level * (1.0 + 0.001 * f64::from(i % 7 - 3));
                    let sample = Sample((0..70).map(wave).collect());
                    results.push(Measured {
                        name,
                        epsilon,
                        delta: has_delta.then_some(*delta),
                        scale: 1.0,
                        l1: sample.clone(),
                        divergence: sample,
                        first: Vec::new(),
                    });
                }
            }
        }
        Releases { original: vec![1.0; 70], results }
    }

    #[test]
    fn dots_that_would_cover_each_other_are_drawn_once() {
        let points = [(1.0, 1.0), (1.0, 1.01), (1.0, 2.0), (2.0, 1.0)];
        assert_eq!(apart(&points, 0.1), [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0)]);
    }

    #[test]
    fn a_way_that_was_not_run_decides_nothing() {
        let releases = made_up(&[("Laplace", false)], |_, _, _| 1.0);
        let cases =
            releases.by_budget(|_, _| true, |sample| sample("Laplace").below(&sample("none")));
        assert_eq!(crate::Verdict::over(&cases), crate::Verdict::Open);
    }
}
