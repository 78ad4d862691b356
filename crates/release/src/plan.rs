//! The plan of a release: public, made before anything is read.

use crate::added_noise::AddedNoise;
use crate::aim::AnswerMetric;
use crate::draft::{Draft, lines};
use crate::error::ReleaseError;
use crate::planned::{PlannedStatistic, Treatment};
use crate::quantiles::QuantileSearch;
use crate::selection::Selection;
use crate::{Design, Groups, Statistic};
use reticent_choice::NoiseName;
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_numerics::require;
use reticent_numerics::rounding::add_up;

/// What will be done to the exact totals, what it costs, and how far off the answers may be.
///
/// # Guarantee
/// The whole release is `(epsilon, delta)`-differentially private ([`ReleasePlan::guarantee`]) for
/// neighbours that add or remove all rows of one unit, if the totals are those of bounded
/// contributions. The parts compose: numbers with Gaussian noise exactly, by the sum of `mu^2`;
/// pure losses by their sum; these blocks, the quantiles and the selection of groups with each
/// other by the sum of their `(epsilon, delta)`.
///
/// # Which noise
/// The least error by the metric of the preferences, relative to what one unit can do in one
/// group: for each number the best that [`reticent_choice::rank_for_release`] knows for its share
/// of the budget, or with a `delta` Gaussian noise calibrated for all numbers together. Or the
/// noise that is named. [`compare`] says what each would give.
/// `docs/concepts/noise-of-a-query.md` has what is considered, what is not, and why. For a
/// statistic of sensitivity 1 in `k` groups a unit, and `m` statistics, root mean square errors a
/// cell are
///
/// | noise | error |
/// |---|---|
/// | discrete Laplace | `sqrt 2 k m / epsilon`, a little less |
/// | Gaussian | `sqrt(k m) sigma(epsilon, delta)`, `sigma` the exact one of Balle and Wang |
///
/// For comparison at the same budget: Laplace noise of OpenDP, SmartNoise and Tumult has the first.
/// Gaussian noise whose scale comes from zCDP needs, at `(1, 1e-6)`, a `sigma` of 4.53 with the
/// best conversion and 5.35 with the first published one, where 4.22 is exact.
///
/// # Example
/// ```
/// use reticent_noise::randomness::SecureRandom;
/// use reticent_release::{Design, Exact, Groups, Statistic, Totals, plan};
///
/// let design = Design {
///     statistics: vec![Statistic::Count { column: None, max_rows: 1 }],
///     groups: Groups::Public(3),
///     max_groups: 1,
///     epsilon: 1.0,
///     delta: None,
/// };
/// let plan = plan(&design)?;
/// let count = &plan.statistics()[0];
/// assert_eq!((count.mechanism(), count.half_width()), ("discrete-laplace", Some(3.0)));
/// let exact = Exact { units: vec![], totals: vec![Totals::Integers(vec![120, 0, 7])] };
/// let released = plan.release(&exact, &mut SecureRandom::new()?)?;
/// assert_eq!(released.kept, [0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReleasePlan {
    pub(crate) statistics: Vec<PlannedStatistic>,
    pub(crate) groups: Groups,
    epsilon: f64,
    delta: Option<f64>,
    /// Noise for a number of units that is compared and not shown.
    pub(crate) hidden: Option<AddedNoise>,
    pub(crate) selection: Option<Selection>,
    /// What numbers and quantiles use of `delta`.
    delta_of_noise: f64,
    reason: String,
}

/// What a release costs, as a filter charges it.
///
/// Outside a probability `delta` the release tells no more than `event`. A filter for
/// adaptively chosen releases charges the event in its currency and adds up the deltas beside
/// it (approximate zCDP: Bun and Steinke 2016, section 8; Whitehouse, Ramdas, Rogers, Wu 2023).
/// Neither may be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseCost {
    /// What ran: every part of it is purely private or zero-concentrated. `None` where nothing but
    /// constants is released.
    pub event: Option<Event>,
    /// The delta: the probability of showing a group that one unit is alone in, and of noise
    /// with a `delta` of its own that is not Gaussian.
    pub delta: f64,
}

/// How groups are selected, in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectionSummary {
    /// `optimal` or `threshold`.
    pub rule: &'static str,
    /// The least count with which a group is shown with probability 1/2 at least.
    pub shown_at_half: u64,
    /// What that counts: units, or rows of which one unit may have as many as `rows_of_unit`.
    pub rows_of_unit: u32,
    /// The part of `delta` that it takes.
    pub delta: f64,
    /// The loss that is spent on nothing else; zero where a number of the release is compared with
    /// a threshold.
    pub epsilon: f64,
}

