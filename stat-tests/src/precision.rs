//! The precision attack (Haney, Desfontaines, Hartman, Shrestha, Hay, *Precision-based attacks and interval refining: how to break, then
//! fix, differential privacy on finite computers*, 2022).
//!
//! A sum in floating point keeps no bits below the last place of its larger operand: an output with very small low bits cannot have been
//! the sum with a large value. So the place of the lowest set bit tells of the input.

use crate::chi_square::homogeneity;

/// Places `-PLACES` to -1 are told apart; lower ones share the first bin, higher ones and zero the last.
const PLACES: i32 = 64;

/// The place of the lowest set bit of a number: the largest `e` such that it is a multiple of `2^e`. `None` for zero.
pub fn lowest_place(value: f64) -> Option<i32> {
    if value == 0.0 {
        return None;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    Some(exponent + mantissa.trailing_zeros() as i32)
}

/// The p-value of "the lowest places of the outputs do not depend on the input", from outputs for two inputs.
pub fn p_value(outputs: [&[f64]; 2]) -> f64 {
    let histogram = |values: &[f64]| {
        let mut counts = vec![0; PLACES as usize + 1];
        for &value in values {
            let place = lowest_place(value).map_or(PLACES, |place| (place + PLACES).clamp(0, PLACES));
            counts[place as usize] += 1;
        }
        counts
    };
    homogeneity(&histogram(outputs[0]), &histogram(outputs[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_known_numbers() {
        for (value, place) in
            [(1.0, Some(0)), (-1.5, Some(-1)), (0.1, Some(-55)), (5e-324, Some(-1074)), (96.0, Some(5)), (0.0, None)]
        {
            assert_eq!(lowest_place(value), place, "{value}");
        }
    }
}
