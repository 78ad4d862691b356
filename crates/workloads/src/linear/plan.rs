//! The Gaussian matrix mechanism with exact noise.

use super::certificate::{SUMS, error_above, rounding_of_products};
use super::optimum::optimum;
use super::workload::LinearWorkload;
use crate::marginals::SIGMAS;
use crate::{Contribution, ExactHistogram, ExpectedError, GaussianBudget, WorkloadError};
use faer::{Mat, Side};
use reticent_events::Event;
use reticent_mechanisms::Neighbours;
use reticent_noise::randomness::{Provenance, RandomBits};
use reticent_noise::{Gaussian, Lattice, Sampler};
use reticent_numerics::Bounds;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::rounding::{add_up, div_up, mul_down, mul_up, sqrt_down, sqrt_up};

/// A matrix `A` of the cells, Gaussian noise on each of its rows, and the errors that follow for
/// the queries of a workload.
///
/// # Strategy
/// `A'A` is nearly the optimum of `minimise tr W (A'A)^-1 W'` over matrices whose columns are at
/// most 1 long. The entries of `A` are multiples of `2^-30`, so that `A x` is exact for counts.
/// Released is `A x + sigma z` on that lattice, from which follow `A^-1` of it as the histogram and
/// `W A^-1` of it as the answers: unbiased, and consistent, since all come from one histogram.
///
/// # Guarantee
/// One row more or less moves `A x` by a column of `A`, `R` rows at most `R` times as far, and a
/// replaced row by the difference of two columns. One Gaussian mechanism, charged as
/// [`Event::Gaussian`].
///
/// # Error and limit
/// Both are certified, whatever the solver did: the error from an approximate inverse with a bound
/// on its residual, the limit from the dual programme. Proof: docs/proofs/linear_queries.md.
///
/// # References
/// Li, Miklau, Hay, McGregor, Rastogi, *The matrix mechanism*, 2015; Edmonds, Nikolov, Ullman, *The
/// power of factorization mechanisms*, 2020.
///
/// # Example
/// ```
/// use reticent_workloads::{Contribution, GaussianBudget, LinearWorkload, MatrixPlan};
///
/// let prefixes = LinearWorkload::prefixes(64)?;
/// let budget = GaussianBudget::zero_concentrated(0.5)?;
/// let plan = MatrixPlan::new(&prefixes, budget, Contribution::ONE_ROW)?;
/// let error = plan.expected_error();
/// assert!(error.ratio().is_some_and(|ratio| ratio < 1.01));
/// # Ok::<(), reticent_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixPlan {
    workload: LinearWorkload,
    contribution: Contribution,
    /// `A`, upper triangular, its entries multiples of `2^-30`.
    strategy: Mat<f64>,
    /// Nearly `A^-1`.
    inverse: Mat<f64>,
    /// The standard deviation of the noise on each row.
    sigma: f64,
    /// How far one unit moves `A x`, squared and rounded up.
    sensitivity_square: f64,
    /// An upper bound on `tr W (A'A)^-1 W'`.
    error: f64,
    /// A lower bound on it for columns that are at most 1 long.
    limit: f64,
}

/// The strategy's entries are multiples of `2^-STRATEGY_BITS`.
const STRATEGY_BITS: i32 = 30;

/// The share of the identity in `A'A`: it keeps `A` invertible where queries leave a direction of
/// the histogram open, and costs a factor of at most `1/(1 - 1e-4)`.
const OF_IDENTITY: f64 = 1e-4;

impl MatrixPlan {
    /// The plan of least total squared error within a budget.
    ///
    /// # Errors
    /// If the noise would be too large or too small, or the strategy cannot be certified.
    pub fn new(
        workload: &LinearWorkload,
        budget: GaussianBudget,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let best = optimum(workload)?;
        let n = workload.cells();
        let information = Mat::from_fn(n, n, |i, j| {
            let identity = if i == j { OF_IDENTITY } else { 0.0 };
            (1.0 - OF_IDENTITY) * best.information[(i, j)] + identity
        });
        let factor = information.llt(Side::Lower).map_err(|_| WorkloadError::NotCertified {
            what: "the strategy of least error",
            reason: "it has no Cholesky factor",
        })?;
        let lower = factor.L();
        let steps = 2f64.powi(STRATEGY_BITS);
        let strategy =
            Mat::from_fn(
                n,
                n,
                |i, j| {
                    if i <= j { (lower[(j, i)] * steps).round() / steps } else { 0.0 }
                },
            );
        let mut inverse = Mat::<f64>::identity(n, n);
        strategy.as_ref().solve_upper_triangular_in_place(inverse.as_mut());
        let columns = (0..n).map(|j| -> Vec<f64> { (0..n).map(|i| inverse[(i, j)]).collect() });
        let squares: f64 = columns.map(|column| workload.square_above(&column)).sum();
        let error = error_above(&strategy, &inverse, squares)?;
        let sensitivity_square = sensitivity_square(&strategy, contribution);
        let sigma = scaled_to(sensitivity_square, budget)?;
        Ok(MatrixPlan {
            workload: workload.clone(),
            contribution,
            strategy,
            inverse,
            sigma,
            sensitivity_square,
            error,
            limit: best.limit,
        })
    }

