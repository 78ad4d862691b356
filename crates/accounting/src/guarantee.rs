//! What one event guarantees by itself: its pure loss, or its loss at a `delta`.
//!
//! Accountants that know nothing but `(epsilon, delta)` pairs read every event through here. All
//! figures are upper bounds.

use crate::conversion::loss_of_zero_concentrated;
use crate::renyi_curve::gaussian_shift_square;
use crate::{AccountingError, Component, Composition};
use reticent_events::{Event, InverseScale as ChargedInverseScale};
use reticent_mechanisms::{
    BoundedQuery, Certificate, DiscreteGaussianMechanism, Distance, Epsilon, GaussianProfile,
    GeneralizedGaussian, InflatedGeneralizedGaussian, Mechanism, MechanismError, Neighbours, Order,
    RandomScaleGaussianMechanism, Scale, Sensitivity, Support, Tabulated,
    TruncatedGeneralizedGaussian, TruncatedLaplace, independent_epsilon, scalar_epsilon,
};
use reticent_noise::Table;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::{add_down, add_up, div_down, div_up, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure, Wide, nearest};
use std::cell::RefCell;
use std::collections::HashMap;

/// The loss up to which curves are searched.
const LARGEST_LOSS: f64 = 1e12;

/// An upper bound on the loss of an event that is purely private, `None` for one that is not.
///
/// A Poisson sample of a pure event loses at most `ln(1 + q (e^epsilon - 1))` (Li, Qardaji, Su
/// 2012; Balle, Barthe, Gaboardi, *Privacy amplification by subsampling*, 2018, Theorem 8).
/// Generalized Gaussian noise of order `p <= 1` loses at most `sum (D_i/b)^p` (erratum L1). Bounded
/// noise is certified on a lattice that is a little wider than the event says: for the log-concave
/// densities of orders `p >= 1` the loss does not decrease with the range, since `f(y)/f(y - D)`
/// decreases in `y`, so that a window that grows to the left has a growing ratio of masses.
///
/// # Errors
/// If a mechanism cannot have the event's parameters.
pub(crate) fn pure_loss(event: &Event) -> Result<Option<f64>, AccountingError> {
    Ok(match event {
        Event::Laplace { scale, sensitivity } => Some(div_up(*sensitivity, *scale)),
        Event::DiscreteLaplace { scale, sensitivity } => Some(div_up(above(*sensitivity), *scale)),
        Event::Staircase { epsilon, .. }
        | Event::RandomizedResponse { epsilon, .. }
        | Event::Exponential { epsilon }
        | Event::PermuteAndFlip { epsilon } => Some(*epsilon),
        Event::Approximate { epsilon, delta } => (*delta == 0.0).then_some(*epsilon),
        Event::GeneralizedGaussian { order, scale, sensitivities } if *order <= 1.0 => {
            let term = |distance: &f64| {
                (Wide::exact(*distance) / Wide::exact(*scale)).pow(*order).bounds().upper()
            };
            Some(sensitivities.iter().map(term).fold(0.0, add_up))
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            certified(&TruncatedGeneralizedGaussian::with_scale(
                Order::new(*order)?,
                query,
                Scale::new(*scale)?,
            )?)
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            certified(&InflatedGeneralizedGaussian::with_scale(
                Order::new(*order)?,
                query,
                Scale::new(*scale)?,
            )?)
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            Some(scalar_epsilon(&drawn(inverse_scale)?, Distance::new(*sensitivity)?).upper())
        }
        Event::RandomScaleLaplaceVector { inverse_scale, coordinates, sensitivity } => {
            let coordinates = u32::try_from(*coordinates).unwrap_or(u32::MAX);
            Some(
                independent_epsilon(
                    &drawn(inverse_scale)?,
                    coordinates,
                    Distance::new(*sensitivity)?,
                )?
                .upper(),
            )
        }
        Event::PoissonSubsampled { rate, event } => {
            pure_loss(event)?.map(|loss| sampled_loss(*rate, loss))
        }
        Event::Repetition { times, event } => {
            pure_loss(event)?.map(|loss| mul_up(above(*times), loss))
        }
        Event::Composition { events } => {
            let mut sum = Some(0.0);
            for event in events {
                sum = sum.zip(pure_loss(event)?).map(|(sum, loss)| add_up(sum, loss));
            }
            sum
        }
        Event::TruncatedLaplace { .. }
        | Event::Tabulated { .. }
        | Event::Gaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::GeneralizedGaussian { .. }
        | Event::RandomScaleGaussian { .. }
        | Event::ZeroConcentrated { .. } => None,
    })
}

