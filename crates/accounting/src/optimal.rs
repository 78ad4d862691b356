//! The optimal composition of guarantees: the least cost that `(epsilon_i, delta_i)` alone allow to
//! prove.
//!
//! # Theorem
//! Every `(e, d)`-differentially private mechanism is a processing of one that with probability `d`
//! tells all, and otherwise is binary randomized response with loss `e` (Kairouz, Oh,
//! Viswanath, *The composition theorem for differential privacy*, 2015, Theorem 3.3; Murtagh and
//! Vadhan, *The complexity of computing the optimal composition of differential privacy*, 2016, for
//! unequal ones). So the worst case over all mechanisms is the composition of those, and its
//! profile is
//!
//! ```text
//! delta(epsilon) = 1 - (1 - H(epsilon)) prod (1 - d_i),
//!     H(epsilon) = E max(0, 1 - e^(epsilon - L)),
//! ```
//!
//! with `L = sum ± e_i`, each sign positive with probability `e^(e_i)/(1 + e^(e_i))`,
//! independently. For `k` equal losses, `L = (2 J - k) e` with a binomial `J`, which is Theorem 3.3
//! at `epsilon = (k - 2 i) e` and holds at every `epsilon`.
//!
//! # Numerics
//! Equal losses are taken together. A group's binomial distribution is a table around its mode, in
//! [`Wide`], from the ratios of neighbouring terms; what lies more than `e^-690` below the mode is
//! bounded by a geometric series. For the largest group, sums from each index on are tabulated; all
//! combinations of the others are enumerated. The general problem is #P-hard (Murtagh and Vadhan),
//! so above `2^14` combinations this refuses: the loss-distribution accountant answers there.

use crate::guarantee::{above, pure_loss};
use crate::{Accountant, AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::gamma::ln_gamma;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::add_up;
use reticent_numerics::{Bounds, Enclosure, Wide, nearest};

/// The optimal composition of pure and approximate guarantees.
///
/// Each event is read as its guarantee: its pure loss, or the pair of "some `(epsilon, delta)`
/// mechanism". Events that are neither, such as Gaussian noise, are not covered.
///
/// # Direction
/// An upper bound for every event with that guarantee. It is exact, from below too, if all events
/// are binary responses or guarantees of which nothing else is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptimalComposition;

impl Accountant for OptimalComposition {
    fn name(&self) -> &'static str {
        "optimal"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        let profile = Profile::of(composition)?;
        let range = Range::between(0.0, profile.largest_loss).bracket_from(1.0).to_within(1e-14);
        let least = |side: fn(&Bounds) -> f64| {
            least_at_most(
                |epsilon| Bounds::new(0.0, side(&profile.delta(epsilon))),
                delta.get(),
                range,
            )
        };
        let upper = least(Bounds::upper).unwrap_or(f64::INFINITY);
        if !profile.exact {
            return Ok(Bounds::new(0.0, upper));
        }
        // Just below the least loss that is not proved to be too small, it is proved; the tolerance
        // is stepped over and the proof repeated.
        let lower = least(Bounds::lower).unwrap_or(profile.largest_loss) * (1.0 - 4e-14);
        let proved = profile.delta(lower).lower() > delta.get();
        Ok(Bounds::new(if proved { lower.min(upper) } else { 0.0 }, upper))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        let profile = Profile::of(composition)?;
        let bounds = profile.delta(epsilon.get());
        Ok(if profile.exact { bounds } else { Bounds::new(0.0, bounds.upper()) })
    }
}

/// The most releases of one kind.
const MOST_RELEASES: u64 = 1 << 28;
/// The most combinations that are enumerated.
const MOST_COMBINATIONS: usize = 1 << 14;
/// Probabilities below `e^-690` of the mode, or `e^-100` where combinations are many, are not
/// tabulated.
const DEEP: f64 = -690.0;
const SHALLOW: f64 = -100.0;

/// The profile of a composition of guarantees.
struct Profile {
    /// `ln prod (1 - d_i)`.
    ln_kept: Bounds,
    /// Each combination of signs of all groups but the last: its probability and loss.
    combinations: Vec<(Wide, Wide)>,
    last: Option<Sums>,
    /// An upper bound on the probability of what was not tabulated.
    omitted: f64,
    /// Whether no mechanism with these guarantees can be better.
    exact: bool,
    /// The sum of all losses.
    largest_loss: f64,
}

