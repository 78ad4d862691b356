//! Strategies with Laplace noise: linear queries under pure differential privacy.

use super::certificate::{SUMS, rounding_of_products};
use super::plan::ReleasedAnswers;
use super::workload::LinearWorkload;
use crate::{Contribution, ExactHistogram, WorkloadError};
use faer::{Mat, Side};
use reticent_events::Event;
use reticent_mechanisms::{DiscreteLaplace, Epsilon, Mechanism, Neighbours, Sensitivity};
use reticent_noise::IntegerNoise;
use reticent_noise::randomness::{Provenance, RandomBits};
use reticent_numerics::rounding::{add_up, div_up, mul_up, sqrt_up, sub_down};
use std::fmt;

/// Sums of the cells along one attribute that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaplaceStrategy {
    /// Each cell alone.
    Cells,
    /// Each cell, each block of `branching` neighbours, each block of blocks, up to the total.
    Tree {
        /// How many blocks make one of the next level; at least 2.
        branching: usize,
    },
}

impl fmt::Display for LaplaceStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaplaceStrategy::Cells => f.write_str("cells"),
            LaplaceStrategy::Tree { branching } => write!(f, "tree of {branching}"),
        }
    }
}

impl LaplaceStrategy {
    /// The ranges of cells that are summed. Every cell is in as many of them as there are levels.
    fn ranges(self, size: usize) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = (0..size).map(|cell| (cell, cell + 1)).collect();
        if let LaplaceStrategy::Tree { branching } = self {
            let mut block = 1usize;
            while block < size {
                block = block.saturating_mul(branching.max(2));
                let starts = (0..size).step_by(block);
                ranges.extend(starts.map(|start| (start, size.min(start.saturating_add(block)))));
            }
        }
        ranges
    }

    fn levels(self, size: usize) -> u64 {
        self.ranges(size).iter().filter(|range| range.0 == 0).count() as u64
    }

    /// How many ranges two cells share.
    fn gram(self, size: usize) -> Mat<f64> {
        let mut gram = Mat::zeros(size, size);
        for (from, to) in self.ranges(size) {
            for i in from..to {
                for j in from..to {
                    gram[(i, j)] += 1.0;
                }
            }
        }
        gram
    }
}

/// The best of several strategies with discrete Laplace noise, by the error that is certified.
///
/// # Strategy
/// One [`LaplaceStrategy`] for each attribute of the histogram; measured are the sums over all
/// boxes that are products of their ranges. A row counts in as many boxes as the product of the
/// levels: that, times the rows of a unit (and 2 if they are replaced), is the l1 sensitivity of
/// all measurements together, and each gets discrete Laplace noise of scale `D/epsilon`.
///
/// # Error
/// With `A` the matrix of boxes and `v` the variance of the noise, weighted least squares has the
/// total variance `v tr W (A'A)^-1 W'`, an upper bound on which is certified. The strategies are
/// compared by it. No lower limit is stated.
///
/// # References
/// Hay, Rastogi, Miklau, Suciu, *Boosting the accuracy of differentially private histograms through
/// consistency*, 2010; McKenna, Miklau, Hay, Machanavajjhala, *Optimizing error of high-dimensional
/// statistical queries under differential privacy* (HDMM), 2018.
///
/// # Example
/// ```
/// use reticent_mechanisms::Epsilon;
/// use reticent_workloads::{Contribution, LaplacePlan, LaplaceStrategy, LinearWorkload};
///
/// let ranges = LinearWorkload::ranges(256)?;
/// let plan = LaplacePlan::new(&ranges, &[256], Epsilon::new(1.0)?, Contribution::ONE_ROW)?;
/// assert!(matches!(plan.strategies()[0], LaplaceStrategy::Tree { .. }));
/// # Ok::<(), reticent_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LaplacePlan {
    workload: LinearWorkload,
    shape: Vec<usize>,
    strategies: Vec<LaplaceStrategy>,
    mechanism: DiscreteLaplace,
    /// `B` with `B B'` nearly `(A'A)^-1`.
    root: Mat<f64>,
    /// An upper bound on `tr W (A'A)^-1 W'`.
    error: f64,
}

