//! MWEM: multiplicative weights with queries chosen by the exponential mechanism.

use super::hypothesis::Hypothesis;
use super::loss::loss_of_share;
use super::{check_counting, exact_count};
use crate::{Contribution, ExactHistogram, LinearQuery, WorkloadError};
use reticent_accounting::{Filter, FilterBudget};
use reticent_events::Event;
use reticent_mechanisms::{
    DiscreteLaplace, Distance, Exponential, Mechanism, PermuteAndFlip, Sensitivity, UtilityChange,
};
use reticent_noise::IntegerNoise;
use reticent_noise::randomness::{Provenance, RandomBits};
use reticent_numerics::require;

/// How a round chooses the query that the hypothesis answers worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The exponential mechanism: a quarter of the cost in zCDP.
    Exponential,
    /// Permute-and-flip: never worse at the same pure loss.
    PermuteAndFlip,
}

/// A hypothesis for a list of counting queries, corrected in rounds.
///
/// # Algorithm
/// The total is measured. In each round the query with the largest distance `|q(x) - a|` of its
/// count from the hypothesis' answer, rounded to an integer, is chosen privately and measured with
/// discrete Laplace noise; then the weights are corrected with all measurements so far, over and
/// over.
///
/// # Guarantee
/// A unit of `R` rows moves every distance, in either direction, and every measurement by at most
/// `R`. Choice and noise are exact. Charged as [`MwemPlan::event`], all of it before the first
/// round.
///
/// # Error
/// None is stated for single answers: what a query that was never measured is off by depends on the
/// data.
///
/// # References
/// Hardt, Ligett, McSherry, *A simple and practical algorithm for differentially private data
/// release*, 2012; McKenna and Sheldon 2020 for permute-and-flip in its place.
#[derive(Clone, Debug)]
pub struct MwemPlan {
    queries: Vec<LinearQuery>,
    cells: usize,
    rounds: u32,
    total_noise: DiscreteLaplace,
    choice: Choice,
    noise: DiscreteLaplace,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    Exponential(Exponential),
    PermuteAndFlip(PermuteAndFlip),
}

/// What MWEM released.
#[derive(Clone, Debug, PartialEq)]
pub struct Mwem {
    /// A histogram of the released total; no count is negative.
    pub histogram: Vec<f64>,
    /// The released total.
    pub total: f64,
    /// The measured queries, by their index, with their noisy counts, in the order of the rounds.
    pub measurements: Vec<(usize, f64)>,
    /// Where the random bits came from.
    pub provenance: Provenance,
}

/// The share of the budget for the total.
const OF_TOTAL: f64 = 0.05;

/// How often all measurements are used again after each round (the paper: 100, without effect on
/// privacy; more than 30 made no difference on the tests' data).
const PASSES: usize = 30;

impl MwemPlan {
    /// A plan of some rounds within a budget, pure or in zCDP; half of each round's share is for
    /// the choice.
    ///
    /// # Errors
    /// If there are no queries, rounds or cells, a query is no counting query of the cells, or the
    /// budget is of another currency or too small.
    pub fn new(
        cells: usize,
        queries: Vec<LinearQuery>,
        rounds: u32,
        selection: Selection,
        budget: FilterBudget,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        require(cells >= 1, "cells", cells as f64, "at least 1")?;
        require((1..=100_000).contains(&rounds), "rounds", f64::from(rounds), "from 1 to 100000")?;
        if queries.is_empty() {
            return Err(WorkloadError::Workload("it is empty: ask at least one query".into()));
        }
        queries.iter().try_for_each(|query| check_counting(query, cells))?;
        let half = (1.0 - OF_TOTAL) / f64::from(rounds) / 2.0;
        let distance = Sensitivity::whole(u64::from(contribution.rows()));
        let utility: Sensitivity = Distance::new(f64::from(contribution.rows()))?.into();
        let either = UtilityChange::EitherWay;
        let choice = match selection {
            Selection::Exponential => {
                let epsilon = loss_of_share(budget, half, 8.0)?;
                Choice::Exponential(Exponential::calibrate(either, &utility, epsilon)?)
            }
            Selection::PermuteAndFlip => {
                let epsilon = loss_of_share(budget, half, 2.0)?;
                Choice::PermuteAndFlip(PermuteAndFlip::calibrate(either, &utility, epsilon)?)
            }
        };
        let noise = DiscreteLaplace::calibrate(&distance, loss_of_share(budget, half, 2.0)?)?;
        let total_noise =
            DiscreteLaplace::calibrate(&distance, loss_of_share(budget, OF_TOTAL, 2.0)?)?;
        let plan = MwemPlan { queries, cells, rounds, total_noise, choice, noise };
        let within =
            Filter::new(budget).is_ok_and(|mut filter| filter.admit(&plan.event()).is_ok());
        if within {
            Ok(plan)
        } else {
            Err(WorkloadError::NotCertified {
                what: "the cost of MWEM",
                reason: "it is above the budget",
            })
        }
    }

