//! The boundary-inflated generalized Gaussian mechanism: noise, then clamping to public bounds,
//! under pure privacy.

use crate::bounded_query::{BoundedQuery, Interval, OnLattice, guaranteed};
use crate::generalized_gaussian::{AddNoise, Order, Shift};
use crate::inflated_error;
use crate::sharp::{Formula, sharp};
use crate::truncated::require_convex;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Scale, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_numerics::incomplete_gamma::ln_upper_regularized;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Bounds, Enclosure};

/// Adds generalized Gaussian noise of order `p >= 1` to a bounded answer and clamps the sum to the
/// bounds.
///
/// # Guarantee
/// Pure epsilon-differential privacy, although the noise alone has none for `p > 1`: clamping puts
/// an atom on each bound that hides the outputs of unbounded loss. For a move from `s` to `s + D`
/// the upper atom has the probabilities `P[X > (R-s)/b]` and `P[X > (R-s-D)/b]`. The tail is
/// log-concave, so their ratio is largest at `s = 0`, and it is larger than the ratio of the
/// densities at any output below. Hence, exactly,
///
/// `e^eps = G(1/p, ((R-D)/b)^p) / G(1/p, (R/b)^p)`, with the upper incomplete gamma function `G`,
///
/// which falls with `b`: a monotone root, where Liu sees "no practical solution" (erratum L7). Eqns
/// 7 and 8, which look at the densities only, are not enough (erratum L6: order 2, `D = R`, a
/// nominal 0.1 is 0.1565). In Eqn 9 the exponent lacks its minus sign and `q_k` appears twice, and
/// Eqn 12 must use `c_k1` (erratum L5).
///
/// Several coordinates separate: [`crate::BoundedVector`] adds up their losses where all of them
/// move, and takes the largest where one privacy unit moves one of them.
///
/// # Profile
/// Exact. The loss increases with the output, atoms included, so for one pair of answers delta is
/// `V(v) = P[X > v] - e^eps P[X > v + u]` at `v = t`, the threshold `L(t) = eps` of unclamped
/// noise, or at the atom if that is below `t`. The atom's `v = (R - s - D)/b` is at most
/// `(R - D)/b`, and `V` increases up to `t`: hence `delta = V(min(t, (R-D)/b))`, or zero.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definition 7, Eqns 9 to 12.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     BoundedQuery, Distance, Epsilon, InflatedGeneralizedGaussian, Mechanism, Order,
/// };
/// let query = BoundedQuery::new(0.0, 1.0, Distance::new(0.5)?)?;
/// let mechanism = InflatedGeneralizedGaussian::calibrate(
///     Order::new(2.0)?,
///     query.bounds(),
///     &query.into(),
///     Epsilon::new(1.0)?,
/// )?;
/// assert!((mechanism.scale() - 1.0732872163337751).abs() < 1e-11);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InflatedGeneralizedGaussian {
    order: Order,
    scale: f64,
    query: BoundedQuery,
    on_lattice: OnLattice,
    method: &'static str,
    epsilon: f64,
    certified: Bounds,
}

impl InflatedGeneralizedGaussian {
    /// The least scale for a loss of at most `epsilon`.
    ///
    /// # Errors
    /// If the order is below 1, epsilon is zero, or no scale could be certified.
    pub fn calibrate(
        order: Order,
        bounds: (f64, f64),
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        require_convex(order)?;
        let epsilon = budget.into().pure(MechanismKind::InflatedGeneralizedGaussian)?;
        let query = BoundedQuery::of(bounds, sensitivity)?;
        let least = |interval: &Interval, guess: f64| {
            let range = Range::between(1e-140, 1e140).bracket_from(guess);
            least_at_most(|scale| loss(order, interval, scale), epsilon, range).map_err(|error| {
                MechanismError::not_certified(
                    "boundary-inflated generalized Gaussian noise",
                    &error,
                )
            })
        };
        let mut scale = least(&query.ideal(), query.ideal().width())?;
        // The lattice depends on the scale, and the scale, in its last digits, on the lattice.
        for _ in 0..8 {
            let on_lattice = query.on_lattice(order, Scale::new(scale)?.get())?;
            scale = Scale::new(least(&on_lattice.interval, scale)?)?.get();
            if query.on_lattice(order, scale)? == on_lattice {
                let certified = loss(order, &on_lattice.interval, scale);
                let method = "exact";
                return Ok(InflatedGeneralizedGaussian {
                    order,
                    scale,
                    query,
                    on_lattice,
                    method,
                    epsilon,
                    certified,
                });
            }
        }
        Err(MechanismError::NotCertified {
            what: "boundary-inflated generalized Gaussian noise",
            reason: "no scale agrees with its lattice".into(),
        })
    }

