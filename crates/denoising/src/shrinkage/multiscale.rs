//! Shrinkage scale by scale, for values that lie on a line or a grid.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use crate::shape::Shape;
use reticent_numerics::require;

/// James-Stein in blocks of Haar wavelet coefficients.
///
/// # Method
/// The indices are halved again and again; each split has one coefficient, `sqrt(l r/(l + r))`
/// times the difference of the means of its two parts of `l` and `r` values. Together with the
/// overall mean these are an orthonormal basis, whatever the sizes. Coefficients of one depth are
/// cut into blocks of neighbours, and each block is shrunk towards zero by the positive part of
/// James-Stein. Where values change slowly or seldom, fine coefficients are pure noise and vanish;
/// a block with a jump in it survives. The mean, and depths of fewer than three coefficients, are
/// kept.
///
/// # Risk
/// With noise of one variance `v` the coefficients' noise has the same variance and is
/// uncorrelated. For a block with the projection `P`, `d` coefficients `w` and `S = sum w^2/v` the
/// estimate is that of James-Stein: `v (d - c (d - 2)/S)`, `c = d - 2`, if `S > c`, and `v (S - d)`
/// otherwise. It is unbiased for Gaussian noise. For other noise the coefficients are not
/// independent, and to first order `2 c k sum_i P_ii^2 / (v S^2)` is added, with the fourth
/// cumulant `k`: the variance of `z'Pz` is `2 v^2 d + k sum_i P_ii^2`. On coarse scales, where a
/// coefficient sums many values, that term vanishes as it should. Nothing but variance and fourth
/// cumulant is used, so that it serves every noise.
///
/// # References
/// Cai, *Adaptive wavelet estimation: a block thresholding and oracle inequality approach*, 1999.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiscale {
    /// The indices in an order in which every part is contiguous.
    order: Vec<usize>,
    splits: Vec<Split>,
    block: Option<usize>,
}

/// `start..middle` and `middle..end` of the order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    start: usize,
    middle: usize,
    end: usize,
    depth: usize,
}

impl Split {
    /// What a value on the left, and on the right, contributes to the coefficient.
    fn entries(&self) -> (f64, f64) {
        let (left, right) = ((self.middle - self.start) as f64, (self.end - self.middle) as f64);
        ((right / (left * (left + right))).sqrt(), -(left / (right * (left + right))).sqrt())
    }
}

/// A rectangle of a grid whose cells are not yet in the order.
struct Rectangle {
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    start: usize,
    depth: usize,
}

impl Multiscale {
    /// Values on a line, in blocks of so many neighbouring coefficients, or of all coefficients of
    /// a depth if `None`.
    ///
    /// # Errors
    /// If there are no values, or a block has fewer than 3 coefficients.
    pub fn line(values: usize, block: Option<usize>) -> Result<Self, DenoisingError> {
        Self::grid(1, values, block)
    }

    /// Values on a grid, row by row, in blocks as for a line. Rectangles are halved across their
    /// longer side.
    ///
    /// # Errors
    /// If there are no cells or more than `2^40`, or a block has fewer than 3 coefficients.
    pub fn grid(rows: usize, columns: usize, block: Option<usize>) -> Result<Self, DenoisingError> {
        let cells = rows.saturating_mul(columns);
        require(
            (1..=1 << 40).contains(&cells),
            "cells of the grid",
            cells as f64,
            "from 1 to 2^40",
        )?;
        if let Some(block) = block {
            require(block >= 3, "block", block as f64, "at least 3")?;
        }
        let mut order = vec![0; cells];
        let mut splits = Vec::with_capacity(cells - 1);
        let mut pending =
            vec![Rectangle { rows: 0..rows, columns: 0..columns, start: 0, depth: 0 }];
        while let Some(Rectangle { rows: down, columns: across, start, depth }) = pending.pop() {
            let size = down.len() * across.len();
            if size == 1 {
                order[start] = down.start * columns + across.start;
                continue;
            }
            let (first, second) = if across.len() >= down.len() {
                let middle = across.start + across.len() / 2;
                ((down.clone(), across.start..middle), (down, middle..across.end))
            } else {
                let middle = down.start + down.len() / 2;
                ((down.start..middle, across.clone()), (middle..down.end, across))
            };
            let middle = start + first.0.len() * first.1.len();
            splits.push(Split { start, middle, end: start + size, depth });
            // The first part is taken next, so that the splits of each depth come in the order of
            // their indices.
            let depth = depth + 1;
            pending.push(Rectangle { rows: second.0, columns: second.1, start: middle, depth });
            pending.push(Rectangle { rows: first.0, columns: first.1, start, depth });
        }
        splits.sort_by_key(|split| split.depth);
        Ok(Multiscale { order, splits, block })
    }

