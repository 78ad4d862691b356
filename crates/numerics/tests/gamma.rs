//! The gamma function and the error function against MPFR, an independent implementation.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::error_function::{erf, erfc, normal_tail};
use reticent_numerics::gamma::*;
use reticent_numerics::{Big, Bounds, Enclosure, Wide};
use rug::Float;

fn holds(bounds: Bounds, truth: &Float) -> bool {
    bounds.lower() <= *truth && *truth <= bounds.upper()
}

fn ulps(bounds: Bounds) -> u64 {
    bounds.upper().to_bits().abs_diff(bounds.lower().to_bits())
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

fn wide(value: &Float) -> Wide {
    let high = value.to_f64();
    let rest = Float::with_val(value.prec() + 60, value - high).to_f64();
    if rest == 0.0 {
        Wide::exact(high)
    } else {
        Wide::exact(high) + Wide::from_bounds(Bounds::new(rest.next_down(), rest.next_up()))
    }
}

fn bounds(value: &Float) -> Bounds {
    let rounded = value.to_f64();
    if *value == rounded {
        Bounds::exact(rounded)
    } else {
        Bounds::new(rounded.next_down(), rounded.next_up())
    }
}

#[test]
fn in_f64_points_come_out_within_an_ulp_of_the_truth() {
    let random = &mut Random(11);
    let mut points = vec![
        1.0,
        2.0,
        3.0,
        18.0,
        19.0,
        171.6,
        1.4616321449683622,
        1.4616321449683625,
        5e-324,
        1e-300,
        0.5,
    ];
    points.extend([
        1.0f64.next_up(),
        1.0f64.next_down(),
        2.0f64.next_up(),
        2.0f64.next_down(),
        1e300,
    ]);
    points.extend((0..3000).map(|_| random.log_uniform(1e-300, 1e300)));
    points.extend((0..3000).map(|_| random.log_uniform(0.1, 170.0)));
    for x in points {
        let argument = Float::with_val(300, x);
        let (value, logarithm) =
            (gamma_of_bounds(Bounds::exact(x)), ln_gamma_of_bounds(Bounds::exact(x)));
        let truth = argument.clone().gamma();
        assert!(
            holds(value, &truth) && (ulps(value) <= 2 || truth > f64::MAX),
            "gamma({x:e}) = {value:?}, not {truth}"
        );
        let truth = argument.ln_gamma();
        assert!(
            holds(logarithm, &truth) && (ulps(logarithm) <= 2),
            "ln gamma({x:e}) = {logarithm:?}, not {truth}"
        );
    }
}

#[test]
fn in_f64_intervals_hold_the_minimum_and_both_ends() {
    let random = &mut Random(12);
    for _ in 0..2000 {
        let (a, b) = (random.log_uniform(0.2, 8.0), random.log_uniform(0.2, 8.0));
        let x = Bounds::new(a.min(b), a.max(b));
        let (value, logarithm) = (gamma_of_bounds(x), ln_gamma_of_bounds(x));
        let mut least = Float::with_val(200, f64::INFINITY);
        for inside in [a, b, 0.5 * (a + b), 1.4616321449683622f64.clamp(x.lower(), x.upper())] {
            let truth = Float::with_val(200, inside).gamma();
            assert!(holds(value, &truth), "gamma({x:?}) = {value:?} misses {truth}");
            assert!(
                holds(logarithm, &truth.clone().ln()),
                "ln gamma({x:?}) = {logarithm:?} misses ln {truth}"
            );
            least.min_mut(&truth);
        }
        assert!(
            value.lower().next_up().next_up() >= least,
            "gamma({x:?}) = {value:?} is far below {least}"
        );
    }
}

#[test]
fn outside_the_domain_nothing_is_claimed() {
    for x in [Bounds::ZERO, Bounds::exact(-1.5), Bounds::new(-1.0, 2.0), Bounds::WHOLE_LINE] {
        assert_eq!(gamma_of_bounds(x), Bounds::WHOLE_LINE);
        assert_eq!(ln_gamma_of_bounds(x), Bounds::WHOLE_LINE);
        assert_eq!(gamma(&x), Bounds::WHOLE_LINE);
        assert_eq!(ln_gamma(&x), Bounds::WHOLE_LINE);
    }
    let touching = gamma_of_bounds(Bounds::new(0.0, 0.5));
    assert!(
        touching.upper() == f64::INFINITY && touching.lower() > 1.77 && touching.lower() < 1.78
    );
    let unbounded = gamma_of_bounds(Bounds::new(1.0, f64::INFINITY));
    assert!(unbounded.upper() == f64::INFINITY && unbounded.lower() < 0.8857);
}

/// An error in units of `2^-precision`.
fn in_units<E: Enclosure>(error: E) -> Bounds {
    let bits = error.precision() as i32;
    error.times_power_of_two(bits).bounds()
}

/// Checks `ln Γ` and `Γ` in one arithmetic; `exact` encloses a number of MPFR.
fn check_gamma<E: Enclosure>(label: &str, count: usize, exact: impl Fn(&Float) -> E) {
    let random = &mut Random(13);
    let precision = exact(&Float::with_val(53, 1)).precision();
    let shift = f64::from(precision) / 4.0;
    for i in 0..count {
        let x = if i % 2 == 0 {
            random.log_uniform(1e-290, 1e15)
        } else {
            random.log_uniform(0.01, 160.0)
        };
        let argument = Float::with_val(precision + 100, x);
        let size = (x * x.ln()).max(x.ln().abs()).max(shift * shift.ln());
        // 2^8 for the operations, of which the shift alone has precision/4.
        let allowed = size * 256.0;

        let truth = argument.clone().ln_gamma();
        let error = in_units(ln_gamma(&exact(&argument)) - exact(&truth));
        assert!(error.contains(0.0), "{label}: ln gamma({x:e}) is not {truth}: {error:?}");
        assert!(
            error.width() <= allowed,
            "{label}: ln gamma({x:e}) is {:e} units wide, allowed {allowed:e}",
            error.width()
        );

        if x < 160.0 {
            let truth = exact(&argument.gamma());
            let error = in_units((gamma(&exact(&Float::with_val(53, x))) - truth.clone()) / truth);
            assert!(error.contains(0.0), "{label}: gamma({x:e}) is off by {error:?}");
            assert!(
                error.width() <= allowed,
                "{label}: gamma({x:e}) is {:e} units wide, allowed {allowed:e}",
                error.width()
            );
        }
    }
}

#[test]
fn at_every_precision_the_truth_is_inside() {
    check_gamma("Bounds", 2000, bounds);
    check_gamma("Wide", 2000, wide);
    for precision in [64, 128, 256, 600] {
        check_gamma(&format!("Big {precision}"), 40, |value| big(value, precision));
    }
    check_gamma("Big 3000", 4, |value| big(value, 3000));
}

fn check_error_function<E: Enclosure>(
    label: &str,
    count: usize,
    most: f64,
    exact: impl Fn(&Float) -> E,
) {
    let random = &mut Random(14);
    let precision = exact(&Float::with_val(53, 1)).precision();
    for i in 0..count {
        let size = if i % 2 == 0 {
            random.log_uniform(1e-100, most)
        } else {
            random.log_uniform(0.1, 6.0)
        };
        for x in [size, -size] {
            let argument = Float::with_val(precision + 100, x);
            let here = exact(&argument);
            let tail = (Float::with_val(precision + 500, &argument)
                / Float::with_val(precision + 500, 2).sqrt())
            .erfc()
                / 2u32;
            // While 1 - erf is what is computed, 1/erfc(x) more.
            let crossover = 3.0 + f64::from(precision) / 50.0;
            let lost = if x > 0.0 { (x * x).min(crossover).exp() * 8.0 } else { 1.0 };
            let unit = 1024.0;
            for (name, enclosure, truth, allowed) in [
                ("erf", erf(&here), argument.clone().erf(), unit * (x * x).clamp(1.0, 1e3)),
                (
                    "erfc",
                    erfc(&here),
                    Float::with_val(precision + 500, &argument).erfc(),
                    unit * (x * x).max(lost),
                ),
                ("normal tail", normal_tail(&here), tail, unit * (x * x).max(lost)),
            ] {
                let truth = exact(&truth);
                let error = in_units((enclosure - truth.clone()) / truth);
                assert!(error.contains(0.0), "{label}: {name}({x:e}) is off by {error:?}");
                assert!(
                    error.width() <= allowed,
                    "{label}: {name}({x:e}) is {:e} units wide, allowed {allowed:e}",
                    error.width()
                );
            }
        }
    }
}

#[test]
fn the_error_function_holds_the_truth_at_every_precision() {
    check_error_function("Bounds", 1000, 25.0, bounds);
    check_error_function("Wide", 1000, 24.0, wide);
    for precision in [128, 256, 600] {
        check_error_function(&format!("Big {precision}"), 25, 100.0, |value| big(value, precision));
    }
}

#[test]
fn the_error_function_is_odd_and_bounded_on_intervals_around_zero() {
    let around = erf(&Bounds::new(-0.5, 1.0));
    assert!(around.lower() <= -0.5204998778 && around.lower() > -0.52049988);
    assert!(around.upper() >= 0.8427007929 && around.upper() < 0.84270080);
    assert_eq!(erf(&Bounds::ZERO), Bounds::ZERO);
    assert_eq!(erfc(&Bounds::ZERO), Bounds::ONE);
    assert_eq!(normal_tail(&Bounds::ZERO), Bounds::exact(0.5));
    assert_eq!(erf(&Bounds::WHOLE_LINE), Bounds::new(-1.0, 1.0));
    let far = erfc(&Bounds::exact(1e200));
    assert!(far.lower() == 0.0 && far.upper() < 1e-300);
}