impl Profile {
    fn of(composition: &Composition) -> Result<Self, AccountingError> {
        let mut groups: Vec<(f64, u64)> = Vec::new();
        let (mut ln_kept, mut exact) = (Bounds::ZERO, true);
        for component in composition.iter() {
            let loss = match &component.event {
                Event::Approximate { epsilon, delta } => {
                    ln_kept = ln_kept
                        + Bounds::exact(above(component.times)) * Bounds::exact(-*delta).ln_1p();
                    *epsilon
                }
                event => {
                    exact &= matches!(event, Event::RandomizedResponse { categories: 2, .. });
                    pure_loss(event)?.ok_or(AccountingError::NotCovered {
                        accountant: "optimal",
                        mechanism: event.mechanism(),
                        reason: "it is not pure, and this reads guarantees of a loss only",
                    })?
                }
            };
            match groups.iter_mut().find(|(known, _)| *known == loss) {
                _ if loss == 0.0 => {}
                Some((_, times)) => *times += component.times,
                None => groups.push((loss, component.times)),
            }
        }
        groups.sort_by_key(|&(_, times)| times);
        let bounded = groups.iter().all(|&(loss, times)| loss <= 700.0 && times <= MOST_RELEASES);
        if !bounded {
            return Err(AccountingError::NotProved(format!(
                "optimal composition takes losses up to 700, each at most {MOST_RELEASES} times"
            )));
        }
        let largest_loss = groups.iter().fold(Bounds::ZERO, |sum, &(loss, times)| {
            sum + Bounds::exact(loss) * Bounds::exact(above(times))
        });
        let last = groups.pop().map(|(loss, times)| Sums::new(Binomial::new(loss, times, DEEP)));
        let (combinations, omitted) =
            enumerate(&groups, DEEP).or_else(|| enumerate(&groups, SHALLOW)).ok_or_else(|| {
                AccountingError::NotProved(format!(
                    "there are {} different losses, too many combinations for optimal composition; \
                     the loss-distribution accountant takes them",
                    groups.len() + 1
                ))
            })?;
        let omitted = add_up(omitted, last.as_ref().map_or(0.0, |sums| sums.omitted));
        Ok(Profile {
            ln_kept,
            combinations,
            last,
            omitted,
            exact,
            largest_loss: largest_loss.upper(),
        })
    }

    fn delta(&self, epsilon: f64) -> Bounds {
        let pure =
            if epsilon >= self.largest_loss { Bounds::ZERO } else { self.pure_delta(epsilon) };
        if self.ln_kept == Bounds::ZERO {
            return pure;
        }
        // 1 - (1 - H) e^k = H e^k + (1 - e^k).
        (pure * self.ln_kept.exp() + -self.ln_kept.exp_m1()).clamp(0.0, 1.0)
    }

    /// `H(epsilon)`.
    fn pure_delta(&self, epsilon: f64) -> Bounds {
        let mut sum = Wide::ZERO;
        for (probability, loss) in &self.combinations {
            let rest = Wide::exact(epsilon) - *loss;
            let part = match &self.last {
                Some(last) => last.excess(rest),
                None => Wide::ZERO,
            };
            sum = sum + *probability * part;
        }
        (sum.bounds() + Bounds::new(0.0, self.omitted)).clamp(0.0, 1.0)
    }
}

/// All combinations of the groups with their probability and loss, and a bound on what the tables
/// leave out; `None` if there are too many.
fn enumerate(groups: &[(f64, u64)], cut: f64) -> Option<(Vec<(Wide, Wide)>, f64)> {
    let mut combinations = vec![(Wide::ONE, Wide::ZERO)];
    let mut omitted = 0.0;
    for &(loss, times) in groups {
        let table = Binomial::new(loss, times, cut);
        if combinations.len().saturating_mul(table.terms.len()) > MOST_COMBINATIONS {
            return None;
        }
        omitted = add_up(omitted, table.omitted);
        combinations = combinations
            .iter()
            .flat_map(|&(probability, sum)| {
                table
                    .terms
                    .iter()
                    .enumerate()
                    .map(move |(index, &term)| (probability, sum, index, term))
            })
            .map(|(probability, sum, index, term)| {
                (probability * term, sum + table.loss_at(table.first + index as u64))
            })
            .collect();
    }
    Some((combinations, omitted))
}

