//! The Rényi divergence of one event, at any order.
//!
//! Curves give `m(alpha) = (alpha - 1) D_alpha = ln E_Q[(P/Q)^alpha]`, the larger of both
//! directions, rounded up. Orders are passed as `excess = alpha - 1`, which keeps its digits near
//! order 1.
//!
//! # Formulas
//! With `epsilon` the pure loss, all of the first five are `e^((alpha-1) epsilon)` times a bracket,
//! in which nothing overflows:
//!
//! | event | bracket |
//! |---|---|
//! | Laplace | `[alpha + (alpha-1) e^(-(2 alpha-1) epsilon)]/(2 alpha-1)` (Mironov, *Rényi differential privacy*, 2017, Proposition 6) |
//! | discrete Laplace, `q = e^(-1/b)` | `[1 - q^(2 alpha) + (q - q^(2 alpha-1)) e^(-(2 alpha-1) epsilon)]/[(1+q)(1 - q^(2 alpha-1))]` |
//! | response with `k` answers | `[1 + e^(-(2 alpha-1) epsilon) + (k-2) e^(-alpha epsilon)]/[1 + (k-1) e^(-epsilon)]` |
//! | staircase | `w + w e^(-(2 alpha-1) epsilon) + (1 - w - w e^-epsilon) e^(-(alpha-1) epsilon)`, `w = 1/2 + a min(gamma, 1-gamma)` |
//! | pure | that of a response with 2 answers, which every pure mechanism is a processing of (Kairouz, Oh, Viswanath 2015) |
//! | Gaussian | `m = alpha (alpha-1) mu^2/2` |
//! | Gaussian of random scale | `m = ln sum_i w_i e^(alpha (alpha-1) mu_i^2/2)`: showing the scale would not make it more private |
//! | exponential mechanism | the less of pure and `m = alpha (alpha-1) epsilon^2/8` |
//!
//! The first two are log-sums of exponentials of the shift, so convex in it and zero at zero: over
//! several coordinates one that takes all of the l1 sensitivity is worst. The discrete Gaussian is
//! bounded by the Gaussian (Canonne, Kamath, Steinke 2020, Proposition 5). The exponential
//! mechanism's loss lies in an interval of width `epsilon` (Durfee and Rogers 2019), so `m` is a
//! cumulant with `m(0) = m(1) = 0` and `m'' <= epsilon^2/4`, the variance of what lies in such an
//! interval.

use crate::conversion::{Shape, moment_of_zero_concentrated};
use crate::guarantee::{above, fixed_delta, pure_loss};
use crate::renyi_sampling::{LARGEST_SUMMED_ORDER, SampledMoments};
use crate::{AccountingError, Composition};
use reticent_events::Event;
use reticent_numerics::log_sum::LogSum;
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// A bound on the Rényi divergence as a function of the order.
#[derive(Debug)]
pub(crate) enum RenyiCurve {
    /// `m = alpha (alpha - 1) rho`.
    Quadratic { rho: f64 },
    /// Laplace noise with this pure loss.
    Laplace { loss: Wide },
    /// Discrete Laplace noise with `1/b` and the pure loss.
    DiscreteLaplace { rate: Wide, loss: Wide },
    /// A response with this loss and so many answers beside two.
    Response { loss: f64, others: Wide },
    /// Staircase noise with its `w`.
    Staircase { loss: f64, violating: Wide },
    /// Gaussian noise of random scale: weights and `mu^2/2`.
    Mixture { parts: Vec<(f64, f64)> },
    /// The less of two bounds.
    Least(Box<RenyiCurve>, Box<RenyiCurve>),
    /// Several releases.
    Sum(Vec<(f64, RenyiCurve)>),
    /// A Poisson sample of another.
    Sampled(SampledMoments),
}

