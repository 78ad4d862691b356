//! The exact accountant: distributions of the privacy loss, composed between bounds.

mod contraction;
mod convolution;
mod curve;
mod grid;
mod pair;
mod pairs;
mod sketch;

use crate::{Accountant, AccountingError, Charges};
use contraction::contracted;
use curve::{Crossing, Curve, Frame, Side, some_infinite, support};
use grid::{Cuts, Masses, Sampled};
use pairs::{Term, pairs_of};
use realfft::RealFftPlanner;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use reticent_numerics::root::{Range, greatest_where, least_at_most};
use reticent_numerics::rounding::div_down;
use sketch::Sketches;
use std::sync::Arc;

/// Composes the distributions of the privacy loss.
///
/// # Method
/// An event is known through a pair of distributions that dominates it, and mostly is attained ([`crate::Charges`] says what ran). Its loss is put on a grid twice: so that `delta` is
/// nowhere too small, connecting exact values by straight lines; and so that it is nowhere too large, merging outcomes. Both are off by the square of the step. The sums of many losses come from a
/// Fourier transform of the tilted distributions, whose error is bounded, so that the answer is proved on both sides however small `delta` is. If the two are too
/// far apart, the step is made smaller.
///
/// Neighbours may differ in either direction; what ran on a sample is not the same in both, and the answer is the larger one.
///
/// # Not for adaptive budgets
/// The number is about events that were fixed beforehand, or at least their pairs were. To stop a sequence of adaptively chosen releases
/// when a number is reached, use a filter.
///
/// # References
/// Koskela, Jälkö, Honkela, *Computing tight differential privacy guarantees using FFT*, 2020; Gopi, Lee, Wutschitz, *Numerical composition of differential privacy*, 2021;
/// Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, *Connect the dots*, 2022; Zhu, Dong, Wang, *Optimal accounting of differential privacy via characteristic function*, 2022.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossDistribution {
    precision: f64,
}

impl Default for LossDistribution {
    /// Answers to one part in ten thousand.
    fn default() -> Self {
        LossDistribution { precision: 1e-4 }
    }
}

/// The most grid points of a frame: 64 MB a copy where much precision is asked for, and a quarter of that otherwise.
const MOST_POINTS: f64 = 8_388_608.0;
const USUAL_POINTS: f64 = 2_097_152.0;

/// How often the step is made smaller.
const ATTEMPTS: u32 = 6;

/// How often the losses are looked at anew before the tilt is settled.
const REFINEMENTS: u32 = 3;

/// What is asked.
#[derive(Clone, Copy, Debug)]
enum Question {
    Epsilon { at_delta: f64 },
    Delta { at_epsilon: f64 },
}

impl LossDistribution {
    /// Answers whose bounds are a relative `precision` apart, where that can be reached.
    ///
    /// # Errors
    /// If `precision` is not from 1e-9 to 0.1.
    pub fn new(precision: f64) -> Result<Self, AccountingError> {
        if (1e-9..=0.1).contains(&precision) {
            Ok(LossDistribution { precision })
        } else {
            let accepted = "a number from 1e-9 to 0.1";
            Err(AccountingError::Parameter { name: "precision", value: precision, accepted })
        }
    }

    fn answer(&self, charges: &Charges, question: Question) -> Result<Bounds, AccountingError> {
        let mut answer = Bounds::ZERO;
        // It keeps the tables of each size.
        let mut planner = RealFftPlanner::new();
        for terms in pairs_of(charges)?.0 {
            let bounds = Composition::new(terms, question, self.precision).answer(&mut planner)?;
            answer = Bounds::new(answer.lower().max(bounds.lower()), answer.upper().max(bounds.upper()));
        }
        Ok(answer)
    }
}

impl Accountant for LossDistribution {
    fn name(&self) -> &'static str {
        "loss-distribution"
    }

    fn epsilon(&self, charges: &Charges, delta: Delta) -> Result<Bounds, AccountingError> {
        self.answer(charges, Question::Epsilon { at_delta: delta.get() })
    }

    fn delta(&self, charges: &Charges, epsilon: Epsilon) -> Result<Bounds, AccountingError> {
        self.answer(charges, Question::Delta { at_epsilon: epsilon.get() })
    }
}

