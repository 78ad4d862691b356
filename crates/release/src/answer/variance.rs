//! Variances and standard deviations.

use super::{Estimate, surely, together};
use crate::Grid;

/// What the sum of squares is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarianceForm {
    /// The count: `VAR_POP`, `STDDEV_POP`.
    Population,
    /// The count less one: `VAR`, `STDDEV`.
    Sample,
}

/// The variance of a value from three released numbers: the sum `S` of deviations from the centre
/// `c` of its grid, the sum `T` of their squares around the centre `d` of the grid of squares
/// ([`Grid::of_squares`]), and the count `N`.
///
/// # Formula
/// `V = d + T/N - (S/N)^2`, moved into its public range: no values in an interval of width `w` have
/// a population variance above `w^2/4` (Popoviciu), or a sample variance above `w^2/2`.
///
/// # Rules
/// Counts divide as at least 1, and counts less one as at least 1.
///
/// # Half-width
/// The derivatives are `1/N` in `T`, `-2m/N` in `S` and `-(d' - 2m^2)/N` in `N`, with `m = S/N` and
/// `d' = T/N`; to their root sum of squares comes `(h_S/N)^2`, what the square of `m` has beyond
/// first order. The least count that its half-width leaves possible divides; where that is below 1
/// (or 2 for the sample form) the half-width is the whole range.
pub fn variance(
    deviations: Estimate,
    squares: Estimate,
    count: Estimate,
    values: &Grid,
    of_squares: &Grid,
    form: VarianceForm,
) -> Estimate {
    let width = values.width();
    let divisor = count.value.max(1.0);
    let farthest = values.step * values.farthest() as f64;
    let mean = (deviations.value / divisor).clamp(-farthest, farthest);
    let second = squares.value / divisor;
    let population = of_squares.centre + second - mean * mean;
    let of_population = |least: f64| {
        let linear = [
            squares.half_width,
            2.0 * mean * deviations.half_width,
            (second - 2.0 * mean * mean) * count.half_width,
        ];
        together(&linear) / least + (deviations.half_width / least).powi(2)
    };
    let (value, half_width, most) = match form {
        VarianceForm::Population => (
            population,
            surely(count, 1.0).map_or(f64::INFINITY, of_population),
            width * width / 4.0,
        ),
        VarianceForm::Sample => {
            let others = (count.value - 1.0).max(1.0);
            let half_width = surely(count, 2.0).map_or(f64::INFINITY, |least| {
                // N/(N-1) moves by 1/(N-1)^2 for each unit of N.
                let factor = least / (least - 1.0);
                of_population(least) * factor
                    + population.abs() * count.half_width / (least - 1.0).powi(2)
            });
            (population * divisor / others, half_width, width * width / 2.0)
        }
    };
    Estimate { value: value.max(0.0).min(most), half_width: half_width.min(most) }
}

