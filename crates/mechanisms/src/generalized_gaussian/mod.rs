//! The generalized Gaussian mechanism of any order: exact `(epsilon, delta)`, probabilistic and,
//! for orders of at most 1, pure privacy.

mod adaptive;
mod calibration;
mod cell_moments;
mod error;
mod expansions;
mod inner_product;
mod moved;
mod moved_series;
mod noise_tree;
mod order;
mod outer;
mod pair;
mod radial;
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
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Scale, Sensitivity,
};
use moved::Moved;
use reticent_events::Event;
use reticent_noise::Lattice;
use reticent_numerics::{Bounds, OutOfRange};

/// Adds noise of density `exp(-(|x|/b)^p) / (2 b Gamma(1 + 1/p))` to each coordinate.
///
/// # Sensitivities
/// One entry for a scalar, and for disjoint queries such as the counts of a histogram, of which one
/// privacy unit moves one. (A histogram has sensitivity 1 when neighbours add or remove a unit;
/// when they replace one, two counts move, and the entries are two.) Several entries for a query
/// whose elements move by up to so much each, all at once: a box. Or a norm of the move, for any
/// number of coordinates: at order 2, and under a pure budget, its l_p sensitivity `D_p` is all
/// that counts, and the scale is the least. At other orders no worst direction of a ball is known,
/// and the scale is one that is proved for all of them (`radial.rs`). Where both are known the
/// smaller of the two scales is taken.
///
/// # Guarantee
/// With `u = D/b` and noise `X` of scale 1 the loss is `L(x) = |x + u|^p - |x|^p`.
/// - [`Method::Exact`]: the least `b` of `(epsilon, delta)`-differential privacy, from
///   `delta = P[X > t] - e^epsilon P[X > t + u]` with `L(t) = epsilon`, where `t` may be negative.
/// - [`Method::Probabilistic`]: Corollary 9 with the power of the sensitivity that it lost (erratum
///   L2), `P[(|X| + u)^p - |X|^p > epsilon] <= delta`. No Monte Carlo is needed:
///   `b = D / ((x^p + epsilon)^(1/p) - x)` where `Q(1/p, x^p) = delta`. For several sensitivities
///   Proposition 8, with the threshold of Eqn 13, `b^p epsilon - D_p^p` (the text has
///   `b^p - D_p^p epsilon`, erratum L3), with the true `D_p` where it is known, and otherwise
///   Lemma 2's. From a norm alone the same with `r/p` in place of `1/p`, `r` the number of
///   coordinates.
/// - [`Method::TwoSided`]: the exact `P[|L| > epsilon] <= delta`.
/// - under a pure budget: `b = (sum D_k^p / epsilon)^(1/p)` for orders of at most 1,
///   which Claim 4 denies (erratum L1).
///
/// Probabilistic privacy asks for far more noise than the approximate notion at the same parameters
/// (erratum L11: at `epsilon = 0.1`, `delta = 0.01` and order 2 the scale is more than twice as
/// large), and does not survive post-processing.
///
/// # Numerics
/// One sensitivity, and any number of them at order 2 in the approximate notion: profiles to a few
/// units in the last place. Two: to a relative `1e-12` at orders up to 6. Three: the same at whole
/// orders from 2 on (`1e-11` at order 6 where they are similar). More: the losses of the
/// coordinates are added up by a certified convolution, whose width the certificate shows; the
/// scale is safe whatever the width. The value is rounded to a lattice of `2^-43` of the noise or
/// finer before noise is added, and the sensitivities are those on the lattice.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definition 5, Proposition 8,
/// Corollary 9.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod, Mechanism, Order,
/// };
/// let mechanism = GeneralizedGaussian::calibrate(
///     Order::new(3.0)?,
///     GeneralizedGaussianMethod::Exact,
///     &Distance::new(1.0)?.into(),
///     (Epsilon::new(1.0)?, Delta::new(1e-6)?),
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
    /// On the lattice.
    moved: Moved,
    method: &'static str,
    guarantee: Guarantee,
    certificate: Certificate,
}

