//! Prefixes and ranges: workloads whose Gram matrix has a tridiagonal inverse.
//!
//! With `C = V^-1` tridiagonal and `M = Y^(1/2) V Y^(1/2)`, the optimal information matrix is
//!
//! `X = Y^(-1/2) M^(1/2) Y^(-1/2) = (2/pi) integral e^u (C + e^(2u) Y)^-1 du`,
//!
//! an integral of inverses of tridiagonal matrices, whose diagonals take `O(n)` operations. The
//! trapezoidal rule with step `h` is as good as exact: on an eigenvalue it is
//! `(1/pi) h sum_k sech(k h - c)`, which by Poisson's formula differs from 1 by at most
//! `2 sum_(m >= 1) sech(pi^2 m/h)`, for every `c`; leaving terms out makes it smaller. So a finite
//! sum, rounded down, bounds `tr M^(1/2)` from below, and with it the least error.

use super::optimum::MOST_STEPS;
use super::workload::{LinearWorkload, Tridiagonal};
use faer::Mat;
use reticent_numerics::rounding::{div_down, exp_up, mul_up};
use reticent_numerics::{Bounds, Enclosure};

/// The step of the trapezoidal rule: `4 exp(-pi^2/h) < 3e-17`.
const STEP: f64 = 0.25;

/// How far beyond the ends of the spectrum the rule goes: `exp(-TAIL)` is what it leaves out.
const TAIL: f64 = 22.0;

/// The iteration ends when the largest and the mean entry of the diagonal are so close.
const GAP: f64 = 1e-6;

/// The multipliers of a chain that are nearly the best.
pub(crate) struct Chain {
    inverse: Tridiagonal,
    /// `V` is this times the inverse of `inverse`.
    factor: f64,
    y: Vec<f64>,
    nodes: Vec<f64>,
}

impl Chain {
    /// The optimum of prefixes or ranges; none for other workloads.
    pub(crate) fn of(workload: &LinearWorkload) -> Option<Self> {
        let (inverse, factor) = workload.chain()?;
        let n = inverse.diagonal.len();
        let mut chain = Chain { inverse, factor, y: vec![1.0; n], nodes: Vec::new() };
        for _ in 0..MOST_STEPS {
            chain.place_nodes();
            let diagonal = chain.diagonal();
            let trace: f64 = diagonal.iter().zip(&chain.y).map(|(r, y)| r * y).sum();
            let sum: f64 = chain.y.iter().sum();
            let most = diagonal.iter().copied().fold(0.0, f64::max);
            if most * sum <= trace * (1.0 + GAP) {
                break;
            }
            chain.y.iter_mut().zip(&diagonal).for_each(|(y, r)| *y *= r * r);
        }
        chain.place_nodes();
        Some(chain)
    }

    /// The nodes of the rule: from the least to the largest eigenvalue of `Y^(-1/2) C Y^(-1/2)`, by
    /// rough bounds, and some way beyond.
    fn place_nodes(&mut self) {
        let n = self.y.len();
        // V_ii <= n^2/4 + 1 in units of `factor`; the trace of M bounds its largest eigenvalue.
        let least = 1.0 / ((n * n) as f64 * self.y.iter().sum::<f64>());
        let largest = 4.0 / self.y.iter().copied().fold(f64::INFINITY, f64::min);
        let (from, to) = (0.5 * least.ln() - TAIL, 0.5 * largest.ln() + TAIL);
        let count = ((to - from) / STEP).ceil() as usize;
        self.nodes = (0..=count).map(|k| ((from / STEP).floor() + k as f64) * STEP).collect();
    }

