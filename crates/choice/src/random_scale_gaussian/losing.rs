//! The outputs of a Gaussian mixture that lose more than `epsilon`, estimated.
//!
//! Whatever set this finds, the constraint that it makes is a true one: an error in it makes a
//! bound weaker and never wrong.

use super::loss::{Derivatives, tail};
use reticent_numerics::normal::normal_sf;
use reticent_numerics::{Bounds, Enclosure};

/// Points at which the loss is looked at, on a logarithmic scale.
const POINTS: u32 = 200;

/// A set of outputs: disjoint intervals from left to right, of which the last may have no end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Losing {
    intervals: Vec<(f64, Option<f64>)>,
}

/// `k_A(t) = sum of a_i Q(u_i t)`.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    terms: Vec<(Bounds, Bounds)>,
}

impl Losing {
    /// The outputs beyond a point.
    pub(super) fn beyond(point: f64) -> Self {
        Losing { intervals: vec![(point, None)] }
    }

    /// Those at which `ln f(x) - ln f(x + D) > epsilon`. A component alone loses
    /// `(x + D/2) D/sigma^2`, so that only `x + D/2` between `epsilon sigma^2/D` for the least and
    /// the largest `sigma` is open; beyond all lose more.
    pub(super) fn of(mixture: &[(f64, f64)], sensitivity: f64, epsilon: f64) -> Self {
        let sigmas = || mixture.iter().map(|part| part.0);
        let (least, most) = (sigmas().fold(f64::INFINITY, f64::min), sigmas().fold(0.0, f64::max));
        let half = 0.5 * sensitivity;
        let edge = |sigma: f64| epsilon * sigma * sigma / sensitivity;
        let (from, to) = (edge(least), edge(most).max(edge(least) * (1.0 + 1e-12)));
        let mut points: Vec<f64> = (0..=POINTS)
            .map(|i| from * (to / from).powf(f64::from(i) / f64::from(POINTS)) - half)
            .collect();
        // A narrow component makes a peak that the logarithmic scale may step over.
        for (sigma, _) in mixture.iter().filter(|part| part.0 < half) {
            let near = (-20..=20).map(|i| 0.3 * f64::from(i) * sigma);
            points.extend(near.filter(|x| *x > from - half && *x < to - half));
        }
        points.sort_by(f64::total_cmp);
        let excess =
            |x: f64| ln_density(mixture, x) - ln_density(mixture, x + sensitivity) - epsilon;
        let mut intervals: Vec<(f64, Option<f64>)> = Vec::new();
        let mut before: Option<(f64, f64)> = None;
        for x in points {
            let value = excess(x);
            if let Some((last, loss)) = before
                && (loss > 0.0) != (value > 0.0)
            {
                let (mut low, mut high) = (last, x);
                for _ in 0..50 {
                    let middle = 0.5 * (low + high);
                    if (excess(middle) > 0.0) == (loss > 0.0) {
                        low = middle
                    } else {
                        high = middle
                    }
                }
                if value > 0.0 {
                    intervals.push((high, None));
                } else if let Some(open) = intervals.last_mut() {
                    open.1 = Some(high);
                }
            } else if before.is_none() && value > 0.0 {
                intervals.push((x, None));
            }
            before = Some((x, value));
        }
        if intervals.last().is_none_or(|last| last.1.is_some()) {
            intervals.push((to - half, None));
        }
        Losing { intervals }
    }

    /// `P(A) - e^epsilon P(A + D)` as a function of `t = 1/sigma`. `A` is as the intervals say, and
    /// `A + D` is enclosed.
    pub(super) fn kernel(&self, sensitivity: f64, epsilon: f64) -> Kernel {
        let moved = |x: f64| Bounds::exact(x) + Bounds::exact(sensitivity);
        let growth = Bounds::exact(epsilon).exp();
        let mut terms = Vec::new();
        for (from, to) in &self.intervals {
            terms.push((Bounds::ONE, Bounds::exact(*from)));
            terms.push((-growth, moved(*from)));
            if let Some(to) = to {
                terms.push((-Bounds::ONE, Bounds::exact(*to)));
                terms.push((growth, moved(*to)));
            }
        }
        Kernel { terms }
    }
}

