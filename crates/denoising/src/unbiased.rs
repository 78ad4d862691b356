//! Unbiased risk, from an identity that each noise has for itself.
//!
//! Let `Y = theta + Z` and `rho` a rule. Then `E (rho(Y) - theta)^2 = E (rho(Y) - Y)^2 - v + 2 E[Z
//! rho(Y)]` with `v = E[Z^2]`, so that an unbiased estimate of the risk needs a function `h` with
//! `E h(Y) = E[Z rho(Y)]` for every `theta`. In terms of moment generating functions `h` is `rho`
//! with the multiplier `(ln E e^(uZ))'`. Hence:
//!
//! | noise | `(ln E e^(uZ))'` | `h(y)` | needs of `rho` |
//! |---|---|---|---|
//! | any, variance `v` | | `v * slope`, if `rho` is affine | affine |
//! | Gaussian | `sigma^2 u` | `sigma^2 rho'(y)` (Stein 1981) | no jumps |
//! | Laplace | `1/(1/b - u) - 1/(1/b + u)` | `int_0^inf e^(-w/b) (rho(y+w) - rho(y-w)) dw` | nothing |
//! | discrete Laplace | `sum_k q^k (e^(ku) - e^(-ku))` | `sum_(k>=1) q^k (rho(y+k) - rho(y-k))` | nothing |
//!
//! The last two are the identity of an infinitely divisible distribution:
//! `(ln E e^(uZ))' = sigma^2 u + int w e^(uw) L(dw)` with its Lévy measure `L`. For the Laplace
//! distribution `L(dw) = e^(-|w|/b) dw/|w|`. An equal form is `h = 2 b^2 E rho'(y + W)` with `W`
//! Laplace of scale `b`, since `int_z^inf t f(t) dt = 2 b^2 (f * f)(z)`. The average makes jumps
//! harmless: under Laplace noise a hard threshold has an unbiased risk, which under Gaussian noise
//! it has not.
//!
//! Other noises (generalized Gaussian, staircase, mixtures, discrete Gaussian) have no such `h`
//! that is known here, and get no estimate but for affine rules.
//!
//! # References
//! Stein, *Estimation of the mean of a multivariate normal distribution*, 1981. Steutel and van
//! Harn, *Infinite divisibility of probability distributions on the real line*, 2004.

use crate::release::{Release, RiskEstimate};
use crate::rule::PiecewiseLinear;
use crate::shape::Shape;

/// A rule with the `h` of a noise of scale 1.
#[derive(Debug)]
pub(crate) struct UnbiasedRisk<'a> {
    rule: &'a PiecewiseLinear,
    variance: f64,
    noise_times: NoiseTimes,
}

/// `h`, in the form that the noise gives it.
#[derive(Debug)]
enum NoiseTimes {
    Constant(f64),
    Slope,
    Exponential { ahead: Vec<f64>, behind: Vec<f64> },
    Geometric { scale: f64 },
}

impl<'a> UnbiasedRisk<'a> {
    /// `None` if no unbiased estimate is known for this rule under this noise.
    pub fn new(rule: &'a PiecewiseLinear, shape: &Shape) -> Option<Self> {
        let variance = shape.variance();
        if !variance.is_finite() {
            return None;
        }
        let noise_times = match (rule.constant_slope(), shape) {
            (Some(slope), _) => NoiseTimes::Constant(variance * slope),
            (None, Shape::Gaussian) => rule.is_continuous().then_some(NoiseTimes::Slope)?,
            (None, Shape::Laplace) => NoiseTimes::Exponential {
                ahead: averages_ahead(rule),
                behind: averages_behind(rule),
            },
            (None, Shape::DiscreteLaplace(noise)) => NoiseTimes::Geometric { scale: noise.scale() },
            _ => return None,
        };
        Some(UnbiasedRisk { rule, variance, noise_times })
    }

    /// `rho(z)` and `h(z)`.
    #[inline]
    pub fn value_and_noise_times(&self, z: f64) -> (f64, f64) {
        let rank = self.rule.rank(z);
        let piece = self.rule.piece_of_rank(rank);
        let (value, slope) = (piece.at(z), piece.slope());
        let noise_times = match &self.noise_times {
            NoiseTimes::Constant(value) => *value,
            NoiseTimes::Slope => slope,
            NoiseTimes::Exponential { ahead, behind } => {
                let after = if rank < ahead.len() {
                    damped(value, slope, self.rule.knots()[rank].at - z, ahead[rank])
                } else {
                    value + slope
                };
                let before = match rank.checked_sub(1) {
                    Some(left) => {
                        damped(value, -slope, z - self.rule.knots()[left].at, behind[left])
                    }
                    None => value - slope,
                };
                after - before
            }
            NoiseTimes::Geometric { scale } => {
                geometric_sum(self.rule, z, 1.0, *scale) - geometric_sum(self.rule, z, -1.0, *scale)
            }
        };
        (value, noise_times)
    }

