//! What is chosen before losses are composed: tilt, step, window. Bad choices make brackets wide,
//! never wrong.
#![allow(
    clippy::disallowed_methods,
    reason = "estimates that steer; what is returned is proved elsewhere"
)]

use super::Question;
use super::effort::Effort;
use super::frame::Frame;
use super::grid::Cuts;
use super::pairs::Term;
use super::singly::Singly;
use super::sketch::{Look, Reach, Sketches};
use reticent_numerics::rounding::div_down;

/// By how much the first look is coarser than what the plan asks for, which often is more than
/// enough.
pub(super) const COARSER: f64 = 3.0;

/// The most points of a frame, filled or not: 128 MB a copy.
const MOST_SIZE: f64 = 16_777_216.0;

/// How the losses are looked at anew before the tilt is settled.
const LOOKS: [Look; 3] = [Look::Passing, Look::Passing, Look::Close];

/// How much more the answer may be than its guess before too much is saturated.
const MARGIN: f64 = 0.02;

/// How often a guess is made anew with losses saturated above it.
const ROUNDS: usize = 8;

/// A guess at both numbers, of which one was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guess {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
}

/// How losses are to be composed.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridPlan {
    pub(super) step: f64,
    tilt: f64,
    ends: [(f64, f64); 2],
    /// The rate at which small sums fall.
    falling: f64,
    /// Up to which answer nothing is lost by saturated losses.
    pub(super) furthest: f64,
    pub(super) cuts: Cuts,
}

/// The rough picture of all releases from which plans are made.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    terms: &'a [Term],
    question: Question,
    precision: f64,
    sketches: Sketches,
    reach: Reach,
    /// Losses with a smaller `delta` are left out of the picture.
    negligible: f64,
}

impl<'a> Planner<'a> {
    /// Looks at the releases, and guesses the answer.
    pub(super) fn new(
        terms: &'a [Term],
        singly: &Singly<'_>,
        question: Question,
        precision: f64,
        reach: Reach,
    ) -> (Self, Guess) {
        let releases = terms.iter().map(|term| term.times as f64).sum::<f64>();
        let negligible = match question {
            Question::Epsilon { at_delta } => 1e-3 * precision * at_delta,
            Question::Delta { .. } => 1e-60,
        };
        let negligible = negligible / releases;
        let pairs = || terms.iter().map(|term| (&*term.dominating, term.times));
        let tilt_of = |sketches: &Sketches| match question {
            Question::Delta { at_epsilon } => sketches.tilt_for_loss(at_epsilon),
            Question::Epsilon { at_delta } => sketches.tilt_for_tail(
                (at_delta - singly.infinite.upper() - sketches.infinite())
                    .max(1e-9 * at_delta)
                    .ln(),
            ),
        };
        // A coarse picture exaggerates the tails; looking again where the tilt leads finds a better
        // one.
        let mut sketches =
            Sketches::new(pairs(), negligible, 0.0, f64::INFINITY, Look::Passing).reaching(reach);
        for look in LOOKS {
            sketches = Sketches::new(pairs(), negligible, tilt_of(&sketches), f64::INFINITY, look)
                .reaching(reach);
        }
        let tilt = tilt_of(&sketches);
        let planner = Planner { terms, question, precision, sketches, reach, negligible };
        let mut guess = planner.guessed(&planner.sketches, tilt, singly);
        // Large losses mislead the tilt; without what they are above the guess, it comes down.
        for _ in 0..ROUNDS {
            let narrowed = planner.sketches.saturated_at(planner.top(guess).0);
            if narrowed.infinite() == 0.0 {
                break;
            }
            let better = planner.guessed(&narrowed, tilt_of(&narrowed), singly);
            let is_settled = better.epsilon.is_nan() || better.epsilon >= 0.99 * guess.epsilon;
            if !better.epsilon.is_nan() {
                guess = better;
            }
            if is_settled {
                break;
            }
        }
        (planner, guess)
    }

