//! Laplace noise of random scale, every family, and Gaussian noise of two random scales.
//!
//! Of Gaussian noise the two best standard deviations that a search finds are ranked. The programme
//! over all distributions of them, which `calibrate random-scale-gaussian` runs, takes tens of
//! seconds; noise of the linear programme (`optimal`) is within a percent of the limit.

use super::approximate::NEEDS_DELTA;
use super::pure::ONE_NUMBER;
use super::{Candidate, Outcome, Refusal, failed, refuse};
use crate::error::ChoiceError;
use crate::metric::Metric;
use crate::random_scale::{BestScale, EachCoordinate, Family, RandomScaleLaw, best_scale};
use crate::random_scale_gaussian::{law_of, quick_two_points};
use crate::requirements::Requirements;
use reticent_mechanisms::{
    Delta, Distance, Epsilon, MOST_COORDINATES, RandomScaleGaussianMechanism, RandomScaleLaplace,
    Sensitivity,
};

/// Case II of R2DP: the best two standard deviations that were found.
pub(super) fn random_scale_gaussian(requirements: &Requirements) -> Outcome {
    const NAME: &str = "random-scale-gaussian";
    if requirements.query.dimension() > 1 {
        return Err(refuse(NAME, ONE_NUMBER));
    }
    let share = requirements.budget.share();
    let delta = share.delta.ok_or_else(|| refuse(NAME, NEEDS_DELTA))?;
    let made = || -> Result<RandomScaleGaussianMechanism, ChoiceError> {
        let budget = (Epsilon::positive(share.epsilon)?, Delta::new(delta)?);
        // An integer is off by more than t if the noise is beyond the next half.
        let metric = match requirements.metric {
            Metric::Usefulness(t) if requirements.query.is_integer() => {
                Metric::Usefulness(t.floor() + 0.5)
            }
            ref other => other.clone(),
        };
        let distance = Distance::new(requirements.query.l1())?;
        let shape = quick_two_points(&metric, distance, budget)?;
        let sensitivity = requirements.query.sensitivity()?;
        Ok(RandomScaleGaussianMechanism::calibrate(shape, &sensitivity, budget)?)
    };
    let mechanism = made().map_err(failed(NAME))?;
    let law = law_of(&mechanism).map_err(failed(NAME))?;
    let why = "the best two standard deviations that were found: narrow noise most of the time, \
        and wide noise for the tails";
    Candidate::new(requirements, mechanism, law, why)
}

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

/// The best member of one family.
pub(super) fn one_family(requirements: &Requirements, family: Family) -> Outcome {
    Problem::of(requirements)?.candidate(requirements, family)
}

/// The family that a candidate is named for.
pub(super) fn family_of(name: &str) -> Option<Family> {
    Family::ALL.into_iter().find(|&family| name_of(family) == name)
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