impl RenyiCurve {
    /// The curve of a single event, or of what ran on one shared sample.
    ///
    /// # Errors
    /// If none is known, or the parameters are no mechanism's.
    pub(crate) fn of(event: &Event) -> Result<Self, AccountingError> {
        if let Some(square) = gaussian_shift_square(event) {
            return Ok(RenyiCurve::Quadratic {
                rho: square.times_power_of_two(-1).bounds().upper(),
            });
        }
        if let Some(loss) = laplace_loss(event) {
            return Ok(RenyiCurve::Laplace { loss });
        }
        Ok(match event {
            Event::DiscreteGaussian { sigma, sensitivity } => {
                let shift = Wide::ONE.integer(i128::from(*sensitivity)) / Wide::exact(*sigma);
                RenyiCurve::Quadratic {
                    rho: (shift * shift).times_power_of_two(-1).bounds().upper(),
                }
            }
            Event::DiscreteLaplace { scale, sensitivity } => {
                let rate = Wide::ONE / Wide::exact(*scale);
                RenyiCurve::DiscreteLaplace {
                    rate,
                    loss: Wide::ONE.integer(i128::from(*sensitivity)) * rate,
                }
            }
            Event::RandomizedResponse { epsilon, categories } => {
                let others = Wide::ONE.integer(i128::from(*categories) - 2);
                RenyiCurve::Response { loss: *epsilon, others }
            }
            Event::Staircase { epsilon, gamma, .. } => RenyiCurve::Staircase {
                loss: *epsilon,
                violating: staircase_violation(*epsilon, *gamma),
            },
            Event::Exponential { epsilon } => {
                let square = Bounds::exact(*epsilon).square();
                let range = RenyiCurve::Quadratic { rho: square.times_power_of_two(-3).upper() };
                RenyiCurve::Least(Box::new(RenyiCurve::pure(*epsilon)), Box::new(range))
            }
            Event::RandomScaleGaussian { sigmas, sensitivity } => {
                let rho = |sigma: f64| {
                    let shift = Wide::exact(*sensitivity) / Wide::exact(sigma);
                    (shift * shift).times_power_of_two(-1).bounds().upper()
                };
                RenyiCurve::Mixture {
                    parts: sigmas.iter().map(|&(sigma, weight)| (weight, rho(sigma))).collect(),
                }
            }
            Event::ZeroConcentrated { rho } => RenyiCurve::Quadratic { rho: *rho },
            Event::PoissonSubsampled { rate, event: inner } => {
                let sampled = RenyiCurve::Sampled(SampledMoments::new(*rate, inner)?);
                match pure_loss(event)? {
                    Some(loss) => {
                        RenyiCurve::Least(Box::new(RenyiCurve::pure(loss)), Box::new(sampled))
                    }
                    None => sampled,
                }
            }
            Event::Composition { .. } | Event::Repetition { .. } => {
                RenyiCurve::of_composition(&Composition::new(std::slice::from_ref(event))?, false)?
            }
            Event::Laplace { .. }
            | Event::TruncatedLaplace { .. }
            | Event::Tabulated { .. }
            | Event::Gaussian { .. }
            | Event::GeneralizedGaussian { .. }
            | Event::TruncatedGeneralizedGaussian { .. }
            | Event::InflatedGeneralizedGaussian { .. }
            | Event::RandomScaleLaplace { .. }
            | Event::RandomScaleLaplaceVector { .. }
            | Event::PermuteAndFlip { .. }
            | Event::Approximate { .. } => {
                RenyiCurve::pure(pure_loss(event)?.ok_or(AccountingError::NotCovered {
                    accountant: "renyi",
                    mechanism: event.mechanism(),
                    reason: "no bound on its Rényi divergence is known",
                })?)
            }
        })
    }

    /// The curve of all releases together. With `is_delta_paid`, an approximate guarantee enters as
    /// the pure one that holds outside an event of probability `delta`, which the caller pays for.
    ///
    /// # Errors
    /// As for [`RenyiCurve::of`].
    pub(crate) fn of_composition(
        composition: &Composition,
        is_delta_paid: bool,
    ) -> Result<Self, AccountingError> {
        let (mut curves, mut rho) = (Vec::new(), 0.0);
        for component in composition.iter() {
            let times = above(component.times);
            let curve = match &component.event {
                Event::Approximate { epsilon, .. } if is_delta_paid => RenyiCurve::pure(*epsilon),
                event if fixed_delta(event) > 0.0 => {
                    return Err(AccountingError::NotCovered {
                        accountant: "renyi",
                        mechanism: event.mechanism(),
                        reason: "an approximate guarantee in a sample bounds no Rényi divergence",
                    });
                }
                event => RenyiCurve::of(event)?,
            };
            match curve {
                RenyiCurve::Quadratic { rho: more } => rho = add_up(rho, mul_up(times, more)),
                other => curves.push((times, other)),
            }
        }
        if rho > 0.0 {
            curves.push((1.0, RenyiCurve::Quadratic { rho }));
        }
        Ok(RenyiCurve::Sum(curves))
    }

