//! The linear programme of the least loss on a lattice.
//!
//! Unknowns are the probabilities `p_k` of `k` and of `-k`, for `k = 0, ..., n`, and for each shift `j` the excesses `s_ij`:
//!
//! - minimise `p_0 l_0 + 2 (p_1 l_1 + ... + p_n l_n)`
//! - with `p_0 + 2 (p_1 + ... + p_n) = 1`,
//! - `s_ij >= p_|i| - e^epsilon p_|i+j|`, `s_ij >= 0`, and for each `j` `sum over i of s_ij <= delta`.
//!
//! The solution is approximate and proves nothing: what is made of it is certified in `certificate.rs` (a lower bound) and by the mechanism that is made of
//! its probabilities (an upper bound).

use crate::limit::LimitError;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT};

/// The data of the programme.
#[derive(Clone, Debug)]
pub(crate) struct Programme {
    /// How many lattice steps the sensitivity has.
    pub steps: usize,
    pub epsilon: f64,
    pub delta: f64,
    /// `l_k`, up to the last knot that the noise may reach.
    pub losses: Vec<f64>,
}

/// Which noise is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Not increasing away from zero. The shift by the whole sensitivity is then the worst (see [`reticent_mechanisms::Tabulated`]), and the only one.
    Decreasing,
    /// Any. Of the shifts below the whole sensitivity every `stride`-th is tested, for `|i|` up to `window` only: a test that is left out lowers the
    /// optimum, so that it stays a bound. (Those tests link the flat top of the noise with the step beside it. From there on the whole sensitivity
    /// leads from each step to the next, and the others were of no use in any case that was tried: 1e-6 of the optimum.)
    Any { window: usize, stride: usize },
}

/// A test of the promise, at the shift `shift`, that what is at `from` is at most `e^epsilon` times what is at `from + shift`; and its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    pub shift: usize,
    pub from: i64,
    pub price: f64,
}

/// An approximate solution and approximate prices of the constraints.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub probabilities: Vec<f64>,
    /// `s_ij` of the shift by the whole sensitivity, by `i`.
    pub excesses: Vec<(i64, f64)>,
    /// The price of the total probability.
    pub level: f64,
    pub flows: Vec<Flow>,
    /// The price of `delta`, by shift.
    pub delta_prices: Vec<(usize, f64)>,
}

/// Rows of a sparse matrix `A` and right-hand sides of `A x <= b`, the first row an equality.
#[derive(Default)]
struct Rows {
    row: Vec<usize>,
    column: Vec<usize>,
    value: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    fn add(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, right: f64) -> usize {
        let row = self.right.len();
        for (column, value) in entries {
            self.row.push(row);
            self.column.push(column);
            self.value.push(value);
        }
        self.right.push(right);
        row
    }
}

/// How often `k` stands for a lattice point: once for zero, twice for `k` and `-k`.
pub(crate) fn multiplicity(k: usize) -> f64 {
    if k == 0 { 1.0 } else { 2.0 }
}

impl Programme {
    fn last(&self) -> usize {
        self.losses.len() - 1
    }

    /// What the unknown of `k` is measured in: noise that decays by `e^epsilon` over one sensitivity has unknowns of one size.
    fn unit(&self, k: usize) -> f64 {
        (-self.epsilon * k as f64 / self.steps as f64).exp()
    }

    /// The loss of noise proportional to the units, by which the losses are divided to make the programme one of ordinary numbers.
    fn loss_unit(&self) -> f64 {
        let sum =
            |f: &dyn Fn(usize) -> f64| (0..=self.last()).map(|k| multiplicity(k) * self.unit(k) * f(k)).sum::<f64>();
        let mean = sum(&|k| self.losses[k].abs()) / sum(&|_| 1.0);
        if mean > 0.0 && mean.is_finite() { mean } else { 1.0 }
    }

    /// The pairs `(shift, i)` that are tested. Only `i > -j/2`, where `i + j` is further from zero than `i`.
    fn tests(&self, shape: Shape) -> Vec<(usize, i64)> {
        let (whole, last) = (self.steps, self.last() as i64);
        let inner = |shift: usize| (shift as i64 - 1) / 2;
        let mut tests = Vec::new();
        if let Shape::Any { window, stride } = shape {
            let window = window as i64;
            for shift in (1..whole).step_by(stride) {
                tests.extend((-inner(shift).min(window)..=window.min(last)).map(|i| (shift, i)));
            }
        }
        tests.extend((-inner(whole).min(last)..=last).map(|i| (whole, i)));
        tests
    }

