//! Generalized Gaussian noise on a vector of which a norm is known.
//!
//! With noise `x` of scale 1, a move `u` and `rho = ||x||_p`, Minkowski's inequality bounds the
//! loss `||x + u||_p^p - ||x||_p^p` by `l(rho) = (rho + U)^p - rho^p`, where `U = D_p/b`, and its
//! negative too, because `rho^p - (rho - U)^p <= l(rho)` for `p >= 1`. This is Proposition 8 of Liu
//! with the l_p sensitivity alone: Hölder's inequality in each of its sums over the coordinates
//! gives the same. And `rho^p` has a gamma distribution of shape `r/p`. So, with `l(x) = epsilon`,
//!
//! - `P[|L| > epsilon] <= Q(r/p, x^p)`, and `b = D_p / ((x^p + epsilon)^(1/p) - x)` where
//!   `Q(r/p, x^p) = delta`: Corollary 9, with `r/p` in place of `1/p`;
//! - `delta(epsilon) = E (1 - e^(epsilon - L))_+ <= E (1 - e^(epsilon - l(rho)))_+`, because the
//!   left side increases with `L`. Summed by parts over points `x_0 < x_1 < ...` from `x` on, it is
//!   at most `sum w_(i+1) (Q_i - Q_(i+1))`, where `w_i` is the integrand at `x_i` and `Q_i` the
//!   tail.
//!
//! Which direction of a ball is the worst is open, so this is a bound and not the least scale; a
//! move of one coordinate alone, which is possible, bounds delta from below. At order 2 the density
//! depends on the length of the noise alone, every direction is the same, and the profile is exact.

use super::calibration::{most_for_pure, pure_epsilon};
use super::order::Order;
use super::shift::Shift;
use reticent_numerics::incomplete_gamma::{gamma_q, ln_gamma_q};
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::rounding::{add_up, mul_up, sub_up};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Noise of one scale on `r` coordinates of l_p sensitivity `distance`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radial {
    pub(super) order: Order,
    pub(super) coordinates: u32,
    pub(super) distance: f64,
    pub(super) alone: f64,
    pub(super) scale: f64,
}

/// The points of the sum for delta.
const POINTS: usize = 1000;

impl Radial {
    fn shape(&self) -> Bounds {
        Bounds::exact(f64::from(self.coordinates)) / Bounds::exact(self.order.get())
    }

    fn along(&self, sensitivity: f64) -> Shift {
        Shift { order: self.order, sensitivity, scale: self.scale }
    }

    /// Bounds on the delta of `(epsilon, delta)`-differential privacy.
    pub(super) fn delta(&self, epsilon: f64) -> Bounds {
        if self.order.get() == 2.0 {
            return self.along(self.distance).delta(epsilon);
        }
        let alone =
            if self.alone > 0.0 { self.along(self.alone).delta(epsilon).lower() } else { 0.0 };
        let most = if self.order.get() <= 1.0 {
            most_for_pure(pure_epsilon(self.order, &[self.distance], self.scale).upper(), epsilon)
        } else {
            self.expected_excess(epsilon)
        };
        Bounds::new(alone.min(most), most)
    }

    /// Bounds on `P[|L| > epsilon]`, for orders above 1: from the move of one coordinate alone to
    /// `Q(r/p, x^p)`.
    pub(super) fn probabilistic(&self, epsilon: f64) -> Bounds {
        let alone =
            if self.alone > 0.0 { self.along(self.alone).two_sided(epsilon).lower() } else { 0.0 };
        let most = match self.threshold(epsilon) {
            None => 1.0,
            Some(x) => gamma_q(self.shape(), self.order.power_bounds(Bounds::exact(x))).upper(),
        };
        Bounds::new(alone.min(most), most.min(1.0))
    }

    /// `l(x)`.
    fn loss(&self, x: f64) -> Bounds {
        self.along(self.distance).loss_at(x, 1.0)
    }

    /// A number at which `l` is proved to be at most `epsilon`, and about the largest; none if it
    /// is above everywhere.
    fn threshold(&self, epsilon: f64) -> Option<f64> {
        if self.loss(0.0).upper() > epsilon {
            return None;
        }
        // Beyond this nothing of the noise is left.
        let far = self.order.root_above(2.0 * (750.0 + self.shape().upper()));
        let (mut low, mut high) = (0.0, far);
        if self.loss(far).upper() <= epsilon {
            return Some(far);
        }
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if self.loss(middle).upper() <= epsilon { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// `E (1 - e^(epsilon - l(rho)))_+`, rounded up.
    fn expected_excess(&self, epsilon: f64) -> f64 {
        let start = self.threshold(epsilon).unwrap_or(0.0);
        let power = |x: f64| self.order.power_bounds(Bounds::exact(x));
        let tail = |x: f64| gamma_q(self.shape(), power(x)).upper();
        let begin = tail(start);
        if begin == 0.0 {
            return f64::from_bits(1);
        }
        // To where e^-20 of the tail is left, in equal steps of x^p.
        let ln_end = (ln_gamma_q(self.shape(), power(start)) - Bounds::exact(20.0)).exp();
        let end = gamma_q_inverse(self.shape(), Bounds::exact(ln_end.lower().max(1e-320))).upper();
        let (from, to) = (power(start).lower().max(0.0), end.max(power(start).upper()));
        let point = |i: usize| {
            let share = i as f64 / POINTS as f64;
            self.order.root(&Bounds::exact(from + share * (to - from))).estimate().max(start)
        };
        let weight = |x: f64| {
            let above = (self.loss(x) - Bounds::exact(epsilon)).upper();
            if above <= 0.0 { 0.0 } else { (-(Bounds::exact(-above)).exp_m1()).upper().min(1.0) }
        };
        // sum w_(i+1) (Q_i - Q_(i+1)) = w_1 Q_0 + sum (w_(i+1) - w_i) Q_i, the last weight being 1;
        // every term is at least 0.
        let (mut sum, mut before) = (0.0, 0.0f64);
        let mut x = start;
        for i in 0..=POINTS {
            let next = if i == POINTS { None } else { Some(point(i + 1).max(x)) };
            let weight = next.map_or(1.0, weight).max(before);
            sum = add_up(sum, mul_up(sub_up(weight, before), tail(x)));
            (before, x) = (weight, next.unwrap_or(x));
        }
        sum.min(begin).min(1.0)
    }
}

/// `b = D_p / ((x^p + epsilon)^(1/p) - x)` with `Q(r/p, x^p) = delta`, rounded up.
pub(super) fn probabilistic_scale(
    order: Order,
    coordinates: u32,
    distance: f64,
    epsilon: f64,
    delta: f64,
) -> f64 {
    let shape = Bounds::exact(f64::from(coordinates)) / Bounds::exact(order.get());
    let power = Wide::exact(gamma_q_inverse(shape, Bounds::exact(delta)).upper());
    let gap = order.root(&(power + Wide::exact(epsilon))) - order.root(&power);
    (Wide::exact(distance) / gap).bounds().upper()
}