    /// The curve that bounds every mechanism of a pure loss.
    pub(crate) fn pure(loss: f64) -> Self {
        RenyiCurve::Response { loss, others: Wide::ZERO }
    }

    /// How [`RenyiCurve::moment`] runs between orders.
    pub(crate) fn shape(&self) -> Shape {
        match self {
            RenyiCurve::Sampled(_) => Shape::KinksUpTo(LARGEST_SUMMED_ORDER),
            RenyiCurve::Least(one, other) if one.shape() == Shape::Smooth => other.shape(),
            RenyiCurve::Least(one, _) => one.shape(),
            RenyiCurve::Sum(parts) => parts
                .iter()
                .map(|(_, part)| part.shape())
                .find(|shape| *shape != Shape::Smooth)
                .unwrap_or(Shape::Smooth),
            RenyiCurve::Quadratic { .. }
            | RenyiCurve::Laplace { .. }
            | RenyiCurve::DiscreteLaplace { .. }
            | RenyiCurve::Response { .. }
            | RenyiCurve::Staircase { .. }
            | RenyiCurve::Mixture { .. } => Shape::Smooth,
        }
    }

    /// `m` at the order `1 + excess`, rounded up; infinite where nothing is known.
    pub(crate) fn moment(&self, excess: f64) -> f64 {
        if !(excess > 0.0 && excess.is_finite()) {
            return f64::INFINITY;
        }
        let wide = Wide::exact(excess);
        // 2 alpha - 1.
        let twice = wide.times_power_of_two(1) + Wide::ONE;
        let bound = match self {
            RenyiCurve::Quadratic { rho } => return moment_of_zero_concentrated(*rho, excess),
            RenyiCurve::Least(one, other) => return one.moment(excess).min(other.moment(excess)),
            RenyiCurve::Sum(parts) => {
                return parts
                    .iter()
                    .map(|(times, part)| mul_up(*times, part.moment(excess)))
                    .fold(0.0, add_up);
            }
            RenyiCurve::Sampled(sampled) => return sampled.moment(excess),
            RenyiCurve::Mixture { parts } => {
                let mut sum = LogSum::new();
                for &(weight, rho) in parts {
                    sum.add(
                        Bounds::exact(weight).ln()
                            + Bounds::exact(moment_of_zero_concentrated(rho, excess)),
                    );
                }
                return positive(sum.bounds().upper());
            }
            RenyiCurve::Laplace { loss } => {
                wide * *loss + ((wide + Wide::ONE + wide * (-(twice * *loss)).exp()) / twice).ln()
            }
            RenyiCurve::DiscreteLaplace { rate, loss } => {
                let q = (-*rate).exp();
                let odd = -(twice * *rate);
                let rising = -(odd - *rate).exp_m1();
                // q - q^(2 alpha - 1), with the difference taken in the exponent.
                let falling = q * -(-(wide * *rate).times_power_of_two(1)).exp_m1();
                let bracket = (rising + falling * (-(twice * *loss)).exp())
                    / ((Wide::ONE + q) * -odd.exp_m1());
                wide * *loss + bracket.ln()
            }
            RenyiCurve::Response { loss, others } => {
                let loss = Wide::exact(*loss);
                let above = Wide::ONE
                    + (-(twice * loss)).exp()
                    + *others * (-((wide + Wide::ONE) * loss)).exp();
                let below = Wide::ONE + (*others + Wide::ONE) * (-loss).exp();
                wide * loss + (above / below).ln()
            }
            RenyiCurve::Staircase { loss, violating } => {
                let loss = Wide::exact(*loss);
                let level = Wide::ONE - *violating - *violating * (-loss).exp();
                let bracket = *violating
                    + *violating * (-(twice * loss)).exp()
                    + level * (-(wide * loss)).exp();
                wide * loss + bracket.ln()
            }
        };
        let bound = positive(bound.bounds().upper());
        match self.largest_loss() {
            Some(loss) => bound.min(mul_up(excess, loss)),
            None => bound,
        }
    }