    /// What was asked for.
    pub fn workload(&self) -> &LinearWorkload {
        &self.workload
    }

    /// What one unit can do.
    pub fn contribution(&self) -> Contribution {
        self.contribution
    }

    /// An entry of the strategy `A`; none beyond its rows and columns.
    pub fn strategy(&self, row: usize, column: usize) -> Option<f64> {
        let inside = row < self.strategy.nrows() && column < self.strategy.ncols();
        inside.then(|| self.strategy[(row, column)])
    }

    /// The standard deviation of the noise on each row of `A x`.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// `mu^2` of the release, rounded up: `2 rho`.
    pub fn mu_square(&self) -> f64 {
        div_up(self.sensitivity_square, mul_down(self.sigma, self.sigma))
    }

    /// What is charged for measuring once.
    pub fn event(&self) -> Event {
        Event::Gaussian { sigma: self.sigma, sensitivity: sqrt_up(self.sensitivity_square) }
    }

    /// The error to expect over all queries, and the least possible.
    pub fn expected_error(&self) -> ExpectedError {
        let queries = Bounds::exact(self.workload.queries() as f64);
        let square = Bounds::exact(self.sigma).square();
        let at = |total: f64| Bounds::exact(total) * square / queries;
        let rmse = Bounds::new(0.0, sqrt_up(at(self.error).upper()));
        let limit = match self.contribution.neighbours() {
            // For columns that are 1 long; with R rows everything is R times as long, and sigma in
            // proportion to the sensitivity that is charged.
            Neighbours::AddRemove => {
                let rows = Bounds::exact(f64::from(self.contribution.rows())).square();
                let mu_square = Bounds::exact(self.mu_square());
                Some(sqrt_down((Bounds::exact(self.limit) * rows / mu_square / queries).lower()))
            }
            Neighbours::Replace => None,
        };
        let lower = limit.unwrap_or(0.0);
        ExpectedError { rmse: Bounds::new(lower.min(rmse.upper()), rmse.upper()), limit }
    }

    /// Measures the histogram once. What is charged is [`MatrixPlan::event`], before this runs.
    ///
    /// # Errors
    /// If the histogram has another number of cells, or random bits cannot be had.
    pub fn measure<R: RandomBits + ?Sized>(
        &self,
        histogram: &ExactHistogram,
        random: &mut R,
    ) -> Result<MatrixMeasurements, WorkloadError> {
        let counts = histogram.counts();
        if counts.len() != self.workload.cells() {
            return Err(WorkloadError::Counts("they are not one for each cell of the workload"));
        }
        let lattice = Lattice::of_spacing_power(-STRATEGY_BITS)?;
        let sampler = Sampler::new(Gaussian, self.sigma, lattice)?;
        let steps = 2f64.powi(STRATEGY_BITS);
        let mut values = Vec::with_capacity(counts.len());
        for row in 0..counts.len() {
            // Entries are integers of at most 2^30 steps, counts below 2^64, cells at most 2^12.
            let exact: i128 = (row..counts.len())
                .map(|column| {
                    (self.strategy[(row, column)] * steps) as i128 * i128::from(counts[column])
                })
                .sum();
            values.push((exact + sampler.draw(random)?) as f64 / steps);
        }
        let provenance = random.provenance();
        Ok(MatrixMeasurements { plan: self.clone(), values, provenance })
    }
}

