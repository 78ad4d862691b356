//! Taylor coefficients against closed forms and against MPFR.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_numerics::{Bounds, Enclosure, Jet};
use rug::Float;
use rug::ops::Pow;
use std::cmp::Ordering;

const PRECISION: u32 = 300;
const ORDER: usize = 12;

fn float(x: f64) -> Float {
    Float::with_val(PRECISION, x)
}

/// `c_0 ..= c_ORDER` of `f` at `x`, in MPFR, from the values of `f` at `ORDER + 1` equidistant
/// points `2^-60` apart. Divided differences lose 60 bits per order and gain an error of the order
/// of the step, so 1500 bits leave an error of about `2^-58` relative to nearby coefficients.
fn divided_differences(f: impl Fn(Float) -> Float, x: f64) -> Vec<f64> {
    let step = Float::with_val(1500, 2f64.powi(-60));
    let mut table: Vec<Float> = (0..=ORDER)
        .map(|i| {
            f(Float::with_val(1500, x)
                + Float::with_val(1500, &step * (i as f64 - ORDER as f64 / 2.0)))
        })
        .collect();
    let mut result = vec![f(Float::with_val(1500, x)).to_f64()];
    for k in 1..=ORDER {
        for i in 0..=ORDER - k {
            table[i] = Float::with_val(1500, &table[i + 1] - &table[i])
                / Float::with_val(1500, &step * k as f64);
        }
        // The middle of the remaining differences is nearest to the derivative at x.
        result.push(table[(ORDER - k) / 2].to_f64());
    }
    result
}

fn check(name: &str, jet: &Jet<Bounds>, truth: &[f64]) {
    let scale = truth.iter().fold(0f64, |scale, c| scale.max(c.abs()));
    for (k, &expected) in truth.iter().enumerate() {
        let found = jet.coefficient(k).bounds();
        // The expected value is itself off by about 2^-58 of its neighbours and half an ulp.
        let slack = 1e-15 * expected.abs() + 1e-16 * scale;
        assert!(
            found.lower() <= expected + slack && found.upper() >= expected - slack,
            "{name} c_{k}: {found:?}, {expected:e}"
        );
        assert!(found.width() <= 1e-12 * scale, "{name} c_{k}: {found:?} is wide");
    }
}