    /// No Rényi divergence is above the pure loss.
    fn largest_loss(&self) -> Option<f64> {
        match self {
            RenyiCurve::Laplace { loss } | RenyiCurve::DiscreteLaplace { loss, .. } => {
                Some(loss.bounds().upper())
            }
            RenyiCurve::Response { loss, .. } | RenyiCurve::Staircase { loss, .. } => Some(*loss),
            RenyiCurve::Quadratic { .. }
            | RenyiCurve::Mixture { .. }
            | RenyiCurve::Least(..)
            | RenyiCurve::Sum(_)
            | RenyiCurve::Sampled(_) => None,
        }
    }
}

/// A divergence is not negative. A NaN says nothing.
fn positive(bound: f64) -> f64 {
    if bound.is_nan() { f64::INFINITY } else { bound.max(0.0) }
}

/// `mu^2 = (D/sigma)^2` for Gaussian noise, which generalized Gaussian noise of order 2 is, with
/// `sigma = b/sqrt 2`.
pub(crate) fn gaussian_shift_square(event: &Event) -> Option<Wide> {
    let square = |distance: f64, scale: f64| {
        let ratio = Wide::exact(distance) / Wide::exact(scale);
        ratio * ratio
    };
    match event {
        Event::Gaussian { sigma, sensitivity } => Some(square(*sensitivity, *sigma)),
        Event::GeneralizedGaussian { order, scale, sensitivities } if *order == 2.0 => {
            let sum = sensitivities
                .iter()
                .fold(Wide::ZERO, |sum, &distance| sum + square(distance, *scale));
            Some(sum.times_power_of_two(1))
        }
        _ => None,
    }
}

/// `D/b` for Laplace noise, which generalized Gaussian noise of order 1 is.
pub(crate) fn laplace_loss(event: &Event) -> Option<Wide> {
    match event {
        Event::Laplace { scale, sensitivity } => {
            Some(Wide::exact(*sensitivity) / Wide::exact(*scale))
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } if *order == 1.0 => {
            let sum =
                sensitivities.iter().fold(Wide::ZERO, |sum, &distance| sum + Wide::exact(distance));
            Some(sum / Wide::exact(*scale))
        }
        _ => None,
    }
}