/// The distribution of the number of positive signs among `times`, tabulated around its mode.
struct Binomial {
    loss: Wide,
    times: u64,
    /// The number that the first entry stands for.
    first: u64,
    terms: Vec<Wide>,
    /// An upper bound on the probability outside the table.
    omitted: f64,
}

impl Binomial {
    fn new(loss: f64, times: u64, cut: f64) -> Self {
        let wide = Wide::exact(loss);
        let odds = wide.exp();
        // P[J = j + 1]/P[J = j], and its inverse in a form that does not overflow.
        let ratio = |j: u64| count(times - j) / count(j + 1) * odds;
        let even = (-wide).exp();
        let inverse = |j: u64| count(j + 1) / count(times - j) * even;
        // The mode, or a neighbour of it: where it is does not matter for the proof.
        let mode = (((times as f64) + 1.0) / (1.0 + nearest::exp(-loss))).min(times as f64) as u64;
        let at_mode = at(wide, times, mode);
        let least = at_mode.bounds().upper() * nearest::exp(cut);
        let (mut up, mut omitted) = (vec![at_mode], 0.0);
        for j in mode..times {
            let next = up[up.len() - 1] * ratio(j);
            if next.bounds().upper() < least {
                omitted = rest(next, ratio(j + 1));
                break;
            }
            up.push(next);
        }
        let (mut down, mut first) = (Vec::new(), mode);
        let mut term = at_mode;
        while first > 0 {
            term = term * inverse(first - 1);
            if term.bounds().upper() < least {
                let further = if first > 1 { inverse(first - 2) } else { Wide::ZERO };
                omitted = add_up(omitted, rest(term, further));
                break;
            }
            first -= 1;
            down.push(term);
        }
        down.reverse();
        down.append(&mut up);
        Binomial { loss: wide, times, first, terms: down, omitted }
    }

    /// `(2 j - k) e`.
    fn loss_at(&self, j: u64) -> Wide {
        Wide::ONE.integer(2 * i128::from(j) - i128::from(self.times)) * self.loss
    }
}

/// A bound on a term and all beyond it, of which each is at most `ratio` times the one before.
fn rest(term: Wide, ratio: Wide) -> f64 {
    let ratio = ratio.bounds().upper();
    if ratio < 1.0 {
        (term.bounds() / (Bounds::ONE - Bounds::exact(ratio.max(0.0)))).upper().max(0.0)
    } else {
        f64::INFINITY
    }
}

fn count(n: u64) -> Wide {
    Wide::ONE.integer(i128::from(n))
}

/// `C(k, j) p^j (1 - p)^(k - j)` with `p = e^e/(1 + e^e)`: the exponent of
/// `C e^(-(k-j) e) (1 + e^-e)^(-k)`.
fn at(loss: Wide, times: u64, j: u64) -> Wide {
    let ln_factorial = |n: u64| ln_gamma(&(count(n) + Wide::ONE));
    let ln_choices = ln_factorial(times) - ln_factorial(j) - ln_factorial(times - j);
    (ln_choices - count(times - j) * loss - count(times) * (-loss).exp().ln_1p()).exp()
}

/// Sums over a tabulated binomial distribution, from each index on.
struct Sums {
    table: Binomial,
    /// `A_j = sum_(i >= j) P[J = i]`.
    tails: Vec<Wide>,
    /// `B_j = sum_(i >= j) P[J = i] e^(-2 (i - j) e)`.
    discounted: Vec<Wide>,
    omitted: f64,
}

impl Sums {
    fn new(table: Binomial) -> Self {
        let step = (-table.loss.times_power_of_two(1)).exp();
        let (mut tails, mut discounted) = (Vec::new(), Vec::new());
        let (mut tail, mut discount) = (Wide::ZERO, Wide::ZERO);
        for &term in table.terms.iter().rev() {
            tail = tail + term;
            discount = term + step * discount;
            tails.push(tail);
            discounted.push(discount);
        }
        tails.reverse();
        discounted.reverse();
        let omitted = table.omitted;
        Sums { table, tails, discounted, omitted }
    }

