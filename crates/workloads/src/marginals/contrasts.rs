//! Contrasts of a table with exact Gaussian noise.

use super::refinement::RefinedNormal;
use crate::WorkloadError;
use reticent_noise::randomness::RandomBits;
use reticent_noise::{Gaussian, Lattice, Sampler};
use std::collections::HashMap;

/// How far the spacing of a released contrast lies below the noise, in bits, unless the integers
/// are coarser than that.
const BITS_BELOW_SIGMA: i32 = 20;

/// How far the lattice of the draws lies below that of the contrasts: about `2^(m - 20)` of the
/// contrasts of `m` attributes need more digits.
const BITS_BELOW_SPACING: i32 = 20;

/// So often a cell is halved before the draw is given up, which happens less than once in `2^70`
/// releases and does not depend on the counts.
const MOST_HALVINGS: u32 = 60;

/// The power of two whose multiples the released contrasts are: about `2^-20 sigma`, and a divisor
/// of 1, so that contrasts of counts are multiples too.
pub(crate) fn spacing_power(sigma: f64) -> i32 {
    (sigma.log2().floor() as i32 - BITS_BELOW_SIGMA).clamp(-60, 0)
}

/// The contrasts of a table, in place: along each axis the first entry minus each of the others.
/// What is left are the cells with no index 0.
///
/// `D_1 (x) .. (x) D_m` times the table, with `D_n` the `n - 1` rows `e_0 - e_i`.
pub(crate) fn contrasts(shape: &[usize], mut table: Vec<i128>) -> Vec<i128> {
    let mut inner: usize = 1;
    for &size in shape.iter().rev() {
        let block = size * inner;
        let mut next = Vec::with_capacity(table.len() / size * (size - 1));
        for chunk in table.chunks_exact(block) {
            for other in chunk[inner..].chunks_exact(inner) {
                next.extend(chunk[..inner].iter().zip(other).map(|(first, other)| first - other));
            }
        }
        inner *= size - 1;
        table = next;
    }
    table
}

/// The contrasts of `counts + z`, rounded to multiples of `2^spacing_power(sigma)`, where `z` are
/// independent normal numbers of standard deviation `sigma`.
///
/// # Contract
/// The result is a function of the contrasts of the real vector `counts + z`, and of nothing else:
/// each contrast of the counts is a multiple of the spacing, so it may be added after rounding.
/// Which multiple the contrast of the noise rounds to is decided from digits of the `z`, drawn
/// until every continuation of them gives the same. So this is post-processing of the Gaussian
/// mechanism on the contrasts, whose noise has the covariance `sigma^2 D D'`.
///
/// # Errors
/// If random bits cannot be had, or the digits do not decide (see [`MOST_HALVINGS`]).
pub(crate) fn noisy_contrasts<R: RandomBits + ?Sized>(
    shape: &[usize],
    counts: Vec<i128>,
    sigma: f64,
    random: &mut R,
) -> Result<Vec<f64>, WorkloadError> {
    let spacing = spacing_power(sigma);
    let noise = contrasts_of_noise(shape, sigma, spacing, BITS_BELOW_SPACING, random)?;
    let scale = 2f64.powi(spacing);
    let of_counts = contrasts(shape, counts);
    Ok(of_counts
        .into_iter()
        .zip(noise)
        .map(|(count, noise)| ((count << -spacing) + noise) as f64 * scale)
        .collect())
}

/// The contrasts of independent normal numbers, rounded to multiples of `2^spacing`: in steps of
/// that. The numbers are drawn on a lattice that is `finer` bits finer.
fn contrasts_of_noise<R: RandomBits + ?Sized>(
    shape: &[usize],
    sigma: f64,
    spacing: i32,
    finer: i32,
    random: &mut R,
) -> Result<Vec<i128>, WorkloadError> {
    let exponent = spacing - finer;
    let sampler = Sampler::new(Gaussian, sigma, Lattice::of_spacing_power(exponent)?)?;
    let cells: usize = shape.iter().product();
    let mut draws = Vec::with_capacity(cells);
    for _ in 0..cells {
        draws.push(sampler.draw(random)?);
    }
    let corners = 1i128 << shape.len();
    let mut rounded = contrasts(shape, draws.clone());
    let mut refined: HashMap<usize, RefinedNormal> = HashMap::new();
    for (index, contrast) in rounded.iter_mut().enumerate() {
        // Each corner is within half a step of its draw; one more half for the ends.
        let (low, high) = (*contrast - corners / 2 - 1, *contrast + corners / 2 + 1);
        let decided = nearest(low, finer);
        if decided == nearest(high, finer) {
            *contrast = decided;
            continue;
        }
        let corners = corners_of(shape, index);
        for &(cell, _) in &corners {
            refined
                .entry(cell)
                .or_insert_with(|| RefinedNormal::rounded(sigma, exponent, draws[cell]));
        }
        *contrast = refine(&corners, &mut refined, finer, random)?;
    }
    Ok(rounded)
}

/// `floor(number / 2^bits + 1/2)`.
fn nearest(number: i128, bits: i32) -> i128 {
    (number + (1 << (bits - 1))) >> bits
}

