//! The incomplete gamma functions against MPFR, an independent implementation.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::incomplete_gamma::*;
use reticent_numerics::{Big, Bounds, Enclosure, Wide};
use rug::Float;

struct Truth {
    p: Float,
    q: Float,
    ln_p: Float,
    ln_q: Float,
}

/// All four functions to `bits` relative bits or more.
fn oracle(a: f64, x: f64, bits: u32) -> Truth {
    let working = bits + 60;
    let (shape, point) = (Float::with_val(working, a), Float::with_val(working, x));
    let smaller = if x > 4.0 * a && x > f64::from(working + 60) {
        upper_by_its_asymptotic_series(shape, point, working)
    } else if x > a {
        Float::with_val(working, shape.gamma_inc_ref(&point)) / shape.gamma()
    } else {
        lower_by_its_series(shape, point, working)
    };
    // Enough bits that one minus a tiny number is not one.
    let lengthened = working + (-smaller.get_exp().unwrap_or(0)).clamp(0, 3000) as u32;
    let larger = Float::with_val(lengthened, 1 - &smaller);
    let ln_larger = Float::with_val(working, -&smaller).ln_1p();
    let ln_smaller = smaller.clone().ln();
    if x > a {
        Truth { p: larger, q: smaller, ln_p: ln_larger, ln_q: ln_smaller }
    } else {
        Truth { p: smaller, q: larger, ln_p: ln_smaller, ln_q: ln_larger }
    }
}

/// `x^(a-1) e^-x / Γ(a) (1 + (a-1)/x + (a-1)(a-2)/x^2 + ...)`, whose least term is about `e^-x`:
/// there MPFR's function takes seconds.
fn upper_by_its_asymptotic_series(shape: Float, point: Float, bits: u32) -> Float {
    let mut term = Float::with_val(bits, 1);
    let mut sum = Float::with_val(bits, 1);
    let mut n = 1u32;
    while term.clone().abs() / &sum > Float::with_val(bits, 1) >> (bits as i32) {
        term *= Float::with_val(bits, &shape - n) / &point;
        sum += &term;
        n += 1;
    }
    let below = Float::with_val(bits + 40, &shape - 1u32);
    let exponent = Float::with_val(bits + 40, point.ln_ref()) * below
        - &point
        - Float::with_val(bits + 40, shape.ln_gamma_ref());
    exponent.exp() * sum
}

/// The plain series of `P`, which has no negative term.
fn lower_by_its_series(shape: Float, point: Float, bits: u32) -> Float {
    let mut term = Float::with_val(bits, 1);
    let mut sum = Float::with_val(bits, 1);
    let mut n = 1u32;
    while term.clone() / &sum > Float::with_val(bits, 1) >> (bits as i32) {
        term *= &point;
        term /= Float::with_val(bits, &shape + n);
        sum += &term;
        n += 1;
    }
    let exponent = Float::with_val(bits + 40, point.ln_ref()) * &shape
        - &point
        - Float::with_val(bits + 40, &shape + 1u32).ln_gamma();
    exponent.exp() * sum
}

fn holds(bounds: Bounds, truth: &Float) -> bool {
    bounds.lower() <= *truth && *truth <= bounds.upper()
}

/// Shapes of the generalised Gaussians, and shapes of all sizes.
fn shapes(random: &mut Random) -> Vec<f64> {
    let mut shapes: Vec<f64> = (0..64).map(|i| 1.0 / (1.0 + 0.3 * f64::from(i))).collect();
    shapes.extend([
        1.0,
        0.5,
        2.0,
        7.0,
        7.5,
        1e-3,
        1e5,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
    ]);
    shapes.extend((0..60).map(|_| random.log_uniform(1e-3, 1e5)));
    shapes
}

fn points(a: f64, random: &mut Random) -> Vec<f64> {
    let mut points = vec![0.5, 3.1, 3.3, 10.0, 645.0, 700.0, 704.0, a];
    points.extend((0..6).map(|_| random.log_uniform(1e-300, 1e4)));
    points.extend((0..4).map(|_| random.log_uniform(1e-3, 100.0)));
    points.extend((0..4).map(|_| a * random.log_uniform(0.8, 1.25)));
    points
}