/// The part of `delta` that an event has whatever the loss, because an approximate guarantee says
/// so.
pub(crate) fn fixed_delta(event: &Event) -> f64 {
    match event {
        Event::Approximate { delta, .. } => *delta,
        Event::PoissonSubsampled { rate, event } => mul_up(*rate, fixed_delta(event)),
        Event::Repetition { times, event } => mul_up(above(*times), fixed_delta(event)),
        Event::Composition { events } => events.iter().map(fixed_delta).fold(0.0, add_up),
        Event::Laplace { .. }
        | Event::TruncatedLaplace { .. }
        | Event::Tabulated { .. }
        | Event::DiscreteLaplace { .. }
        | Event::Staircase { .. }
        | Event::Gaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::GeneralizedGaussian { .. }
        | Event::TruncatedGeneralizedGaussian { .. }
        | Event::InflatedGeneralizedGaussian { .. }
        | Event::RandomizedResponse { .. }
        | Event::RandomScaleLaplace { .. }
        | Event::RandomScaleLaplaceVector { .. }
        | Event::RandomScaleGaussian { .. }
        | Event::Exponential { .. }
        | Event::PermuteAndFlip { .. }
        | Event::ZeroConcentrated { .. } => 0.0,
    }
}

/// What several releases guarantee one by one, read once and asked at many `delta`.
pub(crate) struct Guarantees(Vec<(f64, Guarantee)>);

impl Guarantees {
    /// Reads a composition.
    ///
    /// # Errors
    /// If a mechanism cannot have an event's parameters, or nothing is known of an event.
    pub(crate) fn of(composition: &Composition) -> Result<Self, AccountingError> {
        let read =
            |component: &Component| Ok((above(component.times), Guarantee::of(&component.event)?));
        composition.iter().map(read).collect::<Result<_, _>>().map(Guarantees)
    }

    /// The sum of the losses, if all are pure.
    pub(crate) fn pure(&self) -> Option<f64> {
        self.0.iter().try_fold(0.0, |sum, (times, guarantee)| match guarantee.kind {
            Kind::Pure(loss) => Some(add_up(sum, mul_up(*times, loss))),
            Kind::Approximate { .. }
            | Kind::ZeroConcentrated { .. }
            | Kind::Profile(_)
            | Kind::Sampled { .. } => None,
        })
    }

    /// The part of `delta` that all have together whatever the losses.
    pub(crate) fn fixed_delta(&self) -> f64 {
        self.0
            .iter()
            .map(|(times, guarantee)| mul_up(*times, guarantee.fixed_delta))
            .fold(0.0, add_up)
    }

    /// Whether some loss decreases as `delta` grows.
    pub(crate) fn is_flexible(&self) -> bool {
        self.0.iter().any(|(_, guarantee)| guarantee.is_flexible())
    }

    /// Each kind of release's count and loss when the `delta` of all releases adds up to at most
    /// `delta`, in equal shares beyond the fixed parts; `None` where it cannot.
    ///
    /// # Errors
    /// If a profile cannot be evaluated.
    pub(crate) fn losses_at(&self, delta: f64) -> Result<Option<Vec<(f64, f64)>>, AccountingError> {
        let rest = sub_down(delta, self.fixed_delta());
        if rest < 0.0 {
            return Ok(None);
        }
        let sharing = self.0.iter().filter(|(_, guarantee)| guarantee.is_flexible());
        let sharing = sharing.map(|(times, _)| *times).fold(0.0, add_up);
        let share = if sharing > 0.0 { div_down(rest, sharing) } else { 0.0 };
        if sharing > 0.0 && share <= 0.0 {
            return Ok(None);
        }
        let mut losses = Vec::with_capacity(self.0.len());
        for (times, guarantee) in &self.0 {
            let own = if guarantee.is_flexible() { share } else { 0.0 };
            // Rounded down, but never below the event's own fixed part.
            losses.push((*times, guarantee.loss_at(add_down(guarantee.fixed_delta, own))?));
        }
        Ok(Some(losses))
    }

