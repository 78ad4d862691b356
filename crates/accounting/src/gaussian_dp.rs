//! Gaussian differential privacy: exact for Gaussian noise.

use crate::guarantee::{above, pure_loss};
use crate::renyi_curve::gaussian_shift_square;
use crate::{Accountant, AccountingError, Composition};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianProfile, Scale};
use reticent_numerics::log_sum::ln_one_plus_exp;
use reticent_numerics::normal_quantile::normal_isf_from_ln;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Gaussian differential privacy (Dong, Roth, Su, *Gaussian differential privacy*, 2019).
///
/// # Theorem
/// Releases that are `mu_i`-Gaussian differentially private, no easier to tell apart than `N(0, 1)`
/// from `N(mu_i, 1)`, are together `sqrt(sum mu_i^2)`-Gaussian differentially private (Corollary
/// 3.3), and the profile is the Gaussian's: `delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 -
/// epsilon/mu)`.
///
/// # Reading
/// Gaussian noise has `mu = D/sigma`, exactly; so has generalized Gaussian noise of order 2, with
/// `sigma = b/sqrt 2`. Gaussian noise of random scale is bounded by its least `sigma`. A pure event
/// is `mu`-Gaussian private with `mu = 2 PhiInv(e^epsilon/(1 + e^epsilon))`: its trade-off function
/// is piecewise linear with corner at error rates `1/(1 + e^epsilon)` both, and a convex symmetric
/// curve that passes through that corner, as the Gaussian's does for this `mu`, lies below it on
/// both sides. Samples are not covered: the central limit theorem for them is no bound. Neither is
/// the discrete Gaussian.
///
/// # Direction
/// Exact from both sides, to about `1e-13`, where all events are Gaussian noise; otherwise an upper
/// bound and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GaussianDp;

/// Losses up to this one are looked for: `mu` up to a million.
const LARGEST_LOSS: f64 = 1e13;

impl Accountant for GaussianDp {
    fn name(&self) -> &'static str {
        "gaussian-dp"
    }

    fn epsilon(&self, composition: &Composition, delta: Delta) -> Result<Bounds, AccountingError> {
        let mu = total(composition)?;
        let delta = delta.get();
        let upper = profile(mu.upper())?
            .map_or(f64::INFINITY, |profile| least_loss(&profile, delta, Bounds::upper));
        let lower = match profile(mu.lower())? {
            // The least f64 at which delta is no longer proved to be too large; at the one before,
            // it is.
            Some(profile) => {
                least_loss(&profile, delta, Bounds::lower).min(LARGEST_LOSS).next_down().max(0.0)
            }
            None => 0.0,
        };
        Ok(Bounds::new(lower.min(upper), upper))
    }

    fn delta(
        &self,
        composition: &Composition,
        epsilon: Epsilon,
    ) -> Result<Bounds, AccountingError> {
        let mu = total(composition)?;
        let epsilon = epsilon.get();
        let upper = profile(mu.upper())?
            .map_or(Ok(1.0), |profile| profile.delta(epsilon).map(|delta| delta.upper()))?;
        let lower = profile(mu.lower())?
            .map_or(Ok(0.0), |profile| profile.delta(epsilon).map(|delta| delta.lower()))?;
        Ok(Bounds::new(lower, upper))
    }
}

/// The profile for a `mu`, `None` where it is outside the range of profiles.
fn profile(mu: f64) -> Result<Option<GaussianProfile>, AccountingError> {
    if !(1e-100..=1e6).contains(&mu) {
        return Ok(None);
    }
    Ok(Some(GaussianProfile::new(Scale::new(1.0)?, Distance::new(mu)?)))
}

/// The least loss at which one side of the profile is at most `delta`.
fn least_loss(profile: &GaussianProfile, delta: f64, side: fn(&Bounds) -> f64) -> f64 {
    let figure = |epsilon: f64| {
        let value = profile.delta(epsilon).map_or(f64::INFINITY, |bounds| side(&bounds));
        Bounds::new(0.0, value)
    };
    least_at_most(figure, delta, Range::between(0.0, LARGEST_LOSS).bracket_from(1.0))
        .unwrap_or(f64::INFINITY)
}

/// Bounds on `mu`; the lower one is 0 unless every event is Gaussian noise.
fn total(composition: &Composition) -> Result<Bounds, AccountingError> {
    let (mut sum, mut exact) = (Wide::ZERO, true);
    for component in composition.iter() {
        let square = gaussian_shift_square(&component.event);
        exact &= square.is_some();
        let square = match square {
            Some(square) => square,
            None => Wide::exact(shift_square_bound(&component.event)?),
        };
        sum = sum + Wide::ONE.integer(i128::from(component.times)) * square;
    }
    let mu = sum.sqrt().bounds();
    Ok(Bounds::new(if exact { mu.lower().max(0.0) } else { 0.0 }, mu.upper()))
}

/// An upper bound on `mu^2` for which an event is proved to be `mu`-Gaussian differentially
/// private.
///
/// # Errors
/// If there is no proof for this kind of event.
pub fn gaussian_shift(event: &Event) -> Result<f64, AccountingError> {
    let composition = Composition::new(std::slice::from_ref(event))?;
    let mut sum = Bounds::ZERO;
    for component in composition.iter() {
        sum = sum
            + Bounds::exact(above(component.times))
                * Bounds::exact(shift_square_bound(&component.event)?);
    }
    Ok(sum.sqrt().upper())
}

