//! The plan of a release: public, made before anything is read.

use crate::added_noise::AddedNoise;
use crate::draft::Draft;
use crate::error::{ReleaseError, require};
use crate::quantiles::{QuantileSearch, levels};
use crate::selection::Selection;
use crate::split::Rounds;
use crate::{Design, Statistic, UnitInfluence};
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_numerics::rounding::{add_up, mul_up, sqrt_up};

/// What will be done to the exact totals, what it costs, and how far off the answers may be.
///
/// # Guarantee
/// The whole release is `(epsilon, delta)`-differentially private ([`Plan::guarantee`]) for neighbours that add or remove all rows of one unit, if the totals are those of bounded contributions.
/// The parts compose: numbers with Gaussian noise exactly, by the sum of `mu^2`; pure losses by their sum; these blocks, the quantiles and the selection of groups with each other by the sum of their `(epsilon, delta)`.
///
/// # Which noise
/// The least mean square error relative to what one unit can do in one group, among discrete Laplace noise (staircase noise where one unit moves one integer only) and, with a `delta`, Gaussian noise calibrated for all
/// numbers together. For a statistic of sensitivity 1 in `k` groups a unit, and `m` statistics, root mean square errors a cell are
///
/// | noise | error |
/// |---|---|
/// | discrete Laplace | `sqrt 2 k m / epsilon`, a little less |
/// | Gaussian | `sqrt(k m) sigma(epsilon, delta)`, `sigma` the exact one of Balle and Wang |
///
/// For comparison at the same budget: Laplace noise of OpenDP, SmartNoise and Tumult has the first. Gaussian noise whose scale comes from zCDP needs, at `(1, 1e-6)`, a `sigma` of 4.53 with the best conversion and 5.35 with
/// the first published one, where 4.22 is exact.
///
/// # Example
/// ```
/// use reticent_noise::randomness::SecureRandom;
/// use reticent_release::{Design, Exact, Groups, Reach, Statistic, Totals, plan};
///
/// let design = Design {
///     statistics: vec![Statistic::Count { max_rows: 1 }],
///     groups: Groups::Public(3),
///     reach: Reach { max_groups: 1 },
///     epsilon: 1.0,
///     delta: None,
/// };
/// let plan = plan(&design)?;
/// assert_eq!((plan.mechanism(0), plan.half_width(0)), (Some("discrete-laplace"), Some(3.0)));
/// let exact = Exact { units: vec![], totals: vec![Totals::Integers(vec![120, 0, 7])] };
/// let released = plan.release(&exact, &mut SecureRandom::new()?)?;
/// assert_eq!(released.kept, [0, 1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) design: Design,
    pub(crate) parts: Vec<Part>,
    /// Noise for a number of units that is compared and not shown.
    pub(crate) hidden: Option<AddedNoise>,
    pub(crate) selection: Option<Selection>,
    /// What numbers and quantiles use of `delta`.
    delta_of_noise: f64,
    reason: String,
}

/// What happens to one statistic.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// No unit moves it: it is what it is, at no cost.
    Constant,
    Number(AddedNoise),
    Quantiles(QuantileSearch),
}

/// What a release costs, as a filter charges it.
///
/// Outside an exception of probability `delta` the release tells no more than `event`. A filter for adaptively chosen releases charges the event in its currency and adds up the exceptions beside it
/// (approximate zCDP: Bun and Steinke 2016, section 8; Whitehouse, Ramdas, Rogers, Wu 2023). Neither may be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// What ran: every part of it is purely private or zero-concentrated. `None` where nothing but constants is released.
    pub event: Option<Event>,
    /// The probability of the exception; 0 where groups are public.
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
    /// The loss that is spent on nothing else; zero where a number of the release is compared with a threshold.
    pub epsilon: f64,
}

/// What a caller may wish for beyond the least error. All of it is public.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// How much the error of each statistic matters: the noise makes `sum w_i E N_i^2 / s_i^2` small, `s_i` being what one unit can do in one group. `None`: all alike. Weights of quantiles are not read.
    pub weights: Option<Vec<f64>>,
    /// Which noise is considered for numbers.
    pub noise: NoiseFamily,
    /// The place of the count that says best how large a group is, such as the one of all rows. Groups that are found are selected by it, unless units are counted. `None`: by the first count there is.
    pub select_by: Option<usize>,
}

