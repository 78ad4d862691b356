//! The sampler's tables, checked strip by strip against MPFR: with these facts, exactness is a
//! theorem (docs/noise.md).

use crate::integer_noise::IntegerNoise;
use crate::noise::Noise;
use crate::random_scale::{GammaScale, RandomScaleLaplace, TwoPointScale, UniformScale};
use crate::strips::{COLUMNS, HEIGHT_BITS, Strips};
use crate::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GeneralizedGaussian, Jittered, Laplace, Staircase,
};
use rug::Float;

const PRECISION: u32 = 400;

fn float(value: f64) -> Float {
    Float::with_val(PRECISION, value)
}

fn whole(value: u64) -> Float {
    Float::with_val(PRECISION, value)
}

/// Checks that the strips follow each other without a gap from zero on, are at least as high as the
/// density, and accept on sight nothing that lies above it.
fn check<N: Noise>(noise: &N, density: impl Fn(&Float) -> Float) {
    let strips = Strips::build(noise).expect("can be covered");
    let mut edge = float(0.0);
    for level in 0..strips.levels() {
        let area = float(strips.area_at(level));
        for column in 0..COLUMNS - 1 {
            let strip = strips.strip(level, column);
            if strip.is_empty() {
                continue;
            }
            let unit = strips.unit() + strip.exponent as i32;
            let start: Float = whole(strip.start) << unit;
            let width: Float = whole(strip.width) << unit;
            assert_eq!(start, edge, "{noise:?}: a gap before level {level}, column {column}");
            edge = start.clone() + &width;
            let height = area.clone() / &width;
            assert!(
                density(&start) <= height,
                "{noise:?}: the density sticks out of level {level}, column {column}"
            );
            let sure = height * f64::from(strip.accept) / f64::from(1u32 << HEIGHT_BITS);
            assert!(
                sure <= density(&edge),
                "{noise:?}: level {level}, column {column} accepts too much"
            );
        }
    }
    assert_eq!(
        edge,
        Float::with_val(PRECISION, strips.tail_start()) << strips.unit(),
        "{noise:?}: the tail starts elsewhere"
    );
    assert!(
        strips.acceptance(noise) > 0.95,
        "{noise:?}: {} of the tries succeed",
        strips.acceptance(noise)
    );
}

#[test]
fn the_cover_of_each_family_holds() {
    check(&Laplace, |x| (-x.clone()).exp() / 2u32);
    check(&Gaussian, |x| {
        let two_pi = Float::with_val(PRECISION, rug::float::Constant::Pi) * 2u32;
        (-(x.clone() * x) / 2u32).exp() / two_pi.sqrt()
    });
    for order in [0.5, 1.0, 1.5, 3.0, 40.0] {
        let noise = GeneralizedGaussian::new(order).expect("valid");
        check(&noise, |x| {
            if x.is_zero() { float(1.0) } else { (-(x.clone().ln() * order).exp()).exp() }
        });
    }
    for (epsilon, gamma) in [(1.0, 0.4), (0.05, 0.5), (8.0, 0.02), (1.0, 0.0), (1.0, 1.0)] {
        let noise = Staircase::new(epsilon, gamma).expect("valid");
        check(&noise, |x| {
            let b = float(-epsilon).exp();
            let peak = (1u32 - b.clone()) / 2u32 / (gamma + b * (1.0 - float(gamma)));
            let k = x.clone().floor();
            let below: Float = x.clone() - &k;
            let half_step = if below >= gamma { k + 1u32 } else { k };
            peak * (half_step * -epsilon).exp()
        });
    }
    let noise = RandomScaleLaplace::new(GammaScale::new(3.0, 0.5).expect("valid"));
    check(&noise, |x| 0.75f64 * ((x.clone() / 2u32 + 1u32).ln() * -4i32).exp());
    let noise = RandomScaleLaplace::new(TwoPointScale::new(0.5, 5.0, 0.25).expect("valid"));
    check(&noise, |x| {
        (0.125f64 * (x.clone() * -0.5f64).exp() + 3.75f64 * (x.clone() * -5i32).exp()) / 2u32
    });
    let noise = RandomScaleLaplace::new(UniformScale::new(0.5, 2.5).expect("valid"));
    check(&noise, |x| {
        if x.is_zero() {
            return float(0.75);
        }
        // ∫ t exp(-t x) dt / (2 * 2) = [-(t/x + 1/x^2) exp(-t x)] / 4
        let primitive = |t: f64| (float(t) / x + 1u32 / (x.clone() * x)) * (x.clone() * -t).exp();
        (primitive(0.5) - primitive(2.5)) / 4u32
    });
}

#[test]
fn the_cover_of_integer_noise_holds() {
    let nearest = |x: &Float| (x.clone() + 0.5f64).floor();
    for scale in [0.2, 1.0, 7.5, 1e6] {
        let laplace = DiscreteLaplace::new(scale).expect("valid");
        check(&Jittered(laplace), |x| (-nearest(x) / float(scale)).exp());
        let gaussian = DiscreteGaussian::new(scale).expect("valid");
        check(&Jittered(gaussian), |x| {
            let ratio = nearest(x) / float(scale);
            (-(ratio.clone() * ratio) / 2u32).exp()
        });
        assert!(laplace.sampler().is_ok() && gaussian.sampler().is_ok());
    }
}
