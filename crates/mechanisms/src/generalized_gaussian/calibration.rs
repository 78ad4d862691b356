//! The least scale of generalized Gaussian noise, in each notion.

use super::moved::Moved;
use super::order::Order;
use super::radial::{Radial, probabilistic_scale};
use super::several::{self, Losses};
use super::shift::Shift;
use crate::MechanismError;
use crate::named::named;
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::add_down;
use reticent_numerics::{Bounds, Enclosure, Wide};

named! {
    /// Which guarantee, and how its scale is found.
    pub enum Method {
        /// The least scale of `(epsilon, delta)`-differential privacy.
        Exact => "exact",
        /// Probabilistic privacy by Corollary 9 (errata L2 and L3), or Proposition 8 for several
        /// sensitivities.
        Probabilistic => "probabilistic",
        /// The least scale of probabilistic privacy, `P[|L| > epsilon] <= delta`; one sensitivity.
        TwoSided => "probabilistic-two-sided",
    }
}

/// The relative distance to the least scale at which the search for two coordinates ends, whose
/// delta is known to about `1e-12`.
const TWO_COORDINATES: f64 = 1e-13;

/// The same for the first search for more coordinates.
const FIRST_SEARCH: f64 = 1e-7;

impl Method {
    pub(crate) fn require_applies(
        self,
        order: Order,
        moved: &Moved,
        epsilon: f64,
    ) -> Result<(), MechanismError> {
        let (count, is_box) = match moved {
            Moved::Box(elements) | Moved::BoxWithin { elements, .. } => (elements.len(), true),
            Moved::Norm { coordinates, .. } => (*coordinates as usize, false),
        };
        let refuse =
            |why: &str| Err(MechanismError::Refused(format!("the method `{}` {why}", self.name())));
        if self != Method::Exact && order.get() <= 1.0 {
            return refuse(
                "needs an order above 1; at order 1 and below the noise gives a pure guarantee",
            );
        }
        if self != Method::Exact && epsilon == 0.0 {
            return refuse(
                "needs an epsilon above 0: with probability 1 the loss is not exactly zero",
            );
        }
        if self == Method::TwoSided && count > 1 {
            return refuse("is for one sensitivity; `probabilistic` covers several");
        }
        if count > 1 && is_box && order.get() <= 1.0 {
            return refuse(
                "is not certified for several sensitivities at order 1 and below, where the \
                 guarantee is pure",
            );
        }
        Ok(())
    }

    /// Bounds on the delta of this notion at a scale.
    pub(crate) fn delta(self, order: Order, moved: &Moved, scale: f64, epsilon: f64) -> Bounds {
        match moved {
            Moved::Box(elements) => self.delta_of_box(order, elements, scale, epsilon),
            Moved::BoxWithin { elements, distance } => {
                self.delta_within(order, elements, *distance, scale, epsilon, &|_| false)
            }
            &Moved::Norm { coordinates, distance, alone } => {
                let radial = Radial { order, coordinates, distance, alone, scale };
                match self {
                    Method::Exact => radial.delta(epsilon),
                    Method::Probabilistic | Method::TwoSided => radial.probabilistic(epsilon),
                }
            }
        }
    }

    /// The delta of a box. For the probabilistic notion Proposition 8 with the true `D_p`: its
    /// condition on `sum_k sum_(j<p) binom(p, j) |x_k|^(p-j) u_k^j` is that of Lemma 2's `D_p` at
    /// an epsilon that is larger by `sum u_k^p - (D_p/b)^p`.
    fn delta_within(
        self,
        order: Order,
        elements: &[f64],
        distance: f64,
        scale: f64,
        epsilon: f64,
        enough: &dyn Fn(Bounds) -> bool,
    ) -> Bounds {
        let power = |d: f64| order.power(&(Wide::exact(d) / Wide::exact(scale)));
        let corner = elements.iter().fold(Wide::ZERO, |sum, &d| sum + power(d));
        let saved = (corner - power(distance)).bounds().lower().max(0.0);
        let epsilon = match self {
            Method::Probabilistic => add_down(epsilon, saved),
            Method::Exact | Method::TwoSided => epsilon,
        };
        self.delta_until(order, elements, scale, epsilon, enough)
    }

    fn delta_of_box(self, order: Order, sensitivities: &[f64], scale: f64, epsilon: f64) -> Bounds {
        self.delta_until(order, sensitivities, scale, epsilon, &|_| false)
    }

