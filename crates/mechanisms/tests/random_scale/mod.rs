//! Families, reference rows and random shapes for the tests of random-scale Laplace noise.
#![allow(dead_code)]

use reticent_mechanisms::{Certificate, Distance, Epsilon, Mechanism, RandomScaleLaplace};
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_numerics::Bounds;
use serde_json::Value;

pub const R2DP: &str = include_str!("../../../../reference/r2dp.json");

pub fn number(value: &Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}

pub fn distance(value: f64) -> Distance {
    Distance::new(value).unwrap()
}

pub fn gamma(shape: f64, scale: f64) -> InverseScale {
    GammaScale::new(shape, scale).unwrap().into()
}

pub fn uniform(lower: f64, upper: f64) -> InverseScale {
    UniformScale::new(lower, upper).unwrap().into()
}

pub fn normal(mu: f64, sigma: f64, lower: f64, upper: f64) -> InverseScale {
    TruncatedGaussianScale::new(mu, sigma, lower, upper).unwrap().into()
}

pub fn two_point(first: f64, second: f64, weight: f64) -> InverseScale {
    TwoPointScale::new(first, second, weight).unwrap().into()
}

pub fn combined(parts: &[(f64, InverseScale)]) -> InverseScale {
    Combined::new(parts.to_vec()).unwrap().into()
}

fn family(row: &Value) -> InverseScale {
    let parameter = |name: &str| number(&row["params"][name]);
    let list = |name: &str| -> Vec<f64> {
        row["params"][name].as_array().unwrap().iter().map(number).collect()
    };
    match row["family"].as_str().unwrap() {
        "gamma" => gamma(parameter("k"), parameter("theta")),
        "uniform" => uniform(parameter("a"), parameter("b")),
        "truncated_gaussian" => {
            normal(parameter("mu"), parameter("sigma"), parameter("a"), parameter("b"))
        }
        "bernoulli_two_point" => two_point(parameter("t0"), parameter("t1"), parameter("P(t0)")),
        "combined_sum" => {
            let (g, u, n, a) = (list("gamma"), list("uniform"), list("tgauss"), list("a"));
            combined(&[
                (a[0], gamma(g[0], g[1])),
                (a[1], uniform(u[0], u[1])),
                (a[2], normal(n[0], n[1], n[2], n[3])),
            ])
        }
        other => panic!("unknown family {other}"),
    }
}

/// The parameter sets of the reference file, with their rows.
pub fn sets() -> Vec<(InverseScale, Value)> {
    let file: Value = serde_json::from_str(R2DP).unwrap();
    file["sets"].as_array().unwrap().iter().map(|row| (family(row), row.clone())).collect()
}

/// Those, and some that come close to zero or to plain Laplace noise.
pub fn families() -> Vec<InverseScale> {
    let mut families: Vec<InverseScale> = sets().into_iter().map(|(family, _)| family).collect();
    families.push(two_point(0.01, 5.0, 0.5));
    families.push(two_point(2.0, 2.0, 0.5));
    families.push(normal(4.0, 2.0, 0.0, 12.0));
    families.push(combined(&[(0.3, gamma(0.5, 2.0)), (2.0, uniform(0.0, 1.0))]));
    families
}

pub fn calibrate(shape: InverseScale, epsilon: f64, sensitivity: f64) -> RandomScaleLaplace {
    RandomScaleLaplace::calibrate(
        shape,
        &distance(sensitivity).into(),
        Epsilon::new(epsilon).unwrap(),
    )
    .unwrap()
}

pub fn given(family: &InverseScale) -> RandomScaleLaplace {
    RandomScaleLaplace::with_inverse_scale(family.clone(), &distance(1.0).into()).unwrap()
}

pub fn certified(mechanism: &RandomScaleLaplace) -> Bounds {
    match mechanism.certificate() {
        Certificate::Epsilon(loss) => loss,
        Certificate::Delta(_) => panic!("a pure mechanism certifies its epsilon"),
    }
}

/// Steele, Lea and Flood's splitmix64, for parameters only.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
    }

    pub fn power(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(low + (high - low) * self.next())
    }

    /// A shape of one of five kinds.
    pub fn shape(&mut self, kind: usize) -> InverseScale {
        let size = self.power(-3.0, 3.0);
        match kind {
            0 => two_point(size, size * self.power(-2.0, 2.0), self.next()),
            1 => gamma(self.power(-0.9, 2.0), size),
            2 => uniform(size * self.next().min(0.999), size),
            3 => normal(
                size * (self.next() - 0.5),
                size * self.power(-1.0, 1.0),
                0.1 * size * self.next(),
                size,
            ),
            _ => combined(&[
                (self.power(-2.0, 2.0), gamma(self.power(-0.9, 2.0), size)),
                (1.0, uniform(0.0, size)),
            ]),
        }
    }
}
