//! Advanced composition: the sum of many small losses stays near its mean.

use crate::basic::{delta_of, least_delta};
use crate::guarantee::Guarantees;
use crate::{Accountant, AccountingError, Composition};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::rounding::{add_up, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure};

/// Advanced composition, for releases that need not be alike.
///
/// # Theorem
/// Releases that are `(epsilon_i, delta_i)`-differentially private are together
/// `(epsilon, slack + sum delta_i)`-differentially private for every `slack > 0`, with
///
/// ```text
/// epsilon = sum epsilon_i tanh(epsilon_i/2) + sqrt(2 ln(1/slack) sum epsilon_i^2).
/// ```
///
/// This is the theorem of Dwork, Rothblum and Vadhan (*Boosting and differential privacy*, 2010,
/// Theorem III.3) with two changes that its proof allows. The losses need not be equal: outside an
/// event of probability `sum delta_i`, the loss of release `i` given the answers before it lies
/// between `-epsilon_i` and `epsilon_i`, and Azuma's inequality takes each with its own range. And
/// its mean is at most `epsilon_i tanh(epsilon_i/2)`, the Kullback-Leibler divergence of binary
/// randomized response, of which every such release is a processing (Kairouz, Oh, Viswanath 2015,
/// Theorem 3.5); the first proof had `epsilon_i (e^epsilon_i - 1)`. The parameters are fixed
/// beforehand; the choice of queries may depend on earlier answers.
///
/// # Reading
/// As for [`crate::BasicComposition`], whose bound is taken where it is the smaller. Where there
/// are events that need a share of `delta`, the best of a range of divisions between shares and
/// slack is taken; otherwise all that the fixed parts leave is slack.
///
/// # Direction
/// An upper bound; from below it says 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdvancedComposition;

/// Parts of `delta` that the single releases get, to be tried where some events need a share. With
/// all of it the bound is basic composition's.
const SHARES: [f64; 5] = [0.1, 0.3, 0.6, 0.9, 1.0];

impl Accountant for AdvancedComposition {
    fn name(&self) -> &'static str {
        "advanced"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        Ok(Bounds::new(0.0, loss_of(&Guarantees::of(composition)?, delta.get())?))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        let guarantees = Guarantees::of(composition)?;
        let basic = delta_of(&guarantees, epsilon.get())?;
        let concentrated = if basic == 0.0 {
            0.0
        } else {
            least_delta(epsilon.get(), |delta| loss_of(&guarantees, delta))?
        };
        Ok(Bounds::new(0.0, basic.min(concentrated)))
    }
}

fn loss_of(guarantees: &Guarantees, delta: f64) -> Result<f64, AccountingError> {
    let fixed = guarantees.fixed_delta();
    let free = sub_down(delta, fixed);
    if free < 0.0 {
        return Ok(f64::INFINITY);
    }
    let shares: &[f64] = if guarantees.is_flexible() { &SHARES } else { &[0.0] };
    let mut best = f64::INFINITY;
    for share in shares {
        let singly = add_up(fixed, mul_up(*share, free)).min(delta);
        if let Some(losses) = guarantees.losses_at(singly)? {
            let sum = losses.iter().map(|&(times, loss)| mul_up(times, loss)).fold(0.0, add_up);
            best = best.min(sum).min(concentrated(&losses, sub_down(delta, singly)));
        }
    }
    Ok(best)
}

/// The theorem's `epsilon` for counts and losses at a slack.
fn concentrated(losses: &[(f64, f64)], slack: f64) -> f64 {
    if slack.is_nan() || slack <= 0.0 || losses.iter().any(|(_, loss)| !loss.is_finite()) {
        return f64::INFINITY;
    }
    let (mut mean, mut squares) = (Bounds::ZERO, Bounds::ZERO);
    for &(times, loss) in losses {
        let (times, loss) = (Bounds::exact(times), Bounds::exact(loss));
        mean = mean + times * loss * (-(-loss).exp_m1() / (Bounds::ONE + (-loss).exp()));
        squares = squares + times * loss.square();
    }
    let deviation = (-Bounds::exact(slack.min(1.0)).ln()).times_power_of_two(1) * squares;
    (mean + deviation.sqrt()).upper()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BasicComposition;
    use reticent_events::Event;

    fn composition(losses: &[(f64, u64)]) -> Composition {
        let events: Vec<_> = losses
            .iter()
            .map(|&(epsilon, times)| Event::Repetition {
                times,
                event: Box::new(Event::RandomizedResponse { epsilon, categories: 2 }),
            })
            .collect();
        Composition::new(&events).expect("valid")
    }

    #[test]
    fn the_printed_formula() {
        let delta = Delta::new(1e-6).expect("valid");
        let found = AdvancedComposition
            .epsilon(&composition(&[(0.01, 10_000), (0.02, 500)]), delta)
            .expect("covered");
        let mean = 1e4 * 0.01 * 0.005f64.tanh() + 500.0 * 0.02 * 0.01f64.tanh();
        let squares = 1e4 * 1e-4 + 500.0 * 4e-4;
        let expected = mean + (2.0 * 1e6f64.ln() * squares).sqrt();
        assert!((found.upper() / expected - 1.0).abs() < 1e-12, "{found:?} {expected}");
        let basic = BasicComposition
            .epsilon(&composition(&[(0.01, 10_000), (0.02, 500)]), delta)
            .expect("covered");
        assert!(found.upper() < 0.1 * basic.upper());
    }

    #[test]
    fn never_worse_than_basic_and_the_two_questions_agree() {
        for (epsilon, times) in [(2.0, 3), (0.1, 20), (0.01, 5_000)] {
            let composition = composition(&[(epsilon, times)]);
            for delta in [1e-12, 1e-5, 0.1] {
                let delta = Delta::new(delta).expect("valid");
                let loss =
                    AdvancedComposition.epsilon(&composition, delta).expect("covered").upper();
                assert!(
                    loss <= BasicComposition.epsilon(&composition, delta).expect("covered").upper()
                );
                let back = AdvancedComposition
                    .delta(&composition, Epsilon::new(loss).expect("valid"))
                    .expect("covered");
                assert!(back.upper() <= delta.get() * (1.0 + 2e-6), "{back:?} {delta:?}");
            }
        }
    }

    #[test]
    fn fixed_deltas_beyond_the_budget_leave_no_bound() {
        let event = Event::Approximate { epsilon: 0.1, delta: 1e-3 };
        let composition =
            Composition::new(&[Event::Repetition { times: 100, event: Box::new(event) }])
                .expect("valid");
        let at = |delta| {
            let delta = Delta::new(delta).expect("valid");
            AdvancedComposition.epsilon(&composition, delta).expect("covered").upper()
        };
        assert_eq!(at(0.0999), f64::INFINITY);
        assert!(at(0.101).is_finite() && at(0.2) < at(0.101));
    }
}
