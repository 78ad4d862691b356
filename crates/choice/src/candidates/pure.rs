//! Mechanisms that are purely private.

use super::{Candidate, Outcome, failed, refuse};
use crate::entropy_limit::least_integer_entropy;
use crate::error_law::Additive;
use crate::integer_law::Discrete;
use crate::integer_limit::{
    least_integer_exceedance, least_integer_loss, least_integer_quantile, step,
};
use crate::metric::Metric;
use crate::piecewise_loss::PiecewiseLoss;
use crate::requirements::Requirements;
use crate::staircase_limit::{
    StaircaseLimit, least_entropy, least_exceedance, least_loss, least_quantile,
};
use reticent_mechanisms::{DiscreteLaplace, Epsilon, Laplace, Mechanism, Sensitivity, Staircase};
use reticent_numerics::{Bounds, Enclosure};

const STAIRCASE: &str = "staircase";

/// Why a mechanism for one number does not serve a vector.
pub(super) const ONE_NUMBER: &str =
    "it protects one number, and here one privacy unit can move several at once";

pub(super) fn laplace(requirements: &Requirements) -> Outcome {
    const NAME: &str = "laplace";
    let sensitivity = requirements.query.sensitivity().map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(requirements.budget.share().epsilon).map_err(failed(NAME))?;
    let mechanism = Laplace::calibrate(&sensitivity, epsilon).map_err(failed(NAME))?;
    let law = additive_law(reticent_noise::Laplace, &mechanism)?;
    let why = match requirements.query.dimension() {
        1 => {
            "the usual noise under pure DP; its tails and its middle follow one exponential, which \
             no metric asks for"
        }
        _ => "pure DP, whose scale grows with the l1 sensitivity of the whole vector",
    };
    Candidate::new(requirements, mechanism, law, why)
}

