//! The generalized Gaussian mechanism of any order: exact `(epsilon, delta)`, probabilistic and, for orders of at most 1, pure privacy.

mod adaptive;
mod calibration;
mod cell_moments;
mod error;
mod expansions;
mod inner_product;
mod moved_series;
mod noise_tree;
mod order;
mod outer;
mod pair;
mod release;
mod several;
mod shift;
mod taylor;
mod three;

pub use calibration::Method;
pub use order::Order;

pub(crate) use calibration::most_for_pure;
pub(crate) use error::usefulness;
pub(crate) use release::{AddNoise, lattice_for};
pub(crate) use shift::Shift;
pub(crate) use taylor::loss_coefficients;

use crate::{
    Certificate, Delta, Distance, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind, Notion,
    Releaser, Scale,
};
use reticent_events::Event;
use reticent_noise::Lattice;
use reticent_numerics::Bounds;

/// Adds noise of density `exp(-(|x|/b)^p) / (2 b Gamma(1 + 1/p))` to each coordinate.
///
/// # Sensitivities
/// One entry for a scalar, and for disjoint queries such as the counts of a histogram, of which one privacy unit moves one. (A histogram has
/// sensitivity 1 when neighbours add or remove a unit; when they replace one, two counts move, and the entries are two.) Several entries for a
/// query whose elements move by up to so much each, all at once: a box. For a ball `||d||_p <= D` with `p > 2` no worst direction is known;
/// give the box that contains it.
///
/// # Guarantee
/// With `u = D/b` and noise `X` of scale 1 the loss is `L(x) = |x + u|^p - |x|^p`.
/// - [`Method::Exact`]: the least `b` of `(epsilon, delta)`-differential privacy, from `delta = P[X > t] - e^epsilon P[X > t + u]` with `L(t) = epsilon`,
///   where `t` may be negative.
/// - [`Method::Probabilistic`]: Corollary 9 with the power of the sensitivity that it lost (erratum L2),
///   `P[(|X| + u)^p - |X|^p > epsilon] <= delta`. No Monte Carlo is needed: `b = D / ((x^p + epsilon)^(1/p) - x)` where `Q(1/p, x^p) = delta`. For several
///   sensitivities Proposition 8, with the threshold of Eqn 13, `b^p epsilon - D_p^p` (the text has `b^p - D_p^p epsilon`, erratum L3).
/// - [`Method::TwoSided`]: the exact `P[|L| > epsilon] <= delta`.
/// - [`GeneralizedGaussian::pure`]: `b = (sum D_k^p / epsilon)^(1/p)` for orders of at most 1, which Claim 4 denies (erratum L1).
///
/// Probabilistic privacy asks for far more noise than the approximate notion at the same parameters (erratum L11: at `epsilon = 0.1`,
/// `delta = 0.01` and order 2 the scale is more than twice as large), and does not survive post-processing.
///
/// # Numerics
/// One sensitivity, and any number of them at order 2 in the approximate notion: profiles to a few units in the last place. Two: to a relative `1e-12` at orders up to 6. Three: the same at whole orders from 2 on
/// (`1e-11` at order 6 where they are similar). More: the losses of the coordinates are added up by a certified convolution, whose width the certificate shows; the scale is safe whatever the width. The value is rounded to a lattice of `2^-43` of the noise or finer before noise is
/// added, and the sensitivities are those on the lattice.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definition 5, Proposition 8, Corollary 9.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod, Mechanism, Order};
/// let mechanism = GeneralizedGaussian::calibrate(
///     Order::new(3.0)?,
///     &[Distance::new(1.0)?],
///     Epsilon::new(1.0)?,
///     Delta::new(1e-6)?,
///     GeneralizedGaussianMethod::Exact,
/// )?;
/// assert!((mechanism.scale() - 12.488448258318423).abs() < 1e-10);
/// assert!(mechanism.delta(1.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralizedGaussian {
    order: Order,
    scale: f64,
    lattice: Lattice,
    /// On the lattice; the first is the largest.
    sensitivities: Vec<f64>,
    method: &'static str,
    guarantee: Guarantee,
    certificate: Certificate,
}

impl GeneralizedGaussian {
    /// The least scale for a budget. Orders of at most 1 have the exact method only.
    ///
    /// # Errors
    /// If no scale could be certified, or the method does not apply to the order or the number of sensitivities.
    pub fn calibrate(
        order: Order,
        sensitivities: &[Distance],
        epsilon: Epsilon,
        delta: Delta,
        method: Method,
    ) -> Result<Self, MechanismError> {
        let notion = match method {
            Method::Exact => Notion::Approximate,
            Method::Probabilistic | Method::TwoSided => Notion::Probabilistic,
        };
        let guarantee = Guarantee { notion, epsilon: epsilon.get(), delta: delta.get() };
        let ideal = descending(sensitivities)?;
        method.require_applies(order, ideal.len(), epsilon.get())?;
        let least = |sensitivities: &[f64]| method.least_scale(order, sensitivities, epsilon.get(), delta.get());
        Self::settle(order, &ideal, least, method.name(), guarantee, |sensitivities, scale| {
            let bounds = method.delta(order, sensitivities, scale, epsilon.get());
            (Certificate::Delta(bounds), bounds.upper() <= delta.get())
        })
    }