/// The releases in one direction, and what is asked about them.
struct Composition {
    terms: Vec<Term>,
    question: Question,
    precision: f64,
    /// Bounds on the probability of an infinite loss.
    infinite: Bounds,
    /// No finite sum of losses is above this.
    greatest: f64,
}

/// What is chosen before anything is computed.
#[derive(Clone, Copy, Debug)]
struct Plan {
    tilt: f64,
    step: f64,
    ends: [(f64, f64); 2],
    cuts: Cuts,
}

impl Composition {
    fn new(terms: Vec<Term>, question: Question, precision: f64) -> Self {
        let infinite = |pair: fn(&Term) -> &Arc<dyn pair::Pair>| {
            some_infinite(terms.iter().map(|term| (pair(term).infinite(), term.times)))
        };
        let (upper, lower) = (infinite(|term| &term.dominating).upper(), infinite(|term| &term.attained).lower());
        let infinite = Bounds::new(lower, upper);
        let greatest = terms.iter().fold(Bounds::ZERO, |sum, term| {
            sum + Bounds::exact(term.dominating.greatest_loss()) * Bounds::exact(term.times as f64)
        });
        Composition { terms, question, precision, infinite, greatest: greatest.upper() }
    }

    fn answer(&self, planner: &mut RealFftPlanner<f64>) -> Result<Bounds, AccountingError> {
        if let Some(answer) = self.of_one().or_else(|| self.without_composing()) {
            return Ok(answer);
        }
        let mut failure = AccountingError::NotProved("no step was fine enough".into());
        // No sum exceeds the sum of the greatest losses.
        let mut best = match self.question {
            Question::Epsilon { .. } if self.greatest.is_finite() && self.infinite.upper() == 0.0 => {
                Some(Bounds::new(0.0, self.greatest))
            }
            _ => None,
        };
        // A few large losses may decide instead of many small ones; then the estimate of the tilt is rough, and others may do better.
        for tilt_factor in [1.0, 1.2, 0.8] {
            let mut plan = self.plan(tilt_factor);
            if plan.tilt == 0.0 && tilt_factor != 1.0 {
                break;
            }
            let mut before = f64::INFINITY;
            for attempt in 0..ATTEMPTS {
                match self.attempt(plan, planner) {
                    Ok(answer) => best = Some(best.map_or(answer, |best| best.intersect(answer))),
                    Err(error) => {
                        failure = error;
                        break;
                    }
                }
                let width = best.map_or(f64::INFINITY, |best| self.width(best));
                let apart = width / self.precision;
                if apart <= 1.0 {
                    return best.ok_or(failure);
                }
                // The width goes with the square of the step. Where it does not, a finer step is of no use.
                // Half at least, so that the frame grows to the next power of two.
                let finer = plan.step * (0.8 / apart.sqrt()).clamp(1.0 / 32.0, 0.49);
                let is_stuck = attempt > 0 && width > 0.7 * before;
                if is_stuck || (plan.ends[1].0 - plan.ends[0].0) / finer > self.most_points() {
                    break;
                }
                before = width;
                plan.step = finer;
            }
        }
        best.ok_or(failure)
    }

    fn most_points(&self) -> f64 {
        if self.precision < 1e-5 { MOST_POINTS } else { USUAL_POINTS }
    }

    /// The width that is to be made small.
    fn width(&self, answer: Bounds) -> f64 {
        if answer.upper() == answer.lower() { 0.0 } else { (answer.upper() - answer.lower()) / answer.upper() }
    }

    /// What needs no composition: an infinite loss that is more or less likely than `delta`, and an `epsilon` that no loss exceeds.
    fn without_composing(&self) -> Option<Bounds> {
        match self.question {
            Question::Epsilon { at_delta } if self.infinite.upper() >= at_delta => {
                let lower = if self.infinite.lower() > at_delta { f64::INFINITY } else { 0.0 };
                Some(Bounds::new(lower, f64::INFINITY))
            }
            Question::Delta { at_epsilon } => (at_epsilon >= self.greatest).then_some(self.infinite),
            Question::Epsilon { .. } => None,
        }
    }

