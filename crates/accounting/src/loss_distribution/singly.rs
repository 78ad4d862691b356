//! What is known of a composition without composing anything.

use super::Question;
use super::curve::some_infinite;
use super::pair::Pair;
use super::pairs::Term;
use reticent_numerics::Bounds;
use reticent_numerics::root::{Range, greatest_where, least_at_most};

/// Releases, each looked at on its own.
#[derive(Debug)]
pub(super) struct Singly<'a> {
    terms: &'a [Term],
    /// Bounds on the probability of an infinite loss.
    pub(super) infinite: Bounds,
    /// No finite sum of losses is above this.
    pub(super) greatest: f64,
    /// And none, finite or not, below this.
    least: f64,
}

/// The largest loss that is looked for.
const FURTHEST: f64 = 1e9;

impl<'a> Singly<'a> {
    pub(super) fn new(terms: &'a [Term]) -> Self {
        let infinite = |pair: fn(&Term) -> &dyn Pair| {
            some_infinite(terms.iter().map(|term| (pair(term).infinite(), term.times)))
        };
        let (upper, lower) =
            (infinite(|term| &*term.dominating).upper(), infinite(|term| &*term.attained).lower());
        let greatest = terms.iter().fold(Bounds::ZERO, |sum, term| {
            sum + Bounds::exact(term.dominating.greatest_loss()) * Bounds::exact(term.times as f64)
        });
        let least = terms.iter().fold(Bounds::ZERO, |sum, term| {
            sum + Bounds::exact(term.dominating.least_loss()) * Bounds::exact(term.times as f64)
        });
        Singly {
            terms,
            infinite: Bounds::new(lower, upper),
            greatest: greatest.upper(),
            least: least.lower(),
        }
    }

    /// What is exact, or as exact as the pairs are: a single release; no release that tells more
    /// than `delta` allows; an `epsilon` that no loss exceeds; an infinite loss that is likelier
    /// than `delta`.
    pub(super) fn settled(&self, question: Question) -> Option<Bounds> {
        match (question, self.terms) {
            (Question::Epsilon { at_delta }, _) if self.most_distance() <= at_delta => {
                Some(Bounds::ZERO)
            }
            (_, [Term { dominating, attained, times: 1 }]) => {
                Some(of_one(&**dominating, &**attained, question))
            }
            (Question::Epsilon { at_delta }, _) if self.infinite.upper() >= at_delta => {
                let lower = if self.infinite.lower() > at_delta { f64::INFINITY } else { 0.0 };
                Some(Bounds::new(lower, f64::INFINITY))
            }
            // The distances of single releases add up at most.
            (Question::Epsilon { at_delta }, _) if self.sum_at(0.0).upper() <= at_delta => {
                Some(Bounds::ZERO)
            }
            (Question::Delta { at_epsilon }, _) if at_epsilon >= self.greatest => {
                Some(self.infinite)
            }
            _ => None,
        }
    }

    /// At least the total variation distance of all releases together, which is `delta` at
    /// `epsilon = 0`.
    ///
    /// With `w = e^-L` it is `E_P max(0, 1 - w)`, where `E_P w <= 1`, less by what `Q` has alone.
    /// - If no loss exceeds `g`, then `w >= e^-g`, and it is at most `1 - e^-g < g`. This much
    ///   holds in one direction.
    /// - If moreover none is below `-g`, then `w <= e^g`. A mean of the convex `max(0, 1 - w)` over
    ///   an interval is largest where only the ends have mass: `s` at `e^-g` with
    ///   `s e^-g + (1 - s) e^g = 1`, so that
    ///   `s (1 - e^-g) = (e^g - 1)(1 - e^-g)/(e^g - e^-g) = tanh(g/2) < g/2`.
    ///
    /// On a sample the losses of the two directions differ, and half of the greatest one is a bound
    /// only if the least, which is the other direction's greatest, is no further from zero.
    fn most_distance(&self) -> f64 {
        if self.infinite.upper() > 0.0 {
            return 1.0;
        }
        self.greatest.min(0.5 * self.greatest.max(-self.least))
    }

    /// No `epsilon` is above this: no sum of finite losses exceeds the sum of the greatest.
    pub(super) fn most_epsilon(&self, at_delta: f64) -> f64 {
        if self.infinite.upper() < at_delta { self.greatest } else { f64::INFINITY }
    }

