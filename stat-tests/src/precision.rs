//! The precision attack (Haney, Desfontaines, Hartman, Shrestha, Hay, *Precision-based attacks and
//! interval refining: how to break, then fix, differential privacy on finite computers*, 2022).
//!
//! A sum in floating point keeps no bits below the last place of its larger operand: an output with
//! very small low bits cannot have been the sum with a large value. So the weight of the lowest set
//! bit tells of the input.

use crate::chi_square::homogeneity;

/// Exponents `-EXPONENTS` to -1 are told apart; lower ones share the first bin, higher ones and
/// zero the last.
const EXPONENTS: i32 = 64;

/// The exponent of the lowest set bit of a number: the largest `e` such that it is a multiple of
/// `2^e`. `None` for zero.
pub fn lowest_exponent(value: f64) -> Option<i32> {
    if value == 0.0 {
        return None;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    Some(exponent + mantissa.trailing_zeros() as i32)
}

/// The p-value of "the lowest set bits of the outputs do not depend on the input", from outputs for
/// two inputs.
pub fn p_value(outputs: [&[f64]; 2]) -> f64 {
    let histogram = |values: &[f64]| {
        let mut counts = vec![0; EXPONENTS as usize + 1];
        for &value in values {
            let exponent = lowest_exponent(value)
                .map_or(EXPONENTS, |exponent| (exponent + EXPONENTS).clamp(0, EXPONENTS));
            counts[exponent as usize] += 1;
        }
        counts
    };
    homogeneity(&histogram(outputs[0]), &histogram(outputs[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_known_numbers() {
        for (value, exponent) in [
            (1.0, Some(0)),
            (-1.5, Some(-1)),
            (0.1, Some(-55)),
            (5e-324, Some(-1074)),
            (96.0, Some(5)),
            (0.0, None),
        ] {
            assert_eq!(lowest_exponent(value), exponent, "{value}");
        }
    }
}