    /// Blocks of consecutive splits of one depth; what is left over goes to the last block of its
    /// depth.
    fn blocks(&self) -> impl Iterator<Item = &[Split]> {
        self.splits.chunk_by(|left, right| left.depth == right.depth).flat_map(move |level| {
            let length = self.block.unwrap_or(level.len());
            let count = (level.len() / length).max(1);
            (0..count).map(move |index| {
                let end = if index + 1 == count { level.len() } else { (index + 1) * length };
                &level[index * length..end]
            })
        })
    }
}

impl Denoiser for Multiscale {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let method = "multiscale shrinkage";
        let count = release.values().len();
        if count != self.order.len() {
            return Err(DenoisingError::Length {
                name: "cells",
                given: self.order.len(),
                values: count,
            });
        }
        release.finite_variances(method)?;
        let refuse = |reason| DenoisingError::UnsuitedNoise { method, reason };
        let scale = release.noise().common_scale().ok_or_else(|| {
            refuse("its scales differ, and then the coefficients' noise is correlated")
        })?;
        let shape = release.noise().shape();
        let variance = shape.variance() * scale * scale;
        let excess = shape.fourth_cumulant() / shape.variance().powi(2);
        // sums[k] is the sum of the first k values in the order.
        let mut sums = Vec::with_capacity(count + 1);
        sums.push(0.0);
        for index in &self.order {
            sums.push(sums[sums.len() - 1] + release.values()[*index]);
        }
        let coefficient = |split: &Split| {
            let (left, right) = split.entries();
            left * (sums[split.middle] - sums[split.start])
                + right * (sums[split.end] - sums[split.middle])
        };
        // Changes of the estimate from one index of the order to the next; the mean is kept.
        let mut steps = vec![0.0; count + 1];
        steps[0] = sums[count] / count as f64;
        let (mut risk, mut spread) = (variance, 0.0);
        for block in self.blocks() {
            let coefficients: Vec<f64> = block.iter().map(coefficient).collect();
            let size = coefficients.iter().map(|w| w * w).sum::<f64>() / variance;
            let (kept, estimate, doubt) = shrunk(block, size, excess);
            risk += variance * estimate;
            spread += doubt;
            for (split, w) in block.iter().zip(&coefficients) {
                let (left, right) = split.entries();
                steps[split.start] += kept * w * left;
                steps[split.middle] += kept * w * (right - left);
                steps[split.end] -= kept * w * right;
            }
        }
        let mut values = vec![0.0; count];
        let mut level = 0.0;
        for (index, step) in self.order.iter().zip(&steps) {
            level += step;
            values[*index] = level;
        }
        let unbiased = shape == &Shape::Gaussian;
        let estimate =
            RiskEstimate { value: risk, standard_error: variance * spread.sqrt(), unbiased };
        let mut assumptions =
            vec!["values that are close to each other in the given order are similar".into()];
        if !unbiased {
            assumptions.push(
                "the noise is not Gaussian: the risk is estimated to first order in the inverse \
                 block length"
                    .into(),
            );
        }
        Ok(Denoised {
            values,
            risk_before: release.risk(),
            risk_after: excess.is_finite().then_some(estimate),
            assumptions,
            method: match self.block {
                Some(block) => format!("{method}, blocks of {block}"),
                None => format!("{method}, one block for each scale"),
            },
        })
    }
}

