//! The exponential mechanism on a bounded interval: a truncated generalized Gaussian by another
//! name.

use crate::bounded_query::BoundedQuery;
use crate::generalized_gaussian::Order;
use crate::sharp::{Formula, sharp};
use crate::truncated::{TruncatedGeneralizedGaussian, TruncatedMethod};
use crate::{
    Budget, Certificate, Errors, Guarantee, Mechanism, MechanismError, MechanismKind, Releaser,
    Sensitivity,
};
use reticent_events::Event;
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

/// Draws `y` from the bounds of a query with density proportional to
/// `exp(epsilon u(s, y) / (2 D_u))`, for the utility `u(s, y) = -|y - s|^p`.
///
/// # Guarantee
/// Pure epsilon-differential privacy, by McSherry and Talwar's proof. The utility sensitivity of a
/// query of range `R` and sensitivity `D` is exactly `D_u = R^p - (R - D)^p`, attained at `y = R`
/// and a move from `0` to `D`; this replaces all the cases of Lemma 10 ("Looseness" in the errata).
/// On an unbounded range it is infinite for `p > 1`, and in Eqn 15 the normaliser `A(s)` is a
/// divisor (erratum L5).
///
/// # Which is tighter
/// It is the truncated generalized Gaussian of scale `b = (2 D_u / epsilon)^(1/p)`. Its certificate
/// is the true epsilon of that noise, always below the one that was asked for: the factor 2 pays
/// for a normaliser that moves much less than the proof allows. [`TruncatedGeneralizedGaussian`]
/// with [`TruncatedMethod::Exact`] spends all of epsilon and adds 3% to 50% less noise; use it.
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Section 2.7; McSherry,
/// Talwar, *Mechanism design via differential privacy*, 2007.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     BoundedQuery, Certificate, ContinuousExponential, Distance, Epsilon, Mechanism, Order,
/// };
/// let query = BoundedQuery::new(0.0, 1.0, Distance::new(1.0)?)?;
/// let mechanism = ContinuousExponential::calibrate(
///     Order::new(2.0)?,
///     query.bounds(),
///     &query.into(),
///     Epsilon::new(1.0)?,
/// )?;
/// let Certificate::Epsilon(spent) = mechanism.certificate() else { unreachable!() };
/// assert!((spent.upper() - 0.5).abs() < 1e-9);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuousExponential {
    noise: TruncatedGeneralizedGaussian,
}

impl ContinuousExponential {
    /// The mechanism for a loss of at most `epsilon`.
    ///
    /// # Errors
    /// If the order is below 1 or epsilon is zero.
    pub fn calibrate(
        order: Order,
        bounds: (f64, f64),
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let noise = TruncatedGeneralizedGaussian::calibrate(
            order,
            TruncatedMethod::Exponential,
            bounds,
            sensitivity,
            budget,
        )?;
        Ok(ContinuousExponential { noise })
    }

    /// The same mechanism as noise.
    pub fn as_noise(&self) -> &TruncatedGeneralizedGaussian {
        &self.noise
    }
}

/// The exact utility sensitivity of `u(s, y) = -|y - s|^p`: `R^p - (R - D)^p`.
pub fn utility_sensitivity(order: Order, query: BoundedQuery) -> Bounds {
    sharp(&UtilitySensitivity { order, query })
}

