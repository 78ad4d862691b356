//! The linear programme of the least loss on a lattice.
//!
//! Unknowns are the probabilities `p_k` of `k` and of `-k`, for `k = 0, ..., n`, and for each shift
//! `j` the excesses `s_ij`:
//!
//! - minimise `p_0 l_0 + 2 (p_1 l_1 + ... + p_n l_n)`
//! - with `p_0 + 2 (p_1 + ... + p_n) = 1`,
//! - `s_ij >= p_|i| - e^epsilon p_|i+j|`, `s_ij >= 0`, and for each `j`
//!   `sum over i of s_ij <= delta`.
//!
//! The solution is approximate and proves nothing: what is made of it is certified in
//! `certificate.rs` (a lower bound) and by the mechanism that is made of its probabilities (an
//! upper bound).

use crate::limit::LimitError;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};

/// The data of the programme.
#[derive(Clone, Debug)]
pub(crate) struct Programme {
    /// How many lattice steps the sensitivity has.
    pub steps: usize,
    pub epsilon: f64,
    pub delta: f64,
    /// `l_k`, up to the last knot that is looked at on its own.
    pub losses: Vec<f64>,
    /// The loss of all that lies beyond.
    pub beyond: f64,
}

/// Which noise is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Not increasing away from zero, and zero beyond the last knot. The shift by the whole
    /// sensitivity is then the worst (see [`reticent_mechanisms::Tabulated`]), and the only one.
    Decreasing,
    /// Any. A test of the guarantee that is left out lowers the optimum, so that it stays a bound:
    ///
    /// - Of the shifts below the whole sensitivity every `stride`-th is tested, for `|i|` up to
    ///   `window` only. (Those tests link the flat top of the noise with the step beside it. From
    ///   there on the whole sensitivity leads from each step to the next, and in the cases that
    ///   were tried others were of use only where `delta` is above a hundredth.)
    /// - What lies beyond the last knot is one unknown `q` a side, at its least loss, with one test
    ///   for all: `p_(n-m+1) + ... + p_n + q <= e^epsilon q`.
    Any { window: usize, stride: usize },
}

/// A test of the guarantee, at the shift `shift`, that what is at `from` is at most `e^epsilon`
/// times what is at `from + shift`; and its price.
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
    /// The loss.
    pub value: f64,
    /// The price of the total probability.
    pub level: f64,
    pub flows: Vec<Flow>,
    /// The price of `delta`, by shift.
    pub delta_prices: Vec<(usize, f64)>,
}

