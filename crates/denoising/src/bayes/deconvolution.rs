//! Empirical Bayes: the prior learned from the release itself.

use crate::cross_fit::Fit;
use crate::error::DenoisingError;
use crate::release::Release;
use crate::rule::PiecewiseLinear;
use crate::shape::Shape;

/// The posterior mean under the prior that makes the released values most likely.
///
/// # Method
/// If the true values were independent draws from a prior `G`, the released ones would be draws
/// from the density `G * f` with the noise density `f`. The prior of greatest likelihood (Kiefer
/// and Wolfowitz 1956) is found on a grid of a quarter of the noise's standard deviation, among
/// grid points next to released values, by the EM algorithm, which raises the likelihood in every
/// step. The likelihood is concave in the weights, so that `max_j D_j - sum_j g_j D_j`, with the
/// gradient `D`, bounds what is missing; the iteration ends when the bound on the mean log
/// likelihood is `1e-4` or after 200 steps. Fewer steps mean a smoother prior, not a wrong rule:
/// its risk is estimated, not assumed.
///
/// A share `1/n` of the prior is spread over the whole line with the density `1/(n * range)`. Under
/// it the posterior mean of `y` is `y`; so a value far from all that the prior was fitted to is
/// left as it is, instead of being pulled to the nearest grid point.
///
/// The rule is tabulated at an eighth of the standard deviation and interpolated, which makes it
/// piecewise linear. Nothing says that the true values are draws from anything;
/// [`crate::CrossFitted`] estimates the risk of the rule whatever they are.
///
/// # References
/// Robbins, *The empirical Bayes approach to statistical decision problems*, 1964. Jiang and
/// Zhang, *General maximum likelihood empirical Bayes estimation of normal means*, 2009.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deconvolution;

/// Bins to a standard deviation: values are rounded to them before the prior is fitted.
const BINS: f64 = 16.0;
/// Bins to a step of the prior's grid.
const GRID: i64 = 4;
/// Bins to a step of the table.
const TABLE: i64 = 2;
/// Beyond this many bins the density of the noise counts as zero: 24 standard deviations, where
/// Laplace noise has a density of `e^-34` of its peak.
const REACH: i64 = 384;
/// Grid points are fewer than this.
const LARGEST_GRID: usize = 1 << 13;
const MOST_STEPS: usize = 200;
const TOLERANCE: f64 = 1e-4;

impl Fit for Deconvolution {
    fn name(&self) -> &'static str {
        "empirical Bayes"
    }

    fn fit(&self, release: &Release) -> Result<PiecewiseLinear, DenoisingError> {
        let noise = release.noise();
        let refuse = |reason| DenoisingError::UnsuitedNoise { method: "empirical Bayes", reason };
        let scale = noise
            .common_scale()
            .ok_or_else(|| refuse("its scales differ, and then the rules differ too"))?;
        release.finite_variances("empirical Bayes")?;
        let deviation = noise.shape().variance().sqrt();
        let bin = deviation / BINS;
        let positions = release.values().iter().map(|value| value / scale / bin);
        Mixture::fitted(positions, &DensityTable::of(noise.shape(), bin))?.rule(bin)
    }
}

/// The noise density at multiples of a bin.
struct DensityTable(Vec<f64>);

impl DensityTable {
    fn of(shape: &Shape, bin: f64) -> Self {
        DensityTable((0..=REACH).map(|steps| bin * shape.density(bin * steps as f64)).collect())
    }

    fn at(&self, steps: i64) -> f64 {
        self.0.get(steps.unsigned_abs() as usize).copied().unwrap_or(0.0)
    }
}

/// A prior on a grid, in bins.
struct Mixture<'a> {
    density: &'a DensityTable,
    /// The grid points, in order, as bins.
    atoms: Vec<i64>,
    weights: Vec<f64>,
    /// The density, per bin, of what is spread over the whole line.
    flat: f64,
}