impl Kernel {
    /// The kernel of a randomized test that says so with the probability `levels` on the cells that
    /// begin at `ends`, of which the last has no end: `sum of (p_i - p_(i-1)) k_i` for the sets of
    /// outputs beyond each end. Any probabilities make a true constraint.
    pub(super) fn of_test(ends: &[f64], levels: &[f64], sensitivity: f64, epsilon: f64) -> Self {
        let growth = Bounds::exact(epsilon).exp();
        let mut terms = Vec::new();
        let mut before = 0.0;
        for (end, level) in ends.iter().zip(levels) {
            if *level != before {
                let jump = Bounds::exact(*level) - Bounds::exact(before);
                let moved = Bounds::exact(*end) + Bounds::exact(sensitivity);
                terms.extend([(jump, Bounds::exact(*end)), (-(jump * growth), moved)]);
                before = *level;
            }
        }
        Kernel { terms }
    }

    /// The kernel with its derivatives, at a point or over a piece.
    pub(super) fn at(&self, t: Bounds) -> Derivatives {
        self.terms.iter().fold(Derivatives::ZERO, |sum, (factor, u)| sum.plus(*factor, tail(*u, t)))
    }

    /// Its values over a piece, which may begin at zero or have no end: of each tail, which is
    /// monotone, those at the ends or their limits.
    pub(super) fn values_over(&self, t: Bounds) -> Bounds {
        self.terms.iter().fold(Bounds::ZERO, |sum, (factor, u)| {
            let at = |t: f64| {
                if t.is_infinite() {
                    // Where the sign of u is open, anything.
                    if u.lower() > 0.0 {
                        Bounds::ZERO
                    } else if u.upper() < 0.0 {
                        Bounds::ONE
                    } else {
                        Bounds::new(0.0, 1.0)
                    }
                } else {
                    normal_sf(*u * Bounds::exact(t))
                }
            };
            sum + *factor * at(t.lower()).hull(at(t.upper()))
        })
    }

    /// Its expectation, estimated.
    pub(super) fn expectation(&self, mixture: &[(f64, f64)]) -> f64 {
        mixture.iter().map(|(sigma, weight)| weight * self.estimate(*sigma)).sum()
    }

    /// At one standard deviation, estimated.
    pub(super) fn estimate(&self, sigma: f64) -> f64 {
        let t = Bounds::exact(1.0 / sigma);
        let value = |(factor, u): &(Bounds, Bounds)| (*factor * normal_sf(*u * t)).estimate();
        self.terms.iter().map(value).sum()
    }
}

/// The `delta` of a mixture at `epsilon`, estimated.
pub(super) fn delta(mixture: &[(f64, f64)], sensitivity: f64, epsilon: f64) -> f64 {
    let losing = Losing::of(mixture, sensitivity, epsilon);
    losing.kernel(sensitivity, epsilon).expectation(mixture)
}

/// `ln` of the density, up to a constant.
fn ln_density(mixture: &[(f64, f64)], x: f64) -> f64 {
    let exponent = |sigma: f64| -0.5 * (x / sigma) * (x / sigma);
    let largest = mixture.iter().map(|part| exponent(part.0)).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = mixture
        .iter()
        .map(|(sigma, weight)| weight / sigma * (exponent(*sigma) - largest).exp())
        .sum();
    largest + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_mechanisms::{Distance, Epsilon, Mechanism, RandomScaleGaussianMechanism};

    #[test]
    fn the_estimate_is_the_certified_delta() {
        for mixture in [
            vec![(1.0, 1.0)],
            vec![(0.4, 1.0)],
            vec![(1.0, 0.5), (3.0, 0.5)],
            vec![(0.05, 0.2), (2.0, 0.8)],
            vec![(0.3, 0.3), (1.0, 0.3), (2.0, 0.3), (5.0, 0.1)],
        ] {
            for epsilon in [0.2, 1.0, 4.0] {
                let mechanism = RandomScaleGaussianMechanism::new(
                    mixture.clone(),
                    Distance::new(1.0).expect("valid"),
                    Epsilon::new(epsilon).expect("valid"),
                )
                .expect("valid");
                let truth = mechanism.delta(epsilon).expect("valid").estimate();
                let found = delta(&mixture, 1.0, epsilon);
                assert!(
                    (found / truth - 1.0).abs() < 1e-6 || truth < 1e-14,
                    "{mixture:?} {epsilon}: {found} {truth}"
                );
            }
        }
    }
}