    /// `E max(0, 1 - e^(epsilon - L))` over the table: `A_j - e^(epsilon - loss_j) B_j` for the
    /// first `j` whose loss exceeds `epsilon`.
    ///
    /// The term at an index whose loss equals `epsilon` is zero, and an enclosure of that
    /// difference holds it, so it does not matter on which side of a tie `j` falls; any other `j`
    /// would be wrong, so where the comparison is open the two candidates' hull is taken.
    fn excess(&self, epsilon: Wide) -> Wide {
        let table = &self.table;
        let step = table.loss.bounds().estimate();
        let guess = 0.5 * (epsilon.bounds().estimate() / step + table.times as f64);
        let last = table.first + table.terms.len() as u64;
        let mut j = (guess.max(0.0).min(last as f64) as u64).clamp(table.first, last);
        let sign = |j: u64| (table.loss_at(j) - epsilon).bounds();
        while j > table.first && sign(j - 1).upper() > 0.0 {
            j -= 1;
        }
        while j < last && sign(j).upper() <= 0.0 {
            j += 1;
        }
        if j == last {
            return Wide::ZERO;
        }
        let value = self.from(j, epsilon);
        // Where the loss at j is not proved to be above epsilon, the term may be zero, and the sum
        // from the next index on is the right one.
        if sign(j).lower() >= 0.0 { value } else { value.hull(self.from(j + 1, epsilon)) }
    }