    /// As [`Method::delta_of_box`]; the bounds for several sensitivities, which take time, are
    /// refined no further once they are `enough`.
    fn delta_until(
        self,
        order: Order,
        sensitivities: &[f64],
        scale: f64,
        epsilon: f64,
        enough: &dyn Fn(Bounds) -> bool,
    ) -> Bounds {
        let shift = |sensitivity: f64| Shift { order, sensitivity, scale };
        if let [sensitivity] = *sensitivities {
            return match self {
                Method::Exact => shift(sensitivity).delta(epsilon),
                Method::Probabilistic => shift(sensitivity).corollary_9(epsilon),
                Method::TwoSided => shift(sensitivity).two_sided(epsilon),
            };
        }
        if order.get() <= 1.0 {
            let alone =
                sensitivities.iter().map(|&s| shift(s).delta(epsilon).lower()).fold(0.0, f64::max);
            let most = pure_epsilon(order, sensitivities, scale).upper();
            return Bounds::new(alone, most_for_pure(most, epsilon).max(alone));
        }
        if order.get() == 2.0 && self == Method::Exact {
            return diagonal(sensitivities)
                .map(|sensitivity| shift(sensitivity).delta(epsilon))
                .into_iter()
                .reduce(Bounds::hull)
                .unwrap_or(Bounds::new(0.0, 1.0));
        }
        let losses = if self == Method::Exact { Losses::Both } else { Losses::Magnitudes };
        several::delta(order, sensitivities, scale, epsilon, losses, enough)
    }

    /// The least scale that is proved for a move.
    pub(crate) fn least_scale(
        self,
        order: Order,
        moved: &Moved,
        epsilon: f64,
        delta: f64,
    ) -> Result<f64, MechanismError> {
        let failed = |error| MechanismError::not_certified("generalized Gaussian noise", &error);
        match moved {
            Moved::Box(elements) => self.least_scale_of_box(order, elements, epsilon, delta),
            Moved::BoxWithin { elements, distance } => {
                let enough =
                    |bounds: Bounds| bounds.width() <= 0.01 * (bounds.estimate() - delta).abs();
                let of =
                    |scale| self.delta_within(order, elements, *distance, scale, epsilon, &enough);
                let guess =
                    probabilistic_scale(order, elements.len() as u32, *distance, epsilon, delta);
                least_at_most(of, delta, searched(guess).to_within(FIRST_SEARCH)).map_err(failed)
            }
            &Moved::Norm { distance, .. } if order.get() == 2.0 && self == Method::Exact => {
                self.least_scale_of_box(order, &[distance], epsilon, delta)
            }
            &Moved::Norm { coordinates, distance, alone } => {
                let guess = match epsilon {
                    0.0 => distance / delta,
                    _ => probabilistic_scale(order, coordinates, distance, epsilon, delta),
                };
                if self != Method::Exact {
                    return Ok(guess);
                }
                let of =
                    |scale| Radial { order, coordinates, distance, alone, scale }.delta(epsilon);
                least_at_most(of, delta, searched(guess).to_within(FIRST_SEARCH)).map_err(failed)
            }
        }
    }

    fn least_scale_of_box(
        self,
        order: Order,
        sensitivities: &[f64],
        epsilon: f64,
        delta: f64,
    ) -> Result<f64, MechanismError> {
        let one = sensitivities.len() == 1;
        let largest = sensitivities[0];
        if self == Method::Probabilistic && one {
            return Ok(corollary_9_scale(order, largest, epsilon, delta));
        }
        // Steers the search only. Corollary 9 knows nothing of an epsilon of zero, where delta is
        // about D f(0) / b.
        let guess = if epsilon > 0.0 && order.get() > 1.0 {
            corollary_9_scale(order, largest, epsilon, delta).min(largest / delta)
        } else {
            largest / (epsilon + delta)
        };
        let bracket = searched(guess);
        // Far from the root the sign is certain early, and a hundredth of the distance to it steers
        // well.
        let enough = |bounds: Bounds| bounds.width() <= 0.01 * (bounds.estimate() - delta).abs();
        let search = |range: Range| {
            least_at_most(
                |scale| self.delta_until(order, sensitivities, scale, epsilon, &enough),
                delta,
                range,
            )
        };
        if sensitivities.len() == 3
            && order.get() >= several::SMOOTH_FROM
            && !(order.get() == 2.0 && self == Method::Exact)
            && let Some(scale) = self.polished(order, sensitivities, epsilon, delta, bracket)
        {
            return Ok(scale);
        }
        let found = match sensitivities.len() {
            1 => search(bracket),
            _ if order.get() == 2.0 && self == Method::Exact => search(bracket),
            2 => search(bracket.to_within(TWO_COORDINATES)),
            _ => search(bracket.to_within(FIRST_SEARCH)).map(|scale| {
                // The bounds near the root say how far it is worth to go.
                let width =
                    self.delta_of_box(order, sensitivities, scale, epsilon).relative_width();
                let nearby = Range::between(scale * (1.0 - 2.0 * FIRST_SEARCH), scale);
                let finer = (0.1 * width).max(10.0 * TWO_COORDINATES);
                if finer < FIRST_SEARCH {
                    search(nearby.to_within(finer)).unwrap_or(scale)
                } else {
                    scale
                }
            }),
        };
        found.map_err(|error| MechanismError::not_certified("generalized Gaussian noise", &error))
    }
}