/// Draws more digits of the corners of a contrast until they decide what it rounds to.
fn refine<R: RandomBits + ?Sized>(
    corners: &[(usize, bool)],
    refined: &mut HashMap<usize, RefinedNormal>,
    finer: i32,
    random: &mut R,
) -> Result<i128, WorkloadError> {
    let halvings = |refined: &HashMap<usize, RefinedNormal>| {
        corners.iter().filter_map(|(cell, _)| refined.get(cell)).map(RefinedNormal::halvings).max()
    };
    let mut target = halvings(refined).unwrap_or(0).max(1);
    while target <= MOST_HALVINGS {
        let mut lower = 0i128;
        for (cell, negative) in corners {
            if let Some(number) = refined.get_mut(cell) {
                number.halve_to(target, random)?;
                lower += if *negative { -number.lower() - 2 } else { number.lower() };
            }
        }
        let upper = lower + 2 * corners.len() as i128;
        // A unit is 2^(exponent - 1 - target); the ends themselves have probability zero.
        let bits = finer + 1 + target as i32;
        let decided = nearest(lower, bits);
        if decided == nearest(upper - 1, bits) {
            return Ok(decided);
        }
        target += 1;
    }
    Err(WorkloadError::NotCertified {
        what: "the rounding of a noise",
        reason: "its digits did not decide it; try again",
    })
}

/// The cells that a contrast is made of, and whether each is subtracted.
fn corners_of(shape: &[usize], contrast: usize) -> Vec<(usize, bool)> {
    let mut corners = vec![(0usize, false)];
    let mut rest = contrast;
    let mut stride = 1usize;
    for &size in shape.iter().rev() {
        let index = rest % (size - 1) + 1;
        rest /= size - 1;
        let moved: Vec<(usize, bool)> =
            corners.iter().map(|&(cell, negative)| (cell + index * stride, !negative)).collect();
        corners.extend(moved);
        stride *= size;
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    #[test]
    fn contrasts_are_sums_over_their_corners() {
        let shape = [3usize, 2, 4];
        let table: Vec<i128> = (0..24).map(|k| (k * k * 7 + 3 * k) % 31).collect();
        let found = contrasts(&shape, table.clone());
        assert_eq!(found.len(), 2 * 3);
        for (index, &contrast) in found.iter().enumerate() {
            let sum: i128 = corners_of(&shape, index)
                .iter()
                .map(|&(cell, negative)| if negative { -table[cell] } else { table[cell] })
                .sum();
            assert_eq!(contrast, sum, "{index}");
        }
        assert_eq!(contrasts(&[], vec![5]), [5]);
        assert_eq!(corners_of(&[], 0), [(0, false)]);
        assert!(contrasts(&[1], vec![5]).is_empty());
    }

    /// The coarsest lattice makes nearly every contrast ask for more digits, the finest nearly
    /// none; both must follow the same distribution. For pairs of contrasts with a cell in common
    /// the covariance is that of `sigma^2 D D'`.
    #[test]
    fn contrasts_of_coarse_and_fine_draws_have_the_same_covariance() {
        let (shape, sigma, count) = ([3usize, 2], 3.0, 20_000);
        for finer in [1, 20] {
            let mut random = SeededRandom::new(5);
            let (mut squares, mut product) = ([0.0; 2], 0.0);
            for _ in 0..count {
                let noise =
                    contrasts_of_noise(&shape, sigma, 0, finer, &mut random).expect("seeded");
                assert_eq!(noise.len(), 2);
                squares[0] += (noise[0] * noise[0]) as f64;
                squares[1] += (noise[1] * noise[1]) as f64;
                product += (noise[0] * noise[1]) as f64;
            }
            let count = f64::from(count);
            // Four corners each, two in common; rounding to integers adds 1/12 to a variance. The
            // estimates deviate by sqrt(2/20000) = 1%, the product, of correlation 1/2, by 1.1% of
            // a variance: six deviations, a false alarm once in 5e8 seeds each.
            let variance = 4.0 * sigma * sigma + 1.0 / 12.0;
            for square in squares {
                assert!((square / count / variance - 1.0).abs() < 0.06, "{finer}: {square}");
                assert!((square / count / (1.1 * variance) - 1.0).abs() > 0.06, "no power");
            }
            let covariance = 2.0 * sigma * sigma;
            assert!((product / count - covariance).abs() < 0.068 * variance, "{finer}: {product}");
        }
    }

    #[test]
    fn released_contrasts_are_those_of_the_counts_plus_the_same_noise() {
        let shape = [2usize, 3];
        let with = |counts: [i128; 6]| {
            noisy_contrasts(&shape, counts.to_vec(), 2.0, &mut SeededRandom::new(3))
                .expect("seeded")
        };
        let (base, moved) = (with([5, 1, 4, 2, 2, 9]), with([6, 1, 4, 2, 2, 9]));
        assert_eq!(moved.iter().zip(&base).map(|(a, b)| a - b).collect::<Vec<_>>(), [1.0, 1.0]);
        let large = with([1 << 64, 0, 0, 0, 0, 0]);
        assert!(large.iter().all(|contrast| *contrast > 1e19));
    }

    #[test]
    fn the_spacing_divides_one_and_is_far_below_the_noise() {
        for (sigma, power) in [(1e-3, -30), (1.0, -20), (1e6, -1), (1e9, 0)] {
            assert_eq!(spacing_power(sigma), power, "{sigma}");
        }
    }
}
