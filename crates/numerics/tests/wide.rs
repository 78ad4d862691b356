//! Double-double balls against MPFR: the truth is always inside, and the radius is as small as
//! guaranteed.

#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::{Bounds, Enclosure, Wide};
use rug::Float;

/// A precision that holds the sum of any two `f64`.
const EXACT: u32 = 2200;

fn big(value: f64) -> Float {
    Float::with_val(1300, value)
}

fn assert_inside(ball: Wide, truth: &Float, what: impl Fn() -> String) {
    let (hi, lo) = ball.midpoint();
    let distance = Float::with_val(EXACT, truth - hi) - lo;
    assert!(
        distance.clone().abs() <= ball.radius(),
        "{}: {ball:?} misses {truth} by {distance}",
        what()
    );
    let bounds = ball.bounds();
    assert!(
        bounds.lower() <= *truth && *truth <= bounds.upper(),
        "{}: {bounds:?} misses {truth}",
        what()
    );
    assert!(hi == hi + lo, "{}: {ball:?} is not normalised", what());
}

fn assert_sharp(ball: Wide, bits: i32, what: impl Fn() -> String) {
    let (hi, _) = ball.midpoint();
    if hi.abs() > 2f64.powi(-950) {
        assert!(ball.radius() <= hi.abs() * 2f64.powi(-bits), "{}: {ball:?} is wide", what());
    }
}

#[test]
fn arithmetic_on_points_of_any_size() {
    let mut random = Random(1);
    for _ in 0..100_000 {
        let (a, c) = (random.of_any_size(-1074.0, 1020.0), random.of_any_size(-1074.0, 1020.0));
        // Half the time of similar size, where sums round or cancel.
        let c = if random.bits() & 1 == 0 { c } else { -a * random.between(0.5, 2.0) };
        let (b, d) = (a * random.of_any_size(-120.0, -53.0), c * random.of_any_size(-120.0, -53.0));
        let (x, y) = (Wide::exact(a) + Wide::exact(b), Wide::exact(c) + Wide::exact(d));
        let sum = |a: f64, b: f64| Float::with_val(EXACT, a) + b;
        let (p, q) = (sum(a, b), sum(c, d));
        let name = |op: &'static str| move || format!("{a:e} + {b:e} {op} {c:e} + {d:e}");
        assert_inside(x, &p, name("itself"));
        assert_inside(x + y, &Float::with_val(EXACT, &p + &q), name("+"));
        assert_inside(x - y, &Float::with_val(EXACT, &p - &q), name("-"));
        let product = Float::with_val(EXACT, &p * &q);
        if product.clone().abs() < 1e308 {
            assert_inside(x * y, &product, name("*"));
            assert_sharp(x * y, 102, name("*"));
        }
        let quotient = Float::with_val(EXACT, &p / &q);
        if quotient.clone().abs() < 1e308 {
            assert_inside(x / y, &quotient, name("/"));
            assert_sharp(x / y, 101, name("/"));
        }
        assert_eq!(x.compare(&y), p.partial_cmp(&q), "{a:e} + {b:e} and {c:e} + {d:e}");
    }
}

#[test]
fn sums_that_cancel_stay_sharp() {
    let mut random = Random(2);
    for _ in 0..100_000 {
        let a = random.of_any_size(-300.0, 300.0);
        let (b, c) = (a * random.of_any_size(-100.0, -54.0), a * random.of_any_size(-100.0, -54.0));
        let sum = (Wide::exact(a) + Wide::exact(b)) + (Wide::exact(-a) + Wide::exact(c));
        assert_inside(sum, &(Float::with_val(EXACT, b) + c), || format!("{a:e} {b:e} {c:e}"));
        assert_sharp(sum, 102, || format!("{a:e} {b:e} {c:e}"));
    }
}

