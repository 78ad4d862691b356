//! Directed rounding: each operation of `f64` with its result moved to the safe side.
//!
//! A name ends in `_down` when the result is at most the exact value and in `_up` when it is at
//! least that. The processor stays in round-to-nearest; whether a rounded result lies above or
//! below the exact one is read off the error term of an error-free transformation (Ogita, Rump,
//! Oishi, *Accurate sum and dot product*, 2005), so exact results stay exact and no result is moved
//! by more than one unit in the last place.
//!
//! Elementary functions come from CORE-MATH, whose results are proved to be correctly rounded: the
//! exact value lies strictly between the two neighbours of what it returns. (Sibidanov, Zimmermann,
//! Glondu, *The CORE-MATH project*, ARITH 2022.)
//!
//! No function here accepts a NaN; the callers keep them out, and a debug assertion watches.

/// Below this, the error term of a product or quotient may itself be rounded away (it would be
/// smaller than the least subnormal, `2^-1074`), so its sign proves nothing.
const ERROR_TERM_IS_EXACT_ABOVE: f64 = f64::from_bits(((1023 - 960) as u64) << 52);

/// `a + b` and its exact rounding error (Knuth's two-sum), valid without overflow.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_virtual = sum - a;
    let a_virtual = sum - b_virtual;
    (sum, (a - a_virtual) + (b - b_virtual))
}

/// `a * b` and its exact rounding error, valid while the error is not below the least subnormal.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// What a result that rounded to an infinity becomes on its lower side: an overflow upwards is
/// still at least the largest finite number.
#[inline]
fn overflowed_down(result: f64, operands_finite: bool) -> f64 {
    if operands_finite && result > 0.0 { f64::MAX } else { result }
}

/// `a + b`, rounded down. Infinite operands of opposite sign give `-inf`.
#[inline]
pub fn add_down(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    if sum.is_finite() {
        return if error < 0.0 { sum.next_down() } else { sum };
    }
    if sum.is_nan() {
        return f64::NEG_INFINITY;
    }
    overflowed_down(sum, a.is_finite() && b.is_finite())
}

/// `a + b`, rounded up.
#[inline]
pub fn add_up(a: f64, b: f64) -> f64 {
    -add_down(-a, -b)
}

/// `a - b`, rounded down.
#[inline]
pub fn sub_down(a: f64, b: f64) -> f64 {
    add_down(a, -b)
}

/// `a - b`, rounded up.
#[inline]
pub fn sub_up(a: f64, b: f64) -> f64 {
    -add_down(b, -a)
}

/// `a * b`, rounded down. Zero times infinity is zero: an infinite end of an interval stands for
/// arbitrarily large finite numbers.
#[inline]
pub fn mul_down(a: f64, b: f64) -> f64 {
    let (product, error) = two_product(a, b);
    if product.is_finite() && product.abs() >= ERROR_TERM_IS_EXACT_ABOVE {
        return if error < 0.0 { product.next_down() } else { product };
    }
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    if product.is_infinite() {
        return overflowed_down(product, a.is_finite() && b.is_finite());
    }
    below_tiny(product, (a < 0.0) != (b < 0.0))
}

/// A tiny result moved down, but not across zero when the exact value is positive.
#[inline]
fn below_tiny(result: f64, negative: bool) -> f64 {
    if negative { result.next_down() } else { result.next_down().max(0.0) }
}

/// `a * b`, rounded up.
#[inline]
pub fn mul_up(a: f64, b: f64) -> f64 {
    -mul_down(-a, b)
}

