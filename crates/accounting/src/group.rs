//! What a group of privacy units can rely on, if one unit can rely on a guarantee.
//!
//! A group of `k` units moves the data through `k` neighbours. Each notion takes that in its own
//! way:
//!
//! | notion | one unit | a group of `k` |
//! |---|---|---|
//! | pure | `epsilon` | `k epsilon` |
//! | approximate | `(epsilon, delta)` | `(k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))` (Dwork and Roth 2014; Vadhan 2017, Lemma 2.2) |
//! | zero-concentrated | `rho` | `k^2 rho` (Bun and Steinke 2016, Proposition 1.9) |
//! | Rényi | `(alpha, R)` | `(alpha/2^c, 3^c R)` for `k = 2^c` and `alpha >= 2^(c+1)` (Mironov 2017, Proposition 2) |
//! | Gaussian | `mu` | `k mu` (Dong, Roth, Su 2019, Theorem 2.14) |
//! | probabilistic | | nothing: see [`group_guarantee`] |
//!
//! Where the noise is known, more is: `k` units move the answer by at most `k` sensitivities, and
//! the same noise for that sensitivity is an exact account ([`group_event`]).

use crate::guarantee::above;
use crate::{AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{Bounds, Enclosure, OutOfRange, require};

/// The event as a group of `size` units sees it: the same noise, with `size` times the sensitivity,
/// or the weaker guarantee where there is no sensitivity.
///
/// Every accountant can read the result, so that this is group privacy for composed releases too.
/// Bounded answers do not move further than their range.
///
/// # Errors
/// If the size is 0, the event cannot be read, or what the group sees is out of range. Samples are
/// refused: the units of a group enter a sample one by one, and their number in it is random.
pub fn group_event(event: &Event, size: u64) -> Result<Event, AccountingError> {
    at_least_one(size)?;
    // Checks all parameters.
    Composition::new(std::slice::from_ref(event))?;
    let grouped = scaled(event, size)?;
    Composition::new(std::slice::from_ref(&grouped))?;
    Ok(grouped)
}

fn scaled(event: &Event, size: u64) -> Result<Event, AccountingError> {
    let factor = above(size);
    let times = |sensitivity: &f64| mul_up(factor, *sensitivity);
    let pure = |epsilon: &f64| Event::Approximate { epsilon: times(epsilon), delta: 0.0 };
    let whole = |sensitivity: u64| {
        sensitivity.checked_mul(size).ok_or_else(|| {
            OutOfRange::new("size", factor, "such that the group's sensitivity is below 2^64")
        })
    };
    Ok(match event.clone() {
        Event::Laplace { scale, sensitivity } => {
            Event::Laplace { scale, sensitivity: times(&sensitivity) }
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            Event::DiscreteLaplace { scale, sensitivity: whole(sensitivity)? }
        }
        Event::Gaussian { sigma, sensitivity } => {
            Event::Gaussian { sigma, sensitivity: times(&sensitivity) }
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            Event::DiscreteGaussian { sigma, sensitivity: whole(sensitivity)? }
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => Event::GeneralizedGaussian {
            order,
            scale,
            sensitivities: sensitivities.iter().map(times).collect(),
        },
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let sensitivity = times(&sensitivity).min(range);
            Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity }
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let sensitivity = times(&sensitivity).min(range);
            Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity }
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            Event::RandomScaleLaplace { inverse_scale, sensitivity: times(&sensitivity) }
        }
        Event::RandomScaleLaplaceVector { inverse_scale, coordinates, sensitivity } => {
            Event::RandomScaleLaplaceVector {
                inverse_scale,
                coordinates,
                sensitivity: times(&sensitivity),
            }
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            Event::RandomScaleGaussian { sigmas, sensitivity: times(&sensitivity) }
        }
        Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
            Event::TruncatedLaplace { scale, support_in_scales, sensitivity: times(&sensitivity) }
        }
        Event::Tabulated { weights, sensitivity_steps, spacing } => {
            Event::Tabulated { weights, sensitivity_steps: whole(sensitivity_steps)?, spacing }
        }
        // The staircase fits one sensitivity and no other; a choice or a response has none.
        Event::Staircase { epsilon, .. }
        | Event::RandomizedResponse { epsilon, .. }
        | Event::Exponential { epsilon }
        | Event::PermuteAndFlip { epsilon } => pure(&epsilon),
        Event::Approximate { epsilon, delta } => {
            let (epsilon, delta) = approximate(epsilon, delta, size)?;
            if delta >= 1.0 {
                return Err(AccountingError::NotProved(format!(
                    "an approximate guarantee leaves a group of {size} no delta below 1"
                )));
            }
            Event::Approximate { epsilon, delta }
        }
        Event::ZeroConcentrated { rho } => {
            Event::ZeroConcentrated { rho: group_zero_concentration(rho, size)? }
        }
        Event::Composition { events } => {
            let events: Result<_, _> = events.iter().map(|event| scaled(event, size)).collect();
            Event::Composition { events: events? }
        }
        Event::Repetition { times, event } => {
            Event::Repetition { times, event: Box::new(scaled(&event, size)?) }
        }
        sampled @ Event::PoissonSubsampled { .. } if size == 1 => sampled,
        Event::PoissonSubsampled { .. } => {
            return Err(AccountingError::NotCovered {
                accountant: "group",
                mechanism: event.mechanism(),
                reason: "how many units of a group it sees is not fixed",
            });
        }
    })
}

