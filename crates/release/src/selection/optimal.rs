//! The greatest probabilities with which groups may be shown.

use crate::error::ReleaseError;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Bernoulli, Probability};
use reticent_numerics::{Big, Bounds, Enclosure, Wide};
use std::cmp::Ordering;

/// Shows a group of `n` units with probability `p(n)`, independently of all other groups.
///
/// # Distribution
/// `p(0) = 0`, and each next one is as large as privacy allows:
///
/// `p(n) = min(e^eps p(n-1) + delta, 1 - e^-eps (1 - p(n-1) - delta), 1)`.
///
/// While `p(n-1) <= (1 - delta)/(1 + e^eps)`, which is up to some `n = c`, the first is the least,
/// and solved it is `p(n) = delta (e^(n eps) - 1)/(e^eps - 1)`. From there on the second is, and
/// `1 - p(c + m) = e^(-m eps) (1 - p(c)) - delta (1 - e^(-m eps))/(e^eps - 1)`, until that is no
/// longer positive and `p` is 1.
///
/// # Guarantee
/// `(eps, delta)`-differential privacy of the set of groups shown, for a unit that is in one group,
/// and no rule shows any group more often. With `k` groups a unit, `(eps, delta)` are the `k`-th
/// parts of what all together cost. `p` does not decrease, so that of the four inequalities for one
/// group (shown or not, unit added or removed) two are those above and the other two follow.
///
/// # Numerics
/// Nothing is rounded: `p(n)` is evaluated at whatever precision the coin asks for, from the very
/// `eps` and `delta` that are charged. `c`, and where `p` reaches 1, are proved.
///
/// # References
/// Desfontaines, Voss, Gipson, Mandayam, *Differentially private partition selection*, 2022,
/// Theorem 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OptimalSelection {
    epsilon: f64,
    delta: f64,
    /// `c`.
    crossing: u64,
    /// The least `n` with `p(n) = 1`.
    certain: u64,
}

/// The bits of the second attempt at a proof.
const LONG_PRECISION: u32 = 1200;

/// Numbers of units are looked for up to here.
const MOST_UNITS: f64 = 1e15;

impl OptimalSelection {
    /// The rule for what one group may cost.
    ///
    /// # Errors
    /// If groups would have to be of more than 1e15 units, or the turning points cannot be proved.
    pub(crate) fn new(epsilon: f64, delta: f64) -> Result<Self, ReleaseError> {
        let unknown = OptimalSelection { epsilon, delta, crossing: 0, certain: u64::MAX };
        // From delta (e^((n-1) eps) - 1)/(e^eps - 1) <= (1 - delta)/(1 + e^eps), that is (n - 1)
        // eps <= ln(1 + ...).
        let growth = epsilon.exp_m1() / delta;
        let guess = ((1.0 - delta) / (1.0 + epsilon.exp()) * growth).ln_1p() / epsilon;
        let crossing = last_where(guess.floor() + 1.0, |n| unknown.first_rule_holds(n))?;
        let from = OptimalSelection { crossing, ..unknown };
        let rest = 1.0 - from.risen(crossing, &Bounds::ONE).estimate();
        let guess = crossing as f64 + ((rest * growth).ln_1p() / epsilon).ceil() - 1.0;
        let certain = last_where(guess, |n| from.is_missing(n))?.saturating_add(1);
        Ok(OptimalSelection { certain, ..from })
    }

