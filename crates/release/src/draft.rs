//! The ways to share a budget over a release, and the best of them.

use crate::added_noise::AddedNoise;
use crate::aim::Aim;
use crate::error::ReleaseError;
use crate::quantiles::levels;
use crate::reason::reason;
use crate::selection::{Compared, OptimalSelection, Selection, Threshold};
use crate::split::{
    ByGroup, Number, Rounds, WORTH_A_DELTA, gaussian_delta, gaussian_noises, noises_by_group,
    round_loss, share, weighted_square_error,
};
use crate::{Design, Groups, NoiseFamily, Preferences, Statistic, UnitInfluence};
use reticent_choice::{Considered, NoiseName, Refusal};
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
/// The draft of least error: of the numbers by the metric, each relative to what one unit can do in
/// one group, the root of the weighted mean of squares. A draft that spends none of `delta`, which
/// there is where groups are public, stands before one whose error is less than a hundredth
/// smaller. Between drafts whose errors differ by less than a thousandth, the one that shows the
/// smallest groups.
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
    /// The error of each number by the metric, in steps.
    errors: Vec<f64>,
    /// Noise that was considered for all numbers of this draft: the error of each number, and what
    /// the error of all would be.
    alternatives: Vec<(&'static str, Vec<f64>, f64)>,
    refusals: Vec<Refusal>,
}

/// What a draft is made for.
pub(crate) struct Task<'a> {
    design: &'a Design,
    pub(crate) aim: Aim,
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
        let considered = match (preferences.noise, &preferences.metric) {
            (NoiseFamily::Named(name), _) => Considered::Only(name),
            (_, Some(_)) => Considered::Everything,
            (_, None) => Considered::Quick,
        };
        let aim = Aim::new(preferences.metric(), considered)?;
        let task = Task::new(design, weights, preferences.select_by, aim)?;
        if task.numbers.is_empty() && considered != Considered::Quick {
            return Err(ReleaseError::Refused(
                "a metric and a mechanism are for the noise of counts and sums, and here is none: \
                 leave them out"
                    .into(),
            ));
        }
        let Drafts { possible, refusal } = task.drafts(preferences.noise);
        let least = possible.iter().map(|draft| draft.error).fold(f64::INFINITY, f64::min);
        let lines: Vec<Line> = possible.iter().flat_map(Draft::lines).collect();
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
        let other = lines.into_iter().filter(|line| line.name != own);
        let next = other.min_by(|a, b| a.error.total_cmp(&b.error));
        let next = next.map(|line| (line.name, line.error / best.error));
        best.reason = reason(&task, &best, preferences.noise, next);
        Ok(best)
    }

    /// The noise of the draft and all that was compared with it.
    fn lines(&self) -> Vec<Line> {
        let own =
            Line { name: self.noise_in_words(), errors: self.errors.clone(), error: self.error };
        let others = self.alternatives.iter().map(|(name, errors, error)| Line {
            name: (*name).to_string(),
            errors: errors.clone(),
            error: *error,
        });
        [own].into_iter().chain(others).collect()
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

/// The ways that there are, and why one there is not.
struct Drafts {
    possible: Vec<Draft>,
    /// Of several refusals the first: it is of the simplest way.
    refusal: Option<ReleaseError>,
}

/// One noise of a comparison: the error of each number, in steps, and of all.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) errors: Vec<f64>,
    pub(crate) error: f64,
}

/// Every noise that could serve all numbers, each at its best, the best first; and why others could
/// not.
pub(crate) fn lines(
    design: &Design,
    weights: &[f64],
    preferences: &Preferences,
) -> Result<(Aim, Vec<Line>, Vec<Refusal>), ReleaseError> {
    let aim = Aim::new(preferences.metric(), Considered::Everything)?;
    let task = Task::new(design, weights, preferences.select_by, aim)?;
    let drafts = task.drafts(NoiseFamily::LeastError).possible;
    let mut lines: Vec<Line> = drafts.iter().flat_map(Draft::lines).collect();
    lines.retain(|line| !line.name.is_empty() && line.error.is_finite());
    lines.sort_by(|a, b| a.name.cmp(&b.name).then(a.error.total_cmp(&b.error)));
    lines.dedup_by(|later, first| later.name == first.name);
    lines.sort_by(|a, b| a.error.total_cmp(&b.error));
    let mut refusals: Vec<Refusal> = drafts.into_iter().flat_map(|draft| draft.refusals).collect();
    if design.delta.is_none() {
        let reason = "it keeps no pure guarantee; give a delta to allow it".to_string();
        refusals.extend(WITH_DELTA.map(|mechanism| Refusal { mechanism, reason: reason.clone() }));
    }
    refusals.sort_by_key(|refusal| refusal.mechanism);
    refusals.dedup_by_key(|refusal| refusal.mechanism);
    refusals.retain(|refusal| lines.iter().all(|line| line.name != refusal.mechanism));
    Ok((task.aim, lines, refusals))
}

