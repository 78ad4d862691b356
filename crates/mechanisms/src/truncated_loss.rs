//! The privacy loss of truncated generalized Gaussian noise: a certified maximum over the private
//! location.
//!
//! In units of the scale, with `r = R/b`, `u = D/b` and `z(v) = integral_0^v exp(-x^p) dx`, the
//! loss of a move from `s` to `s + u` is `F(s) = psi(s + u) - psi(s)` with
//! `psi(s) = -(r-s)^p - ln(z(s) + z(r-s))`, for `s` from 0 to `r - u`.
//!
//! # Where the maximum is
//! - Order 1: `-ln(z(s) + z(r-s))` is convex and the rest linear, so `psi` is convex, `F`
//!   increases, and the maximum is at `s = r - u`.
//! - Order 2: `psi'' = -Var g(Y)` with `g(y) = 2 (y - s)`, so `psi` is concave, `F` decreases, and
//!   the maximum is at `s = 0`.
//! - Other orders: subdivision. A piece on which `F'` has one sign has its maximum at an end; on
//!   others the larger end plus `max|F'|` times half the width bounds it, and those that could beat
//!   the best end found are split, the most promising first. When the pieces run out, what is left
//!   is bounded, so the result is sound, if less sharp.

use crate::bounded_query::Interval;
use crate::generalized_gaussian::Order;
use crate::sharp::{Formula, sharp};
use reticent_numerics::incomplete_gamma::gamma_p;
use reticent_numerics::incomplete_gamma::lower_regularized;
use reticent_numerics::rounding::add_up;
use reticent_numerics::{Bounds, Enclosure, Wide};

/// `F` at the location `s = share (r - u)`.
struct LossAt<'a> {
    order: Order,
    interval: &'a Interval,
    scale: f64,
    share: f64,
}

impl Formula for LossAt<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let range = self.interval.range(self.scale, like);
        if self.interval.covers_range() {
            // From one bound to the other: the two masses are the same.
            return self.order.power(&range);
        }
        let shift = self.interval.shift(self.scale, like);
        let free = range.clone() - shift.clone();
        let low =
            if self.share == 1.0 { free.clone() } else { free.clone() * like.exactly(self.share) };
        let above_low = if self.share == 1.0 { shift.clone() } else { range.clone() - low.clone() };
        let high = low.clone() + shift;
        let above_high = if self.share == 1.0 { like.exactly(0.0) } else { free - low.clone() };
        let mass = |below: &E, above: &E| {
            let part = |x: &E| lower_regularized(&self.order.inverse(like), &self.order.power(x));
            part(below) + part(above)
        };
        let powers = self.order.power(&above_low) - self.order.power(&above_high);
        powers + (mass(&low, &above_low) / mass(&high, &above_high)).ln()
    }
}

fn loss_at(order: Order, interval: &Interval, scale: f64, share: f64) -> Bounds {
    sharp(&LossAt { order, interval, scale, share })
}

/// The larger of the losses at the two ends of the range of locations.
pub(crate) fn loss_at_ends(order: Order, interval: &Interval, scale: f64) -> Bounds {
    larger(loss_at(order, interval, scale, 0.0), loss_at(order, interval, scale, 1.0))
}

/// Bounds on the larger of two numbers.
pub(crate) fn larger(a: Bounds, b: Bounds) -> Bounds {
    Bounds::new(a.lower().max(b.lower()), a.upper().max(b.upper()))
}

/// The most pieces that are looked at.
const PIECES: usize = 3000;

/// How much, relatively, a piece may exceed the best end without being split further.
const CONTENT: f64 = 1e-14;

