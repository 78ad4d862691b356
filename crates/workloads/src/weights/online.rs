//! Private multiplicative weights: a stream of counting queries, most of them answered for nothing.

use super::above_threshold::{AboveThreshold, tail_bound};
use super::hypothesis::Hypothesis;
use super::loss::{charge, loss_of_share};
use super::{check_counting, exact_count};
use crate::{Contribution, ExactHistogram, LinearQuery, WorkloadError};
use reticent_accounting::{Filter, FilterBudget};
use reticent_events::Event;
use reticent_mechanisms::{DiscreteLaplace, Mechanism, Sensitivity};
use reticent_noise::randomness::RandomBits;
use reticent_noise::{IntegerNoise, Jittered, Sampler};
use reticent_numerics::require;
use std::fmt;

/// A session that answers counting queries over a histogram, each chosen from earlier answers if
/// need be.
///
/// # Algorithm
/// The total is measured first. The hypothesis begins as the uniform distribution. For a query the
/// distance `|q(x) - a|` of the exact count from the hypothesis' answer `a`, an integer, is
/// compared with a threshold by [`AboveThreshold`]. If it is not above, `a` is the answer.
/// Otherwise the count is measured with discrete Laplace noise, that is the answer, and the
/// hypothesis is corrected.
///
/// # Guarantee
/// A unit of `R` rows moves a count, and so the distance, by at most `R`, also if its rows are
/// replaced. Charged are, when they run, the measurement of the total, each run of the test and
/// each measurement, to a filter: the session never spends more than its budget, whatever is asked
/// ([`OnlineWeights::spent`] lists the events).
///
/// # Error
/// With probability `1 - beta`, all of the first `k` answers are within [`OnlineBounds::error`],
/// and the budget lasts. Let none of the noises exceed its `tau` (each kind with probability
/// `beta/4`): `tau_0` for the total, `tau_1` and `tau_2` for the test, `tau_3` for measurements.
/// With threshold `T`, an answer from the hypothesis is off by at most `T + tau_1 + tau_2`, a
/// measured one by `tau_3`. A correction happens only where the hypothesis is off by at least
/// `G = T - tau_1 - tau_2 - tau_0 - 1/2`, and then lowers the divergence of the data from it by
/// `2 (G/n)^2`. It begins at `ln N` at most for `N` cells, so there are at most `n^2 ln N/(2 G^2)`
/// corrections; the budget is divided among so many. For a budget in zCDP this is the error
/// `O(n^(1/2) (ln N)^(1/4) (ln k)^(1/2))` of the theorem.
///
/// # References
/// Hardt, Rothblum, *A multiplicative weights mechanism for privacy-preserving data analysis*,
/// 2010.
///
/// # Example
/// ```
/// use reticent_accounting::FilterBudget;
/// use reticent_noise::randomness::SecureRandom;
/// use reticent_workloads::{Contribution, ExactHistogram, LinearQuery, OnlineWeights};
///
/// let random = &mut SecureRandom::new()?;
/// let counts = ExactHistogram::new(vec![900, 40, 30, 30]);
/// let budget = FilterBudget::ZeroConcentrated { rho: 0.5 };
/// let mut session =
///     OnlineWeights::new(counts, budget, Contribution::ONE_ROW, 1000, 0.05, random)?;
/// let answer = session.answer(&LinearQuery::counting([0, 1])?, random)?;
/// assert!(answer.value.is_finite());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OnlineWeights {
    /// Private.
    histogram: ExactHistogram,
    filter: Filter,
    spent: Vec<Event>,
    test: AboveThreshold,
    measurement: DiscreteLaplace,
    sampler: Sampler<Jittered<reticent_noise::DiscreteLaplace>>,
    /// The noisy threshold of the run of the test that is under way: private.
    threshold: Option<i128>,
    hypothesis: Hypothesis,
    bounds: OnlineBounds,
    /// The released total.
    total: f64,
    updates: u64,
    answered: u64,
}

/// Prints what is public.
impl fmt::Debug for OnlineWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnlineWeights")
            .field("total", &self.total)
            .field("updates", &self.updates)
            .field("answered", &self.answered)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// What is stated of a session before the first query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineBounds {
    /// The largest error of the first [`OnlineBounds::queries`] answers.
    pub error: f64,
    /// For so many queries.
    pub queries: u64,
    /// The probability with which the statement may fail.
    pub beta: f64,
    /// The most corrections.
    pub updates: u64,
    /// `T`.
    pub threshold: f64,
    /// `G`: the least distance of a corrected answer.
    gap: f64,
    /// An upper bound on the number of rows.
    rows: f64,
    /// `tau_3 + tau_0 + 1/2`: a measured distance may be so much larger than the one that counts.
    measured: f64,
}