/// An upper bound on `mu^2`.
pub(crate) fn shift_square_bound(event: &Event) -> Result<f64, AccountingError> {
    if let Some(square) = gaussian_shift_square(event) {
        return Ok(square.bounds().upper());
    }
    if let Event::RandomScaleGaussian { sigmas, sensitivity } = event {
        let least = sigmas.iter().map(|&(sigma, _)| sigma).fold(f64::INFINITY, f64::min);
        return Ok((Bounds::exact(*sensitivity) / Bounds::exact(least)).square().upper());
    }
    let not_covered = |reason| AccountingError::NotCovered {
        accountant: "gaussian-dp",
        mechanism: event.mechanism(),
        reason,
    };
    if matches!(event, Event::PoissonSubsampled { .. }) {
        return Err(not_covered(
            "samples are covered by a central limit theorem only, which is no bound",
        ));
    }
    let loss = pure_loss(event)?.ok_or_else(|| not_covered("no mu is proved for it"))?;
    // Q(x) = 1/(1 + e^epsilon), by its logarithm.
    let half = normal_isf_from_ln(-ln_one_plus_exp(Bounds::exact(loss)));
    Ok(half.times_power_of_two(1).square().upper())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::normal::normal_cdf;

    fn gaussian(mu: f64) -> Event {
        Event::Gaussian { sigma: 1.0, sensitivity: mu }
    }

    fn bracket(events: &[Event], delta: f64) -> Bounds {
        let composition = Composition::new(events).expect("valid");
        GaussianDp.epsilon(&composition, Delta::new(delta).expect("valid")).expect("covered")
    }

    #[test]
    fn narrow_from_the_smallest_to_the_largest() {
        for mu in [1e-6, 1e-3, 0.1, 1.0, 30.0, 3000.0, 1e5] {
            for delta in [1e-300, 1e-30, 1e-6, 0.1] {
                let found = bracket(&[gaussian(mu)], delta);
                let narrow = found.relative_width() < 1e-12 || found.upper() < 1e-12;
                assert!(narrow && found.upper().is_finite(), "mu {mu}, delta {delta:e}: {found:?}");
            }
        }
        assert_eq!(
            bracket(&[Event::Gaussian { sigma: 1e-10, sensitivity: 1.0 }], 1e-6).upper(),
            f64::INFINITY
        );
    }

    #[test]
    fn squares_add() {
        let parts = bracket(&[gaussian(0.3), gaussian(0.4)], 1e-8);
        let whole = bracket(&[gaussian(0.5)], 1e-8);
        assert!((parts.estimate() / whole.estimate() - 1.0).abs() < 1e-13, "{parts:?} {whole:?}");
        let general = Event::GeneralizedGaussian {
            order: 2.0,
            scale: 2f64.sqrt(),
            sensitivities: vec![0.3, 0.4],
        };
        let same = bracket(&[general], 1e-8);
        assert!((same.estimate() / whole.estimate() - 1.0).abs() < 1e-13);
    }

    /// The trade-off function of a pure loss lies above the Gaussian's, and touches it where both
    /// error rates are equal.
    #[test]
    fn pure_losses_lie_above_the_gaussian_curve() {
        for loss in [1e-3f64, 0.5, 3.0, 20.0] {
            let mu =
                gaussian_shift(&Event::Approximate { epsilon: loss, delta: 0.0 }).expect("covered");
            let pure =
                |error: f64| (1.0 - loss.exp() * error).max((-loss).exp() * (1.0 - error)).max(0.0);
            for step in -300..300 {
                // Error rates from both tails.
                let x = f64::from(step) / 50.0;
                let (first, second) = (normal_cdf(x).estimate(), normal_cdf(-x - mu).estimate());
                assert!(second <= pure(first) + 1e-15, "{loss} {first} {second}");
            }
            let corner = 1.0 / (1.0 + loss.exp());
            assert!((normal_cdf(-mu / 2.0).estimate() / corner - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn not_exact_means_no_lower_bound_and_no_proof_means_no_answer() {
        let mixed = [gaussian(1.0), Event::RandomizedResponse { epsilon: 0.1, categories: 2 }];
        let found = bracket(&mixed, 1e-6);
        assert!(found.lower() == 0.0 && found.upper() > bracket(&[gaussian(1.0)], 1e-6).upper());
        let sampled = Event::PoissonSubsampled { rate: 0.5, event: Box::new(gaussian(1.0)) };
        let uncovered = [
            (sampled, "central limit"),
            (Event::DiscreteGaussian { sigma: 1.0, sensitivity: 1 }, "no mu"),
            (Event::ZeroConcentrated { rho: 0.5 }, "no mu"),
            (Event::Approximate { epsilon: 0.1, delta: 1e-9 }, "no mu"),
        ];
        for (event, reason) in uncovered {
            let composition = Composition::new(&[event]).expect("valid");
            let answer = GaussianDp.epsilon(&composition, Delta::new(1e-6).expect("valid"));
            assert!(answer.is_err_and(|error| error.to_string().contains(reason)));
        }
    }
}