/// Trees that are tried.
const BRANCHINGS: [usize; 5] = [2, 4, 8, 16, 32];

impl LaplacePlan {
    /// The best of the strategies that are known, for a histogram over attributes of the given
    /// sizes, in row-major order.
    ///
    /// # Errors
    /// If the sizes do not multiply to the cells of the workload, `epsilon` is zero, or no strategy
    /// can be certified.
    pub fn new(
        workload: &LinearWorkload,
        shape: &[usize],
        epsilon: Epsilon,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let mut best: Option<LaplacePlan> = None;
        for strategies in choices(shape) {
            let plan = Self::with(workload, shape, strategies, epsilon, contribution)?;
            if best.as_ref().is_none_or(|best| plan.rmse() < best.rmse()) {
                best = Some(plan);
            }
        }
        best.ok_or(WorkloadError::Counts("the sizes of the histogram are not given"))
    }

    /// The plan of one strategy for each attribute.
    ///
    /// # Errors
    /// As [`LaplacePlan::new`].
    pub fn with(
        workload: &LinearWorkload,
        shape: &[usize],
        strategies: Vec<LaplaceStrategy>,
        epsilon: Epsilon,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let cells = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        if cells != Some(workload.cells()) || strategies.len() != shape.len() {
            return Err(WorkloadError::Counts("its sizes are not those of the workload"));
        }
        let pairs = || strategies.iter().zip(shape);
        let levels: u64 = pairs().map(|(strategy, &size)| strategy.levels(size)).product();
        let times = match contribution.neighbours() {
            Neighbours::AddRemove => 1,
            Neighbours::Replace => 2,
        };
        let sensitivity = levels * times * u64::from(contribution.rows());
        let mechanism = DiscreteLaplace::calibrate(&Sensitivity::whole(sensitivity), epsilon)?;
        let gram = pairs().fold(Mat::<f64>::identity(1, 1), |gram, (strategy, &size)| {
            kronecker(&gram, &strategy.gram(size))
        });
        let root = inverse_root(&gram)?;
        let error = error_above(workload, &gram, &root)?;
        Ok(LaplacePlan {
            workload: workload.clone(),
            shape: shape.to_vec(),
            strategies,
            mechanism,
            root,
            error,
        })
    }

    /// The strategy of each attribute.
    pub fn strategies(&self) -> &[LaplaceStrategy] {
        &self.strategies
    }

    /// The scale of the noise.
    pub fn scale(&self) -> f64 {
        self.mechanism.scale()
    }

    /// How many sums are measured.
    pub fn measurements(&self) -> usize {
        let pairs = self.strategies.iter().zip(&self.shape);
        pairs.map(|(strategy, &size)| strategy.ranges(size).len()).product()
    }

    /// What is charged for measuring once.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// The variance of the noise on one measurement, rounded up.
    fn variance(&self) -> f64 {
        let error = self.mechanism.errors().map(|errors| errors.root_mean_square.upper());
        error.map_or(f64::INFINITY, |error| mul_up(error, error))
    }

    /// The root mean squared error over all queries, rounded up.
    pub fn rmse(&self) -> f64 {
        sqrt_up(div_up(mul_up(self.variance(), self.error), self.workload.queries() as f64))
    }

    /// The boxes that are measured: for each attribute the range of its values.
    fn boxes(&self) -> Vec<Vec<(usize, usize)>> {
        self.strategies.iter().zip(&self.shape).fold(
            vec![Vec::new()],
            |boxes, (strategy, &size)| {
                let ranges = strategy.ranges(size);
                boxes
                    .iter()
                    .flat_map(|start| {
                        ranges.iter().map(move |&range| {
                            let mut longer: Vec<(usize, usize)> = start.clone();
                            longer.push(range);
                            longer
                        })
                    })
                    .collect()
            },
        )
    }

    /// The cells of a box.
    fn cells_of(&self, ranges: &[(usize, usize)]) -> Vec<usize> {
        ranges.iter().zip(&self.shape).fold(vec![0], |cells, (&(from, to), &size)| {
            cells
                .iter()
                .flat_map(|&cell| (from..to).map(move |value| cell * size + value))
                .collect()
        })
    }

