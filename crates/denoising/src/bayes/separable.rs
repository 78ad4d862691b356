//! The posterior mean of each value under a known prior, by quadrature.

use super::prior::Prior;
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::rule::PiecewiseLinear;
use crate::shape::Shape;
use crate::unbiased::risk_of_fixed_rule;

/// The posterior mean under independent draws of the true values from one prior.
///
/// # Formula
/// `g(y) = int theta pi(theta) f((y - theta)/s) dtheta / int pi(theta) f((y - theta)/s) dtheta`,
/// for the noise density `f` of any mechanism that adds noise. Both integrals are midpoint sums
/// over the same points, with the largest weight divided out, so that nothing underflows far from
/// the prior.
///
/// # Risk
/// If all values have one scale and are not spread too far, `g` is tabulated at a 32nd of the
/// noise's standard deviation and interpolated; then the risk has an unbiased estimate for
/// Gaussian, Laplace and discrete Laplace noise, which does not trust the prior. Otherwise the
/// values are exact to the quadrature and no risk is stated.
#[derive(Clone, Debug)]
pub struct SeparableBayes {
    /// The prior of each true value.
    pub prior: Prior,
}

/// Knots of the table for each standard deviation.
const KNOTS: f64 = 32.0;
/// Tables are no longer than this.
const LARGEST_TABLE: f64 = 20_000.0;
/// Noise beyond so many standard deviations counts as impossible, unless the prior is out there.
const REACH: f64 = 30.0;

impl SeparableBayes {
    /// `g(y)` for noise of scale `scale`; the reach is in units of the scale.
    fn posterior_mean(&self, y: f64, shape: &Shape, scale: f64, reach: f64) -> f64 {
        let points = self.prior.points_near(y, reach * scale);
        let ln_weights: Vec<f64> = points
            .iter()
            .map(|(theta, ln_prior)| ln_prior + ln_density(shape, (y - theta) / scale))
            .collect();
        let largest = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            // Nothing explains the value; the nearest point of the prior is the limit of what
            // would.
            let nearest = points
                .iter()
                .min_by(|left, right| (left.0 - y).abs().total_cmp(&(right.0 - y).abs()));
            return nearest.map_or(y, |point| point.0);
        }
        let (mut mass, mut moment) = (0.0, 0.0);
        for ((theta, _), ln_weight) in points.iter().zip(&ln_weights) {
            let weight = (ln_weight - largest).exp();
            mass += weight;
            moment += weight * (theta - y);
        }
        y + moment / mass
    }
}

fn ln_density(shape: &Shape, z: f64) -> f64 {
    match shape {
        Shape::Gaussian => -0.5 * z * z,
        Shape::Laplace => -z.abs(),
        Shape::GeneralizedGaussian(noise) => -z.abs().powf(noise.order()),
        shape => shape.density(z).ln(),
    }
}

impl Denoiser for SeparableBayes {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let (values, noise) = (release.values(), release.noise());
        let shape = noise.shape();
        let deviation = shape.variance().sqrt();
        // Without a variance no reach is safe, and the whole prior counts.
        let reach = if deviation.is_finite() { REACH * deviation } else { f64::INFINITY };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let table = noise.common_scale().and_then(|scale| {
            let step = deviation / KNOTS;
            let knots = ((most - least) / scale / step).ceil() + 2.0;
            // An infinite or undefined length is in no range, and has no table.
            if !(0.0..=LARGEST_TABLE).contains(&knots) {
                return None;
            }
            let positions =
                (0..knots as u32).map(|index| least / scale + step * (f64::from(index) - 0.5));
            let points: Vec<_> = positions
                .map(|z| (z, self.posterior_mean(z * scale, shape, scale, reach) / scale))
                .collect();
            PiecewiseLinear::interpolating(&points, 0.0, 0.0)
        });
        let denoised = match (&table, noise.common_scale()) {
            (Some(rule), Some(scale)) => {
                values.iter().map(|value| scale * rule.apply(value / scale)).collect()
            }
            _ => {
                let each = values.iter().enumerate();
                each.map(|(index, value)| {
                    self.posterior_mean(*value, shape, noise.scale(index), reach)
                })
                .collect()
            }
        };
        Ok(Denoised {
            values: denoised,
            risk_before: release.risk(),
            risk_after: table.and_then(|rule| risk_of_fixed_rule(&rule, release)),
            assumptions: vec![format!(
                "the true values are independent draws from {}",
                self.prior.name()
            )],
            method: "Bayes".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;
    use crate::shrinkage::GaussianPrior;

    #[test]
    fn two_normals_give_the_linear_rule() {
        for (deviation, sigma) in [(2.0, 1.0), (0.01, 3.0), (50.0, 0.5)] {
            let noise = NoiseDescription::gaussian(sigma).expect("valid");
            let release = Release::new(vec![-3.0, 0.5, 4.0, 9.0], noise).expect("valid");
            let prior = Prior::gaussian(1.0, deviation).expect("valid");
            let quadrature = SeparableBayes { prior }.denoise(&release).expect("valid");
            let formula = GaussianPrior::new(1.0, deviation)
                .expect("valid")
                .denoise(&release)
                .expect("valid");
            for (value, expected) in quadrature.values.iter().zip(&formula.values) {
                assert!(
                    (value - expected).abs() < 1e-5 * sigma,
                    "{deviation} {sigma}: {value} {expected}"
                );
            }
            let (risk, expected) =
                (quadrature.risk_after.expect("Gaussian"), formula.risk_after.expect("linear"));
            assert!((risk.value / expected.value - 1.0).abs() < 1e-3, "{risk:?} {expected:?}");
        }
    }

    /// For a normal prior under Laplace noise the posterior mean is known through the normal
    /// distribution function (Pericchi and Smith 1992); here by a plain sum.
    #[test]
    fn laplace_noise_is_not_treated_as_gaussian() {
        let noise = NoiseDescription::with_scales(Shape::Laplace, vec![1.0, 2.0]).expect("valid");
        let release = Release::new(vec![6.0, 6.0], noise).expect("valid");
        let prior = Prior::gaussian(0.0, 1.0).expect("valid");
        let denoised = SeparableBayes { prior }.denoise(&release).expect("valid");
        for (value, scale) in denoised.values.iter().zip([1.0, 2.0]) {
            let (mut mass, mut moment) = (0.0, 0.0);
            for step in -100_000..100_000 {
                let theta = 1e-4 * (f64::from(step) + 0.5);
                let weight = (-0.5 * theta * theta - (6.0 - theta).abs() / scale).exp();
                mass += weight;
                moment += weight * theta;
            }
            assert!((value - moment / mass).abs() < 1e-5, "{value} {}", moment / mass);
            // Far out Laplace noise pulls by a fixed amount, deviation^2/b.
            assert!((value - 1.0 / scale).abs() < 1e-3, "{value}");
        }
        assert_eq!(denoised.risk_after, None);
    }

    #[test]
    fn a_sample_is_a_prior_and_far_values_go_to_its_edge() {
        let noise = NoiseDescription::gaussian(1.0).expect("valid");
        let release = Release::new(vec![0.9, 10.2, 400.0], noise).expect("valid");
        let prior = Prior::sample(vec![0.0, 0.0, 10.0]).expect("valid");
        let denoised = SeparableBayes { prior }.denoise(&release).expect("valid");
        for (value, expected) in denoised.values.iter().zip([0.0, 10.0, 10.0]) {
            assert!((value - expected).abs() < 1e-6, "{:?}", denoised.values);
        }
    }
}
