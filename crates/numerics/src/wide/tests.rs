//! Constants against 600 bits, exact results, and doubt.

use super::exponential::{
    INVERSE_FACTORIALS_7_TO_1, INVERSE_FACTORIALS_13_TO_8, LN_2_OVER_32, ROOTS_OF_TWO,
};
use super::*;
use rug::Float;
use rug::ops::Pow;

/// That the pair is within the stated error of a constant known to 600 bits.
fn assert_constant(pair: (f64, f64), truth: Float) {
    let ball = Wide::constant(pair.0, pair.1);
    let distance = (truth - ball.hi - ball.lo).abs();
    assert!(distance <= ball.error, "{pair:?} is off by {distance}");
    assert_eq!(ball.hi, ball.hi + ball.lo);
}

#[test]
fn constants_are_the_nearest_pairs() {
    let ln_2 = Float::with_val(600, rug::float::Constant::Log2);
    assert_constant((Wide::LN_2.hi, Wide::LN_2.lo), ln_2.clone());
    assert_constant((Wide::PI.hi, Wide::PI.lo), Float::with_val(600, rug::float::Constant::Pi));
    for (i, pair) in ROOTS_OF_TWO.into_iter().enumerate() {
        assert_constant(pair, Float::with_val(600, 2).pow(Float::with_val(600, i) / 32));
    }
    for (i, pair) in INVERSE_FACTORIALS_7_TO_1.into_iter().enumerate() {
        assert_constant(pair, Float::with_val(600, Float::factorial(7 - i as u32)).recip());
    }
    for (i, value) in INVERSE_FACTORIALS_13_TO_8.into_iter().enumerate() {
        assert_eq!(value, Float::with_val(600, Float::factorial(13 - i as u32)).recip().to_f64());
    }
    let rest = LN_2_OVER_32.iter().fold(ln_2 / 32, |rest: Float, part| rest - *part);
    assert!(rest.abs() < power_of_two(-155));
    assert_eq!(LN_2_OVER_32[0].to_bits().trailing_zeros(), 17);
}

#[test]
fn exact_results_are_points() {
    let third = Wide::exact(3.0);
    let pair = Wide::ONE + Wide::exact(power_of_two(-80));
    assert_eq!(pair, Wide { hi: 1.0, lo: power_of_two(-80), error: 0.0 });
    assert_eq!(pair - Wide::ONE, Wide::exact(power_of_two(-80)));
    assert_eq!((Wide::exact(0.1) * third).error, 0.0);
    assert_eq!(Wide::exact(0.75) / third, Wide::exact(0.25));
    assert_eq!(Wide::exact(1e200) / Wide::exact(1e200), Wide::ONE);
    assert_eq!(Wide::exact(2.25).sqrt(), Wide::exact(1.5));
    assert_eq!(Wide::ZERO.exp(), Wide::ONE);
    assert_eq!(Wide::ZERO.exp_m1(), Wide::ZERO);
    assert_eq!(Wide::ONE.ln(), Wide::ZERO);
    assert_eq!(Wide::ONE.integer((1 << 100) + 1).error, 0.0);
    assert!((Wide::ONE / third).error > 0.0);
}

#[test]
fn doubt_becomes_the_whole_line() {
    let line = Wide::WHOLE_LINE;
    let around_zero = Wide::from_bounds(Bounds::new(-1.0, 1e-300));
    for doubt in [
        Wide::exact(f64::NAN),
        Wide::exact(f64::NEG_INFINITY),
        Wide::from_bounds(Bounds::new(0.0, f64::INFINITY)),
        Wide::ONE / Wide::ZERO,
        Wide::ONE / around_zero,
        Wide::ZERO.ln(),
        around_zero.ln(),
        Wide::exact(-1.0).ln_1p(),
        Wide::exact(-2.0).ln_1p(),
        Wide::exact(-1e-300).sqrt(),
        Wide::exact(f64::MAX) * Wide::exact(2.0),
        Wide::exact(f64::MAX) + Wide::exact(f64::MAX),
        Wide::exact(f64::MAX).times_power_of_two(i32::MAX),
        Wide::exact(710.0).exp(),
        line + Wide::ONE,
        line * line,
        line.exp(),
        line.exp_m1(),
        line.ln(),
        line.ln_1p(),
        line.hull(Wide::ONE),
        line.times_power_of_two(-5000),
    ] {
        assert_eq!(doubt, line);
    }
    assert_eq!(line.bounds(), Bounds::WHOLE_LINE);
    assert_eq!(line.compare(&line), None);
}

#[test]
fn intervals_keep_their_ends_and_signs() {
    let unit = Wide::from_bounds(Bounds::new(0.0, 1.0));
    assert_eq!((unit * unit).bounds(), Bounds::new(0.0, 1.0));
    assert_eq!((unit + unit).bounds(), Bounds::new(0.0, 2.0));
    assert_eq!(
        (Wide::ONE / Wide::from_bounds(Bounds::new(1.0, 4.0))).bounds(),
        Bounds::new(0.25, 1.0)
    );
    assert_eq!(unit.hull(Wide::exact(10.0)).bounds(), Bounds::new(0.0, 10.0));
    assert_eq!(unit.between(5e-324, 0.1).bounds().lower(), 0.0);
    assert_eq!(Wide::from_bounds(Bounds::new(-0.3, 0.0)).bounds(), Bounds::new(-0.3, 0.0));
    for x in [-1e9, -746.0, -740.0, -719.9, -709.0, 0.0] {
        let result = Wide::from_bounds(Bounds::new(x - 1.0, x)).exp().bounds();
        assert!(result.lower() >= 0.0 && Wide::exact(x).exp().bounds().lower() >= 0.0, "{x}");
        assert!(Wide::exact(x).exp_m1().bounds().lower() >= -1.0);
    }
}

#[test]
fn comparisons_see_the_low_part() {
    let above = Wide::ONE + Wide::exact(1e-30);
    assert_eq!(above.compare(&Wide::ONE), Some(Ordering::Greater));
    assert_eq!(Wide::ONE.compare(&above), Some(Ordering::Less));
    assert_eq!(above.compare(&above), Some(Ordering::Equal));
    assert_eq!(Wide::PI.compare(&Wide::PI), None);
    assert_eq!(Wide::exact(-1e308).compare(&Wide::exact(1e308)), Some(Ordering::Less));
    assert_eq!(Wide::PI.max(Wide::exact(4.0)), Wide::exact(4.0));
}

#[test]
fn scaling_is_exact_inside_the_range() {
    assert_eq!(Wide::PI.times_power_of_two(700).times_power_of_two(-700), Wide::PI);
    assert_eq!(
        Wide::exact(5e-324).times_power_of_two(2000).times_power_of_two(-2000),
        Wide::exact(5e-324)
    );
    let gone = Wide::ONE.times_power_of_two(i32::MIN).bounds();
    assert!(gone.contains(0.0) && gone.contains(5e-324));
}