#[test]
fn every_operation_has_the_derivatives_of_its_function() {
    type Case = (&'static str, fn(Jet<Bounds>) -> Jet<Bounds>, fn(Float) -> Float);
    let cases: [Case; 12] = [
        ("exp", |x| x.exp(), |x| x.exp()),
        ("exp(-x^2)", |x| (-(x.clone() * x)).exp(), |x| (-(x.clone() * x)).exp()),
        ("exp_m1", |x| x.exp_m1(), |x| x.exp_m1()),
        ("ln", |x| x.ln(), |x| x.ln()),
        ("ln_1p", |x| x.ln_1p(), |x| x.ln_1p()),
        ("sqrt", |x| x.sqrt(), |x| x.sqrt()),
        ("x^0.3", |x| x.pow(0.3), |x| x.pow(Float::with_val(1500, 0.3))),
        ("x^-2.7", |x| x.pow(-2.7), |x| x.pow(Float::with_val(1500, -2.7))),
        ("x^5", |x| x.powi(5), |x| x.pow(5)),
        (
            "rational",
            |x| (x.exactly(3.0) - x.clone()) / (x.exactly(1.0) + x.clone() * x.clone()),
            |x| Float::with_val(1500, 3.0 - &x) / (Float::with_val(1500, &x * &x) + 1.0),
        ),
        ("constant divisor", |x| x.clone() / x.exactly(3.0), |x| x / 3.0),
        (
            "composed",
            |x| {
                (x.exactly(1.0) + (-x.clone()).exp()).ln() * x.clone().sqrt().times_power_of_two(-1)
                    - x.pi()
            },
            |x| {
                let pi = Float::with_val(1500, rug::float::Constant::Pi);
                (Float::with_val(1500, -&x).exp() + 1.0f64).ln() * (x.sqrt() / 2.0) - pi
            },
        ),
    ];
    for (name, jet, oracle) in cases {
        for x in [0.8, 1.0, 1.75, 3.0] {
            let found = jet(Jet::variable(Bounds::exact(x), ORDER));
            assert_eq!(found.order(), ORDER);
            check(name, &found, &divided_differences(oracle, x));
        }
    }
}

#[test]
fn a_jet_over_an_interval_encloses_the_jets_at_its_points() {
    let formula =
        |x: Jet<Bounds>| (x.clone().pow(1.5) - x.clone().ln()).exp() / (x.exactly(2.0) + x);
    let over = formula(Jet::variable(Bounds::new(0.9, 1.1), ORDER));
    for i in 0..=20 {
        let x = 0.9 + 0.01 * f64::from(i);
        let at = formula(Jet::variable(Bounds::exact(x.min(1.1)), ORDER));
        for k in 0..=ORDER {
            let (inner, outer) = (at.coefficient(k), over.coefficient(k));
            assert!(
                outer.lower() <= inner.upper() && inner.lower() <= outer.upper(),
                "c_{k} at {x}"
            );
            assert!(outer.contains(inner.estimate()), "c_{k} at {x}: {outer:?} misses {inner:?}");
        }
    }
}

/// The value of exp(ln x) at a tiny point: derivatives of ln grow like x^-k and must not poison it.
#[test]
fn closed_forms_hold_at_tiny_and_large_points() {
    for x in [1e-30, 1e-8, 1e8, 1e20] {
        let ln = Jet::variable(Bounds::exact(x), 6).ln();
        for k in 1..=6u32 {
            let truth = float(x).pow(-(k as i32)) / k * if k % 2 == 1 { 1 } else { -1 };
            let found = ln.coefficient(k as usize);
            assert!(found.lower() <= truth && truth <= found.upper(), "c_{k} at {x:e}");
            assert!(found.relative_width() < 1e-14, "c_{k} at {x:e}: {found:?}");
        }
    }
}

#[test]
fn what_is_not_smooth_has_no_derivatives() {
    let x = Jet::variable(Bounds::exact(0.5), 3);
    let kinked = x.clone().hull(-x.clone());
    assert_eq!(kinked.bounds(), Bounds::new(-0.5, 0.5));
    assert_eq!(kinked.coefficient(1), Bounds::WHOLE_LINE);
    assert_eq!(kinked.coefficient(3), Bounds::WHOLE_LINE);
    let decided = Enclosure::max(x.clone(), x.exactly(0.2));
    assert_eq!(decided.coefficient(1), Bounds::ONE);
    let over_the_kink = Jet::variable(Bounds::new(-1.0, 1.0), 3);
    let kink = Enclosure::max(over_the_kink.clone(), over_the_kink.exactly(0.0));
    assert_eq!(kink.coefficient(2), Bounds::WHOLE_LINE);
    assert_eq!((x.clone() + x.between(-0.1, 0.1)).coefficient(1), Bounds::WHOLE_LINE);
}

#[test]
fn equality_is_answered_for_constants_only() {
    let x = Jet::variable(Bounds::exact(0.5), 3);
    assert_eq!(x.compare(&x.exactly(0.5)), None);
    assert_eq!(x.exactly(0.5).compare(&x.exactly(0.5)), Some(Ordering::Equal));
    assert_eq!(x.compare(&x.exactly(1.0)), Some(Ordering::Less));
}

#[test]
fn orders_meet_at_the_lower_one_and_end_there() {
    let (short, long) =
        (Jet::variable(Bounds::exact(2.0), 1), Jet::variable(Bounds::exact(2.0), 5));
    for jet in [
        short.clone() * long.clone(),
        long.clone() / short.clone(),
        long.clone().exp() + short,
        long.clone() / Jet::constant(Bounds::ONE, 1),
    ] {
        assert_eq!(jet.order(), 1);
        assert_eq!(jet.coefficient(2), Bounds::WHOLE_LINE);
    }
    assert_eq!(long.coefficient(4), Bounds::ZERO);
    assert_eq!(Jet::variable(Bounds::exact(2.0), 0).coefficient(0), Bounds::exact(2.0));
}

#[test]
fn a_singular_point_keeps_its_value_and_loses_its_derivatives() {
    let x = Jet::variable(Bounds::new(0.0, 1.0), 4);
    let root = x.clone().sqrt();
    assert_eq!(root.bounds(), Bounds::new(0.0, 1.0));
    assert_eq!(root.coefficient(1).upper(), f64::INFINITY);
    assert_eq!(x.clone().pow(0.3).coefficient(2), Bounds::WHOLE_LINE);
    assert_eq!((x.exactly(1.0) / x.clone()).bounds(), Bounds::WHOLE_LINE);
    // A polynomial is smooth at zero, also when it is written as a power.
    let cube = x.pow(3.0);
    assert_eq!(cube.bounds(), Bounds::new(0.0, 1.0));
    assert_eq!(
        [1, 2, 3, 4].map(|k| cube.coefficient(k)),
        [3.0, 3.0, 1.0, 0.0].map(|top| if top == 1.0 {
            Bounds::ONE
        } else {
            Bounds::new(0.0, top)
        })
    );
}
