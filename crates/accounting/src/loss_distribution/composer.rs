//! Releases in one direction, composed as finely as the precision asks for.
#![allow(
    clippy::disallowed_methods,
    reason = "estimates that steer; what is returned is proved elsewhere"
)]

use super::Question;
use super::contraction::contracted;
use super::curve::{Crossing, Curve, Side};
use super::effort::Effort;
use super::frame::Frame;
use super::grid::{Cuts, Masses, Sampled};
use super::grid_plan::{COARSER, GridPlan, Guess, Planner};
use super::one_large::{OneLarge, split_at};
use super::pairs::Term;
use super::singly::Singly;
use super::sketch::Reach;
use super::stochastic_rounding::{Split, StochasticRounding, split};
use crate::AccountingError;
use realfft::RealFftPlanner;
use reticent_numerics::Bounds;
use std::sync::Arc;

/// How often the step is made smaller, and how often all is planned anew around a better guess.
const ATTEMPTS: u32 = 6;
const PLANS: u32 = 4;
/// About how many kinds are added to a sum before next to all of its frequencies are negligible.
const MOST_TRANSFORMS: usize = 50;
/// How many times more points a grid may take to hold single outcomes, and how many points are so
/// few that it may take more.
const MOST_TIMES_FINER: usize = 4;
const FEW_POINTS: usize = 65_536;
/// For how many of all releases outcomes may lie between grid points without being split, as a
/// multiple of the precision.
const FEW_SPLIT: f64 = 10.0;
/// The share of the tilted losses below which a transform's error hides it.
const HOPELESS: f64 = 1e-8;

/// The releases in one direction, and what is asked about them.
#[derive(Debug)]
pub(super) struct Composer<'a> {
    terms: &'a [Term],
    singly: Singly<'a>,
    question: Question,
    precision: f64,
}

impl<'a> Composer<'a> {
    pub(super) fn new(terms: &'a [Term], question: Question, precision: f64) -> Self {
        Composer { terms, singly: Singly::new(terms), question, precision }
    }

