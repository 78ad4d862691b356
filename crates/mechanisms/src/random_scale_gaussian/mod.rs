//! Gaussian noise of random standard deviation.

mod profile;

use crate::gaussian::GaussianProfile;
use crate::guarantee::{Certificate, Guarantee, Notion};
use crate::mechanism::{Errors, Mechanism, Releaser};
use crate::parameters::{Distance, Epsilon};
use crate::sensitivity_lattice::SensitivityLattice;
use crate::{Budget, MechanismError, MechanismKind, Sensitivity};
use reticent_events::Event;
use reticent_noise::{GaussianMixture, Noise, NoiseError};
use reticent_numerics::quadrature::{Integrand, Options, integrate_with_tail};
use reticent_numerics::root::{Direction, Range, least_at_most, monotone_root};
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

/// Adds normal noise whose standard deviation is drawn afresh and in secret for each release, to a
/// scalar of sensitivity `D`.
///
/// # Distribution
/// `f(x) = sum w_i phi(x/s_i)/s_i`. The draw is made from the mixture itself, so no drawn `s_i`
/// exists that could leak.
///
/// # Guarantee
/// `(epsilon, delta)`-differential privacy with the `delta` of the mixture, certified from its
/// density: see [`Mechanism::delta`]. For a symmetric unimodal density `f(x) - e^epsilon f(x + d)`
/// increases with `d` at every `x >= -d/2`, and is not positive elsewhere; so the largest shift is
/// the worst case, and scaling all `s_i` up by a common factor, which is a smaller shift, loses
/// less.
///
/// The hockey-stick divergence is jointly convex, which gives the averaged bound
/// `delta(epsilon) <= sum w_i delta_i(epsilon)` at one and the same `epsilon`:
/// [`RandomScaleGaussianMechanism::averaged_delta`]. Averaging `e^epsilon` over the components at
/// one `delta`, as Eqns 3 to 7 do, is not a bound (erratum R2).
///
/// Charged as [`Event::RandomScaleGaussian`].
///
/// # References
/// Mohammady, *Randomized privacy budget differential privacy*, 2018, Eqns 4, 5, 8 and 9.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Delta, Distance, Epsilon, Mechanism, RandomScaleGaussianMechanism};
/// let mechanism = RandomScaleGaussianMechanism::calibrate(
///     vec![(1.0, 0.5), (2.0, 0.5)],
///     &Distance::new(1.0)?.into(),
///     (Epsilon::new(1.0)?, Delta::new(1e-6)?),
/// )?;
/// assert!(mechanism.delta(1.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomScaleGaussianMechanism {
    method: &'static str,
    /// The noise, the certificate and the event all read this.
    mixture: GaussianMixture,
    /// `D`.
    sensitivity: f64,
    guarantee: Guarantee,
    certified: Bounds,
}

impl RandomScaleGaussianMechanism {
    /// Noise with the given standard deviations and weights, guaranteeing the least `delta` that is
    /// proved at `epsilon`.
    ///
    /// # Errors
    /// If the list is empty, a standard deviation is not from 1e-150 to 1e150, a weight not
    /// positive, or the weights do not add up to 1.
    pub fn new(
        components: Vec<(f64, f64)>,
        sensitivity: Distance,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        let mixture = GaussianMixture::new(components)?;
        let certified = profile::delta(&mixture, sensitivity.get(), epsilon.get());
        let guarantee = Guarantee {
            notion: Notion::Approximate,
            epsilon: epsilon.get(),
            delta: certified.upper(),
        };
        Ok(RandomScaleGaussianMechanism {
            method: "given",
            mixture,
            sensitivity: sensitivity.get(),
            guarantee,
            certified,
        })
    }