impl Method {
    /// The least scale for three sensitivities, whose bounds are sharp and slow: a search by
    /// sketches of delta, and a few steps by its bounds. Nothing where these do not find it.
    fn polished(
        self,
        order: Order,
        sensitivities: &[f64],
        epsilon: f64,
        delta: f64,
        bracket: Range,
    ) -> Option<f64> {
        let losses = if self == Method::Exact { Losses::Both } else { Losses::Magnitudes };
        let excess = |scale: f64| {
            Some((several::sketch(order, sensitivities, scale, epsilon, losses)? / delta).ln())
        };
        // Steps in the logarithm of the scale, with the slope of the last two.
        let enough = |bounds: Bounds| bounds.width() <= 0.3 * (bounds.estimate() - delta).abs();
        let wide = |scale| self.delta_until(order, sensitivities, scale, epsilon, &enough);
        let mut scale = least_at_most(wide, delta, bracket.to_within(COARSE_SEARCH)).ok()?;
        let mut value = excess(scale)?;
        let mut last = scale * (1.0 - COARSE_SEARCH);
        let mut slope = (value - excess(last)?) / (scale / last).ln();
        for _ in 0..8 {
            last = scale;
            scale *= (-value / slope).exp();
            let moved = (scale / last).ln();
            if moved.is_nan() || moved.abs() > 2.0 * COARSE_SEARCH || slope >= 0.0 {
                return None;
            }
            if moved.abs() < 1e-9 {
                break;
            }
            let next = excess(scale)?;
            slope = if moved.abs() > 1e-6 { (next - value) / moved } else { slope };
            value = next;
        }
        // The sketch is wrong by little, which the bounds correct; the aim is a little below the
        // budget.
        for _ in 0..6 {
            let bounds = self.delta_of_box(order, sensitivities, scale, epsilon);
            let over = (bounds.upper() / delta).ln();
            if bounds.upper() <= delta && over >= -3.0 * AIM {
                return Some(scale);
            }
            if over.is_nan() || over.abs() > 1e-3 {
                return None;
            }
            scale *= (-(over + AIM) / slope).exp();
        }
        None
    }
}

/// Where a scale is looked for, from a guess on.
fn searched(guess: f64) -> Range {
    Range::between(1e-140, 1e140).bracket_from(guess.clamp(1e-139, 1e139))
}

/// The relative distance to the least scale at which the search by wide bounds for three
/// coordinates ends.
const COARSE_SEARCH: f64 = 0.02;

/// How far below the budget the search by sharp bounds aims.
const AIM: f64 = 3e-13;

/// Two numbers around the length of the box's diagonal. At order 2 the density depends on the
/// length of the noise alone, so that a move along the diagonal is the move of one coordinate.
fn diagonal(sensitivities: &[f64]) -> [f64; 2] {
    let largest = sensitivities[0];
    let squares = sensitivities.iter().fold(Wide::ZERO, |sum, &d| {
        let share = Wide::exact(d) / Wide::exact(largest);
        sum + share * share
    });
    let length = (squares.sqrt() * Wide::exact(largest)).bounds();
    [length.lower(), length.upper()]
}

/// `b = D / ((x^p + epsilon)^(1/p) - x)` with `Q(1/p, x^p) = delta`: Corollary 9 with the lost
/// power restored (erratum L2).
///
/// It increases with `x`, and the upper bound of `x` is taken, so the result is never too small.
fn corollary_9_scale(order: Order, sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    let power = gamma_q_inverse(order.inverse(&Bounds::ONE), Bounds::exact(delta)).upper();
    let power = Wide::exact(power);
    let gap = order.root(&(power + Wide::exact(epsilon))) - order.root(&power);
    (Wide::exact(sensitivity) / gap).bounds().upper()
}

/// `(sum D_k^p / epsilon)^(1/p)`, rounded up.
pub(crate) fn pure_scale(order: Order, sensitivities: &[f64], epsilon: f64) -> f64 {
    let sum = sensitivities.iter().fold(Wide::ZERO, |sum, &d| sum + order.power(&Wide::exact(d)));
    order.root(&(sum / Wide::exact(epsilon))).bounds().upper()
}

/// The least epsilon of pure differential privacy for orders of at most 1, `sum (D_k / b)^p`: there
/// `|x + u|^p - |x|^p` is largest at zero. Orders above 1 have none (Claim 4, whose "for p other
/// than 1" is erratum L1).
pub(crate) fn pure_epsilon(order: Order, sensitivities: &[f64], scale: f64) -> Bounds {
    sensitivities
        .iter()
        .fold(Wide::ZERO, |sum, &d| sum + order.power(&(Wide::exact(d) / Wide::exact(scale))))
        .bounds()
}

/// The largest delta that any mechanism of pure privacy `most` can have at `epsilon`: that of
/// binary randomized response, `(e^most - e^epsilon) / (e^most + 1)`, which all others are
/// post-processings of.
pub(crate) fn most_for_pure(most: f64, epsilon: f64) -> f64 {
    if most <= epsilon {
        return 0.0;
    }
    let gap = -(Bounds::exact(epsilon) - Bounds::exact(most)).exp_m1();
    (gap / (Bounds::ONE + (-Bounds::exact(most)).exp())).upper().min(1.0)
}
