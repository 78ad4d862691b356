//! What has been spent so far, true at every moment at once.

use crate::guarantee::above;
use crate::guarantee::pure_loss;
use crate::renyi_curve::RenyiCurve;
use crate::spent::Spent;
use crate::{AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::Delta;
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{Bounds, Enclosure, OutOfRange};
use serde::{Deserialize, Serialize};

/// The orders at which divergences are added up: integers, at which those of samples are known
/// best.
const ORDERS: [u32; 24] = [
    2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128, 192, 256, 384, 512,
    100_000,
];

/// Adds up releases without a limit, and at any moment bounds the loss so far.
///
/// # Theorem
/// Fix neighbours, and `delta`. With probability at least `1 - delta` over all randomness, at every
/// moment of the run the privacy loss of the answers so far is at most [`Odometer::epsilon`] at
/// that moment, even if every release, its parameters and the moments at which one looks were
/// chosen from the answers. (This is the odometer of Rogers, Roth, Ullman and Vadhan 2016; a bound
/// on the loss with probability `1 - delta` implies `(epsilon, delta)`-differential privacy for a
/// stopping rule that ends with `epsilon` fixed.)
///
/// It is the least over orders `alpha` of the divergences so far plus `ln(J/delta)/(alpha - 1)`,
/// for `J` orders, by Ville's inequality; or the sum of pure losses where all are pure. An
/// approximate guarantee with `delta > 0` bounds no divergence and is refused. Proof:
/// docs/proofs/filters.md.
///
/// # Example
/// ```
/// use reticent_accounting::Odometer;
/// use reticent_events::Event;
/// use reticent_mechanisms::Delta;
/// let mut odometer = Odometer::new(Delta::new(1e-6)?);
/// odometer.record(&Event::Laplace { scale: 10.0, sensitivity: 1.0 })?;
/// assert_eq!(odometer.epsilon(), 0.1);
/// odometer.record(&Event::Gaussian { sigma: 10.0, sensitivity: 1.0 })?;
/// assert!(odometer.epsilon() < 0.8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Odometer {
    delta: Delta,
    /// The sum of pure losses, `None` once something was not pure.
    pure: Option<Spent>,
    /// The sum of divergences at each order, `None` where one was not bounded.
    divergences: Vec<Option<Spent>>,
    recorded: u64,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    delta: f64,
    orders: Vec<u32>,
    pure: Option<Spent>,
    divergences: Vec<Option<Spent>>,
    recorded: u64,
}

impl From<Odometer> for Stored {
    fn from(odometer: Odometer) -> Self {
        Stored {
            delta: odometer.delta.get(),
            orders: ORDERS.to_vec(),
            pure: odometer.pure,
            divergences: odometer.divergences,
            recorded: odometer.recorded,
        }
    }
}

impl TryFrom<Stored> for Odometer {
    type Error = AccountingError;

    fn try_from(stored: Stored) -> Result<Self, AccountingError> {
        let delta = Delta::new(stored.delta)?;
        if stored.orders != ORDERS || stored.divergences.len() != ORDERS.len() {
            return Err(AccountingError::NotProved(
                "the stored odometer has other orders than this version".into(),
            ));
        }
        let fresh = Odometer::new(delta);
        let odometer = Odometer {
            delta,
            pure: stored.pure,
            divergences: stored.divergences,
            recorded: stored.recorded,
        };
        if odometer.recorded == 0 && odometer != fresh {
            let accepted = "at least 1 where something is spent";
            return Err(OutOfRange::new("recorded", 0.0, accepted).into());
        }
        Ok(odometer)
    }
}

impl Odometer {
    /// Nothing spent, for a probability `delta` that is fixed from now on.
    pub fn new(delta: Delta) -> Self {
        let zero = Some(Spent::default());
        Odometer { delta, pure: zero, divergences: vec![zero; ORDERS.len()], recorded: 0 }
    }

    /// Adds an event.
    ///
    /// # Errors
    /// If it cannot be read, or neither a pure loss nor any Rényi divergence is known of it.
    /// Nothing is recorded then, and the release must not be made.
    pub fn record(&mut self, event: &Event) -> Result<(), AccountingError> {
        let composition = Composition::new(std::slice::from_ref(event))?;
        let curve = RenyiCurve::of_composition(&composition, false)?;
        let mut next = self.clone();
        for component in composition.iter() {
            let loss =
                pure_loss(&component.event)?.map(|loss| mul_up(above(component.times), loss));
            next.pure = next.pure.zip(loss).and_then(|(sum, loss)| sum.with(loss));
        }
        for (sum, order) in next.divergences.iter_mut().zip(ORDERS) {
            let excess = f64::from(order - 1);
            let divergence = Bounds::exact(curve.moment(excess)) / Bounds::exact(excess);
            *sum = sum.and_then(|sum| sum.with(divergence.upper()));
        }
        next.recorded = next
            .recorded
            .checked_add(1)
            .ok_or_else(|| AccountingError::NotProved("more events than can be counted".into()))?;
        *self = next;
        Ok(())
    }

