//! The error of generalized Gaussian noise.

use super::order::Order;
use crate::Errors;
use crate::sharp::{Formula, sharp};
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::gamma_p;
use reticent_numerics::incomplete_gamma_inverse::gamma_q_inverse;
use reticent_numerics::{Bounds, Enclosure};

/// The measures of `b X`: `E|X| = Gamma(2/p) / Gamma(1/p)`, `E X^2 = Gamma(3/p) / Gamma(1/p)`, the
/// entropy `ln(2 b Gamma(1 + 1/p)) + 1/p`, and the 95th percentile of `|X|`, where
/// `Q(1/p, x^p) = 0.05`.
pub(crate) fn errors(order: Order, scale: f64) -> Errors {
    let inverse = order.inverse(&Bounds::ONE);
    // 0.05 is not a f64; its neighbours enclose it.
    let power = gamma_q_inverse(inverse, Bounds::new(0.05f64.next_down(), 0.05f64.next_up()));
    Errors {
        mean_absolute: sharp(&Moment { order, scale, moment: 1.0 }),
        root_mean_square: sharp(&Moment { order, scale, moment: 2.0 }),
        entropy: sharp(&Entropy { order, scale }),
        quantile_95: order.root(&power) * Bounds::exact(scale),
    }
}

/// `P[b |X| <= t] = P(1/p, (t/b)^p)`.
pub(crate) fn usefulness(order: Order, scale: f64, t: f64) -> Bounds {
    if t.is_nan() || t < 0.0 {
        return Bounds::ZERO;
    }
    if t == f64::INFINITY {
        return Bounds::ONE;
    }
    let power = order.power_bounds(Bounds::exact(t) / Bounds::exact(scale));
    gamma_p(order.inverse(&power), power)
}

/// `b (Gamma((m+1)/p) / Gamma(1/p))^(1/m)`, for the first and the second moment `m`.
struct Moment {
    order: Order,
    scale: f64,
    moment: f64,
}

impl Formula for Moment {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let order = like.exactly(self.order.get());
        let ratio =
            gamma(&(like.exactly(self.moment + 1.0) / order)) / gamma(&self.order.inverse(like));
        like.exactly(self.scale) * if self.moment == 2.0 { ratio.sqrt() } else { ratio }
    }
}

struct Entropy {
    order: Order,
    scale: f64,
}

impl Formula for Entropy {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        (self.order.mass(like) * like.exactly(self.scale)).ln() + self.order.inverse(like)
    }
}
