//! Which pair dominates an event.

use super::super::pair::{Pair, Point};
use super::atoms::AtomsPair;
use super::by_profile::ProfilePair;
use super::concentrated::ConcentratedPair;
use super::discrete::DiscretePair;
use super::gaussian::GaussianPair;
use super::laplace::LaplacePair;
use super::subsampled::{Direction, SubsampledPair};
use super::tabulated::TabulatedPair;
use super::truncated_laplace::TruncatedLaplacePair;
use crate::guarantee::drawn;
use crate::{AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::{
    BoundedQuery, Distance, Epsilon, Exponential, GeneralizedGaussian, InflatedGeneralizedGaussian,
    Mechanism, MechanismError, Neighbours, Order, RandomScaleGaussianMechanism, RandomScaleLaplace,
    Scale, Sensitivity, Staircase, TruncatedGeneralizedGaussian, UtilityChange,
};
use reticent_noise::{DiscreteGaussian, DiscreteLaplace, Table};
use reticent_numerics::{Bounds, Enclosure};
use std::sync::Arc;

/// What bounds one kind of release from both sides.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// A pair that dominates it.
    pub(crate) dominating: Arc<dyn Pair>,
    /// A pair that some neighbours attain; often the same.
    pub(crate) attained: Arc<dyn Pair>,
    /// How often it was made.
    pub(crate) times: u64,
}

/// The releases, with the unit in one data set or in the other. All releases are about the same
/// two.
#[derive(Debug)]
pub(crate) struct Directions(pub(crate) Vec<Vec<Term>>);

/// The pairs of all releases. Gaussian noise is put together first: pairs of `mu_1` and `mu_2`
/// compose to that of `sqrt(mu_1^2 + mu_2^2)` exactly. So are the bare guarantees of
/// zero-concentration, whose `rho` add up.
pub(crate) fn pairs_of(composition: &Composition) -> Result<Directions, AccountingError> {
    let is_sampled = composition
        .iter()
        .any(|component| matches!(component.event, Event::PoissonSubsampled { .. }));
    let directions: &[Direction] =
        if is_sampled { &[Direction::Removed, Direction::Added] } else { &[Direction::Removed] };
    directions
        .iter()
        .map(|&direction| terms(composition, direction))
        .collect::<Result<_, _>>()
        .map(Directions)
}

fn terms(composition: &Composition, direction: Direction) -> Result<Vec<Term>, AccountingError> {
    let mut terms = Vec::new();
    let (mut square, mut rho) = (Bounds::ZERO, Bounds::ZERO);
    for component in composition.iter() {
        let times = Bounds::exact(component.times as f64);
        match component.event {
            Event::Gaussian { sigma, sensitivity } => {
                square = square + mu(sigma, sensitivity).square() * times
            }
            Event::ZeroConcentrated { rho: one } => rho = rho + Bounds::exact(one) * times,
            _ => terms.push(Term { times: component.times, ..term(&component.event, direction)? }),
        }
    }
    if rho.upper() > 0.0 {
        terms.push(concentrated(rho));
    }
    if square.upper() > 0.0 {
        terms.push(same(GaussianPair::new(square.sqrt())));
    }
    Ok(terms)
}

fn mu(sigma: f64, sensitivity: f64) -> Bounds {
    Bounds::exact(sensitivity) / Bounds::exact(sigma)
}

/// One release of a pair that is dominating and attained.
fn same(pair: impl Pair + 'static) -> Term {
    let pair: Arc<dyn Pair> = Arc::new(pair);
    Term { dominating: pair.clone(), attained: pair, times: 1 }
}

fn apart(dominating: impl Pair + 'static, attained: impl Pair + 'static) -> Term {
    Term { dominating: Arc::new(dominating), attained: Arc::new(attained), times: 1 }
}

