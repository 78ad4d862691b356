//! The ranking: every mechanism that meets given requirements, the best first, and how far the best
//! is from the best there can be.

use crate::candidates::{self, Candidate, Outcome, Refusal};
use crate::error::ChoiceError;
use crate::requirements::Requirements;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_numerics::Bounds;

/// The answer to given requirements.
#[derive(Debug)]
pub struct Ranking {
    /// Bounds on the least error that any noise added to one number can have; where there are none,
    /// `none` or `not known` and why. With several releases it is that of one with its share of a
    /// pure budget.
    pub limit: Result<Bounds, String>,
    /// The mechanisms that meet the requirements, the best first. There is at least one.
    pub candidates: Vec<Candidate>,
    /// Those that do not, with the reason.
    pub refusals: Vec<Refusal>,
    requirements: Requirements,
}

/// Ranks every mechanism for given requirements. `reached` is called with the name of each step as
/// it begins.
///
/// With a delta the limit, and the noise next to it, come from a linear programme, which takes up
/// to a few seconds.
///
/// # Example
/// ```
/// use reticent_choice::{SharedBudget, Metric, Query, Requirements, choose};
/// use reticent_mechanisms::Neighbours;
/// let requirements = Requirements {
///     query: Query::scalar(1.0, Neighbours::AddRemove)?,
///     budget: SharedBudget::new(4.0, None, 1)?,
///     metric: Metric::Usefulness(0.1),
/// };
/// let ranking = choose(&requirements, |_| ())?;
/// // P(|error| > 0.1) is 0.157, against 0.670 for Laplace noise, and nothing can be better.
/// assert_eq!(ranking.best().name, "staircase");
/// assert!(ranking.ratio_to_limit(ranking.best()).is_some_and(|ratio| ratio < 1.0 + 1e-9));
/// # Ok::<(), reticent_choice::ChoiceError>(())
/// ```
///
/// # Errors
/// If no mechanism meets the requirements; the message lists why.
pub fn choose(
    requirements: &Requirements,
    mut reached: impl FnMut(&'static str),
) -> Result<Ranking, ChoiceError> {
    let others = candidates::all(requirements, &mut reached);
    reached("optimal");
    let (optimal, proved) = candidates::optimal(requirements);
    let outcomes = [optimal].into_iter().chain(others).collect();
    ranked(requirements, outcomes, |best| match requirements.budget.delta() {
        None => candidates::pure_limit(requirements).map(|limit| limit.least).ok_or_else(|| {
            let reason = "not known: there is a proof for one number, and for integers that move \
                by at most 20000";
            reason.to_string()
        }),
        // What some noise reaches bounds the least from above; with bounds on the answer it may
        // reach below the limit of noise that does not know them.
        Some(_) => proved.map(|proved| Bounds::new(proved, best.upper().max(proved))),
    })
}

/// The candidates in order, with the limit, which the best error may help to find.
fn ranked(
    requirements: &Requirements,
    outcomes: Vec<Outcome>,
    limit: impl FnOnce(Bounds) -> Result<Bounds, String>,
) -> Result<Ranking, ChoiceError> {
    let (mut candidates, mut refusals) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(candidate) => candidates.push(candidate),
            Err(refusal) => refusals.push(refusal),
        }
    }
    // By what is certain; stable, so that of equals the one that was tried first leads.
    candidates.sort_by(|a, b| a.error.upper().total_cmp(&b.error.upper()));
    let Some(best) = candidates.first() else {
        let reasons =
            refusals.iter().map(|refusal| format!("{}: {}", refusal.mechanism, refusal.reason));
        return Err(ChoiceError::NothingFits(reasons.collect::<Vec<_>>().join("; ")));
    };
    let limit = limit(best.error);
    Ok(Ranking { limit, candidates, refusals, requirements: requirements.clone() })
}

impl Ranking {
    /// The best mechanism.
    pub fn best(&self) -> &Candidate {
        // The list is not empty: `choose` makes no other.
        &self.candidates[0]
    }

    /// How many times the limit the error of a candidate is, at most: against the lower end of the
    /// limit.
    pub fn ratio_to_limit(&self, candidate: &Candidate) -> Option<f64> {
        let limit = self.limit.as_ref().ok()?;
        let ratio = self
            .requirements
            .metric
            .ratio(Bounds::exact(candidate.error.upper()), Bounds::exact(limit.lower()))
            .upper();
        ratio.is_finite().then_some(ratio)
    }

    /// What all releases of a candidate keep together.
    ///
    /// Gaussian noise was calibrated for all of them; others for their share, and the shares add up
    /// to no more than the budget.
    pub fn guarantee(&self, candidate: &Candidate) -> Guarantee {
        let each = candidate.mechanism.released_guarantee();
        let budget = &self.requirements.budget;
        match (each.notion, budget.releases()) {
            (_, 1) => each,
            (Notion::Pure, _) => Guarantee { epsilon: budget.epsilon(), ..each },
            (_, _) => Guarantee {
                epsilon: budget.epsilon(),
                delta: budget.delta().unwrap_or(0.0),
                ..each
            },
        }
    }

    /// What was asked.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Why the best is the best, in a sentence.
    pub fn explanation(&self) -> String {
        let best = self.best();
        let lead = format!("{}: {}", best.name, best.why);
        let distance = match self.ratio_to_limit(best) {
            Some(ratio) if ratio < 1.0 - 1e-9 => {
                "; noise that makes no use of the bounds cannot do as well".to_string()
            }
            Some(ratio) if ratio <= 1.0 + 1e-9 => {
                "; no noise that is added to the answer can do better".to_string()
            }
            Some(ratio) => {
                format!(
                    "; it is within {:.4}% of the least error of any added noise",
                    100.0 * (ratio - 1.0)
                )
            }
            None => String::new(),
        };
        format!("{lead}{distance}.")
    }
}