/// The standard deviation: the root of [`variance`]. Its half-width reaches to the farther of the
/// roots of the variance's ends.
pub fn standard_deviation(
    deviations: Estimate,
    squares: Estimate,
    count: Estimate,
    values: &Grid,
    of_squares: &Grid,
    form: VarianceForm,
) -> Estimate {
    let variance = variance(deviations, squares, count, values, of_squares, form);
    let value = variance.value.sqrt();
    let below = value - (variance.value - variance.half_width).max(0.0).sqrt();
    let above = (variance.value + variance.half_width).sqrt() - value;
    let most = match form {
        VarianceForm::Population => values.width() / 2.0,
        VarianceForm::Sample => values.width() / 2f64.sqrt(),
    };
    Estimate { value, half_width: below.max(above).min(most) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use VarianceForm::{Population, Sample};
    use reticent_noise::randomness::{RandomBits, SeededRandom};

    fn grids() -> (Grid, Grid) {
        let values = Grid::around_midpoint(0.0, 10.0, false).expect("valid");
        (values, values.of_squares().expect("valid"))
    }

    /// The three exact sums of some values.
    fn sums(values: &[f64]) -> (f64, f64, f64) {
        let deviations: f64 = values.iter().map(|x| x - 5.0).sum();
        let squares: f64 = values.iter().map(|x| (x - 5.0).powi(2) - 12.5).sum();
        (deviations, squares, values.len() as f64)
    }

    fn exact(value: f64) -> Estimate {
        Estimate { value, half_width: 0.0 }
    }

    #[test]
    fn without_noise_it_is_the_variance() {
        let (values, squares) = grids();
        let (s, t, n) = sums(&[1.0, 2.0, 4.0, 9.0]);
        let found = |form| variance(exact(s), exact(t), exact(n), &values, &squares, form);
        // Mean 4, squares of deviations 9 + 4 + 0 + 25 = 38.
        assert!(
            (found(Population).value - 9.5).abs() < 1e-12 && found(Population).half_width < 1e-12
        );
        assert!((found(Sample).value - 38.0 / 3.0).abs() < 1e-12);
        let deviation = standard_deviation(exact(s), exact(t), exact(n), &values, &squares, Sample);
        assert!((deviation.value - (38.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn noise_never_leaves_the_public_range() {
        let (values, squares) = grids();
        for (s, t, n) in [
            (0.0, -1e9, 3.0),
            (0.0, 1e9, 3.0),
            (1e9, 0.0, -5.0),
            (0.0, 0.0, 0.0),
            (-1e300, 1e300, 1.0),
        ] {
            let noisy = |value| Estimate { value, half_width: 10.0 };
            for (form, most) in [(Population, 25.0), (Sample, 50.0)] {
                let found = variance(noisy(s), noisy(t), noisy(n), &values, &squares, form);
                assert!(
                    (0.0..=most).contains(&found.value) && found.half_width == most,
                    "{found:?}"
                );
                let root =
                    standard_deviation(noisy(s), noisy(t), noisy(n), &values, &squares, form);
                assert!(
                    (0.0..=most.sqrt()).contains(&root.value)
                        && root.half_width <= most.sqrt() * (1.0 + 1e-15),
                    "{root:?}"
                );
            }
        }
    }

    #[test]
    fn the_half_width_covers() {
        let (values, squares) = grids();
        let mut random = SeededRandom::new(9);
        let mut laplace = |scale: f64| {
            let uniform = (random.next_u64().expect("seeded") >> 11) as f64 / 2f64.powi(53) - 0.5;
            -scale * uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln()
        };
        let quantile = 20f64.ln();
        for size in [5usize, 30, 400, 20_000] {
            let data: Vec<f64> =
                (0..size).map(|i| 10.0 * ((i as f64 + 0.5) / size as f64).powi(2)).collect();
            let (s, t, n) = sums(&data);
            let truth = variance(exact(s), exact(t), exact(n), &values, &squares, Sample).value;
            let tries = 20_000;
            let mut covered = [0u32; 2];
            for _ in 0..tries {
                let (s, t, n) = (s + laplace(5.0), t + laplace(12.5), n + laplace(1.0));
                let of = |value, scale: f64| Estimate { value, half_width: scale * quantile };
                let noisy = (of(s, 5.0), of(t, 12.5), of(n, 1.0));
                let found = variance(noisy.0, noisy.1, noisy.2, &values, &squares, Sample);
                let root = standard_deviation(noisy.0, noisy.1, noisy.2, &values, &squares, Sample);
                covered[0] += u32::from((found.value - truth).abs() <= found.half_width);
                covered[1] += u32::from((root.value - truth.sqrt()).abs() <= root.half_width);
            }
            // Six deviations of 0.95, as for the average.
            assert!(
                covered.iter().all(|&c| f64::from(c) / f64::from(tries) > 0.95 - 0.0092),
                "{size}: {covered:?}"
            );
        }
    }
}