    /// What holds of every composition: it tells no less than any of its releases, and by basic
    /// composition `k` releases of `(epsilon/k, d_i)` are `(epsilon, sum d_i)`-differentially
    /// private together.
    pub(super) fn bracket(&self, question: Question) -> Bounds {
        let releases = self.terms.iter().map(|term| term.times as f64).sum::<f64>();
        // A sum of up to 2^53, off by an ulp a term; the share is made smaller by more than that.
        let share = (1.0 - 1e-9) / releases;
        let one = |term: &Term| of_one(&*term.dominating, &*term.attained, question).lower();
        let lower = self.terms.iter().map(one).fold(0.0, f64::max);
        let upper = match question {
            Question::Delta { at_epsilon } => self.sum_at(share * at_epsilon).upper().min(1.0),
            Question::Epsilon { at_delta } => {
                let range = Range::between(0.0, FURTHEST).bracket_from(1.0);
                let each = least_at_most(|x| self.sum_at(x), at_delta, range);
                let all = each.map_or(f64::INFINITY, |each| each / share * (1.0 + 1e-9));
                all.min(self.most_epsilon(at_delta))
            }
        };
        Bounds::new(lower.min(upper), upper)
    }

    /// `sum_i k_i delta_i(x)`.
    pub(super) fn sum_at(&self, loss: f64) -> Bounds {
        self.terms.iter().fold(Bounds::ZERO, |sum, term| {
            sum + term.dominating.at(loss).delta * Bounds::exact(term.times as f64)
        })
    }
}

/// A single release, as all Gaussian noise together is, has its profile for an answer.
fn of_one(dominating: &dyn Pair, attained: &dyn Pair, question: Question) -> Bounds {
    let (lower, upper) = match question {
        Question::Delta { at_epsilon } => {
            (attained.at(at_epsilon).delta.lower(), dominating.at(at_epsilon).delta.upper())
        }
        Question::Epsilon { at_delta } => {
            let range = Range::between(0.0, FURTHEST).bracket_from(1.0);
            let upper =
                least_at_most(|x| dominating.at(x).delta, at_delta, range).unwrap_or(f64::INFINITY);
            let is_exceeded = |x: f64| attained.at(x).delta.lower() > at_delta;
            let end = upper.min(FURTHEST);
            let lower = greatest_where(is_exceeded, Range::between(0.0, end).bracket_from(end))
                .unwrap_or(0.0);
            (lower, upper)
        }
    };
    Bounds::new(lower.min(upper), upper)
}

#[cfg(test)]
mod tests {
    use super::super::pairs::{AtomsPair, Direction, SubsampledPair};
    use super::*;
    use std::sync::Arc;

    fn of(pair: impl Pair + 'static) -> Vec<Term> {
        let pair: Arc<dyn Pair> = Arc::new(pair);
        vec![Term { dominating: pair.clone(), attained: pair, times: 1 }]
    }

    /// A sample of which no loss exceeds 0.1054 in one direction, while its total variation
    /// distance is 0.0999: half of the greatest loss, 0.0527, is no bound on it. It is one where
    /// losses are bounded on both sides.
    #[test]
    fn half_of_the_greatest_loss_of_one_direction_is_no_bound() {
        let base = || Arc::new(AtomsPair::randomized_response(8.0, 2));
        let added = of(SubsampledPair::new(base(), 0.1, Direction::Added));
        let distance = added[0].dominating.at(0.0).delta;
        let singly = Singly::new(&added);
        assert!(
            distance.lower() > 0.0999 && 0.5 * singly.greatest < 0.053,
            "{distance:?} {singly:?}"
        );
        assert!(singly.most_distance() >= distance.upper(), "{singly:?}");
        let removed = of(SubsampledPair::new(base(), 0.1, Direction::Removed));
        assert!(Singly::new(&removed).most_distance() >= distance.upper());
        let both_sides = of(AtomsPair::randomized_response(0.2, 2));
        let singly = Singly::new(&both_sides);
        assert!((singly.most_distance() - 0.1).abs() < 1e-12, "{singly:?}");
        assert!(singly.most_distance() >= both_sides[0].dominating.at(0.0).delta.upper());
    }

    /// What is revealed for certain where a unit is removed is a loss of minus infinity where it is
    /// added.
    #[test]
    fn outcomes_of_q_alone_count() {
        let base = Arc::new(AtomsPair::approximate(0.01, 0.5));
        let added = of(SubsampledPair::new(base, 0.1, Direction::Added));
        let singly = Singly::new(&added);
        assert_eq!((singly.infinite.upper(), singly.least), (0.0, f64::NEG_INFINITY));
        assert!(singly.most_distance() >= added[0].dominating.at(0.0).delta.upper(), "{singly:?}");
    }
}