pub(super) fn discrete_laplace(requirements: &Requirements) -> Outcome {
    const NAME: &str = "discrete-laplace";
    if !requirements.query.is_integer() {
        return Err(refuse(
            NAME,
            "it adds integers to integers, and these answers are real numbers",
        ));
    }
    let sensitivity = requirements
        .query
        .sensitivity()
        .and_then(|known| Ok(known.whole_l1()?))
        .map_err(failed(NAME))?;
    let epsilon = Epsilon::positive(requirements.budget.share().epsilon).map_err(failed(NAME))?;
    let mechanism = DiscreteLaplace::calibrate(&Sensitivity::whole(sensitivity), epsilon)
        .map_err(failed(NAME))?;
    let noise = reticent_noise::DiscreteLaplace::new(mechanism.scale())
        .map_err(|error| refuse(NAME, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let why = if sensitivity == 1 && requirements.query.dimension() == 1 {
        "integer noise, and for counts that move by one the best of all under pure DP"
    } else {
        "integer noise that falls by a factor at each integer, finer than pure DP needs for this \
         sensitivity"
    };
    Candidate::new(requirements, mechanism, Discrete::new(noise, &errors), why)
}

pub(super) fn staircase(requirements: &Requirements) -> Outcome {
    if requirements.query.dimension() > 1 {
        return Err(refuse(STAIRCASE, ONE_NUMBER));
    }
    let limit = pure_limit(requirements).ok_or_else(|| {
        refuse(
            STAIRCASE,
            "the best position of its steps is not known for integers that move by more than 20000",
        )
    })?;
    staircase_at(requirements, limit.gamma)
}

/// For an integer: steps at the half integers on both sides of the best real position, which is
/// quick to find. For a sensitivity of 1 there is one, and the noise is discrete Laplace noise.
pub(super) fn integer_staircase(requirements: &Requirements) -> Outcome {
    let distance = requirements.query.l1();
    if distance == 1.0 {
        return Err(refuse(STAIRCASE, "for a sensitivity of 1 it is discrete-laplace"));
    }
    let query = requirements.query.clone().of_real_numbers();
    let real = pure_limit(&Requirements { query, ..requirements.clone() })
        .ok_or_else(|| refuse(STAIRCASE, ONE_NUMBER))?;
    let below = (real.gamma * distance - 0.5).floor().clamp(0.0, distance - 2.0);
    let made = [below, below + 1.0].map(|n| staircase_at(requirements, (n + 0.5) / distance));
    let error =
        |made: &Outcome| made.as_ref().map_or(f64::INFINITY, |candidate| candidate.error.upper());
    let [first, second] = made;
    if error(&second) < error(&first) { second } else { first }
}

/// The same by name: for a sensitivity of 1, too.
pub(super) fn named_integer_staircase(requirements: &Requirements) -> Outcome {
    if requirements.query.l1() == 1.0 && requirements.query.dimension() == 1 {
        return staircase_at(requirements, 0.5);
    }
    integer_staircase(requirements)
}

fn staircase_at(requirements: &Requirements, gamma: f64) -> Outcome {
    let sensitivity = requirements.query.sensitivity().map_err(failed(STAIRCASE))?;
    let epsilon =
        Epsilon::positive(requirements.budget.share().epsilon).map_err(failed(STAIRCASE))?;
    let mechanism =
        Staircase::with_gamma(&sensitivity, epsilon, gamma).map_err(failed(STAIRCASE))?;
    let noise = reticent_noise::Staircase::new(epsilon.get(), mechanism.gamma())
        .map_err(|error| refuse(STAIRCASE, error.to_string()))?;
    let errors = mechanism.errors().ok_or_else(|| refuse(STAIRCASE, "its error is not known"))?;
    let law = Additive::new(noise, mechanism.scale(), &errors);
    let why = "steps as wide as the sensitivity, placed for this metric: under pure DP no noise \
        does better";
    // With its steps at half integers all of a cell has one density, and rounding keeps the
    // entropy.
    Candidate::with_entropy(requirements, mechanism, law, errors.entropy, why)
}

/// The law of noise whose moments the mechanism knows.
pub(super) fn additive_law<N: crate::Excess + 'static>(
    noise: N,
    mechanism: &impl Mechanism,
) -> Result<Additive<N>, super::Refusal> {
    let errors =
        mechanism.errors().ok_or_else(|| refuse(mechanism.name(), "its error is not known"))?;
    Ok(Additive::new(noise, mechanism.scale(), &errors))
}

/// The least error under a pure guarantee of one release's share, and the steps that reach it;
/// `None` for a vector, and where integers move by more than can be tried.
pub(crate) fn pure_limit(requirements: &Requirements) -> Option<StaircaseLimit> {
    let (query, epsilon) = (&requirements.query, requirements.budget.share().epsilon);
    if query.dimension() > 1 {
        return None;
    }
    let distance = query.l1();
    let absolute = PiecewiseLoss::absolute();
    let square = PiecewiseLoss::square();
    let rooted = |limit: StaircaseLimit| StaircaseLimit { least: limit.least.sqrt(), ..limit };
    if query.is_integer() {
        let whole = (distance <= 20_000.0).then_some(distance as u32)?;
        return match &requirements.metric {
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
    Some(match &requirements.metric {
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

/// Integer noise spread over its cells is real noise of the same entropy, so that the limit of real
/// noise holds, and so does that of integers, which for a sensitivity of 1 is reached; the steps at
/// half integers that come nearest to it bound it from above.
fn integer_entropy(epsilon: f64, sensitivity: u32) -> StaircaseLimit {
    let real = least_entropy(epsilon, f64::from(sensitivity));
    let nearest = (real.gamma * f64::from(sensitivity) + 0.5)
        .floor()
        .clamp(1.0, f64::from(sensitivity)) as u32;
    let entropy = |r: u32| {
        // ln(2 D S/(1 - b)) + epsilon (b/(1 - b) + b (1 - gamma)/S), S = gamma + b (1 - gamma).
        let (exponent, gamma) = (Bounds::exact(-epsilon), Bounds::exact(step(r, sensitivity)));
        let (b, rest) = (exponent.exp(), -exponent.exp_m1());
        let period = gamma + b * (Bounds::ONE - gamma);
        let level = b / rest + b * (Bounds::ONE - gamma) / period;
        (Bounds::exact(2.0 * f64::from(sensitivity)) * period / rest).ln()
            + Bounds::exact(epsilon) * level
    };
    let near = [nearest.saturating_sub(1).max(1), nearest, (nearest + 1).min(sensitivity)];
    let best = near
        .into_iter()
        .min_by(|&a, &b| entropy(a).upper().total_cmp(&entropy(b).upper()))
        .unwrap_or(nearest);
    let counted = least_integer_entropy(epsilon, 0.0, sensitivity).unwrap_or(0.0);
    let upper = entropy(best).upper().max(0.0);
    let least = Bounds::new(real.least.lower().max(counted).clamp(0.0, upper), upper);
    StaircaseLimit { gamma: step(best, sensitivity), least }
}
