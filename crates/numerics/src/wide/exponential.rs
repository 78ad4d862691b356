//! The exponential function and the logarithm near one, on double-double pairs: the series behind
//! [`Wide`]'s elementary functions, with their constants and error bounds.

use super::{U, UPWARD, Wide, fast_two_sum, power_of_two};
use crate::rounding::{two_product, two_sum};

/// `ln(2) / 32` in three parts: the first has 36 bits, so that its product with the integers used
/// here is exact, and the sum is within `2^-155`.
pub(super) const LN_2_OVER_32: [f64; 3] =
    [0.021660849392446835, 5.145609244655338e-14, -3.1493591049703574e-30];

/// `2^(i/32)` as the nearest pairs.
pub(super) const ROOTS_OF_TWO: [(f64, f64); 32] = [
    (1.0, 0.0),
    (1.0218971486541166, 5.109225028973444e-17),
    (1.0442737824274138, 8.551889705537965e-17),
    (1.0671404006768237, -7.899853966841582e-17),
    (1.0905077326652577, -3.046782079812471e-17),
    (1.1143867425958924, 1.0410278456845571e-16),
    (1.1387886347566916, 8.912812676025408e-17),
    (1.1637248587775775, 3.8292048369240935e-17),
    (1.189207115002721, 3.982015231465646e-17),
    (1.215247359980469, -7.712630692681488e-17),
    (1.241857812073484, 4.658027591836937e-17),
    (1.2690509571917332, 2.667932131342186e-18),
    (1.2968395546510096, 2.5382502794888315e-17),
    (1.3252366431597413, -2.8587312100388614e-17),
    (1.3542555469368927, 7.70094837980299e-17),
    (1.383909881963832, -6.770511658794786e-17),
    (std::f64::consts::SQRT_2, -9.667293313452913e-17),
    (1.4451808069770467, -3.0237581349939873e-17),
    (1.4768261459394993, -3.483994556892796e-17),
    (1.5091644275934228, -1.016455327754295e-16),
    (1.5422108254079407, 7.949834809697621e-17),
    (1.5759808451078865, -1.0136916471278304e-17),
    (1.6104903319492543, 2.4707192569797888e-17),
    (1.645755478153965, -1.0125679913674773e-16),
    (1.681792830507429, 8.199010020581497e-17),
    (1.718619298122478, -1.851380418263111e-17),
    (1.7562521603732995, 2.960140695448873e-17),
    (1.7947090750031072, 1.8227458427912087e-17),
    (1.8340080864093424, 3.283107224245627e-17),
    (1.8741676341103, -6.122763413004143e-17),
    (1.9152065613971474, -1.0619946056195963e-16),
    (1.9571441241754002, 8.960767791036668e-17),
];

/// `1/7!` down to `1/1!` as the nearest pairs.
pub(super) const INVERSE_FACTORIALS_7_TO_1: [(f64, f64); 7] = [
    (0.0001984126984126984, 1.7209558293420705e-22),
    (0.001388888888888889, -5.300543954373577e-20),
    (0.008333333333333333, 1.1564823173178714e-19),
    (0.041666666666666664, 2.3129646346357427e-18),
    (0.16666666666666666, 9.25185853854297e-18),
    (0.5, 0.0),
    (1.0, 0.0),
];

/// `1/13!` down to `1/8!`.
pub(super) const INVERSE_FACTORIALS_13_TO_8: [f64; 6] = [
    1.6059043836821613e-10,
    2.08767569878681e-09,
    2.505210838544172e-08,
    2.755731922398589e-07,
    2.7557319223985893e-06,
    2.48015873015873e-05,
];

