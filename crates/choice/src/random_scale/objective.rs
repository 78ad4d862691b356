//! What an optimisation of the scale makes small, for every metric.
//!
//! **Two points are enough for all of them.** With `M(x) = P[|X| > x] = E[e^(-x T)]`, an expected
//! loss is linear in the distribution of `T`; the entropy is a concave function of the density, and
//! so of that distribution; and the expected maximum of `k` independent errors,
//! `integral of 1 - (1 - M)^k`, is concave as well, because `1 - (1 - m)^k` is. The distributions
//! that keep `epsilon` are given by one linear inequality besides the total mass, so that each of
//! them is a mixture of such with two points at most (Winkler, *Extreme points of moment sets*,
//! 1988, Theorem 2.1): a concave function is least at one of these. For a quantile the same holds
//! of the probability beyond it. So erratum R3 extends to every metric here, Table 1's entropy too.
//!
//! **A linear floor.** By concavity, too, `h(X) >= E[h(X | T)] = E[1 + ln(2/T)]`, and the expected
//! maximum is at least `E[H_k/T]` with `H_k = 1 + 1/2 + ... + 1/k`: linear programmes, whose dual
//! certificates bound the concave function from below. Both are equalities where `T` has one value,
//! so that where the programme has Laplace noise for its solution, Laplace noise is the best.

use super::ConditionalLoss;
use super::estimate::{Estimate, to_infinity};
use crate::metric::Metric;
use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::rounding::{add_down, div_down};

/// What is made small.
#[derive(Clone, Debug, PartialEq)]
pub enum Objective {
    /// An expected loss.
    Expected(ConditionalLoss),
    /// The differential entropy.
    Entropy,
    /// The least `x` with `M(x)` at most this.
    Quantile(f64),
    /// The expected maximum of so many independent errors.
    Maximum(u32),
}

impl Objective {
    /// What a metric asks for of each of so many real numbers, or integers; `None` where that is
    /// not known: Shannon's entropy of rounded noise, and the maximum of several integer errors.
    pub fn of(metric: &Metric, dimension: u32, integer: bool) -> Option<Self> {
        let expected = |loss: PiecewiseLoss| {
            Objective::Expected(if integer {
                ConditionalLoss::Rounded(loss)
            } else {
                ConditionalLoss::Real(loss)
            })
        };
        Some(match metric {
            Metric::Maximum if dimension > 1 => {
                return (!integer).then_some(Objective::Maximum(dimension));
            }
            Metric::MeanAbsolute | Metric::Maximum => expected(PiecewiseLoss::absolute()),
            Metric::RootMeanSquare => expected(PiecewiseLoss::square()),
            Metric::Loss(loss) => expected(loss.clone()),
            Metric::Usefulness(t) => Objective::Expected(ConditionalLoss::Exceedance(if integer {
                t.floor() + 0.5
            } else {
                *t
            })),
            Metric::Quantile(q) => Objective::Quantile(1.0 - q),
            // All of k stay within t if P[|X| <= t] = q^(1/k).
            Metric::MaximumQuantile(q) => {
                Objective::Quantile(-(q.ln() / f64::from(dimension)).exp_m1())
            }
            Metric::Entropy => return (!integer).then_some(Objective::Entropy),
        })
    }

    /// The linear programme whose optimum is a floor; `None` for a quantile.
    pub(super) fn linear(&self) -> Option<ConditionalLoss> {
        match self {
            Objective::Expected(loss) => Some(loss.clone()),
            Objective::Entropy => Some(ConditionalLoss::Entropy),
            Objective::Maximum(copies) => {
                // The smallest terms first, rounded down.
                let harmonic = (1..=*copies)
                    .rev()
                    .fold(0.0, |sum, i| add_down(sum, div_down(1.0, f64::from(i))));
                PiecewiseLoss::table(&[(0.0, 0.0), (1.0, harmonic)]).ok().map(ConditionalLoss::Real)
            }
            Objective::Quantile(_) => None,
        }
    }

