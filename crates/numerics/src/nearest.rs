//! Elementary functions of `f64`, correctly rounded: each result is within half a unit in the last
//! place.
//!
//! They are for sums of many terms whose error is bounded as a whole, where an interval for each
//! term would cost twice the time. Whoever uses one says what its half unit does to the bound;
//! where no bound is made, use [`crate::Bounds`]. Like all certified functions here they come from
//! CORE-MATH: the standard library states no error for its own.

/// `exp(x)`.
#[inline]
pub fn exp(x: f64) -> f64 {
    core_math::exp(x)
}

/// `exp(x) - 1`.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    core_math::expm1(x)
}

/// `ln(x)`.
#[inline]
pub fn ln(x: f64) -> f64 {
    core_math::log(x)
}

/// `ln(1 + x)`.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    core_math::log1p(x)
}

/// `x^y`.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    core_math::pow(x, y)
}

/// `exp(i pi x)` as its real and its imaginary part.
#[inline]
pub fn unit_root(x: f64) -> (f64, f64) {
    (core_math::cospi(x), core_math::sinpi(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::Float;
    use rug::ops::Pow;

    /// Whether the exact value is no further than half the distance to a neighbour.
    fn is_nearest(found: f64, exact: &Float) -> bool {
        let off = Float::with_val(300, exact - found).abs();
        let gap = Float::with_val(300, found.next_up() - found)
            .min(&Float::with_val(300, found - found.next_down()));
        off * 2u32 <= gap * 1.000_000_1f64
    }

    #[test]
    fn every_function_is_rounded_to_nearest() {
        let float = |x: f64| Float::with_val(300, x);
        for i in -400..=400 {
            let x = 0.73 * f64::from(i) + 1e-3;
            assert!(is_nearest(exp(x), &float(x).exp()), "{x}");
            assert!(is_nearest(exp_m1(x), &float(x).exp_m1()), "{x}");
            let y = exp(x);
            assert!(
                is_nearest(ln(y), &float(y).ln()) && is_nearest(ln_1p(y), &float(y).ln_1p()),
                "{y}"
            );
            assert!(is_nearest(pow(2.0, 0.01 * x), &float(2.0).pow(float(0.01 * x))), "{x}");
            let angle = float(x) * float(0.0).acos() * 2u32;
            let (re, im) = unit_root(x);
            assert!(is_nearest(re, &angle.clone().cos()) && is_nearest(im, &angle.sin()), "{x}");
        }
        assert_eq!((unit_root(0.5), unit_root(1.0)), ((0.0, 1.0), (-1.0, 0.0)));
    }
}