    /// `(rho(z) - z)^2 - v + 2 h(z)`.
    pub fn at(&self, z: f64) -> f64 {
        let (value, noise_times) = self.value_and_noise_times(z);
        let moved = value - z;
        moved * moved - self.variance + 2.0 * noise_times
    }
}

/// The risk of a rule that was fixed before the release was seen: the sum of the coordinates'
/// unbiased estimates.
///
/// The standard error is the root of `sum (r_i - mean)^2`. Given `theta` the terms are independent
/// with different means, so that its square is on average the variance plus the spread of the
/// means: on the large side.
pub(crate) fn risk_of_fixed_rule(
    rule: &PiecewiseLinear,
    release: &Release,
) -> Option<RiskEstimate> {
    let unbiased = UnbiasedRisk::new(rule, release.noise().shape())?;
    let terms = release.values().iter().enumerate().map(|(index, value)| {
        let scale = release.noise().scale(index);
        scale * scale * unbiased.at(value / scale)
    });
    Some(estimate_from_terms(terms))
}

/// The sum of terms with its standard error.
pub(crate) fn estimate_from_terms(terms: impl Iterator<Item = f64>) -> RiskEstimate {
    // Welford's recurrence: the squares of terms that are large and nearly equal would cancel.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for term in terms {
        count += 1.0;
        let off = term - mean;
        mean += off / count;
        squares += off * (term - mean);
    }
    RiskEstimate { value: mean * count, standard_error: squares.sqrt(), unbiased: true }
}

/// `int_0^L e^-w (value + slope w) dw + e^-L beyond`.
fn damped(value: f64, slope: f64, length: f64, beyond: f64) -> f64 {
    let rest = (-length).exp();
    value * (1.0 - rest) + slope * (1.0 - rest * (1.0 + length)) + rest * beyond
}

/// `int_0^inf e^-w rho(x + w) dw` at each knot.
fn averages_ahead(rule: &PiecewiseLinear) -> Vec<f64> {
    let knots = rule.knots();
    let mut averages = vec![0.0; knots.len()];
    for index in (0..knots.len()).rev() {
        averages[index] = match knots.get(index + 1) {
            None => knots[index].above + rule.slope_after(),
            Some(next) => {
                let slope = rule.slope_between(index);
                damped(knots[index].above, slope, next.at - knots[index].at, averages[index + 1])
            }
        };
    }
    averages
}

/// `int_0^inf e^-w rho(x - w) dw` at each knot.
fn averages_behind(rule: &PiecewiseLinear) -> Vec<f64> {
    let knots = rule.knots();
    let mut averages = vec![0.0; knots.len()];
    for index in 0..knots.len() {
        averages[index] = match index.checked_sub(1) {
            None => knots[0].below - rule.slope_before(),
            Some(before) => {
                let slope = rule.slope_between(before);
                damped(
                    knots[index].below,
                    -slope,
                    knots[index].at - knots[before].at,
                    averages[before],
                )
            }
        };
    }
    averages
}