    /// How many queries are measured.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The scales of the noise on the total, and on each query.
    pub fn scales(&self) -> (f64, f64) {
        (self.total_noise.scale(), self.noise.scale())
    }

    /// What is charged for a run.
    pub fn event(&self) -> Event {
        let choice = match self.choice {
            Choice::Exponential(mechanism) => mechanism.event(),
            Choice::PermuteAndFlip(mechanism) => mechanism.event(),
        };
        let times = u64::from(self.rounds);
        let round = Event::Composition { events: vec![choice, self.noise.event()] };
        let rounds = Event::Repetition { times, event: Box::new(round) };
        Event::Composition { events: vec![self.total_noise.event(), rounds] }
    }

    /// Runs all rounds.
    ///
    /// # Errors
    /// If the histogram has other cells, or random bits cannot be had.
    pub fn run<R: RandomBits + ?Sized>(
        &self,
        histogram: &ExactHistogram,
        random: &mut R,
    ) -> Result<Mwem, WorkloadError> {
        let counts = histogram.counts();
        if counts.len() != self.cells {
            return Err(WorkloadError::Counts("they are not one for each cell of the plan"));
        }
        let exact: Vec<i128> =
            self.queries.iter().map(|query| exact_count(query, counts)).collect();
        let of_total = reticent_noise::DiscreteLaplace::new(self.total_noise.scale())?.sampler()?;
        let noise = reticent_noise::DiscreteLaplace::new(self.noise.scale())?.sampler()?;
        let rows: i128 = counts.iter().map(|&count| i128::from(count)).sum();
        let total = rows.saturating_add(of_total.draw(random)?).max(1) as f64;
        let mut hypothesis = Hypothesis::uniform(self.cells);
        let mut measurements: Vec<(usize, f64)> = Vec::new();
        for _ in 0..self.rounds {
            let utilities: Vec<f64> = self
                .queries
                .iter()
                .zip(&exact)
                .map(|(query, exact)| distance(*exact, total * hypothesis.probability(query)))
                .collect();
            let chosen = match self.choice {
                Choice::Exponential(mechanism) => mechanism.choose(&utilities, random)?,
                Choice::PermuteAndFlip(mechanism) => mechanism.choose(&utilities, random)?,
            };
            let measured = exact[chosen].saturating_add(noise.draw(random)?);
            measurements.push((chosen, measured as f64));
            self.correct(&mut hypothesis, &measurements, total);
        }
        let histogram = hypothesis.probabilities().iter().map(|share| share * total).collect();
        Ok(Mwem { histogram, total, measurements, provenance: random.provenance() })
    }

    /// Corrects the hypothesis with all measurements, over and over: each by half the distance that
    /// is left, as a share of the total.
    fn correct(&self, hypothesis: &mut Hypothesis, measurements: &[(usize, f64)], total: f64) {
        for _ in 0..PASSES {
            for &(index, measured) in measurements {
                let query = &self.queries[index];
                let share = (measured / total).clamp(0.0, 1.0);
                let step = (share - hypothesis.probability(query)) / 2.0;
                hypothesis.update(query, step);
            }
        }
    }
}

/// `|q(x) - a|` with `a` rounded, and clamped at `2^53`: an integer that is exact as `f64`, and
/// that a unit moves by no more than it moves the count.
fn distance(exact: i128, guess: f64) -> f64 {
    (exact - guess.round() as i128).unsigned_abs().min(1 << 53) as f64
}

#[cfg(test)]
#[path = "mwem_tests.rs"]
mod tests;