    /// The least scale of pure differential privacy, for an order of at most 1: `b = (sum D_k^p / epsilon)^(1/p)` (erratum L1).
    ///
    /// # Errors
    /// If the order is above 1 or epsilon is zero.
    pub fn pure(order: Order, sensitivities: &[Distance], epsilon: Epsilon) -> Result<Self, MechanismError> {
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        let ideal = descending(sensitivities)?;
        if order.get() > 1.0 {
            let accepted = "at most 1 for a pure promise; give a delta, or bounds, for orders above 1";
            return Err(MechanismError::Parameter { name: "order", value: order.get(), accepted });
        }
        let least = |sensitivities: &[f64]| Ok(calibration::pure_scale(order, sensitivities, epsilon));
        let guarantee = Guarantee { notion: Notion::Pure, epsilon, delta: 0.0 };
        Self::settle(order, &ideal, least, "pure", guarantee, |sensitivities, scale| {
            let bounds = calibration::pure_epsilon(order, sensitivities, scale);
            (Certificate::Epsilon(bounds), bounds.upper() <= epsilon)
        })
    }

    /// Noise of a given scale, with the least delta that can be proved for it at `epsilon` as its promise.
    ///
    /// # Errors
    /// If the noise cannot be made.
    pub fn with_scale(
        order: Order,
        scale: Scale,
        sensitivities: &[Distance],
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        let ideal = descending(sensitivities)?;
        let lattice = lattice_for(order, scale.get(), &ideal)?;
        let sensitivities = on_lattice(lattice, &ideal)?;
        let bounds = Method::Exact.delta(order, &sensitivities, scale.get(), epsilon.get());
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon: epsilon.get(), delta: bounds.upper() };
        let certificate = Certificate::Delta(bounds);
        Ok(GeneralizedGaussian {
            order,
            scale: scale.get(),
            lattice,
            sensitivities,
            method: "given",
            guarantee,
            certificate,
        })
    }

    /// Takes the least scale for the ideal sensitivities to one that is proved for those on its lattice. All scales are linear in
    /// the sensitivities, so it grows by as much as they do, and by a few units in the last place where a proof needs them. Only where one of several is so
    /// small that the lattice moves it by much more than the others, is the scale looked for again.
    fn settle(
        order: Order,
        ideal: &[f64],
        least: impl Fn(&[f64]) -> Result<f64, MechanismError>,
        method: &'static str,
        guarantee: Guarantee,
        prove: impl Fn(&[f64], f64) -> (Certificate, bool),
    ) -> Result<Self, MechanismError> {
        let start = least(ideal)?;
        let mut scale = Scale::new(start)?.get();
        let mut again: Option<(Lattice, f64)> = None;
        for attempt in 0..40 {
            let lattice = lattice_for(order, scale, ideal)?;
            let sensitivities = on_lattice(lattice, ideal)?;
            let growth = ideal.iter().zip(&sensitivities).map(|(ideal, grown)| grown / ideal).fold(1.0, f64::max);
            if sensitivities[0] > 2.0 * ideal[0] {
                return Err(MechanismError::Refused(format!(
                    "the least scale is {start:e}, noise so much larger than the sensitivity {:e} that no lattice serves both",
                    ideal[0]
                )));
            }
            let grown = match again {
                _ if growth <= 1.0 => start,
                _ if ideal.len() == 1 || growth <= 1.0 + 1e-12 => (start * growth).next_up(),
                Some((found_for, found)) if found_for == lattice => found,
                _ => {
                    let found = least(&sensitivities)?;
                    again = Some((lattice, found));
                    found
                }
            };
            scale = Scale::new(grown * (1.0 + if attempt == 0 { 0.0 } else { 2f64.powi(attempt - 53) }))?.get();
            if lattice_for(order, scale, ideal)? != lattice {
                continue;
            }
            let (certificate, proved) = prove(&sensitivities, scale);
            if proved {
                return Ok(GeneralizedGaussian {
                    order,
                    scale,
                    lattice,
                    sensitivities,
                    method,
                    guarantee,
                    certificate,
                });
            }
        }
        Err(MechanismError::NotCertified {
            what: "generalized Gaussian noise",
            reason: "the bounds are too wide at every scale that was tried".into(),
        })
    }

    /// The order `p`.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The sensitivities that the promise is proved for: those asked for, rounded up to the lattice, the largest first.
    pub fn sensitivities(&self) -> &[f64] {
        &self.sensitivities
    }
}

fn descending(sensitivities: &[Distance]) -> Result<Vec<f64>, MechanismError> {
    if sensitivities.is_empty() || sensitivities.len() > several::MOST_COORDINATES {
        return Err(MechanismError::Parameter {
            name: "number of sensitivities",
            value: sensitivities.len() as f64,
            accepted: "from 1 to 12; disjoint queries need one for all of them",
        });
    }
    let mut values: Vec<f64> = sensitivities.iter().map(|distance| distance.get()).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    Ok(values)
}

fn on_lattice(lattice: Lattice, sensitivities: &[f64]) -> Result<Vec<f64>, MechanismError> {
    Ok(sensitivities.iter().map(|&ideal| lattice.sensitivity(ideal)).collect::<Result<_, _>>()?)
}

impl Mechanism for GeneralizedGaussian {
    fn kind(&self) -> MechanismKind {
        MechanismKind::GeneralizedGaussian
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("order", self.order.get())]
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// To a few units in the last place for one sensitivity or order 2, and to a relative `1e-12` for two and three at whole orders up to 6 (`1e-11` for three similar ones at order 6). For more, to that where one sensitivity dominates,
    /// and `1e-9` to `1e-2` where they are similar; and for orders of at most 1 between the profile of the largest coordinate alone and that of any mechanism with the same pure epsilon.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(Method::Exact.delta(self.order, &self.sensitivities, self.scale, epsilon))
    }

    fn event(&self) -> Event {
        Event::GeneralizedGaussian {
            order: self.order.get(),
            scale: self.scale,
            sensitivities: self.sensitivities.clone(),
        }
    }

    fn errors(&self) -> Option<Errors> {
        Some(error::errors(self.order, self.scale))
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        Some(usefulness(self.order, self.scale, t))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(AddNoise::new(self.order, self.scale, self.lattice)?))
    }
}