/// An answer of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineAnswer {
    /// The answer.
    pub value: f64,
    /// Whether it was measured; otherwise it is the hypothesis' answer.
    pub measured: bool,
}

/// Shares of the budget: of the total, and of the test in what is left for a correction.
const OF_TOTAL: f64 = 0.05;
const OF_TEST: f64 = 0.75;

/// The most queries that a session is opened for.
const MOST_QUERIES: u64 = 1 << 40;

/// What a session is opened with.
struct Design {
    budget: FilterBudget,
    contribution: Contribution,
    queries: u64,
    beta: f64,
    cells: usize,
}

impl Design {
    /// How far a unit moves a count: also if its rows are replaced, or go.
    fn sensitivity(&self) -> Sensitivity {
        Sensitivity::whole(u64::from(self.contribution.rows()))
    }

    /// The test and the measurement if the budget is divided among so many corrections.
    fn mechanisms(&self, updates: u64) -> Result<(AboveThreshold, DiscreteLaplace), WorkloadError> {
        let share = (1.0 - OF_TOTAL) / updates as f64;
        let of_test = loss_of_share(self.budget, OF_TEST * share, 2.0)?;
        let of_measurement = loss_of_share(self.budget, (1.0 - OF_TEST) * share, 2.0)?;
        let measurement = DiscreteLaplace::calibrate(&self.sensitivity(), of_measurement)?;
        Ok((AboveThreshold::new(self.contribution, of_test)?, measurement))
    }

    /// What holds with so many corrections, for a released total that is off by at most `of_total`.
    fn bounds(
        &self,
        updates: u64,
        total: f64,
        of_total: f64,
    ) -> Result<OnlineBounds, WorkloadError> {
        let (test, measurement) = self.mechanisms(updates)?;
        let (count, beta) = (updates as f64, self.beta / 4.0);
        let (first, second) = test.noise_bounds(count + 1.0, self.queries as f64, beta);
        let third = tail_bound(measurement.scale(), count, beta);
        let of_test = first + second;
        let threshold = of_test + (of_test + 2.0 * of_total + 1.0).max(third + 1.0);
        Ok(OnlineBounds {
            error: (threshold + of_test).max(third),
            queries: self.queries,
            beta: self.beta,
            updates,
            threshold,
            gap: threshold - of_test - of_total - 0.5,
            rows: (total + of_total).max(1.0),
            measured: third + of_total + 0.5,
        })
    }

