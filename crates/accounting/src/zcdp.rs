//! Zero-concentrated differential privacy: one number `rho` a release, and they add.
//!
//! Where `e^((alpha-1) D_alpha)` is an entire function of `(alpha - 1/2)^2` of order 1/2 with
//! negative zeros only, the least `rho` is the Kullback-Leibler divergence. That is so for binary
//! responses (and `rho = epsilon tanh(epsilon/2)` for every pure mechanism), responses with `k`
//! answers up to a bound on `k`, staircase, Laplace (`rho = epsilon + e^-epsilon - 1`) and discrete
//! Laplace noise (`rho = s [D - 2 q (1 - q^D)/(1 - q^2)]`, `s = 1/b`). Proof:
//! docs/proofs/zero_concentration.md.

use crate::basic::fixed_delta_of;
use crate::conversion::{delta_of_zero_concentrated, loss_of_zero_concentrated};
use crate::guarantee::{above, fixed_delta, pure_loss};
use crate::renyi_curve::{gaussian_shift_square, laplace_loss, staircase_violation};
use crate::{Accountant, AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::rounding::{add_up, mul_up, sub_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Zero-concentrated differential privacy (Bun and Steinke 2016).
///
/// # Theorem
/// The `rho` of all releases add, also when each is chosen from the answers before it. `rho` bounds
/// the divergence of every order by `alpha rho`, which converts at the best order (Canonne, Kamath,
/// Steinke 2020). For what each event's `rho` is, see [`zero_concentration`].
///
/// # Direction
/// An upper bound; from below it says 0. Never below [`crate::RenyiDp`], which knows more of each
/// curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroConcentratedDp;

impl Accountant for ZeroConcentratedDp {
    fn name(&self) -> &'static str {
        "zcdp"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        let rest = sub_down(delta.get(), fixed_delta_of(composition));
        Ok(Bounds::new(0.0, loss_of_zero_concentrated(total(composition)?, rest)))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        let delta = delta_of_zero_concentrated(total(composition)?, epsilon.get());
        Ok(Bounds::new(0.0, add_up(delta, fixed_delta_of(composition)).min(1.0)))
    }
}

fn total(composition: &Composition) -> Result<f64, AccountingError> {
    let mut sum = 0.0;
    for component in composition.iter() {
        let rho = match &component.event {
            // Pure outside an event of probability `delta`.
            Event::Approximate { epsilon, .. } => of_pure(*epsilon),
            event => zero_concentration(event)?,
        };
        sum = add_up(sum, mul_up(above(component.times), rho));
    }
    Ok(sum)
}

/// An upper bound on the least `rho` with which an event is `rho`-zero-concentrated differentially
/// private.
///
/// | event | `rho` |
/// |---|---|
/// | Gaussian, discrete Gaussian | `D^2/(2 sigma^2)`, exact for the first |
/// | Gaussian of random scale | that of the least `sigma` |
/// | Laplace | `epsilon + e^-epsilon - 1`, exact |
/// | discrete Laplace, staircase, responses | the Kullback-Leibler divergence where it is proved to be enough, exact |
/// | exponential mechanism | `epsilon^2/8` (Cesar and Rogers 2021) or as any pure event |
/// | any pure event | `epsilon tanh(epsilon/2)`, exact for the worst of them |
///
/// # Errors
/// If the event is not zero-concentrated, such as a sample of Gaussian noise or a guarantee with
/// `delta > 0`, or cannot be read.
pub fn zero_concentration(event: &Event) -> Result<f64, AccountingError> {
    let composition = Composition::new(std::slice::from_ref(event))?;
    let mut sum = 0.0;
    for component in composition.iter() {
        sum = add_up(sum, mul_up(above(component.times), of_one(&component.event)?));
    }
    Ok(sum)
}

fn of_one(event: &Event) -> Result<f64, AccountingError> {
    if let Some(square) = gaussian_shift_square(event) {
        return Ok(square.times_power_of_two(-1).bounds().upper());
    }
    let half_square = |distance: Wide, sigma: f64| {
        let shift = distance / Wide::exact(sigma);
        (shift * shift).times_power_of_two(-1).bounds().upper()
    };
    let own = match event {
        Event::DiscreteGaussian { sigma, sensitivity } => {
            return Ok(half_square(Wide::ONE.integer(i128::from(*sensitivity)), *sigma));
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            let least = sigmas.iter().map(|&(sigma, _)| sigma).fold(f64::INFINITY, f64::min);
            return Ok(half_square(Wide::exact(*sensitivity), least));
        }
        Event::ZeroConcentrated { rho } => return Ok(*rho),
        Event::DiscreteLaplace { scale, sensitivity } => discrete_laplace(*scale, *sensitivity),
        Event::RandomizedResponse { epsilon, categories } => response(*epsilon, *categories),
        Event::Staircase { epsilon, gamma, .. } => staircase(*epsilon, *gamma),
        Event::Exponential { epsilon } => {
            Bounds::exact(*epsilon).square().times_power_of_two(-3).upper()
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
        | Event::Approximate { .. }
        | Event::PoissonSubsampled { .. }
        | Event::Composition { .. }
        | Event::Repetition { .. } => laplace_loss(event).map_or(f64::INFINITY, laplace),
    };
    match pure_loss(event)? {
        Some(loss) => Ok(own.min(of_pure(loss))),
        None => Err(AccountingError::NotCovered {
            accountant: "zcdp",
            mechanism: event.mechanism(),
            reason: if fixed_delta(event) > 0.0 {
                "a guarantee with a delta above 0 bounds no Rényi divergence"
            } else {
                "no bound on its divergence of every order is known"
            },
        }),
    }
}

/// `epsilon tanh(epsilon/2)`, rounded up, and never above `epsilon^2/2`, whose digits last for tiny
/// `epsilon`.
fn of_pure(loss: f64) -> f64 {
    if loss == f64::INFINITY {
        return loss;
    }
    let loss = Bounds::exact(loss);
    let divergence = loss * (-(-loss).exp_m1() / (Bounds::ONE + (-loss).exp()));
    divergence.upper().min(loss.square().times_power_of_two(-1).upper())
}

/// `epsilon + e^-epsilon - 1`.
fn laplace(loss: Wide) -> f64 {
    not_negative(loss + (-loss).exp_m1())
}

/// `s [D - 2 q (1 - q^D)/(1 - q^2)]`.
fn discrete_laplace(scale: f64, sensitivity: u64) -> f64 {
    let rate = Wide::ONE / Wide::exact(scale);
    let distance = Wide::ONE.integer(i128::from(sensitivity));
    let share = (-(distance * rate)).exp_m1() / (-rate.times_power_of_two(1)).exp_m1();
    not_negative(rate * (distance - (share * (-rate).exp()).times_power_of_two(1)))
}

/// `epsilon (e^epsilon - 1)/(e^epsilon + k - 1)` where `(k - 2)^2 <= 4 e^epsilon`, else nothing.
fn response(epsilon: f64, categories: u64) -> f64 {
    let loss = Wide::exact(epsilon);
    let others = Wide::ONE.integer(i128::from(categories) - 2);
    let concave = (others * (-loss.times_power_of_two(-1)).exp()).bounds().upper() <= 2.0;
    if !concave {
        return f64::INFINITY;
    }
    not_negative(loss * -(-loss).exp_m1() / (Wide::ONE + (others + Wide::ONE) * (-loss).exp()))
}

/// `w epsilon (1 - e^-epsilon)` where `(1 - w - w e^-epsilon) e^(epsilon/2) <= 2 w`, else nothing.
fn staircase(epsilon: f64, gamma: f64) -> f64 {
    let (loss, violating) = (Wide::exact(epsilon), staircase_violation(epsilon, gamma));
    let level = Wide::ONE - violating - violating * (-loss).exp();
    let concave = (level * loss.times_power_of_two(-1).exp() / violating).bounds().upper() <= 2.0;
    if concave { not_negative(violating * loss * -(-loss).exp_m1()) } else { f64::INFINITY }
}

fn not_negative(bound: Wide) -> f64 {
    let bound = bound.bounds().upper();
    if bound.is_nan() { f64::INFINITY } else { bound.max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RenyiDp;
    use crate::conversion::moment_of_zero_concentrated;
    use crate::renyi_curve::RenyiCurve;

    fn pure_events() -> Vec<Event> {
        let mut events = Vec::new();
        for loss in [0.01, 0.3, 1.0, 2.5, 8.0, 40.0] {
            events.push(Event::Laplace { scale: 1.0, sensitivity: loss });
            events.push(Event::Approximate { epsilon: loss, delta: 0.0 });
            events.push(Event::Exponential { epsilon: loss });
            for categories in [2, 3, 4, 5, 10, 1000] {
                events.push(Event::RandomizedResponse { epsilon: loss, categories });
            }
            for gamma in [0.0, 0.1, 0.4, 0.9] {
                events.push(Event::Staircase { epsilon: loss, gamma, sensitivity: 2.0 });
            }
            for sensitivity in [1u64, 2, 17] {
                events
                    .push(Event::DiscreteLaplace { scale: sensitivity as f64 / loss, sensitivity });
            }
        }
        events
    }

    /// The claim of the module: the Rényi divergence of every order is at most `alpha rho`, on
    /// curves that are exact or above.
    #[test]
    fn no_divergence_exceeds_rho_times_the_order() {
        for event in pure_events() {
            let rho = zero_concentration(&event).expect("covered");
            let curve = RenyiCurve::of(&event).expect("covered");
            for step in -60..=60 {
                let excess = 10f64.powf(f64::from(step) / 10.0);
                let (moment, bound) =
                    (curve.moment(excess), moment_of_zero_concentrated(rho, excess));
                assert!(
                    moment <= bound * (1.0 + 1e-12),
                    "{event:?} at 1 + {excess:e}: {moment:e} above {bound:e}"
                );
            }
        }
    }

    /// No smaller `rho` would do: near order 1 the divergence is as large, except where only a
    /// coarser bound is proved.
    #[test]
    fn rho_is_the_least_where_it_is_the_divergence_of_order_one() {
        let mut tight = 0;
        for event in pure_events() {
            let coarse = match &event {
                Event::Exponential { .. } => true,
                Event::RandomizedResponse { epsilon, categories } => {
                    *categories as f64 - 2.0 > 2.0 * (epsilon / 2.0).exp()
                }
                Event::Staircase { epsilon, gamma, .. } => {
                    staircase(*epsilon, *gamma) == f64::INFINITY
                }
                _ => false,
            };
            if !coarse {
                tight += 1;
                let rho = zero_concentration(&event).expect("covered");
                let near = RenyiCurve::of(&event).expect("covered").moment(1e-7) / 1e-7;
                assert!((near / rho - 1.0).abs() < 1e-5, "{event:?}: {near} {rho}");
            }
        }
        assert!(tight > 60, "{tight}");
    }

    #[test]
    fn printed_formulas() {
        let rho = |event: &Event| zero_concentration(event).expect("covered");
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}")
        };
        close(rho(&Event::Gaussian { sigma: 3.0, sensitivity: 2.0 }), 2.0 / 9.0);
        close(rho(&Event::DiscreteGaussian { sigma: 3.0, sensitivity: 2 }), 2.0 / 9.0);
        close(rho(&Event::Laplace { scale: 1.0, sensitivity: 2.0 }), 1.0 + (-2f64).exp());
        close(rho(&Event::PermuteAndFlip { epsilon: 2.0 }), 2.0 * 1f64.tanh());
        close(rho(&Event::Exponential { epsilon: 0.5 }), 0.25 / 8.0);
        let mixed =
            Event::RandomScaleGaussian { sigmas: vec![(4.0, 0.5), (2.0, 0.5)], sensitivity: 1.0 };
        close(rho(&mixed), 0.125);
        let both = Event::Composition { events: vec![mixed.clone(), mixed] };
        close(rho(&Event::Repetition { times: 10, event: Box::new(both) }), 2.5);
        let sampled = |event| Event::PoissonSubsampled { rate: 0.1, event: Box::new(event) };
        let less = rho(&sampled(Event::PermuteAndFlip { epsilon: 2.0 }));
        close(less, of_pure((0.1 * 2f64.exp_m1()).ln_1p()));
        assert!(
            zero_concentration(&sampled(Event::Gaussian { sigma: 1.0, sensitivity: 1.0 })).is_err()
        );
        assert!(zero_concentration(&Event::Approximate { epsilon: 1.0, delta: 1e-9 }).is_err());
        let cubic = Event::GeneralizedGaussian { order: 3.0, scale: 1.0, sensitivities: vec![1.0] };
        assert!(zero_concentration(&cubic).is_err());
    }

    #[test]
    fn never_better_than_renyi() {
        for event in pure_events() {
            let composition =
                Composition::new(&[Event::Repetition { times: 30, event: Box::new(event) }])
                    .expect("valid");
            for delta in [1e-12, 1e-4] {
                let delta = Delta::new(delta).expect("valid");
                let ours =
                    ZeroConcentratedDp.epsilon(&composition, delta).expect("covered").upper();
                let renyi = RenyiDp.epsilon(&composition, delta).expect("covered").upper();
                assert!(ours >= renyi * (1.0 - 1e-9), "{composition:?} {ours} {renyi}");
            }
        }
    }
}
