//! Values that are known to increase or decrease.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use crate::shape::Shape;
use crate::unbiased::estimate_from_terms;

/// Which way the true values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// None is smaller than the one before.
    Increasing,
    /// None is larger than the one before.
    Decreasing,
}

/// The nearest monotone vector: isotonic regression, weighted by the inverse variances.
///
/// It is what a release of a sorted list wants, such as a degree sequence (Hay et al. 2009), and of
/// cumulative counts.
///
/// # Method
/// Pool adjacent violators: blocks in the wrong order are merged into their weighted mean until
/// none is. One pass, exact in real arithmetic.
///
/// # Risk
/// For Gaussian noise unbiased: the projection is Lipschitz, and `v_i dg_i/dy_i` is `1/W` in a
/// block of total weight `W = sum 1/v_j` (Meyer and Woodroofe 2000; with equal variances the sum is
/// `sigma^2` times the number of blocks). None for other noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monotone {
    /// Which way.
    pub direction: Direction,
}

/// A run of equal results.
#[derive(Clone, Copy)]
struct Block {
    mean: f64,
    weight: f64,
    count: usize,
}

/// Pool adjacent violators, increasing.
fn pooled(values: impl Iterator<Item = (f64, f64)>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (value, weight) in values {
        let mut last = Block { mean: value, weight, count: 1 };
        while let Some(before) = blocks.pop_if(|before| before.mean >= last.mean) {
            let weight = before.weight + last.weight;
            let mean = last.mean + before.weight / weight * (before.mean - last.mean);
            last = Block { mean, weight, count: before.count + last.count };
        }
        blocks.push(last);
    }
    blocks
}

impl Denoiser for Monotone {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("isotonic regression")?;
        let sign = if self.direction == Direction::Increasing { 1.0 } else { -1.0 };
        let blocks = pooled(
            release
                .values()
                .iter()
                .zip(&variances)
                .map(|(value, variance)| (sign * value, 1.0 / variance)),
        );
        let fitted: Vec<(f64, f64)> = blocks
            .iter()
            .flat_map(|block| {
                std::iter::repeat_n((sign * block.mean, 1.0 / block.weight), block.count)
            })
            .collect();
        let terms = fitted.iter().zip(release.values().iter().zip(&variances)).map(
            |((fitted, noise_times), (value, variance))| {
                (fitted - value).powi(2) - variance + 2.0 * noise_times
            },
        );
        let risk: RiskEstimate = estimate_from_terms(terms);
        let way = if self.direction == Direction::Increasing { "increase" } else { "decrease" };
        Ok(Denoised {
            risk_after: (release.noise().shape() == &Shape::Gaussian).then_some(risk),
            values: fitted.into_iter().map(|(value, _)| value).collect(),
            risk_before: release.risk(),
            assumptions: vec![format!("the true values {way} in the order given")],
            method: "isotonic regression".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    /// The formula of isotonic regression: `max over a <= i of min over b >= i` of the weighted
    /// mean of `a..=b`.
    fn by_formula(values: &[f64], weights: &[f64]) -> Vec<f64> {
        let mean = |a: usize, b: usize| {
            let weight: f64 = weights[a..=b].iter().sum();
            (a..=b).map(|j| values[j] * weights[j]).sum::<f64>() / weight
        };
        let n = values.len();
        (0..n)
            .map(|i| {
                let least = |a| (i..n).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min);
                (0..=i).map(least).fold(f64::NEG_INFINITY, f64::max)
            })
            .collect()
    }

    #[test]
    fn it_is_the_min_max_formula() {
        let values = [3.0, 1.0, 2.0, 7.0, 5.0, 5.0, 4.0, 9.0, 8.0, -2.0];
        let scales = vec![1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.5, 1.0, 0.2, 4.0];
        let weights: Vec<f64> = scales.iter().map(|scale| 1.0 / (scale * scale)).collect();
        let noise = NoiseDescription::with_scales(Shape::Gaussian, scales).expect("valid");
        let release = Release::new(values.to_vec(), noise).expect("valid");
        let found = Monotone { direction: Direction::Increasing }.denoise(&release).expect("valid");
        for (value, expected) in found.values.iter().zip(by_formula(&values, &weights)) {
            assert!((value - expected).abs() < 1e-12);
        }
        // Decreasing is increasing of the negatives.
        let negated =
            Release::new(values.iter().map(|value| -value).collect(), release.noise().clone())
                .expect("valid");
        let mirrored =
            Monotone { direction: Direction::Decreasing }.denoise(&negated).expect("valid");
        assert!(mirrored.values.iter().zip(&found.values).all(|(left, right)| *left == -right));
        assert_eq!(mirrored.risk_after, found.risk_after);
    }

    #[test]
    fn equal_variances_count_blocks() {
        let release =
            Release::new(vec![1.0, 3.0, 2.0, 9.0], NoiseDescription::gaussian(2.0).expect("valid"));
        let found = Monotone { direction: Direction::Increasing }
            .denoise(&release.expect("valid"))
            .expect("valid");
        assert_eq!(found.values, [1.0, 2.5, 2.5, 9.0]);
        // Residual 1/2, minus 4 times 4, plus 2 times 4 times three blocks.
        assert!((found.risk_after.expect("Gaussian").value - (0.5 - 16.0 + 24.0)).abs() < 1e-12);
    }
}
