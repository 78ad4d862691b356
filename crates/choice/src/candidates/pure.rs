//! Mechanisms without an exception to their promise.

use super::{Candidate, Outcome, failed, refuse};
use crate::entropy_limit::least_integer_entropy;
use crate::error_law::Additive;
use crate::integer_law::Discrete;
use crate::integer_limit::{least_integer_exceedance, least_integer_loss, least_integer_quantile, step};
use crate::metric::Metric;
use crate::piecewise_loss::PiecewiseLoss;
use crate::request::Request;
use crate::staircase_limit::{StaircaseLimit, least_entropy, least_exceedance, least_loss, least_quantile};
use reticent_mechanisms::{DiscreteLaplace, Epsilon, Laplace, Mechanism, Staircase};
use reticent_numerics::{Bounds, Enclosure};

pub(super) fn laplace(request: &Request) -> Outcome {
    const NAME: &str = "laplace";
    let sensitivity = request.query.sensitivity().map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(request.budget.share().epsilon).map_err(failed(NAME))?;
    let mechanism = Laplace::calibrate(&sensitivity, epsilon).map_err(failed(NAME))?;
    let law = additive_law(reticent_noise::Laplace, &mechanism)?;
    let why = match request.query.dimension() {
        1 => {
            "the usual noise for a pure promise; its tails and its middle follow one exponential, which no metric asks for"
        }
        _ => "a pure promise, whose scale grows with the l1 sensitivity of the whole vector",
    };
    Candidate::new(request, mechanism, law, why)
}