/// Lemma 10 of Liu as printed: an upper bound on the utility sensitivity of numbers with these
/// bounds, of which number `k` moves by at most `sensitivities[k]`, all of them at once.
///
/// - a) order 1: `D_1`, which is exact;
/// - b) order 2: `2 sum D_k R_k`, where `sum 2 D_k R_k - D_k^2` is exact;
/// - c) whole orders from 3 on: `sum_k sum_j binom(p, j) max(|c_k0|, |c_k1|)^(p-j) D_k^(j)` with
///   the sensitivity `D_k^(j)` of the power `s_k^j`. It depends on where zero is: up to `D_k =
///   R_k/2` it is exact for bounds `-R/2, R/2`, and grows without limit as they move away from
///   zero, which the mechanism does not notice.
///
/// # Errors
/// If the order is not a whole number, or the numbers of bounds and sensitivities differ.
pub fn lemma_10(
    order: Order,
    bounds: &[(f64, f64)],
    sensitivities: &[f64],
) -> Result<f64, MechanismError> {
    if order.get().fract() != 0.0 {
        return Err(OutOfRange::new("order", order.get(), "a whole number for Lemma 10").into());
    }
    if bounds.len() != sensitivities.len() {
        return Err(MechanismError::Refused(format!(
            "there are bounds for {} numbers and sensitivities for {}",
            bounds.len(),
            sensitivities.len()
        )));
    }
    let p = order.get() as u32;
    let terms = bounds.iter().zip(sensitivities).map(|(&(lower, upper), &sensitivity)| {
        let (low, high) = (Wide::exact(lower), Wide::exact(upper));
        let moved = Wide::exact(sensitivity);
        match p {
            1 => moved,
            2 => (moved * (high - low)).times_power_of_two(1),
            _ => {
                let most = Wide::exact(lower.abs().max(upper.abs()));
                let of_power = |j: u32| binomial(p, j) * most.powi(p - j);
                (1..=p).fold(Wide::ZERO, |sum, j| {
                    sum + of_power(j) * power_sensitivity(lower, upper, sensitivity, j)
                })
            }
        }
    });
    Ok(terms.fold(Wide::ZERO, |sum, term| sum + term).bounds().upper())
}

/// The most by which `s^j` moves while `s` stays between the bounds and moves by at most
/// `sensitivity`.
///
/// The power is convex, or convex above zero and concave below: it moves most from one of the
/// bounds, to the other end of the move or, if that is on the way, to zero for an even `j`.
fn power_sensitivity(lower: f64, upper: f64, sensitivity: f64, j: u32) -> Wide {
    let (low, high) = (Wide::exact(lower), Wide::exact(upper));
    if Wide::exact(sensitivity).bounds().lower() >= (high - low).bounds().upper() && j % 2 == 1 {
        return high.powi(j) - low.powi(j);
    }
    let from = |bound: f64, inward: f64| {
        let end = Wide::exact(bound) + Wide::exact(inward);
        let end = end.max(low);
        let end = -((-end).max(-high));
        let passes_zero = j.is_multiple_of(2) && bound * end.bounds().estimate() <= 0.0;
        let rest = if passes_zero { Wide::ZERO } else { end.powi(j) };
        let moved = Wide::exact(bound).powi(j) - rest;
        if moved.bounds().upper() <= 0.0 { -moved } else { moved }
    };
    from(upper, -sensitivity).max(from(lower, sensitivity))
}

fn binomial(n: u32, k: u32) -> Wide {
    (0..k).fold(Wide::ONE, |product, i| {
        product * Wide::exact(f64::from(n - i)) / Wide::exact(f64::from(i + 1))
    })
}

/// `b = (2 D_u / epsilon)^(1/p)`, rounded up.
pub(crate) fn exponential_scale(order: Order, utility_sensitivity: f64, epsilon: f64) -> f64 {
    let twice = Wide::exact(utility_sensitivity).times_power_of_two(1);
    order.root(&(twice / Wide::exact(epsilon))).bounds().upper()
}

struct UtilitySensitivity {
    order: Order,
    query: BoundedQuery,
}

impl Formula for UtilitySensitivity {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let interval = self.query.ideal();
        let range = interval.range(1.0, like);
        let whole = self.order.power(&range);
        if interval.covers_range() {
            whole
        } else {
            whole - self.order.power(&(range - interval.shift(1.0, like)))
        }
    }
}

impl Mechanism for ContinuousExponential {
    fn kind(&self) -> MechanismKind {
        MechanismKind::ContinuousExponential
    }

    fn method(&self) -> &'static str {
        "continuous"
    }

    fn scale(&self) -> f64 {
        self.noise.scale()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.noise.parameters()
    }

    fn guarantee(&self) -> Guarantee {
        self.noise.guarantee()
    }

    fn certificate(&self) -> Certificate {
        self.noise.certificate()
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        self.noise.delta(epsilon)
    }

    /// The event of the noise, which knows more than an epsilon.
    fn event(&self) -> Event {
        self.noise.event()
    }

    fn errors(&self) -> Option<Errors> {
        self.noise.errors()
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        self.noise.usefulness(t)
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        self.noise.releaser()
    }
}
