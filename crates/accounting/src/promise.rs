//! What one event promises by itself: its pure loss, or its loss once a `delta` is excepted.
//!
//! Accountants that know nothing but `(epsilon, delta)` pairs read every event through here. All figures are upper bounds.

use crate::{AccountingError, Charges, basic, conversion};
use reticent_events::{Event, InverseScale as ChargedInverseScale};
use reticent_mechanisms::{
    BoundedQuery, Certificate, DiscreteGaussianMechanism, Distance, Epsilon, GaussianProfile, GeneralizedGaussian,
    InflatedGeneralizedGaussian, Mechanism, MechanismError, Order, RandomScaleGaussianMechanism, Scale,
    TruncatedGeneralizedGaussian, independent_epsilon, scalar_epsilon,
};
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::{add_up, div_down, div_up, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// The loss up to which curves are searched.
const LARGEST_LOSS: f64 = 1e12;

/// An upper bound on the loss of an event that is purely private, `None` for one that is not.
///
/// A Poisson sample of a pure event loses at most `ln(1 + q (e^epsilon - 1))` (Li, Qardaji, Su 2012; Balle, Barthe, Gaboardi, *Privacy amplification by
/// subsampling*, 2018, Theorem 8). Generalized Gaussian noise of order `p <= 1` loses at most `sum (D_i/b)^p` (erratum L1). Bounded noise is certified on a
/// lattice that is a little wider than the event says: for the log-concave densities of orders `p >= 1` the loss does not decrease with the range, since
/// `f(y)/f(y - D)` decreases in `y`, so that a window that grows to the left has a growing ratio of masses.
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
            let term = |distance: &f64| (Wide::exact(*distance) / Wide::exact(*scale)).pow(*order).bounds().upper();
            Some(sensitivities.iter().map(term).fold(0.0, add_up))
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            certified(&TruncatedGeneralizedGaussian::with_scale(Order::new(*order)?, query, Scale::new(*scale)?)?)
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            certified(&InflatedGeneralizedGaussian::with_scale(Order::new(*order)?, query, Scale::new(*scale)?)?)
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            Some(scalar_epsilon(&drawn(inverse_scale)?, Distance::new(*sensitivity)?).upper())
        }
        Event::RandomScaleLaplaceVector { inverse_scale, coordinates, sensitivity } => {
            let coordinates = u32::try_from(*coordinates).unwrap_or(u32::MAX);
            Some(independent_epsilon(&drawn(inverse_scale)?, coordinates, Distance::new(*sensitivity)?)?.upper())
        }
        Event::PoissonSubsampled { rate, event } => pure_loss(event)?.map(|loss| sampled_loss(*rate, loss)),
        Event::Repetition { times, event } => pure_loss(event)?.map(|loss| mul_up(above(*times), loss)),
        Event::Composition { events } => {
            let mut sum = Some(0.0);
            for event in events {
                sum = sum.zip(pure_loss(event)?).map(|(sum, loss)| add_up(sum, loss));
            }
            sum
        }
        _ => None,
    })
}

/// The part of `delta` that an event has whatever the loss: what an approximate promise excepts.
pub(crate) fn excepted(event: &Event) -> f64 {
    match event {
        Event::Approximate { delta, .. } => *delta,
        Event::PoissonSubsampled { rate, event } => mul_up(*rate, excepted(event)),
        Event::Repetition { times, event } => mul_up(above(*times), excepted(event)),
        Event::Composition { events } => events.iter().map(excepted).fold(0.0, add_up),
        _ => 0.0,
    }
}

/// Whether a larger `delta` gives a smaller loss.
pub(crate) fn is_flexible(event: &Event) -> Result<bool, AccountingError> {
    Ok(match event {
        Event::Approximate { .. } => false,
        Event::PoissonSubsampled { event, .. } | Event::Repetition { event, .. } => is_flexible(event)?,
        Event::Composition { events } => {
            let mut any = false;
            for event in events {
                any |= is_flexible(event)?;
            }
            any
        }
        other => pure_loss(other)?.is_none(),
    })
}

/// An upper bound on the least `epsilon` with which the event is `(epsilon, delta)`-differentially private; infinite where there is none.
///
/// # Errors
/// If a mechanism cannot have the event's parameters, or the event is one that nothing is known of.
pub(crate) fn loss_at(event: &Event, delta: f64) -> Result<f64, AccountingError> {
    if let Some(loss) = pure_loss(event)? {
        return Ok(loss);
    }
    match event {
        Event::Approximate { epsilon, delta: excepted } => {
            Ok(if *excepted <= delta { *epsilon } else { f64::INFINITY })
        }
        Event::ZeroConcentrated { rho } => Ok(conversion::loss_of_zero_concentrated(*rho, delta)),
        Event::PoissonSubsampled { rate, event } => {
            let inner = div_down(delta, *rate);
            // A sample that the unit enters with probability q is at a total variation distance of at most q.
            Ok(if inner >= 1.0 { 0.0 } else { sampled_loss(*rate, loss_at(event, inner)?) })
        }
        Event::Composition { .. } | Event::Repetition { .. } => {
            basic::loss_of(&Charges::new(std::slice::from_ref(event))?, delta)
        }
        single => least_loss(&profile(single)?, delta),
    }
}

