//! The error of bounded mechanisms at the worst answer.
//!
//! Given the answer `s`, the error of a truncated release is, in magnitude, a mixture of `|X|`
//! given `|X| <= s` and of `|X|` given `|X| <= R - s`. Both are stochastically at most `|X|` given
//! `|X| <= R`, which is what an answer at a bound has. So the worst answer is at a bound, for every
//! measure that grows with the error; there the bias is the mean absolute error.

use crate::Errors;
use crate::generalized_gaussian::Order;
use crate::sharp::{Formula, sharp};
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::{gamma_p, lower_regularized};
use reticent_numerics::incomplete_gamma_inverse::gamma_p_inverse;
use reticent_numerics::{Bounds, Enclosure};

/// The worst measures for noise of this scale, truncated to a range.
///
/// The entropy is not a matter of the error's size: `h(s) = ln(b Z(s)) + E|X|^p`, of which the
/// first term is largest in the middle, and the second at most that of an answer at a bound. Its
/// bounds are the value in the middle, and the sum of those two, or the uniform distribution's
/// `ln R`.
pub(crate) fn errors(order: Order, scale: f64, range: f64) -> Errors {
    let power = order.power_bounds(Bounds::exact(range) / Bounds::exact(scale));
    let inverse = order.inverse(&power);
    // 0.95 is not a f64; its neighbours enclose it.
    let level = Bounds::new(0.95f64.next_down(), 0.95f64.next_up()) * gamma_p(inverse, power);
    let moment = |moment: f64| sharp(&TruncatedMoment { order, scale, range, moment });
    let middle = sharp(&Entropy { order, scale, range: 0.5 * range, at_bound: 0.5 * range });
    let most = sharp(&Entropy { order, scale, range: 0.5 * range, at_bound: range });
    let uniform = Bounds::exact(range).ln();
    Errors {
        mean_absolute: moment(1.0),
        root_mean_square: moment(2.0),
        entropy: Bounds::new(
            middle.lower().min(uniform.upper()),
            most.upper().min(uniform.upper()),
        ),
        quantile_95: (order.root(&gamma_p_inverse(inverse, level)) * Bounds::exact(scale))
            .clamp(0.0, range),
    }
}

/// The least `P[|error| <= t]` over all answers: `P(1/p, (t/b)^p) / P(1/p, (R/b)^p)`.
pub(crate) fn usefulness(order: Order, scale: f64, range: f64, t: f64) -> Bounds {
    if t.is_nan() || t < 0.0 {
        return Bounds::ZERO;
    }
    if t >= range {
        return Bounds::ONE;
    }
    let part = |x: f64| {
        let power = order.power_bounds(Bounds::exact(x) / Bounds::exact(scale));
        gamma_p(order.inverse(&power), power)
    };
    (part(t) / part(range)).clamp(0.0, 1.0)
}

/// `b (E[|X|^m; |X| <= r] / P[|X| <= r])^(1/m)` with `r = R/b`:
/// `Gamma((m+1)/p) P((m+1)/p, r^p) / (Gamma(1/p) P(1/p, r^p))`.
struct TruncatedMoment {
    order: Order,
    scale: f64,
    range: f64,
    moment: f64,
}

impl Formula for TruncatedMoment {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let power = self.order.power(&(like.exactly(self.range) / like.exactly(self.scale)));
        let incomplete = |shape: E| gamma(&shape) * lower_regularized(&shape, &power);
        let shape = like.exactly(self.moment + 1.0) / like.exactly(self.order.get());
        let ratio = incomplete(shape) / incomplete(self.order.inverse(like));
        like.exactly(self.scale) * if self.moment == 2.0 { ratio.sqrt() } else { ratio }
    }
}

/// `ln(2 b z(range)) + E[|X|^p given |X| <= at_bound]`, where `z(v) = Gamma(1 + 1/p) P(1/p, v^p)`,
/// and the mean is `P(1 + 1/p, y) / (p P(1/p, y))` at `y = at_bound^p`.
struct Entropy {
    order: Order,
    scale: f64,
    range: f64,
    at_bound: f64,
}

impl Formula for Entropy {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let inverse = self.order.inverse(like);
        let power = |x: f64| self.order.power(&(like.exactly(x) / like.exactly(self.scale)));
        let y = power(self.at_bound);
        let mean = lower_regularized(&(inverse.clone() + like.exactly(1.0)), &y) * inverse.clone()
            / lower_regularized(&inverse, &y);
        let mass = self.order.mass(like) * lower_regularized(&inverse, &power(self.range));
        (mass * like.exactly(self.scale)).ln() + mean
    }
}