impl GeneralizedGaussian {
    /// The least scale for a budget. Orders of at most 1 have the exact method only, and pure
    /// differential privacy where the budget has no delta.
    ///
    /// # Errors
    /// If no scale could be certified, or the method does not apply to the order or the number of
    /// sensitivities, or what is known is not how far each coordinate moves.
    pub fn calibrate(
        order: Order,
        method: Method,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let budget = budget.into();
        let (epsilon, delta) = match (budget.delta(), method) {
            (Some(delta), _) => (budget.epsilon(), delta),
            (None, Method::Exact) => {
                let known = known(sensitivity, order, Known::Least)?;
                return smallest(known, |moved| Self::pure(order, moved, budget.epsilon()));
            }
            (None, Method::Probabilistic | Method::TwoSided) => {
                return Err(MechanismError::Refused(format!(
                    "the method `{}` needs a `delta`",
                    method.name()
                )));
            }
        };
        let (notion, wanted) = match method {
            Method::Exact if order.get() == 2.0 => (Notion::Approximate, Known::Least),
            Method::Exact => (Notion::Approximate, Known::All),
            Method::TwoSided => (Notion::Probabilistic, Known::All),
            Method::Probabilistic => (Notion::Probabilistic, Known::Together),
        };
        let guarantee = Guarantee { notion, epsilon: epsilon.get(), delta: delta.get() };
        smallest(known(sensitivity, order, wanted)?, |ideal| {
            method.require_applies(order, ideal, epsilon.get())?;
            let least =
                |moved: &Moved| method.least_scale(order, moved, epsilon.get(), delta.get());
            Self::settle(order, ideal, least, method.name(), guarantee, |moved, scale| {
                let bounds = method.delta(order, moved, scale, epsilon.get());
                (Certificate::Delta(bounds), bounds.upper() <= delta.get())
            })
        })
    }

    /// The least scale of pure differential privacy, for an order of at most 1:
    /// `b = (sum D_k^p / epsilon)^(1/p)` (erratum L1), or `b = D_p / epsilon^(1/p)`.
    ///
    /// # Errors
    /// If the order is above 1 or epsilon is zero.
    fn pure(order: Order, ideal: &Moved, epsilon: Epsilon) -> Result<Self, MechanismError> {
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        if order.get() > 1.0 {
            let accepted =
                "at most 1 for pure differential privacy; orders above 1 need a delta, or bounds";
            return Err(OutOfRange::new("order", order.get(), accepted).into());
        }
        let least = |moved: &Moved| Ok(calibration::pure_scale(order, &moved.figures(), epsilon));
        let guarantee = Guarantee { notion: Notion::Pure, epsilon, delta: 0.0 };
        Self::settle(order, ideal, least, "pure", guarantee, |moved, scale| {
            let bounds = calibration::pure_epsilon(order, &moved.figures(), scale);
            (Certificate::Epsilon(bounds), bounds.upper() <= epsilon)
        })
    }

    /// Noise of a given scale, with the least delta that can be proved for it at `epsilon` as its
    /// guarantee.
    ///
    /// # Errors
    /// If the noise cannot be made.
    pub fn with_scale(
        order: Order,
        scale: Scale,
        sensitivity: &Sensitivity,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        let wanted = if order.get() == 2.0 { Known::Least } else { Known::All };
        let scale = scale.get();
        let made = |ideal: &Moved| {
            let lattice = lattice_for(order, scale, &ideal.figures())?;
            let moved = ideal.rounded_to(lattice, order.get())?;
            let bounds = Method::Exact.delta(order, &moved, scale, epsilon.get());
            let guarantee = Guarantee {
                notion: Notion::Approximate,
                epsilon: epsilon.get(),
                delta: bounds.upper(),
            };
            let certificate = Certificate::Delta(bounds);
            let method = "given";
            Ok(GeneralizedGaussian { order, scale, lattice, moved, method, guarantee, certificate })
        };
        best(known(sensitivity, order, wanted)?, made, |mechanism| mechanism.guarantee.delta)
    }

