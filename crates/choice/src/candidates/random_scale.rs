//! Laplace noise of the best random scale.

use super::{Candidate, Outcome, failed, refuse};
use crate::error_law::Additive;
use crate::metric::Metric;
use crate::piecewise_loss::PiecewiseLoss;
use crate::random_scale::{BestInverseScale, ConditionalLoss, best_inverse_scale};
use crate::request::Request;
use reticent_mechanisms::{Distance, Epsilon, RandomScaleLaplace};
use reticent_noise::random_scale::{InverseScale, TwoPointScale};
use reticent_numerics::Bounds;

const NAME: &str = "random-scale-laplace";

/// The two-point distribution that is the best of all, or the statement that none beats Laplace noise (errata R3 and R8).
pub(super) fn random_scale_laplace(request: &Request) -> Outcome {
    let epsilon = request.budget.share().epsilon;
    if request.query.dimension() > 1 {
        return Err(refuse(
            NAME,
            "the best distribution of its scale is known for one number; for vectors each coordinate loses by itself (erratum R7)",
        ));
    }
    let loss = conditional_loss(request, epsilon)?;
    let best = best_inverse_scale(&loss, epsilon, request.query.l1());
    let Some((first, second, weight)) = best.two_point else {
        return Err(refuse(NAME, as_laplace(&best)));
    };
    let shape = TwoPointScale::new(first, second, weight).map_err(|error| refuse(NAME, error.to_string()))?;
    let (loss, distance) = (Epsilon::positive(epsilon), Distance::new(request.query.l1()));
    let mechanism = RandomScaleLaplace::calibrate(shape, loss.map_err(failed(NAME))?, distance.map_err(failed(NAME))?)
        .map_err(failed(NAME))?;
    let noise = reticent_noise::RandomScaleLaplace::new(mechanism.inverse_scale().clone());
    // 2 E[1/T^2]. The entropy takes an integral, and no metric that comes this far asks for it.
    let InverseScale::TwoPoint(drawn) = mechanism.inverse_scale() else {
        return Err(refuse(NAME, "its inverse scale has other than two values"));
    };
    let part = |t: f64| Bounds::exact(2.0) / Bounds::exact(t).square();
    let weight = Bounds::exact(drawn.weight());
    let mean_square = weight * part(drawn.first()) + (Bounds::ONE - weight) * part(drawn.second());
    let proof = if best.floor > 0.0 {
        "proved to be the best distribution of a random scale"
    } else {
        "the best distribution of a random scale that was found"
    };
    let why = format!("{proof}: wide noise now and then pays for narrow noise most of the time");
    Candidate::new(request, mechanism, Additive::with_moments(noise, 1.0, mean_square, Bounds::WHOLE_LINE), why)
}

fn as_laplace(best: &BestInverseScale) -> String {
    if best.floor > 0.0 {
        "equals laplace: it is proved that no distribution of the scale has a smaller error by this metric".into()
    } else {
        "equals laplace: no distribution of the scale with a smaller error was found".into()
    }
}

/// What the linear programme makes small. A quantile is the distance beyond which the least probability is what the quantile leaves.
fn conditional_loss(request: &Request, epsilon: f64) -> Result<ConditionalLoss, super::Refusal> {
    let integer = request.query.is_integer();
    let of = |loss: PiecewiseLoss| if integer { ConditionalLoss::Rounded(loss) } else { ConditionalLoss::Real(loss) };
    let beyond = |t: f64| ConditionalLoss::Exceedance(if integer { t.floor() + 0.5 } else { t });
    Ok(match &request.metric {
        Metric::MeanAbsolute | Metric::Maximum => of(PiecewiseLoss::absolute()),
        Metric::RootMeanSquare => of(PiecewiseLoss::square()),
        Metric::Loss(loss) => of(loss.clone()),
        Metric::Usefulness(t) => beyond(*t),
        Metric::Quantile(q) | Metric::MaximumQuantile(q) => {
            let (outside, distance) = (1.0 - q, request.query.l1());
            let least = |t: f64| best_inverse_scale(&beyond(t), epsilon, distance).cost.estimate();
            // Laplace's own quantile is an upper end.
            let (mut low, mut high) = (0.0, distance / epsilon * -outside.ln());
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if least(middle) <= outside {
                    high = middle
                } else {
                    low = middle
                }
                if high - low <= 1e-12 * high || integer && high - low < 0.25 {
                    break;
                }
            }
            beyond(high)
        }
        Metric::Entropy => {
            return Err(refuse(
                NAME,
                "the entropy is no expected loss, and the best distribution of the scale for it is not known",
            ));
        }
    })
}
