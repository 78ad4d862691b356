//! The error of clamped noise at the worst answer.
//!
//! At the answer `s` the error is, in magnitude, `min(|X|, s)` or `min(|X|, R - s)`, each with
//! probability one half. With the tail `T(t) = P[|X| > t]`, the worst `P[|error| > t]` is `T(t)`
//! for `t < R/2` (in the middle), `T(t)/2` up to `R` (near a bound), and zero from there on.

use crate::Errors;
use crate::generalized_gaussian::{Order, usefulness as within};
use crate::sharp::{Formula, sharp};
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::{lower_regularized, upper_regularized};
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::{Bounds, Enclosure};

/// The cells that the mean square is bounded on.
const CELLS: u32 = 256;

/// The worst measures for noise of this scale, clamped to a range.
///
/// `E|error| = (m(s) + m(R-s))/2` with the concave `m(v) = E min(|X|, v)`: largest in the middle.
/// The mean square has `q(v) = E min(X^2, v^2)` in its point, which need not be concave; but it
/// increases, so `q(to) + q(R - from)` bounds it for the answers of a cell.
pub(crate) fn errors(order: Order, scale: f64, range: f64) -> Errors {
    let cut = |moment: f64, at: f64| sharp(&CutMoment { order, scale, moment, at });
    let q = |v: f64| cut(2.0, v);
    let half = Bounds::exact(0.5);
    let mut square = Bounds::ZERO;
    for cell in 0..CELLS {
        let point = |i: u32| 0.5 * range * f64::from(i) / f64::from(CELLS);
        let (from, to) = (point(cell), point(cell + 1));
        let (most, least) = ((q(to) + q(range - from)) * half, (q(to) + q(range - to)) * half);
        square = Bounds::new(square.lower().max(least.lower()), square.upper().max(most.upper()));
    }
    Errors {
        mean_absolute: cut(1.0, 0.5 * range),
        root_mean_square: square.sqrt(),
        entropy: Bounds::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
        quantile_95: quantile_95(order, scale, range),
    }
}

/// The least `P[|error| <= t]` over all answers.
pub(crate) fn usefulness(order: Order, scale: f64, range: f64, t: f64) -> Bounds {
    if t >= range {
        return Bounds::ONE;
    }
    let inside = within(order, scale, t);
    if t >= 0.5 * range { (Bounds::ONE + inside) * Bounds::exact(0.5) } else { inside }
}

/// Where the worst `P[|error| > t]` falls to 0.05: it jumps from `T` to `T/2` at `R/2` and from
/// `T/2` to zero at `R`.
fn quantile_95(order: Order, scale: f64, range: f64) -> Bounds {
    let exceeds = |level: f64| {
        let level = Bounds::new(level.next_down(), level.next_up());
        order.root(&gamma_q_inverse(order.inverse(&Bounds::ONE), level)) * Bounds::exact(scale)
    };
    let (whole, halved) = (exceeds(0.05), exceeds(0.1));
    let at = |x: Bounds, least: f64, most: f64| {
        Bounds::new(x.lower().clamp(least, most), x.upper().clamp(least, most))
    };
    let (middle, end) = (0.5 * range, range);
    if whole.upper() < middle {
        whole
    } else if whole.lower() >= middle {
        at(halved, middle, end)
    } else {
        whole.hull(at(halved, middle, end)).clamp(0.0, end)
    }
}

/// `E min(|X|^m, at^m)` times the scale's power:
/// `Gamma((m+1)/p) P((m+1)/p, y) / Gamma(1/p) + v^m Q(1/p, y)` at `v = at/b` and `y = v^p`.
struct CutMoment {
    order: Order,
    scale: f64,
    moment: f64,
    at: f64,
}

impl Formula for CutMoment {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let v = like.exactly(self.at) / like.exactly(self.scale);
        let power = self.order.power(&v);
        let inverse = self.order.inverse(like);
        let shape = like.exactly(self.moment + 1.0) / like.exactly(self.order.get());
        let inside = gamma(&shape) * lower_regularized(&shape, &power) / gamma(&inverse);
        let count = self.moment as u32;
        (inside + v.powi(count) * upper_regularized(&inverse, &power))
            * like.exactly(self.scale).powi(count)
    }
}