pub(super) fn discrete_laplace(request: &Request) -> Outcome {
    const NAME: &str = "discrete-laplace";
    if !request.query.is_integer() {
        return Err(refuse(NAME, "it adds integers to integers, and these answers are real numbers"));
    }
    let sensitivity = request.query.sensitivity().and_then(|known| Ok(known.whole_l1()?)).map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(request.budget.share().epsilon).map_err(failed(NAME))?;
    let mechanism = DiscreteLaplace::calibrate(sensitivity, epsilon).map_err(failed(NAME))?;
    let noise =
        reticent_noise::DiscreteLaplace::new(mechanism.scale()).map_err(|error| refuse(NAME, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let why = if sensitivity == 1 && request.query.dimension() == 1 {
        "integer noise, and for counts that move by one the best of all under a pure promise"
    } else {
        "integer noise that falls by a factor at each integer, finer than a pure promise needs for this sensitivity"
    };
    Candidate::new(request, mechanism, Discrete::new(noise, &errors), why)
}

pub(super) fn staircase(request: &Request) -> Outcome {
    const NAME: &str = "staircase";
    if request.query.dimension() > 1 {
        return Err(refuse(NAME, "it protects one number, and here one privacy unit can move several at once"));
    }
    let limit = pure_limit(request).ok_or_else(|| {
        refuse(NAME, "the best place of its steps is not known for integers that move by more than 20000")
    })?;
    let sensitivity = request.query.sensitivity().map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(request.budget.share().epsilon).map_err(failed(NAME))?;
    let mechanism = Staircase::with_gamma(&sensitivity, epsilon, limit.gamma).map_err(failed(NAME))?;
    let noise = reticent_noise::Staircase::new(epsilon.get(), mechanism.gamma())
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let law = Additive::new(noise, mechanism.scale(), &errors);
    let why = "steps as wide as the sensitivity, placed for this metric: under a pure promise no noise does better";
    // With its steps at half integers all of a cell has one density, and rounding keeps the entropy.
    Candidate::with_entropy(request, mechanism, law, errors.entropy, why)
}

/// The law of noise whose moments the mechanism knows.
pub(super) fn additive_law<N: crate::Excess + 'static>(
    noise: N,
    mechanism: &impl Mechanism,
) -> Result<Additive<N>, super::Refusal> {
    let errors = mechanism.errors().ok_or_else(|| refuse(mechanism.name(), "its error is not known"))?;
    Ok(Additive::new(noise, mechanism.scale(), &errors))
}

/// The least error under a pure promise of one release's share, and the steps that reach it; `None` for a vector, and where integers move by more than can be
/// tried.
pub(crate) fn pure_limit(request: &Request) -> Option<StaircaseLimit> {
    let (query, epsilon) = (&request.query, request.budget.share().epsilon);
    if query.dimension() > 1 {
        return None;
    }
    let distance = query.l1();
    let absolute = PiecewiseLoss::absolute();
    let square = PiecewiseLoss::square();
    let rooted = |limit: StaircaseLimit| StaircaseLimit { least: limit.least.sqrt(), ..limit };
    if query.is_integer() {
        let whole = (distance <= 20_000.0).then_some(distance as u32)?;
        return match &request.metric {
            Metric::MeanAbsolute | Metric::Maximum => least_integer_loss(epsilon, whole, &absolute),
            Metric::RootMeanSquare => least_integer_loss(epsilon, whole, &square).map(rooted),
            Metric::Loss(loss) => least_integer_loss(epsilon, whole, loss),
            Metric::Usefulness(t) => Some(least_integer_exceedance(epsilon, whole, *t)),
            Metric::Quantile(q) | Metric::MaximumQuantile(q) => {
                least_integer_quantile(epsilon, whole, Bounds::ONE - Bounds::exact(*q))
            }
            Metric::Entropy => Some(integer_entropy(epsilon, whole)),
        };
    }
    Some(match &request.metric {
        Metric::MeanAbsolute | Metric::Maximum => least_loss(epsilon, distance, &absolute),
        Metric::RootMeanSquare => rooted(least_loss(epsilon, distance, &square)),
        Metric::Loss(loss) => least_loss(epsilon, distance, loss),
        Metric::Usefulness(t) => least_exceedance(epsilon, distance, *t),
        Metric::Quantile(q) | Metric::MaximumQuantile(q) => {
            least_quantile(epsilon, distance, Bounds::ONE - Bounds::exact(*q))
        }
        Metric::Entropy => least_entropy(epsilon, distance),
    })
}

/// Integer noise spread over its cells is real noise of the same entropy, so that the limit of real noise holds, and so does that of integers, which for a sensitivity of 1 is
/// reached; the steps at half integers that come nearest to it bound it from above.
fn integer_entropy(epsilon: f64, sensitivity: u32) -> StaircaseLimit {
    let real = least_entropy(epsilon, f64::from(sensitivity));
    let nearest = (real.gamma * f64::from(sensitivity) + 0.5).floor().clamp(1.0, f64::from(sensitivity)) as u32;
    let entropy = |r: u32| {
        // ln(2 D S/(1 - b)) + epsilon (b/(1 - b) + b (1 - gamma)/S), S = gamma + b (1 - gamma).
        let (exponent, gamma) = (Bounds::exact(-epsilon), Bounds::exact(step(r, sensitivity)));
        let (b, rest) = (exponent.exp(), -exponent.exp_m1());
        let period = gamma + b * (Bounds::ONE - gamma);
        let level = b / rest + b * (Bounds::ONE - gamma) / period;
        (Bounds::exact(2.0 * f64::from(sensitivity)) * period / rest).ln() + Bounds::exact(epsilon) * level
    };
    let near = [nearest.saturating_sub(1).max(1), nearest, (nearest + 1).min(sensitivity)];
    let best = near.into_iter().min_by(|&a, &b| entropy(a).upper().total_cmp(&entropy(b).upper())).unwrap_or(nearest);
    let counted = least_integer_entropy(epsilon, 0.0, sensitivity).unwrap_or(0.0);
    let upper = entropy(best).upper().max(0.0);
    let least = Bounds::new(real.least.lower().max(counted).clamp(0.0, upper), upper);
    StaircaseLimit { gamma: step(best, sensitivity), least }
}
