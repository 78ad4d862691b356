//! Basic composition: losses add, and so do deltas.

use crate::guarantee::{Guarantees, above, fixed_delta};
use crate::{Accountant, AccountingError, Composition};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure};

/// Basic composition.
///
/// # Theorem
/// Releases that are `(epsilon_i, delta_i)`-differentially private are together
/// `(sum epsilon_i, sum delta_i)`-differentially private, also when each is chosen from the answers
/// before it (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006).
///
/// # Reading
/// A pure event enters with its loss and takes no `delta`. "Some `(epsilon, delta)` mechanism"
/// takes the `delta` it says. What is left of the budget is divided equally among all other
/// releases, each of which enters with its own certified loss at that share. Where the deltas
/// of approximate guarantees alone exceed the budget, the bound is infinite.
///
/// # Direction
/// An upper bound; from below it says 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicComposition;

impl Accountant for BasicComposition {
    fn name(&self) -> &'static str {
        "basic"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        Ok(Bounds::new(0.0, Guarantees::of(composition)?.loss_at(delta.get())?))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        Ok(Bounds::new(0.0, delta_of(&Guarantees::of(composition)?, epsilon.get())?))
    }
}

/// An upper bound on `delta` at a loss.
pub(crate) fn delta_of(guarantees: &Guarantees, epsilon: f64) -> Result<f64, AccountingError> {
    match guarantees.pure() {
        Some(loss) => Ok(delta_of_pure(loss, epsilon)),
        None => least_delta(epsilon, |delta| guarantees.loss_at(delta)),
    }
}

/// The deltas of all approximate guarantees together.
pub(crate) fn fixed_delta_of(composition: &Composition) -> f64 {
    composition
        .iter()
        .map(|component| mul_up(above(component.times), fixed_delta(&component.event)))
        .fold(0.0, add_up)
}

/// The least `delta`, to a millionth of itself, at which a loss that decreases in it is proved to
/// be at most `epsilon`; 1 where there is none.
///
/// # Errors
/// That of `loss`.
pub(crate) fn least_delta(
    epsilon: f64,
    mut loss: impl FnMut(f64) -> Result<f64, AccountingError>,
) -> Result<f64, AccountingError> {
    let mut failed = None;
    let range = Range::between(1e-300, 1.0 - f64::EPSILON).bracket_from(1e-6).to_within(1e-6);
    let found = least_at_most(
        |delta| {
            let loss = loss(delta).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            });
            Bounds::new(0.0, loss)
        },
        epsilon,
        range,
    );
    failed.map_or(Ok(found.unwrap_or(1.0)), Err)
}

/// `(e^loss - e^epsilon)/(e^loss + 1)`: no mechanism that is purely `loss`-private has a larger
/// `delta` (Kairouz, Oh, Viswanath 2015). Rounded up.
pub(crate) fn delta_of_pure(loss: f64, epsilon: f64) -> f64 {
    if epsilon >= loss {
        return 0.0;
    }
    if loss == f64::INFINITY {
        return 1.0;
    }
    let loss = Bounds::exact(loss);
    let gain = -(Bounds::exact(epsilon) - loss).exp_m1();
    (gain / (Bounds::ONE + (-loss).exp())).upper().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_events::Event;

    fn ask(events: &[Event], delta: f64) -> f64 {
        let composition = Composition::new(events).expect("valid");
        BasicComposition
            .epsilon(&composition, Delta::new(delta).expect("valid"))
            .expect("covered")
            .upper()
    }

    #[test]
    fn losses_and_deltas_add() {
        let pure = Event::Laplace { scale: 4.0, sensitivity: 1.0 };
        let guarantee = Event::Approximate { epsilon: 0.5, delta: 1e-7 };
        let events =
            [Event::Repetition { times: 8, event: Box::new(pure) }, guarantee.clone(), guarantee];
        assert_eq!(ask(&events, 3e-7), 3.0);
        assert_eq!(ask(&events, 1.9e-7), f64::INFINITY);
    }

    #[test]
    fn noise_that_is_not_pure_gets_equal_shares() {
        let gaussian = Event::Gaussian { sigma: 4.224679, sensitivity: 1.0 };
        // Each loses 1 at 1e-6.
        let many = Event::Repetition { times: 10, event: Box::new(gaussian) };
        assert!((ask(std::slice::from_ref(&many), 1e-5) - 10.0).abs() < 1e-5);
        let taken = Event::Approximate { epsilon: 0.25, delta: 3e-5 };
        assert!((ask(&[many.clone(), taken], 4e-5) - 10.25).abs() < 1e-4);
        let composition = Composition::new(&[many]).expect("valid");
        let delta = BasicComposition
            .delta(&composition, Epsilon::new(10.0).expect("valid"))
            .expect("covered")
            .upper();
        assert!((delta / 1e-5 - 1.0).abs() < 1e-4, "{delta:e}");
    }

    #[test]
    fn below_the_pure_sum_a_delta_remains() {
        let composition =
            Composition::new(&[Event::Approximate { epsilon: 2.0, delta: 0.0 }]).expect("valid");
        let at = |epsilon| {
            BasicComposition
                .delta(&composition, Epsilon::new(epsilon).expect("valid"))
                .expect("covered")
                .upper()
        };
        assert_eq!(at(2.0), 0.0);
        assert!((at(1.0) / ((2f64.exp() - 1f64.exp()) / (1.0 + 2f64.exp())) - 1.0).abs() < 1e-14);
        assert!((at(0.0) - 1f64.tanh()).abs() < 1e-15);
    }
}