/// `exp(r) - 1` for `|r| <= 0.0109` (a little over `ln(2)/64`), with `r = 0` or `|r| >= 2^-600`, by
/// its Taylor series in Horner form: `s_k = 1/k! + r s_{k+1}`, ending in `r s_1`.
///
/// Right to `24u²` in relative terms: docs/proofs/exponential_series.md.
#[inline]
pub(super) fn exp_m1_series(r: Wide) -> Wide {
    let times_r = |(s, s_low): (f64, f64)| {
        let (product, product_low) = two_product(r.hi, s);
        (product, r.hi.mul_add(s_low, r.lo.mul_add(s, product_low)))
    };
    let tail = INVERSE_FACTORIALS_13_TO_8.iter().fold(0.0, |sum, c| r.hi.mul_add(sum, *c));
    let s_1 = INVERSE_FACTORIALS_7_TO_1.iter().fold((tail, 0.0), |s, &(constant, constant_low)| {
        let (product, product_low) = times_r(s);
        let (sum, sum_low) = fast_two_sum(constant, product);
        (sum, sum_low + (constant_low + product_low))
    });
    let (product, product_low) = times_r(s_1);
    let (hi, lo) = fast_two_sum(product, product_low);
    // The derivative is below exp(0.0109) < 1.02.
    Wide::ball(hi, lo, (24.0 * U * U * hi.abs() + 1.02 * r.error) * UPWARD)
}

/// `(m, k)` with `exp(x) = m 2^k`, for a single point, zero or `2^-600 <= |x| < 2000`; `m` lies
/// between 0.98 and 2.
///
/// With `j = round(32 x / ln 2)`, `x = j ln(2)/32 + r` and `exp(x) = 2^(j/32) exp(r)`.
pub(super) fn exp_scaled(x: Wide) -> (Wide, i32) {
    let (r, j) = reduced(x);
    let (hi, lo) = ROOTS_OF_TWO[j.rem_euclid(32) as usize];
    let root = if lo == 0.0 { Wide::exact(hi) } else { Wide::constant(hi, lo) };
    (root + root * exp_m1_series(r), j.div_euclid(32))
}

/// `r = x - j ln(2)/32` with `j` the nearest integer, for a single point `|x| < 2000`.
fn reduced(x: Wide) -> (Wide, i32) {
    let j = (x.hi / (LN_2_OVER_32[0] + LN_2_OVER_32[1])).round_ties_even();
    if j == 0.0 {
        return (x, 0);
    }
    let [first, second, third] = LN_2_OVER_32;
    // |j| < 2^17, so that j `first` is exact; the next product is an exact pair. What is left over from
    // the exact sums, `rest`, is below 2^-59, because |r| < 2^-6.5; it takes part in three
    // roundings of at most 2^-112 each. j `third`, below 2^-80, rounds by 2^-133, and the constant
    // is off by 2^-155 |j|.
    let (head, head_low) = two_sum(x.hi, -j * first);
    let (product, product_low) = two_product(-j, second);
    let (middle, middle_low) = two_sum(product, x.lo);
    let (hi, lo) = two_sum(head, middle);
    let rest = lo + ((middle_low + head_low) + (product_low - j * third));
    let (hi, lo) = fast_two_sum(hi, rest);
    let r = Wide { hi, lo, error: power_of_two(-110) };
    (r, j as i32)
}

/// `ln(1 + d) = d + c`, `c = -d²/2 + d³/3 - ...`, for `|d| <= 2^-18`; accurate to the full
/// precision where `|d| <= 2^-35`.
///
/// The two terms of `c` are computed in `f64` at the midpoint, right to `2^-49` of them; the others
/// are together at most `|d|^4`, and `|c'| <= 2|d|` carries over the radius of `d`.
pub(super) fn ln_1p_series(d: Wide) -> Wide {
    let correction = d.hi * d.hi * (d.hi / 3.0 - 0.5);
    let most = d.hi.abs() + d.error;
    let error =
        correction.abs() * power_of_two(-49) + most * most * most * most + 2.0 * most * d.error;
    d + Wide::ball(correction, 0.0, error * UPWARD + f64::MIN_POSITIVE)
}