/// Which noise is considered for numbers.
///
/// The least error at one query's `(epsilon, delta)` is not the least cost in a budget that many queries share. In zCDP, discrete Laplace noise with `epsilon = 1` costs `rho = 0.46`, and Gaussian noise calibrated
/// to `(1, 1e-6)`, with three times the error, a sixteenth of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseFamily {
    /// Whichever has the least error.
    #[default]
    LeastError,
    /// Noise that keeps a pure promise, also where a `delta` is given for the groups.
    Pure,
    /// Gaussian noise, which needs a `delta`.
    Gaussian,
}

/// Plans a release, all statistics being equally important.
///
/// # Errors
/// If the design is refused: see [`Design`]. The message names the parameter and what would be accepted.
pub fn plan(design: &Design) -> Result<Plan, ReleaseError> {
    plan_with(design, &Preferences::default())
}

/// Plans a release by preferences.
///
/// # Errors
/// As for [`plan`], or if there is not one weight from 1e-9 to 1e9 for each statistic, or Gaussian noise is wished for without a `delta`.
pub fn plan_with(design: &Design, preferences: &Preferences) -> Result<Plan, ReleaseError> {
    design.check()?;
    let equal = vec![1.0; design.statistics.len()];
    let weights = preferences.weights.as_ref().unwrap_or(&equal);
    let (given, asked) = (weights.len() as f64, "as many as there are statistics");
    require(weights.len() == design.statistics.len(), "number of weights", given, asked)?;
    for &weight in weights {
        require((1e-9..=1e9).contains(&weight), "weight", weight, "a number from 1e-9 to 1e9")?;
    }
    if preferences.noise == NoiseFamily::Gaussian && design.delta.is_none() {
        return Err(ReleaseError::Refused(
            "Gaussian noise keeps no pure promise: give a delta, or let the noise be chosen".into(),
        ));
    }
    let draft = Draft::best(design, weights, preferences)?;
    let mut numbers = draft.noises.into_iter();
    let mut parts = Vec::with_capacity(design.statistics.len());
    for statistic in &design.statistics {
        let part = match statistic {
            Statistic::Quantiles { grid, max_rows, points } => Part::Quantiles(QuantileSearch {
                grid: *grid,
                points: points.clone(),
                max_rows: *max_rows,
                epsilon: draft.round_epsilon,
            }),
            statistic if design.influence(statistic)?.per_group == 0 => Part::Constant,
            _ => Part::Number(numbers.next().ok_or(ReleaseError::Mismatch("a statistic has no noise"))?),
        };
        parts.push(part);
    }
    Ok(Plan {
        design: design.clone(),
        parts,
        hidden: draft.hidden,
        selection: draft.selection,
        delta_of_noise: draft.delta_of_noise,
        reason: draft.reason,
    })
}

impl Plan {
    /// What it was made for.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// What the whole release keeps: at most what was asked for, and less where a `delta` is not needed.
    pub fn guarantee(&self) -> Guarantee {
        let delta = add_up(self.delta_of_noise, self.delta_for_selection());
        let notion = if delta > 0.0 { Notion::Approximate } else { Notion::Pure };
        // The parts of delta were made from the whole, rounding down.
        Guarantee { notion, epsilon: self.design.epsilon, delta: delta.min(self.design.delta.unwrap_or(0.0)) }
    }

    /// The part of `delta` that showing groups takes, because of those that only one unit is in.
    pub fn delta_for_selection(&self) -> f64 {
        self.selection.as_ref().map_or(0.0, Selection::delta)
    }

    /// Everything that runs, for an accountant: the selection is written as the `(epsilon, delta)` that it keeps. A threshold on a number of the release has a `delta` and no loss of its own.
    ///
    /// The events of the noise are those of the exact scales; events of quantiles stand for all groups that one unit reaches.
    pub fn events(&self) -> Vec<Event> {
        let selection = self.selection.as_ref().and_then(|selection| selection.event(true));
        self.noise_events().into_iter().chain(selection).collect()
    }