    /// An upper bound on the sum of all losses at a `delta`; infinite where there is none.
    ///
    /// # Errors
    /// If a profile cannot be evaluated.
    pub(crate) fn loss_at(&self, delta: f64) -> Result<f64, AccountingError> {
        let sum = |losses: Vec<(f64, f64)>| {
            losses.into_iter().map(|(times, loss)| mul_up(times, loss)).fold(0.0, add_up)
        };
        Ok(self.losses_at(delta)?.map_or(f64::INFINITY, sum))
    }
}

struct Guarantee {
    kind: Kind,
    fixed_delta: f64,
}

enum Kind {
    Pure(f64),
    Approximate { epsilon: f64 },
    ZeroConcentrated { rho: f64 },
    Profile(Profile),
    Sampled { rate: f64, inner: Guarantees },
}

impl Guarantee {
    fn of(event: &Event) -> Result<Self, AccountingError> {
        let kind = match (pure_loss(event)?, event) {
            (Some(loss), _) => Kind::Pure(loss),
            (None, Event::Approximate { epsilon, .. }) => Kind::Approximate { epsilon: *epsilon },
            (None, Event::ZeroConcentrated { rho }) => Kind::ZeroConcentrated { rho: *rho },
            (None, Event::PoissonSubsampled { rate, event }) => {
                let inner = Composition::new(std::slice::from_ref(event.as_ref()))?;
                Kind::Sampled { rate: *rate, inner: Guarantees::of(&inner)? }
            }
            (None, single) => Kind::Profile(Profile::of(single)?),
        };
        Ok(Guarantee { kind, fixed_delta: fixed_delta(event) })
    }

    /// Whether a larger `delta` gives a smaller loss.
    fn is_flexible(&self) -> bool {
        match &self.kind {
            Kind::Pure(_) | Kind::Approximate { .. } => false,
            Kind::ZeroConcentrated { .. } | Kind::Profile(_) => true,
            Kind::Sampled { inner, .. } => inner.is_flexible(),
        }
    }

    /// An upper bound on the least `epsilon` with which the event is
    /// `(epsilon, delta)`-differentially private; infinite where there is none.
    fn loss_at(&self, delta: f64) -> Result<f64, AccountingError> {
        match &self.kind {
            Kind::Pure(loss) => Ok(*loss),
            Kind::Approximate { epsilon } => {
                Ok(if self.fixed_delta <= delta { *epsilon } else { f64::INFINITY })
            }
            Kind::ZeroConcentrated { rho } => Ok(loss_of_zero_concentrated(*rho, delta)),
            Kind::Profile(profile) => profile.least_loss(delta),
            Kind::Sampled { rate, inner } => {
                let share = div_down(delta, *rate);
                // A sample that the unit enters with probability q is at a total variation distance
                // of at most q.
                Ok(if share >= 1.0 { 0.0 } else { sampled_loss(*rate, inner.loss_at(share)?) })
            }
        }
    }
}

struct Profile {
    delta: Box<dyn Fn(f64) -> Result<Bounds, MechanismError>>,
    largest_loss: f64,
    /// For a profile that takes long: upper bounds on `delta` at losses `2^(i/128)`, once they are
    /// known.
    known: Option<RefCell<HashMap<i32, f64>>>,
}

/// Losses from `2^-40` on stand in the table of a profile that takes long, 128 a doubling.
const FIRST_INDEX: i32 = -40 * POINTS_A_DOUBLING;
const POINTS_A_DOUBLING: i32 = 128;

