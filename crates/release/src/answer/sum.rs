//! Sums.

use super::{Estimate, together};

/// A released sum of a grid around 0.
pub fn sum(released: Estimate) -> Estimate {
    released
}

/// A sum from the sum of deviations from a centre and the count: `S + centre N`. Worth it where
/// both are released anyway, for an average; the error of the count is then multiplied by the
/// centre.
pub fn sum_around_centre(deviations: Estimate, count: Estimate, centre: f64) -> Estimate {
    Estimate {
        value: deviations.value + centre * count.value,
        half_width: together(&[deviations.half_width, centre * count.half_width]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_is_added_back_with_its_error() {
        let (deviations, count) =
            (Estimate { value: -20.0, half_width: 3.0 }, Estimate { value: 10.0, half_width: 2.0 });
        assert_eq!(
            sum_around_centre(deviations, count, 2.0),
            Estimate { value: 0.0, half_width: 5.0 }
        );
        assert_eq!(sum_around_centre(deviations, count, 0.0), sum(deviations));
    }
}
