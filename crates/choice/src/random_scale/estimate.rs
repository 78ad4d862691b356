//! The tail and the density of Laplace noise of random scale in plain `f64`, for searches.
//!
//! What is found with them is certified afterwards by other means; an error here makes a result
//! worse and never wrong.

/// The nodes of a truncated normal distribution.
const NODES: usize = 32;
/// Where a normal density has fallen by `e^-36` it is cut.
const CUT: f64 = 72.0;

/// `M(x) = E[e^(-x T)]` and `p(x) = E[T e^(-x T)]`, estimated.
#[derive(Clone, Debug)]
pub(super) enum Estimate {
    /// Values with their probabilities.
    Points(Vec<(f64, f64)>),
    /// Shape and scale.
    Gamma(f64, f64),
    /// The ends.
    Uniform(f64, f64),
    /// A sum of independent parts with weights.
    Sum(Vec<(f64, Estimate)>),
}

impl Estimate {
    /// A normal distribution on an interval, by Gauss's rule where its density is not negligible.
    pub(super) fn truncated_gaussian(mu: f64, sigma: f64, lower: f64, upper: f64) -> Self {
        let mode = mu.clamp(lower, upper);
        let half_width = ((mode - mu).powi(2) + CUT * sigma * sigma).sqrt();
        let (from, to) = (lower.max(mu - half_width), upper.min(mu + half_width));
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let exponent = |t: f64| (mode - t) * (mode + t - 2.0 * mu) / (2.0 * sigma * sigma);
        let mut points: Vec<(f64, f64)> = gauss_legendre()
            .iter()
            .map(|(node, weight)| {
                let t = middle + half * node;
                (t, weight * exponent(t).exp())
            })
            .collect();
        let total: f64 = points.iter().map(|point| point.1).sum();
        points.iter_mut().for_each(|point| point.1 /= total);
        Estimate::Points(points)
    }

    /// `(M(x), p(x))`.
    pub(super) fn at(&self, x: f64) -> (f64, f64) {
        match self {
            Estimate::Points(points) => {
                points.iter().fold((0.0, 0.0), |(tail, density), (t, w)| {
                    let part = w * (-t * x).exp();
                    (tail + part, density + t * part)
                })
            }
            Estimate::Gamma(shape, scale) => {
                let logarithm = (scale * x).ln_1p();
                let tail = (-shape * logarithm).exp();
                (tail, shape * scale * tail * (-logarithm).exp())
            }
            Estimate::Uniform(lower, upper) => {
                let (width, start) = (upper - lower, (-lower * x).exp());
                let h = width * x;
                let (zeroth, first) = if h < 0.02 {
                    (
                        1.0 - h / 2.0 + h * h / 6.0 - h.powi(3) / 24.0 + h.powi(4) / 120.0,
                        0.5 - h / 3.0 + h * h / 8.0 - h.powi(3) / 30.0 + h.powi(4) / 144.0,
                    )
                } else {
                    let fall = -(-h).exp_m1();
                    (fall / h, (fall - h * (-h).exp()) / (h * h))
                };
                (start * zeroth, start * (lower * zeroth + width * first))
            }
            Estimate::Sum(parts) => {
                // The product and its derivative (Theorem 4.2, Corollary 4.4).
                parts.iter().fold((1.0, 0.0), |(tail, density), (weight, part)| {
                    let (m, p) = part.at(weight * x);
                    (tail * m, density * m + tail * weight * p)
                })
            }
        }
    }

    /// `ln(E[T]/E[T e^(-T D)])`.
    pub(super) fn epsilon(&self, sensitivity: f64) -> f64 {
        (self.at(0.0).1 / self.at(sensitivity).1).ln()
    }
}

/// The integral from `a` to infinity by the double exponential rule `x = a + w exp(pi/2 sinh u)`
/// (Takahasi and Mori).
pub(super) fn to_infinity(f: impl Fn(f64) -> f64, a: f64, width: f64) -> f64 {
    let step = 0.125;
    let half_pi = std::f64::consts::FRAC_PI_2;
    let node = |i: i32| {
        let u = step * f64::from(i);
        let offset = width * (half_pi * u.sinh()).exp();
        f(a + offset) * offset * half_pi * u.cosh() * step
    };
    (-28..=26).map(node).filter(|term| term.is_finite()).sum()
}

/// Gauss's rule on `[-1, 1]`, by Newton's steps on the Legendre polynomial; made once.
pub(crate) fn gauss_legendre() -> &'static [(f64, f64); NODES] {
    static RULE: std::sync::OnceLock<[(f64, f64); NODES]> = std::sync::OnceLock::new();
    RULE.get_or_init(|| {
        std::array::from_fn(|i| {
            let n = NODES as f64;
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=NODES {
                    let k = k as f64;
                    (before, value) =
                        (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = n * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::random_scale::{
        Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
    };
    use reticent_numerics::{Enclosure, Wide};

    fn of(scale: &InverseScale) -> Estimate {
        match scale {
            InverseScale::TwoPoint(family) => Estimate::Points(vec![
                (family.first(), family.weight()),
                (family.second(), 1.0 - family.weight()),
            ]),
            InverseScale::Gamma(family) => Estimate::Gamma(family.shape(), family.scale()),
            InverseScale::Uniform(family) => Estimate::Uniform(family.lower(), family.upper()),
            InverseScale::TruncatedGaussian(family) => Estimate::truncated_gaussian(
                family.mu(),
                family.sigma(),
                family.lower(),
                family.upper(),
            ),
            InverseScale::Combined(family) => {
                let parts = family.parts().iter();
                Estimate::Sum(parts.map(|(weight, part)| (*weight, of(part))).collect())
            }
        }
    }

    #[test]
    fn estimates_are_those_of_the_certified_transforms() {
        let gamma: InverseScale = GammaScale::new(1.7, 0.8).expect("valid").into();
        let uniform: InverseScale = UniformScale::new(0.5, 9.0).expect("valid").into();
        let normal = |mu, sigma, lower, upper| -> InverseScale {
            TruncatedGaussianScale::new(mu, sigma, lower, upper).expect("valid").into()
        };
        let combined = Combined::new(vec![
            (1.5, gamma.clone()),
            (0.5, uniform.clone()),
            (1.0, normal(2.0, 0.3, 1.0, 8.0)),
        ]);
        for scale in [
            TwoPointScale::new(0.3, 7.0, 0.4).expect("valid").into(),
            gamma,
            uniform,
            normal(3.0, 0.1, 0.0, 100.0),
            normal(-4.0, 2.0, 0.5, 12.0),
            normal(2.0, 5.0, 1.0, 3.0),
            combined.expect("valid").into(),
        ] {
            let estimate = of(&scale);
            for x in [0.0, 1e-3, 0.1, 1.0, 3.0] {
                let (tail, density) = estimate.at(x);
                let x = Wide::from(x);
                for (found, truth) in
                    [(tail, scale.transform(&x)), (density, scale.tilted_mean(&x))]
                {
                    let truth = truth.bounds().estimate();
                    assert!((found / truth - 1.0).abs() < 1e-7, "{scale:?} {x:?}: {found} {truth}");
                }
            }
        }
    }
}
