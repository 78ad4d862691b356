//! `Big` against MPFR at a higher precision: the truth is always inside, and the ball is as small
//! as guaranteed.

#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::{Big, Bounds, Enclosure};
use rug::Float;
use rug::integer::Order;
use rug::ops::Pow;
use std::cmp::Ordering;

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }

    /// A precision from 64 to 2048, the large ones rarely.
    fn precision(&mut self) -> u32 {
        [64, 64, 80, 100, 128, 128, 192, 256, 317, 512, 1024, 2048][self.below(12) as usize]
    }

    /// A positive point of 1 to 10 limbs, with a leading bit at about `2^exponent`.
    fn point(&mut self, exponent: i32, precision: u32) -> (Big, Float) {
        let limbs: Vec<u64> = (0..1 + self.below(10)).map(|_| self.bits() | 1).collect();
        let scale = exponent - 64 * limbs.len() as i32;
        let integer = rug::Integer::from_digits(&limbs, Order::Lsf);
        let truth = Float::with_val(700, integer) * Float::with_val(700, 2).pow(scale);
        (Big::dyadic(&limbs, scale, precision), truth)
    }
}

/// An MPFR number as an exact point.
fn point(value: &Float, precision: u32) -> Big {
    if value.is_zero() {
        return Big::exact(0.0, precision);
    }
    let (mantissa, exponent) = value.to_integer_exp().unwrap();
    let mut limbs = vec![0u64; mantissa.significant_digits::<u64>()];
    mantissa.abs().write_digits(&mut limbs, Order::Lsf);
    let (near, far) =
        (exponent.clamp(-1 << 30, 1 << 30), exponent - exponent.clamp(-1 << 30, 1 << 30));
    let magnitude = Big::dyadic(&limbs, near, precision).times_power_of_two(far);
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

fn holds(ball: &Big, truth: &Float) -> bool {
    matches!(ball.compare(&point(truth, 64)), None | Some(Ordering::Equal)) && {
        let bounds = ball.bounds();
        bounds.lower() <= *truth && *truth <= bounds.upper()
    }
}

/// Whether the ball lies within a relative `2^-bits` of the truth.
fn within(ball: &Big, truth: &Float, bits: u32) -> bool {
    let slack = Float::with_val(truth.prec() + 64, truth.abs_ref()) >> bits;
    let low = Float::with_val(truth.prec() + 64, truth) - &slack;
    let high = Float::with_val(truth.prec() + 64, truth) + &slack;
    ball.compare(&point(&low, 64)) == Some(Ordering::Greater)
        && ball.compare(&point(&high, 64)) == Some(Ordering::Less)
}

fn check(ball: &Big, truth: &Float, lost_bits: u32, what: &str) {
    assert!(holds(ball, truth), "{what}: {ball:?} misses {truth:.30}");
    let bits = ball.precision() - lost_bits;
    assert!(
        within(ball, truth, bits) || ball.is_exact(),
        "{what}: {ball:?} is wider than 2^-{bits} about {truth:.30}"
    );
}

#[test]
fn arithmetic_on_points_of_any_size() {
    let mut random = Random(1);
    for round in 0..3000 {
        let precision = random.precision();
        let oracle = 2 * precision + 3000;
        let (a_exponent, b_exponent) = if round % 2 == 0 {
            (random.below(60) as i32 - 30, random.below(60) as i32 - 30)
        } else {
            (random.below(4000) as i32 - 2000, random.below(4000) as i32 - 2000)
        };
        let (mut a, mut x) = random.point(a_exponent, precision);
        let (mut b, mut y) = random.point(b_exponent, precision);
        if random.sign() < 0.0 {
            (a, x) = (-a, -x);
        }
        if random.sign() < 0.0 {
            (b, y) = (-b, -y);
        }
        let (x, y) = (Float::with_val(oracle, x), Float::with_val(oracle, y));
        check(&(a.clone() * b.clone()), &Float::with_val(oracle, &x * &y), 1, "product");
        check(&(a.clone() / b.clone()), &Float::with_val(oracle, &x / &y), 1, "quotient");
        // Points of hundreds of bits: the sum is formed exactly before it is cut.
        check(&(a.clone() + b.clone()), &Float::with_val(oracle, &x + &y), 1, "sum");
        check(&(a.clone() - b.clone()), &Float::with_val(oracle, &x - &y), 1, "difference");
        assert_eq!(a.compare(&b), x.partial_cmp(&y));
        assert_eq!((a.clone() - a.clone()).compare(&a.exactly(0.0)), Some(Ordering::Equal));
    }
}

#[test]
fn functions_of_points_of_any_size() {
    let mut random = Random(2);
    for round in 0..2500 {
        let precision =
            if round % 10 == 0 { random.precision() } else { random.precision().min(320) };
        let oracle = 2 * precision + 1500;
        let exponent = match round % 4 {
            0 => random.below(12) as i32 - 6,
            1 => random.below(38) as i32 - 19,
            2 => random.below(1000) as i32 - 980,
            _ => -(random.below(3000) as i32),
        };
        let (a, x) = random.point(exponent, precision);
        let x = Float::with_val(oracle, x);
        let negative = -a.clone();
        let minus_x = Float::with_val(oracle, -&x);
        check(&a.clone().sqrt(), &x.clone().sqrt(), 1, "sqrt");
        check(&a.clone().ln(), &x.clone().ln(), 3, "ln");
        check(&a.clone().ln_1p(), &x.clone().ln_1p(), 3, "ln_1p");
        check(&a.clone().exp(), &x.clone().exp(), 2, "exp");
        check(&a.clone().exp_m1(), &x.clone().exp_m1(), 3, "exp_m1");
        check(&negative.clone().exp(), &minus_x.clone().exp(), 2, "exp of a negative");
        check(&negative.clone().exp_m1(), &minus_x.clone().exp_m1(), 3, "exp_m1 of a negative");
        if exponent <= 0 {
            check(&negative.clone().ln_1p(), &minus_x.clone().ln_1p(), 3, "ln_1p of a negative");
        }
        check(&a.pi(), &Float::with_val(oracle, rug::float::Constant::Pi), 1, "pi");
        // Next to one and to minus one, at a distance of 2^exponent.
        let near = a.exactly(1.0) - a.clone().times_power_of_two(-40);
        if exponent <= 0 && near.is_exact() {
            let shifted =
                Float::with_val(oracle + 3500, 1) - (Float::with_val(oracle + 3500, &x) >> 40u32);
            check(&near.clone().ln(), &shifted.clone().ln(), 3, "ln next to one");
            check(&(-near).ln_1p(), &(x.clone() >> 40u32).ln(), 3, "ln_1p next to minus one");
        }
    }
}

#[test]
fn arguments_beyond_the_range_of_f64() {
    for precision in [64, 200, 1000] {
        for exponent in [-40_000, -3000, -1100, 1030, 3000, 1 << 20, 1 << 29] {
            let a = Big::dyadic(&[0xdead_beef_1234_5677], exponent, precision);
            let x = Float::with_val(4 * precision + 200, 0xdead_beef_1234_5677u64) << exponent;
            check(&a.clone().ln(), &x.clone().ln(), 3, "ln");
            check(&a.clone().sqrt(), &x.clone().sqrt(), 1, "sqrt");
            check(
                &a.clone().ln_1p(),
                &Float::with_val(4 * precision + 90_000, &x).ln_1p(),
                3,
                "ln_1p",
            );
        }
        for argument in [1e3, 1e5, 5e8, -1e3, -1e5, -5e8] {
            let truth = Float::with_val(2 * precision + 100, argument).exp();
            check(&Big::exact(argument, precision).exp(), &truth, 2, "exp");
        }
        // Beyond the exponents of MPFR, the logarithm leads back.
        for argument in [1e10, 5e11, -1e10, -5e11] {
            check(
                &Big::exact(argument, precision).exp().ln(),
                &Float::with_val(2 * precision, argument),
                4,
                "ln of exp",
            );
        }
        for argument in [1e12, 1e17, 1e300, f64::MAX] {
            assert_eq!(Big::exact(argument, precision).exp().bounds(), Bounds::WHOLE_LINE);
            assert_eq!(Big::exact(argument, precision).exp_m1().bounds(), Bounds::WHOLE_LINE);
            let gone = Big::exact(-argument, precision).exp();
            assert_eq!(gone.bounds(), Bounds::new(0.0, 5e-324));
            assert_eq!(gone.compare(&Big::dyadic(&[1], i32::MIN, precision)), Some(Ordering::Less));
            let around = Big::exact(-argument, precision)
                + Big::exact(1.0, precision) / Big::exact(3.0, precision);
            assert_eq!(around.exp().bounds(), Bounds::new(0.0, 5e-324));
            assert!(Big::exact(-argument, precision).exp_m1().bounds().contains(-1.0));
        }
    }
}

#[test]
fn balls_hold_the_image_of_every_point_inside() {
    let mut random = Random(3);
    type Function = (&'static str, fn(Big) -> Big, fn(Float) -> Float);
    let functions: [Function; 5] = [
        ("exp", Big::exp, Float::exp),
        ("exp_m1", Big::exp_m1, Float::exp_m1),
        ("ln", Big::ln, Float::ln),
        ("ln_1p", Big::ln_1p, Float::ln_1p),
        ("sqrt", Big::sqrt, Float::sqrt),
    ];
    for _ in 0..4000 {
        let precision = 64 + random.below(100) as u32;
        let middle = (random.unit() * 16.0 - 10.0).exp() * random.sign();
        let relative = 2f64.powi(-(random.below(70) as i32)) * random.unit();
        let (lower, upper) = (middle - relative * middle.abs(), middle + relative * middle.abs());
        let ball = Big::exact(0.0, precision).between(lower, upper);
        let inside =
            [lower, upper, lower + random.unit() * (upper - lower)].map(|x| x.clamp(lower, upper));
        for (name, function, oracle) in functions {
            let image = function(ball.clone());
            for x in inside {
                let truth = oracle(Float::with_val(1500, x));
                if !truth.is_nan() && !truth.is_infinite() {
                    assert!(
                        holds(&image, &truth),
                        "{name}([{lower}, {upper}]) = {image:?} misses its value at {x}"
                    );
                }
            }
            // The image of the interval itself, to a small factor where the function is defined.
            let (low, high) =
                (oracle(Float::with_val(1500, lower)), oracle(Float::with_val(1500, upper)));
            if low.is_finite() && high.is_finite() && lower != upper && lower > -0.999 {
                let width = Float::with_val(1500, &high - &low);
                let room = Float::with_val(1500, &width * 2u32)
                    + (Float::with_val(1500, high.abs_ref()) >> (precision - 4));
                let (least, most) =
                    (Float::with_val(1600, &low - &room), Float::with_val(1600, &high + &room));
                assert_eq!(
                    image.compare(&point(&least, 64)),
                    Some(Ordering::Greater),
                    "{name}([{lower}, {upper}]) = {image:?}"
                );
                assert_eq!(
                    image.compare(&point(&most, 64)),
                    Some(Ordering::Less),
                    "{name}([{lower}, {upper}]) = {image:?}"
                );
            }
        }
        let other = {
            let middle = (random.unit() * 20.0 - 10.0).exp() * random.sign();
            (middle - relative, middle + relative)
        };
        let operand = Big::exact(0.0, precision).between(other.0, other.1);
        for x in inside {
            for y in [other.0, other.1] {
                let (x, y) = (Float::with_val(4400, x), Float::with_val(4400, y));
                assert!(holds(&(ball.clone() + operand.clone()), &Float::with_val(4400, &x + &y)));
                assert!(holds(&(ball.clone() - operand.clone()), &Float::with_val(4400, &x - &y)));
                assert!(holds(&(ball.clone() * operand.clone()), &Float::with_val(4400, &x * &y)));
                if !y.is_zero() {
                    assert!(holds(
                        &(ball.clone() / operand.clone()),
                        &Float::with_val(4400, &x / &y)
                    ));
                }
                let hull = ball.clone().hull(operand.clone());
                assert!(holds(&hull, &x) && holds(&hull, &y));
            }
        }
    }
}

#[test]
fn chains_of_operations_hold_the_truth() {
    let mut random = Random(4);
    for _ in 0..400 {
        let precision = random.precision().min(600);
        let oracle = 3 * precision + 2000;
        let start = (random.unit() * 40.0 - 20.0).exp();
        let (mut ball, mut truth) = (Big::exact(start, precision), Float::with_val(oracle, start));
        for step in 0..30 {
            let operand = (random.unit() * 6.0 - 3.0).exp();
            let (b, y) = (ball.exactly(operand), Float::with_val(oracle, operand));
            let positive = ball.compare(&ball.exactly(0.0)) == Some(Ordering::Greater);
            let moderate = Float::with_val(64, truth.abs_ref()) < 50;
            (ball, truth) = match random.below(11) {
                0 => (ball + b, truth + y),
                1 => (ball - b, truth - y),
                2 => (ball * b, truth * y),
                3 => (b / ball, y / truth),
                4 if moderate => (ball.exp(), truth.exp()),
                5 if positive => (ball.ln(), truth.ln()),
                6 if positive => (ball.sqrt(), truth.sqrt()),
                7 if positive => (ball.ln_1p(), truth.ln_1p()),
                8 if moderate => (ball.exp_m1(), truth.exp_m1()),
                9 => (-ball.times_power_of_two(3), -(truth << 3u32)),
                10 if positive => (ball.pow(0.3), truth.pow(Float::with_val(oracle, 0.3))),
                _ => continue,
            };
            if ball.compare(&ball.exactly(0.0)).is_none() {
                break;
            }
            assert!(holds(&ball, &truth), "step {step}: {ball:?} misses {truth:.30}");
        }
    }
}

#[test]
fn exact_points_are_kept_whole_and_told_apart() {
    // 1 + 2^-640 at 64 bits: the point is kept, one operation on it is not exact any more.
    let mut limbs = [0u64; 11];
    (limbs[0], limbs[10]) = (1, 1);
    let point = Big::dyadic(&limbs, -640, 64);
    let one = Big::exact(1.0, 64);
    assert_eq!(point.compare(&one), Some(Ordering::Greater));
    assert_eq!(
        (point.clone() - one.clone()).compare(&Big::dyadic(&[1], -640, 64)),
        Some(Ordering::Equal)
    );
    assert_eq!((point.clone() + one.clone()).compare(&Big::exact(2.0, 64)), None);
    assert_eq!(point.clone().with_precision(700).precision(), 700);
    assert_eq!(
        (point.with_precision(700) + one).compare(&Big::exact(2.0, 64)),
        Some(Ordering::Greater)
    );
    assert_eq!(Big::dyadic(&[], 5, 64).compare(&Big::exact(-0.0, 64)), Some(Ordering::Equal));
    assert_eq!(
        Big::exact(1.0, 64).integer(-(1 << 100) - 1).compare(&-Big::dyadic(&[1, 1 << 36], 0, 64)),
        None
    );
    assert_eq!(
        Big::exact(1.0, 101).integer(-(1 << 100) - 1).compare(&-Big::dyadic(&[1, 1 << 36], 0, 64)),
        Some(Ordering::Equal)
    );
}

#[test]
fn exact_results_stay_exact() {
    let exact = |x: f64| Big::exact(x, 64);
    for (result, expected) in [
        (exact(1.5) + exact(0.25), 1.75),
        (exact(1.5) * exact(-3.0), -4.5),
        (exact(21.0) / exact(-0.75), -28.0),
        (exact(2.25).sqrt(), 1.5),
        (exact(0.0).sqrt(), 0.0),
        (exact(0.0).exp(), 1.0),
        (exact(0.0).exp_m1(), 0.0),
        (exact(1.0).ln(), 0.0),
        (exact(0.0).ln_1p(), 0.0),
        (exact(3.0).powi(5), 243.0),
        (exact(3.0).times_power_of_two(-2), 0.75),
    ] {
        assert_eq!(
            result.compare(&exact(expected)),
            Some(Ordering::Equal),
            "{result:?} is not {expected}"
        );
    }
}

#[test]
fn bounds_round_outward_over_the_whole_range_of_f64() {
    let third = Big::exact(1.0, 128) / Big::exact(3.0, 128);
    let bounds = third.bounds();
    assert!(bounds.lower().next_up() == bounds.upper() && bounds.contains(1.0 / 3.0));
    for (power, expected) in [
        (1026, Bounds::new(f64::MAX, f64::INFINITY)),
        (3000, Bounds::new(f64::MAX, f64::INFINITY)),
        (-3000, Bounds::new(0.0, 5e-324)),
        (-1074, Bounds::new(0.0, 5e-324)),
        (-1072, Bounds::new(5e-324, 1e-323)),
        (-1071, Bounds::new(1e-323, 1.5e-323)),
        (i32::MIN, Bounds::new(0.0, 5e-324)),
        (i32::MAX, Bounds::new(f64::MAX, f64::INFINITY)),
    ] {
        let scaled = third.clone().times_power_of_two(power);
        assert_eq!(scaled.bounds(), expected, "2^{power} / 3");
        assert_eq!((-scaled).bounds(), -expected, "-2^{power} / 3");
    }
    for x in [0.0, 5e-324, -2.5e-310, 1.0, f64::MAX, f64::MIN] {
        assert_eq!(Big::exact(x, 64).bounds(), Bounds::exact(x));
    }
}

#[test]
fn doubt_is_the_whole_line() {
    let line = Bounds::WHOLE_LINE;
    let exact = |x: f64| Big::exact(x, 64);
    let around_zero = exact(0.0).between(-1.0, 1e-300);
    for unknown in [
        exact(f64::NAN),
        exact(f64::INFINITY),
        exact(1.0) / exact(0.0),
        exact(1.0) / around_zero.clone(),
        exact(1.0) / exact(0.0).between(0.0, 1.0),
        exact(0.0).ln(),
        exact(-1.0).ln(),
        around_zero.clone().ln(),
        exact(-1.0).ln_1p(),
        exact(-2.0).ln_1p(),
        exact(-1.0).sqrt(),
        exact(f64::NAN) * exact(0.0),
        exact(f64::NAN).hull(exact(0.0)),
        exact(1.0) - Big::whole_line(64),
        exact(1e300).exp().ln().sqrt().exp_m1().ln_1p(),
    ] {
        assert_eq!(unknown.bounds(), line);
        assert_eq!(unknown.compare(&exact(0.0)), None);
        assert!(!unknown.is_exact());
    }
    assert!(
        around_zero.clone().sqrt().bounds().lower() == 0.0,
        "the number under a root is not negative"
    );
    assert_eq!(exact(0.0).between(0.0, 4.0).sqrt().bounds().lower(), 0.0);
}

/// Numbers far outside every floating-point range neither overflow nor fill the memory.
#[test]
fn exponents_saturate_soundly() {
    let mut huge = Big::exact(2.0, 64);
    let mut tiny = Big::exact(0.5, 64) / Big::exact(0.3, 64);
    tiny = tiny * Big::exact(0.25, 64);
    for round in 0..70 {
        huge = huge.clone() * huge;
        tiny = tiny.clone() * tiny;
        if round > 8 {
            let sum = Big::exact(1.0, 64) + tiny.clone();
            assert!(sum.bounds().contains(1.0));
            assert!(
                !sum.clone().ln().bounds().contains(0.1) && sum.exp().bounds().contains(1f64.exp())
            );
        }
        assert!(tiny.bounds().upper() > 0.0 && tiny.bounds().lower() >= -5e-324);
    }
    assert_eq!(huge.bounds(), Bounds::WHOLE_LINE);
    let edge = Big::dyadic(&[1], i32::MAX, 64);
    assert_eq!((edge.clone() + Big::exact(1.0, 64)).compare(&edge), None);
    assert_eq!((edge.clone() + edge.clone()).compare(&edge), Some(Ordering::Greater));
    let small = Big::dyadic(&[3], i32::MIN, 64);
    assert_eq!((Big::exact(1.0, 64) + small.clone() - Big::exact(1.0, 64)).compare(&small), None);
    assert_eq!(small.clone().exp().compare(&Big::exact(0.5, 64)), Some(Ordering::Greater));
    assert_eq!(
        small.clone().exp_m1().compare(&small.clone().times_power_of_two(1)),
        Some(Ordering::Less)
    );
    assert_eq!((-small.clone()).ln_1p().compare(&Big::exact(0.0, 64)), Some(Ordering::Less));
}

#[test]
fn hulls_hold_both_and_keep_an_end_at_zero() {
    let exact = |x: f64| Big::exact(x, 64);
    let hull = exact(0.0).hull(exact(1.0) / exact(3.0));
    assert_eq!(hull.bounds().lower(), 0.0);
    assert!(hull.bounds().upper() < 0.3333334);
    let negative = (-exact(1.0) / exact(3.0)).hull(exact(0.0));
    assert_eq!(negative.bounds().upper(), 0.0);
    let positive = exact(1e-15).hull(exact(1.0));
    assert!(positive.bounds().lower() > 0.99e-15 && positive.bounds().upper() < 1.0 + 1e-8);
    let far = exact(5e-324).hull(exact(f64::MAX));
    assert!(far.bounds().lower() == 0.0 && far.bounds().upper() >= f64::MAX);
    assert_eq!(exact(2.0).hull(exact(2.0)).compare(&exact(2.0)), Some(Ordering::Equal));
}
