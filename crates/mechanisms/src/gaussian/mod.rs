//! The Gaussian mechanism, by every published calibration, certified against the exact profile.

pub(crate) mod analytic;
mod classical;
mod classical_limit;
mod closed_form;
mod least_ratio;
mod method;
mod probabilistic;
mod profile;

pub use classical_limit::{ClassicalFailure, classical_failure, classical_limit};
pub use method::GaussianMethod;
pub use profile::GaussianProfile;

use crate::guarantee::{Certificate, Guarantee, Notion};
use crate::mechanism::{Errors, Mechanism, Releaser};
use crate::parameters::{Distance, Epsilon, Scale};
use crate::sensitivity_lattice::SensitivityLattice;
use crate::{Budget, MechanismError, MechanismKind, Sensitivity};
use reticent_events::Event;
use reticent_noise::Gaussian;
use reticent_numerics::normal::normal_sf;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{Bounds, Enclosure, require};

/// Adds normal noise of standard deviation `sigma` to each coordinate of an answer of l2
/// sensitivity `D`.
///
/// # Distribution
/// `f(x) = exp(-x^2/(2 sigma^2))/(sigma sqrt(2 pi))`.
///
/// # Guarantee
/// `(epsilon, delta)`-differential privacy with the `delta` of [`GaussianProfile`], exactly, in any
/// dimension; or, for the methods that say so, probabilistic differential privacy, which
/// post-processing can break (erratum L4). Charged as [`Event::Gaussian`].
///
/// Noise and loss depend on `sigma/D` alone. A calibration finds the least ratio, multiplies it by
/// `D` rounding up, and then proves the guarantee again for the very `sigma` and `D` that are
/// stored: so `sigma` is linear in `D` but for the last bit. The released noise has at least this
/// ratio.
///
/// # References
/// Balle and Wang, *Improving the Gaussian mechanism for differential privacy*, 2018; for the
/// others see [`GaussianMethod`].
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism,
/// };
/// let mechanism = GaussianMechanism::calibrate(
///     GaussianMethod::Analytic,
///     &Distance::new(1.0)?.into(),
///     (Epsilon::new(1.0)?, Delta::new(1e-6)?),
/// )?;
/// assert!((mechanism.scale() - 4.2246794).abs() < 1e-6);
/// assert!(mechanism.delta(1.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianMechanism {
    method: &'static str,
    /// The noise, the certificate and the event all read this.
    sigma: f64,
    /// `D`.
    sensitivity: f64,
    guarantee: Guarantee,
    certified: Bounds,
}

impl GaussianMechanism {
    /// The noise that `method` gives for a budget, with the proof that it keeps it.
    ///
    /// # Errors
    /// If the method is not within its budget there (the classical ones for large `epsilon`), or
    /// not defined (all but the analytic one at `epsilon = 0`), or no scale can be certified.
    pub fn calibrate(
        method: GaussianMethod,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let (epsilon, delta) = budget.into().approximate(MechanismKind::Gaussian)?;
        let ratio = least_ratio_of(method, epsilon, delta)?;
        let guarantee = Guarantee { notion: method.notion(), epsilon, delta };
        let figure = |profile: &GaussianProfile| match method {
            GaussianMethod::Liu | GaussianMethod::Probabilistic => {
                profile.two_sided(guarantee.epsilon)
            }
            GaussianMethod::ProbabilisticOneSided => profile.one_sided(guarantee.epsilon),
            GaussianMethod::Analytic
            | GaussianMethod::Classical2006
            | GaussianMethod::Classical2014
            | GaussianMethod::ClosedForm1
            | GaussianMethod::ClosedForm2
            | GaussianMethod::Vinterbo => profile.delta(guarantee.epsilon),
        };
        let sensitivity = sensitivity.l2()?;
        let mut sigma = mul_up(ratio, sensitivity);
        // The product was rounded, and so is the evaluation: the proof may need a few units in the
        // last place more.
        for extra in 0..40 {
            if !sigma.is_normal() {
                break;
            }
            let certified = figure(&GaussianProfile::of_quotient(sigma, sensitivity))?;
            if certified.upper() <= guarantee.delta {
                return Ok(GaussianMechanism {
                    method: method.name(),
                    sigma,
                    sensitivity,
                    guarantee,
                    certified,
                });
            }
            sigma = mul_up(sigma, 1.0 + f64::EPSILON * f64::from(1 << (extra / 4)));
        }
        Err(MechanismError::NotCertified {
            what: "the Gaussian mechanism",
            reason: format!("standard deviation {sigma:e} for sensitivity {sensitivity:e}"),
        })
    }