    fn from(&self, j: u64, epsilon: Wide) -> Wide {
        let index = (j - self.table.first) as usize;
        match (self.tails.get(index), self.discounted.get(index)) {
            (Some(tail), Some(discounted)) => {
                *tail - (epsilon - self.table.loss_at(j)).exp() * *discounted
            }
            _ => Wide::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(epsilon: f64) -> Event {
        Event::RandomizedResponse { epsilon, categories: 2 }
    }

    fn delta(events: &[Event], epsilon: f64) -> Bounds {
        let composition = Composition::new(events).expect("valid");
        OptimalComposition
            .delta(&composition, Epsilon::new(epsilon).expect("valid"))
            .expect("covered")
    }

    /// The sum over all signs, one by one.
    fn by_enumeration(losses: &[f64], epsilon: f64) -> f64 {
        (0..1u32 << losses.len())
            .map(|signs| {
                let (mut probability, mut total) = (1.0, 0.0);
                for (index, loss) in losses.iter().enumerate() {
                    let positive = signs >> index & 1 == 1;
                    total += if positive { *loss } else { -loss };
                    probability /= 1.0 + if positive { -loss } else { *loss }.exp();
                }
                probability * -(epsilon - total).exp_m1().min(0.0)
            })
            .sum()
    }

    #[test]
    fn unequal_losses_by_enumeration() {
        let cases: [&[f64]; 4] = [
            &[0.3],
            &[0.1, 0.1, 0.1, 2.0],
            &[1.0, 0.5, 0.25, 0.5, 0.5],
            &[3.0, 0.01, 0.01, 0.7, 0.7, 0.7, 0.7],
        ];
        for losses in cases {
            let events: Vec<_> = losses.iter().map(|&loss| response(loss)).collect();
            let total: f64 = losses.iter().sum();
            for share in [0.0, 0.2, 0.5, 0.77, 0.99] {
                let (found, expected) =
                    (delta(&events, share * total), by_enumeration(losses, share * total));
                // At a tie between a loss and epsilon the plain sum leaves a rounding error.
                assert!(
                    found.upper() >= expected * (1.0 - 1e-12) - 1e-16
                        && found.lower() <= expected * (1.0 + 1e-12) + 1e-16
                );
                assert!(
                    found.width() <= 1e-14 * found.upper() + 1e-28,
                    "{losses:?} {share} {found:?}"
                );
            }
            assert_eq!(delta(&events, total.next_up().next_up()), Bounds::ZERO);
        }
    }

    /// The sums written out with mpmath at 40 digits.
    #[test]
    fn groups_of_many() {
        let rows = [
            (vec![(0.1, 60), (0.25, 40)], 4.0, 0.035864440821302764),
            (vec![(0.1, 60), (0.25, 40)], 12.0, 3.2585463675945436e-12),
            (vec![(0.01, 300), (1.0, 5), (0.3, 7)], 6.5, 0.003486646790558212),
            (vec![(0.05, 2000)], 30.0, 1.6532145740874778e-36),
        ];
        for (groups, epsilon, exact) in rows {
            let events: Vec<_> = groups
                .iter()
                .map(|&(loss, times)| Event::Repetition { times, event: Box::new(response(loss)) })
                .collect();
            let found = delta(&events, epsilon);
            assert!(
                found.contains(exact) && found.relative_width() < 1e-14,
                "{groups:?} {found:?} {exact:e}"
            );
        }
    }

    #[test]
    fn deltas_multiply() {
        let guarantee = Event::Approximate { epsilon: 0.2, delta: 1e-3 };
        let found = delta(&[Event::Repetition { times: 7, event: Box::new(guarantee) }], 0.6);
        let pure = by_enumeration(&[0.2; 7], 0.6);
        let expected = 1.0 - 0.999f64.powi(7) * (1.0 - pure);
        assert!(
            (found.estimate() / expected - 1.0).abs() < 1e-12 && found.relative_width() < 1e-13
        );
        let tells = delta(&[Event::Approximate { epsilon: 0.0, delta: 0.25 }], 0.0);
        assert!(tells.contains(0.25) && tells.relative_width() < 1e-14);
    }

    #[test]
    fn a_million_releases_and_the_central_limit() {
        // k losses of e: L is near normal with mean k e tanh(e/2) and variance k e^2/cosh^2(e/2).
        let composition = Composition::new(&[Event::Repetition {
            times: 1_000_000,
            event: Box::new(response(0.001)),
        }])
        .expect("valid");
        let found = OptimalComposition
            .epsilon(&composition, Delta::new(1e-6).expect("valid"))
            .expect("covered");
        assert!(found.relative_width() < 1e-12, "{found:?}");
        let gaussian =
            Composition::new(&[Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }]).expect("valid");
        let limit = crate::GaussianDp
            .epsilon(&gaussian, Delta::new(1e-6).expect("valid"))
            .expect("covered");
        assert!((found.estimate() / limit.estimate() - 1.0).abs() < 1e-4, "{found:?} {limit:?}");
    }

    #[test]
    fn far_tails_keep_their_digits() {
        // All signs positive and one step below: two terms, by hand.
        let (loss, k) = (0.5f64, 1000.0);
        let events = [Event::Repetition { times: 1000, event: Box::new(response(loss)) }];
        let epsilon = 499.7;
        let ln_top = -k * (-loss).exp().ln_1p();
        let expected = ln_top + (-(epsilon - 500.0f64).exp_m1()).ln();
        let found = delta(&events, epsilon);
        assert!(
            (found.upper().ln() - expected).abs() < 1e-9 && found.relative_width() < 1e-6,
            "{found:?}"
        );
    }

    #[test]
    fn what_is_not_a_guarantee_or_too_much_is_refused() {
        let delta = Delta::new(1e-6).expect("valid");
        let ask = |events: &[Event]| {
            OptimalComposition.epsilon(&Composition::new(events).expect("valid"), delta)
        };
        assert!(ask(&[Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }]).is_err());
        let different: Vec<_> = (1..=40).map(|i| response(0.1 + 0.001 * f64::from(i))).collect();
        let message = ask(&different).expect_err("too many").to_string();
        assert!(message.contains("loss-distribution"), "{message}");
        assert!(ask(&[Event::Laplace { scale: 1e-3, sensitivity: 1.0 }]).is_err());
        let large = ask(&[Event::Repetition { times: 1000, event: Box::new(response(700.0)) }])
            .expect("covered");
        assert!(large.upper() > 699_000.0 && large.upper() <= 700_000.0, "{large:?}");
        let noise = ask(&[Event::Laplace { scale: 1.0, sensitivity: 1.0 }]).expect("covered");
        assert!(noise.lower() == 0.0 && noise.upper() <= 1.0);
    }
}