impl<'a> Mixture<'a> {
    fn fitted(
        positions: impl Iterator<Item = f64>,
        density: &'a DensityTable,
    ) -> Result<Self, DenoisingError> {
        let mut sorted: Vec<f64> = positions.collect();
        if sorted.iter().any(|position| position.abs() > 1e15) {
            let reason = "the values exceed its standard deviation by more than 10^13 times, and \
                no grid spans that";
            return Err(DenoisingError::UnsuitedNoise { method: "empirical Bayes", reason });
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let mut bins: Vec<(i64, f64)> = Vec::new();
        for position in &sorted {
            let position = position.round() as i64;
            match bins.last_mut() {
                Some((last, count)) if *last == position => *count += 1.0,
                _ => bins.push((position, 1.0)),
            }
        }
        let count = sorted.len() as f64;
        let range = sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first)
            + 2.0 * BINS;
        let mut step = GRID;
        let atoms = loop {
            let mut atoms: Vec<i64> =
                bins.iter().map(|(position, _)| position.div_euclid(step) * step).collect();
            atoms.extend(bins.iter().map(|(position, _)| (position.div_euclid(step) + 1) * step));
            atoms.sort_unstable();
            atoms.dedup();
            if atoms.len() <= LARGEST_GRID {
                break atoms;
            }
            step *= 2;
        };
        let weights = vec![1.0 / atoms.len() as f64; atoms.len()];
        let mut mixture = Mixture { density, atoms, weights, flat: 1.0 / (count * range) };
        for _ in 0..MOST_STEPS {
            if mixture.improve(&bins, count) <= TOLERANCE {
                break;
            }
        }
        Ok(mixture)
    }

    /// The atoms within reach of a position, as a range.
    fn near(&self, position: i64) -> std::ops::Range<usize> {
        let first = self.atoms.partition_point(|atom| *atom < position - REACH);
        first..first + self.atoms[first..].partition_point(|atom| *atom <= position + REACH)
    }

    /// One step of EM. Returns a bound on the mean log likelihood that was missing before it.
    fn improve(&mut self, bins: &[(i64, f64)], count: f64) -> f64 {
        let mut gradient = vec![0.0; self.atoms.len()];
        for &(position, times) in bins {
            let near = self.near(position);
            let likely: f64 = near
                .clone()
                .map(|index| self.weights[index] * self.density.at(position - self.atoms[index]))
                .sum();
            let factor = times / (likely + self.flat) / count;
            for index in near {
                gradient[index] += factor * self.density.at(position - self.atoms[index]);
            }
        }
        let steepest = gradient.iter().copied().fold(0.0, f64::max);
        for (weight, slope) in self.weights.iter_mut().zip(&gradient) {
            *weight *= slope;
        }
        // With the flat part the gradients average a little below 1; the weights are scaled back
        // to 1.
        let total: f64 = self.weights.iter().sum();
        for weight in &mut self.weights {
            *weight /= total;
        }
        steepest - total
    }

    /// The posterior mean at a position, in bins.
    fn posterior_mean(&self, position: i64) -> f64 {
        let (mut mass, mut moment) = (self.flat, 0.0);
        for index in self.near(position) {
            let weight = self.weights[index] * self.density.at(position - self.atoms[index]);
            mass += weight;
            moment += weight * (self.atoms[index] - position) as f64;
        }
        position as f64 + moment / mass
    }

