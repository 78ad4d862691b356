//! The noise that the figures of a query can have.

use crate::candidates::{self, Candidate, Refusal};
use crate::error::ChoiceError;
use crate::requirements::Requirements;
use std::fmt;
use std::str::FromStr;

/// Noise that can be named for the figures of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseName(&'static str);

impl NoiseName {
    /// Gaussian noise, which is calibrated for all numbers together and not by
    /// [`rank_for_release`].
    pub const GAUSSIAN: NoiseName = NoiseName("gaussian");
    pub(crate) const STAIRCASE: NoiseName = NoiseName("staircase");

    /// All of them, in the order in which they are listed to people.
    pub const ALL: [NoiseName; 14] = [
        NoiseName("discrete-laplace"),
        NoiseName::STAIRCASE,
        NoiseName("laplace"),
        NoiseName("generalized-gaussian"),
        NoiseName("random-scale-laplace"),
        NoiseName("random-scale-laplace combined"),
        NoiseName("random-scale-laplace gamma"),
        NoiseName("random-scale-laplace uniform"),
        NoiseName("random-scale-laplace truncated-gaussian"),
        NoiseName("truncated-laplace"),
        NoiseName("optimal"),
        NoiseName("discrete-gaussian"),
        NoiseName("random-scale-gaussian"),
        NoiseName::GAUSSIAN,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for NoiseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for NoiseName {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let known = NoiseName::ALL.map(NoiseName::as_str).join(", ");
        let unknown =
            || ChoiceError::Meaningless(format!("the mechanism is `{text}`: {known} are accepted"));
        NoiseName::ALL.into_iter().find(|name| name.0 == text).ok_or_else(unknown)
    }
}

/// Which noise is compared for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Considered {
    /// What takes milliseconds to calibrate, and by an expected loss is as good as all others:
    /// under a pure budget the staircase is the best of all noise (discrete Laplace noise is the
    /// staircase of sensitivity 1), and with a `delta` the programme's is the best of all that does
    /// not increase away from zero; where its table is long, truncated Laplace noise is next to it.
    Quick,
    /// All that can be drawn exactly on integers of any size and has a certified loss that adds up.
    Everything,
    /// One of them.
    Only(NoiseName),
}

/// Noise for one integer in each of many groups: what there is, the best first, and why others are
/// not among it.
#[derive(Debug)]
pub struct ReleaseRanking {
    /// The noise that keeps the budget, by its certain error. May be empty.
    pub candidates: Vec<Candidate>,
    /// What does not, with the reason.
    pub refusals: Vec<Refusal>,
}

/// Ranks the noise of one integer that one privacy unit moves, without a limit, for a query.
///
/// Under a pure budget the noise is that of pure mechanisms; with a `delta` it is that of those
/// that need one, so that both are asked for where a `delta` may be spent or saved.
pub fn rank_for_release(requirements: &Requirements, considered: Considered) -> ReleaseRanking {
    let (mut candidates, mut refusals) = (Vec::new(), Vec::new());
    for outcome in candidates::for_release(requirements, considered) {
        match outcome {
            Ok(candidate) => candidates.push(candidate),
            Err(refusal) => refusals.push(refusal),
        }
    }
    // Stable, so that of equals the one that was tried first leads.
    candidates.sort_by(|a, b| a.error.upper().total_cmp(&b.error.upper()));
    ReleaseRanking { candidates, refusals }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metric, Query, SharedBudget};
    use reticent_mechanisms::Neighbours;

    fn ranking(
        distance: f64,
        epsilon: f64,
        delta: Option<f64>,
        metric: Metric,
        considered: Considered,
    ) -> ReleaseRanking {
        let query = Query::scalar(distance, Neighbours::AddRemove)
            .and_then(Query::of_integers)
            .expect("valid");
        let budget = SharedBudget::new(epsilon, delta, 1).expect("valid");
        rank_for_release(&Requirements { query, budget, metric }, considered)
    }

    #[test]
    fn names_are_read_and_printed_alike_and_others_are_refused_with_the_list() {
        for name in NoiseName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for text in ["", "Laplace", "random-scale", "exponential"] {
            let refused = text.parse::<NoiseName>().expect_err(text).to_string();
            assert!(refused.contains("staircase, laplace"), "{refused}");
        }
    }

    /// Every name is some ranking's, and noise by name is that of the whole ranking.
    #[test]
    fn noise_by_name_is_the_noise_of_the_ranking() {
        let metric = || Metric::Usefulness(2.0);
        let of = |delta, considered| ranking(7.0, 4.0, delta, metric(), considered);
        for delta in [None, Some(1e-3)] {
            let all = of(delta, Considered::Everything);
            for name in NoiseName::ALL {
                let only = of(delta, Considered::Only(name));
                let found = all.candidates.iter().find(|known| known.name == name.as_str());
                let of = |known: &Candidate| (known.name, known.error);
                let only: Vec<_> = only.candidates.iter().map(of).collect();
                assert_eq!(only, Vec::from_iter(found.map(of)), "{name} with {delta:?}");
            }
        }
        let names = |delta| -> Vec<&str> {
            of(delta, Considered::Everything).candidates.iter().map(|known| known.name).collect()
        };
        let both = [names(None), names(Some(1e-3))].concat();
        for name in NoiseName::ALL.into_iter().filter(|&name| name != NoiseName::GAUSSIAN) {
            assert!(both.contains(&name.as_str()), "{name} among {both:?}");
        }
    }

    /// No noise of the whole list is better than the quick one, by an expected loss.
    #[test]
    fn what_is_quick_is_the_best() {
        for (distance, epsilon) in [(1.0, 0.5), (1.0, 4.0), (5.0, 1.0), (7.0, 4.0)] {
            for metric in [Metric::MeanAbsolute, Metric::RootMeanSquare, Metric::Usefulness(2.0)] {
                let error = |considered| {
                    let found = ranking(distance, epsilon, None, metric.clone(), considered);
                    found.candidates.first().map(|best| best.error.upper()).expect("some")
                };
                let (quick, all) = (error(Considered::Quick), error(Considered::Everything));
                assert!(
                    quick <= all * (1.0 + 1e-9),
                    "{distance} {epsilon} {metric}: {quick} {all}"
                );
            }
        }
    }

    #[test]
    fn a_staircase_of_sensitivity_one_is_named_though_not_listed() {
        let metric = || Metric::RootMeanSquare;
        let listed = ranking(1.0, 1.0, None, metric(), Considered::Everything);
        assert!(listed.candidates.iter().all(|known| known.name != "staircase"));
        let named = ranking(1.0, 1.0, None, metric(), Considered::Only(NoiseName::STAIRCASE));
        let laplace = listed.candidates.iter().find(|known| known.name == "discrete-laplace");
        let (error, same) = (named.candidates[0].error, laplace.expect("listed").error);
        assert!((error.estimate() / same.estimate() - 1.0).abs() < 1e-9, "{error:?} {same:?}");
    }
}