/// The factor of a block, its estimated risk and the variance of that, all in units of the noise's
/// variance.
///
/// The estimate moves with `S` by at most 1, or by `c (d-2)/S^2` beyond `c`; and the variance of
/// `S` is that of a noncentral chi-square, `2 d + 4 (S - d)`, with the signal's part estimated,
/// plus the excess. A block that is kept whole has the risk `d` exactly.
fn shrunk(block: &[Split], size: f64, excess: f64) -> (f64, f64, f64) {
    let count = block.len() as f64;
    if block.len() < 3 {
        return (1.0, count, 0.0);
    }
    let constant = count - 2.0;
    let fourth = excess * diagonal_squares(block);
    let variance_of_size = 2.0 * count + 4.0 * (size - count).max(0.0) + fourth;
    if size <= constant {
        return (0.0, size - count, variance_of_size);
    }
    let pull = constant / size;
    let estimate = count - pull * constant + 2.0 * constant * fourth / (size * size);
    (1.0 - pull, estimate, (pull * pull).powi(2) * variance_of_size)
}

/// `sum_i P_ii^2` of a block: its splits are of one depth, so that no two touch the same value.
fn diagonal_squares(block: &[Split]) -> f64 {
    block
        .iter()
        .map(|split| {
            let (left, right) = split.entries();
            left.powi(4) * (split.middle - split.start) as f64
                + right.powi(4) * (split.end - split.middle) as f64
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    /// With nothing to shrink, because the noise is tiny, the transform is inverted exactly: the
    /// basis is orthonormal and complete.
    #[test]
    fn the_basis_is_complete_for_every_size() {
        for (rows, columns) in [(1, 1), (1, 2), (1, 7), (1, 64), (3, 5), (16, 16), (9, 1), (5, 31)]
        {
            let count = rows * columns;
            let values: Vec<f64> =
                (0..count).map(|index| (index as f64 * 2.3).sin() * 100.0).collect();
            let release =
                Release::new(values.clone(), NoiseDescription::gaussian(1e-9).expect("valid"))
                    .expect("valid");
            let multiscale = Multiscale::grid(rows, columns, Some(4)).expect("valid");
            let mut indices = multiscale.order.clone();
            indices.sort_unstable();
            assert!(
                indices == (0..count).collect::<Vec<_>>() && multiscale.splits.len() == count - 1
            );
            let denoised = multiscale.denoise(&release).expect("valid");
            let off = denoised
                .values
                .iter()
                .zip(&values)
                .map(|(left, right)| (left - right).abs())
                .fold(0.0, f64::max);
            assert!(off < 1e-10, "{rows}x{columns}: {off}");
            let risk = denoised.risk_after.expect("Gaussian").value;
            assert!((risk / denoised.risk_before - 1.0).abs() < 1e-6, "{rows}x{columns}: {risk}");
        }
    }

    /// A constant vector: of the noise only its mean and the coarsest depths survive.
    #[test]
    fn smooth_values_lose_their_noise_and_jumps_stay() {
        let sign = |even: bool| if even { 1.0 } else { -1.0 };
        let wave = |index: usize| {
            0.9 * sign((index / 50).is_multiple_of(2)) * sign(index.is_multiple_of(2))
        };
        let truth: Vec<f64> =
            (0..1024).map(|index| if index < 300 { 0.0 } else { 500.0 }).collect();
        let values: Vec<f64> =
            truth.iter().enumerate().map(|(index, truth)| truth + wave(index)).collect();
        let release =
            Release::new(values, NoiseDescription::laplace(1.0).expect("valid")).expect("valid");
        let denoised =
            Multiscale::line(1024, Some(32)).expect("valid").denoise(&release).expect("valid");
        let error: f64 =
            denoised.values.iter().zip(&truth).map(|(left, right)| (left - right).powi(2)).sum();
        let before: f64 =
            release.values().iter().zip(&truth).map(|(left, right)| (left - right).powi(2)).sum();
        assert!(error < 0.3 * before, "{error} {before}");
        assert!(denoised.values[299].abs() < 5.0 && (denoised.values[301] - 500.0).abs() < 5.0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Multiscale::line(0, None).is_err() && Multiscale::line(8, Some(2)).is_err());
        assert!(Multiscale::grid(usize::MAX, 3, None).is_err());
        let release = Release::new(vec![0.0; 5], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid");
        assert!(Multiscale::line(6, None).expect("valid").denoise(&release).is_err());
        let zeros = Multiscale::line(5, None).expect("valid").denoise(&release).expect("valid");
        assert_eq!(zeros.values, [0.0; 5]);
        let each = NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0]).expect("valid");
        let uneven = Release::new(vec![0.0; 2], each).expect("valid");
        assert!(Multiscale::line(2, None).expect("valid").denoise(&uneven).is_err());
    }
}