fn normal(truth: &Float) -> bool {
    *truth >= f64::MIN_POSITIVE
}

fn ordinary(truth: &Float) -> bool {
    *truth >= 1e-300
}

#[test]
fn in_f64_the_truth_is_inside_and_the_width_as_guaranteed() {
    let random = &mut Random(1);
    let mut widest = 0f64;
    for a in shapes(random) {
        for x in points(a, random) {
            let Truth { p, q, ln_p, ln_q } = oracle(a, x, 150);
            let (a, x) = (Bounds::exact(a), Bounds::exact(x));
            for (name, bounds, truth, guaranteed) in [
                ("P", gamma_p(a, x), &p, normal(&p)),
                ("Q", gamma_q(a, x), &q, normal(&q)),
                ("ln P", ln_gamma_p(a, x), &ln_p, ordinary(&q)),
                ("ln Q", ln_gamma_q(a, x), &ln_q, ordinary(&p)),
            ] {
                assert!(holds(bounds, truth), "{name}({a:?}, {x:?}) = {bounds:?} misses {truth}");
                if guaranteed {
                    let width = bounds.relative_width();
                    assert!(width <= 1e-14, "{name}({a:?}, {x:?}) = {bounds:?} is {width:e} wide");
                    widest = widest.max(width);
                }
            }
        }
    }
    // What the documentation says was measured: two units in the last place.
    assert!(widest <= 2.0 * f64::EPSILON, "the widest result is {widest:e} wide");
}

/// How much wider than `2^-precision` a result may be: the documented losses, and 2^12 for the
/// operations.
fn allowed_width(a: f64, x: f64, q: &Float, precision: u32, loses_to_q: bool) -> f64 {
    let stirling = f64::from(precision) / 4.0;
    let exponent = (a * x.ln().abs()).max(x).max(a * a.ln()).max(stirling * stirling.ln());
    let q = if loses_to_q { q.to_f64().max(1e-300) } else { 1.0 };
    let bits = exponent.log2().max(-q.log2()).max(0.0) + 12.0;
    (bits - f64::from(precision)).exp2()
}

/// Half the relative width, measured against the truth beyond the resolution of `f64`.
fn relative_distance<E: Enclosure>(
    enclosure: &E,
    truth: &Float,
    exact: impl Fn(&Float) -> E,
) -> Bounds {
    let truth = exact(truth);
    ((enclosure.clone() - truth.clone()) / truth).bounds()
}

fn check_generic<E: Enclosure>(
    label: &str,
    seed: u64,
    exact: impl Fn(&Float) -> E,
    count: usize,
    most_shape: f64,
) {
    let random = &mut Random(seed);
    for _ in 0..count {
        let a = random.log_uniform(1e-3, most_shape);
        let x = if random.unit() < 0.5 {
            random.log_uniform(1e-20, 1e3)
        } else {
            a * random.log_uniform(0.5, 2.0)
        };
        let a_here = exact(&Float::with_val(53, a));
        let x_here = exact(&Float::with_val(53, x));
        let precision = a_here.precision();
        let Truth { p, q, ln_p, ln_q } = oracle(a, x, precision + 100);
        let functions = RegularizedGamma::new(a_here);
        let results = [
            ("P", functions.lower(&x_here), p, false),
            ("Q", functions.upper(&x_here), q.clone(), true),
            ("ln P", functions.ln_lower(&x_here), ln_p, true),
            ("ln Q", functions.ln_upper(&x_here), ln_q, true),
        ];
        for (name, enclosure, truth, loses_to_q) in results {
            if truth.clone().abs() < 1e-280 && precision < 110 {
                continue;
            }
            let distance = relative_distance(&enclosure, &truth, &exact);
            assert!(
                distance.contains(0.0),
                "{label}: {name}({a:e}, {x:e}) = {enclosure:?} misses {truth}"
            );
            // ln P = ln(1 - Q) and ln Q = ln(1 - P) are small where the other function is: relative
            // to them, a loss as large as the reciprocal of the smaller function.
            let mut allowed = allowed_width(a, x, &q, precision, loses_to_q);
            if name == "ln Q" {
                allowed *= 1.0 / truth.to_f64().abs().min(1.0);
            }
            let width = distance.width();
            assert!(
                width <= allowed,
                "{label}: {name}({a:e}, {x:e}) is {width:e} wide, allowed {allowed:e}"
            );
        }
    }
}