    /// Takes the least scale for the ideal sensitivities to one that is proved for those on its
    /// lattice. All scales are linear in the sensitivities, so it grows by as much as they do, and
    /// by a few units in the last place where a proof needs them. Only where one of several is so
    /// small that the lattice moves it by much more than the others, is the scale looked for again.
    fn settle(
        order: Order,
        ideal: &Moved,
        least: impl Fn(&Moved) -> Result<f64, MechanismError>,
        method: &'static str,
        guarantee: Guarantee,
        prove: impl Fn(&Moved, f64) -> (Certificate, bool),
    ) -> Result<Self, MechanismError> {
        let lengths = ideal.figures();
        let start = least(ideal)?;
        let mut scale = Scale::new(start)?.get();
        let mut again: Option<(Lattice, f64)> = None;
        for attempt in 0..40 {
            let lattice = lattice_for(order, scale, &lengths)?;
            let moved = ideal.rounded_to(lattice, order.get())?;
            let grown = moved.figures();
            let growth =
                lengths.iter().zip(&grown).map(|(ideal, grown)| grown / ideal).fold(1.0, f64::max);
            if grown[0] > 2.0 * lengths[0] {
                return Err(MechanismError::Refused(format!(
                    "the least scale is {start:e}, noise so much larger than the sensitivity {:e} \
                     that no lattice serves both",
                    lengths[0]
                )));
            }
            let grown = match again {
                _ if growth <= 1.0 => start,
                _ if lengths.len() == 1 || growth <= 1.0 + 1e-12 => (start * growth).next_up(),
                Some((found_for, found)) if found_for == lattice => found,
                _ => {
                    let found = least(&moved)?;
                    again = Some((lattice, found));
                    found
                }
            };
            scale = Scale::new(
                grown * (1.0 + if attempt == 0 { 0.0 } else { 2f64.powi(attempt - 53) }),
            )?
            .get();
            if lattice_for(order, scale, &lengths)? != lattice {
                continue;
            }
            let (certificate, proved) = prove(&moved, scale);
            if proved {
                return Ok(GeneralizedGaussian {
                    order,
                    scale,
                    lattice,
                    moved,
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

    /// The sensitivities that the guarantee is proved for, rounded up to the lattice: of each
    /// coordinate, the largest first, or the l_p sensitivity of all of them.
    pub fn sensitivities(&self) -> Vec<f64> {
        match &self.moved {
            Moved::Box(elements) | Moved::BoxWithin { elements, .. } => elements.clone(),
            Moved::Norm { distance, .. } => vec![*distance],
        }
    }
}

/// What of a sensitivity is worth a proof.
#[derive(Clone, Copy)]
enum Known {
    /// The l_p sensitivity where a norm is known, which is exact; otherwise the box.
    Least,
    /// The box, and the norm: which is better depends on the numbers.
    All,
    /// The same with what is known of both together.
    Together,
}

/// The forms in which a sensitivity is known, at least one.
fn known(
    sensitivity: &Sensitivity,
    order: Order,
    wanted: Known,
) -> Result<Vec<Moved>, MechanismError> {
    let order = order.get();
    let by_box = || Moved::by_box(sensitivity);
    let by_norm = || Moved::by_norm(sensitivity, order);
    let forms: Vec<Result<Moved, MechanismError>> = match wanted {
        Known::Least => by_norm().or_else(by_box).into_iter().collect(),
        Known::All => by_box().into_iter().chain(by_norm()).collect(),
        Known::Together => {
            let both = Moved::by_both(sensitivity, order).or_else(by_box);
            both.into_iter().chain(by_norm()).collect()
        }
    };
    let (valid, refused): (Vec<_>, Vec<_>) = forms.into_iter().partition(Result::is_ok);
    match refused.into_iter().find_map(Result::err) {
        Some(error) if valid.is_empty() => Err(error),
        _ => Ok(valid.into_iter().flatten().collect()),
    }
}

/// The mechanism of the smallest scale that any of these forms proves.
fn smallest(
    forms: Vec<Moved>,
    make: impl Fn(&Moved) -> Result<GeneralizedGaussian, MechanismError>,
) -> Result<GeneralizedGaussian, MechanismError> {
    best(forms, make, |mechanism| mechanism.scale)
}

fn best(
    forms: Vec<Moved>,
    make: impl Fn(&Moved) -> Result<GeneralizedGaussian, MechanismError>,
    cost: impl Fn(&GeneralizedGaussian) -> f64,
) -> Result<GeneralizedGaussian, MechanismError> {
    let mut found: Option<GeneralizedGaussian> = None;
    let mut refused = MechanismError::Refused("nothing is known of the move".into());
    for form in forms.iter().rev() {
        match make(form) {
            Ok(made) if found.as_ref().is_none_or(|best| cost(&made) < cost(best)) => {
                found = Some(made);
            }
            Ok(_) => {}
            Err(error) => refused = error,
        }
    }
    found.ok_or(refused)
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

    /// To a few units in the last place for one sensitivity or order 2, and to a relative `1e-12`
    /// for two and three at whole orders up to 6 (`1e-11` for three similar ones at order 6). For
    /// more, to that where one sensitivity dominates, and `1e-9` to `1e-2` where they are similar;
    /// and for orders of at most 1 between the profile of the largest coordinate alone and that of
    /// any mechanism with the same pure epsilon. From a norm: exact at order 2, otherwise between
    /// the profile of one coordinate alone and a bound for every direction.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(Method::Exact.delta(self.order, &self.moved, self.scale, epsilon))
    }

    /// The noise with its sensitivities. Of a proof that rests on a norm, but at order 2,
    /// accountants are told the guarantee: which direction is the worst is not known.
    fn event(&self) -> Event {
        let (order, scale) = (self.order.get(), self.scale);
        let Guarantee { epsilon, delta, .. } = self.guarantee;
        match &self.moved {
            Moved::Box(elements) => {
                Event::GeneralizedGaussian { order, scale, sensitivities: elements.clone() }
            }
            Moved::Norm { distance, .. } if order == 2.0 => {
                Event::GeneralizedGaussian { order, scale, sensitivities: vec![*distance] }
            }
            Moved::BoxWithin { .. } | Moved::Norm { .. } => Event::Approximate { epsilon, delta },
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