    /// The answer by the saddle-point estimate of `delta` at `x`,
    /// `exp(K - tilt x) / (tilt (tilt + 1) sqrt(2 pi K''))`.
    fn guessed(&self, sketches: &Sketches, tilt: f64, singly: &Singly<'_>) -> Guess {
        let at = sketches.cumulants(tilt);
        let deviation = at.variance.sqrt();
        let prefactor = (tilt.max(1.0 / deviation) * (tilt + 1.0) * 2.5 * deviation).max(1.0);
        match self.question {
            Question::Delta { at_epsilon } => {
                let delta =
                    (at.value - tilt * at_epsilon).min(0.0).exp() / prefactor + sketches.infinite();
                Guess { epsilon: at_epsilon, delta }
            }
            Question::Epsilon { at_delta } => {
                let epsilon = at.mean - prefactor.ln() / tilt.max(1.0 / deviation);
                Guess { epsilon: from_one_loss(singly, at_delta, epsilon), delta: at_delta }
            }
        }
    }

    /// A guess at which what is saturated leaves something of `delta`, with its top: where it does
    /// not, the answer is further up.
    fn within_delta(&self, guess: Guess) -> (Guess, (f64, f64)) {
        const TRIES: usize = 40;
        let mut guess = guess;
        let mut top = self.top(guess);
        // A picture that was saturated before knows no more than that.
        if self.sketches.infinite() == 0.0 && matches!(self.question, Question::Epsilon { .. }) {
            for _ in 0..TRIES {
                if self.sketches.saturated_at(top.0).infinite() <= 0.95 * guess.delta {
                    break;
                }
                guess.epsilon *= 1.0 + MARGIN;
                top = self.top(guess);
            }
        }
        (guess, top)
    }

    /// From which loss on releases are saturated for an answer near the guess, and the rate at
    /// which small sums fall.
    ///
    /// What saturating adds, `V(c)` times the probability that other losses fall below
    /// `epsilon - c`, must be little beside `delta`, where `V` is what it makes infinite; as `V`
    /// falls with `c`, the two are found in turns.
    fn top(&self, guess: Guess) -> (f64, f64) {
        const TURNS: usize = 4;
        let negligible = 1e-3 * self.precision;
        let at =
            |distance: f64| ((1.0 + MARGIN) * guess.epsilon + distance).max(0.1 * guess.epsilon);
        let (distance, mut falling) = self.sketches.falling(negligible.ln());
        let mut top = at(distance);
        for _ in 0..TURNS {
            let infinite = self.sketches.saturated_at(top).infinite();
            if infinite == 0.0 {
                break;
            }
            let (distance, rate) =
                self.sketches.falling((negligible * guess.delta / infinite).ln().min(-2.0));
            let before = std::mem::replace(&mut top, at(distance));
            falling = rate;
            if (before - top).abs() <= 0.01 * top {
                break;
            }
            // The turns come from both sides.
            top = 0.5 * (before + top);
        }
        (top, falling)
    }

    /// A plan for an answer near the guess.
    pub(super) fn plan(&mut self, guess: Guess, effort: &Effort) -> GridPlan {
        let (guess, (top, falling)) = self.within_delta(guess);
        let mut tilt = self.sketches.saturated_at(top).tilt_for_loss(guess.epsilon);
        let pairs = self.terms.iter().map(|term| (&*term.dominating, term.times));
        self.sketches =
            Sketches::new(pairs, self.negligible, tilt, top, Look::Close).reaching(self.reach);
        tilt = self.sketches.tilt_for_loss(guess.epsilon);
        if self.sketches.infinite() > 0.0 {
            // Sums of several losses at the top hardly matter, but take room: a little less of the
            // tilt makes them rarer and costs little elsewhere.
            tilt -= (2.0 / top).min(0.3 * tilt);
        }
        let at = self.sketches.cumulants(tilt);
        let deviation = at.variance.sqrt().max(1e-300);
        let scale = guess.epsilon.max(1e-2 * deviation).max(1e-300);
        // The upper bound adds h^2/6 to the variance of each loss, the lower one takes h^2/8 away;
        // that moves epsilon by (tilt + 1)/2 times as much and the logarithm of delta by tilt times
        // that.
        let releases = self.sketches.releases();
        let tolerance = match self.question {
            Question::Epsilon { .. } => self.precision * scale,
            Question::Delta { .. } => self.precision / tilt.max(1.0 / deviation),
        };
        let step = (tolerance / (0.15 * (tilt + 1.0) * releases))
            .sqrt()
            .min(0.1 * deviation)
            .min(0.5 / tilt);
        // The share of the tilted losses that make up delta: e^(tilt epsilon - K) delta. What is
        // outside the window must be little beside it.
        let finite = (guess.delta - self.sketches.infinite()).max(1e-2 * guess.delta).max(1e-290);
        let log_share = (finite.ln() + tilt * guess.epsilon - at.value).clamp(-60.0, 0.0);
        let added = releases * (COARSER * step).powi(2) / 4.0;
        let ends = self.sketches.window(tilt, (1e-3 * self.precision).ln() + log_share, added);
        let right = 1e-3 * self.precision * guess.delta.max(1e-290) / releases;
        let cuts = Cuts { right, top, left: 1e-14, tilt, share: log_share.exp() };
        // As few points as the window allows, unless the losses of a single release are coarser.
        let step = step.max((ends[1].0 - ends[0].0) / effort.most_points());
        let furthest = if self.sketches.infinite() > 0.0 {
            (1.0 + MARGIN) * guess.epsilon
        } else {
            f64::INFINITY
        };
        GridPlan { tilt, step, ends, falling, furthest, cuts }
    }
}