    /// A single release, as all Gaussian noise together is, has its profile for an answer.
    fn of_one(&self) -> Option<Bounds> {
        let [Term { dominating, attained, times: 1 }] = &self.terms[..] else { return None };
        let bounds = match self.question {
            Question::Delta { at_epsilon } => {
                (attained.at(at_epsilon).delta.lower(), dominating.at(at_epsilon).delta.upper())
            }
            Question::Epsilon { at_delta } => {
                let range = Range::between(0.0, 1e9).bracket_from(1.0);
                let upper = least_at_most(|x| dominating.at(x).delta, at_delta, range).ok()?;
                let is_exceeded = |x: f64| attained.at(x).delta.lower() > at_delta;
                let lower = greatest_where(is_exceeded, Range::between(0.0, upper).bracket_from(upper)).unwrap_or(0.0);
                (lower, upper)
            }
        };
        Some(Bounds::new(bounds.0, bounds.1))
    }

    fn plan(&self, tilt_factor: f64) -> Plan {
        let pairs = || self.terms.iter().map(|term| (&*term.dominating, term.times));
        let (at_delta, negligible) = match self.question {
            Question::Epsilon { at_delta } => {
                (Some(at_delta - self.infinite.upper()), 1e-3 * self.precision * at_delta)
            }
            Question::Delta { .. } => (None, 1e-60),
        };
        let negligible = negligible / self.terms.iter().map(|term| term.times as f64).sum::<f64>();
        let tilt_of = |sketches: &Sketches| match (self.question, at_delta) {
            (Question::Delta { at_epsilon }, _) => sketches.tilt_for_loss(at_epsilon),
            (_, Some(delta)) => sketches.tilt_for_tail(delta.ln()),
            (_, None) => 0.0,
        };
        // A coarse picture exaggerates the tails; looking again where the tilt leads finds a better one.
        let mut tilt = 0.0;
        let mut sketches = Sketches::new(pairs(), negligible, tilt);
        for _ in 0..REFINEMENTS {
            tilt = tilt_of(&sketches);
            sketches = Sketches::new(pairs(), negligible, tilt);
        }
        let tilt = tilt_of(&sketches);
        let tilt = tilt * tilt_factor;
        let at = sketches.cumulants(tilt);
        let deviation = at.variance.sqrt();
        // The saddle-point estimate of delta at x is exp(K - tilt x) / (tilt (tilt + 1) sqrt(2 pi K'')).
        let prefactor = (tilt.max(1.0 / deviation) * (tilt + 1.0) * 2.5 * deviation).max(1.0);
        let (loss, delta) = match self.question {
            Question::Delta { at_epsilon } => (at_epsilon, (at.value - tilt * at_epsilon).min(0.0).exp() / prefactor),
            Question::Epsilon { at_delta } => (at.mean - prefactor.ln() / tilt.max(1.0 / deviation), at_delta),
        };
        let scale = loss.max(1e-2 * deviation).max(1e-300);
        // The upper bound adds h^2/6 to the variance of each loss, the lower one takes h^2/8 away; that moves epsilon by (tilt + 1)/2 times as much and
        // the logarithm of delta by tilt times that.
        let releases = sketches.releases();
        let tolerance = match self.question {
            Question::Epsilon { .. } => self.precision * scale,
            Question::Delta { .. } => self.precision / tilt.max(1.0 / deviation),
        };
        let step = (tolerance / (0.15 * (tilt + 1.0) * releases)).sqrt().min(0.1 * deviation).min(0.5 / tilt);
        let ends =
            sketches.window(tilt, (1e-3 * self.precision * (tolerance / self.precision / deviation).min(1.0)).ln());
        let cuts = Cuts { right: 1e-3 * self.precision * delta.max(1e-290) / releases, left: 1e-14, tilt };
        // As few points as the window allows, unless the losses of a single release are coarser.
        let step = step.max((ends[1].0 - ends[0].0) / self.most_points());
        Plan { tilt, step, ends, cuts }
    }

    /// A frame that holds the window, with the step made to fill it.
    fn frame(plan: Plan, atoms: &[(f64, f64)]) -> Frame {
        let [(left, below), (right, above)] = plan.ends;
        let points = ((right - left) / plan.step).ceil() + 16.0;
        let size = (points.clamp(64.0, 2.0 * MOST_POINTS) as usize).next_power_of_two();
        let step = aligned(atoms, (right - left) / (size as f64 - 16.0));
        let size = ((((right - left) / step).ceil() + 16.0) as usize).next_power_of_two();
        let first = (left / step).floor() as i64 - 8;
        Frame { step, first, size, tilt: plan.tilt, below, above }
    }