/// What a caller may wish for beyond the least error. All of it is public.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// How much the error of each statistic matters: the noise makes `sum w_i e_i^2 / s_i^2` small,
    /// `e_i` being its error and `s_i` what one unit can do in one group. `None`: all alike.
    /// Weights of quantiles are not read.
    pub weights: Option<Vec<f64>>,
    /// By what the noise of a number is judged, in units of the answer, and chosen from everything
    /// that can be drawn and charged. `None`: by the root mean square error, from what is quick to
    /// calibrate, which is as good.
    pub metric: Option<AnswerMetric>,
    /// Which noise is considered for numbers.
    pub noise: NoiseFamily,
    /// The index of the count that says best how large a group is, such as the one of all rows.
    /// Groups that are found are selected by it, unless units are counted. `None`: by the first
    /// count there is.
    pub select_by: Option<usize>,
}

/// Which noise is considered for numbers.
///
/// The least error at one query's `(epsilon, delta)` is not the least cost in a budget that many
/// queries share. In zCDP, discrete Laplace noise with `epsilon = 1` costs `rho = 0.46`, and
/// Gaussian noise calibrated to `(1, 1e-6)`, with three times the error, a sixteenth of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseFamily {
    /// Whichever has the least error.
    #[default]
    LeastError,
    /// Noise that keeps a pure guarantee, also where a `delta` is given for the groups.
    Pure,
    /// Gaussian noise, which needs a `delta`.
    Gaussian,
    /// The noise of this name.
    Named(NoiseName),
}

impl Preferences {
    pub(crate) fn metric(&self) -> AnswerMetric {
        self.metric.unwrap_or(AnswerMetric::RootMeanSquare)
    }
}

/// What each noise would give, for people who choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The metric, as it is written.
    pub metric: String,
    /// What could serve, the best first.
    pub alternatives: Vec<Alternative>,
    /// What could not: its name, and why.
    pub refusals: Vec<(&'static str, String)>,
}

/// Noise that could serve all numbers of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Its name, or several where numbers would get different noise.
    pub mechanism: String,
    /// For each statistic an upper bound on its error by the metric, in units of the answer (an
    /// entropy is that of the steps of its grid). `None` for quantiles; 0 where no unit moves it.
    pub errors: Vec<Option<f64>>,
    /// How many times the least error of all numbers together it has. `None` where the least is 0.
    pub times_least: Option<f64>,
}

/// Plans a release, all statistics being equally important.
///
/// # Errors
/// If the design is refused: see [`Design`]. The message names the parameter and what would be
/// accepted.
pub fn plan(design: &Design) -> Result<ReleasePlan, ReleaseError> {
    plan_with(design, &Preferences::default())
}

/// Plans a release by preferences.
///
/// # Errors
/// As for [`plan`], or if there is not one weight from 1e-9 to 1e9 for each statistic, or Gaussian
/// noise is wished for without a `delta`, or the number of the metric is not accepted, or the noise
/// that is named cannot serve.
pub fn plan_with(design: &Design, preferences: &Preferences) -> Result<ReleasePlan, ReleaseError> {
    let weights = checked(design, preferences)?;
    let gaussian = [NoiseFamily::Gaussian, NoiseFamily::Named(NoiseName::GAUSSIAN)];
    if gaussian.contains(&preferences.noise) && design.delta.is_none() {
        return Err(ReleaseError::Refused(
            "Gaussian noise keeps no pure guarantee: give a delta, or let the noise be chosen"
                .into(),
        ));
    }
    let draft = Draft::best(design, &weights, preferences)?;
    let mut numbers = draft.noises.into_iter();
    let mut statistics = Vec::with_capacity(design.statistics.len());
    for statistic in &design.statistics {
        let influence = design.influence(statistic)?;
        let treatment = match statistic {
            Statistic::Quantiles { grid, max_rows, points, .. } => {
                Treatment::Quantiles(QuantileSearch {
                    grid: *grid,
                    points: points.clone(),
                    max_rows: *max_rows,
                    epsilon: draft.round_epsilon,
                })
            }
            Statistic::Count { .. } | Statistic::Units | Statistic::Sum { .. } => {
                match influence.per_group {
                    0 => Treatment::Constant,
                    _ => Treatment::Number(
                        numbers.next().ok_or(ReleaseError::Mismatch("a statistic has no noise"))?,
                    ),
                }
            }
        };
        statistics.push(PlannedStatistic { statistic: statistic.clone(), influence, treatment });
    }
    Ok(ReleasePlan {
        statistics,
        groups: design.groups,
        epsilon: design.epsilon,
        delta: design.delta,
        hidden: draft.hidden,
        selection: draft.selection,
        delta_of_noise: draft.delta_of_noise,
        reason: draft.reason,
    })
}