    /// The given standard deviations times the least common factor that is proved to keep a budget,
    /// to a relative `1e-12`.
    ///
    /// # Errors
    /// As for [`RandomScaleGaussianMechanism::new`], and if no factor is certified.
    pub fn calibrate(
        shape: Vec<(f64, f64)>,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let unscaled = GaussianMixture::new(shape)?;
        let (epsilon, delta) = budget.into().approximate(MechanismKind::RandomScaleGaussian)?;
        let sensitivity = sensitivity.of_one_number("Gaussian noise of random scale")?;
        let scaled = |factor: f64| -> Result<GaussianMixture, NoiseError> {
            GaussianMixture::new(
                unscaled
                    .components()
                    .iter()
                    .map(|&(sigma, weight)| (sigma * factor, weight))
                    .collect(),
            )
        };
        // What the largest component needs by itself, roughly.
        let largest = unscaled.components().iter().map(|&(sigma, _)| sigma).fold(0.0, f64::max);
        let guess = crate::gaussian::analytic::analytic(epsilon, delta)? * sensitivity / largest;
        let certified = |factor: f64| match scaled(factor) {
            Ok(mixture) => profile::delta(&mixture, sensitivity, epsilon),
            Err(_) => Bounds::new(0.0, 1.0),
        };
        let factor =
            least_at_most(certified, delta, Range::POSITIVE.bracket_from(guess).to_within(1e-13))
                .map_err(|error| {
                MechanismError::not_certified("the random-scale Gaussian mechanism", &error)
            })?;
        let mixture = scaled(factor)?;
        let certified = profile::delta(&mixture, sensitivity, epsilon);
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon, delta };
        Ok(RandomScaleGaussianMechanism {
            method: "least-factor",
            mixture,
            sensitivity,
            guarantee,
            certified,
        })
    }

    /// The standard deviations with their weights.
    pub fn components(&self) -> &[(f64, f64)] {
        self.mixture.components()
    }

    /// `sum w_i delta_i(epsilon)`: an upper bound on the profile by convexity, with room.
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN.
    pub fn averaged_delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let mut sum = Bounds::ZERO;
        for &(sigma, weight) in self.components() {
            let delta = GaussianProfile::of_quotient(sigma, self.sensitivity).delta(epsilon)?;
            sum = sum + Bounds::exact(weight) * delta;
        }
        Ok((sum / self.mixture.mass(&Bounds::ONE)).clamp(0.0, 1.0))
    }

    /// `sum w_i s_i^power / sum w_i`.
    fn mean_power(&self, power: u32) -> Bounds {
        self.mixture.weighted(&Bounds::ONE, |sigma| sigma.powi(power))
            / self.mixture.mass(&Bounds::ONE)
    }

    fn largest_sigma(&self) -> f64 {
        self.components().iter().map(|&(sigma, _)| sigma).fold(0.0, f64::max)
    }

    /// The differential entropy `-2 ∫_0^∞ f ln f`, in units of the largest standard deviation, by
    /// certified quadrature up to 12 and a bound beyond.
    ///
    /// With `u = x/s_max >= 12`, `f(u) >= w exp(-u^2/2)/sqrt(2 pi)` for the weight `w` of the
    /// largest component, so `0 <= -ln f <= u^2/2 + 1 - ln w`; every component has less than
    /// `phi(12) < 3e-32` beyond, so that the rest is below `1e-29 (1 - ln w)`.
    fn entropy(&self) -> Bounds {
        let unit = self.largest_sigma();
        let weight = self
            .components()
            .iter()
            .filter(|part| part.0 == unit)
            .map(|part| part.1)
            .fold(0.0, f64::max);
        let integrand = EntropyDensity { mixture: &self.mixture, unit };
        let rest = Bounds::new(0.0, 1e-29 * (1.0 - weight.ln()));
        let options =
            Options { relative_tolerance: 1e-12, absolute_tolerance: 1e-14, ..Options::default() };
        let half = integrate_with_tail(&integrand, 0.0, 12.0, rest, &options);
        half.times_power_of_two(1) + Bounds::exact(unit).ln()
    }

    /// The `t` with `P[|X| > t] = 0.05`.
    fn quantile_95(&self) -> Bounds {
        let mass = self.mixture.mass(&Bounds::ONE);
        let excess = |t: f64| {
            self.mixture.tail_bounds(Bounds::exact(t)) / mass - Bounds::ONE / Bounds::exact(40.0)
        };
        let range = Range::between(0.0, 2.0 * self.largest_sigma());
        monotone_root(excess, range, Direction::Decreasing)
            .unwrap_or(Bounds::new(0.0, 2.0 * self.largest_sigma()))
    }
}

/// `-g ln g` for the density `g` of `X/unit`.
struct EntropyDensity<'a> {
    mixture: &'a GaussianMixture,
    unit: f64,
}

impl Integrand for EntropyDensity<'_> {
    fn at<E: Enclosure>(&self, x: &E) -> E {
        let unit = x.exactly(self.unit);
        let density =
            self.mixture.density(&(x.clone() * unit.clone())) * unit / self.mixture.mass(x);
        -(density.clone() * density.ln())
    }
}

impl Mechanism for RandomScaleGaussianMechanism {
    fn kind(&self) -> MechanismKind {
        MechanismKind::RandomScaleGaussian
    }

    fn method(&self) -> &'static str {
        self.method
    }

    /// The standard deviation of the mixture, `sqrt(sum w_i s_i^2)`.
    fn scale(&self) -> f64 {
        self.mean_power(2).sqrt().estimate()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let parts = self
            .components()
            .iter()
            .flat_map(|&(sigma, weight)| [("sigma", sigma), ("weight", weight)]);
        std::iter::once(("sensitivity", self.sensitivity)).chain(parts).collect()
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        Certificate::Delta(self.certified)
    }

    /// The profile of the mixture itself, by a certified search for the outputs that lose more than
    /// `epsilon`.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        if epsilon >= 0.0 && epsilon.is_finite() {
            Ok(profile::delta(&self.mixture, self.sensitivity, epsilon))
        } else {
            Err(OutOfRange::new("epsilon", epsilon, "a finite number, at least 0").into())
        }
    }

    fn event(&self) -> Event {
        Event::RandomScaleGaussian {
            sigmas: self.components().to_vec(),
            sensitivity: self.sensitivity,
        }
    }

    fn errors(&self) -> Option<Errors> {
        let pi = Bounds::ONE.pi();
        Some(Errors {
            mean_absolute: self.mean_power(1) * (Bounds::exact(2.0) / pi).sqrt(),
            root_mean_square: self.mean_power(2).sqrt(),
            entropy: self.entropy(),
            quantile_95: self.quantile_95(),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t.is_nan() || t < 0.0 {
            return Some(Bounds::ZERO);
        }
        let beyond =
            self.mixture.tail_bounds(Bounds::exact(t.min(1e300))) / self.mixture.mass(&Bounds::ONE);
        Some((Bounds::ONE - beyond.times_power_of_two(1)).clamp(0.0, 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(SensitivityLattice::new(self.mixture.clone(), 1.0, self.sensitivity)?))
    }
}
