//! Basic composition: losses add, and so do exceptions.

use crate::promise::{above, excepted, is_flexible, loss_at, pure_loss};
use crate::{Accountant, AccountingError, Charges};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::{add_up, div_down, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure};

/// Basic composition.
///
/// # Theorem
/// Releases that are `(epsilon_i, delta_i)`-differentially private are together `(sum epsilon_i, sum delta_i)`-differentially private, also when each is chosen from
/// the answers before it (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006).
///
/// # Reading
/// A pure event enters with its loss and takes no `delta`. "Some `(epsilon, delta)` mechanism" takes the `delta` it says. What is left of the budget is
/// divided equally among all other releases, each of which enters with its own certified loss at that share. Where the exceptions alone exceed the budget,
/// the bound is infinite.
///
/// # Direction
/// An upper bound; from below it says 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicComposition;

impl Accountant for BasicComposition {
    fn name(&self) -> &'static str {
        "basic"
    }

    fn epsilon(&self, charges: &Charges, delta: Delta) -> Result<Bounds, AccountingError> {
        Ok(Bounds::new(0.0, loss_of(charges, delta.get())?))
    }

    fn delta(&self, charges: &Charges, epsilon: Epsilon) -> Result<Bounds, AccountingError> {
        let epsilon = epsilon.get();
        if let Some(loss) = pure_loss_of(charges)? {
            return Ok(Bounds::new(0.0, delta_of_pure(loss, epsilon)));
        }
        least_delta(epsilon, |delta| loss_of(charges, delta)).map(|delta| Bounds::new(0.0, delta))
    }
}

/// The sum of the losses, if all are pure.
pub(crate) fn pure_loss_of(charges: &Charges) -> Result<Option<f64>, AccountingError> {
    let mut sum = Some(0.0);
    for charge in charges.iter() {
        let loss = pure_loss(&charge.event)?;
        sum = sum.zip(loss).map(|(sum, loss)| add_up(sum, mul_up(above(charge.times), loss)));
    }
    Ok(sum)
}

/// The exceptions of all approximate promises together.
pub(crate) fn excepted_by(charges: &Charges) -> f64 {
    charges.iter().map(|charge| mul_up(above(charge.times), excepted(&charge.event))).fold(0.0, add_up)
}

/// An upper bound on the sum of all losses at a `delta`, which is shared among the releases that need one.
pub(crate) fn loss_of(charges: &Charges, delta: f64) -> Result<f64, AccountingError> {
    Ok(losses_at(charges, delta)?
        .map_or(f64::INFINITY, |losses| losses.into_iter().map(|(times, loss)| mul_up(times, loss)).fold(0.0, add_up)))
}

/// Each kind of release's count and loss when all exceptions together are at most `delta`; `None` where they cannot be.
pub(crate) fn losses_at(charges: &Charges, delta: f64) -> Result<Option<Vec<(f64, f64)>>, AccountingError> {
    let rest = sub_down(delta, excepted_by(charges));
    if rest < 0.0 {
        return Ok(None);
    }
    let mut sharing = 0.0;
    for charge in charges.iter() {
        if is_flexible(&charge.event)? {
            sharing = add_up(sharing, above(charge.times));
        }
    }
    let share = if sharing > 0.0 { div_down(rest, sharing) } else { 0.0 };
    if sharing > 0.0 && share <= 0.0 {
        return Ok(None);
    }
    let mut losses = Vec::new();
    for charge in charges.iter() {
        let own = if is_flexible(&charge.event)? { share } else { 0.0 };
        // Rounded down, but never below what the event excepts by itself.
        let allowed = (Bounds::exact(excepted(&charge.event)) + Bounds::exact(own)).lower();
        losses.push((above(charge.times), loss_at(&charge.event, allowed)?));
    }
    Ok(Some(losses))
}

/// The least `delta` at which a loss that decreases in it is proved to be at most `epsilon`; 1 where there is none.
///
/// # Errors
/// That of `loss`.
pub(crate) fn least_delta(
    epsilon: f64,
    mut loss: impl FnMut(f64) -> Result<f64, AccountingError>,
) -> Result<f64, AccountingError> {
    let mut failed = None;
    let range = Range::between(1e-300, 1.0 - f64::EPSILON).bracket_from(1e-6).to_within(1e-9);
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

/// `(e^loss - e^epsilon)/(e^loss + 1)`: no mechanism that is purely `loss`-private has a larger `delta` (Kairouz, Oh, Viswanath 2015). Rounded up.
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