    /// Measures the histogram once. What is charged is [`LaplacePlan::event`], before this runs.
    ///
    /// # Errors
    /// If the histogram has another number of cells, or random bits cannot be had.
    pub fn measure<R: RandomBits + ?Sized>(
        &self,
        histogram: &ExactHistogram,
        random: &mut R,
    ) -> Result<LaplaceMeasurements, WorkloadError> {
        let counts = histogram.counts();
        if counts.len() != self.workload.cells() {
            return Err(WorkloadError::Counts("they are not one for each cell of the workload"));
        }
        let noise = reticent_noise::DiscreteLaplace::new(self.mechanism.scale())?.sampler()?;
        let mut values = Vec::new();
        for ranges in self.boxes() {
            let exact: i128 =
                self.cells_of(&ranges).iter().map(|&cell| i128::from(counts[cell])).sum();
            values.push((exact + noise.draw(random)?) as f64);
        }
        let provenance = random.provenance();
        Ok(LaplaceMeasurements { plan: self.clone(), values, provenance })
    }
}

/// What a plan with Laplace noise measured: released.
#[derive(Clone, Debug)]
pub struct LaplaceMeasurements {
    plan: LaplacePlan,
    values: Vec<f64>,
    provenance: Provenance,
}

impl LaplaceMeasurements {
    /// What was charged.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// Where the random bits came from.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The released sums of boxes.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The answers by least squares: unbiased, and consistent.
    pub fn answers(&self) -> ReleasedAnswers {
        let plan = &self.plan;
        let n = plan.workload.cells();
        let mut sums = vec![0.0; n];
        for (ranges, value) in plan.boxes().iter().zip(&self.values) {
            plan.cells_of(ranges).iter().for_each(|&cell| sums[cell] += value);
        }
        let histogram = plan.solve(&sums);
        let answers = plan.workload.answers(&histogram);
        ReleasedAnswers { histogram, answers, half_widths: plan.half_widths() }
    }
}

impl LaplacePlan {
    /// `(A'A)^-1` times a vector.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let n = right.len();
        // B is upper triangular.
        let inner: Vec<f64> =
            (0..n).map(|k| (0..=k).map(|i| self.root[(i, k)] * right[i]).sum()).collect();
        (0..n).map(|i| (i..n).map(|k| self.root[(i, k)] * inner[k]).sum()).collect()
    }

    /// For each query a half-width that holds with probability 95%; none where there are many
    /// measurements times queries.
    fn half_widths(&self) -> Option<Vec<f64>> {
        let boxes = self.boxes();
        let queries = self.workload.queries();
        if boxes.len().checked_mul(queries).is_none_or(|work| work > 20_000_000) {
            return None;
        }
        let (mut squares, mut largest) = (vec![0.0; queries], vec![0.0f64; queries]);
        for ranges in &boxes {
            let mut indicator = vec![0.0; self.workload.cells()];
            self.cells_of(ranges).iter().for_each(|&cell| indicator[cell] = 1.0);
            let answers = self.workload.answers(&self.solve(&indicator));
            for (index, coefficient) in answers.into_iter().enumerate() {
                squares[index] += coefficient * coefficient;
                largest[index] = largest[index].max(coefficient.abs());
            }
        }
        let (scale, variance) = (self.mechanism.scale(), self.variance());
        let width = |square: f64, most: f64| half_width_of_sum(square, most, scale, variance);
        Some(squares.iter().zip(&largest).map(|(&square, &most)| width(square, most)).collect())
    }
}

/// A half-width that holds with probability 95% for a sum `sum_i c_i Z_i` of independent discrete
/// Laplace numbers of scale `b`, given `a^2 = sum c_i^2` and `m`, the largest `|c_i|`.
///
/// The moment generating function of `Z_i` is at most that of Laplace noise, `1/(1 - b^2 s^2)`. So
/// for any `t` in (0, 1), `P[|sum| > w] <= 2 exp(-s w + (s a b)^2/(1 - t^2))` with `s = t/(m b)`.
/// The best of some `t` is taken, or Chebyshev's bound where that is better.
pub(crate) fn half_width_of_sum(square: f64, most: f64, scale: f64, variance: f64) -> f64 {
    let chebyshev = (20.0 * square * variance).sqrt();
    let chernoff = (1..40).map(|step| {
        let t = f64::from(step) / 40.0;
        let s = t / (most * scale);
        (40f64.ln() + s * s * square * scale * scale / (1.0 - t * t)) / s
    });
    // A relative 1e-6 covers the rounding of these sums and of those that they are made of.
    chernoff.fold(chebyshev, f64::min) * (1.0 + 1e-6)
}

