//! Laplace noise of random scale, every family.
//!
//! Gaussian noise of random scale (`random_scale_gaussian`) is not ranked: its programme takes tens
//! of seconds, and noise of the linear programme (`optimal`) is within a percent of the limit.

use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::random_scale::{BestScale, EachCoordinate, Family, RandomScaleLaw, best_scale};
use crate::requirements::Requirements;
use reticent_mechanisms::{Epsilon, MOST_COORDINATES, RandomScaleLaplace, Sensitivity};

const LAPLACE: &str = "random-scale-laplace";

/// The best two points, which are the best of all distributions of the inverse scale, and the best
/// member of every other family (Algorithm 1); or the statement that none beats Laplace noise
/// (errata R3 and R8).
pub(super) fn random_scale_laplace(requirements: &Requirements) -> Vec<Outcome> {
    match Problem::of(requirements) {
        Ok(problem) => {
            Family::ALL.into_iter().map(|family| problem.candidate(requirements, family)).collect()
        }
        Err(refusal) => vec![Err(refusal)],
    }
}

struct Problem {
    sensitivity: Sensitivity,
    epsilon: Epsilon,
    each: EachCoordinate,
    best: BestScale,
}

impl Problem {
    fn of(requirements: &Requirements) -> Result<Self, Refusal> {
        if requirements.query.dimension() > MOST_COORDINATES {
            return Err(refuse(LAPLACE, "its loss is worked out for up to 1000 coordinates"));
        }
        let sensitivity = requirements.query.sensitivity().map_err(failed(LAPLACE))?;
        let epsilon =
            Epsilon::positive(requirements.budget.share().epsilon).map_err(failed(LAPLACE))?;
        let each = EachCoordinate::of(&sensitivity, epsilon).map_err(failed(LAPLACE))?;
        let integer = requirements.query.is_integer();
        let objective = each.objective(&requirements.metric, integer).map_err(failed(LAPLACE))?;
        let best = best_scale(&objective, each.epsilon, each.sensitivity, integer);
        if best.two_point.is_none() {
            return Err(refuse(LAPLACE, as_laplace(&best)));
        }
        Ok(Problem { sensitivity, epsilon, each, best })
    }

    fn candidate(&self, requirements: &Requirements, family: Family) -> Outcome {
        let name = name_of(family);
        let shape = self.each.shape(family, &self.best).map_err(failed(name))?;
        let mechanism = RandomScaleLaplace::calibrate(shape, &self.sensitivity, self.epsilon)
            .map_err(failed(name))?;
        let law = RandomScaleLaw::new(&mechanism);
        let made = Candidate::new(requirements, mechanism, law, self.why(family))?;
        Ok(Candidate { name, ..made })
    }

    fn why(&self, family: Family) -> String {
        match family {
            Family::TwoPoint => {
                let proof = if self.best.is_proved {
                    "proved to be the best distribution of a random scale"
                } else {
                    "the best distribution of a random scale that was found"
                };
                format!("{proof}: wide noise now and then pays for narrow noise most of the time")
            }
            Family::Combined => "Algorithm 1 of R2DP, the best sum of a gamma, a uniform and a \
                truncated Gaussian inverse scale that was found; two points do better"
                .into(),
            Family::Gamma | Family::Uniform | Family::TruncatedGaussian => format!(
                "the best {family} distribution of its inverse scale that was found; two points do \
                 better"
            ),
        }
    }
}

fn name_of(family: Family) -> &'static str {
    match family {
        Family::TwoPoint => LAPLACE,
        Family::Combined => "random-scale-laplace combined",
        Family::TruncatedGaussian => "random-scale-laplace truncated-gaussian",
        Family::Gamma => "random-scale-laplace gamma",
        Family::Uniform => "random-scale-laplace uniform",
    }
}

fn as_laplace(best: &BestScale) -> String {
    if best.is_laplace() {
        "equals laplace: it is proved that no distribution of the scale has a smaller error by \
         this metric"
            .into()
    } else {
        "equals laplace: no distribution of the scale with a smaller error was found".into()
    }
}