/// Rows of a sparse matrix `A` and right-hand sides of `A x <= b`, the first row an equality.
#[derive(Default)]
pub(crate) struct Rows {
    row: Vec<usize>,
    column: Vec<usize>,
    value: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    pub(crate) fn add(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, right: f64) {
        let row = self.right.len();
        for (column, value) in entries {
            self.row.push(row);
            self.column.push(column);
            self.value.push(value);
        }
        self.right.push(right);
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

    /// What the unknown of `k` is measured in: noise that decays by `e^epsilon` over one
    /// sensitivity has unknowns of one size.
    fn unit(&self, k: usize) -> f64 {
        (-self.epsilon * k as f64 / self.steps as f64).exp()
    }

    /// The loss of noise proportional to the units, by which the losses are divided to make the
    /// programme one of ordinary numbers.
    fn loss_unit(&self) -> f64 {
        let sum = |f: &dyn Fn(usize) -> f64| {
            (0..=self.last()).map(|k| multiplicity(k) * self.unit(k) * f(k)).sum::<f64>()
        };
        let mean = sum(&|k| self.losses[k].abs()) / sum(&|_| 1.0);
        if mean > 0.0 && mean.is_finite() { mean } else { 1.0 }
    }

    /// The pairs `(shift, i)` that are tested.
    fn tests(&self, shape: Shape) -> Vec<(usize, i64)> {
        let (whole, last) = (self.steps, self.last() as i64);
        // From -m/2 on, i + m is further from zero than i.
        let inner = (whole as i64 - 1) / 2;
        match shape {
            Shape::Decreasing => (-inner.min(last)..=last).map(|i| (whole, i)).collect(),
            Shape::Any { window, stride } => {
                let window = (window as i64).min(last);
                let short = (1..whole)
                    .step_by(stride)
                    .flat_map(|shift| (-window..=window).map(move |i| (shift, i)));
                let long = (-inner.max(window).min(last)..=last - whole as i64).map(|i| (whole, i));
                short.chain(long).filter(|&(shift, i)| (i + shift as i64).abs() <= last).collect()
            }
        }
    }

    /// # Errors
    /// If the solver gives up without anything that is near a solution.
    pub(crate) fn solve(&self, shape: Shape) -> Result<Solution, LimitError> {
        let (last, tests) = (self.last(), self.tests(shape));
        let open = matches!(shape, Shape::Any { .. });
        let layout = Layout::new(last, &tests);
        let mut rows = Rows::default();
        let all = (0..=last).map(|k| (k, multiplicity(k) * self.unit(k)));
        rows.add(all.chain(open.then(|| (layout.beyond, 2.0 * self.unit(last)))), 1.0);
        self.add_tests(&mut rows, &tests, &layout, open);
        if open {
            let window = (last + 1).saturating_sub(self.steps)..=last;
            let sum = window.map(|k| (k, self.unit(k) / self.unit(last)));
            rows.add(
                sum.chain([
                    (layout.beyond, 1.0 - self.epsilon.exp()),
                    (layout.beyond_excess, -1.0),
                ]),
                0.0,
            );
        } else {
            for k in 0..last {
                rows.add([(k, -1.0), (k + 1, self.unit(k + 1) / self.unit(k))], 0.0);
            }
        }
        for x in 0..layout.unknowns {
            rows.add([(x, -1.0)], 0.0);
        }
        let loss_unit = self.loss_unit();
        let mut cost: Vec<f64> = (0..=last)
            .map(|k| multiplicity(k) * self.unit(k) * self.losses[k] / loss_unit)
            .collect();
        cost.resize(layout.unknowns, 0.0);
        if open {
            cost[layout.beyond] = 2.0 * self.unit(last) * self.beyond / loss_unit;
        } else {
            // Unknowns of no use are kept at zero.
            (cost[layout.beyond], cost[layout.beyond_excess]) = (1.0, 1.0);
        }
        let (x, z) = interior_point(rows, &cost)?;
        let unit_of = |t: usize| self.unit(tests[t].1.unsigned_abs() as usize);
        let of_test = |t: usize| {
            let (shift, from) = tests[t];
            Flow { shift, from, price: z[layout.first_test + t] / unit_of(t) * loss_unit }
        };
        let of_shift = |(n, &shift): (usize, &usize)| {
            (shift, z[layout.first_total + n] / self.delta * loss_unit)
        };
        Ok(Solution {
            probabilities: (0..=last).map(|k| x[k] * self.unit(k)).collect(),
            excesses: (0..tests.len())
                .filter(|&t| tests[t].0 == self.steps)
                .map(|t| (tests[t].1, x[layout.first_excess + t] * unit_of(t)))
                .collect(),
            value: cost.iter().zip(&x).map(|(cost, x)| cost * x).sum::<f64>() * loss_unit,
            level: -z[0] * loss_unit,
            flows: (0..tests.len()).map(of_test).collect(),
            delta_prices: layout.shifts.iter().enumerate().map(of_shift).collect(),
        })
    }

    /// A row for each test, and one for each shift that adds up its excesses.
    fn add_tests(&self, rows: &mut Rows, tests: &[(usize, i64)], layout: &Layout, open: bool) {
        let (growth, last) = (self.epsilon.exp(), self.last());
        for (t, &(shift, i)) in tests.iter().enumerate() {
            let (here, there) =
                (i.unsigned_abs() as usize, (i + shift as i64).unsigned_abs() as usize);
            let other =
                (there <= last).then(|| (there, -growth * self.unit(there) / self.unit(here)));
            rows.add([(here, 1.0), (layout.first_excess + t, -1.0)].into_iter().chain(other), 0.0);
        }
        let share = |k: usize| self.unit(k) / self.delta;
        let mut excess = layout.first_excess;
        for same in tests.chunk_by(|a, b| a.0 == b.0) {
            let excesses =
                (excess..).zip(same).map(|(x, &(_, i))| (x, share(i.unsigned_abs() as usize)));
            let open_end =
                (open && same[0].0 == self.steps).then(|| (layout.beyond_excess, share(last)));
            rows.add(excesses.chain(open_end), 1.0);
            excess += same.len();
        }
    }
}

/// Where things are: among the unknowns the probabilities, what lies beyond, its excess, and the
/// excesses of the tests; among the rows the total, the tests, and the sums of excesses by shift.
struct Layout {
    beyond: usize,
    beyond_excess: usize,
    first_excess: usize,
    unknowns: usize,
    first_test: usize,
    first_total: usize,
    shifts: Vec<usize>,
}

impl Layout {
    fn new(last: usize, tests: &[(usize, i64)]) -> Self {
        Layout {
            beyond: last + 1,
            beyond_excess: last + 2,
            first_excess: last + 3,
            unknowns: last + 3 + tests.len(),
            first_test: 1,
            first_total: 1 + tests.len(),
            shifts: tests.chunk_by(|a, b| a.0 == b.0).map(|same| same[0].0).collect(),
        }
    }
}

/// `x` and the prices of the rows of `minimise cost x, A x <= b`.
pub(crate) fn interior_point(rows: Rows, cost: &[f64]) -> Result<(Vec<f64>, Vec<f64>), LimitError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn programme(steps: usize, epsilon: f64, delta: f64) -> Programme {
        let losses: Vec<f64> = (0..=60 * steps).map(|k| k as f64).collect();
        Programme { steps, epsilon, delta, beyond: losses.len() as f64, losses }
    }