/// `a / b`, rounded down, for `b` other than zero. A finite number over an infinity is taken as the
/// limit zero from the proper side.
#[inline]
pub fn div_down(a: f64, b: f64) -> f64 {
    debug_assert!(b != 0.0, "division by zero is refused before this point");
    if a == 0.0 {
        return 0.0;
    }
    let quotient = a / b;
    let negative = (a < 0.0) != (b < 0.0);
    if quotient.is_nan() || b.is_infinite() {
        // inf/inf may be anything of its sign; finite/inf tends to zero.
        return if negative && quotient.is_nan() {
            f64::NEG_INFINITY
        } else if negative {
            -f64::from_bits(1)
        } else {
            0.0
        };
    }
    if quotient.is_infinite() {
        return overflowed_down(quotient, a.is_finite());
    }
    // a - q b is exact unless it underflows, which it cannot when both a and q are well above the
    // subnormal range.
    if quotient.abs() >= ERROR_TERM_IS_EXACT_ABOVE && a.abs() >= ERROR_TERM_IS_EXACT_ABOVE {
        let remainder = (-quotient).mul_add(b, a);
        let below = if b > 0.0 { remainder < 0.0 } else { remainder > 0.0 };
        return if below { quotient.next_down() } else { quotient };
    }
    below_tiny(quotient, negative)
}

/// `a / b`, rounded up, for `b` other than zero.
#[inline]
pub fn div_up(a: f64, b: f64) -> f64 {
    -div_down(-a, b)
}

/// `sqrt(a)` for `a >= 0`, rounded down.
#[inline]
pub fn sqrt_down(a: f64) -> f64 {
    debug_assert!(a >= 0.0);
    let root = a.sqrt();
    if root == 0.0 || root.is_infinite() {
        return root;
    }
    if a < ERROR_TERM_IS_EXACT_ABOVE {
        return root.next_down();
    }
    if (-root).mul_add(root, a) < 0.0 { root.next_down() } else { root }
}

/// `sqrt(a)` for `a >= 0`, rounded up.
#[inline]
pub fn sqrt_up(a: f64) -> f64 {
    debug_assert!(a >= 0.0);
    let root = a.sqrt();
    if root == 0.0 || root.is_infinite() {
        return root;
    }
    if a < ERROR_TERM_IS_EXACT_ABOVE {
        return root.next_up();
    }
    if (-root).mul_add(root, a) > 0.0 { root.next_up() } else { root }
}

/// The two neighbours of a correctly rounded result, as `(down, up)`; `exact` keeps a result that
/// is known to be exact.
#[inline(always)]
pub(crate) fn neighbours(rounded: f64, exact: bool) -> (f64, f64) {
    if exact { (rounded, rounded) } else { (rounded.next_down(), rounded.next_up()) }
}

