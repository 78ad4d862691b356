//! The error of noise whose releases are moved between public bounds, at the worst answer.
//!
//! At an answer `s` in a range of width `R` the error is, in magnitude, `min(|X|, s)` or
//! `min(|X|, R - s)`, each with probability one half. So with the tail `T(t) = P[|X| > t]` the
//! worst `P[|error| > t]` is `T(t)` below `R/2` (in the middle), `T(t)/2` from there up to `R`
//! (next to a bound), and zero from `R` on.

use crate::error_law::ErrorLaw;
use reticent_numerics::{Bounds, Enclosure};

/// The pieces of the integral of the mean square.
const PIECES: u32 = 2000;

/// A law after clamping, at the worst answer for each figure by itself.
#[derive(Debug)]
pub struct ClampedLaw {
    inner: Box<dyn ErrorLaw>,
    range: f64,
}

impl ClampedLaw {
    /// The law of an error that cannot exceed `range`.
    pub fn new(inner: Box<dyn ErrorLaw>, range: f64) -> Self {
        ClampedLaw { inner, range }
    }
}

impl ErrorLaw for ClampedLaw {
    fn exceedance(&self, t: f64) -> Bounds {
        if t >= self.range {
            return Bounds::ZERO;
        }
        let tail = self.inner.exceedance(t);
        if t < 0.5 * self.range { tail } else { tail.times_power_of_two(-1) }
    }

    /// With `m(v) = E(min(|X|, v) - t)_+ = E(|X| - t)_+ - E(|X| - v)_+`, concave from `v = t` on,
    /// the worst of `(m(s) + m(R - s))/2` is in the middle, `m(R/2)`, or at a bound, `m(R)/2`. For
    /// `t > 0` the answer that is worst for one threshold need not be the worst for a whole loss,
    /// and this is an upper bound alone.
    fn excess(&self, t: f64) -> Bounds {
        if t >= self.range {
            return Bounds::ZERO;
        }
        let up_to =
            |v: f64| (self.inner.excess(t) - self.inner.excess(v)).clamp(0.0, f64::INFINITY);
        let at_bound = up_to(self.range).times_power_of_two(-1);
        if t >= 0.5 * self.range {
            return Bounds::new(0.0, at_bound.upper());
        }
        let middle = up_to(0.5 * self.range);
        let worst =
            Bounds::new(middle.lower().max(at_bound.lower()), middle.upper().max(at_bound.upper()));
        if t <= 0.0 { worst } else { Bounds::new(0.0, worst.upper()) }
    }

    /// At most the integral of `2 t` times the worst tail, from above piece by piece; at most the
    /// inner one. The tail is that of the middle up to `R/2`, which some answer has.
    fn mean_square(&self) -> Bounds {
        let point = |i: u32| self.range * f64::from(i) / f64::from(PIECES);
        let (mut upper, mut lower) = (Bounds::ZERO, Bounds::ZERO);
        for i in 0..PIECES {
            let (from, to) = (point(i), point(i + 1));
            let area = Bounds::exact(to).square() - Bounds::exact(from).square();
            upper = upper + area * self.exceedance(from);
            if i < PIECES / 2 {
                lower = lower + area * self.inner.exceedance(to);
            }
        }
        let inner = self.inner.mean_square();
        Bounds::new(
            lower.lower().clamp(0.0, upper.upper().min(inner.upper())),
            upper.upper().min(inner.upper()),
        )
    }

    /// That of the noise before it is clamped: what is moved onto a bound has no density.
    fn entropy(&self) -> Bounds {
        self.inner.entropy()
    }

    fn is_integer(&self) -> bool {
        self.inner.is_integer()
    }

    fn density(&self, x: f64) -> f64 {
        self.inner.density(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_law::{Additive, WorstAnswer};
    use reticent_mechanisms::{
        BoundedQuery, Distance, Epsilon, InflatedGeneralizedGaussian, Mechanism, Order, Scale,
    };
    use reticent_mechanisms::{Laplace, Neighbours, Sensitivity};

    #[test]
    fn clamped_laplace_noise_is_inflated_noise_of_order_one() {
        for (scale, range) in [(10.0, 10.0), (1.0, 10.0), (0.5, 2.0)] {
            let distance = Distance::new(1.0).expect("valid");
            let query = BoundedQuery::new(0.0, range, distance).expect("valid");
            let order = Order::new(1.0).expect("valid");
            let scale_of = Scale::new(scale).expect("valid");
            let inflated =
                InflatedGeneralizedGaussian::with_scale(order, query, scale_of).expect("valid");
            let inflated = WorstAnswer::new(inflated, range).expect("known");
            let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
            let laplace =
                Laplace::calibrate(&one, Epsilon::new(1.0 / scale).expect("valid")).expect("valid");
            let law = Additive::new(
                reticent_noise::Laplace,
                laplace.scale(),
                &laplace.errors().expect("additive"),
            );
            let clamped = ClampedLaw::new(Box::new(law), range);
            for t in [0.0, 0.3 * range, 0.6 * range, 0.9 * range] {
                let (a, b) = (clamped.exceedance(t), inflated.exceedance(t));
                assert!(
                    (a.estimate() - b.estimate()).abs() < 1e-12,
                    "{scale} {range} {t}: {a:?} {b:?}"
                );
            }
            let (a, b) = (clamped.excess(0.0), inflated.excess(0.0));
            assert!(
                (a.estimate() / b.estimate() - 1.0).abs() < 1e-9,
                "{scale} {range}: {a:?} {b:?}"
            );
            // Both are bounds of the same number.
            let (a, b) = (clamped.mean_square(), inflated.mean_square());
            assert!(
                a.lower() <= b.upper() && b.lower() <= a.upper(),
                "{scale} {range}: {a:?} {b:?}"
            );
            assert!(a.upper() <= 1.6 * b.upper(), "{scale} {range}: {a:?} {b:?}");
        }
    }
}
