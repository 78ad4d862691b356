//! The ways to share a budget over a release, and the best of them.

use crate::added_noise::AddedNoise;
use crate::error::ReleaseError;
use crate::quantiles::levels;
use crate::reason::reason;
use crate::selection::{Compared, OptimalSelection, Selection, Threshold};
use crate::split::{
    ByGroup, Number, Rounds, WORTH_A_DELTA, gaussian_delta, gaussian_noises, noises_by_group,
    round_loss, share, weighted_square_error,
};
use crate::{Design, Groups, NoiseFamily, Preferences, Statistic, UnitInfluence};
use reticent_numerics::rounding::{add_up, div_down, sub_down};
use reticent_numerics::{Bounds, Enclosure};

/// One way to do it.
///
/// # Shares
/// `epsilon` is shared in equal parts: one for each number, one for each round of quantiles, and
/// half of one for the selection of groups unless a count of the release serves for that. Of
/// `delta`, half is for the selection, and the rest for the noise; what the noise does not need
/// goes to the selection.
///
/// # Which is best
/// The draft of least error: the root mean square error of the numbers, weighted, each relative to
/// what one unit can do in one group. A draft that spends none of `delta`, which there is where
/// groups are public, stands before one whose error is less than a hundredth smaller. Between
/// drafts whose errors differ by less than a thousandth, the one that shows the smallest groups.
///
/// The two are at odds: for a count in 5 groups a unit at `(1, 1e-6)`, Laplace noise has an error
/// of 7.1 and shows groups from 75 units on, Gaussian noise one of 9.8, and from 53 on. Every group
/// that is shown pays for the larger error, and few are of the sizes between; so the error decides.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// In the order of the statistics that some unit can move.
    pub(crate) noises: Vec<AddedNoise>,
    pub(crate) hidden: Option<AddedNoise>,
    /// The loss of one round of quantiles in one group.
    pub(crate) round_epsilon: f64,
    pub(crate) selection: Option<Selection>,
    /// What numbers and quantiles use of `delta`.
    pub(crate) delta_of_noise: f64,
    pub(crate) reason: String,
    /// What is to be small.
    error: f64,
    /// Noise that was considered for all numbers of this draft, with what the error would be.
    alternatives: Vec<(&'static str, f64)>,
}

/// What a draft is made for.
pub(crate) struct Task<'a> {
    design: &'a Design,
    pub(crate) numbers: Vec<Number>,
    /// The count of the release that can select groups, and its index among the numbers.
    counting: Option<(Compared, usize)>,
    /// How many rounds of quantiles there are in a group, for points and for shares of points.
    rounds: u32,
    share_rounds: u32,
    /// How many quantiles there are.
    pub(crate) quantiles: usize,
    pub(crate) groups: u32,
}

/// Which noise is added to numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    /// The best for one number of one group, each by itself.
    ByGroup,
    /// The same, without a `delta`.
    PureByGroup,
    /// Gaussian noise, calibrated for all together.
    Gaussian,
}

/// What the selection of groups gets of `epsilon` where no count of the release selects them, as a
/// part of what a number gets.
const PART_FOR_SELECTION: f64 = 0.5;

/// Errors that differ by less than this factor are taken for equal.
const SAME_ERROR: f64 = 1.001;

/// What numbers and quantiles may use.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Allowance {
    epsilon: f64,
    delta: Option<f64>,
}

