//! The ranking: every mechanism that serves a request, the best first, and how far the best is from the best there can be.

use crate::candidates::{self, Candidate, Refusal};
use crate::error::ChoiceError;
use crate::request::Request;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_numerics::Bounds;

/// The answer to a request.
#[derive(Debug)]
pub struct Ranking {
    /// Bounds on the least error that any noise added to one number can have, where it is known. With several releases it is that of one with its share of a pure
    /// budget.
    pub limit: Option<Bounds>,
    /// Where there is no limit, `none` or `not known` and why.
    pub no_limit: Option<String>,
    /// The mechanisms that serve the request, the best first. There is at least one.
    pub candidates: Vec<Candidate>,
    /// Those that do not, with the reason.
    pub refusals: Vec<Refusal>,
    request: Request,
}

/// Ranks every mechanism for a request. `reached` is called with the name of each step as it begins.
///
/// With a delta the limit, and the noise next to it, come from a linear programme, which takes up to a few seconds.
///
/// # Example
/// ```
/// use reticent_choice::{Budget, Metric, Query, Request, choose};
/// use reticent_mechanisms::Neighbours;
/// let request = Request {
///     query: Query::scalar(1.0, Neighbours::AddRemove)?,
///     budget: Budget::new(4.0, None, 1)?,
///     metric: Metric::Usefulness(0.1),
/// };
/// let ranking = choose(&request, |_| ())?;
/// // P(|error| > 0.1) is 0.157, against 0.670 for Laplace noise, and nothing can be better.
/// assert_eq!(ranking.best().name, "staircase");
/// assert!(ranking.ratio_to_limit(ranking.best()).is_some_and(|ratio| ratio < 1.0 + 1e-9));
/// # Ok::<(), reticent_choice::ChoiceError>(())
/// ```
///
/// # Errors
/// If no mechanism serves the request; the message lists why.
pub fn choose(request: &Request, reached: impl FnMut(&'static str)) -> Result<Ranking, ChoiceError> {
    ranked(request, true, reached)
}

/// The same without the linear programme, in a fraction of a second: under a pure budget nothing is missing, with a delta there is no limit.
///
/// # Errors
/// As for [`choose`].
pub fn choose_without_programme(request: &Request) -> Result<Ranking, ChoiceError> {
    ranked(request, false, |_| ())
}

fn ranked(
    request: &Request,
    with_programme: bool,
    mut reached: impl FnMut(&'static str),
) -> Result<Ranking, ChoiceError> {
    let mut serving = Vec::new();
    let mut refusals = Vec::new();
    let mut proved = Err("not known: with a delta it takes the linear programme, which was not asked for".to_string());
    let outcomes = candidates::all(request, &mut reached);
    if with_programme {
        reached("optimal");
        let (made, limit) = candidates::optimal(request);
        proved = limit;
        match made {
            Ok(candidate) => serving.push(candidate),
            Err(refusal) => refusals.push(refusal),
        }
    }
    for outcome in outcomes {
        match outcome {
            Ok(candidate) => serving.push(candidate),
            Err(refusal) => refusals.push(refusal),
        }
    }
    // By what is certain; stable, so that of equals the one that was tried first leads.
    serving.sort_by(|a, b| a.error.upper().total_cmp(&b.error.upper()));
    let Some(best) = serving.first() else {
        let reasons = refusals.iter().map(|refusal| format!("{}: {}", refusal.mechanism, refusal.reason));
        return Err(ChoiceError::NothingFits(reasons.collect::<Vec<_>>().join("; ")));
    };
    let limit = match request.budget.delta() {
        None => candidates::pure_limit(request).map(|limit| limit.least).ok_or_else(|| {
            let reason = "not known: there is a proof for one number, and for integers that move by at most 20000";
            reason.to_string()
        }),
        // What some noise reaches bounds the least from above; with bounds on the answer it may reach below the limit of noise that does not know them.
        Some(_) => proved.map(|proved| Bounds::new(proved, best.error.upper().max(proved))),
    };
    let (limit, no_limit) = match limit {
        Ok(limit) => (Some(limit), None),
        Err(reason) => (None, Some(reason)),
    };
    Ok(Ranking { limit, no_limit, candidates: serving, refusals, request: request.clone() })
}

impl Ranking {
    /// The best mechanism.
    pub fn best(&self) -> &Candidate {
        // The list is not empty: `choose` makes no other.
        &self.candidates[0]
    }

    /// How many times the limit the error of a candidate is, at most: against the lower end of the limit.
    pub fn ratio_to_limit(&self, candidate: &Candidate) -> Option<f64> {
        let limit = self.limit?;
        let ratio =
            self.request.metric.ratio(Bounds::exact(candidate.error.upper()), Bounds::exact(limit.lower())).upper();
        ratio.is_finite().then_some(ratio)
    }

    /// What all releases of a candidate keep together.
    ///
    /// Gaussian noise was calibrated for all of them; others for their share, and the shares add up to no more than the budget.
    pub fn guarantee(&self, candidate: &Candidate) -> Guarantee {
        let each = candidate.mechanism.released_guarantee();
        let budget = &self.request.budget;
        match (each.notion, budget.releases()) {
            (_, 1) => each,
            (Notion::Pure, _) => Guarantee { epsilon: budget.epsilon(), ..each },
            (_, _) => Guarantee { epsilon: budget.epsilon(), delta: budget.delta().unwrap_or(0.0), ..each },
        }
    }

    /// What was asked.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Why the best is the best, in a sentence.
    pub fn explanation(&self) -> String {
        let best = self.best();
        let lead = format!("{}: {}", best.name, best.why);
        let distance = match self.ratio_to_limit(best) {
            Some(ratio) if ratio < 1.0 - 1e-9 => {
                "; noise that makes no use of the bounds cannot do as well".to_string()
            }
            Some(ratio) if ratio <= 1.0 + 1e-9 => "; no noise that is added to the answer can do better".to_string(),
            Some(ratio) => {
                format!("; it is within {:.4}% of the least error of any added noise", 100.0 * (ratio - 1.0))
            }
            None => String::new(),
        };
        format!("{lead}{distance}.")
    }
}