/// `sum_(k>=1) q^k rho(z + k direction)`, piece by piece:
/// `sum_(j>=0) q^j (a + c j) = a/(1-q) + c q/(1-q)^2`.
fn geometric_sum(rule: &PiecewiseLinear, z: f64, direction: f64, scale: f64) -> f64 {
    let (q, rest) = ((-1.0 / scale).exp(), -(-1.0 / scale).exp_m1());
    let series = |value: f64, slope: f64| value / rest + slope * q / (rest * rest);
    let (mut sum, mut k) = (0.0, 1.0);
    // Beyond 45 scales q^k is below the last bit of the sum.
    while k <= 45.0 * scale + 1.0 {
        let x = z + k * direction;
        let piece = rule.piece(x);
        let (value, slope) = (piece.at(x), piece.slope() * direction);
        let rank = rule.rank(x);
        let edge = if direction > 0.0 {
            rule.knots().get(rank)
        } else {
            rank.checked_sub(1).map(|left| &rule.knots()[left])
        };
        let weight = (-k / scale).exp();
        let Some(edge) = edge else { return sum + weight * series(value, slope) };
        // The steps before the next piece. A piece holds its left end and not its right one.
        let distance = (edge.at - x) * direction;
        let steps = if direction > 0.0 { distance.ceil().max(1.0) } else { distance.floor() + 1.0 };
        sum += weight
            * (series(value, slope)
                - (-steps / scale).exp() * series(value + slope * steps, slope));
        // Beyond 2^53 adding one step may change nothing; then the next number is as good.
        k = (k + steps).max(k.next_up());
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::{DiscreteLaplace, GeneralizedGaussian};

    fn rules() -> Vec<PiecewiseLinear> {
        let points = [(-2.0, -1.0), (-0.3, 0.0), (0.4, 0.7), (1.0, 0.2), (3.0, 4.0)];
        vec![
            PiecewiseLinear::soft_threshold(1.3),
            PiecewiseLinear::soft_threshold(0.0).clamped(0.0, 2.5),
            PiecewiseLinear::hard_threshold(0.8),
            PiecewiseLinear::affine(0.5, 0.3),
            PiecewiseLinear::interpolating(&points, 0.5, -0.25).expect("points"),
        ]
    }

    /// Both sides of `E h(Y) = E[Z rho(Y)]` and of the risk by the plainest quadrature, on the
    /// line.
    #[test]
    fn the_identity_holds_for_every_theta() {
        for shape in [Shape::Gaussian, Shape::Laplace] {
            for rule in rules() {
                let Some(unbiased) = UnbiasedRisk::new(&rule, &shape) else {
                    assert!(shape == Shape::Gaussian && !rule.is_continuous());
                    continue;
                };
                for theta in [-2.5, 0.0, 0.6, 4.0] {
                    let (mut left, mut right, mut estimate, mut risk) = (0.0, 0.0, 0.0, 0.0);
                    let step = 1e-3;
                    for k in -40_000..40_000 {
                        let z = step * (f64::from(k) + 0.5);
                        let weight = step * shape.density(z);
                        left += weight * unbiased.value_and_noise_times(theta + z).1;
                        right += weight * z * rule.apply(theta + z);
                        estimate += weight * unbiased.at(theta + z);
                        risk += weight * (rule.apply(theta + z) - theta).powi(2);
                    }
                    assert!(
                        (left - right).abs() < 5e-4,
                        "{shape:?} {rule:?} {theta}: {left} {right}"
                    );
                    assert!(
                        (estimate - risk).abs() < 2e-3,
                        "{shape:?} {rule:?} {theta}: {estimate} {risk}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_identity_holds_on_the_integers() {
        let noise = DiscreteLaplace::new(1.7).expect("valid");
        let shape = Shape::DiscreteLaplace(noise);
        let points = [(-4.5, -2.0), (-1.2, 0.0), (2.0, 0.7), (3.5, 0.2), (9.0, 4.0)];
        let wiggly = PiecewiseLinear::interpolating(&points, 0.5, -0.25).expect("points");
        for rule in
            [PiecewiseLinear::soft_threshold(2.6), PiecewiseLinear::hard_threshold(2.5), wiggly]
        {
            let unbiased = UnbiasedRisk::new(&rule, &shape).expect("known");
            for theta in [-3.0, 0.0, 1.0, 6.0] {
                let sum = |term: &dyn Fn(f64) -> f64| -> f64 {
                    (-150..=150).map(|z| shape.density(f64::from(z)) * term(f64::from(z))).sum()
                };
                let left = sum(&|z| unbiased.value_and_noise_times(theta + z).1);
                let right = sum(&|z| z * rule.apply(theta + z));
                assert!((left - right).abs() < 1e-10, "{rule:?} {theta}: {left} {right}");
            }
        }
    }

    /// Scales at which whole numbers are no longer all representable: the sum ends, and is that of
    /// Laplace noise of the same scale.
    #[test]
    fn huge_integer_noise_is_laplace_noise() {
        let scale = 1e15;
        let points: Vec<(f64, f64)> =
            (-60..=60).map(|step| (0.18 * f64::from(step), f64::from(step % 5))).collect();
        let unit = PiecewiseLinear::interpolating(&points, 1.0, 1.0).expect("points");
        let scaled: Vec<(f64, f64)> =
            points.iter().map(|(at, value)| (at * scale, value * scale)).collect();
        let wide = PiecewiseLinear::interpolating(&scaled, 1.0, 1.0).expect("points");
        let shape = Shape::DiscreteLaplace(DiscreteLaplace::new(scale).expect("valid"));
        let (discrete, smooth) =
            (UnbiasedRisk::new(&wide, &shape), UnbiasedRisk::new(&unit, &Shape::Laplace));
        let (discrete, smooth) = (discrete.expect("known"), smooth.expect("known"));
        for z in [0.0, 0.3, -4.0, 20.0] {
            let ratio = discrete.at((z * scale).round()) / (scale * scale) - smooth.at(z);
            assert!(ratio.abs() < 1e-9, "{z}: {ratio}");
        }
    }

    #[test]
    fn no_estimate_is_made_up_where_none_is_known() {
        let shape = Shape::GeneralizedGaussian(GeneralizedGaussian::new(4.0).expect("valid"));
        assert!(UnbiasedRisk::new(&PiecewiseLinear::soft_threshold(1.0), &shape).is_none());
        assert!(UnbiasedRisk::new(&PiecewiseLinear::affine(0.0, 0.5), &shape).is_some());
        assert!(
            UnbiasedRisk::new(&PiecewiseLinear::hard_threshold(1.0), &Shape::Gaussian).is_none()
        );
    }

    #[test]
    fn a_sum_knows_its_spread() {
        let estimate = estimate_from_terms([1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0].into_iter());
        assert_eq!(estimate.value, 3e9 + 6.0);
        assert!((estimate.standard_error - 2f64.sqrt()).abs() < 1e-6);
    }
}