    /// What one group may lose.
    pub(crate) fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The probability with which a lone unit is shown.
    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }

    /// Whether a group is shown. One without units never is.
    pub(crate) fn draw<R: RandomBits + ?Sized>(
        &self,
        units: u64,
        random: &mut R,
    ) -> Result<bool, RandomnessError> {
        if units == 0 {
            return Ok(false);
        }
        Bernoulli::new(Shown { rule: self, units }).draw(random)
    }

    /// `p(n)`.
    pub(crate) fn probability<E: Enclosure>(&self, n: u64, like: &E) -> E {
        if n <= self.crossing {
            self.risen(n, like)
        } else if n < self.certain {
            like.exactly(1.0) - self.missing(n, like)
        } else {
            like.exactly(1.0)
        }
    }

    /// The least `n` with `p(n) >= 1/2`.
    pub(crate) fn shown_at_half(&self) -> u64 {
        let (mut low, mut high) = (0, self.certain);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.probability(middle, &Bounds::ONE).lower() >= 0.5 {
                high = middle
            } else {
                low = middle
            }
        }
        high
    }

    /// `delta (e^(n eps) - 1)/(e^eps - 1)`.
    fn risen<E: Enclosure>(&self, n: u64, like: &E) -> E {
        let epsilon = like.exactly(self.epsilon);
        let whole = like.integer(i128::from(n)) * epsilon.clone();
        like.exactly(self.delta) * (whole.exp_m1() / epsilon.exp_m1())
    }

    /// `e^(-m eps) (1 - p(c)) - delta (1 - e^(-m eps))/(e^eps - 1)` for `n = c + m`.
    fn missing<E: Enclosure>(&self, n: u64, like: &E) -> E {
        let epsilon = like.exactly(self.epsilon);
        let decay = -(like.integer(i128::from(n - self.crossing)) * epsilon.clone());
        let rest = like.exactly(1.0) - self.risen(self.crossing, like);
        decay.clone().exp() * rest + like.exactly(self.delta) * (decay.exp_m1() / epsilon.exp_m1())
    }

    /// Whether `p(n-1) <= (1 - delta)/(1 + e^eps)`; `None` where that cannot be proved.
    fn first_rule_holds(&self, n: u64) -> Option<bool> {
        let before = n.saturating_sub(1);
        let sign = sign(self.beyond_turn(before, &Wide::ONE), || {
            self.beyond_turn(before, &Big::exact(1.0, LONG_PRECISION))
        });
        sign.map(|sign| sign != Ordering::Greater)
    }

    /// `p(n) - (1 - delta)/(1 + e^eps)`, by the first rule.
    fn beyond_turn<E: Enclosure>(&self, n: u64, like: &E) -> E {
        let one = like.exactly(1.0);
        let turn =
            (one.clone() - like.exactly(self.delta)) / (one + like.exactly(self.epsilon).exp());
        self.risen(n, like) - turn
    }

    /// Whether `p(n) < 1`; `None` where that cannot be proved.
    fn is_missing(&self, n: u64) -> Option<bool> {
        if n <= self.crossing {
            return Some(true);
        }
        let sign =
            sign(self.missing(n, &Wide::ONE), || self.missing(n, &Big::exact(1.0, LONG_PRECISION)));
        sign.map(|sign| sign == Ordering::Greater)
    }
}

/// The sign of a number, by 100 bits and, where these leave it open, by more.
fn sign(short: Wide, long: impl FnOnce() -> Big) -> Option<Ordering> {
    let of = |bounds: Bounds| bounds.compare(&Bounds::ZERO);
    of(short.bounds()).or_else(|| of(long().bounds()))
}

/// The last integer from 1 on at which a statement holds that holds up to some integer and not
/// beyond, near a guess.
fn last_where(guess: f64, holds: impl Fn(u64) -> Option<bool>) -> Result<u64, ReleaseError> {
    let refuse = |reason: &str| {
        ReleaseError::Refused(format!("groups cannot be selected with this budget: {reason}"))
    };
    if guess.is_nan() || guess > MOST_UNITS {
        return Err(refuse(
            "only groups of more than 1e15 units would be shown; give a larger epsilon or delta, \
             or lower max_groups",
        ));
    }
    let mut n = guess.max(1.0) as u64;
    for _ in 0..64 {
        let open = || {
            refuse(
                "a turning point of its probabilities could not be proved; change epsilon or delta \
                 in the last digit",
            )
        };
        let here = holds(n).ok_or_else(open)?;
        let next = holds(n + 1).ok_or_else(open)?;
        match (here, next) {
            (true, false) => return Ok(n),
            (true, true) => n += 1,
            (false, _) if n > 1 => n -= 1,
            // It always holds at 1: p(0) is 0, and p(1) is delta.
            (false, _) => return Err(refuse("nothing may be shown")),
        }
    }
    Err(refuse("a turning point of its probabilities was not found"))
}

/// `p(n)` as a coin takes it.
#[derive(Clone, Copy, Debug)]
struct Shown<'a> {
    rule: &'a OptimalSelection,
    units: u64,
}