/// All choices of a strategy for each attribute: all branchings for one attribute, fewer for more.
fn choices(shape: &[usize]) -> Vec<Vec<LaplaceStrategy>> {
    let branchings = match shape.len() {
        0 | 1 => &BRANCHINGS[..],
        2 | 3 => &BRANCHINGS[..2],
        _ => &BRANCHINGS[1..2],
    };
    let options: Vec<LaplaceStrategy> = std::iter::once(LaplaceStrategy::Cells)
        .chain(branchings.iter().map(|&branching| LaplaceStrategy::Tree { branching }))
        .collect();
    // Beyond five attributes all have the same.
    if shape.len() > 5 {
        return options.iter().map(|&option| vec![option; shape.len()]).collect();
    }
    shape.iter().fold(vec![Vec::new()], |choices: Vec<Vec<LaplaceStrategy>>, _| {
        choices
            .iter()
            .flat_map(|start| {
                options.iter().map(move |&option| {
                    start.iter().copied().chain(std::iter::once(option)).collect()
                })
            })
            .collect()
    })
}

fn kronecker(left: &Mat<f64>, right: &Mat<f64>) -> Mat<f64> {
    let (n, m) = (left.nrows(), right.nrows());
    Mat::from_fn(n * m, n * m, |i, j| left[(i / m, j / m)] * right[(i % m, j % m)])
}

/// An upper triangular `B` with `B B'` nearly the inverse of a matrix.
fn inverse_root(gram: &Mat<f64>) -> Result<Mat<f64>, WorkloadError> {
    let factor = gram.llt(Side::Lower).map_err(|_| WorkloadError::NotCertified {
        what: "a strategy of sums",
        reason: "it has no Cholesky factor",
    })?;
    // G = L L', so G^-1 = L'^-1 L^-1.
    let upper = factor.L().transpose().to_owned();
    let mut root = Mat::<f64>::identity(gram.nrows(), gram.nrows());
    upper.as_ref().solve_upper_triangular_in_place(root.as_mut());
    Ok(root)
}

/// An upper bound on `tr W G^-1 W'` for an exact `G`: with `B'G B = I + F` and `||F|| <= f < 1`,
/// `G^-1 = B (I + F)^-1 B'`, and the trace is at most `||W B||^2/(1 - f)`.
fn error_above(
    workload: &LinearWorkload,
    gram: &Mat<f64>,
    root: &Mat<f64>,
) -> Result<f64, WorkloadError> {
    let n = gram.nrows();
    let product = root.transpose() * &(gram * root);
    let (mut off, mut of_gram, mut of_root) = (0.0, 0.0, 0.0);
    for j in 0..n {
        for i in 0..n {
            off += (product[(i, j)] - f64::from(u8::from(i == j))).powi(2);
            of_gram += gram[(i, j)].powi(2);
            of_root += root[(i, j)].powi(2);
        }
    }
    let sizes = (of_gram * SUMS).sqrt() * of_root * SUMS * SUMS;
    let f = add_up((off * SUMS).sqrt() * SUMS, mul_up(2.1 * rounding_of_products(n), sizes));
    if f >= 0.01 {
        return Err(WorkloadError::NotCertified {
            what: "the expected error",
            reason: "the strategy is too badly conditioned",
        });
    }
    let column = |j: usize| -> Vec<f64> { (0..n).map(|i| root[(i, j)]).collect() };
    let squares: f64 = (0..n).map(|j| workload.square_above(&column(j))).sum();
    Ok(div_up(mul_up(squares, SUMS), sub_down(1.0, f)))
}

#[cfg(test)]
#[path = "laplace_tests.rs"]
mod tests;