    /// Noise of a given standard deviation, guaranteeing the least `delta` that is proved at
    /// `epsilon`.
    ///
    /// # Errors
    /// If that is not a number from 0 to below 1.
    pub fn with_sigma(
        sigma: Scale,
        sensitivity: Distance,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        let certified = GaussianProfile::new(sigma, sensitivity).delta(epsilon.get())?;
        let guarantee = Guarantee {
            notion: Notion::Approximate,
            epsilon: epsilon.get(),
            delta: certified.upper(),
        };
        Ok(GaussianMechanism {
            method: "given",
            sigma: sigma.get(),
            sensitivity: sensitivity.get(),
            guarantee,
            certified,
        })
    }

    /// `D`, the l2 sensitivity.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// The exact privacy profile.
    pub fn profile(&self) -> GaussianProfile {
        GaussianProfile::of_quotient(self.sigma, self.sensitivity)
    }

    /// What releases each coordinate of a vector of which `sensitivity` is the l2 sensitivity.
    ///
    /// Rounding `d` coordinates to the lattice, spacing `t`, can add `sqrt(d) t` to the l2
    /// sensitivity; the noise is larger by that factor. For a single coordinate this is
    /// [`Mechanism::releaser`].
    ///
    /// # Errors
    /// If there are no coordinates, or the noise cannot be made.
    pub fn coordinate_releaser(
        &self,
        coordinates: u32,
    ) -> Result<Box<dyn Releaser>, MechanismError> {
        require(coordinates > 0, "coordinates", 0.0, "at least 1")?;
        Ok(Box::new(SensitivityLattice::for_coordinates(
            Gaussian,
            self.sigma,
            self.sensitivity,
            coordinates,
        )?))
    }
}

/// `sigma/D`, not yet certified but for the searches.
fn least_ratio_of(method: GaussianMethod, epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    if epsilon == 0.0 && method != GaussianMethod::Analytic {
        return Err(MechanismError::Refused(format!(
            "the method `{}` needs an epsilon above 0; `analytic` is exact at epsilon = 0",
            method.name()
        )));
    }
    Ok(match method {
        GaussianMethod::Analytic => analytic::analytic(epsilon, delta)?,
        GaussianMethod::Classical2006 => {
            classical::classical(method.name(), 2.0, epsilon, delta)?.upper()
        }
        GaussianMethod::Classical2014 => {
            classical::classical(method.name(), 1.25, epsilon, delta)?.upper()
        }
        GaussianMethod::ClosedForm1 => closed_form::closed_form_1(epsilon, delta).upper(),
        GaussianMethod::ClosedForm2 => closed_form::closed_form_2(epsilon, delta)?.upper(),
        GaussianMethod::Vinterbo => closed_form::vinterbo(epsilon, delta)?.upper(),
        GaussianMethod::Liu => probabilistic::liu(epsilon, delta).upper(),
        GaussianMethod::Probabilistic => probabilistic::two_sided(epsilon, delta)?,
        GaussianMethod::ProbabilisticOneSided => probabilistic::one_sided(epsilon, delta).upper(),
    })
}

/// Bounds on the errors of normal noise: `E|X| = sigma sqrt(2/pi)`, entropy
/// `ln(sigma sqrt(2 pi e))`.
pub(crate) fn normal_errors(sigma: f64) -> Errors {
    let sigma = Bounds::exact(sigma);
    let pi = sigma.pi();
    Errors {
        mean_absolute: sigma * (Bounds::exact(2.0) / pi).sqrt(),
        root_mean_square: sigma,
        entropy: sigma.ln() + (pi.times_power_of_two(1).ln() + Bounds::ONE).times_power_of_two(-1),
        quantile_95: sigma * normal_isf(Bounds::ONE / Bounds::exact(40.0)),
    }
}

impl Mechanism for GaussianMechanism {
    fn kind(&self) -> MechanismKind {
        MechanismKind::Gaussian
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.sigma
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("sensitivity", self.sensitivity)]
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        Certificate::Delta(self.certified)
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        self.profile().delta(epsilon)
    }

    fn event(&self) -> Event {
        Event::Gaussian { sigma: self.sigma, sensitivity: self.sensitivity }
    }

    fn errors(&self) -> Option<Errors> {
        Some(normal_errors(self.sigma))
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        let beyond =
            normal_sf(Bounds::exact(t.max(0.0)) / Bounds::exact(self.sigma)).times_power_of_two(1);
        match t {
            _ if t.is_nan() => None,
            _ if t < 0.0 => Some(Bounds::ZERO),
            _ => Some((Bounds::ONE - beyond).clamp(0.0, 1.0)),
        }
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(SensitivityLattice::new(Gaussian, self.sigma, self.sensitivity)?))
    }

    fn vector_releaser(&self, coordinates: u32) -> Result<Box<dyn Releaser>, MechanismError> {
        self.coordinate_releaser(coordinates)
    }
}