/// The largest loss over all locations.
pub(crate) fn worst_loss(order: Order, interval: &Interval, scale: f64) -> Bounds {
    if interval.covers_range() || order.get() == 2.0 {
        return loss_at(order, interval, scale, 0.0);
    }
    if order.get() == 1.0 {
        return loss_at(order, interval, scale, 1.0);
    }
    let mut best = loss_at_ends(order, interval, scale);
    let slope = Slope::new(order, interval, scale);
    let mut open = vec![Piece { from: 0.0, to: 1.0, most: f64::INFINITY }];
    for _ in 0..PIECES {
        // The most promising piece first: when the pieces run out, what is left is as low as it can
        // be.
        let Some(next) = (0..open.len()).max_by(|&a, &b| open[a].most.total_cmp(&open[b].most))
        else {
            break;
        };
        if open[next].most <= best.lower() * (1.0 + CONTENT) {
            break;
        }
        let Piece { from, to, .. } = open.swap_remove(next);
        let middle = 0.5 * (from + to);
        for (from, to) in [(from, middle), (middle, to)] {
            let rate = slope.on(from, to);
            let ends = larger(
                loss_at_quickly(order, interval, scale, from),
                loss_at_quickly(order, interval, scale, to),
            );
            best = larger(best, ends);
            if rate.lower() < 0.0 && rate.upper() > 0.0 {
                // From either end the function rises by no more than the largest slope allows, and
                // meets itself half way at the latest.
                let reach = (Bounds::exact(0.5 * (to - from)) * slope.free * rate.abs()).upper();
                open.push(Piece { from, to, most: add_up(ends.upper(), reach) });
            }
        }
    }
    open.iter().fold(best, |best, piece| Bounds::new(best.lower(), best.upper().max(piece.most)))
}

/// Locations on which the slope of the loss has no certain sign, as shares of `r - u`, with a bound
/// on the loss there.
struct Piece {
    from: f64,
    to: f64,
    most: f64,
}

fn loss_at_quickly(order: Order, interval: &Interval, scale: f64, share: f64) -> Bounds {
    LossAt { order, interval, scale, share }.at(&Wide::ONE).bounds()
}

/// `F'(s) = psi'(s + u) - psi'(s)`, where `psi'(s) = p (r-s)^(p-1) - (exp(-s^p) - exp(-(r-s)^p)) /
/// (z(s) + z(r-s))`.
pub(crate) struct Slope {
    order: Order,
    range: Bounds,
    shift: Bounds,
    /// `r - u`.
    free: Bounds,
    /// `Gamma(1 + 1/p)`.
    half_mass: Bounds,
    /// `z(r)`, rounded down.
    least_mass: f64,
}

impl Slope {
    pub(crate) fn new(order: Order, interval: &Interval, scale: f64) -> Self {
        let (range, shift) = (interval.range(scale, &Wide::ONE), interval.shift(scale, &Wide::ONE));
        let half_mass = order.mass(&Bounds::ONE).times_power_of_two(-1);
        let least_mass = (half_mass
            * gamma_p(order.inverse(&Bounds::ONE), order.power_bounds(range.bounds())))
        .lower();
        let free = (range - shift).bounds();
        Slope { order, range: range.bounds(), shift: shift.bounds(), free, half_mass, least_mass }
    }

    /// For all locations from `from` to `to`, as shares of `r - u`.
    fn on(&self, from: f64, to: f64) -> Bounds {
        let low = Bounds::new(from, to) * self.free;
        let positive = |x: Bounds| Bounds::new(x.lower().max(0.0), x.upper().max(0.0));
        self.of_psi(low + self.shift, positive((Bounds::ONE - Bounds::new(from, to)) * self.free))
            - self.of_psi(low, positive(self.range - low))
    }

    /// `psi(s) = -(r-s)^p - ln(z(s) + z(r-s))`, with `above = r - s`.
    pub(crate) fn psi(&self, s: Bounds, above: Bounds) -> Bounds {
        let above_power = self.order.power_bounds(above);
        -above_power - self.mass(self.order.power_bounds(s), above_power).ln()
    }

    /// `z(s) + z(r-s)`, from the powers of both.
    fn mass(&self, below_power: Bounds, above_power: Bounds) -> Bounds {
        let inverse = self.order.inverse(&Bounds::ONE);
        let mass = self.half_mass * (gamma_p(inverse, below_power) + gamma_p(inverse, above_power));
        // It is concave and symmetric in s, so least at the bounds.
        Bounds::new(mass.lower().max(self.least_mass), mass.upper())
    }

    /// `psi'` at `s`, with `above = r - s`.
    pub(crate) fn of_psi(&self, s: Bounds, above: Bounds) -> Bounds {
        let order = self.order.get();
        let (below_power, above_power) =
            (self.order.power_bounds(s), self.order.power_bounds(above));
        let mass = self.mass(below_power, above_power);
        let steep = if above.lower() > 0.0 || order > 1.0 {
            above.pow(order - 1.0)
        } else {
            Bounds::WHOLE_LINE
        };
        Bounds::exact(order) * steep - ((-below_power).exp() - (-above_power).exp()) / mass
    }
}