    /// A bound on the loss so far, infinite where none is known.
    pub fn epsilon(&self) -> f64 {
        if self.recorded == 0 {
            return 0.0;
        }
        let pure = self.pure.map_or(f64::INFINITY, Spent::upper);
        let ln_share = Bounds::exact(f64::from(ORDERS.len() as u32)).ln()
            - Bounds::exact(self.delta.get()).ln();
        let at = |(sum, order): (&Option<Spent>, u32)| {
            let excess = Bounds::exact(f64::from(order - 1));
            sum.map_or(f64::INFINITY, |sum| {
                (Bounds::exact(sum.upper()) + ln_share / excess).upper()
            })
        };
        self.divergences.iter().zip(ORDERS).map(at).fold(pure, f64::min)
    }

    /// The probability with which the bound may fail, ever.
    pub fn delta(&self) -> Delta {
        self.delta
    }

    /// How many events were recorded.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odometer() -> Odometer {
        Odometer::new(Delta::new(1e-6).expect("valid"))
    }

    #[test]
    fn the_formula_and_the_price_of_looking_at_every_moment() {
        let mut running = odometer();
        for _ in 0..100 {
            running.record(&Event::Gaussian { sigma: 10.0, sensitivity: 1.0 }).expect("covered");
        }
        let ln_share = 24e6f64.ln();
        let formula = ORDERS
            .iter()
            .map(|&order| f64::from(order) * 0.5 + ln_share / f64::from(order - 1))
            .fold(f64::INFINITY, f64::min);
        assert!(
            (running.epsilon() / formula - 1.0).abs() < 1e-12,
            "{} {formula}",
            running.epsilon()
        );
        // A filter that had fixed the whole budget beforehand is better; the odometer pays for its
        // freedom.
        let filter =
            crate::Filter::new(crate::FilterBudget::ZeroConcentrated { rho: 0.5 }).expect("valid");
        let fixed = filter.epsilon(running.delta()).expect("in range");
        assert!(running.epsilon() > fixed && running.epsilon() < 1.4 * fixed, "{fixed}");
    }

    #[test]
    fn grows_with_every_event_and_never_exceeds_the_pure_sum() {
        let mut running = odometer();
        let mut before = running.epsilon();
        assert_eq!(before, 0.0);
        for count in 1..=3000u32 {
            running.record(&Event::Laplace { scale: 10.0, sensitivity: 1.0 }).expect("covered");
            assert!(
                running.epsilon() >= before
                    && running.epsilon() <= f64::from(count) * 0.1 * (1.0 + 1e-12)
            );
            before = running.epsilon();
        }
        assert!(before < 0.2 * 300.0, "{before}");
    }

    #[test]
    fn samples_are_read_and_guarantees_with_a_delta_are_not() {
        let mut running = odometer();
        let gaussian = Event::Gaussian { sigma: 1.0, sensitivity: 1.0 };
        let sampled = Event::PoissonSubsampled { rate: 0.01, event: Box::new(gaussian) };
        running
            .record(&Event::Repetition { times: 1000, event: Box::new(sampled) })
            .expect("covered");
        assert!(running.epsilon() < 5.0, "{}", running.epsilon());
        let before = running.clone();
        assert!(running.record(&Event::Approximate { epsilon: 0.1, delta: 1e-9 }).is_err());
        assert!(running.record(&Event::Laplace { scale: -1.0, sensitivity: 1.0 }).is_err());
        assert_eq!(running, before);
    }

    #[test]
    fn restored_or_refused() {
        let mut running = odometer();
        running.record(&Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }).expect("covered");
        let text = serde_json::to_string(&running).expect("plain data");
        assert_eq!(serde_json::from_str::<Odometer>(&text).expect("round trip"), running);
        let forged = text.replace(r#""recorded":1"#, r#""recorded":0"#);
        assert!(forged != text && serde_json::from_str::<Odometer>(&forged).is_err());
        let other = text.replace("100000", "100001");
        assert!(other != text && serde_json::from_str::<Odometer>(&other).is_err());
        let negative = text.replace(r#""delta":"#, r#""delta":-"#);
        assert!(negative != text && serde_json::from_str::<Odometer>(&negative).is_err());
    }
}