/// Where a few large losses decide instead of many small ones, the saddle point says too little:
/// the `epsilon` at which `sum_i k_i delta_i` is `delta`, if that is more, to a thirtieth.
fn from_one_loss(singly: &Singly<'_>, delta: f64, epsilon: f64) -> f64 {
    let exceeds = |x: f64| singly.sum_at(x).estimate() > delta + singly.infinite.upper();
    let (mut low, mut high) = (epsilon.max(0.0), singly.greatest.min(700.0));
    if low.is_nan() || low >= high || !exceeds(low) {
        return epsilon;
    }
    for _ in 0..60 {
        if high - low <= 0.03 * low {
            break;
        }
        let middle = if low > 0.0 && high > 4.0 * low { 2.0 * low } else { 0.5 * (low + high) };
        if exceeds(middle) { low = middle } else { high = middle }
    }
    low
}

impl GridPlan {
    /// How many grid points the window takes with another step.
    pub(super) fn points(&self, step: f64) -> f64 {
        (self.ends[1].0 - self.ends[0].0) / step
    }

    /// A frame that holds the window, with the step made to fill it. `None` if there is no window.
    pub(super) fn frame(&self, atoms: &[(f64, f64)], effort: &Effort) -> Option<Frame> {
        let [(left, below), (right, above)] = self.ends;
        let length = right - left;
        if !(length.is_finite()
            && length > 0.0
            && self.step > 0.0
            && left.abs().max(right.abs()) < 1e12 * length)
        {
            return None;
        }
        let size_of = |step: f64| {
            (((length / step).ceil() + 16.0).clamp(64.0, 1e9) as usize).next_power_of_two()
        };
        let coarsest = length / (size_of(self.step) as f64 - 16.0);
        let aligned = aligned(atoms, coarsest);
        // A small atom among large losses is not worth the points.
        let step = if length / aligned <= 2.0 * effort.most_points() { aligned } else { coarsest };
        let size = size_of(step);
        let first = (left / step).floor() as i64 - 8;
        (size as f64 <= (4.0 * effort.most_points()).min(MOST_SIZE)).then_some(Frame {
            step,
            first,
            size,
            tilt: self.tilt,
            below,
            above,
            falling: self.falling,
        })
    }
}

/// A step at most `coarsest` of which the atoms are multiples, or nearly so.
///
/// A grid loses a share of the step at an outcome that lies between its points, from below. For one
/// atom there is a step that loses nothing; among the steps that suit the first atom, the best for
/// the others is taken.
fn aligned(atoms: &[(f64, f64)], coarsest: f64) -> f64 {
    /// How many steps are looked at.
    const TRIES: u64 = 4000;
    let Some(&(leading, _)) = atoms.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return coarsest;
    };
    // The probabilities of an atom are known to some ulps, and its loss with them; the grid point
    // must be below it for sure.
    let leading = leading - 4e-14 * leading.max(1.0);
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
        let over =
            |&(atom, weight): &(f64, f64)| weight * step * (atom / step * (1.0 + 1e-15)).fract();
        atoms.iter().map(over).sum::<f64>()
    };
    let counts = (0..TRIES).map(|i| least + i as f64 * stride).take_while(|&count| count <= most);
    let best = counts.min_by(|&a, &b| loss(a).total_cmp(&loss(b))).unwrap_or(least);
    div_down(leading, best)
}
