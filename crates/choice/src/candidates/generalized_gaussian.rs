//! Generalized Gaussian noise of the best order.

use super::pure::additive_law;
use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::requirements::Requirements;
use crate::search::least_by_golden_section;
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod, MechanismError,
    Order, Sensitivity,
};

const NAME: &str = "generalized-gaussian";

/// The order is searched for in its logarithm: up to 1 for a pure budget (erratum L1: an order
/// below 1 is pure, which the paper denies), up to 8 with a delta, where 1 and 2 are among the
/// first probes. The error is flat around its least: an order that is 3% off costs a ten thousandth
/// of it or so.
pub(super) fn generalized_gaussian(requirements: &Requirements) -> Outcome {
    if requirements.query.dimension() > 1 {
        return Err(refuse(
            NAME,
            "a choice of order is offered for one number; for vectors name the order yourself",
        ));
    }
    let share = requirements.budget.share();
    let distance = Distance::new(requirements.query.l1()).map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(share.epsilon).map_err(failed(NAME))?;
    let make = |order: f64| -> Result<GeneralizedGaussian, MechanismError> {
        let order = Order::new(order)?;
        match share.delta {
            Some(delta) => {
                let method = GeneralizedGaussianMethod::Exact;
                GeneralizedGaussian::calibrate(
                    order,
                    method,
                    &Sensitivity::from(&[distance][..]),
                    (epsilon, Delta::new(delta)?),
                )
            }
            None => GeneralizedGaussian::calibrate(
                order,
                GeneralizedGaussianMethod::Exact,
                &Sensitivity::from(&[distance][..]),
                epsilon,
            ),
        }
    };
    // The order is searched for by the error before rounding, which is quick to evaluate, and the
    // winner judged after it.
    let before_rounding = Requirements {
        query: requirements.query.clone().of_real_numbers(),
        ..requirements.clone()
    };
    let error = |log_order: f64| {
        let made = make(log_order.exp()).map_err(failed::<MechanismError>(NAME));
        made.and_then(|mechanism| candidate(&before_rounding, mechanism))
            .map_or(f64::INFINITY, |made| made.error.upper())
    };
    let (low, high, probes) =
        if share.delta.is_some() { (0.5f64, 8f64, 5) } else { (0.2f64, 1f64, 5) };
    let best = least_by_golden_section(error, low.ln(), high.ln(), probes, 0.06);
    let order = best.exp().clamp(low, high);
    candidate(requirements, make(order).map_err(failed(NAME))?)
}

fn candidate(
    requirements: &Requirements,
    mechanism: GeneralizedGaussian,
) -> Result<Candidate, Refusal> {
    let order = mechanism.order().get();
    let noise = reticent_noise::GeneralizedGaussian::new(order)
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let law = additive_law(noise, &mechanism)?;
    let why = match order {
        1.0 => "the best order is 1, which is Laplace noise".to_string(),
        _ => format!("order {order:.3} balances the middle against the tails best for this metric"),
    };
    Candidate::new(requirements, mechanism, law, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metric, Query, SharedBudget};
    use reticent_mechanisms::{Mechanism, Neighbours};

    #[test]
    fn the_best_order_beats_the_orders_around_it() {
        let query = Query::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let budget = SharedBudget::new(1.0, Some(1e-3), 1).expect("valid");
        let requirements = Requirements { query, budget, metric: Metric::RootMeanSquare };
        let best = generalized_gaussian(&requirements).expect("a candidate");
        let (one, epsilon) =
            (Distance::new(1.0).expect("valid"), Epsilon::new(1.0).expect("valid"));
        let delta = Delta::new(1e-3).expect("valid");
        for order in [1.0, 1.1, 1.3, 2.0, 4.0] {
            let order = Order::new(order).expect("valid");
            let other = GeneralizedGaussian::calibrate(
                order,
                GeneralizedGaussianMethod::Exact,
                &Sensitivity::from(&[one][..]),
                (epsilon, delta),
            );
            let error = other.expect("valid").errors().expect("additive").root_mean_square;
            assert!(
                best.error.upper() <= error.upper() * (1.0 + 1e-6),
                "{order:?}: {:?} {error:?}",
                best.error
            );
        }
    }

    #[test]
    fn sharp_noise_beats_laplace_for_a_large_pure_loss() {
        // E|X| = 6/eps^2 for order 1/2 against 1/eps (erratum L1 makes it possible at all).
        let query = Query::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let requirements = Requirements {
            query,
            budget: SharedBudget::new(12.0, None, 1).expect("valid"),
            metric: Metric::MeanAbsolute,
        };
        let best = generalized_gaussian(&requirements).expect("a candidate");
        assert!(best.error.upper() <= 6.0 / 144.0, "{:?}", best.error);
    }
}