impl Profile {
    /// The profile of a mechanism that is not pure. Sensitivities that are put on a lattice a
    /// second time only grow, and a larger one loses more.
    fn of(event: &Event) -> Result<Self, AccountingError> {
        let any = Epsilon::new(1.0)?;
        if let Some(square) = gaussian_shift_square(event) {
            let shift = Distance::new(square.sqrt().bounds().upper())?;
            let profile = GaussianProfile::new(Scale::new(1.0)?, shift);
            let delta = Box::new(move |epsilon| profile.delta(epsilon));
            return Ok(Profile { delta, largest_loss: LARGEST_LOSS, known: None });
        }
        let mut known = None;
        let mechanism: Box<dyn Mechanism> = match event {
            Event::DiscreteGaussian { sigma, sensitivity } => {
                Box::new(DiscreteGaussianMechanism::with_sigma(*sigma, *sensitivity, any)?)
            }
            Event::GeneralizedGaussian { order, scale, sensitivities } => {
                known = (sensitivities.len() > 1).then(RefCell::default);
                let distances: Result<Vec<_>, _> =
                    sensitivities.iter().map(|&distance| Distance::new(distance)).collect();
                Box::new(GeneralizedGaussian::with_scale(
                    Order::new(*order)?,
                    Scale::new(*scale)?,
                    &Sensitivity::from(&distances?[..]),
                    any,
                )?)
            }
            Event::RandomScaleGaussian { sigmas, sensitivity } => {
                known = Some(RefCell::default());
                Box::new(RandomScaleGaussianMechanism::new(
                    sigmas.clone(),
                    Distance::new(*sensitivity)?,
                    any,
                )?)
            }
            Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
                let distance = Sensitivity::scalar(*sensitivity, Neighbours::AddRemove)?;
                let support = Support::InScales(*support_in_scales);
                Box::new(TruncatedLaplace::with_support(
                    &distance,
                    Scale::new(*scale)?,
                    support,
                    any,
                )?)
            }
            Event::Tabulated { weights, sensitivity_steps, .. } => {
                let table = Table::from_parts(weights).map_err(MechanismError::from)?;
                let steps = *sensitivity_steps;
                let delta =
                    move |epsilon| Ok(Tabulated::delta_of(&table, steps, Epsilon::new(epsilon)?));
                return Ok(Profile {
                    delta: Box::new(delta),
                    largest_loss: 700.0,
                    known: Some(RefCell::default()),
                });
            }
            Event::Laplace { .. }
            | Event::DiscreteLaplace { .. }
            | Event::Staircase { .. }
            | Event::Gaussian { .. }
            | Event::TruncatedGeneralizedGaussian { .. }
            | Event::InflatedGeneralizedGaussian { .. }
            | Event::RandomizedResponse { .. }
            | Event::RandomScaleLaplace { .. }
            | Event::RandomScaleLaplaceVector { .. }
            | Event::Exponential { .. }
            | Event::PermuteAndFlip { .. }
            | Event::Approximate { .. }
            | Event::ZeroConcentrated { .. }
            | Event::PoissonSubsampled { .. }
            | Event::Composition { .. }
            | Event::Repetition { .. } => {
                let reason = "nothing is known of its loss";
                return Err(AccountingError::NotCovered {
                    accountant: "basic",
                    mechanism: event.mechanism(),
                    reason,
                });
            }
        };
        Ok(Profile {
            delta: Box::new(move |epsilon| mechanism.delta(epsilon)),
            largest_loss: 700.0,
            known,
        })
    }

    /// The least loss at which `delta` is proved, to a relative `1e-12`, or to the next index of
    /// the table.
    fn least_loss(&self, delta: f64) -> Result<f64, AccountingError> {
        match &self.known {
            Some(known) => self.least_known_loss(&mut known.borrow_mut(), delta),
            None => {
                let mut failed = None;
                let range =
                    Range::between(0.0, self.largest_loss).bracket_from(1.0).to_within(1e-12);
                let evaluate = |epsilon| {
                    (self.delta)(epsilon).unwrap_or_else(|error| {
                        failed = Some(error);
                        Bounds::WHOLE_LINE
                    })
                };
                let least = least_at_most(evaluate, delta, range).unwrap_or(f64::INFINITY);
                failed.map_or(Ok(least), |error| Err(error.into()))
            }
        }
    }

    /// Bisects among the indices of the table, of which the one returned is proved.
    fn least_known_loss(
        &self,
        known: &mut HashMap<i32, f64>,
        delta: f64,
    ) -> Result<f64, AccountingError> {
        let loss_at =
            |index: i32| nearest::pow(2.0, f64::from(index) / f64::from(POINTS_A_DOUBLING));
        let mut proved = |index: i32| -> Result<bool, AccountingError> {
            let bound = match known.get(&index) {
                Some(&bound) => bound,
                None => *known.entry(index).or_insert((self.delta)(loss_at(index))?.upper()),
            };
            Ok(bound <= delta)
        };
        // 2^9.4 is 675.
        let (mut below, mut index) = (FIRST_INDEX, 94 * POINTS_A_DOUBLING / 10);
        if !proved(index)? {
            return Ok(f64::INFINITY);
        }
        while index - below > 1 {
            let middle = below + (index - below) / 2;
            if proved(middle)? {
                index = middle;
            } else {
                below = middle;
            }
        }
        Ok(loss_at(index))
    }
}