#[test]
fn in_bounds_the_generic_functions_hold_the_truth() {
    let exact = |value: &Float| {
        let rounded = value.to_f64();
        if *value == rounded {
            Bounds::exact(rounded)
        } else {
            Bounds::new(rounded.next_down(), rounded.next_up())
        }
    };
    check_generic("Bounds", 2, exact, 400, 1e4);
}

#[test]
fn in_wide_the_generic_functions_hold_the_truth() {
    let exact = |value: &Float| {
        let high = value.to_f64();
        let rest = Float::with_val(value.prec() + 60, value - high).to_f64();
        let wide = Wide::exact(high);
        if rest == 0.0 {
            wide
        } else {
            wide + Wide::from_bounds(Bounds::new(rest.next_down(), rest.next_up()))
        }
    };
    check_generic("Wide", 3, exact, 400, 1e4);
}

fn big(value: &Float, precision: u32) -> Big {
    let Some((mantissa, exponent)) = value.to_integer_exp() else {
        panic!("{value} is not finite")
    };
    let mut limbs = vec![0u64; mantissa.significant_digits::<u64>()];
    mantissa.write_digits(&mut limbs, rug::integer::Order::Lsf);
    let size = Big::dyadic(&limbs, exponent, precision);
    if mantissa < 0 { -size } else { size }
}

#[test]
fn in_big_the_generic_functions_hold_the_truth() {
    for (precision, count) in [(128, 60), (256, 40), (600, 25)] {
        let label = format!("Big {precision}");
        check_generic(&label, 4 + u64::from(precision), |value| big(value, precision), count, 1e3);
    }
}

#[test]
fn the_ends_of_the_domain_are_limits() {
    for a in [1e-3, 0.5, 1.0, 40.0].map(Bounds::exact) {
        assert_eq!(gamma_p(a, Bounds::ZERO), Bounds::ZERO);
        assert_eq!(gamma_q(a, Bounds::ZERO), Bounds::ONE);
        assert_eq!(ln_gamma_q(a, Bounds::ZERO), Bounds::ZERO);
        assert_eq!(ln_gamma_p(a, Bounds::ZERO).lower(), f64::NEG_INFINITY);
        let positive = Bounds::new(0.0, f64::INFINITY);
        assert_eq!(gamma_p(a, positive), Bounds::new(0.0, 1.0));
        assert_eq!(gamma_q(a, positive), Bounds::new(0.0, 1.0));
        let far = gamma_q(a, Bounds::exact(1e300));
        assert!(far.lower() == 0.0 && far.upper() < 1e-300, "{far:?}");
        let far = ln_gamma_q(a, Bounds::exact(1e300));
        assert!(far.contains(-1e300) && far.relative_width() < 1e-14, "{far:?}");
        assert!(gamma_p(a, Bounds::exact(1e300)).lower() >= 1.0 - f64::EPSILON);
    }
}

#[test]
fn outside_the_domain_nothing_is_claimed() {
    let one = Bounds::ONE;
    for bad in [
        Bounds::ZERO,
        Bounds::exact(-1.0),
        Bounds::new(-1.0, 2.0),
        Bounds::new(1.0, f64::INFINITY),
        Bounds::WHOLE_LINE,
    ] {
        assert_eq!(gamma_p(bad, one), Bounds::new(0.0, 1.0));
        assert_eq!(gamma_q(bad, one), Bounds::new(0.0, 1.0));
        assert_eq!(upper_regularized(&bad, &one), Bounds::new(0.0, 1.0));
        assert_eq!(ln_upper_regularized(&bad, &one), Bounds::WHOLE_LINE);
    }
    assert_eq!(lower_regularized(&one, &Bounds::WHOLE_LINE), Bounds::new(0.0, 1.0));
}