impl Draft {
    /// The best draft.
    pub(crate) fn best(
        design: &Design,
        weights: &[f64],
        preferences: &Preferences,
    ) -> Result<Draft, ReleaseError> {
        let task = Task::new(design, weights, preferences.select_by)?;
        let families: &[Family] = match (preferences.noise, design.delta) {
            (NoiseFamily::LeastError, Some(_)) if !task.numbers.is_empty() => {
                &[Family::ByGroup, Family::Gaussian]
            }
            (NoiseFamily::Gaussian, Some(_)) => &[Family::Gaussian],
            (NoiseFamily::LeastError | NoiseFamily::Pure, _) | (NoiseFamily::Gaussian, None) => {
                &[Family::PureByGroup]
            }
        };
        let mut drafts = Vec::new();
        for &family in families {
            match design.groups {
                Groups::Public(_) => drafts.push(task.public(family)),
                Groups::Found => {
                    drafts.push(task.selected_by_coin(family));
                    drafts.push(task.selected_by_number(family));
                }
            }
        }
        let pure = families == [Family::PureByGroup];
        if design.groups == Groups::Found && task.numbers.is_empty() && pure {
            drafts.push(task.selected_by_number(Family::Gaussian));
        }
        let (mut possible, mut refusal) = (Vec::new(), None);
        for draft in drafts {
            match draft {
                Ok(draft) => possible.push(draft),
                // Of several refusals the first: it is of the simplest way.
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        let least = possible.iter().map(|draft| draft.error).fold(f64::INFINITY, f64::min);
        let mut considered: Vec<(String, f64)> = Vec::new();
        for draft in &possible {
            let names = draft.alternatives.iter().map(|&(name, error)| (name.to_string(), error));
            considered.extend([(draft.noise_in_words(), draft.error)].into_iter().chain(names));
        }
        // Where groups are public, some drafts spend no delta at all.
        let thrifty = |draft: &Draft| {
            let spends = draft.selection.is_some() || draft.delta_of_noise > 0.0;
            !spends && draft.error <= WORTH_A_DELTA * least
        };
        let (saving, spending): (Vec<Draft>, Vec<Draft>) = possible.into_iter().partition(thrifty);
        let near = spending.into_iter().filter(|draft| draft.error <= SAME_ERROR * least);
        let best = match saving.into_iter().min_by(|a, b| a.error.total_cmp(&b.error)) {
            Some(draft) => Some(draft),
            None => near.min_by_key(Draft::units_shown_at_half),
        };
        let nothing = || ReleaseError::Refused("there is no way to release this".into());
        let mut best = best.ok_or_else(|| refusal.unwrap_or_else(nothing))?;
        let own = best.noise_in_words();
        let other = considered.into_iter().filter(|(name, _)| *name != own);
        let next = other.min_by(|a, b| a.1.total_cmp(&b.1));
        best.reason = reason(&task, &best, next.map(|(name, error)| (name, error / best.error)));
        Ok(best)
    }

    /// The noise of the numbers, each kind once.
    pub(crate) fn noise_in_words(&self) -> String {
        let mut names: Vec<&str> = self.noises.iter().map(AddedNoise::name).collect();
        names.sort_unstable();
        names.dedup();
        names.join(" and ")
    }

    /// The least number of units with which a group is shown with probability 1/2 at least, if each
    /// has all the rows that it may have.
    fn units_shown_at_half(&self) -> u64 {
        self.selection.as_ref().map_or(1, |selection| {
            selection.shown_at_half().div_ceil(u64::from(selection.lone_count()))
        })
    }
}

impl<'a> Task<'a> {
    /// Units select groups before the count that is preferred, and that before any other.
    fn new(
        design: &'a Design,
        weights: &[f64],
        select_by: Option<usize>,
    ) -> Result<Self, ReleaseError> {
        let mut numbers = Vec::new();
        let (mut counting, mut rank) = (None, 0);
        let (mut rounds, mut share_rounds, mut quantiles) = (0u32, 0u32, 0);
        for (index, (statistic, &weight)) in design.statistics.iter().zip(weights).enumerate() {
            if let Statistic::Quantiles { points, .. } = statistic {
                let levels = levels(points);
                rounds = rounds.saturating_add(levels);
                share_rounds = share_rounds.saturating_add(levels.saturating_sub(1));
                quantiles += points.len();
                continue;
            }
            let influence = design.influence(statistic)?;
            if influence.per_group == 0 {
                continue;
            }
            let (lone_count, own_rank) = match statistic {
                Statistic::Units => (1, 3),
                Statistic::Count { max_rows, .. } if select_by == Some(index) => (*max_rows, 2),
                Statistic::Count { max_rows, .. } => (*max_rows, 1),
                Statistic::Sum { .. } | Statistic::Quantiles { .. } => (0, 0),
            };
            if own_rank > rank {
                counting = Some((Compared { statistic: Some(index), lone_count }, numbers.len()));
                rank = own_rank;
            }
            numbers.push(Number { influence, weight });
        }
        Ok(Task {
            design,
            numbers,
            counting,
            rounds,
            share_rounds,
            quantiles,
            groups: design.groups_moved(),
        })
    }

    fn delta(&self) -> Result<f64, ReleaseError> {
        self.design.delta.ok_or_else(|| ReleaseError::Refused("this needs a delta".into()))
    }

    fn public(&self, family: Family) -> Result<Draft, ReleaseError> {
        self.noise(
            family,
            Allowance { epsilon: self.design.epsilon, delta: self.design.delta },
            None,
        )
    }

    /// Each group by a coin of its own, with a part of `epsilon`.
    fn selected_by_coin(&self, family: Family) -> Result<Draft, ReleaseError> {
        let (epsilon, delta) = (self.design.epsilon, self.delta()?);
        let others = self.numbers.len() as f64 + f64::from(self.rounds);
        let all = others + PART_FOR_SELECTION;
        let selecting = share(epsilon, PART_FOR_SELECTION, all);
        let allowance =
            Allowance { epsilon: share(epsilon, others, all), delta: Some(delta / 2.0) };
        let draft = self.noise(family, allowance, None)?;
        let left = sub_down(delta, draft.delta_of_noise);
        let groups = f64::from(self.groups);
        let rule = OptimalSelection::new(div_down(selecting, groups), div_down(left, groups))?;
        Ok(Draft { selection: Some(Selection::Optimal { rule, groups: self.groups }), ..draft })
    }

    /// By a noisy number of units: one of the release, or one that is not shown.
    fn selected_by_number(&self, family: Family) -> Result<Draft, ReleaseError> {
        let delta = self.delta()?;
        let hidden = match (self.counting, family) {
            (Some(_), _) => None,
            (None, Family::Gaussian) => {
                let influence = UnitInfluence { per_group: 1, groups: self.groups };
                // Shares of Gaussian noise are to each other as the roots of the weights.
                let mean = self.numbers.iter().map(|number| number.weight).sum::<f64>()
                    / self.numbers.len() as f64;
                let weight = if self.numbers.is_empty() {
                    1.0
                } else {
                    mean * PART_FOR_SELECTION * PART_FOR_SELECTION
                };
                Some(Number { influence, weight })
            }
            (None, Family::ByGroup | Family::PureByGroup) => {
                return Err(ReleaseError::Refused(
                    "coins select groups better than hidden Laplace noise".into(),
                ));
            }
        };
        let allowance = Allowance { epsilon: self.design.epsilon, delta: Some(delta / 2.0) };
        let draft = self.noise(family, allowance, hidden)?;
        let index = self.counting.map(|(_, index)| index);
        let noise = index.and_then(|index| draft.noises.get(index)).or(draft.hidden.as_ref());
        let compared = self.counting.map_or(Compared::HIDDEN_UNITS, |(compared, _)| compared);
        let left = sub_down(delta, draft.delta_of_noise);
        let threshold =
            noise.and_then(|noise| Threshold::least(noise, compared, self.groups, left));
        let threshold = threshold
            .ok_or_else(|| ReleaseError::Refused("no threshold hides lone units".into()))?;
        self.check_threshold(family, &draft, &threshold)?;
        Ok(Draft { selection: Some(Selection::Threshold(threshold)), ..draft })
    }

    /// The second direction of the guarantee of [`Threshold`].
    fn check_threshold(
        &self,
        family: Family,
        draft: &Draft,
        threshold: &Threshold,
    ) -> Result<(), ReleaseError> {
        let refuse =
            || ReleaseError::Refused("lone units would be shown too often for this epsilon".into());
        let epsilon = self.epsilon_of_numbers(draft.hidden.is_some());
        let holds = match family {
            Family::ByGroup | Family::PureByGroup => {
                // A little less than the noise loses a group, which makes the condition stricter.
                let loss =
                    Bounds::exact(epsilon * (1.0 - 1e-9)) / Bounds::exact(f64::from(self.groups));
                threshold.lone <= (-(-loss).exp_m1()).lower()
            }
            Family::Gaussian => {
                let noises: Vec<AddedNoise> =
                    draft.noises.iter().chain(&draft.hidden).cloned().collect();
                let kept =
                    (Bounds::ONE - Bounds::exact(threshold.delta)).ln() + Bounds::exact(epsilon);
                let at_most = self.gaussian_share(draft) + threshold.delta * (1.0 - 1e-9);
                kept.lower() >= 0.0 && gaussian_delta(&noises, kept.lower())? <= at_most
            }
        };
        if holds { Ok(()) } else { Err(refuse()) }
    }

    /// What the Gaussians of a draft use of `delta`, rounded down a little.
    fn gaussian_share(&self, draft: &Draft) -> f64 {
        let of_numbers = if self.rounds > 0 { 0.5 } else { 1.0 };
        draft.delta_of_noise * of_numbers * (1.0 - 1e-9)
    }

    /// The part of `epsilon` that numbers have where no coin selects groups.
    fn epsilon_of_numbers(&self, hidden: bool) -> f64 {
        let numbers = self.parts_for_numbers(hidden);
        share(self.design.epsilon, numbers, numbers + f64::from(self.rounds))
    }

    /// How many parts of `epsilon` all numbers get, the hidden one included.
    fn parts_for_numbers(&self, hidden: bool) -> f64 {
        self.numbers.len() as f64 + if hidden { PART_FOR_SELECTION } else { 0.0 }
    }

    /// Noise for all numbers, the hidden one too, and losses for all quantiles.
    fn noise(
        &self,
        family: Family,
        allowance: Allowance,
        hidden: Option<Number>,
    ) -> Result<Draft, ReleaseError> {
        let numbers: Vec<Number> = self.numbers.iter().copied().chain(hidden).collect();
        let (counted, rounds) = (self.parts_for_numbers(hidden.is_some()), f64::from(self.rounds));
        let all = counted + rounds;
        // Where noise and quantiles both want some of delta, each gets half.
        let half = allowance.delta.map(|delta| if self.rounds > 0 { delta / 2.0 } else { delta });
        let (mut delta_of_noise, mut noises, mut squares) = (0.0, Vec::new(), Vec::new());
        if !numbers.is_empty() {
            let epsilon = share(allowance.epsilon, counted, all);
            match (family, half) {
                (Family::Gaussian, Some(delta)) => {
                    delta_of_noise = delta;
                    noises = gaussian_noises(&numbers, epsilon, delta)?;
                }
                (Family::Gaussian, None) => {
                    return Err(ReleaseError::Refused("Gaussian noise needs a delta".into()));
                }
                (Family::ByGroup | Family::PureByGroup, delta) => {
                    let delta = delta.filter(|_| family == Family::ByGroup);
                    ByGroup { noises, delta: delta_of_noise, alternatives: squares } =
                        noises_by_group(&numbers, epsilon, delta)?;
                }
            }
        }
        let mut round_epsilon = 0.0;
        if self.rounds > 0 {
            let times = |rounds: u32| u64::from(self.groups).saturating_mul(u64::from(rounds));
            let drawn = Rounds { points: times(self.rounds), shares: times(self.share_rounds) };
            let delta = if delta_of_noise > 0.0 { half } else { allowance.delta };
            let (loss, used) = round_loss(drawn, share(allowance.epsilon, rounds, all), delta)?;
            round_epsilon = loss;
            // Each is at most a half of the same number.
            delta_of_noise = add_up(delta_of_noise, used);
        }
        let weight: f64 = self.numbers.iter().map(|number| number.weight).sum();
        let rounds_error = if rounds > 0.0 { -round_epsilon.ln() * rounds } else { 0.0 };
        let shown = self.numbers.len() as f64 + rounds;
        let error = |square: f64| {
            let numbers_error = if weight > 0.0 {
                (square / weight).sqrt().ln() * self.numbers.len() as f64
            } else {
                0.0
            };
            if shown > 0.0 { ((numbers_error + rounds_error) / shown).exp() } else { 1.0 }
        };
        let alternatives =
            squares.into_iter().map(|(name, square)| (name, error(square))).collect();
        let error = error(weighted_square_error(self.numbers.iter().zip(&noises)));
        let hidden = hidden.and_then(|_| noises.pop());
        Ok(Draft {
            noises,
            hidden,
            round_epsilon,
            selection: None,
            delta_of_noise,
            reason: String::new(),
            error,
            alternatives,
        })
    }
}