    /// # Errors
    /// If the solver gives up without anything that is near a solution.
    pub(crate) fn solve(&self, shape: Shape) -> Result<Solution, LimitError> {
        let growth = self.epsilon.exp();
        let (last, tests) = (self.last(), self.tests(shape));
        let unknowns = last + 1 + tests.len();
        let mut rows = Rows::default();
        rows.add((0..=last).map(|k| (k, multiplicity(k) * self.unit(k))), 1.0);
        let first_test = rows.right.len();
        for (t, &(shift, i)) in tests.iter().enumerate() {
            let (near, far) = (i.unsigned_abs() as usize, (i + shift as i64).unsigned_abs() as usize);
            let beside = (far <= last).then(|| (far, -growth * self.unit(far) / self.unit(near)));
            rows.add([(near, 1.0), (last + 1 + t, -1.0)].into_iter().chain(beside), 0.0);
        }
        let shifts: Vec<usize> = tests.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).collect();
        let first_total = rows.right.len();
        let mut t = 0;
        for same in tests.chunk_by(|a, b| a.0 == b.0) {
            let share = |i: i64| self.unit(i.unsigned_abs() as usize) / self.delta;
            rows.add(same.iter().enumerate().map(|(n, &(_, i))| (last + 1 + t + n, share(i))), 1.0);
            t += same.len();
        }
        if matches!(shape, Shape::Decreasing) {
            for k in 0..last {
                rows.add([(k, -1.0), (k + 1, self.unit(k + 1) / self.unit(k))], 0.0);
            }
        }
        for x in 0..unknowns {
            rows.add([(x, -1.0)], 0.0);
        }
        let loss_unit = self.loss_unit();
        let mut cost: Vec<f64> =
            (0..=last).map(|k| multiplicity(k) * self.unit(k) * self.losses[k] / loss_unit).collect();
        cost.resize(unknowns, 0.0);
        let (x, z) = interior_point(rows, &cost)?;
        let excess_of = |t: usize| (tests[t].1, x[last + 1 + t] * self.unit(tests[t].1.unsigned_abs() as usize));
        let price_of = |t: usize| {
            let unit = self.unit(tests[t].1.unsigned_abs() as usize);
            Flow { shift: tests[t].0, from: tests[t].1, price: z[first_test + t] / unit * loss_unit }
        };
        Ok(Solution {
            probabilities: (0..=last).map(|k| x[k] * self.unit(k)).collect(),
            excesses: (0..tests.len()).filter(|&t| tests[t].0 == self.steps).map(excess_of).collect(),
            level: -z[0] * loss_unit,
            flows: (0..tests.len()).map(price_of).collect(),
            delta_prices: shifts
                .iter()
                .enumerate()
                .map(|(n, &s)| (s, z[first_total + n] / self.delta * loss_unit))
                .collect(),
        })
    }
}

/// `x` and the prices of the rows of `minimise cost x, A x <= b`.
fn interior_point(rows: Rows, cost: &[f64]) -> Result<(Vec<f64>, Vec<f64>), LimitError> {
    let unknowns = cost.len();
    let count = rows.right.len();
    let matrix = CscMatrix::new_from_triplets(count, unknowns, rows.row, rows.column, rows.value);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .max_iter(200)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .map_err(|error| LimitError::NotSolved(error.to_string()))?;
    let cones = [ZeroConeT(1), NonnegativeConeT(count - 1)];
    let quadratic = CscMatrix::zeros((unknowns, unknowns));
    let mut solver = DefaultSolver::new(&quadratic, cost, &matrix, &rows.right, &cones, settings)
        .map_err(|error| LimitError::NotSolved(error.to_string()))?;
    solver.solve();
    let solution = solver.solution;
    // Whatever came nearest is worth certifying; an infeasible programme has no such thing.
    let usable = !matches!(
        solution.status,
        SolverStatus::PrimalInfeasible
            | SolverStatus::DualInfeasible
            | SolverStatus::AlmostPrimalInfeasible
            | SolverStatus::AlmostDualInfeasible
    );
    if usable && solution.x.iter().chain(&solution.z).all(|value| value.is_finite()) {
        Ok((solution.x, solution.z))
    } else {
        Err(LimitError::NotSolved(format!("the solver ended with {}", solution.status)))
    }
}