/// A guarantee to one unit as a guarantee to a group of `size`, rounded up.
///
/// # Errors
/// If the size is 0, the guarantee is not one, or the notion is probabilistic. That one says where
/// the loss is large and is not closed under post-processing (erratum L4): for the neighbours in
/// between, the sets of large losses differ, and no formula of this kind is proved. Read it as the
/// approximate guarantee with the same numbers, which it implies and
/// [`reticent_mechanisms::Mechanism::released_guarantee`] gives.
pub fn group_guarantee(guarantee: Guarantee, size: u64) -> Result<Guarantee, AccountingError> {
    at_least_one(size)?;
    let Guarantee { notion, epsilon, delta } = guarantee;
    require(
        epsilon >= 0.0 && epsilon.is_finite(),
        "epsilon",
        epsilon,
        "a finite number, at least 0",
    )?;
    require((0.0..=1.0).contains(&delta), "delta", delta, "a number from 0 to 1")?;
    match notion {
        Notion::Pure => Ok(Guarantee { notion, epsilon: mul_up(above(size), epsilon), delta: 0.0 }),
        Notion::Approximate => {
            let (epsilon, delta) = approximate(epsilon, delta, size)?;
            Ok(Guarantee { notion, epsilon, delta })
        }
        Notion::Probabilistic => Err(AccountingError::NotCovered {
            accountant: "group",
            mechanism: "probabilistic",
            reason: "the notion is not closed under post-processing and gives a group none; \
                use the approximate guarantee that it implies",
        }),
    }
}

/// `(k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1))`: `P_0 <= e^epsilon P_1 + delta <= e^(2
/// epsilon) P_2 + e^epsilon delta + delta ...`, a geometric sum.
fn approximate(epsilon: f64, delta: f64, size: u64) -> Result<(f64, f64), AccountingError> {
    let total = mul_up(above(size), epsilon);
    if delta == 0.0 || size == 1 {
        return Ok((total, delta));
    }
    let growth = if epsilon == 0.0 {
        above(size)
    } else {
        // Both are increasing in epsilon as a sum, so an upper end of k epsilon is right.
        let (all, one) = (Bounds::exact(total), Bounds::exact(epsilon));
        if total > 700.0 { f64::INFINITY } else { (all.exp_m1() / one.exp_m1()).upper() }
    };
    Ok((total, mul_up(delta, growth).min(1.0)))
}

/// `k^2 rho`, rounded up.
///
/// # Errors
/// If the size is 0 or `rho` negative or not finite.
pub fn group_zero_concentration(rho: f64, size: u64) -> Result<f64, AccountingError> {
    at_least_one(size)?;
    require(rho >= 0.0 && rho.is_finite(), "rho", rho, "a finite number, at least 0")?;
    Ok(mul_up(mul_up(above(size), above(size)), rho))
}

/// `k mu`, rounded up.
///
/// # Errors
/// If the size is 0 or `mu` negative or not finite.
pub fn group_gaussian_shift(mu: f64, size: u64) -> Result<f64, AccountingError> {
    at_least_one(size)?;
    require(mu >= 0.0 && mu.is_finite(), "mu", mu, "a finite number, at least 0")?;
    Ok(mul_up(above(size), mu))
}