    /// What a filter charges.
    pub fn charge(&self) -> Charge {
        let selection = self.selection.as_ref().and_then(|selection| selection.event(false));
        let mut events: Vec<Event> = self.noise_events().into_iter().chain(selection).collect();
        let event = if events.len() > 1 { Some(Event::Composition { events }) } else { events.pop() };
        Charge { event, delta: self.delta_for_selection() }
    }

    fn noise_events(&self) -> Vec<Event> {
        let numbers = self.parts.iter().filter_map(|part| match part {
            Part::Number(noise) => Some(noise.event()),
            Part::Constant | Part::Quantiles(_) => None,
        });
        let mut events: Vec<Event> = numbers.chain(self.hidden.iter().map(AddedNoise::event)).collect();
        for part in &self.parts {
            if let Part::Quantiles(search) = part {
                let (groups, rounds) = (u64::from(self.design.groups_moved()), u64::from(levels(&search.points)));
                let drawn = Rounds { points: groups * rounds, shares: groups * rounds.saturating_sub(1) };
                events.extend(drawn.events(search.epsilon));
            }
        }
        events
    }

    /// What runs for a statistic that is a number, in steps; `None` for quantiles and constants.
    pub fn event(&self, statistic: usize) -> Option<Event> {
        match self.parts.get(statistic)? {
            Part::Number(noise) => Some(noise.event()),
            Part::Constant | Part::Quantiles(_) => None,
        }
    }

    /// Why this noise, in a sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// How far one unit moves a statistic; `None` if there is no such statistic.
    pub fn influence(&self, statistic: usize) -> Option<UnitInfluence> {
        self.design.influence(self.design.statistics.get(statistic)?).ok()
    }

    /// The mechanism of a statistic; `None` if there is no such statistic.
    pub fn mechanism(&self, statistic: usize) -> Option<&'static str> {
        Some(match self.parts.get(statistic)? {
            Part::Constant => "constant",
            Part::Number(noise) => noise.name(),
            Part::Quantiles(_) => "exponential",
        })
    }

    /// The scale of a statistic's noise in units of the answer (`b`, `sigma`, or the width of a stair); `None` for quantiles.
    pub fn scale(&self, statistic: usize) -> Option<f64> {
        self.in_units(statistic, AddedNoise::scale)
    }

    /// With probability 0.95 at least, a statistic is within this of its exact value, in units of the answer; `None` for quantiles.
    pub fn half_width(&self, statistic: usize) -> Option<f64> {
        self.in_units(statistic, AddedNoise::quantile_95)
    }

    /// The standard deviation of a statistic's noise in units of the answer, rounded up; `None` for quantiles.
    pub fn standard_deviation(&self, statistic: usize) -> Option<f64> {
        self.in_units(statistic, |noise| sqrt_up(noise.mean_square().upper()))
    }

    fn in_units(&self, statistic: usize, figure: impl Fn(&AddedNoise) -> f64) -> Option<f64> {
        match self.parts.get(statistic)? {
            Part::Constant => Some(0.0),
            Part::Number(noise) => Some(mul_up(figure(noise), self.step(statistic))),
            Part::Quantiles(_) => None,
        }
    }

    /// How many ranks off each quantile of a statistic is at most, with probability 0.95: public, and true of all data (with more than one quantile, up to a 512th of the values at a point where the search has
    /// cut). How far off its value is depends on the data, so that there is no half-width. `None` for other statistics.
    pub fn rank_errors(&self, statistic: usize) -> Option<Vec<f64>> {
        match self.parts.get(statistic)? {
            Part::Quantiles(search) => Some(search.rank_errors_95()),
            Part::Constant | Part::Number(_) => None,
        }
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

    /// What one step of a statistic is, in units of the answer.
    pub(crate) fn step(&self, statistic: usize) -> f64 {
        match self.design.statistics.get(statistic) {
            Some(Statistic::Sum { grid, .. }) => grid.step,
            _ => 1.0,
        }
    }
}