    /// The diagonal of `X` in units of `sqrt(factor)`.
    fn diagonal(&self) -> Vec<f64> {
        let n = self.y.len();
        let mut sums = vec![0.0; n];
        for &node in &self.nodes {
            let (weight, shift) =
                (2.0 * STEP / std::f64::consts::PI * node.exp(), (2.0 * node).exp());
            let pivots = Pivots::of(&self.inverse, &self.y, &shift);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += weight / pivots.denominator(i);
            }
        }
        sums
    }

    /// `X`, scaled to a largest diagonal entry of 1.
    ///
    /// In row `i` the entries of the inverse of a tridiagonal matrix follow from the diagonal one:
    /// each is `-beside/backward pivot` times the one before it.
    pub(crate) fn information(&self) -> Mat<f64> {
        let n = self.y.len();
        let mut x = Mat::zeros(n, n);
        for &node in &self.nodes {
            let (weight, shift) = (node.exp(), (2.0 * node).exp());
            let pivots = Pivots::of(&self.inverse, &self.y, &shift);
            let ratios: Vec<f64> =
                pivots.backward.iter().map(|pivot| -self.inverse.beside / pivot).collect();
            for i in 0..n {
                let mut entry = weight / pivots.denominator(i);
                x[(i, i)] += entry;
                for j in i + 1..n {
                    entry *= ratios[j];
                    // Nothing is left to add where the entries have decayed.
                    if entry < 1e-20 * weight {
                        break;
                    }
                    x[(j, i)] += entry;
                }
            }
        }
        let most = (0..n).map(|i| x[(i, i)]).fold(0.0, f64::max);
        Mat::from_fn(n, n, |i, j| x[(i.max(j), i.min(j))] / most)
    }

    /// A certified lower bound on the least `tr V X^-1` over all `X` with a diagonal of at most 1:
    /// `(tr M^(1/2))^2/sum y`, with `V = factor C^-1`.
    pub(crate) fn limit(&self) -> f64 {
        let shape =
            Tridiagonal { diagonal: self.inverse.diagonal.clone(), beside: self.inverse.beside };
        let y: Vec<Bounds> = self.y.iter().map(|&y| Bounds::exact(y)).collect();
        let pi = Bounds::ONE.pi();
        let mut trace = Bounds::ZERO;
        for &node in &self.nodes {
            let node = Bounds::exact(node);
            let shift = node.times_power_of_two(1).exp();
            let weight = Bounds::exact(2.0 * STEP) / pi * node.exp();
            let pivots = Pivots::of(&shape, &y, &shift);
            for (i, &y) in y.iter().enumerate() {
                // A matrix that is positive definite has a positive inverse: a bound that says less
                // is left out.
                let entry = weight * y / pivots.denominator(i);
                trace = trace + Bounds::exact(entry.lower().max(0.0));
            }
        }
        // 2 sum_m sech(pi^2 m/h) <= 4 e^(-pi^2/h)/(1 - e^(-pi^2/h)).
        let exponent = (pi * pi / Bounds::exact(STEP)).lower();
        let excess = mul_up(5.0, exp_up(-exponent));
        let trace = Bounds::exact(div_down(trace.lower(), 1.0 + excess.max(f64::EPSILON)));
        let sum = y.iter().fold(Bounds::ZERO, |sum, &y| sum + y);
        (Bounds::exact(self.factor) * trace.square() / sum).lower()
    }

    /// How far from the dual value the ideal strategy is: an estimate.
    #[cfg(test)]
    fn ratio(&self) -> f64 {
        let diagonal = self.diagonal();
        let trace: f64 = diagonal.iter().zip(&self.y).map(|(r, y)| r * y).sum();
        diagonal.iter().copied().fold(0.0, f64::max) * self.y.iter().sum::<f64>() / trace
    }
}

/// The pivots of `C + t Y` from both ends.
struct Pivots<E> {
    full: Vec<E>,
    forward: Vec<E>,
    backward: Vec<E>,
}

/// What pivots are computed in: `f64` to search, [`Bounds`] to prove.
trait Number:
    Clone
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + From<f64>
{
}

impl Number for f64 {}
impl Number for Bounds {}

impl<E: Number> Pivots<E> {
    fn of(inverse: &Tridiagonal, y: &[E], shift: &E) -> Self {
        let square = E::from(inverse.beside * inverse.beside);
        let full: Vec<E> = inverse
            .diagonal
            .iter()
            .zip(y)
            .map(|(&diagonal, y)| E::from(diagonal) + shift.clone() * y.clone())
            .collect();
        let run = |order: &mut dyn Iterator<Item = &E>| -> Vec<E> {
            let mut pivots: Vec<E> = Vec::with_capacity(full.len());
            for entry in order {
                let pivot = match pivots.last() {
                    Some(last) => entry.clone() - square.clone() / last.clone(),
                    None => entry.clone(),
                };
                pivots.push(pivot);
            }
            pivots
        };
        let forward = run(&mut full.iter());
        let mut backward = run(&mut full.iter().rev());
        backward.reverse();
        Pivots { full, forward, backward }
    }

    /// The inverse of the diagonal entry `i` of the inverse.
    fn denominator(&self, i: usize) -> E {
        self.forward[i].clone() + self.backward[i].clone() - self.full[i].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound of prefixes with `y = 1` is known: the singular values of the matrix of prefix
    /// sums are `1/(2 sin((2k - 1) pi/(4n + 2)))`.
    #[test]
    fn the_rule_gives_the_known_singular_values() {
        for n in [1usize, 2, 5, 64, 1000] {
            let workload = LinearWorkload::prefixes(n).expect("valid");
            let (inverse, factor) = workload.chain().expect("a chain");
            let mut chain = Chain { inverse, factor, y: vec![1.0; n], nodes: Vec::new() };
            chain.place_nodes();
            let singular = |k: usize| {
                let angle = (2 * k - 1) as f64 * std::f64::consts::PI / (4 * n + 2) as f64;
                0.5 / angle.sin()
            };
            let expected = (1..=n).map(singular).sum::<f64>().powi(2) / n as f64;
            let limit = chain.limit();
            assert!(limit <= expected * (1.0 + 1e-12), "{n}: {limit} {expected}");
            assert!(limit > expected * (1.0 - 1e-7), "{n}: {limit} {expected}");
        }
    }

    #[test]
    fn the_multipliers_are_nearly_the_best_for_every_size() {
        for n in [1usize, 2, 3, 16, 256, 4096] {
            for workload in [LinearWorkload::prefixes(n), LinearWorkload::ranges(n)] {
                let chain = Chain::of(&workload.expect("valid")).expect("a chain");
                assert!(chain.ratio() < 1.0 + 1e-4, "{n}: {}", chain.ratio());
            }
        }
    }
}