    #[test]
    fn for_a_count_both_shapes_give_the_discrete_laplace_noise_cut_off() {
        // With D = 1 the optimum decays by e^epsilon at each step and ends where delta is left.
        let (epsilon, delta) = (0.6f64, 1e-4);
        for shape in [Shape::Decreasing, Shape::Any { window: 10, stride: 1 }] {
            let solution = programme(1, epsilon, delta).solve(shape).expect("solvable");
            for k in 0..8 {
                let ratio = solution.probabilities[k] / solution.probabilities[k + 1];
                assert!((ratio / epsilon.exp() - 1.0).abs() < 1e-5, "{shape:?} {k}: {ratio}");
            }
            assert!(solution.probabilities[25] < 1e-9, "{shape:?}");
            let q = (-epsilon).exp();
            let pure = 2.0 * q / (1.0 - q * q);
            assert!(
                solution.value < pure && solution.value > 0.99 * pure,
                "{shape:?}: {}",
                solution.value
            );
        }
    }

    #[test]
    fn excesses_are_where_and_what_the_guarantee_allows() {
        let solution = programme(3, 0.5, 1e-3).solve(Shape::Decreasing).expect("solvable");
        let p =
            |k: i64| solution.probabilities.get(k.unsigned_abs() as usize).copied().unwrap_or(0.0);
        let total: f64 = solution.excesses.iter().map(|&(_, excess)| excess).sum();
        assert!((total / 1e-3 - 1.0).abs() < 1e-5, "{total}");
        for &(i, excess) in &solution.excesses {
            assert!(excess >= p(i) - 0.5f64.exp() * p(i + 3) - 1e-9, "{i}");
        }
        assert!(solution.probabilities.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9));
        let mass: f64 =
            solution.probabilities.iter().enumerate().map(|(k, p)| multiplicity(k) * p).sum();
        assert!((mass - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_tested_less_costs_less() {
        let programme = programme(4, 1.5, 1e-3);
        let value = |window: usize, stride: usize| {
            programme.solve(Shape::Any { window, stride }).expect("solvable").value
        };
        let decreasing = programme.solve(Shape::Decreasing).expect("solvable").value;
        let (all, some, fewer) = (value(12, 1), value(2, 1), value(2, 3));
        let rounding = 1.0 + 1e-8;
        assert!(
            fewer < 0.99 * some && some <= all * rounding && all <= decreasing * rounding,
            "{fewer} {some} {all} {decreasing}"
        );
    }
}