/// The `sigma` with which a mechanism of this sensitivity keeps a budget.
fn scaled_to(sensitivity_square: f64, budget: GaussianBudget) -> Result<f64, WorkloadError> {
    let mut sigma = sqrt_up(div_up(sensitivity_square, budget.mu_square()));
    // The event's own sensitivity is rounded up as well.
    let charged = sqrt_up(sensitivity_square);
    while div_up(mul_up(charged, charged), mul_down(sigma, sigma)) > budget.mu_square() {
        sigma = sigma.next_up();
    }
    if sigma > SIGMAS.1 {
        return Err(WorkloadError::BudgetTooSmall { sigma, largest: SIGMAS.1 });
    }
    let accepted = "small enough that the noise has a standard deviation of 1e-3 or more";
    reticent_numerics::require(sigma >= SIGMAS.0, "budget", budget.mu_square(), accepted)?;
    Ok(sigma)
}

/// How far one unit moves `A x`, squared, rounded up.
fn sensitivity_square(strategy: &Mat<f64>, contribution: Contribution) -> f64 {
    let n = strategy.nrows();
    let square = |j: usize| {
        (0..n).fold(0.0, |sum, i| add_up(sum, mul_up(strategy[(i, j)], strategy[(i, j)])))
    };
    let longest = (0..n).map(square).fold(0.0, f64::max);
    let one_row = match contribution.neighbours() {
        Neighbours::AddRemove => longest,
        Neighbours::Replace => {
            // ||a - b||^2 = a'a + b'b - 2 a'b. A row may also just go.
            let products = strategy.transpose() * strategy;
            let least = (0..n)
                .flat_map(|j| (0..j).map(move |i| (i, j)))
                .map(|(i, j)| products[(i, j)])
                .fold(longest, f64::min);
            let rounding = mul_up(rounding_of_products(n), longest);
            let twice = mul_up(2.0, add_up(add_up(longest, -least), rounding));
            twice.max(longest)
        }
    };
    let rows = f64::from(contribution.rows());
    mul_up(mul_up(rows, rows), one_row)
}

/// What a matrix plan measured: released.
#[derive(Clone, Debug)]
pub struct MatrixMeasurements {
    plan: MatrixPlan,
    values: Vec<f64>,
    provenance: Provenance,
}

/// Answers to the queries of a workload, with the half-width of each.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedAnswers {
    /// The histogram that all answers come from.
    pub histogram: Vec<f64>,
    /// The answers, in the order of [`LinearWorkload::answers`].
    pub answers: Vec<f64>,
    /// For each answer, how far the exact one may be with probability 95%; none for more than
    /// 100000 queries, where the mean error of the plan says as much.
    pub half_widths: Option<Vec<f64>>,
}

/// Above this there are no half-widths for each query.
const MOST_HALF_WIDTHS: usize = 100_000;

impl MatrixMeasurements {
    /// What was charged.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// The plan.
    pub fn plan(&self) -> &MatrixPlan {
        &self.plan
    }

    /// Where the random bits came from.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The released rows of the strategy.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The answers: unbiased, and consistent, since all come from one histogram.
    pub fn answers(&self) -> ReleasedAnswers {
        let n = self.values.len();
        let inverse = &self.plan.inverse;
        let histogram: Vec<f64> =
            (0..n).map(|i| (i..n).map(|j| inverse[(i, j)] * self.values[j]).sum()).collect();
        let answers = self.plan.workload.answers(&histogram);
        let half_widths = (answers.len() <= MOST_HALF_WIDTHS).then(|| self.plan.half_widths());
        ReleasedAnswers { histogram, answers, half_widths }
    }
}

impl MatrixPlan {
    /// The half-widths of all answers: with `w` a query, `1.96 sigma |w A^-1|` and what rounding to
    /// the lattice can add.
    fn half_widths(&self) -> Vec<f64> {
        let n = self.workload.cells();
        let mut squares = vec![0.0; self.workload.queries()];
        let mut sizes = vec![0.0; self.workload.queries()];
        for j in 0..n {
            let column: Vec<f64> = (0..n).map(|i| self.inverse[(i, j)]).collect();
            for (index, answer) in self.workload.answers(&column).into_iter().enumerate() {
                squares[index] += answer * answer;
                sizes[index] += answer.abs();
            }
        }
        let quantile = normal_isf(0.025).upper();
        let spacing = 2f64.powi(-STRATEGY_BITS - 1);
        squares
            .iter()
            .zip(&sizes)
            // A relative 1e-6 covers the rounding of these sums and of the inverse.
            .map(|(square, size)| {
                (quantile * self.sigma * square.sqrt() + spacing * size) * (SUMS + 1e-6)
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
