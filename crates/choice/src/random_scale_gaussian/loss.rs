//! What a Gaussian draw costs once its standard deviation is known.

use crate::metric::Metric;
use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::normal::{normal_density, normal_sf};
use reticent_numerics::{Bounds, Enclosure};

/// `c(t)`: the expectation of a loss of `|X|` for normal noise of standard deviation `1/t`. It
/// falls with `t`.
#[derive(Clone, Debug, PartialEq)]
pub enum SigmaLoss {
    /// `P[|X| > x] = 2 Q(t x)`.
    Exceedance(f64),
    /// `c + q/t^2 + sum of s_i E(|X| - x_i)_+`, hinge by hinge.
    Real(PiecewiseLoss),
}

/// A function at a point with its first two derivatives, or enclosures of them over a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derivatives {
    pub(super) value: Bounds,
    pub(super) first: Bounds,
    pub(super) second: Bounds,
}

impl Derivatives {
    pub(super) const ZERO: Derivatives =
        Derivatives { value: Bounds::ZERO, first: Bounds::ZERO, second: Bounds::ZERO };

    pub(super) fn plus(self, factor: Bounds, other: Derivatives) -> Self {
        Derivatives {
            value: self.value + factor * other.value,
            first: self.first + factor * other.first,
            second: self.second + factor * other.second,
        }
    }
}

/// `Q(u t)` as a function of `t`: the derivatives are `-u phi(u t)` and `u^3 t phi(u t)`.
pub(super) fn tail(u: Bounds, t: Bounds) -> Derivatives {
    let density = normal_density(u * t);
    Derivatives { value: normal_sf(u * t), first: -(u * density), second: u * u * u * t * density }
}

impl SigmaLoss {
    /// What a metric of one number asks for; `None` for an entropy or a quantile, which are no
    /// expected losses.
    pub fn of(metric: &Metric) -> Option<Self> {
        match metric {
            Metric::MeanAbsolute | Metric::Maximum => {
                Some(SigmaLoss::Real(PiecewiseLoss::absolute()))
            }
            Metric::RootMeanSquare => Some(SigmaLoss::Real(PiecewiseLoss::square())),
            Metric::Loss(loss) => Some(SigmaLoss::Real(loss.clone())),
            Metric::Usefulness(t) => Some(SigmaLoss::Exceedance(*t)),
            Metric::Entropy | Metric::Quantile(_) | Metric::MaximumQuantile(_) => None,
        }
    }

    /// `c(t)` and its derivatives. A hinge at `x` is `2 (phi(x t)/t - x Q(x t))` with the
    /// derivatives `-2 phi(x t)/t^2` and `phi(x t) (4/t^3 + 2 x^2/t)`.
    pub(super) fn at(&self, t: Bounds) -> Derivatives {
        let two = Bounds::exact(2.0);
        match self {
            SigmaLoss::Exceedance(x) => Derivatives::ZERO.plus(two, tail(Bounds::exact(*x), t)),
            SigmaLoss::Real(loss) => {
                let constant =
                    Derivatives { value: Bounds::exact(loss.constant()), ..Derivatives::ZERO };
                let inverse = Bounds::ONE / t;
                let square = Derivatives {
                    value: inverse * inverse,
                    first: -(two * inverse * inverse * inverse),
                    second: Bounds::exact(6.0) * (inverse * inverse) * (inverse * inverse),
                };
                let start = if loss.quadratic() > 0.0 {
                    constant.plus(Bounds::exact(loss.quadratic()), square)
                } else {
                    constant
                };
                loss.hinges().iter().fold(start, |sum, (knot, change)| {
                    let x = Bounds::exact(*knot);
                    let density = normal_density(x * t);
                    let cube = inverse * inverse * inverse;
                    let rest = density * inverse - x * normal_sf(x * t);
                    let hinge = Derivatives {
                        value: two * Bounds::new(rest.lower().max(0.0), rest.upper().max(0.0)),
                        first: -(two * density * inverse * inverse),
                        second: density * (Bounds::exact(4.0) * cube + two * x * x * inverse),
                    };
                    sum.plus(change.bounds(), hinge)
                })
            }
        }
    }

    /// `c` for a standard deviation, estimated.
    pub(super) fn estimate(&self, sigma: f64) -> f64 {
        self.at(Bounds::exact(1.0 / sigma)).value.estimate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_normal_noise_and_derivatives_by_differences() {
        let table = PiecewiseLoss::table(&[(0.5, 1.0), (2.0, 2.0), (3.0, 5.0)]).expect("valid");
        let root = (2.0 / std::f64::consts::PI).sqrt();
        for sigma in [0.2, 1.0, 7.0] {
            let l1 = SigmaLoss::Real(PiecewiseLoss::absolute()).estimate(sigma);
            let l2 = SigmaLoss::Real(PiecewiseLoss::square()).estimate(sigma);
            assert!(
                (l1 / (sigma * root) - 1.0).abs() < 1e-13
                    && (l2 / sigma / sigma - 1.0).abs() < 1e-13
            );
        }
        for loss in [
            SigmaLoss::Exceedance(0.7),
            SigmaLoss::Real(PiecewiseLoss::absolute()),
            SigmaLoss::Real(PiecewiseLoss::square()),
            SigmaLoss::Real(table),
        ] {
            for t in [0.3, 1.0, 4.0] {
                let h = 1e-4 * t;
                let at = |t: f64| loss.at(Bounds::exact(t));
                let (below, here, above) = (at(t - h), at(t), at(t + h));
                let first = (above.value.estimate() - below.value.estimate()) / (2.0 * h);
                let second = (above.first.estimate() - below.first.estimate()) / (2.0 * h);
                assert!((first / here.first.estimate() - 1.0).abs() < 1e-6, "{loss:?} {t}");
                assert!(
                    (second - here.second.estimate()).abs()
                        < 1e-5 * (here.second.estimate().abs() + here.first.estimate().abs() / t),
                    "{loss:?} {t}"
                );
            }
        }
    }
}