/// The weights, if the design and they are accepted.
fn checked(design: &Design, preferences: &Preferences) -> Result<Vec<f64>, ReleaseError> {
    design.check()?;
    let equal = || vec![1.0; design.statistics.len()];
    let weights = preferences.weights.clone().unwrap_or_else(equal);
    let (given, asked) = (weights.len() as f64, "as many as there are statistics");
    require(weights.len() == design.statistics.len(), "number of weights", given, asked)?;
    for &weight in &weights {
        require((1e-9..=1e9).contains(&weight), "weight", weight, "a number from 1e-9 to 1e9")?;
    }
    Ok(weights)
}

/// What each noise would give in place of the one that is planned: all that can be drawn and
/// charged, whatever is preferred, by the preferred metric. Takes up to seconds.
///
/// # Errors
/// As for [`plan_with`].
pub fn compare(design: &Design, preferences: &Preferences) -> Result<Comparison, ReleaseError> {
    let weights = checked(design, preferences)?;
    let (aim, lines, refusals) = lines(design, &weights, preferences)?;
    let least = lines.first().map_or(0.0, |line| line.error);
    let mut alternatives = Vec::with_capacity(lines.len());
    for line in lines {
        let mut numbers = line.errors.iter();
        let mut errors = Vec::with_capacity(design.statistics.len());
        for statistic in &design.statistics {
            let moved = design.influence(statistic)?.per_group > 0;
            errors.push(match statistic {
                Statistic::Quantiles { .. } => None,
                Statistic::Count { .. } | Statistic::Units | Statistic::Sum { .. } if moved => {
                    numbers.next().map(|&error| aim.in_units(error, statistic.step()))
                }
                Statistic::Count { .. } | Statistic::Units | Statistic::Sum { .. } => Some(0.0),
            });
        }
        let times_least = (least > 0.0).then(|| line.error / least);
        alternatives.push(Alternative { mechanism: line.name, errors, times_least });
    }
    let refusals = refusals.into_iter().map(|refusal| (refusal.mechanism, refusal.reason));
    let metric = aim.metric.to_string();
    Ok(Comparison { metric, alternatives, refusals: refusals.collect() })
}

impl ReleasePlan {
    /// The statistics, in the order of the design: what each is, and what is done to it.
    pub fn statistics(&self) -> &[PlannedStatistic] {
        &self.statistics
    }

    /// What the whole release keeps: at most what was asked for, and less where a `delta` is not
    /// needed.
    pub fn guarantee(&self) -> Guarantee {
        let delta = add_up(self.delta_of_noise, self.delta_for_selection());
        let notion = if delta > 0.0 { Notion::Approximate } else { Notion::Pure };
        // The parts of delta were made from the whole, rounding down.
        Guarantee { notion, epsilon: self.epsilon, delta: delta.min(self.delta.unwrap_or(0.0)) }
    }

    /// The part of `delta` that showing groups takes, because of those that only one unit is in.
    pub fn delta_for_selection(&self) -> f64 {
        self.selection.as_ref().map_or(0.0, Selection::delta)
    }

    /// Everything that runs, for an accountant: the selection is written as the `(epsilon, delta)`
    /// that it keeps. A threshold on a number of the release has a `delta` and no loss of its own.
    ///
    /// The events of the noise are those of the exact scales; events of quantiles stand for all
    /// groups that one unit reaches.
    pub fn events(&self) -> Vec<Event> {
        let selection = self.selection.as_ref().and_then(|selection| selection.event(true));
        self.noises().map(AddedNoise::event).chain(self.choices()).chain(selection).collect()
    }

    /// What a filter charges.
    pub fn cost(&self) -> ReleaseCost {
        let selection = self.selection.as_ref().and_then(|selection| selection.event(false));
        let charged = self.noises().map(AddedNoise::charged).chain(self.choices());
        let mut events: Vec<Event> = charged.chain(selection).collect();
        let event =
            if events.len() > 1 { Some(Event::Composition { events }) } else { events.pop() };
        let delta = self.noises().map(AddedNoise::delta).fold(0.0, add_up);
        ReleaseCost { event, delta: add_up(delta, self.delta_for_selection()) }
    }

    /// All noise that is added, that of the hidden number too.
    fn noises(&self) -> impl Iterator<Item = &AddedNoise> {
        self.statistics.iter().filter_map(PlannedStatistic::noise).chain(&self.hidden)
    }

    /// The choices that quantiles take.
    fn choices(&self) -> impl Iterator<Item = Event> + '_ {
        self.statistics.iter().flat_map(PlannedStatistic::choices)
    }

    /// Why this noise, in a sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// How groups are selected; `None` if they are public.
    pub fn selection(&self) -> Option<SelectionSummary> {
        self.selection.as_ref().map(|selection| SelectionSummary {
            rule: match selection {
                Selection::Optimal { .. } => "optimal",
                Selection::Threshold(_) => "threshold",
            },
            shown_at_half: selection.shown_at_half(),
            rows_of_unit: selection.lone_count(),
            delta: selection.delta(),
            epsilon: selection.epsilon(),
        })
    }
}