    /// A bracket, as narrow as asked for if the effort allows. Where the exact figure is at most
    /// `enough`, the bracket may be any that ends there.
    ///
    /// # Errors
    /// If two bounds contradict each other, which would be a defect.
    pub(super) fn answer(
        &self,
        enough: f64,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Result<Bounds, AccountingError> {
        let singly = &self.singly;
        if let Some(answer) = singly.settled(self.question) {
            return Ok(answer);
        }
        if let Question::Epsilon { at_delta } = self.question
            && singly.most_epsilon(at_delta) <= enough
        {
            return Ok(Bounds::new(0.0, enough));
        }
        let mut effort = Effort::for_precision(self.precision).for_kinds(self.terms.len());
        let (mut planner, mut guess) = self.planned(Reach::Large);
        let mut plan = planner.plan(guess, &effort);
        let mut other = None;
        if plan.cuts.share < HOPELESS {
            let (mut further, further_guess) = self.planned(Reach::All);
            let further_plan = further.plan(further_guess, &effort);
            if further_plan.cuts.share > plan.cuts.share {
                plan = further_plan;
                other = Some((
                    std::mem::replace(&mut planner, further),
                    std::mem::replace(&mut guess, further_guess),
                ));
            }
        }
        if enough > 0.0 && self.is_at_most(enough, plan, &mut effort, transforms) {
            return Ok(Bounds::new(0.0, enough));
        }
        let first = guess;
        let mut best: Option<Bounds> = None;
        self.replan(plan, &mut planner, &mut guess, &mut best, &mut effort, transforms)?;
        if best.is_none_or(|best| self.apart(best) > 1.0) {
            let (mut planner, mut further) = other.unwrap_or_else(|| self.planned(Reach::All));
            if further != first {
                let plan = planner.plan(further, &effort);
                self.replan(plan, &mut planner, &mut further, &mut best, &mut effort, transforms)?;
            }
        }
        if let Some(best) = best.filter(|&best| self.apart(best) <= 1.0) {
            return Ok(best);
        }
        let simple = singly.bracket(self.question);
        let mut best = best.map_or(Ok(simple), |best| both(best, simple))?;
        // Its own, because what is left of the other may be nothing.
        let mut effort = Effort::for_precision(self.precision).for_kinds(self.terms.len());
        for _ in 0..PLANS {
            let before = self.apart(best);
            if before <= 1.0 {
                break;
            }
            let Some(other) =
                self.one_large(best, self.guess(best, guess), &mut effort, transforms)
            else {
                break;
            };
            best = both(best, other?)?;
            if self.apart(best) > 0.7 * before {
                break;
            }
        }
        Ok(best)
    }

    fn planned(&self, reach: Reach) -> (Planner<'a>, Guess) {
        Planner::new(self.terms, &self.singly, self.question, self.precision, reach)
    }

    /// Plans anew around better guesses until the bracket is narrow or nothing is gained.
    fn replan(
        &self,
        mut plan: GridPlan,
        planner: &mut Planner<'_>,
        guess: &mut Guess,
        best: &mut Option<Bounds>,
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Result<(), AccountingError> {
        let mut finest = f64::INFINITY;
        for _ in 0..PLANS {
            plan.step =
                (COARSER * plan.step).min(finest).max(plan.points(1.0) / effort.most_points());
            // No plan is better for so small a share of the tilted losses.
            if best.is_some() && plan.cuts.share < HOPELESS {
                break;
            }
            let before = *best;
            finest = self.refine(plan, best, effort, transforms)?;
            let Some(found) =
                best.filter(|&found| self.apart(found) > 1.0 && before != Some(found))
            else {
                break;
            };
            let better = self.guess(found, *guess);
            let moved = (better.epsilon - guess.epsilon).abs() > 0.02 * guess.epsilon
                || (better.delta / guess.delta).ln().abs() > 0.5;
            if !moved {
                break;
            }
            *guess = better;
            plan = planner.plan(better, effort);
        }
        Ok(())
    }

    /// A bracket for the case that single large losses decide, if there is one.
    fn one_large(
        &self,
        known: Bounds,
        guess: Guess,
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Option<Result<Bounds, AccountingError>> {
        /// Two large losses or more may make up this share of the tolerance.
        const SHARE: f64 = 0.05;
        let releases = self.releases();
        let Guess { epsilon, delta } = guess;
        if !(epsilon > 0.0 && epsilon.is_finite() && delta > 0.0) {
            return None;
        }
        // The slope of the logarithm of delta, roughly; nothing of the tails is to be looked at
        // coarsely.
        let slope = (releases / delta).ln().max(1.0) / epsilon;
        let step = (self.precision * epsilon / (0.15 * (slope + 1.0) * releases)).sqrt();
        let cuts = Cuts {
            right: 1e-3 * self.precision * delta / releases,
            top: f64::INFINITY,
            left: 1e-14,
            tilt: 1.5 * slope,
            share: 1.0,
        };
        let OnGrid { upper, lower, .. } = self.on_grid(step, cuts, effort, false)?;
        let split = split_at(&upper, step, (2.0 * SHARE * self.precision * delta).sqrt());
        if split > 0.9 * epsilon {
            return None;
        }
        let range = match self.question {
            Question::Epsilon { .. } => (known.lower(), known.upper()),
            Question::Delta { at_epsilon } => (at_epsilon, at_epsilon),
        };
        let upper = OneLarge::new(&upper, step, Side::Upper).bound(
            self.question,
            split,
            range,
            effort,
            transforms,
        );
        let lower = OneLarge::new(&lower, step, Side::Lower).bound(
            self.question,
            split,
            range,
            effort,
            transforms,
        );
        Some(bracket(lower.unwrap_or(0.0).max(0.0), upper.unwrap_or(known.upper())))
    }

    /// Whether a look at the upper side with wide steps proves that the exact figure is no more
    /// than this.
    fn is_at_most(
        &self,
        enough: f64,
        mut plan: GridPlan,
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> bool {
        plan.step *= COARSER;
        let Some(frame) = plan.frame(&self.atoms(), effort) else { return false };
        if !effort.spend((self.terms.len() as f64 + 1.0) * frame.size as f64) {
            return false;
        }
        let mut upper = Vec::new();
        for term in self.terms {
            let Some(sampled) = Sampled::new(&*term.dominating, frame.step, plan.cuts, effort)
            else {
                return false;
            };
            upper.push((sampled.dominating(), term.times));
        }
        let Ok(curve) = Curve::new(&upper, frame, Side::Upper, transforms) else { return false };
        match self.question {
            Question::Epsilon { at_delta } => curve.delta_at(enough) <= at_delta,
            Question::Delta { at_epsilon } => curve.delta_at(at_epsilon) <= enough,
        }
    }

    /// Composes with finer and finer steps, and says which step would have been next.
    fn refine(
        &self,
        mut plan: GridPlan,
        best: &mut Option<Bounds>,
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Result<f64, AccountingError> {
        let mut before = f64::INFINITY;
        for attempt in 0..ATTEMPTS {
            let Some(Found { step, lower, split, upper }) = self.attempt(plan, effort, transforms)
            else {
                break;
            };
            plan.step = step;
            let answer = bracket(lower.max(split), upper)?;
            let known = best.map_or(Ok(answer), |best| both(best, answer))?;
            *best = Some(known);
            let apart = self.apart(known);
            if apart > 1.0
                && matches!(self.question, Question::Epsilon { .. })
                && upper > plan.furthest
            {
                return Ok(plan.step);
            }
            // The width goes with the square of the step. Where it does not, a finer step is of no
            // use, unless outcomes are split: then it does. About half at least: the frame then
            // grows to the next power of two, which it fills. After the first look no finer than
            // planned, because what outcomes between grid points lose need not go with the square.
            let finest = if attempt == 0 { 1.0 / COARSER } else { 1.0 / 32.0 };
            let is_linear = attempt > 1 && apart > 0.7 * before;
            let expected = if is_linear { self.apart(bracket(split, upper)?) } else { apart };
            let finer = plan.step * (0.95 / expected.sqrt()).clamp(finest, 0.501);
            let finer = finer.max(plan.points(1.0) / effort.most_points());
            let is_stuck = is_linear && split == 0.0;
            let is_hopeless = plan.cuts.share < HOPELESS && is_linear;
            if apart <= 1.0 || is_stuck || is_hopeless || finer > 0.9 * plan.step {
                return Ok(finer);
            }
            before = apart;
            plan.step = finer;
        }
        Ok(plan.step)
    }

    /// How many times wider than asked for a bracket is.
    fn apart(&self, answer: Bounds) -> f64 {
        if answer.upper() == answer.lower() {
            return 0.0;
        }
        (answer.upper() - answer.lower()) / answer.upper() / self.precision
    }

    /// The losses that single outcomes have, each with the number of releases.
    fn atoms(&self) -> Vec<(f64, f64)> {
        let atoms = |term: &Term| {
            let weight = term.times as f64;
            term.attained.atoms().into_iter().map(move |atom| (atom, weight))
        };
        let mut atoms: Vec<(f64, f64)> = self.terms.iter().flat_map(atoms).collect();
        atoms.retain(|(atom, _)| atom.is_normal() && *atom > 0.0);
        atoms
    }

    fn releases(&self) -> f64 {
        self.terms.iter().map(|term| term.times as f64).sum()
    }

    /// About the variance that outcomes with a loss of their own gain if a grid splits them, in
    /// units of the square of its step.
    fn split(&self, atoms: &[(f64, f64)], step: f64) -> f64 {
        let one = |&(atom, weight): &(f64, f64)| {
            let share = (atom / step).fract();
            weight * share * (1.0 - share)
        };
        atoms.iter().map(one).sum()
    }

    fn guess(&self, known: Bounds, before: Guess) -> Guess {
        match self.question {
            Question::Epsilon { .. } if known.upper().is_finite() => {
                Guess { epsilon: known.upper(), ..before }
            }
            Question::Delta { .. } if known.upper() > 0.0 => {
                Guess { delta: known.upper(), ..before }
            }
            _ => before,
        }
    }

    /// Both bounds with one step, if the effort allows and something is found.
    fn attempt(
        &self,
        plan: GridPlan,
        effort: &mut Effort,
        transforms: &mut RealFftPlanner<f64>,
    ) -> Option<Found> {
        let atoms = self.atoms();
        // A transform a term and one back; of many kinds most are transformed at a few frequencies
        // only.
        let transform_of = |frame: &Frame| {
            (self.terms.len().min(MOST_TRANSFORMS) as f64 + 1.0) * frame.size as f64
        };
        // Where a grid that holds single outcomes is too fine, they are split.
        let leading = atoms.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let plain = plan.frame(&[], effort)?;
        let most = (MOST_TIMES_FINER * plain.size).max(FEW_POINTS);
        let aligned = [&atoms[..], leading.as_slice()].map(|atoms| plan.frame(atoms, effort));
        let mut frames: Vec<Frame> =
            aligned.into_iter().flatten().filter(|frame| frame.size <= most).collect();
        frames.push(plain);
        // The error goes with the variance that a grid adds, and that with the square of the step;
        // a little more for the time.
        let smooth = self.terms.iter().filter(|term| term.attained.atoms().is_empty());
        let smooth =
            smooth.map(|term| term.times as f64).sum::<f64>() / 6.0 + 1e-6 * self.releases();
        let price = |frame: &Frame| {
            (self.split(&atoms, frame.step) + smooth)
                * frame.step
                * frame.step
                * (frame.size as f64).powf(2.2)
        };
        frames.sort_by(|a, b| price(a).total_cmp(&price(b)));
        let frame = frames.into_iter().find(|frame| effort.spend(2.0 * transform_of(frame)))?;
        let transform = transform_of(&frame);
        let is_split =
            self.split(&atoms, frame.step) > FEW_SPLIT * self.precision * self.releases();
        let OnGrid { upper, lower, split } =
            self.on_grid(frame.step, plan.cuts, effort, is_split)?;
        let frame = frame.widened_to([&upper, &lower]);
        let upper = Curve::new(&upper, frame, Side::Upper, transforms).ok()?;
        let lower = Curve::new(&lower, frame, Side::Lower, transforms).ok()?;
        let (lower, upper) = self.of_curves(&lower, &upper)?;
        let is_narrow = lower <= upper && self.apart(Bounds::new(lower, upper)) <= 1.0;
        if is_narrow || split.is_empty() || !effort.spend(2.0 * transform) {
            return Some(Found { step: frame.step, lower, split: 0.0, upper });
        }
        let split =
            StochasticRounding::new(&split, frame, transforms).and_then(|rounded| {
                match self.question {
                    Question::Epsilon { at_delta } => rounded.epsilon(at_delta),
                    Question::Delta { at_epsilon } => Some(rounded.delta_at(at_epsilon)),
                }
            });
        Some(Found { step: frame.step, lower, split: split.unwrap_or(0.0), upper })
    }

    /// The answers of the two curves, if the upper one has any.
    fn of_curves(&self, lower: &Curve, upper: &Curve) -> Option<(f64, f64)> {
        match self.question {
            Question::Epsilon { at_delta } => {
                let upper = match upper.epsilon(at_delta) {
                    Crossing::At(epsilon) | Crossing::Before(epsilon) => epsilon.max(0.0),
                    Crossing::Beyond(_) => return None,
                };
                let upper = upper.min(self.singly.most_epsilon(at_delta));
                let lower = match lower.epsilon(at_delta) {
                    Crossing::At(epsilon) | Crossing::Beyond(epsilon) => epsilon.max(0.0),
                    Crossing::Before(_) => 0.0,
                };
                Some((lower, upper))
            }
            Question::Delta { at_epsilon } => {
                Some((lower.delta_at(at_epsilon), upper.delta_at(at_epsilon)))
            }
        }
    }

    /// Every release on the grid; split too only where that is asked for.
    fn on_grid(
        &self,
        step: f64,
        cuts: Cuts,
        effort: &mut Effort,
        is_split: bool,
    ) -> Option<OnGrid> {
        let mut found = OnGrid::default();
        for term in self.terms {
            let sampled = Sampled::new(&*term.dominating, step, cuts, effort)?;
            found.upper.push((sampled.dominating(), term.times));
            let attained = if Arc::ptr_eq(&term.dominating, &term.attained) {
                sampled
            } else {
                Sampled::new(&*term.attained, step, cuts, effort)?
            };
            found.lower.push((contracted(&attained), term.times));
            if is_split {
                found.split.push((split(&attained), term.times));
            }
        }
        Some(found)
    }
}

/// Bounds by one step.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The step, which may be smaller than that of the plan.
    step: f64,
    /// With outcomes merged.
    lower: f64,
    /// Another lower bound, with outcomes split; zero if there is none.
    split: f64,
    upper: f64,
}

/// Releases on one grid, each with its count.
#[derive(Debug, Default)]
struct OnGrid {
    /// From above.
    upper: Vec<(Masses, u64)>,
    /// From below.
    lower: Vec<(Masses, u64)>,
    /// With outcomes between grid points split, which is a bound from below together with what that
    /// adds.
    split: Vec<(Split, u64)>,
}

/// What two brackets of the same number have in common.
fn both(one: Bounds, other: Bounds) -> Result<Bounds, AccountingError> {
    bracket(one.lower().max(other.lower()), one.upper().min(other.upper()))
}

fn bracket(lower: f64, upper: f64) -> Result<Bounds, AccountingError> {
    if lower <= upper {
        Ok(Bounds::new(lower, upper))
    } else {
        Err(AccountingError::NotProved(
            "two bounds contradict each other: this is a defect, please report it".into(),
        ))
    }
}