    /// The bounds with the fewest corrections that suffice. More corrections have less budget each,
    /// so more noise and a larger gap, and fewer of them are needed.
    fn least_bounds(&self, total: f64, of_total: f64) -> Result<OnlineBounds, WorkloadError> {
        let enough = |bounds: &OnlineBounds| {
            let needed = (bounds.rows / bounds.gap).powi(2) * (self.cells as f64).ln() / 2.0;
            bounds.updates >= self.queries || bounds.updates as f64 >= needed * (1.0 + 1e-9)
        };
        let (mut low, mut high) = (1u64, self.queries);
        while low < high {
            let middle = low + (high - low) / 2;
            // Where so many corrections leave too little budget for each, fewer must do.
            if self.bounds(middle, total, of_total).map_or(true, |bounds| enough(&bounds)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.bounds(low, total, of_total)
    }
}

impl OnlineWeights {
    /// Measures the total and opens a session for `queries` queries whose stated error may fail
    /// with probability `beta`. The budget is pure or in zCDP.
    ///
    /// # Errors
    /// If there are fewer than two cells or no queries, `beta` is not from 1e-12 to 1/2, the budget
    /// is of another currency or too small, or random bits cannot be had.
    pub fn new<R: RandomBits + ?Sized>(
        histogram: ExactHistogram,
        budget: FilterBudget,
        contribution: Contribution,
        queries: u64,
        beta: f64,
        random: &mut R,
    ) -> Result<Self, WorkloadError> {
        let cells = histogram.counts().len();
        require(cells >= 2, "cells", cells as f64, "at least 2")?;
        let accepted = "from 1 to 2^40";
        require((1..=MOST_QUERIES).contains(&queries), "queries", queries as f64, accepted)?;
        require((1e-12..=0.5).contains(&beta), "beta", beta, "a number from 1e-12 to 0.5")?;
        let design = Design { budget, contribution, queries, beta, cells };
        // Whatever can be refused is refused before anything is charged.
        design.mechanisms(1)?;
        let total_noise = DiscreteLaplace::calibrate(
            &design.sensitivity(),
            loss_of_share(budget, OF_TOTAL, 2.0)?,
        )?;
        let noise = reticent_noise::DiscreteLaplace::new(total_noise.scale())?.sampler()?;
        let mut filter = Filter::new(budget)
            .map_err(|_| WorkloadError::Workload("the budget must be above 0".into()))?;
        charge(&mut filter, &total_noise.event())?;
        let exact: i128 = histogram.counts().iter().map(|&count| i128::from(count)).sum();
        let total = (exact.saturating_add(noise.draw(random)?)).max(0) as f64;
        let of_total = tail_bound(total_noise.scale(), 1.0, beta / 4.0);
        let bounds = design.least_bounds(total, of_total)?;
        let (test, measurement) = design.mechanisms(bounds.updates)?;
        let sampler = reticent_noise::DiscreteLaplace::new(measurement.scale())?.sampler()?;
        Ok(OnlineWeights {
            hypothesis: Hypothesis::uniform(cells),
            spent: vec![total_noise.event()],
            threshold: None,
            updates: 0,
            answered: 0,
            histogram,
            filter,
            test,
            measurement,
            sampler,
            bounds,
            total,
        })
    }

    /// Answers a counting query.
    ///
    /// # Errors
    /// If the query is no counting query of these cells, the session has answered as many queries,
    /// or made as many corrections, as it was opened for, or random bits cannot be had.
    pub fn answer<R: RandomBits + ?Sized>(
        &mut self,
        query: &LinearQuery,
        random: &mut R,
    ) -> Result<OnlineAnswer, WorkloadError> {
        check_counting(query, self.histogram.counts().len())?;
        if self.answered >= self.bounds.queries {
            return Err(WorkloadError::Exhausted(
                "the session has answered as many queries as it was opened for",
            ));
        }
        let threshold = match self.threshold {
            Some(threshold) => threshold,
            None => {
                let event = self.test.event();
                charge(&mut self.filter, &event)?;
                self.spent.push(event);
                let threshold = self.test.noisy_threshold(self.bounds.threshold as i128, random)?;
                self.threshold = Some(threshold);
                threshold
            }
        };
        self.answered += 1;
        let guess = self.guess(query);
        let exact = exact_count(query, self.histogram.counts());
        if !self.test.is_above((exact - guess).abs(), threshold, random)? {
            return Ok(OnlineAnswer { value: guess as f64, measured: false });
        }
        self.threshold = None;
        let event = self.measurement.event();
        charge(&mut self.filter, &event)?;
        self.spent.push(event);
        let measured = exact.saturating_add(self.sampler.draw(random)?);
        self.updates += 1;
        self.correct(query, measured, guess);
        Ok(OnlineAnswer { value: measured as f64, measured: true })
    }

    /// The hypothesis' answer, an integer.
    fn guess(&self, query: &LinearQuery) -> i128 {
        (self.total * self.hypothesis.probability(query)).round() as i128
    }

    /// Moves the hypothesis towards a measured count by `4 g`, where `g` is a lower bound on its
    /// distance as long as no noise exceeds its bound.
    fn correct(&mut self, query: &LinearQuery, measured: i128, guess: i128) {
        let distance = (measured - guess) as f64;
        let gap = (distance.abs() - self.bounds.measured).max(self.bounds.gap);
        let step = 4.0 * (gap / self.bounds.rows).min(1.0);
        self.hypothesis.update(query, if distance < 0.0 { -step } else { step });
    }

    /// What is stated of the session.
    pub fn bounds(&self) -> OnlineBounds {
        self.bounds
    }

    /// The events that ran so far. To stop here, and to count only these, is a choice made from the
    /// answers: the guarantee of the session is its budget.
    pub fn spent(&self) -> &[Event] {
        &self.spent
    }

    /// How many corrections were made.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The released total.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The hypothesis as a histogram.
    pub fn histogram(&self) -> Vec<f64> {
        self.hypothesis.probabilities().iter().map(|share| share * self.total).collect()
    }
}

#[cfg(test)]
#[path = "online_tests.rs"]
mod tests;
