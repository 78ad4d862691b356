//! Noise made for the requirements by a linear programme.

use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::clamped_law::ClampedLaw;
use crate::entropy_limit::least_integer_entropy;
use crate::error_law::{ErrorLaw, Integrated};
use crate::integer_law::Discrete;
use crate::limit::{LimitError, ScalarQuery, limit, quantile_limit};
use crate::loss::{AbsoluteError, Beyond, Loss, SquaredError};
use crate::metric::Metric;
use crate::optimal::{Optimum, optimum, small_optimum};
use crate::requirements::Requirements;
use reticent_mechanisms::{Clamped, Delta, Distance, Epsilon, Mechanism, Tabulated};
use reticent_noise::Jittered;
use reticent_numerics::Bounds;
use reticent_numerics::rounding::sqrt_down;

const NAME: &str = "optimal";

/// The noise of the programme, and a proved lower bound of the error of all noise or why there is
/// none; the bound alone where the noise is too wide for a table.
pub(crate) fn optimal(requirements: &Requirements) -> (Outcome, Result<f64, String>) {
    let problem = match Problem::of(requirements) {
        Ok(problem) => problem,
        Err(refusal) => {
            let limit = match (&requirements.metric, requirements.budget.delta()) {
                (Metric::Entropy, Some(delta)) => entropy_limit(requirements, delta),
                _ => Err(not_known(&refusal.reason)),
            };
            return (Err(refusal), limit);
        }
    };
    let alone = |loss: &dyn Loss| {
        limit(problem.query, problem.epsilon, Some(problem.delta), loss)
            .map_err(|error| not_known(&error.to_string()))
    };
    match &problem.aim {
        Aim::Least(loss) => {
            // The root of the least mean square is the least root mean square.
            let rooted = |least: f64| match requirements.metric {
                Metric::RootMeanSquare => sqrt_down(least.max(0.0)),
                _ => least,
            };
            match problem.noise(&**loss) {
                Ok(best) => (candidate(requirements, best.mechanism), Ok(rooted(best.limit))),
                Err(error) => (Err(refuse(NAME, error.to_string())), alone(&**loss).map(rooted)),
            }
        }
        Aim::Quantile(outside) => {
            let least =
                match quantile_limit(problem.query, problem.epsilon, problem.delta, *outside) {
                    Ok(least) => least,
                    Err(error) => {
                        return (
                            Err(refuse(NAME, error.to_string())),
                            Err(not_known(&error.to_string())),
                        );
                    }
                };
            // The noise that exceeds the limit least often has its quantile next to it.
            let noise = problem.noise(&Beyond { distance: least });
            let made = noise.map_err(|error| refuse(NAME, error.to_string()));
            (made.and_then(|best| candidate(requirements, best.mechanism)), Ok(least))
        }
    }
}

/// The most entries on one side of a table that is made while a query is planned: a few
/// milliseconds' work.
const LONGEST_SMALL_TABLE: usize = 250;

/// The noise of the programme for an integer, without the limit, if its table is short.
pub(super) fn small(requirements: &Requirements) -> Outcome {
    let problem = Problem::of(requirements)?;
    let made = match &problem.aim {
        Aim::Least(loss) => small_optimum(
            problem.query,
            problem.epsilon,
            problem.delta,
            &**loss,
            LONGEST_SMALL_TABLE,
        ),
        Aim::Quantile(_) => return Err(refuse(NAME, "a quantile takes many programmes")),
    };
    candidate(requirements, made.map_err(|error| refuse(NAME, error.to_string()))?)
}

fn not_known(reason: &str) -> String {
    format!("not known: {reason}")
}

/// The least entropy, which no programme knows (`entropy_limit.rs`).
fn entropy_limit(requirements: &Requirements, delta: f64) -> Result<f64, String> {
    if !requirements.query.is_integer() {
        return Err(
            "none: with a delta, noise may have a spike of that probability, as narrow as \
            one likes, and its \
                    differential entropy is below every number"
                .into(),
        );
    }
    if requirements.query.dimension() > 1 || requirements.budget.releases() > 1 {
        return Err(not_known("the bound is for one number and one release"));
    }
    let unknown = || not_known("noise of this budget has too many values to go through");
    let sensitivity = if requirements.query.l1() <= 1e9 {
        requirements.query.l1() as u32
    } else {
        return Err(unknown());
    };
    least_integer_entropy(requirements.budget.epsilon(), delta, sensitivity).ok_or_else(unknown)
}

/// What the linear programme is about.
struct Problem {
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Delta,
    aim: Aim,
}

/// What it is to make small.
enum Aim {
    /// An expected loss.
    Least(Box<dyn Loss>),
    /// The distance that is exceeded with no more than this probability.
    Quantile(Bounds),
}

impl Problem {
    fn of(requirements: &Requirements) -> Result<Self, Refusal> {
        let delta = requirements.budget.delta().ok_or_else(|| {
            refuse(
                NAME,
                "under a pure budget the staircase is the best noise in closed form; no \
                programme is needed",
            )
        })?;
        if requirements.query.dimension() > 1 {
            return Err(refuse(NAME, "the linear programme is for one number"));
        }
        if requirements.budget.releases() > 1 {
            return Err(refuse(
                NAME,
                "the linear programme is for one release; how many compose best is not known",
            ));
        }
        let aim = match &requirements.metric {
            Metric::MeanAbsolute | Metric::Maximum => Aim::Least(Box::new(AbsoluteError)),
            Metric::RootMeanSquare => Aim::Least(Box::new(SquaredError)),
            Metric::Usefulness(t) => Aim::Least(Box::new(Beyond { distance: *t })),
            Metric::Loss(loss) => Aim::Least(Box::new(loss.clone())),
            Metric::Quantile(q) | Metric::MaximumQuantile(q) => {
                Aim::Quantile(Bounds::ONE - Bounds::exact(*q))
            }
            Metric::Entropy => {
                return Err(refuse(
                    NAME,
                    "the entropy is no expected loss and no quantile, which are what the programme \
                     makes small",
                ));
            }
        };
        let query = if requirements.query.is_integer() {
            let sensitivity = requirements
                .query
                .sensitivity()
                .and_then(|known| Ok(known.whole_l1()?))
                .map_err(failed(NAME))?;
            ScalarQuery::Integer { sensitivity }
        } else {
            ScalarQuery::Real {
                sensitivity: Distance::new(requirements.query.l1()).map_err(failed(NAME))?,
            }
        };
        let (epsilon, delta) = (Epsilon::new(requirements.budget.epsilon()), Delta::new(delta));
        let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
        Ok(Problem { query, epsilon, delta, aim })
    }

    fn noise(&self, loss: &dyn Loss) -> Result<Optimum, LimitError> {
        optimum(self.query, self.epsilon, self.delta, loss)
    }
}

fn candidate(requirements: &Requirements, mechanism: Tabulated) -> Outcome {
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let table = mechanism.table().clone();
    let mut law: Box<dyn ErrorLaw> = if mechanism.is_integer() {
        Box::new(Discrete::new(table, &errors))
    } else {
        Box::new(Integrated::new(Jittered(table), mechanism.spacing(), &errors))
    };
    let mut mechanism: Box<dyn Mechanism> = Box::new(mechanism);
    if let Some((lower, upper)) = requirements.query.bounds() {
        mechanism = Box::new(Clamped::new(mechanism, lower, upper).map_err(failed(NAME))?);
        law = Box::new(ClampedLaw::new(law, (upper - lower).next_up()));
    }
    let why = "made for this metric and budget by a linear programme, and certified cell by cell";
    Candidate::judged(requirements, NAME, mechanism, law, why.into())
}
