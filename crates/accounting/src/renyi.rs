//! Rényi accounting: divergences of each order add.

use crate::basic::fixed_delta_of;
use crate::conversion::{delta_from_moments, loss_from_moments};
use crate::renyi_curve::RenyiCurve;
use crate::{Accountant, AccountingError, Composition};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::rounding::{add_up, sub_down};
use reticent_numerics::{Bounds, require};

/// Rényi differential privacy.
///
/// # Theorem
/// At each order the Rényi divergences of all releases add, also when each is chosen from the
/// answers before it, as long as the bounds were fixed beforehand (Mironov, *Rényi differential
/// privacy*, 2017, Proposition 1). The sum converts to `(epsilon, delta)` at the best order
/// (Canonne, Kamath, Steinke 2020, Proposition 12).
///
/// # Reading
/// Closed forms for Gaussian, Laplace, discrete Laplace, staircase and response events; the
/// discrete Gaussian as a Gaussian; every other pure event by its loss. Samples are read exactly at
/// integer orders up to 512 for symmetric noise such as the Gaussian (Mironov, Talwar, Zhang 2019),
/// by Zhu and Wang's bound for what is not known to be symmetric, and by convexity between;
/// Gaussian noise is integrated at fractional orders. All orders above 1 are searched. "Some
/// `(epsilon, delta)` mechanism" is a pure one outside an event of probability `delta`
/// (Kairouz, Oh, Viswanath 2015), and these deltas are taken out of the budget first.
///
/// # Direction
/// An upper bound; from below it says 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenyiDp;

impl Accountant for RenyiDp {
    fn name(&self) -> &'static str {
        "renyi"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        let curve = RenyiCurve::of_composition(composition, true)?;
        let rest = sub_down(delta.get(), fixed_delta_of(composition));
        Ok(Bounds::new(0.0, loss_from_moments(curve.shape(), rest, |excess| curve.moment(excess))))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        let curve = RenyiCurve::of_composition(composition, true)?;
        let delta = delta_from_moments(curve.shape(), epsilon.get(), |excess| curve.moment(excess));
        Ok(Bounds::new(0.0, add_up(delta, fixed_delta_of(composition)).min(1.0)))
    }
}

/// A bound on the Rényi divergence of one event at an order above 1.
///
/// # Errors
/// If the order is not a finite number above 1, or no bound is known for the event.
pub fn renyi_divergence(
    event: &reticent_events::Event,
    order: f64,
) -> Result<f64, AccountingError> {
    let accepted = "a number above 1 and at most 1e12";
    require(order > 1.0 && order <= 1e12, "order", order, accepted)?;
    let composition = Composition::new(std::slice::from_ref(event))?;
    let curve = RenyiCurve::of_composition(&composition, false)?;
    // Exact for orders from 1 to 2 and for integers; otherwise moved up, and divergences do not
    // decrease with the order.
    let excess = reticent_numerics::rounding::sub_up(order, 1.0);
    let moment = curve.moment(excess);
    if moment == f64::INFINITY {
        return Err(AccountingError::NotCovered {
            accountant: "renyi",
            mechanism: event.mechanism(),
            reason: "its divergence of this order is beyond the range of numbers",
        });
    }
    Ok(reticent_numerics::rounding::div_up(moment, excess))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_events::Event;

    fn loss(events: &[Event], delta: f64) -> f64 {
        let composition = Composition::new(events).expect("valid");
        RenyiDp.epsilon(&composition, Delta::new(delta).expect("valid")).expect("covered").upper()
    }

    fn sampled(rate: f64, event: Event, times: u64) -> Event {
        Event::Repetition {
            times,
            event: Box::new(Event::PoissonSubsampled { rate, event: Box::new(event) }),
        }
    }

    /// dp-accounting's RdpAccountant over 1500 fractional orders up to 512, which are exact for
    /// sampled Gaussian noise, so that we are not below; nor much above, by the width of our cells.
    #[test]
    fn agrees_with_dp_accounting() {
        let gaussian = |sigma| Event::Gaussian { sigma, sensitivity: 1.0 };
        let rows = [
            (sampled(0.01, gaussian(1.0), 10_000), 1e-5, 6.712313408357984),
            (sampled(0.001, gaussian(0.8), 100_000), 1e-6, 3.1874654738501755),
            (sampled(0.1, gaussian(4.0), 1_000), 1e-9, 5.2004806024234345),
            (sampled(1e-4, gaussian(0.5), 10_000), 1e-8, 4.723982369592935),
            // By mpmath's quadrature at order 1.1332; dp-accounting's series is 1.6% above the
            // integral there and says 337.75.
            (sampled(0.01, gaussian(0.3), 10_000), 1e-6, 333.921654624289),
        ];
        for (event, delta, theirs) in rows {
            let ours = loss(&[event], delta);
            // Their orders are 0.5% apart.
            assert!(
                ours >= theirs * (1.0 - 1e-4) && ours <= theirs * (1.0 + 4e-4),
                "{ours} {theirs}"
            );
        }
        let ours = loss(&[gaussian(1.0)], 1e-5);
        assert!((ours / 4.728387036610246 - 1.0).abs() < 2e-8, "{ours}");
        let laplace = Event::Laplace { scale: 10.0, sensitivity: 1.0 };
        let ours = loss(&[Event::Repetition { times: 1000, event: Box::new(laplace) }], 1e-6);
        assert!((ours / 20.039576774757386 - 1.0).abs() < 1e-7, "{ours}");
    }

    #[test]
    fn a_divergence_at_one_order() {
        let event = Event::Gaussian { sigma: 2.0, sensitivity: 1.0 };
        assert!((renyi_divergence(&event, 8.0).expect("covered") - 1.0).abs() < 1e-14);
        let sampled = Event::PoissonSubsampled { rate: 0.1, event: Box::new(event.clone()) };
        assert!(renyi_divergence(&sampled, 8.0).expect("covered") < 0.1);
        let (below, above) = (renyi_divergence(&sampled, 8.0), renyi_divergence(&sampled, 9.0));
        let between = renyi_divergence(&sampled, 8.5).expect("covered");
        assert!(below.expect("covered") <= between && between <= above.expect("covered"));
        for order in [1.0, 0.0, -3.0, f64::NAN, f64::INFINITY] {
            let message = renyi_divergence(&event, order).expect_err("no order").to_string();
            assert!(message.contains("`order`"), "{message}");
        }
        assert!(renyi_divergence(&Event::Approximate { epsilon: 1.0, delta: 1e-9 }, 2.0).is_err());
    }

    #[test]
    fn deltas_are_paid_first_and_not_inside_samples() {
        let guarantee = |delta| Event::Approximate { epsilon: 0.1, delta };
        assert!(loss(&[guarantee(1e-6)], 1e-6) == f64::INFINITY);
        assert!(loss(&[guarantee(1e-6)], 2e-6) >= loss(&[guarantee(0.0)], 1e-6) * (1.0 - 1e-12));
        let composition = Composition::new(&[sampled(0.1, guarantee(1e-6), 1)]).expect("valid");
        assert!(RenyiDp.epsilon(&composition, Delta::new(0.5).expect("valid")).is_err());
    }
}
