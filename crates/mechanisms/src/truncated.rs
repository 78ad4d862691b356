//! The truncated generalized Gaussian mechanism: bounded answers under pure privacy.

use crate::bounded_query::{BoundedQuery, Interval, OnLattice, guaranteed};
use crate::exponential_continuous::{exponential_scale, lemma_10};
use crate::generalized_gaussian::Order;
use crate::named::named;
use crate::sharp::{Formula, sharp};
use crate::truncated_error;
use crate::truncated_loss::{self, worst_loss};
use crate::truncated_profile;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Scale, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{GeneralizedGaussian as Noise, Sampler, Truncated};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

named! {
    /// How the scale of a truncated generalized Gaussian is found.
    pub enum TruncatedMethod {
        /// The least scale: `eps(b) = max_s psi(s + D) - psi(s)`.
        Exact => "exact",
        /// Liu's Eqns 7 and 8, `b = (2/eps ((R + D)^p - R^p))^(1/p)`: 1.03 to 2.45 times the least
        /// scale.
        Paper => "paper",
        /// The exponential mechanism with its exact utility sensitivity,
        /// `b = (2/eps (R^p - (R-D)^p))^(1/p)`.
        Exponential => "exponential",
        /// The same with Lemma 10's bound on the utility sensitivity, as printed; whole orders.
        Lemma10 => "lemma-10",
    }
}

/// Releases `s + noise` given that it lies between public bounds, where the noise has density
/// proportional to `exp(-(|x|/b)^p)` and `p >= 1`.
///
/// # Distribution
/// `f_s(y) = exp(-(|y - s|/b)^p) / (b Z(s))` on a range of width `R`, where `Z(s)` is the mass
/// within.
///
/// # Guarantee
/// Pure epsilon-differential privacy. With `psi(s) = ln f_s(R) = -((R-s)/b)^p - ln Z(s)`, up to a
/// constant, the loss of a move from `s` to `s' = s + d` is largest at the upper end `y = R`,
/// because `|y - s|^p - |y - s'|^p` increases with `y` for `p >= 1`; moves down are the mirror
/// image. And `psi` increases: `psi'(s) = g(R) - E g(Y)` with `g(y) = d/ds(-|y - s|^p)`, an
/// increasing function of `y`. So the whole `D` is the worst move, and
/// `eps(b) = max_s psi(s + D) - psi(s)`. Liu's Eqns 7 and 8 bound the two terms apart and lose up
/// to a factor 2.45.
///
/// # Numerics
/// The maximum over `s` is proved in `truncated_loss.rs`. The bounds are moved outward to the
/// lattice, and what is certified is the range that is one step wider, whose ideal draw, rounded,
/// is what is released.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definition 5, Eqns 6 to 8,
/// Proposition 6.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     BoundedQuery, Distance, Epsilon, Mechanism, Order, TruncatedGeneralizedGaussian,
///     TruncatedMethod,
/// };
/// let query = BoundedQuery::new(0.0, 1.0, Distance::new(0.5)?)?;
/// let calibrate = |method| TruncatedGeneralizedGaussian::calibrate(
///     Order::new(2.0)?,
///     method,
///     query.bounds(),
///     &query.into(),
///     Epsilon::new(1.0)?,
/// );
/// let (exact, paper) = (calibrate(TruncatedMethod::Exact)?, calibrate(TruncatedMethod::Paper)?);
/// assert!((exact.scale() - 0.751133132).abs() < 1e-9);
/// assert!((paper.scale() - 1.581138830).abs() < 1e-9);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TruncatedGeneralizedGaussian {
    order: Order,
    scale: f64,
    query: BoundedQuery,
    on_lattice: OnLattice,
    method: &'static str,
    epsilon: f64,
    certified: Bounds,
}