/// The order and the divergence that a group of `2^doublings` units can rely on, if one unit has
/// `divergence` at `order`: `order/2^c` and `3^c divergence`, rounded up.
///
/// # Errors
/// If the divergence is negative or not finite, or the order not a finite number of at least
/// `2^(c+1)`.
pub fn group_renyi(
    order: f64,
    divergence: f64,
    doublings: u32,
) -> Result<(f64, f64), AccountingError> {
    let accepted = "a finite number, at least 0";
    require(divergence >= 0.0 && divergence.is_finite(), "divergence", divergence, accepted)?;
    let size = Bounds::ONE.times_power_of_two(doublings.min(1000) as i32).upper();
    let enough = if doublings == 0 { order > 1.0 } else { order >= 2.0 * size };
    let accepted = "a finite number above 1, and at least twice the size of a group";
    require(enough && order.is_finite(), "order", order, accepted)?;
    Ok((order / size, (Bounds::exact(3.0).powi(doublings) * Bounds::exact(divergence)).upper()))
}

fn at_least_one(size: u64) -> Result<(), AccountingError> {
    require(size > 0, "size", 0.0, "at least 1")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accountant, GaussianDp, LossDistribution, OptimalComposition, zero_concentration};
    use reticent_mechanisms::{Delta, Epsilon};

    #[test]
    fn pure_and_approximate_guarantees() {
        let one = Guarantee { notion: Notion::Approximate, epsilon: 0.5, delta: 1e-9 };
        let four = group_guarantee(one, 4).expect("valid");
        let growth: f64 = (0..4).map(|i| (0.5 * f64::from(i)).exp()).sum();
        assert_eq!(four.epsilon, 2.0);
        assert!(
            four.delta >= 1e-9 * growth && four.delta < 1e-9 * growth * (1.0 + 1e-14),
            "{:e}",
            four.delta
        );
        let none = Guarantee { epsilon: 0.0, ..one };
        assert_eq!(group_guarantee(none, 3).expect("valid").delta, mul_up(3.0, 1e-9));
        let pure = Guarantee { notion: Notion::Pure, epsilon: 0.5, delta: 0.0 };
        assert_eq!(group_guarantee(pure, 4).expect("valid").epsilon, 2.0);
        let huge = Guarantee { epsilon: 600.0, ..one };
        assert_eq!(group_guarantee(huge, 2).expect("valid").delta, 1.0);
    }

    #[test]
    fn probabilistic_guarantees_are_refused() {
        let guarantee = Guarantee { notion: Notion::Probabilistic, epsilon: 1.0, delta: 1e-6 };
        let message = group_guarantee(guarantee, 2).expect_err("not closed").to_string();
        assert!(message.contains("post-processing"), "{message}");
        assert!(group_guarantee(Guarantee { notion: Notion::Approximate, ..guarantee }, 2).is_ok());
    }

    #[test]
    fn events_scale_their_sensitivity_and_agree_with_the_notions() {
        let gaussian = Event::Gaussian { sigma: 3.0, sensitivity: 1.0 };
        let grouped = group_event(&gaussian, 5).expect("valid");
        assert_eq!(grouped, Event::Gaussian { sigma: 3.0, sensitivity: 5.0 });
        let rho = |event: &Event| zero_concentration(event).expect("covered");
        let by_notion = group_zero_concentration(rho(&gaussian), 5).expect("valid");
        assert!((rho(&grouped) / by_notion - 1.0).abs() < 1e-14);
        // Laplace noise is better than the general rule, which must stay above it.
        let laplace = Event::Laplace { scale: 2.0, sensitivity: 1.0 };
        assert!(
            rho(&group_event(&laplace, 5).expect("valid"))
                < group_zero_concentration(rho(&laplace), 5).expect("valid")
        );
        // A composed release, for a group: exact, and within the approximate rule.
        let many = Event::Repetition { times: 10, event: Box::new(gaussian) };
        let at = |event: &Event, epsilon: f64| {
            let composition = Composition::new(std::slice::from_ref(event)).expect("valid");
            GaussianDp.delta(&composition, Epsilon::new(epsilon).expect("valid")).expect("covered")
        };
        let one = at(&many, 3.0).upper();
        let rule =
            group_guarantee(Guarantee { notion: Notion::Approximate, epsilon: 3.0, delta: one }, 2)
                .expect("valid");
        assert!(at(&group_event(&many, 2).expect("valid"), 6.0).lower() <= rule.delta);
    }

    #[test]
    fn responses_and_samples() {
        let response = Event::RandomizedResponse { epsilon: 0.5, categories: 3 };
        let grouped = group_event(&response, 3).expect("valid");
        assert_eq!(grouped, Event::Approximate { epsilon: 1.5, delta: 0.0 });
        let composition = Composition::new(&[grouped]).expect("valid");
        assert!(OptimalComposition.epsilon(&composition, Delta::new(1e-9).expect("valid")).is_ok());
        let sampled = Event::PoissonSubsampled { rate: 0.1, event: Box::new(response) };
        assert!(group_event(&sampled, 2).is_err());
        assert_eq!(group_event(&sampled, 1).expect("one unit"), sampled);
    }

    /// Noise that ends and noise from a table are noise: a group moves the answer further. (They
    /// were refused, as if how many units they see was not fixed.)
    #[test]
    fn groups_of_truncated_and_tabulated_noise() {
        let ends =
            Event::TruncatedLaplace { scale: 3.0, support_in_scales: 7.0 / 3.0, sensitivity: 2.0 };
        let grouped = group_event(&ends, 3).expect("valid");
        assert_eq!(
            grouped,
            Event::TruncatedLaplace { scale: 3.0, support_in_scales: 7.0 / 3.0, sensitivity: 6.0 }
        );
        let delta = |event: &Event| {
            let composition = Composition::new(std::slice::from_ref(event)).expect("valid");
            LossDistribution::default()
                .delta(&composition, Epsilon::new(0.3).expect("valid"))
                .expect("covered")
        };
        // By mpmath, an integral over the densities: for one unit, and for three.
        for (event, exact) in [(&ends, 0.204_282_291_741_046_75), (&grouped, 0.652_857_160_125_699)]
        {
            let found = delta(event);
            assert!(
                (found.estimate() / exact - 1.0).abs() < 1e-13 && found.width() < 1e-13,
                "{found:?}"
            );
        }
        let weights = vec![(8, 0), (3, 0), (1, 0)];
        let table =
            Event::Tabulated { weights: weights.clone(), sensitivity_steps: 1, spacing: 0.5 };
        let expected = Event::Tabulated { weights, sensitivity_steps: 4, spacing: 0.5 };
        assert_eq!(group_event(&table, 4), Ok(expected.clone()));
        // Over four steps only one outcome of weight 1 is common, with a loss of zero.
        assert!((delta(&expected).estimate() - 15.0 / 16.0).abs() < 1e-12);
        assert!(group_event(&table, 1 << 30).is_err());
    }

    #[test]
    fn renyi_groups_are_above_the_exact_gaussian() {
        // R = alpha rho at order alpha; a group of 4 has 16 rho per order, the rule 9 * 4 rho.
        let (order, divergence) = group_renyi(16.0, 16.0 * 0.125, 2).expect("valid");
        assert_eq!((order, divergence), (4.0, 18.0));
        assert!(divergence >= 4.0 * 16.0 * 0.125);
        assert!(group_renyi(7.9, 1.0, 2).is_err() && group_renyi(f64::NAN, 1.0, 0).is_err());
        assert_eq!(group_renyi(1.5, 1.0, 0).expect("one unit"), (1.5, 1.0));
    }

    #[test]
    fn hostile_groups() {
        let event = Event::DiscreteLaplace { scale: 1.0, sensitivity: 3 };
        assert!(group_event(&event, 0).is_err() && group_event(&event, u64::MAX).is_err());
        assert!(group_event(&Event::Approximate { epsilon: 1.0, delta: 0.1 }, 10).is_err());
        assert!(
            group_zero_concentration(f64::NAN, 2).is_err()
                && group_gaussian_shift(-1.0, 2).is_err()
        );
        let guarantee = Guarantee { notion: Notion::Pure, epsilon: f64::INFINITY, delta: 0.0 };
        assert!(
            group_guarantee(guarantee, 2).is_err()
                && group_guarantee(Guarantee { epsilon: 1.0, ..guarantee }, 0).is_err()
        );
    }
}