#[test]
fn far_outside_the_guaranteed_shapes_the_truth_is_still_inside() {
    for (a, x) in [
        (1e-12, 1e-5),
        (1e-12, 2.0),
        (1e-9, 30.0),
        (1e-300, 1e-3),
        (1e6, 1.0003e6),
        (1e6, 0.9995e6),
        (1e7, 1e7),
    ] {
        let Truth { p, q, ln_p, ln_q } = oracle(a, x, 150 + if a < 1.0 { 1200 } else { 0 });
        let (a, x) = (Bounds::exact(a), Bounds::exact(x));
        assert!(holds(gamma_p(a, x), &p), "P({a:?}, {x:?})");
        assert!(holds(gamma_q(a, x), &q), "Q({a:?}, {x:?})");
        assert!(holds(ln_gamma_p(a, x), &ln_p), "ln P({a:?}, {x:?})");
        assert!(holds(ln_gamma_q(a, x), &ln_q), "ln Q({a:?}, {x:?})");
    }
    let hopeless = gamma_q(Bounds::exact(1e15), Bounds::exact(1e15));
    assert!(hopeless.contains(0.5), "{hopeless:?}");
}

#[test]
fn logarithms_reach_far_below_the_range_of_f64() {
    for (a, x) in [(0.4, 9e3), (2.5, 5e4), (900.0, 1e5), (50.0, 1e-200), (1e4, 1.0), (3e4, 1e3)] {
        let Truth { ln_p, ln_q, .. } = oracle(a, x, 150);
        let (a, x) = (Bounds::exact(a), Bounds::exact(x));
        let (bounds, truth) =
            if x.upper() > a.upper() { (ln_gamma_q(a, x), ln_q) } else { (ln_gamma_p(a, x), ln_p) };
        assert!(
            truth < -5000.0 && holds(bounds, &truth) && bounds.relative_width() < 1e-15,
            "{a:?}, {x:?}: {bounds:?}, {truth}"
        );
    }
}

#[test]
fn intervals_hold_every_value_inside() {
    let random = &mut Random(5);
    for _ in 0..300 {
        let (a, x) = (random.log_uniform(0.01, 30.0), random.log_uniform(1e-3, 50.0));
        let ratio = 1.0 + random.log_uniform(1e-12, 0.3);
        let (shapes, points) = (Bounds::new(a, a * ratio), Bounds::new(x, x * ratio));
        let (inner_a, inner_x) =
            (a * random.between(1.0, ratio).min(ratio), x * random.between(1.0, ratio).min(ratio));
        let Truth { p, q, .. } = oracle(inner_a, inner_x, 100);
        assert!(
            holds(gamma_p(shapes, points), &p) && holds(gamma_q(shapes, points), &q),
            "{shapes:?}, {points:?}"
        );
        let generic = (lower_regularized(&shapes, &points), upper_regularized(&shapes, &points));
        assert!(
            holds(generic.0, &p) && holds(generic.1, &q),
            "{shapes:?}, {points:?}: {generic:?}"
        );
    }
}

#[test]
fn shapes_that_are_no_f64_are_enclosures() {
    // a = 1/3, as for the density exp(-|z|^3); and a = 3 and 1 within a unit in the last place of
    // 200 bits, where the recurrence in a ends on either side of a whole number.
    let bits = 200;
    let precise =
        |numerator: u32, denominator: u32| Float::with_val(bits + 100, numerator) / denominator;
    let here = |numerator: f64, denominator: f64| {
        Big::exact(numerator, bits) / Big::exact(denominator, bits)
    };
    for (shape, truth) in [
        (here(1.0, 3.0), precise(1, 3)),
        (here(1.0, 3.0) * Big::exact(3.0, bits), precise(1, 1)),
        (here(1.0, 3.0) * Big::exact(9.0, bits), precise(3, 1)),
    ] {
        for x in [0.25, 2.0, 9.0, 40.0] {
            let upper = upper_regularized(&shape, &Big::exact(x, bits));
            let truth =
                Float::with_val(bits + 100, truth.gamma_inc_ref(&Float::with_val(bits + 100, x)))
                    / truth.clone().gamma();
            let truth = big(&truth, bits)
                + Big::exact(1.0, bits).between(-1.0, 1.0).times_power_of_two(-280);
            let error = ((upper - truth.clone()) / truth).bounds();
            assert!(
                error.contains(0.0) && error.width() < (25.0 - f64::from(bits)).exp2(),
                "{shape:?}, {x}: {error:?}"
            );
        }
    }
}