macro_rules! monotone_function {
    (
        $(#[$down_doc:meta])* $down:ident, $(#[$up_doc:meta])* $up:ident, $function:path,
        exact when $exact_at:expr, within $floor:expr, $ceiling:expr
    ) => {
        $(#[$down_doc])*
        #[inline]
        pub fn $down(x: f64) -> f64 {
            debug_assert!(!x.is_nan());
            let rounded = $function(x);
            if x == $exact_at || rounded == f64::NEG_INFINITY {
                rounded
            } else {
                rounded.next_down().max($floor)
            }
        }
        $(#[$up_doc])*
        #[inline]
        pub fn $up(x: f64) -> f64 {
            debug_assert!(!x.is_nan());
            let rounded = $function(x);
            if x == $exact_at || rounded == f64::INFINITY {
                rounded
            } else {
                rounded.next_up().min($ceiling)
            }
        }
    };
}

monotone_function!(
    /// `exp(x)`, rounded down.
    exp_down,
    /// `exp(x)`, rounded up.
    exp_up,
    core_math::exp, exact when 0.0, within 0.0, f64::INFINITY);
monotone_function!(
    /// `exp(x) - 1`, rounded down.
    exp_m1_down,
    /// `exp(x) - 1`, rounded up.
    exp_m1_up,
    core_math::expm1, exact when 0.0, within -1.0, f64::INFINITY);
monotone_function!(
    /// `ln(x)` for `x >= 0`, rounded down.
    ln_down,
    /// `ln(x)` for `x >= 0`, rounded up.
    ln_up,
    core_math::log, exact when 1.0, within f64::NEG_INFINITY, f64::INFINITY);
monotone_function!(
    /// `ln(1 + x)` for `x >= -1`, rounded down.
    ln_1p_down,
    /// `ln(1 + x)` for `x >= -1`, rounded up.
    ln_1p_up,
    core_math::log1p, exact when 0.0, within f64::NEG_INFINITY, f64::INFINITY);
monotone_function!(
    /// `erf(x)`, rounded down.
    erf_down,
    /// `erf(x)`, rounded up.
    erf_up,
    core_math::erf, exact when 0.0, within -1.0, 1.0);

/// `x^y` for `x >= 0` and finite `y`, rounded down.
#[inline]
pub fn pow_down(x: f64, y: f64) -> f64 {
    pow_bounds(x, y).0
}

/// `x^y` for `x >= 0` and finite `y`, rounded up.
#[inline]
pub fn pow_up(x: f64, y: f64) -> f64 {
    pow_bounds(x, y).1
}

#[inline]
fn pow_bounds(x: f64, y: f64) -> (f64, f64) {
    debug_assert!(x >= 0.0 && y.is_finite());
    if y == 1.0 {
        return (x, x);
    }
    let rounded = core_math::pow(x, y);
    let exact = x == 1.0 || y == 0.0 || x == 0.0 || x.is_infinite();
    let (down, up) = neighbours(rounded, exact);
    (down.max(0.0), up)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [f64; 17] = [
        0.0,
        5e-324,
        -5e-324,
        2.3e-308,
        1e-300,
        -1e-290,
        1e-160,
        -1e-150,
        0.1,
        -0.3,
        1.0,
        1.0 + f64::EPSILON,
        -3.0,
        1e16,
        1e160,
        -1.7e308,
        f64::MAX,
    ];

    /// The exact result, by MPFR at a precision that holds every sum and product of two `f64`.
    fn exact(op: impl Fn(rug::Float, rug::Float) -> rug::Float, a: f64, b: f64) -> rug::Float {
        op(rug::Float::with_val(4400, a), rug::Float::with_val(4400, b))
    }

    #[test]
    fn every_operation_brackets_the_exact_result_within_one_ulp() {
        type Op =
            (fn(f64, f64) -> f64, fn(f64, f64) -> f64, fn(rug::Float, rug::Float) -> rug::Float);
        let ops: [Op; 4] = [
            (add_down, add_up, |a, b| a + b),
            (sub_down, sub_up, |a, b| a - b),
            (mul_down, mul_up, |a, b| a * b),
            (div_down, div_up, |a, b| a / b),
        ];
        for (index, (down, up, oracle)) in ops.iter().enumerate() {
            for a in EDGES {
                for b in EDGES {
                    if index == 3 && b == 0.0 {
                        continue;
                    }
                    let (low, high, truth) = (down(a, b), up(a, b), exact(oracle, a, b));
                    assert!(
                        low <= truth && truth <= high,
                        "op {index}: {a:e}, {b:e}: [{low:e}, {high:e}] misses {truth}"
                    );
                    assert!(
                        low.next_up().next_up() >= high,
                        "op {index}: {a:e}, {b:e}: [{low:e}, {high:e}] is wide"
                    );
                }
            }
        }
    }

    #[test]
    fn exact_results_stay_exact() {
        assert_eq!(add_down(0.5, 0.25), add_up(0.5, 0.25));
        assert_eq!(mul_down(3.0, 0.125), mul_up(3.0, 0.125));
        assert_eq!(div_down(1.0, 4.0), div_up(1.0, 4.0));
        assert_eq!(sqrt_down(2.25), sqrt_up(2.25));
    }

    #[test]
    fn infinite_operands_are_limits() {
        assert_eq!(mul_down(0.0, f64::INFINITY), 0.0);
        assert_eq!(mul_up(0.0, f64::NEG_INFINITY), 0.0);
        assert_eq!(add_down(f64::INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(add_up(f64::INFINITY, f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(div_down(1.0, f64::INFINITY), 0.0);
        assert!(div_up(1.0, f64::INFINITY) >= 0.0);
        assert_eq!(add_down(f64::MAX, f64::MAX), f64::MAX);
        assert_eq!(add_up(f64::MAX, f64::MAX), f64::INFINITY);
    }

    #[test]
    fn square_roots_bracket_the_exact_one() {
        for x in EDGES.into_iter().filter(|x| *x >= 0.0) {
            let truth = rug::Float::with_val(300, x).sqrt();
            assert!(sqrt_down(x) <= truth && truth <= sqrt_up(x), "{x:e}");
        }
    }
}