/// Noise that needs a `delta`.
const WITH_DELTA: [&str; 5] =
    ["truncated-laplace", "optimal", "discrete-gaussian", "random-scale-gaussian", "gaussian"];

impl<'a> Task<'a> {
    /// Every way to do it with some noise.
    fn drafts(&self, noise: NoiseFamily) -> Drafts {
        let design = self.design;
        let families: &[Family] = match (noise, design.delta) {
            (NoiseFamily::LeastError, Some(_)) if !self.numbers.is_empty() => {
                &[Family::ByGroup, Family::Gaussian]
            }
            (NoiseFamily::Named(name), Some(_)) if name != NoiseName::GAUSSIAN => {
                &[Family::ByGroup]
            }
            (NoiseFamily::Gaussian | NoiseFamily::Named(_), Some(_)) => &[Family::Gaussian],
            (NoiseFamily::LeastError | NoiseFamily::Pure, _)
            | (NoiseFamily::Gaussian | NoiseFamily::Named(_), None) => &[Family::PureByGroup],
        };
        let mut drafts = Vec::new();
        for &family in families {
            match design.groups {
                Groups::Public(_) => drafts.push(self.public(family)),
                Groups::Found => {
                    drafts.push(self.selected_by_coin(family));
                    drafts.push(self.selected_by_number(family));
                }
            }
        }
        let pure = families == [Family::PureByGroup];
        if design.groups == Groups::Found && self.numbers.is_empty() && pure {
            drafts.push(self.selected_by_number(Family::Gaussian));
        }
        let mut found = Drafts { possible: Vec::new(), refusal: None };
        for draft in drafts {
            match draft {
                Ok(draft) => found.possible.push(draft),
                Err(error) => found.refusal = found.refusal.or(Some(error)),
            }
        }
        found
    }

    /// Units select groups before the count that is preferred, and that before any other.
    fn new(
        design: &'a Design,
        weights: &[f64],
        select_by: Option<usize>,
        aim: Aim,
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
            numbers.push(Number { influence, weight, step: statistic.step() });
        }
        Ok(Task {
            design,
            aim,
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
                Some(Number { influence, weight, step: 1.0 })
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
        let (mut delta_of_noise, mut noises) = (0.0, Vec::new());
        let (mut compared, mut refusals) = (Vec::new(), Vec::new());
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
                    ByGroup { noises, delta: delta_of_noise, alternatives: compared, refusals } =
                        noises_by_group(&self.aim, &numbers, epsilon, delta)?;
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
        let error = |errors: &[f64]| {
            let numbers_error = if weight > 0.0 {
                let square = weighted_square_error(&self.aim, &self.numbers, errors);
                (square / weight).sqrt().ln() * self.numbers.len() as f64
            } else {
                0.0
            };
            if shown > 0.0 { ((numbers_error + rounds_error) / shown).exp() } else { 1.0 }
        };
        let alternatives = compared.into_iter().map(|(name, errors)| {
            let all = error(&errors);
            (name, errors, all)
        });
        let alternatives = alternatives.collect();
        let of_number =
            |(number, noise): (&Number, &AddedNoise)| noise.error(&self.aim.in_steps(number.step));
        let errors: Vec<f64> = self.numbers.iter().zip(&noises).map(of_number).collect();
        let error = error(&errors);
        let hidden = hidden.and_then(|_| noises.pop());
        Ok(Draft {
            noises,
            hidden,
            round_epsilon,
            selection: None,
            delta_of_noise,
            reason: String::new(),
            error,
            errors,
            alternatives,
            refusals,
        })
    }
}