    /// Its value for a distribution; `unit` is an inverse scale of the right size.
    pub(super) fn estimate(&self, noise: &Estimate, unit: f64) -> f64 {
        let tail = |x: f64| noise.at(x).0;
        let integral = |f: &dyn Fn(f64) -> f64| to_infinity(f, 0.0, 1.0 / unit);
        match self {
            Objective::Expected(ConditionalLoss::Exceedance(x)) => tail(*x),
            Objective::Expected(ConditionalLoss::Entropy) | Objective::Entropy => {
                let surprise = |x: f64| {
                    let density = noise.at(x).1;
                    if density > 0.0 { -density * (0.5 * density).ln() } else { 0.0 }
                };
                integral(&surprise)
            }
            Objective::Expected(ConditionalLoss::Real(loss)) => {
                let square = if loss.quadratic() > 0.0 {
                    loss.quadratic() * integral(&|x| 2.0 * x * tail(x))
                } else {
                    0.0
                };
                let hinges = loss.hinges().iter().map(|(knot, change)| {
                    change.midpoint().0 * to_infinity(tail, *knot, 1.0 / unit)
                });
                loss.constant() + square + hinges.sum::<f64>()
            }
            Objective::Expected(ConditionalLoss::Rounded(loss)) => rounded(loss, tail, unit),
            Objective::Quantile(outside) => {
                let (mut low, mut high) = (0.0, 1.0 / unit);
                while tail(high) > *outside && high < 1e300 {
                    (low, high) = (high, 2.0 * high);
                }
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if tail(middle) > *outside { low = middle } else { high = middle }
                }
                high
            }
            Objective::Maximum(copies) => {
                let copies = f64::from(*copies);
                integral(&|x| -(copies * (-tail(x).min(1.0)).ln_1p()).exp_m1())
            }
        }
    }
}

/// The expectation of a loss of the rounded error: the sum of `(l(n + 1) - l(n)) M(n + 1/2)`, term
/// by term over a few lengths of the noise, and by an integral beyond.
fn rounded(loss: &PiecewiseLoss, tail: impl Fn(f64) -> f64, unit: f64) -> f64 {
    let last = (30.0 / unit).ceil().clamp(20.0, 400.0);
    let value = |n: f64| loss.at(n).estimate();
    let near: f64 = (0..last as u32)
        .map(|n| (value(f64::from(n) + 1.0) - value(f64::from(n))) * tail(f64::from(n) + 0.5))
        .sum();
    let slope = |x: f64| value(x + 0.5) - value(x - 0.5);
    value(0.0) + near + to_infinity(|x| slope(x) * tail(x), last, 1.0 / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laplace_noise_has_its_closed_forms() {
        let laplace = Estimate::Points(vec![(2.0, 1.0)]);
        for (metric, dimension, truth) in [
            ("l1", 1, 0.5),
            ("l2", 1, 0.5),
            ("entropy", 1, 1.0),
            ("usefulness:0.3", 1, (-0.6f64).exp()),
            ("quantile:0.9", 1, 0.5 * 10f64.ln()),
            ("max", 3, 0.5 * (1.0 + 0.5 + 1.0 / 3.0)),
            ("max:0.5", 2, -0.5 * (1.0 - 0.5f64.sqrt()).ln()),
        ] {
            let metric: Metric = metric.parse().expect("a metric");
            let objective = Objective::of(&metric, dimension, false).expect("known");
            let found = objective.estimate(&laplace, 2.0);
            assert!((found / truth - 1.0).abs() < 1e-8, "{metric}: {found} {truth}");
        }
        // Rounded: the sum of e^(-2 (n + 1/2)).
        let integers = Objective::of(&Metric::MeanAbsolute, 1, true).expect("known");
        let truth = (-1f64).exp() / (1.0 - (-2f64).exp());
        assert!((integers.estimate(&laplace, 2.0) / truth - 1.0).abs() < 1e-10);
        assert_eq!(Objective::of(&Metric::Entropy, 1, true), None);
        assert_eq!(Objective::of(&Metric::Maximum, 2, true), None);
    }
}
