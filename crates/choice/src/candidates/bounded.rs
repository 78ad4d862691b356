//! Mechanisms for an answer with public bounds.

use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::error_law::WorstAnswer;
use crate::metric::Metric;
use crate::requirements::Requirements;
use reticent_mechanisms::{
    BoundedQuery, Distance, Epsilon, InflatedGeneralizedGaussian, Mechanism, MechanismError, Order,
    TruncatedGeneralizedGaussian, TruncatedMethod,
};

/// The orders that are tried. Those that are no integers take seconds to certify near 1, and the
/// error is flat between neighbours.
const ORDERS: [f64; 7] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];

/// Noise that never leaves the bounds, of the best order.
pub(super) fn truncated(requirements: &Requirements) -> Outcome {
    best_order(
        requirements,
        "truncated-generalized-gaussian",
        "drawn again until it is inside",
        |order, query, epsilon| {
            TruncatedGeneralizedGaussian::calibrate(
                order,
                TruncatedMethod::Exact,
                query.bounds(),
                &query.into(),
                epsilon,
            )
        },
    )
}

/// Noise whose excess is released as the bound, of the best order.
pub(super) fn inflated(requirements: &Requirements) -> Outcome {
    best_order(
        requirements,
        "inflated-generalized-gaussian",
        "moved onto the bounds",
        |order, query, epsilon| {
            InflatedGeneralizedGaussian::calibrate(order, query.bounds(), &query.into(), epsilon)
        },
    )
}

fn best_order<M: Mechanism + Clone + 'static>(
    requirements: &Requirements,
    name: &'static str,
    way: &str,
    calibrate: impl Fn(Order, BoundedQuery, Epsilon) -> Result<M, MechanismError>,
) -> Outcome {
    let Some((lower, upper)) = requirements.query.bounds() else {
        return Err(refuse(name, "it needs public bounds of the answer, and none were given"));
    };
    if requirements.query.is_integer() {
        return Err(refuse(
            name,
            "its releases are real numbers, and rounding them would leave the bounds' own steps",
        ));
    }
    if matches!(requirements.metric, Metric::Entropy) {
        return Err(refuse(name, "its noise depends on the answer, and so has no one entropy"));
    }
    let distance = Distance::new(requirements.query.l1()).map_err(failed(name))?;
    let query = BoundedQuery::new(lower, upper, distance).map_err(failed(name))?;
    let epsilon = Epsilon::positive(requirements.budget.share().epsilon).map_err(failed(name))?;
    let make = |order: f64| -> Result<Candidate, Refusal> {
        let order = Order::new(order).map_err(failed(name))?;
        let mechanism = calibrate(order, query, epsilon).map_err(failed(name))?;
        let law = WorstAnswer::new(mechanism.clone(), upper - lower)
            .ok_or_else(|| refuse(name, "its error is not known"))?;
        let why = format!(
            "uses that the answer is bounded: noise of order {}, {way}; the error is that of the \
             worst answer",
            order.get()
        );
        Candidate::judged(requirements, name, Box::new(mechanism), Box::new(law), why)
    };
    // Of all failures the last is as good as any.
    let mut best: Outcome = Err(refuse(name, "no order could be calibrated"));
    for made in ORDERS.map(make) {
        best = match (best, made) {
            (Ok(known), Ok(new)) if new.error.upper() < known.error.upper() => Ok(new),
            (Ok(known), _) => Ok(known),
            (Err(_), made) => made,
        };
    }
    best
}