/// The probability `w = 1/2 + a min(gamma, 1 - gamma)` of the loss `epsilon` under staircase noise,
/// `a = (1 - b)/(2 (gamma + b (1 - gamma)))`, `b = e^-epsilon`. The loss takes the values
/// `epsilon`, `0` and `-epsilon` only, and a shift of less than the sensitivity has a smaller
/// profile everywhere, so it is a processing of this.
pub(crate) fn staircase_violation(epsilon: f64, gamma: f64) -> Wide {
    let loss = Wide::exact(-epsilon);
    let (gamma, rest) = (Wide::exact(gamma), Wide::ONE - Wide::exact(gamma));
    let twice_peak = -loss.exp_m1() / (gamma + loss.exp() * rest);
    let narrow = if gamma.bounds().upper() <= 0.5 { gamma } else { rest };
    (Wide::ONE + twice_peak * narrow).times_power_of_two(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ln sum P (P/Q)^(alpha - 1)` over outcomes.
    fn by_definition(outcomes: impl Iterator<Item = (f64, f64)>, order: f64) -> f64 {
        outcomes.map(|(p, q)| p * (p / q).powf(order - 1.0)).sum::<f64>().ln()
    }

    fn agrees(event: &Event, order: f64, expected: f64) {
        let found = RenyiCurve::of(event).expect("covered").moment(order - 1.0);
        assert!((found / expected - 1.0).abs() < 1e-8, "{event:?} at {order}: {found} {expected}");
    }

    #[test]
    fn closed_forms_are_the_definition() {
        for order in [1.01, 1.5, 2.0, 7.25] {
            for (epsilon, categories) in [(0.7, 2), (2.0, 5), (0.1, 40)] {
                let total = f64::exp(epsilon) + categories as f64 - 1.0;
                let (truth, other) = (epsilon.exp() / total, 1.0 / total);
                let outcomes = [(truth, other), (other, truth)].into_iter();
                let outcomes = outcomes.chain((2..categories).map(|_| (other, other)));
                let expected = by_definition(outcomes, order);
                agrees(&Event::RandomizedResponse { epsilon, categories }, order, expected);
            }
            for (scale, sensitivity) in [(2.0f64, 3u64), (0.5, 1), (5.0, 1)] {
                let mass = |k: i64| (-(k.abs() as f64) / scale).exp() * (0.5 / scale).tanh();
                let shifted = (-300..=300i64).map(|k| (mass(k), mass(k - sensitivity as i64)));
                agrees(
                    &Event::DiscreteLaplace { scale, sensitivity },
                    order,
                    by_definition(shifted, order),
                );
            }
            for (epsilon, gamma) in [(1.0, 0.3), (3.0, 0.8)] {
                // Steps of gamma and 1 - gamma; a shift by one period moves each piece onto
                // another. Twentieths of a period resolve both gammas.
                let b = f64::exp(-epsilon);
                let height = |x: f64| {
                    let (period, fraction) = (x.abs().floor(), x.abs().fract());
                    b.powf(period + if fraction < gamma { 0.0 } else { 1.0 })
                };
                let cells: Vec<f64> = (-1200..1200).map(|i| (f64::from(i) + 0.5) / 20.0).collect();
                let total: f64 = cells.iter().map(|&x| height(x)).sum();
                let outcomes = cells.iter().map(|&x| (height(x) / total, height(x - 1.0) / total));
                let event = Event::Staircase { epsilon, gamma, sensitivity: 1.0 };
                agrees(&event, order, by_definition(outcomes, order));
            }
            // Laplace noise in cells of a thousandth: the loss is constant outside, and the middle
            // is nearly so in each.
            let cells: Vec<f64> =
                (-40_000..41_000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
            let outcomes = cells
                .iter()
                .map(|&x| ((-x.abs()).exp() / 2000.0, (-(x - 1.0).abs()).exp() / 2000.0));
            let expected = by_definition(outcomes, order);
            let event = Event::Laplace { scale: 1.0, sensitivity: 1.0 };
            let found = RenyiCurve::of(&event).expect("covered").moment(order - 1.0);
            assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
        }
    }

    #[test]
    fn generalized_gaussians_of_order_one_and_two_are_laplace_and_gaussian_noise() {
        let general = |order, scale| Event::GeneralizedGaussian {
            order,
            scale,
            sensitivities: vec![0.3, 0.4],
        };
        for order in [1.5, 3.0] {
            let at = |event: &Event| RenyiCurve::of(event).expect("covered").moment(order - 1.0);
            let laplace = at(&Event::Laplace { scale: 2.0, sensitivity: 0.7 });
            assert!((at(&general(1.0, 2.0)) / laplace - 1.0).abs() < 1e-14);
            let gaussian = at(&Event::Gaussian { sigma: 1.0, sensitivity: 0.5 });
            assert!((at(&general(2.0, 2f64.sqrt())) / gaussian - 1.0).abs() < 1e-14);
        }
        assert!(RenyiCurve::of(&general(3.0, 1.0)).is_err());
    }

    #[test]
    fn no_divergence_exceeds_the_pure_loss_and_orders_are_ordered() {
        let events = [
            Event::Laplace { scale: 0.01, sensitivity: 1.0 },
            Event::DiscreteLaplace { scale: 0.01, sensitivity: 1 },
            Event::Staircase { epsilon: 100.0, gamma: 1e-3, sensitivity: 1.0 },
            Event::RandomizedResponse { epsilon: 100.0, categories: 3 },
            Event::Exponential { epsilon: 100.0 },
            Event::Approximate { epsilon: 100.0, delta: 0.0 },
        ];
        for event in events {
            let curve = RenyiCurve::of(&event).expect("covered");
            let mut before = 0.0;
            for excess in [1e-8, 1e-3, 0.5, 1.0, 40.0, 1e5, 1e12] {
                let divergence = curve.moment(excess) / excess;
                assert!(
                    divergence <= 100.0 * (1.0 + 1e-15) && divergence >= before * (1.0 - 1e-12),
                    "{event:?} {excess}"
                );
                before = divergence;
            }
        }
    }

    #[test]
    fn orders_that_are_none_have_no_bound() {
        let curve =
            RenyiCurve::of(&Event::Gaussian { sigma: 1.0, sensitivity: 1.0 }).expect("covered");
        for excess in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(curve.moment(excess), f64::INFINITY);
        }
    }
}
