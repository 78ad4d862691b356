//! What a Laplace draw costs once its inverse scale is known.

use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::{Bounds, Enclosure};

/// `c(t)`: the expectation of a loss of `|X|` for Laplace noise of inverse scale `t`. It falls with
/// `t`, as the loss grows with the error.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionalLoss {
    /// `P[|X| > x] = e^(-t x)`.
    Exceedance(f64),
    /// `c + 2 q/t^2 + sum of s_i e^(-t x_i)/t`, hinge by hinge.
    Real(PiecewiseLoss),
    /// The same for `X` rounded to the integers, where `P[|N| > n] = e^(-t (n + 1/2))`.
    Rounded(PiecewiseLoss),
    /// `1 + ln(2/t)`, the differential entropy once `t` is known. It is no loss and can be
    /// negative; its expectation is a lower bound of the entropy of the mixture.
    Entropy,
}

impl ConditionalLoss {
    /// What `c` is never below: zero, but for the entropy.
    pub(super) fn least(&self) -> f64 {
        match self {
            ConditionalLoss::Exceedance(_)
            | ConditionalLoss::Real(_)
            | ConditionalLoss::Rounded(_) => 0.0,
            ConditionalLoss::Entropy => f64::NEG_INFINITY,
        }
    }

    /// `c(t)` for `t > 0`.
    pub fn at<E: Enclosure>(&self, t: &E) -> E {
        let decay = |x: f64| (-(t.clone() * t.exactly(x))).exp();
        let carried = |bounds: Bounds| {
            if bounds.is_exact() {
                t.exactly(bounds.lower())
            } else {
                t.between(bounds.lower(), bounds.upper())
            }
        };
        match self {
            ConditionalLoss::Exceedance(x) => decay(*x),
            ConditionalLoss::Entropy => t.exactly(1.0) + t.exactly(2.0).ln() - t.clone().ln(),
            ConditionalLoss::Real(loss) => {
                let mut sum = t.exactly(loss.constant());
                if loss.quadratic() > 0.0 {
                    sum = sum + t.exactly(2.0 * loss.quadratic()) / (t.clone() * t.clone());
                }
                for (knot, change) in loss.hinges() {
                    let hinge = if *knot == 0.0 { t.exactly(1.0) } else { decay(*knot) };
                    sum = sum + carried(change.bounds()) * hinge / t.clone();
                }
                sum
            }
            ConditionalLoss::Rounded(loss) => {
                // 1 - e^-t
                let gap = -((-t.clone()).exp_m1());
                let mut sum = t.exactly(loss.constant());
                if loss.quadratic() > 0.0 {
                    // The sum of (2n + 1) e^(-t (n + 1/2)).
                    let twice = t.exactly(2.0) - gap.clone();
                    sum = sum
                        + t.exactly(loss.quadratic()) * decay(0.5) * twice
                            / (gap.clone() * gap.clone());
                }
                for (knot, change) in loss.hinges() {
                    let next = knot.ceil();
                    let mut hinge = decay(next + 0.5) / gap.clone();
                    if next > *knot {
                        hinge = hinge + (t.exactly(next) - t.exactly(*knot)) * decay(next - 0.5);
                    }
                    sum = sum + carried(change.bounds()) * hinge;
                }
                sum
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::Wide;

    #[test]
    fn rounding_is_the_sum_over_the_integers() {
        let table = PiecewiseLoss::table(&[(0.25, 1.0), (2.5, 2.0), (4.0, 9.0)]).expect("valid");
        for t in [0.05f64, 0.7, 3.0] {
            for loss in [PiecewiseLoss::absolute(), PiecewiseLoss::square(), table.clone()] {
                let mass = |n: u32| {
                    let beyond = |n: f64| (-t * (n + 0.5)).exp();
                    if n == 0 {
                        1.0 - beyond(0.0)
                    } else {
                        beyond(f64::from(n) - 1.0) - beyond(f64::from(n))
                    }
                };
                let plain: f64 =
                    (0..3000).map(|n| mass(n) * loss.at(f64::from(n)).estimate()).sum();
                let closed = ConditionalLoss::Rounded(loss.clone()).at(&Wide::from(t)).bounds();
                assert!(
                    (closed.estimate() / plain - 1.0).abs() < 1e-11,
                    "{t} {loss:?}: {closed:?} {plain}"
                );
            }
        }
    }

    #[test]
    fn the_moments_of_laplace_noise_are_met() {
        let t = Wide::from(2.5);
        assert!(ConditionalLoss::Real(PiecewiseLoss::absolute()).at(&t).bounds().contains(0.4));
        assert!(ConditionalLoss::Real(PiecewiseLoss::square()).at(&t).bounds().contains(0.32));
        let tail = ConditionalLoss::Exceedance(0.1).at(&t).bounds();
        assert!((tail.estimate() - (-0.25f64).exp()).abs() < 1e-15);
    }
}