    /// The rule, tabulated around the atoms; between distant groups of atoms, and outside, it is
    /// the identity.
    fn rule(&self, bin: f64) -> Result<PiecewiseLinear, DenoisingError> {
        // Half of the density's reach: twelve standard deviations from all that was seen.
        let margin = REACH / 2;
        let mut points: Vec<(f64, f64)> = Vec::new();
        let identity = |position: i64| (bin * position as f64, bin * position as f64);
        let mut next = i64::MIN;
        for &atom in &self.atoms {
            let start = ((atom - margin).div_euclid(TABLE) * TABLE).max(next);
            if start > next {
                if next != i64::MIN {
                    points.push(identity(next));
                }
                points.push(identity(start - TABLE));
            }
            let mut position = start;
            while position <= atom + margin {
                points.push((bin * position as f64, bin * self.posterior_mean(position)));
                position += TABLE;
            }
            next = position;
        }
        points.push(identity(next));
        points.dedup_by(|right, left| right.0 <= left.0);
        let refuse = || DenoisingError::NoConvergence {
            method: "empirical Bayes",
            reason: "there is no grid".into(),
        };
        PiecewiseLinear::interpolating(&points, 1.0, 1.0).ok_or_else(refuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;
    use reticent_numerics::normal_quantile::normal_quantile;

    /// Released values whose distribution is exactly that of `theta + Z`, `theta` one of two
    /// points: quantiles instead of draws.
    fn two_points(shape: &Shape, per_point: usize) -> Vec<f64> {
        [-4.0, 4.0]
            .into_iter()
            .flat_map(|theta| {
                (0..per_point).map(move |index| {
                    let p = (index as f64 + 0.5) / per_point as f64;
                    theta
                        + match shape {
                            Shape::Laplace if p < 0.5 => (2.0 * p).ln(),
                            Shape::Laplace => -(2.0 * (1.0 - p)).ln(),
                            _ => normal_quantile(p).estimate(),
                        }
                })
            })
            .collect()
    }

    #[test]
    fn a_prior_of_two_points_is_recovered() {
        for shape in [Shape::Gaussian, Shape::Laplace] {
            let noise = NoiseDescription::new(shape.clone(), 1.0).expect("valid");
            let release = Release::new(two_points(&shape, 500), noise).expect("valid");
            let rule = Deconvolution.fit(&release).expect("one scale");
            // Near a point of the prior everything is pulled to it; half way the answer is half
            // way.
            for (y, expected) in [(4.0, 4.0), (5.0, 4.0), (3.0, 4.0), (-3.5, -4.0), (0.0, 0.0)] {
                let slack = if shape == Shape::Laplace { 0.6 } else { 0.35 };
                assert!(
                    (rule.apply(y) - expected).abs() < slack,
                    "{shape:?} {y}: {}",
                    rule.apply(y)
                );
            }
            // A value far from all others is left alone.
            assert!((rule.apply(300.0) - 300.0).abs() < 1e-9);
        }
    }

    #[test]
    fn every_step_raises_the_likelihood_and_the_bound_holds() {
        let density = DensityTable::of(&Shape::Gaussian, 1.0 / BINS);
        let positions: Vec<f64> =
            two_points(&Shape::Gaussian, 60).iter().map(|value| value * BINS).collect();
        let mut mixture = Mixture::fitted(positions.iter().copied(), &density).expect("fits");
        let uniform = vec![1.0 / mixture.atoms.len() as f64; mixture.atoms.len()];
        let best = mixture.weights.clone();
        let bins: Vec<(i64, f64)> =
            positions.iter().map(|position| (position.round() as i64, 1.0)).collect();
        let likelihood = |mixture: &Mixture| {
            let terms = bins.iter().map(|(position, _)| {
                let near = mixture.near(*position);
                let likely: f64 = near
                    .map(|j| mixture.weights[j] * density.at(position - mixture.atoms[j]))
                    .sum();
                (likely + mixture.flat).ln()
            });
            terms.sum::<f64>() / bins.len() as f64
        };
        let reached = likelihood(&mixture);
        mixture.weights = uniform;
        let mut before = likelihood(&mixture);
        for _ in 0..20 {
            let missing = mixture.improve(&bins, bins.len() as f64);
            assert!(before + missing >= reached - 1e-12, "the bound {missing} is not one");
            let after = likelihood(&mixture);
            assert!(after >= before - 1e-12);
            before = after;
        }
        assert!(best.len() == mixture.atoms.len() && reached >= before - TOLERANCE);
    }

    #[test]
    fn noise_that_does_not_fit_is_refused() {
        let noise = NoiseDescription::with_scales(Shape::Gaussian, vec![1.0, 2.0]).expect("valid");
        let release = Release::new(vec![1.0, 2.0], noise).expect("valid");
        assert!(Deconvolution.fit(&release).is_err());
        let wide = Release::new(vec![0.0, 1e140], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid");
        assert!(Deconvolution.fit(&wide).is_err());
    }
}