    fn attempt(&self, plan: Plan, planner: &mut RealFftPlanner<f64>) -> Result<Bounds, AccountingError> {
        let atoms = |term: &Term| {
            let weight = term.times as f64;
            term.attained.atoms().into_iter().map(move |atom| (atom, weight))
        };
        let mut atoms: Vec<(f64, f64)> = self.terms.iter().flat_map(atoms).collect();
        atoms.retain(|(atom, _)| atom.is_normal() && *atom > 0.0);
        let frame = Self::frame(plan, &atoms);
        let mut upper: Vec<(Masses, u64)> = Vec::new();
        let mut lower: Vec<(Masses, u64)> = Vec::new();
        for term in &self.terms {
            let sampled = Sampled::new(&*term.dominating, frame.step, plan.cuts)?;
            upper.push((sampled.dominating(), term.times));
            let masses = if Arc::ptr_eq(&term.dominating, &term.attained) {
                contracted(&sampled)
            } else {
                contracted(&Sampled::new(&*term.attained, frame.step, plan.cuts)?)
            };
            lower.push((masses, term.times));
        }
        let frame = frame.widened_to(support(&upper));
        let upper = Curve::new(&upper, frame, Side::Upper, planner)?;
        let lower = Curve::new(&lower, frame, Side::Lower, planner)?;
        let bounds = match self.question {
            Question::Epsilon { at_delta } => {
                let upper = match upper.epsilon(at_delta) {
                    Crossing::At(epsilon) | Crossing::Before(epsilon) => epsilon.max(0.0),
                    Crossing::Beyond(_) => {
                        return Err(AccountingError::NotProved("epsilon is outside the frame".into()));
                    }
                };
                let lower = match lower.epsilon(at_delta) {
                    Crossing::At(epsilon) | Crossing::Beyond(epsilon) => epsilon.max(0.0),
                    Crossing::Before(_) => 0.0,
                };
                (lower, upper)
            }
            Question::Delta { at_epsilon } => (lower.delta_at(at_epsilon), upper.delta_at(at_epsilon)),
        };
        if bounds.0 <= bounds.1 {
            Ok(Bounds::new(bounds.0, bounds.1))
        } else {
            Err(AccountingError::NotProved(
                "two bounds contradict each other: this is a defect, please report it".into(),
            ))
        }
    }
}

/// A step at most `coarsest` of which the atoms are multiples, or nearly so.
///
/// A grid loses a share of the step at an outcome that lies between its points, from below. For one atom there is a step that loses nothing; among the steps
/// that suit the first atom, the best for the others is taken.
fn aligned(atoms: &[(f64, f64)], coarsest: f64) -> f64 {
    /// How many steps are looked at.
    const TRIES: u64 = 4000;
    let Some(&(leading, _)) = atoms.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { return coarsest };
    // The probabilities of an atom are known to a few ulps, and its loss with them; the grid point must be below it for sure.
    let leading = leading - 8e-15 * leading.max(1.0);
    if leading <= 1e-12 {
        return coarsest;
    }
    let least = (leading / coarsest).ceil().max(1.0);
    if atoms.len() == 1 || least > 1e12 {
        return div_down(leading, least);
    }
    let most = (1.5 * least).max(least + 8.0);
    let stride = ((most - least) / TRIES as f64).ceil().max(1.0);
    let loss = |count: f64| {
        let step = leading / count;
        // What is over must be over: a point just above an atom is as good as a whole step away.
        let over = |&(atom, weight): &(f64, f64)| weight * step * (atom / step * (1.0 + 1e-15)).fract();
        atoms.iter().map(over).sum::<f64>()
    };
    let counts = (0..TRIES).map(|i| least + i as f64 * stride).take_while(|&count| count <= most);
    let best = counts.min_by(|&a, &b| loss(a).total_cmp(&loss(b))).unwrap_or(least);
    div_down(leading, best)
}