/// Some zero-concentrated mechanism: Gaussian noise of `mu^2/2 = rho` is one that it may have been.
fn concentrated(rho: Bounds) -> Term {
    let gaussian = (rho * Bounds::exact(2.0)).sqrt();
    apart(ConcentratedPair::new(rho.upper()), GaussianPair::new(gaussian))
}

/// A release that tells nothing: what is known from below where neighbours that attain a profile
/// are not known.
#[derive(Debug)]
struct NothingPair;

impl Pair for NothingPair {
    fn at(&self, loss: f64) -> Point {
        if loss < 0.0 { Point::everything(loss) } else { Point::NOTHING }
    }

    fn greatest_loss(&self) -> f64 {
        0.0
    }
}

/// Below this a product of rates may have been rounded by more than ulps, and nothing is said from
/// below.
const LEAST_RATE: f64 = 1e-290;

fn term(event: &Event, direction: Direction) -> Result<Term, AccountingError> {
    let by_profile = |mechanism: Box<dyn Mechanism>, greatest: f64| {
        ProfilePair::new(mechanism, greatest, Bounds::ZERO)
    };
    Ok(match event {
        Event::Laplace { scale, sensitivity } => same(LaplacePair::new(mu(*scale, *sensitivity))),
        Event::Gaussian { sigma, sensitivity } => same(GaussianPair::new(mu(*sigma, *sensitivity))),
        Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
            same(TruncatedLaplacePair::new(*support_in_scales, mu(*scale, *sensitivity)))
        }
        Event::Tabulated { weights, sensitivity_steps, .. } => {
            let table = Table::from_parts(weights).map_err(MechanismError::from)?;
            same(TabulatedPair::new(&table, *sensitivity_steps))
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            let noise = DiscreteLaplace::new(*scale).map_err(MechanismError::from)?;
            let greatest = Bounds::ONE.integer(i128::from(*sensitivity)) / Bounds::exact(*scale);
            same(DiscretePair::new(noise, *sensitivity, 2.0 / scale, greatest))
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            let noise = DiscreteGaussian::new(*sigma).map_err(MechanismError::from)?;
            let slope = *sensitivity as f64 / (sigma * sigma);
            // At 37.5 sigma the tail is below 1e-305.
            same(
                DiscretePair::new(noise, *sensitivity, slope, Bounds::exact(f64::INFINITY))
                    .within(37.5 * sigma),
            )
        }
        Event::RandomizedResponse { epsilon, categories } => {
            same(AtomsPair::randomized_response(*epsilon, *categories))
        }
        Event::Approximate { epsilon, delta } => same(AtomsPair::approximate(*epsilon, *delta)),
        Event::Staircase { epsilon, gamma, sensitivity } => {
            let sensitivity = Sensitivity::scalar(*sensitivity, Neighbours::AddRemove)?;
            let staircase =
                Staircase::with_gamma(&sensitivity, Epsilon::positive(*epsilon)?, *gamma)?;
            // delta(0) = P[L = e] (1 - e^-e)
            let high = staircase.delta(0.0)? / -(-Bounds::exact(*epsilon)).exp_m1();
            same(AtomsPair::three(*epsilon, high))
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => {
            let distances = sensitivities
                .iter()
                .map(|&distance| Distance::new(distance))
                .collect::<Result<Vec<_>, _>>()?;
            let mechanism = GeneralizedGaussian::with_scale(
                Order::new(*order)?,
                Scale::new(*scale)?,
                &Sensitivity::from(&distances[..]),
                Epsilon::new(0.0)?,
            )?;
            // The powers of the distances over the scale, for an order up to 1; beyond there is no
            // greatest loss.
            let greatest = if *order <= 1.0 {
                let powers = sensitivities
                    .iter()
                    .map(|&distance| (Bounds::exact(distance) / Bounds::exact(*scale)).pow(*order));
                powers.fold(Bounds::ZERO, |sum, power| sum + power).upper()
            } else {
                f64::INFINITY
            };
            same(by_profile(Box::new(mechanism), greatest))
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            let mechanism = TruncatedGeneralizedGaussian::with_scale(
                Order::new(*order)?,
                query,
                Scale::new(*scale)?,
            )?;
            let greatest = mechanism.guarantee().epsilon;
            apart(by_profile(Box::new(mechanism), greatest), NothingPair)
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let query = BoundedQuery::new(0.0, *range, Distance::new(*sensitivity)?)?;
            let mechanism = InflatedGeneralizedGaussian::with_scale(
                Order::new(*order)?,
                query,
                Scale::new(*scale)?,
            )?;
            let greatest = mechanism.guarantee().epsilon;
            apart(by_profile(Box::new(mechanism), greatest), NothingPair)
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            let inverse_scale = drawn(inverse_scale)?;
            let mechanism = RandomScaleLaplace::with_inverse_scale(
                inverse_scale,
                &Distance::new(*sensitivity)?.into(),
            )?;
            let greatest = mechanism.guarantee().epsilon;
            same(by_profile(Box::new(mechanism), greatest))
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            let mechanism = RandomScaleGaussianMechanism::new(
                sigmas.clone(),
                Distance::new(*sensitivity)?,
                Epsilon::new(0.0)?,
            )?;
            same(by_profile(Box::new(mechanism), f64::INFINITY))
        }
        Event::Exponential { epsilon } => {
            let mechanism = Exponential::calibrate(
                UtilityChange::EitherWay,
                &Distance::new(1.0)?.into(),
                Epsilon::positive(*epsilon)?,
            )?;
            // Two candidates of which either may be ahead by the sensitivity: losses of half of
            // epsilon either way.
            let attained = AtomsPair::randomized_response(0.5 * epsilon, 2);
            apart(by_profile(Box::new(mechanism), *epsilon), attained)
        }
        Event::PermuteAndFlip { epsilon } => {
            // Two candidates that change places by half the sensitivity: chosen with probability
            // e^(-e/2)/2 and 1 - e^(-e/2)/2.
            let half = Bounds::exact(0.5 * epsilon);
            let loss = (half.exp() * Bounds::exact(2.0) - Bounds::ONE).ln().lower();
            apart(
                AtomsPair::randomized_response(*epsilon, 2),
                AtomsPair::randomized_response(loss.max(0.0), 2),
            )
        }
        Event::PoissonSubsampled { rate, event } => {
            let base = sampled_base(event)?;
            let sample = |base: Arc<dyn Pair>| SubsampledPair::new(base, *rate, direction);
            if *rate < LEAST_RATE {
                apart(sample(base.dominating), NothingPair)
            } else if Arc::ptr_eq(&base.dominating, &base.attained) {
                same(sample(base.dominating))
            } else {
                apart(sample(base.dominating), sample(base.attained))
            }
        }
        Event::ZeroConcentrated { rho } => concentrated(Bounds::exact(*rho)),
        Event::RandomScaleLaplaceVector { .. } => {
            return Err(not_covered(
                event,
                "the loss distribution of several coordinates is not known",
            ));
        }
        // The composition has opened them.
        Event::Composition { .. } | Event::Repetition { .. } => {
            return Err(not_covered(event, "it is several releases"));
        }
    })
}

fn not_covered(event: &Event, reason: &'static str) -> AccountingError {
    AccountingError::NotCovered {
        accountant: "loss-distribution",
        mechanism: event.mechanism(),
        reason,
    }
}

/// What ran on one sample: a single release, or Gaussian noise several times, which is Gaussian
/// noise.
fn sampled_base(event: &Event) -> Result<Term, AccountingError> {
    let mut terms = terms(&Composition::new(std::slice::from_ref(event))?, Direction::Removed)?;
    match (terms.pop(), terms.is_empty()) {
        (Some(term), true) if term.times == 1 => Ok(term),
        _ => Err(AccountingError::NotCovered {
            accountant: "loss-distribution",
            mechanism: "poisson-subsampled",
            reason: "several releases on one sample are covered if all of them add Gaussian noise",
        }),
    }
}
