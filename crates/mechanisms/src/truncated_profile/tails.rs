//! Probabilities of the noise, and two neighbouring answers within the range.

use super::FAR;
use crate::bounded_query::Interval;
use crate::generalized_gaussian::Order;
use reticent_numerics::Enclosure;
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::RegularizedGamma;

/// Tails and densities of the noise, of total mass 1.
pub(super) struct Tails<E> {
    order: Order,
    gamma: RegularizedGamma<E>,
    /// `2 Gamma(1 + 1/p)`.
    mass: E,
}

impl<E: Enclosure> Tails<E> {
    pub(super) fn new(order: Order, like: &E) -> Self {
        let inverse = order.inverse(like);
        let mass = gamma(&(like.exactly(1.0) + inverse.clone())).times_power_of_two(1);
        Tails { order, gamma: RegularizedGamma::new(inverse), mass }
    }

    /// `2 Gamma(1 + 1/p)`.
    pub(super) fn noise_mass(&self) -> E {
        self.mass.clone()
    }

    fn nothing(like: &E) -> E {
        like.between(0.0, f64::from_bits(1))
    }

    /// `e^weight P[X > x]`.
    pub(super) fn beyond(&self, x: &E, weight: f64) -> E {
        let near = x.bounds();
        if near.lower() > FAR {
            return Tails::nothing(x);
        }
        if near.upper() < -FAR {
            return x.exactly(weight).exp() * (x.exactly(1.0) - Tails::nothing(x));
        }
        let power = self.order.power(x);
        if near.lower() > 0.0 && weight > 0.0 && power.bounds().lower() > 1.0 {
            return (x.exactly(weight) + self.gamma.ln_upper(&power)).exp().times_power_of_two(-1);
        }
        let tail = if near.lower() >= 0.0 {
            self.gamma.upper(&power).times_power_of_two(-1)
        } else if near.upper() <= 0.0 {
            (x.exactly(1.0) + self.gamma.lower(&power)).times_power_of_two(-1)
        } else {
            let half = x.exactly(0.5);
            let most = self.gamma.lower(&power).times_power_of_two(-1);
            (half.clone() - most.clone()).hull(half + most)
        };
        x.exactly(weight).exp() * tail
    }

    /// `P[0 < X < x]` for `x >= 0`.
    pub(super) fn within(&self, x: &E) -> E {
        if x.bounds().lower() > FAR {
            return x.exactly(0.5) - Tails::nothing(x);
        }
        self.gamma.lower(&self.order.power(x)).times_power_of_two(-1)
    }

    /// `e^weight` times the density at `x`.
    pub(super) fn density(&self, x: &E, weight: f64) -> E {
        if x.bounds().abs().lower() > FAR {
            return Tails::nothing(x);
        }
        (x.exactly(weight) - self.order.power(x)).exp() / self.mass.clone()
    }
}

/// Two answers, `s = share (r - u)` and `t = s + u`, where they are and what is within the range.
pub(super) struct Point<E> {
    pub(super) s: E,
    pub(super) t: E,
    /// `r - s`.
    pub(super) above_s: E,
    /// `r - t`.
    pub(super) above_t: E,
    pub(super) mass_s: E,
    pub(super) mass_t: E,
}

impl<E: Enclosure> Point<E> {
    /// `share` and `1 - share` are `f64`.
    pub(super) fn new(
        tails: &Tails<E>,
        interval: &Interval,
        scale: f64,
        share: f64,
        like: &E,
    ) -> Self {
        let shift = interval.shift(scale, like);
        let free = if interval.covers_range() {
            like.exactly(0.0)
        } else {
            interval.range(scale, like) - shift.clone()
        };
        let s = free.clone() * like.exactly(share);
        let above_t = free * like.exactly(1.0 - share);
        let (t, above_s) = (s.clone() + shift.clone(), above_t.clone() + shift);
        let mass_s = tails.within(&s) + tails.within(&above_s);
        let mass_t = tails.within(&t) + tails.within(&above_t);
        Point { s, t, above_s, above_t, mass_s, mass_t }
    }
}