    /// Noise of a given scale, with the least epsilon that can be proved for it as its guarantee.
    ///
    /// # Errors
    /// If the order is below 1, the bounds are too far away, or no finite epsilon is proved.
    pub fn with_scale(
        order: Order,
        query: BoundedQuery,
        scale: Scale,
    ) -> Result<Self, MechanismError> {
        require_convex(order)?;
        let scale = scale.get();
        let on_lattice = query.on_lattice(order, scale)?;
        let certified = loss(order, &on_lattice.interval, scale);
        let epsilon = guaranteed(certified)?;
        Ok(InflatedGeneralizedGaussian {
            order,
            scale,
            query,
            on_lattice,
            method: "given",
            epsilon,
            certified,
        })
    }

    /// The query it was made for.
    pub fn query(&self) -> BoundedQuery {
        self.query
    }
}

/// `ln Q(1/p, (r - u)^p) - ln Q(1/p, r^p)`.
pub(crate) fn loss(order: Order, interval: &Interval, scale: f64) -> Bounds {
    sharp(&Loss { order, interval, scale })
}

struct Loss<'a> {
    order: Order,
    interval: &'a Interval,
    scale: f64,
}

impl Formula for Loss<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let range = self.interval.range(self.scale, like);
        let inverse = self.order.inverse(like);
        let ln_tail = |x: &E| ln_upper_regularized(&inverse, &self.order.power(x));
        let far = -ln_tail(&range);
        if self.interval.covers_range() {
            far
        } else {
            far + ln_tail(&(range - self.interval.shift(self.scale, like)))
        }
    }
}

/// `P[X > r - u] - e^epsilon P[X > r]`.
struct AtomExcess<'a> {
    order: Order,
    interval: &'a Interval,
    scale: f64,
    epsilon: f64,
}

impl Formula for AtomExcess<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let range = self.interval.range(self.scale, like);
        let near = if self.interval.covers_range() {
            like.exactly(0.0)
        } else {
            range.clone() - self.interval.shift(self.scale, like)
        };
        self.order.tail(&near) - like.exactly(self.epsilon).exp() * self.order.tail(&range)
    }
}

impl Mechanism for InflatedGeneralizedGaussian {
    fn kind(&self) -> MechanismKind {
        MechanismKind::InflatedGeneralizedGaussian
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("order", self.order.get()),
            ("lower", self.query.lower()),
            ("upper", self.query.upper()),
        ]
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon, delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        Certificate::Epsilon(self.certified)
    }

    /// Exact, as derived above; where the threshold is too near the atom to tell on which side it
    /// is, from both.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        let interval = &self.on_lattice.interval;
        if self.certified.upper() <= epsilon {
            return Ok(Bounds::ZERO);
        }
        let shift = Shift {
            order: self.order,
            sensitivity: interval.sensitivity.min(interval.width()),
            scale: self.scale,
        };
        let unclamped = shift.delta(epsilon);
        let atom = sharp(&AtomExcess { order: self.order, interval, scale: self.scale, epsilon });
        let atom = Bounds::new(atom.lower().max(0.0), atom.upper().max(0.0));
        let near = (interval.range(self.scale, &Bounds::ONE)
            - interval.shift(self.scale, &Bounds::ONE))
        .bounds();
        // Order 1 has one loss beyond the upper bound, inside and at the atom.
        let threshold =
            if self.order.get() == 1.0 { Some((0.0, 0.0)) } else { shift.threshold(epsilon) };
        Ok(match threshold {
            Some((_, high)) if high <= near.lower().max(0.0) => unclamped,
            Some((low, _)) if low <= near.upper() => atom.hull(unclamped),
            _ => atom,
        })
    }

    fn event(&self) -> Event {
        Event::InflatedGeneralizedGaussian {
            order: self.order.get(),
            scale: self.scale,
            range: self.on_lattice.interval.width(),
            sensitivity: self.on_lattice.interval.sensitivity,
        }
    }

    /// The worst over all answers. The output has atoms, so its differential entropy is minus
    /// infinity.
    fn errors(&self) -> Option<Errors> {
        Some(inflated_error::errors(self.order, self.scale, self.on_lattice.interval.width()))
    }

    /// The least `P[|error| <= t]` over all answers.
    fn usefulness(&self, t: f64) -> Option<Bounds> {
        Some(inflated_error::usefulness(
            self.order,
            self.scale,
            self.on_lattice.interval.width(),
            t,
        ))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        let noise = AddNoise::new(self.order, self.scale, self.on_lattice.lattice)?;
        Ok(Box::new(ReleaseClamped { noise, lower: self.query.lower(), upper: self.query.upper() }))
    }
}

#[derive(Debug)]
pub(crate) struct ReleaseClamped {
    pub(crate) noise: AddNoise,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Releaser for ReleaseClamped {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        // `max` and `min` take a NaN to the lower bound.
        let value = value.max(self.lower).min(self.upper);
        Ok(self.noise.release(value, random)?.clamp(self.lower, self.upper))
    }

    fn spacing(&self) -> f64 {
        self.noise.spacing()
    }
}
