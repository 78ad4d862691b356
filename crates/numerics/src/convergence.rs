//! How many levels of a series or continued fraction are worth evaluating.

/// No sum here takes more levels than this; a caller that would need more returns what it can prove
/// without them.
pub(crate) const MOST_LEVELS: u32 = 1 << 20;

/// The bits that a chain evaluated in [`crate::Bounds`] is asked for.
pub(crate) const DOUBLE_BITS: u32 = 53;

/// The least `n <= limit` with `factor(1) ... factor(n) <= 2^-bits`, or `None` when there is none.
///
/// This steers: it decides how much work is done, and what is left out is enclosed by the caller
/// whatever the answer.
pub(crate) fn levels_until(bits: f64, limit: u32, factor: impl Fn(u32) -> f64) -> Option<u32> {
    // The product is restarted before it could leave the range of f64.
    const RESTART_BELOW: f64 = 1e-250;
    let mut remaining_bits = bits;
    let mut target = (-remaining_bits).exp2();
    let mut product = 1.0;
    for n in 0..=limit.min(MOST_LEVELS) {
        if n > 0 {
            product *= factor(n);
        }
        if product <= target && remaining_bits < 1000.0 {
            return Some(n);
        }
        if product < RESTART_BELOW {
            if product <= 0.0 {
                return Some(n);
            }
            remaining_bits += product.log2();
            target = (-remaining_bits).exp2();
            product = 1.0;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_takes_one_level_a_bit_at_any_number_of_bits() {
        for bits in [0u32, 1, 60, 900, 5000] {
            let levels = levels_until(f64::from(bits), MOST_LEVELS, |_| 0.5);
            assert!(levels.is_some_and(|n| n.abs_diff(bits) <= 1), "{bits}: {levels:?}");
        }
        assert_eq!(levels_until(10.0, 9, |_| 0.5), None);
        assert_eq!(levels_until(10.0, MOST_LEVELS, |_| 1.0), None);
        assert_eq!(levels_until(10.0, 9, |_| f64::NAN), None);
        assert_eq!(levels_until(2000.0, 9, |_| 0.0), Some(1));
    }
}
