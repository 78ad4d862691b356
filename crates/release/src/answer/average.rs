//! Averages.

use super::{Estimate, surely, together};
use crate::Grid;

/// The average of a value from the sum `S` of deviations from the centre `c` of its grid and the
/// count `N`, both released: `c + S/N`, moved into the range of the grid.
///
/// # Rules
/// A count below 1 divides as 1: an empty group has the average `c`, up to noise.
///
/// # Half-width
/// With `R = S/N` and half-widths `h`, to first order `sqrt(h_S^2 + R^2 h_N^2) / N`; the least
/// count that `h_N` leaves possible divides instead of `N`, which makes up for the rest. Where
/// that is below 1, the average may be anything, and the half-width is the whole range.
pub fn average(deviations: Estimate, count: Estimate, grid: &Grid) -> Estimate {
    let (lower, upper) = (grid.value(grid.lower), grid.value(grid.upper));
    let quotient = deviations.value / count.value.max(1.0);
    // Deviations of the average are within those of the values.
    let quotient = quotient.max(lower - grid.centre).min(upper - grid.centre);
    let half_width = surely(count, 1.0).map_or(f64::INFINITY, |least| {
        together(&[deviations.half_width, quotient * count.half_width]) / least
    });
    Estimate {
        value: (grid.centre + quotient).max(lower).min(upper),
        half_width: half_width.min(upper - lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::{RandomBits, SeededRandom};

    fn ages() -> Grid {
        Grid::around_midpoint(0.0, 120.0, true).expect("valid")
    }

    #[test]
    fn golden_average() {
        let (deviations, count) = (
            Estimate { value: -2000.0, half_width: 30.0 },
            Estimate { value: 100.0, half_width: 2.0 },
        );
        let found = average(deviations, count, &ages());
        // 60 - 20, and sqrt(30^2 + (20 * 2)^2) / 98.
        assert_eq!(found, Estimate { value: 40.0, half_width: 50.0 / 98.0 });
    }

    #[test]
    fn small_counts_say_nothing_and_stay_in_the_range() {
        for count in [-50.0, 0.0, 0.3, 3.9] {
            for deviations in [-1e9, 0.0, 1e9] {
                let found = average(
                    Estimate { value: deviations, half_width: 100.0 },
                    Estimate { value: count, half_width: 3.0 },
                    &ages(),
                );
                assert_eq!(found.half_width, 120.0, "{count} {deviations}");
                assert!((0.0..=120.0).contains(&found.value));
            }
        }
        let constant = Grid::around_midpoint(7.0, 7.0, false).expect("valid");
        let nothing = Estimate { value: 0.0, half_width: 0.0 };
        assert_eq!(
            average(nothing, Estimate { value: 2.0, half_width: 9.0 }, &constant),
            Estimate { value: 7.0, half_width: 0.0 }
        );
    }

    /// The half-width covers the exact average in 95% of draws, for counts from tiny to large.
    #[test]
    fn the_half_width_covers() {
        let grid = ages();
        let mut random = SeededRandom::new(4);
        // Laplace noise by inversion, which is good enough to test a formula with.
        let mut laplace = |scale: f64| {
            let uniform = (random.next_u64().expect("seeded") >> 11) as f64 / 2f64.powi(53) - 0.5;
            -scale * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln()
        };
        let quantile = 20f64.ln();
        for (exact_count, mean) in
            [(3.0, 50.0), (10.0, 20.0), (40.0, 110.0), (1000.0, 0.5), (1e6, 61.0)]
        {
            let deviations = exact_count * (mean - grid.centre);
            let tries = 20_000;
            let covered = (0..tries).filter(|_| {
                let (count, sum) = (exact_count + laplace(2.0), deviations + laplace(120.0));
                let found = average(
                    Estimate { value: sum, half_width: 120.0 * quantile },
                    Estimate { value: count, half_width: 2.0 * quantile },
                    &grid,
                );
                (found.value - mean).abs() <= found.half_width
            });
            let share = covered.count() as f64 / f64::from(tries);
            // Six deviations of 0.95: 6 * sqrt(0.95 0.05 / 20000) = 0.0092.
            assert!(share > 0.95 - 0.0092, "{exact_count} {mean}: {share}");
        }
    }
}
