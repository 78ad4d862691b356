//! Noise made for the request by a linear programme.

use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::clamped_law::ClampedLaw;
use crate::error_law::{ErrorLaw, Integrated};
use crate::integer_law::Discrete;
use crate::limit::{ScalarQuery, limit};
use crate::loss::{AbsoluteError, Beyond, Loss, SquaredError};
use crate::metric::Metric;
use crate::optimal::optimum;
use crate::request::Request;
use reticent_mechanisms::{Clamped, Delta, Distance, Epsilon, Mechanism, Tabulated};
use reticent_noise::Spread;
use reticent_numerics::rounding::sqrt_down;

const NAME: &str = "optimal";

/// The noise of the programme, and a proved lower bound of the error of all noise; the bound alone where the noise is too wide for a table.
pub(crate) fn optimal(request: &Request) -> (Outcome, Option<f64>) {
    let problem = match Problem::of(request) {
        Ok(problem) => problem,
        Err(refusal) => return (Err(refusal), None),
    };
    let Problem { query, epsilon, delta, loss } = problem;
    // The root of the least mean square is the least root mean square.
    let rooted = |least: f64| if request.metric == Metric::RootMeanSquare { sqrt_down(least.max(0.0)) } else { least };
    match optimum(query, epsilon, delta, &*loss) {
        Ok(best) => (candidate(request, best.mechanism), Some(rooted(best.limit))),
        Err(error) => {
            let alone = limit(query, epsilon, Some(delta), &*loss).ok();
            (Err(refuse(NAME, error.to_string())), alone.map(rooted))
        }
    }
}

/// What the linear programme is about.
struct Problem {
    query: ScalarQuery,
    epsilon: Epsilon,
    delta: Delta,
    loss: Box<dyn Loss>,
}

impl Problem {
    fn of(request: &Request) -> Result<Self, Refusal> {
        let delta = request.budget.delta().ok_or_else(|| {
            refuse(NAME, "under a pure budget the staircase is the best noise in closed form; no programme is needed")
        })?;
        if request.query.dimension() > 1 {
            return Err(refuse(NAME, "the linear programme is for one number"));
        }
        if request.budget.releases() > 1 {
            return Err(refuse(NAME, "the linear programme is for one release; how many compose best is not known"));
        }
        let loss: Box<dyn Loss> = match &request.metric {
            Metric::MeanAbsolute | Metric::Maximum => Box::new(AbsoluteError),
            Metric::RootMeanSquare => Box::new(SquaredError),
            Metric::Usefulness(t) => Box::new(Beyond { distance: *t }),
            Metric::Loss(loss) => Box::new(loss.clone()),
            Metric::Entropy | Metric::Quantile(_) | Metric::MaximumQuantile(_) => {
                return Err(refuse(
                    NAME,
                    format!("{} is no expected loss, which is what the programme makes small", request.metric),
                ));
            }
        };
        let query = if request.query.is_integer() {
            let sensitivity =
                request.query.sensitivity().and_then(|known| Ok(known.whole_l1()?)).map_err(failed(NAME))?;
            ScalarQuery::Integer { sensitivity }
        } else {
            ScalarQuery::Real { sensitivity: Distance::new(request.query.l1()).map_err(failed(NAME))? }
        };
        let (epsilon, delta) = (Epsilon::new(request.budget.epsilon()), Delta::new(delta));
        let (epsilon, delta) = (epsilon.map_err(failed(NAME))?, delta.map_err(failed(NAME))?);
        Ok(Problem { query, epsilon, delta, loss })
    }
}

fn candidate(request: &Request, mechanism: Tabulated) -> Outcome {
    let errors = mechanism.errors().ok_or_else(|| refuse(NAME, "its error is not known"))?;
    let table = mechanism.table().clone();
    let mut law: Box<dyn ErrorLaw> = if mechanism.is_integer() {
        Box::new(Discrete::new(table, &errors))
    } else {
        Box::new(Integrated::new(Spread(table), mechanism.spacing(), &errors))
    };
    let mut mechanism: Box<dyn Mechanism> = Box::new(mechanism);
    if let Some((lower, upper)) = request.query.bounds() {
        mechanism = Box::new(Clamped::new(mechanism, lower, upper).map_err(failed(NAME))?);
        law = Box::new(ClampedLaw::new(law, (upper - lower).next_up()));
    }
    let why = "made for this metric and budget by a linear programme, and certified cell by cell";
    Candidate::judged(request, NAME, mechanism, law, why.into())
}
