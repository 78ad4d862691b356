//! Rényi accounting: divergences of each order add.

use crate::basic::excepted_by;
use crate::conversion::{delta_from_moments, loss_from_moments};
use crate::renyi_curve::RenyiCurve;
use crate::{Accountant, AccountingError, Charges};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use reticent_numerics::rounding::{add_up, sub_down};

/// Rényi differential privacy.
///
/// # Theorem
/// At each order the Rényi divergences of all releases add, also when each is chosen from the answers before it, as long as the bounds were fixed beforehand (Mironov, *Rényi differential
/// privacy*, 2017, Proposition 1). The sum converts to `(epsilon, delta)` at the best order (Canonne, Kamath, Steinke 2020, Proposition 12).
///
/// # Reading
/// Closed forms for Gaussian, Laplace, discrete Laplace, staircase and response events; the discrete Gaussian as a Gaussian; every other pure event by its loss. Samples are read
/// at integer orders up to 512: Gaussian noise exactly, all others by Zhu and Wang's bound. All orders above 1 are searched where there are no samples.
/// "Some `(epsilon, delta)` mechanism" is a pure one outside an exception of probability `delta` (Kairouz, Oh, Viswanath 2015), and the exceptions are
/// taken out of the budget first.
///
/// # Direction
/// An upper bound; from below it says 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenyiDp;

impl Accountant for RenyiDp {
    fn name(&self) -> &'static str {
        "renyi"
    }

    fn epsilon(&self, charges: &Charges, delta: Delta) -> Result<Bounds, AccountingError> {
        let curve = RenyiCurve::of_charges(charges, true)?;
        let rest = sub_down(delta.get(), excepted_by(charges));
        Ok(Bounds::new(0.0, loss_from_moments(curve.orders(), rest, |excess| curve.moment(excess))))
    }

    fn delta(&self, charges: &Charges, epsilon: Epsilon) -> Result<Bounds, AccountingError> {
        let curve = RenyiCurve::of_charges(charges, true)?;
        let delta = delta_from_moments(curve.orders(), epsilon.get(), |excess| curve.moment(excess));
        Ok(Bounds::new(0.0, add_up(delta, excepted_by(charges)).min(1.0)))
    }
}

/// A bound on the Rényi divergence of one event at an order above 1.
///
/// # Errors
/// If the order is not a finite number above 1, or no bound is known for the event at this order.
pub fn renyi_divergence(event: &reticent_events::Event, order: f64) -> Result<f64, AccountingError> {
    if !(order > 1.0 && order <= 1e12) {
        let accepted = "a number above 1 and at most 1e12";
        return Err(AccountingError::Parameter { name: "order", value: order, accepted });
    }
    let charges = Charges::new(std::slice::from_ref(event))?;
    let curve = RenyiCurve::of_charges(&charges, false)?;
    // Exact for orders from 1 to 2 and for integers; otherwise moved up, and divergences do not decrease with the order.
    let excess = reticent_numerics::rounding::sub_up(order, 1.0);
    let moment = curve.moment(excess);
    if moment == f64::INFINITY {
        return Err(AccountingError::NotCovered {
            accountant: "renyi",
            mechanism: event.mechanism(),
            reason: "no bound is known at this order; samples are covered at integer orders from 2 to 512",
        });
    }
    Ok(reticent_numerics::rounding::div_up(moment, excess))
}