fn certified(mechanism: &dyn Mechanism) -> Option<f64> {
    match mechanism.certificate() {
        Certificate::Epsilon(bounds) => Some(bounds.upper()),
        Certificate::Delta(_) => None,
    }
}

/// `ln(1 + q (e^epsilon - 1))`, rounded up; `epsilon + ln(q + (1 - q) e^-epsilon)` where the first
/// would overflow.
pub(crate) fn sampled_loss(rate: f64, loss: f64) -> f64 {
    if loss == f64::INFINITY {
        return loss;
    }
    let (q, loss) = (Bounds::exact(rate), Bounds::exact(loss));
    let sampled = if loss.upper() < 1.0 {
        (q * loss.exp_m1()).ln_1p()
    } else {
        loss + (q + (Bounds::ONE - q) * (-loss).exp()).ln()
    };
    sampled.upper().max(0.0)
}

/// An integer as an `f64` that is not below it.
pub(crate) fn above(count: u64) -> f64 {
    Bounds::ONE.integer(i128::from(count)).upper()
}

/// The distribution that an event describes.
pub(crate) fn drawn(inverse_scale: &ChargedInverseScale) -> Result<InverseScale, AccountingError> {
    let noise =
        |error: reticent_noise::NoiseError| AccountingError::from(MechanismError::from(error));
    Ok(match inverse_scale {
        ChargedInverseScale::TwoPoint { first, second, weight } => {
            TwoPointScale::new(*first, *second, *weight).map_err(noise)?.into()
        }
        ChargedInverseScale::Gamma { shape, theta } => {
            GammaScale::new(*shape, *theta).map_err(noise)?.into()
        }
        ChargedInverseScale::Uniform { lower, upper } => {
            UniformScale::new(*lower, *upper).map_err(noise)?.into()
        }
        ChargedInverseScale::TruncatedGaussian { mu, sigma, lower, upper } => {
            TruncatedGaussianScale::new(*mu, *sigma, *lower, *upper).map_err(noise)?.into()
        }
        ChargedInverseScale::Combined { parts } => {
            let parts: Result<Vec<_>, AccountingError> =
                parts.iter().map(|(weight, part)| Ok((*weight, drawn(part)?))).collect();
            Combined::new(parts?).map_err(noise)?.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss_at(event: Event, delta: f64) -> f64 {
        Guarantees::of(&Composition::new(&[event]).expect("valid"))
            .expect("known")
            .loss_at(delta)
            .expect("evaluated")
    }

    fn sampled(rate: f64, event: Event) -> Event {
        Event::PoissonSubsampled { rate, event: Box::new(event) }
    }

    #[test]
    fn pure_losses() {
        let two_point = ChargedInverseScale::TwoPoint { first: 0.01, second: 5.0, weight: 0.5 };
        let rows = [
            (Event::Laplace { scale: 4.0, sensitivity: 1.0 }, 0.25),
            (Event::DiscreteLaplace { scale: 4.0, sensitivity: 3 }, 0.75),
            (
                Event::GeneralizedGaussian {
                    order: 0.5,
                    scale: 4.0,
                    sensitivities: vec![1.0, 9.0],
                },
                2.0,
            ),
            // Erratum R1: the printed figure is 4.314.
            (Event::RandomScaleLaplace { inverse_scale: two_point, sensitivity: 1.0 }, 4.744),
            (sampled(0.25, Event::Exponential { epsilon: 1.0 }), (0.25 * 1f64.exp_m1()).ln_1p()),
            (sampled(0.25, Event::PermuteAndFlip { epsilon: 600.0 }), 600.0 + 0.25f64.ln()),
            (
                Event::Composition {
                    events: vec![Event::Approximate { epsilon: 0.5, delta: 0.0 }; 3],
                },
                1.5,
            ),
        ];
        for (event, expected) in rows {
            let loss = pure_loss(&event).expect("valid").expect("pure");
            assert!((loss / expected - 1.0).abs() < 1e-4, "{event:?}: {loss} {expected}");
        }
        assert_eq!(pure_loss(&Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }), Ok(None));
        assert_eq!(pure_loss(&Event::Approximate { epsilon: 1.0, delta: 1e-30 }), Ok(None));
    }

    /// The loss at order 2 and scale `b` of truncated noise is between those for a narrower and a
    /// wider range.
    #[test]
    fn bounded_noise_is_read_by_its_certificate() {
        let loss = |range| {
            let event = Event::TruncatedGeneralizedGaussian {
                order: 2.0,
                scale: 3.0,
                range,
                sensitivity: 1.0,
            };
            pure_loss(&event).expect("valid").expect("pure")
        };
        assert!(loss(2.0) < loss(2.5) && loss(2.5) < loss(10.0) && loss(10.0).is_finite());
        let clamped = Event::InflatedGeneralizedGaussian {
            order: 1.0,
            scale: 2.0,
            range: 5.0,
            sensitivity: 1.0,
        };
        assert!((pure_loss(&clamped).expect("valid").expect("pure") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn losses_at_a_delta() {
        let gaussian = Event::Gaussian { sigma: 4.224679, sensitivity: 1.0 };
        assert!((loss_at(gaussian.clone(), 1e-6) - 1.0).abs() < 1e-6);
        let general = Event::GeneralizedGaussian {
            order: 2.0,
            scale: 4.224679 * 2f64.sqrt(),
            sensitivities: vec![1.0],
        };
        assert!((loss_at(general, 1e-6) - 1.0).abs() < 1e-6);
        let several =
            Event::GeneralizedGaussian { order: 2.0, scale: 6.0, sensitivities: vec![1.0, 0.5] };
        let same = Event::Gaussian { sigma: 6.0, sensitivity: 2.5f64.sqrt() };
        assert!((loss_at(several, 1e-6) / loss_at(same, 1e-6) - 1.0).abs() < 1e-11);
        let discrete = Event::DiscreteGaussian { sigma: 4.224679, sensitivity: 1 };
        assert!((loss_at(discrete, 1e-6) - 1.0).abs() < 0.01);
        let fixed = Event::RandomScaleGaussian { sigmas: vec![(4.224679, 1.0)], sensitivity: 1.0 };
        assert!((loss_at(fixed, 1e-6) - 1.0).abs() < 0.006);
        // ln(1 + q (e - 1)) at q delta.
        let amplified = loss_at(sampled(0.1, gaussian.clone()), 1e-7);
        assert!((amplified - (0.1 * 1f64.exp_m1()).ln_1p()).abs() < 1e-6, "{amplified}");
        assert_eq!(loss_at(sampled(0.1, gaussian), 0.1), 0.0);
        let guarantee = Event::Approximate { epsilon: 0.3, delta: 1e-3 };
        assert_eq!(loss_at(guarantee.clone(), 0.9e-3), f64::INFINITY);
        assert_eq!(loss_at(guarantee.clone(), 1e-3), 0.3);
        let within = loss_at(sampled(0.3, guarantee), 3e-4f64.next_up());
        assert!((within - (0.3 * 0.3f64.exp_m1()).ln_1p()).abs() < 1e-15, "{within}");
    }

    #[test]
    fn counts_above_the_integers_of_f64_are_rounded_up() {
        assert_eq!(above((1 << 53) + 1), 9007199254740994.0);
        assert_eq!(above(7), 7.0);
    }
}
