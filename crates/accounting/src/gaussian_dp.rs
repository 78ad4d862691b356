//! Gaussian differential privacy: exact for Gaussian noise.

use crate::promise::{above, pure_loss};
use crate::renyi_curve::gaussian_shift_square;
use crate::{Accountant, AccountingError, Charges};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianProfile, Scale};
use reticent_numerics::log_sum::ln_one_plus_exp;
use reticent_numerics::normal_quantile::normal_isf_from_ln;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Gaussian differential privacy (Dong, Roth, Su, *Gaussian differential privacy*, 2019).
///
/// # Theorem
/// Releases that are `mu_i`-Gaussian differentially private, no easier to tell apart than `N(0, 1)` from `N(mu_i, 1)`, are together `sqrt(sum mu_i^2)`-Gaussian differentially private (Corollary 3.3),
/// and the profile is the Gaussian's: `delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)`.
///
/// # Reading
/// Gaussian noise has `mu = D/sigma`, exactly; so has generalized Gaussian noise of order 2, with `sigma = b/sqrt 2`. Gaussian noise of random scale is bounded by its least `sigma`. A pure event
/// is `mu`-Gaussian private with `mu = 2 PhiInv(e^epsilon/(1 + e^epsilon))`: its trade-off function is piecewise linear with corner at error rates `1/(1 + e^epsilon)` both, and a convex symmetric curve that passes through that
/// corner, as the Gaussian's does for this `mu`, lies below it on both sides. Samples are not covered: the central limit theorem for them is no bound. Neither is the discrete Gaussian.
///
/// # Direction
/// Exact from both sides, to about `1e-13`, where all events are Gaussian noise; otherwise an upper bound and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GaussianDp;

/// Losses up to this one are looked for: `mu` up to a million.
const LARGEST_LOSS: f64 = 1e13;

impl Accountant for GaussianDp {
    fn name(&self) -> &'static str {
        "gaussian-dp"
    }

    fn epsilon(&self, charges: &Charges, delta: Delta) -> Result<Bounds, AccountingError> {
        let mu = total(charges)?;
        let delta = delta.get();
        let upper = profile(mu.upper())?.map_or(f64::INFINITY, |profile| least_loss(&profile, delta, Bounds::upper));
        let lower = match profile(mu.lower())? {
            // The least f64 at which delta is no longer proved to be too large; at the one before, it is.
            Some(profile) => least_loss(&profile, delta, Bounds::lower).min(LARGEST_LOSS).next_down().max(0.0),
            None => 0.0,
        };
        Ok(Bounds::new(lower.min(upper), upper))
    }

    fn delta(&self, charges: &Charges, epsilon: Epsilon) -> Result<Bounds, AccountingError> {
        let mu = total(charges)?;
        let epsilon = epsilon.get();
        let upper =
            profile(mu.upper())?.map_or(Ok(1.0), |profile| profile.delta(epsilon).map(|delta| delta.upper()))?;
        let lower =
            profile(mu.lower())?.map_or(Ok(0.0), |profile| profile.delta(epsilon).map(|delta| delta.lower()))?;
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
    least_at_most(figure, delta, Range::between(0.0, LARGEST_LOSS).bracket_from(1.0)).unwrap_or(f64::INFINITY)
}

/// Bounds on `mu`; the lower one is 0 unless every event is Gaussian noise.
fn total(charges: &Charges) -> Result<Bounds, AccountingError> {
    let (mut sum, mut exact) = (Wide::ZERO, true);
    for charge in charges.iter() {
        let square = gaussian_shift_square(&charge.event);
        exact &= square.is_some();
        let square = match square {
            Some(square) => square,
            None => Wide::exact(shift_square_bound(&charge.event)?),
        };
        sum = sum + Wide::ONE.integer(i128::from(charge.times)) * square;
    }
    let mu = sum.sqrt().bounds();
    Ok(Bounds::new(if exact { mu.lower().max(0.0) } else { 0.0 }, mu.upper()))
}

/// An upper bound on `mu^2` for which an event is proved to be `mu`-Gaussian differentially private.
///
/// # Errors
/// If there is no proof for this kind of event.
pub fn gaussian_shift(event: &Event) -> Result<f64, AccountingError> {
    let charges = Charges::new(std::slice::from_ref(event))?;
    let mut sum = Bounds::ZERO;
    for charge in charges.iter() {
        sum = sum + Bounds::exact(above(charge.times)) * Bounds::exact(shift_square_bound(&charge.event)?);
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
    let not_covered =
        |reason| AccountingError::NotCovered { accountant: "gaussian-dp", mechanism: event.mechanism(), reason };
    if matches!(event, Event::PoissonSubsampled { .. }) {
        return Err(not_covered("samples are covered by a central limit theorem only, which is no bound"));
    }
    let loss = pure_loss(event)?.ok_or_else(|| not_covered("no mu is proved for it"))?;
    // Q(x) = 1/(1 + e^epsilon), by its logarithm.
    let half = normal_isf_from_ln(-ln_one_plus_exp(Bounds::exact(loss)));
    Ok(half.times_power_of_two(1).square().upper())
}
