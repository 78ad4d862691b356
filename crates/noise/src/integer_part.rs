//! The integer part of a number that is only enclosed.

use reticent_numerics::Enclosure;

/// Bounds on `floor(x)`: the same integer twice where the enclosure does not reach over an integer.
///
/// The first guess comes from `f64`, which cannot tell neighbouring integers apart beyond `2^53`;
/// the rest is taken at the precision of `x`.
pub(crate) fn integer_part<E: Enclosure>(x: &E) -> (i128, i128) {
    // Saturating conversion: an enclosure that reaches beyond 2^120 gets integers beyond it on both
    // sides.
    let guess = x.bounds().lower().floor() as i128;
    if guess.unsigned_abs() > 1 << 120 {
        return (-(1 << 121), 1 << 121);
    }
    let rest = (x.clone() - x.integer(guess)).bounds();
    let limit = |n: i128| n.clamp(-(1 << 121), 1 << 121);
    (
        limit(guess.saturating_add(rest.lower().floor() as i128)),
        limit(guess.saturating_add(rest.upper().floor() as i128)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::{Big, Bounds};

    #[test]
    fn integers_and_their_neighbours_are_told_apart() {
        assert_eq!(integer_part(&Bounds::exact(3.0)), (3, 3));
        assert_eq!(integer_part(&Bounds::exact(3f64.next_down())), (2, 2));
        assert_eq!(integer_part(&Bounds::new(2.5, 3.5)), (2, 3));
        assert_eq!(integer_part(&Bounds::exact(-0.5)), (-1, -1));
    }

    #[test]
    fn beyond_the_mantissa_the_precision_of_the_number_decides() {
        let large = Big::exact(2f64.powi(80), 200);
        let n = (1i128 << 80) + 12345;
        let x = large.integer(n) + large.exactly(0.25);
        assert_eq!(integer_part(&x), (n, n));
    }
}
