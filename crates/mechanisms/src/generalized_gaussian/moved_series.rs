//! The loop in which the exact treatment of three coordinates spends its time:
//! `sum_n C(n + k, k) a_(n+k) b_n`.
//!
//! With powers of a step for `b` it moves a Taylor series to another point, with moments of a
//! random step it is the expectation of that.

use reticent_numerics::Bounds;
use reticent_numerics::rounding::{add_up, sub_down};
use std::sync::LazyLock;

/// The last coefficient of the series of two coordinates; even, so that the power in the remainder
/// has one sign.
pub(super) const LAST: usize = 18;

/// The last coefficient that a table keeps: two more, as the density of the loss comes by two
/// derivatives.
pub(super) const KEPT: usize = LAST + 2;

/// `C(n + k, k)` in row `k`: integers below `2^53`.
static BINOMIALS: LazyLock<[[f64; KEPT + 1]; KEPT + 1]> = LazyLock::new(|| {
    let mut rows = [[1.0; KEPT + 1]; KEPT + 1];
    for k in 1..=KEPT {
        for n in 1..=KEPT - k {
            rows[k][n] = rows[k - 1][n] + rows[k][n - 1];
        }
    }
    rows
});

/// `C(n, k)`.
pub(super) fn choose(n: usize, k: usize) -> Bounds {
    Bounds::exact(BINOMIALS[k][n - k])
}

/// A midpoint and a radius, of which no more is asked than that they enclose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    middle: f64,
    radius: f64,
}

impl Ball {
    /// Unbounded intervals become balls of which nothing is known.
    pub(super) fn new(bounds: Bounds) -> Self {
        let middle = 0.5 * bounds.lower() + 0.5 * bounds.upper();
        // The difference of two numbers within a factor of two is exact, any other rounded by less
        // than this adds.
        let radius =
            (bounds.upper() - middle).max(middle - bounds.lower()) * (1.0 + 2f64.powi(-50));
        if radius.is_finite() {
            Ball { middle, radius }
        } else {
            Ball { middle: 0.0, radius: f64::INFINITY }
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.radius.is_finite()
    }
}

/// An enclosure of `sum_{n <= last} C(n + k, k) a_(n+k) b_n`.
///
/// # Rounding
/// As in [`super::inner_product`]: with `N` terms of three factors each the midpoints' sum is wrong
/// by at most `(N + 2) 2^-53 / (1 - ...)` times the sum of their magnitudes. A product that
/// underflows is wrong by a tiny number, which for the first of the two products is then multiplied
/// by `a`: the least normal number is added to the radius of `b`, and to the sum for each term. The
/// sums of magnitudes are right to a relative `2^-45`, for which they are enlarged by `2^-40`.
pub(super) fn moved(k: usize, a: &[Ball], b: &[Ball], last: usize) -> Bounds {
    let weights = &BINOMIALS[k][..=last];
    let (a, b) = (&a[k..=k + last], &b[..=last]);
    let (mut middle, mut size, mut radius) = (0.0, 0.0, 0.0);
    for ((&weight, a), b) in weights.iter().zip(a).zip(b) {
        let scaled = weight * b.middle;
        let product = scaled * a.middle;
        middle += product;
        size += product.abs();
        radius += weight
            * (a.middle.abs() * (b.radius + f64::MIN_POSITIVE)
                + a.radius * (b.middle.abs() + b.radius));
    }
    let count = (last + 5) as f64;
    let error: f64 = (radius + size * (count * 2f64.powi(-53))) * (1.0 + 2f64.powi(-40))
        + count * f64::MIN_POSITIVE;
    if error.is_finite() {
        Bounds::new(sub_down(middle, error), add_up(middle, error))
    } else {
        Bounds::WHOLE_LINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::Enclosure;

    /// `1/(1 - x)` at 1/8 has the coefficients `(8/7)^(k+1)`; its series at zero are ones.
    #[test]
    fn a_series_is_moved() {
        let step = Bounds::exact(0.125);
        let powers: Vec<Ball> = (0..=KEPT as u32).map(|n| Ball::new(step.powi(n))).collect();
        let mut ones = vec![Ball::new(Bounds::ONE); KEPT + 1];
        // The remainder: the last coefficient between the two points.
        let ratio = Bounds::exact(8.0) / Bounds::exact(7.0);
        ones[KEPT] = Ball::new(Bounds::ONE.hull(ratio.powi(KEPT as u32 + 1)));
        for k in 0..6 {
            let (found, exact) = (moved(k, &ones, &powers, KEPT - k), ratio.powi(k as u32 + 1));
            assert!(
                found.intersect(exact).is_finite() && found.width() < 1e-7,
                "{k}: {found:?} {exact:?}"
            );
        }
        assert_eq!(choose(6, 2), Bounds::exact(15.0));
    }

    #[test]
    fn what_underflows_or_is_unknown_is_covered() {
        // 1e300 times what is too small for a f64.
        let (large, tiny) =
            (Ball::new(Bounds::exact(1e300)), Ball::new(Bounds::new(0.0, f64::from_bits(1))));
        let product = moved(0, &[large], &[tiny], 0);
        assert!(product.lower() <= 0.0 && product.upper() >= 4.9e-24, "{product:?}");
        let unknown = Ball::new(Bounds::WHOLE_LINE);
        assert!(!unknown.is_finite() && moved(0, &[unknown], &[large], 0) == Bounds::WHOLE_LINE);
    }
}