#[test]
fn functions_of_points() {
    let mut random = Random(3);
    type Function = (&'static str, fn(Wide) -> Wide, fn(Float) -> Float);
    let functions: [Function; 5] = [
        ("exp", Wide::exp, Float::exp),
        ("exp_m1", Wide::exp_m1, Float::exp_m1),
        ("ln", Wide::ln, Float::ln),
        ("ln_1p", Wide::ln_1p, Float::ln_1p),
        ("sqrt", Wide::sqrt, Float::sqrt),
    ];
    for (name, function, oracle) in functions {
        for round in 0..10_000 {
            let value = match round % 4 {
                0 => random.of_any_size(-1074.0, 1023.0),
                1 => random.between(-760.0, 715.0),
                2 => random.of_any_size(-70.0, 10.0),
                _ => 1.0 + random.of_any_size(-52.0, 1.0),
            };
            let value = if name == "ln" || name == "sqrt" { value.abs() } else { value };
            let low = value * random.of_any_size(-110.0, -54.0);
            for low in [0.0, low] {
                let argument = Wide::exact(value) + Wide::exact(low);
                let (hi, lo) = argument.midpoint();
                if argument.radius() > 0.0 || hi == 0.0 || (name == "ln_1p" && hi <= -1.0) {
                    continue;
                }
                let truth = oracle(Float::with_val(1300, hi) + lo);
                if truth.clone().abs() >= f64::MAX {
                    assert_eq!(function(argument), Wide::WHOLE_LINE, "{name}({value:e})");
                    continue;
                }
                let what = || format!("{name}({hi:e} + {lo:e})");
                assert_inside(function(argument), &truth, what);
                assert_sharp(function(argument), 94, what);
            }
        }
    }
}

#[test]
fn bounds_of_a_sharp_ball_are_neighbours() {
    let mut random = Random(4);
    for _ in 0..20_000 {
        let value = random.between(-600.0, 700.0);
        let bounds = Wide::exact(value).exp().bounds();
        assert!(bounds.lower().next_up() >= bounds.upper(), "exp({value}) in {bounds:?}");
    }
}

/// Functions of balls with radii of every size, at the ends and at a random point inside.
#[test]
fn functions_of_balls() {
    let mut random = Random(5);
    for round in 0..12_000 {
        let (middle, size) = match round % 4 {
            0 => (0.0, random.between(-700.0, 3.0).exp2()),
            1 => (random.of_any_size(-700.0, -30.0), random.between(-700.0, 3.0).exp2()),
            _ => (random.of_any_size(-30.0, 9.0), 0.0),
        };
        let radius =
            if size > 0.0 { size } else { random.between(-110.0, 3.0).exp2() * middle.abs() };
        let low_part = Wide::exact(middle * 2f64.powi(-70));
        let ball = Wide::from_bounds(Bounds::new(-radius, radius)) + Wide::exact(middle) + low_part;
        let other_value = random.of_any_size(-20.0, 20.0);
        let other = Wide::exact(other_value);
        let (hi, lo) = ball.midpoint();
        for part in [-1.0, 1.0, random.between(-1.0, 1.0)] {
            let x = Float::with_val(2200, ball.radius()) * part + hi + lo;
            let check = |result: Wide, truth: Float, name: &str| {
                assert_inside(result, &truth, || {
                    format!("{name} of {x} in {ball:?} and {other_value}")
                });
            };
            if x.clone().abs() < 700 {
                check(ball.exp(), x.clone().exp(), "exp");
                check(ball.exp_m1(), x.clone().exp_m1(), "exp_m1");
            }
            if x > 0 {
                check(ball.ln(), x.clone().ln(), "ln");
                check(ball.sqrt(), x.clone().sqrt(), "sqrt");
            }
            if x > -1 {
                check(ball.ln_1p(), x.clone().ln_1p(), "ln_1p");
            }
            check(ball + other, x.clone() + other_value, "sum");
            check(ball * other, x.clone() * other_value, "product");
            check(ball / other, x.clone() / other_value, "quotient");
            check(ball * ball, x.clone().square(), "square");
            if x != 0 {
                check(other / ball, other_value / x.clone(), "inverse");
            }
            check(ball.hull(other), x.clone(), "hull");
            check(ball.hull(other), big(other_value), "hull, other side");
        }
    }
}

#[test]
fn random_chains_of_operations() {
    let mut random = Random(6);
    let (mut steps, mut sharp) = (0, 0);
    for chain in 0..2_000 {
        let start = random.of_any_size(-5.0, 5.0);
        let (mut ball, mut truth) = (Wide::exact(start), big(start));
        for step in 0..20 {
            let operand = random.of_any_size(-8.0, 8.0);
            let value = Wide::exact(operand);
            match random.bits() % 9 {
                0 => (ball, truth) = (ball + value, truth + operand),
                1 => (ball, truth) = (value - ball, operand - truth),
                2 => (ball, truth) = (ball * value, truth * operand),
                3 => (ball, truth) = (ball / value, truth / operand),
                4 if truth != 0 => (ball, truth) = (value / ball, operand / truth),
                5 if truth < 10 => (ball, truth) = (ball.exp(), truth.exp()),
                6 if truth > 0 => (ball, truth) = (ball.ln(), truth.ln()),
                7 if truth > 0 => (ball, truth) = (ball.sqrt(), truth.sqrt()),
                8 if truth > -0.5 && truth < 10 => {
                    (ball, truth) = (ball.ln_1p().exp_m1(), truth.ln_1p().exp_m1())
                }
                _ => (ball, truth) = (ball.times_power_of_two(-1), truth / 2),
            }
            if truth.clone().abs() > 1e250
                || truth.clone().abs() < 1e-250
                || ball == Wide::WHOLE_LINE
            {
                break;
            }
            assert_inside(ball, &truth, || format!("chain {chain}, step {step}"));
            steps += 1;
            sharp += usize::from(ball.radius() < ball.midpoint().0.abs() * 2f64.powi(-80));
        }
    }
    assert!(sharp > steps * 9 / 10, "only {sharp} sharp results of {steps}");
}

/// Powers go through the logarithm; the sharpness lost is that of `exponent * ln(base)`.
#[test]
fn powers() {
    let mut random = Random(7);
    for _ in 0..5_000 {
        let (base, exponent) = (random.of_any_size(-20.0, 20.0).abs(), random.between(-30.0, 30.0));
        let truth = rug::ops::Pow::pow(big(base), big(exponent));
        let power = Wide::exact(base).pow(exponent);
        assert_inside(power, &truth, || format!("{base}^{exponent}"));
        assert_sharp(power, 90, || format!("{base}^{exponent}"));
    }
}