impl TruncatedGeneralizedGaussian {
    /// The scale for a loss of at most `epsilon`.
    ///
    /// # Errors
    /// If the order is below 1, epsilon is zero, or no scale could be certified.
    pub fn calibrate(
        order: Order,
        method: TruncatedMethod,
        bounds: (f64, f64),
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        require_convex(order)?;
        let epsilon = budget.into().pure(MechanismKind::TruncatedGeneralizedGaussian)?;
        let query = BoundedQuery::of(bounds, sensitivity)?;
        let least = |interval: &Interval, guess: f64| match method {
            TruncatedMethod::Exact => least_scale(order, interval, epsilon, guess),
            TruncatedMethod::Paper | TruncatedMethod::Exponential => {
                Ok(sharp(&ClosedForm { order, interval: *interval, epsilon, method }).upper())
            }
            TruncatedMethod::Lemma10 => {
                let moved = lemma_10(order, &[bounds], &[interval.sensitivity])?;
                Ok(exponential_scale(order, moved, epsilon))
            }
        };
        let ideal = query.ideal();
        let guess = sharp(&ClosedForm {
            order,
            interval: ideal,
            epsilon,
            method: TruncatedMethod::Exponential,
        })
        .upper();
        let mut scale = Scale::new(least(&ideal, guess)?)?.get();
        // The lattice depends on the scale, and the scale, in its last digits, on the lattice.
        for _ in 0..8 {
            let on_lattice = query.on_lattice(order, scale)?;
            scale = Scale::new(least(&on_lattice.interval, scale)?)?.get();
            if query.on_lattice(order, scale)? == on_lattice {
                let certified = worst_loss(order, &on_lattice.interval, scale);
                if certified.upper() <= epsilon {
                    let method = method.name();
                    return Ok(TruncatedGeneralizedGaussian {
                        order,
                        scale,
                        query,
                        on_lattice,
                        method,
                        epsilon,
                        certified,
                    });
                }
                scale = scale.next_up();
            }
        }
        Err(MechanismError::NotCertified {
            what: "truncated generalized Gaussian noise",
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
        let certified = worst_loss(order, &on_lattice.interval, scale);
        let epsilon = guaranteed(certified)?;
        Ok(TruncatedGeneralizedGaussian {
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

pub(crate) fn require_convex(order: Order) -> Result<(), MechanismError> {
    if order.get() >= 1.0 {
        return Ok(());
    }
    Err(OutOfRange::new("order", order.get(), "at least 1 for bounded queries").into())
}

/// The least scale whose loss is proved, for an interval.
///
/// The ends of the range of `s` are where the maximum nearly always is: they steer the search, and
/// its result is proved with the maximum over all `s`.
fn least_scale(
    order: Order,
    interval: &Interval,
    epsilon: f64,
    guess: f64,
) -> Result<f64, MechanismError> {
    let not_certified =
        |error| MechanismError::not_certified("truncated generalized Gaussian noise", &error);
    let range = Range::between(1e-140, 1e140);
    let at_ends = |scale: f64| truncated_loss::loss_at_ends(order, interval, scale);
    let start =
        least_at_most(at_ends, epsilon, range.bracket_from(guess)).map_err(not_certified)?;
    if worst_loss(order, interval, start).upper() <= epsilon {
        return Ok(start);
    }
    let proved = |scale: f64| worst_loss(order, interval, scale);
    least_at_most(proved, epsilon, range.bracket_from(start)).map_err(not_certified)
}

/// `(2/eps ((R + D)^p - R^p))^(1/p)` or `(2/eps (R^p - (R-D)^p))^(1/p)`.
struct ClosedForm {
    order: Order,
    interval: Interval,
    epsilon: f64,
    method: TruncatedMethod,
}

impl Formula for ClosedForm {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let (range, shift) = (self.interval.range(1.0, like), self.interval.shift(1.0, like));
        let gap = if self.method == TruncatedMethod::Paper {
            self.order.power(&(range.clone() + shift)) - self.order.power(&range)
        } else if self.interval.covers_range() {
            self.order.power(&range)
        } else {
            self.order.power(&range) - self.order.power(&(range - shift))
        };
        self.order.root(&(gap.times_power_of_two(1) / like.exactly(self.epsilon)))
    }
}

impl Mechanism for TruncatedGeneralizedGaussian {
    fn kind(&self) -> MechanismKind {
        MechanismKind::TruncatedGeneralizedGaussian
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

    /// The largest hockey-stick divergence over all answers, proved in `truncated_profile`; it may
    /// be at an answer inside the range.
    ///
    /// To a relative `1e-12`, also where the noise is nearly uniform on the range and all answers
    /// are nearly equally bad, with an exception: where it is so to 14 digits (a range of a tenth
    /// of the scale at order 10, a hundredth at order 6) the search may end early, with an upper
    /// bound that is sound and less sharp.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(truncated_profile::profile(
            self.order,
            &self.on_lattice.interval,
            self.scale,
            self.certified.upper(),
            epsilon,
        ))
    }

    fn event(&self) -> Event {
        Event::TruncatedGeneralizedGaussian {
            order: self.order.get(),
            scale: self.scale,
            range: self.on_lattice.interval.width(),
            sensitivity: self.on_lattice.interval.sensitivity,
        }
    }

    /// Bias and error depend on where the answer is, which is private: these are the worst over all
    /// answers, and so public.
    fn errors(&self) -> Option<Errors> {
        Some(truncated_error::errors(self.order, self.scale, self.on_lattice.interval.width()))
    }

    /// The least `P[|error| <= t]` over all answers.
    fn usefulness(&self, t: f64) -> Option<Bounds> {
        Some(truncated_error::usefulness(
            self.order,
            self.scale,
            self.on_lattice.interval.width(),
            t,
        ))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(ReleaseWithin::new(self.order, self.scale, self.on_lattice, self.query)?))
    }
}

#[derive(Debug)]
pub(crate) struct ReleaseWithin {
    truncated: Truncated<Noise>,
    on_lattice: OnLattice,
    query: BoundedQuery,
}

impl ReleaseWithin {
    pub(crate) fn new(
        order: Order,
        scale: f64,
        on_lattice: OnLattice,
        query: BoundedQuery,
    ) -> Result<Self, MechanismError> {
        let sampler = Sampler::new(Noise::new(order.get())?, scale, on_lattice.lattice)?;
        let truncated = Truncated::new(sampler, on_lattice.lower, on_lattice.upper)?;
        Ok(ReleaseWithin { truncated, on_lattice, query })
    }
}

impl Releaser for ReleaseWithin {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = self.on_lattice.lattice;
        let value = lattice.nearest(value).unwrap_or(self.on_lattice.lower);
        // The lattice's bounds are up to a step outside; moving an output there back is
        // post-processing.
        let output = lattice.value(self.truncated.release(value, random)?);
        Ok(output.clamp(self.query.lower(), self.query.upper()))
    }

    fn spacing(&self) -> f64 {
        self.on_lattice.lattice.spacing()
    }
}