/// The least loss at which a decreasing profile is proved to be at most `delta`.
fn least_loss(profile: &Profile, delta: f64) -> Result<f64, AccountingError> {
    let mut failed = None;
    let range = Range::between(0.0, profile.largest_loss).bracket_from(1.0).to_within(1e-12);
    let least = least_at_most(
        |epsilon| {
            (profile.delta)(epsilon).unwrap_or_else(|error| {
                failed = Some(error);
                Bounds::WHOLE_LINE
            })
        },
        delta,
        range,
    );
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(least.unwrap_or(f64::INFINITY)),
    }
}

struct Profile {
    delta: Box<dyn Fn(f64) -> Result<Bounds, MechanismError>>,
    largest_loss: f64,
}

/// The profile of a mechanism that is not pure. Sensitivities that are put on a lattice a second time only grow, and a larger one loses more.
fn profile(event: &Event) -> Result<Profile, AccountingError> {
    let any = Epsilon::new(1.0)?;
    let mechanism: Box<dyn Mechanism> = match event {
        Event::Gaussian { sigma, sensitivity } => {
            let profile = GaussianProfile::new(Scale::new(*sigma)?, Distance::new(*sensitivity)?);
            return Ok(Profile { delta: Box::new(move |epsilon| profile.delta(epsilon)), largest_loss: LARGEST_LOSS });
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            Box::new(DiscreteGaussianMechanism::with_sigma(*sigma, *sensitivity, any)?)
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => {
            let distances: Result<Vec<_>, _> = sensitivities.iter().map(|&distance| Distance::new(distance)).collect();
            Box::new(GeneralizedGaussian::with_scale(Order::new(*order)?, Scale::new(*scale)?, &distances?, any)?)
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            Box::new(RandomScaleGaussianMechanism::new(sigmas.clone(), Distance::new(*sensitivity)?, any)?)
        }
        other => {
            let reason = "nothing is known of its loss";
            return Err(AccountingError::NotCovered { accountant: "basic", mechanism: other.mechanism(), reason });
        }
    };
    Ok(Profile { delta: Box::new(move |epsilon| mechanism.delta(epsilon)), largest_loss: 700.0 })
}

fn certified(mechanism: &dyn Mechanism) -> Option<f64> {
    match mechanism.certificate() {
        Certificate::Epsilon(bounds) => Some(bounds.upper()),
        Certificate::Delta(_) => None,
    }
}

/// `ln(1 + q (e^epsilon - 1))`, rounded up; `epsilon + ln(q + (1 - q) e^-epsilon)` where the first would overflow.
pub(crate) fn sampled_loss(rate: f64, loss: f64) -> f64 {
    if loss == f64::INFINITY {
        return loss;
    }
    let (q, loss) = (Bounds::exact(rate), Bounds::exact(loss));
    let sampled = if loss.upper() < 1.0 {
        (q * loss.exp_m1()).ln_1p()
    } else {
        loss + (q + Bounds::exact(sub_down(1.0, rate)).hull(Bounds::ONE - q) * (-loss).exp()).ln()
    };
    sampled.upper().max(0.0)
}

/// An integer as an `f64` that is not below it.
pub(crate) fn above(count: u64) -> f64 {
    Bounds::ONE.integer(i128::from(count)).upper()
}

/// The distribution that an event describes.
fn drawn(inverse_scale: &ChargedInverseScale) -> Result<InverseScale, AccountingError> {
    let noise = |error: reticent_noise::NoiseError| AccountingError::from(MechanismError::from(error));
    Ok(match inverse_scale {
        ChargedInverseScale::TwoPoint { first, second, weight } => {
            TwoPointScale::new(*first, *second, *weight).map_err(noise)?.into()
        }
        ChargedInverseScale::Gamma { shape, scale } => GammaScale::new(*shape, *scale).map_err(noise)?.into(),
        ChargedInverseScale::Uniform { lower, upper } => UniformScale::new(*lower, *upper).map_err(noise)?.into(),
        ChargedInverseScale::TruncatedGaussian { mu, sigma, lower, upper } => {
            TruncatedGaussianScale::new(*mu, *sigma, *lower, *upper).map_err(noise)?.into()
        }
        ChargedInverseScale::Combined { parts } => {
            let parts: Result<Vec<_>, AccountingError> =
                parts.iter().map(|(weight, part)| Ok((*weight, drawn(part)?))).collect();
            Combined::new(parts?).map_err(noise)?.into()
        }
        _ => {
            let reason = "this distribution of the scale is not known";
            return Err(AccountingError::NotCovered { accountant: "basic", mechanism: "random-scale-laplace", reason });
        }
    })
}