impl Probability for Shown<'_> {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        self.rule.probability(self.units, like)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn rules() -> Vec<OptimalSelection> {
        [
            (1.0, 1e-5),
            (0.1, 1e-10),
            (3.0, 0.01),
            (0.01, 1e-3),
            (50.0, 1e-12),
            (0.5, 1e-300),
            (1e-4, 1e-6),
            (700.0, 0.3),
        ]
        .into_iter()
        .map(|(epsilon, delta)| OptimalSelection::new(epsilon, delta).expect("valid"))
        .collect()
    }

    #[test]
    fn the_closed_form_is_the_recurrence_for_every_number_of_units() {
        for rule in rules() {
            let mut p = 0.0f64;
            for n in 1..=(rule.certain + 2).min(300_000) {
                let (e, d) = (rule.epsilon.exp(), rule.delta);
                p = (e * p + d).min(1.0 - (1.0 - p - d) / e).min(1.0);
                let closed = rule.probability(n, &Bounds::ONE);
                assert!((closed.estimate() / p - 1.0).abs() < 1e-9, "{rule:?} {n}: {closed:?} {p}");
            }
        }
    }

    /// All four inequalities between neighbours, for every number of units (the first 1500 and
    /// those at the turning points), with enough bits for a `delta` of 1e-300.
    #[test]
    fn no_number_of_units_breaks_the_guarantee() {
        for rule in rules() {
            let like = Big::exact(
                1.0,
                if rule.delta < 1e-100 || rule.epsilon > 100.0 { 1400 } else { 400 },
            );
            // The inequality that is attained holds with equality, which no enclosure decides: a
            // slack of 1e-60 of both sides.
            let slack = like.exactly(1.0) + like.exactly(1e-60);
            let at_most = |a: Big, b: Big| {
                a.compare(&(b * slack.clone())) == Some(Ordering::Less) || a.bounds().upper() <= 0.0
            };
            let (e, d) = (like.exactly(rule.epsilon).exp(), like.exactly(rule.delta));
            let steps = (rule.certain + 2).min(1500);
            let counts = (1..=steps)
                .chain(rule.crossing.saturating_sub(3).max(1)..=rule.crossing + 3)
                .chain(rule.certain - 1..=rule.certain + 2);
            for n in counts {
                let (before, here) = (rule.probability(n - 1, &like), rule.probability(n, &like));
                let (not_before, not_here) =
                    (like.exactly(1.0) - before.clone(), like.exactly(1.0) - here.clone());
                assert!(
                    at_most(here.clone(), e.clone() * before.clone() + d.clone()),
                    "{rule:?} {n}: shown"
                );
                assert!(
                    at_most(before, e.clone() * here + d.clone()),
                    "{rule:?} {n}: shown before"
                );
                assert!(
                    at_most(not_here.clone(), e.clone() * not_before.clone() + d.clone()),
                    "{rule:?} {n}: hidden"
                );
                assert!(
                    at_most(not_before, e.clone() * not_here + d.clone()),
                    "{rule:?} {n}: hidden before"
                );
            }
        }
    }

    #[test]
    fn it_is_the_greatest_rule_and_ends_at_certainty() {
        let rule = OptimalSelection::new(1.0, 1e-5).expect("valid");
        assert_eq!(rule.probability(0, &Bounds::ONE), Bounds::ZERO);
        assert!(
            (rule.probability(1, &Bounds::ONE).estimate() - 1e-5).abs() < 1e-18,
            "a lone unit is shown with probability delta"
        );
        assert_eq!(rule.probability(rule.certain, &Bounds::ONE), Bounds::ONE);
        assert!(rule.probability(rule.certain - 1, &Bounds::ONE).upper() < 1.0);
        // Laplace noise with the threshold 1 + ln(1/(2 delta)) = 11.8 shows a group of 11.8 with
        // probability 1/2; this rule shows one of 12.
        assert_eq!(rule.shown_at_half(), 12);
        for budget in [(1e-14, 1e-30), (0.0, 0.1)] {
            assert!(OptimalSelection::new(budget.0, budget.1).is_err(), "{budget:?}");
        }
    }

    #[test]
    fn coins_follow_the_probabilities() {
        let rule = OptimalSelection::new(0.7, 1e-3).expect("valid");
        let mut random = SeededRandom::new(5);
        for n in [1u64, 5, 9, 12, 15] {
            let p = rule.probability(n, &Bounds::ONE).estimate();
            let tries = 40_000;
            let shown = (0..tries).filter(|_| rule.draw(n, &mut random).expect("seeded")).count();
            let deviation = |p: f64| (f64::from(tries) * p * (1.0 - p)).sqrt();
            // Six standard deviations: 2e-9 for each of five; for p = 1e-3 the Poisson tail makes
            // it 1e-7.
            assert!(
                (shown as f64 - f64::from(tries) * p).abs() <= 6.0 * deviation(p),
                "{n}: {shown}"
            );
            // Power: a group of one unit more is told apart.
            let other = rule.probability(n + 1, &Bounds::ONE).estimate();
            assert!(
                (shown as f64 - f64::from(tries) * other).abs() > 6.0 * deviation(other.min(0.999))
                    || n > 12,
                "{n}"
            );
        }
        assert!((0..1000).all(|_| !rule.draw(0, &mut random).expect("seeded")));
        assert!((0..1000).all(|_| rule.draw(rule.certain, &mut random).expect("seeded")));
    }
}
