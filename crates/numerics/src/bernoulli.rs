//! The coefficients of Stirling's series, exactly.
//!
//! ```text
//! c_k = B_2k / (2k (2k - 1)),        B_2k the Bernoulli numbers: 1/6, -1/30, 1/42, ...
//! ```
//!
//! With the tangent numbers `T_k` (1, 2, 16, 272, ...: the coefficients of
//! `tan t = sum T_k t^(2k-1)/(2k-1)!`)
//!
//! ```text
//! B_2k = (-1)^(k-1) 2k T_k / (4^k (4^k - 1)),   so
//! c_k = (-1)^(k-1) T_k / ((2k - 1) 4^k (4^k - 1)).
//! ```
//!
//! The tangent numbers are whole and come from additions and small products only: Brent, Harvey,
//! *Fast computation of Bernoulli, tangent and secant numbers*, 2011, algorithm TangentNumbers.

use crate::Enclosure;
use dashu_int::UBig;
use std::sync::OnceLock;

/// `c_1, ..., c_17` as ratios of whole numbers below `2^53`: all that 128 bits need.
const RATIOS: [(f64, f64); 17] = [
    (1.0, 12.0),
    (-1.0, 360.0),
    (1.0, 1260.0),
    (-1.0, 1680.0),
    (1.0, 1188.0),
    (-691.0, 360360.0),
    (1.0, 156.0),
    (-3617.0, 122400.0),
    (43867.0, 244188.0),
    (-174611.0, 125400.0),
    (77683.0, 5796.0),
    (-236364091.0, 1506960.0),
    (657931.0, 300.0),
    (-3392780147.0, 93960.0),
    (1723168255201.0, 2492028.0),
    (-7709321041217.0, 505920.0),
    (151628697551.0, 396.0),
];

/// How many coefficients there are: enough for some 2000 bits without a long shift.
pub(crate) const COEFFICIENTS: u32 = 257;

/// A digit of a tangent number: 48 bits are exact as `f64`.
const DIGIT_BITS: usize = 48;

/// `c_k` for `1 <= k <= COEFFICIENTS`, at the precision of `like`.
pub(crate) fn stirling_coefficient<E: Enclosure>(like: &E, k: u32) -> E {
    match RATIOS.get(k as usize - 1) {
        Some(&(numerator, denominator)) => like.exactly(numerator) / like.exactly(denominator),
        None => from_tangent_number(like, k),
    }
}

fn from_tangent_number<E: Enclosure>(like: &E, k: u32) -> E {
    // 4^k (4^k - 1) = 2^4k (1 - 4^-k); the power of two goes with the tangent number, which alone
    // would overflow.
    let below_one = like.exactly(1.0) - like.exactly(1.0).times_power_of_two(-2 * k as i32);
    let size = tangent_number_scaled(like, k) / (like.exactly(f64::from(2 * k - 1)) * below_one);
    if k % 2 == 1 { size } else { -size }
}

/// `T_k / 2^4k` from as many of its leading digits as the precision has room for; what is cut off
/// is between zero and one unit of the last digit kept.
fn tangent_number_scaled<E: Enclosure>(like: &E, k: u32) -> E {
    static DIGITS: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    let digits = &DIGITS
        .get_or_init(|| tangent_numbers(COEFFICIENTS as usize).iter().map(digits_of).collect())
        [k as usize - 1];
    let kept = (like.precision() as usize / DIGIT_BITS + 2).min(digits.len());
    let cut_off = digits.len() - kept;
    let mut number = like.exactly(0.0);
    for &digit in digits[cut_off..].iter().rev() {
        number = number.times_power_of_two(DIGIT_BITS as i32) + like.exactly(digit);
    }
    if cut_off > 0 {
        number = number + like.between(0.0, 1.0);
    }
    number.times_power_of_two((DIGIT_BITS * cut_off) as i32 - 4 * k as i32)
}

/// `T_1, ..., T_count`.
fn tangent_numbers(count: usize) -> Vec<UBig> {
    let mut t = vec![UBig::ONE; count];
    for k in 1..count {
        t[k] = &t[k - 1] * UBig::from(k);
    }
    // The steps of Brent and Harvey with k and j counted from zero.
    for k in 1..count {
        for j in k..count {
            t[j] = &t[j - 1] * UBig::from(j - k) + &t[j] * UBig::from(j - k + 2);
        }
    }
    t
}

/// Least significant digit first.
fn digits_of(number: &UBig) -> Vec<f64> {
    let bytes = number.to_le_bytes();
    bytes
        .chunks(DIGIT_BITS / 8)
        .map(|digit| digit.iter().rev().fold(0.0, |sum, &byte| sum * 256.0 + f64::from(byte)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    #[test]
    fn the_first_tangent_numbers_are_the_known_ones() {
        assert_eq!(tangent_numbers(7), [1u32, 2, 16, 272, 7936, 353792, 22368256].map(UBig::from));
    }

    #[test]
    fn the_table_and_the_tangent_numbers_agree() {
        for k in 1..=RATIOS.len() as u32 {
            let (table, tangent) =
                (stirling_coefficient(&Bounds::ONE, k), from_tangent_number(&Bounds::ONE, k));
            assert!(
                tangent.relative_width() < 1e-14 && table.intersect(tangent) != Bounds::WHOLE_LINE,
                "c_{k}: {table:?}, {tangent:?}"
            );
        }
    }

    #[test]
    fn the_coefficients_grow_as_the_factorials_do() {
        // |c_k| = 2 (2k-2)! zeta(2k) / (2 pi)^2k, hence |c_(k+1)/c_k| tends to 2k (2k-1) / (2 pi)^2 from below.
        for k in 17..120 {
            let ratio =
                stirling_coefficient(&Bounds::ONE, k + 1) / stirling_coefficient(&Bounds::ONE, k);
            let limit = -f64::from(2 * k * (2 * k - 1)) / (4.0 * std::f64::consts::PI.powi(2));
            assert!((ratio.estimate() / limit - 1.0).abs() < 1e-9, "k = {k}: {ratio:?}, {limit}");
        }
    }
}
