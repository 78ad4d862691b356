//! Numbers of rows and units.

use super::Estimate;

/// A released count, at least 0.
///
/// Moving it to 0 brings it no further from the exact count, so that the half-width stays. It is
/// the noise of an integer on an integer, centred at the exact count: not biased but for this.
pub fn count(released: Estimate) -> Estimate {
    Estimate { value: released.value.max(0.0), ..released }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_counts_become_zero_and_others_stay() {
        for (noisy, shown) in [(-3.0, 0.0), (0.0, 0.0), (17.0, 17.0)] {
            assert_eq!(
                count(Estimate { value: noisy, half_width: 4.0 }),
                Estimate { value: shown, half_width: 4.0 }
            );
        }
    }
}
