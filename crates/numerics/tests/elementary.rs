//! The elementary functions on `f64` intervals, against MPFR.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::{Bounds, Enclosure};
use rug::Float;
use rug::ops::Pow;

const PRECISION: u32 = 200;
const POINTS: u64 = 20_000;

const EDGES: [f64; 20] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e-300,
    -1e-17,
    1e-17,
    0.5,
    1.0,
    1.0000000000000002,
    0.9999999999999999,
    -1.0,
    -0.9999999999999999,
    709.782712893384,
    709.7827128933841,
    -745.1332191019411,
    -745.2,
    1.7976931348623157e308,
    -1.7976931348623157e308,
];

fn holds(name: &str, x: f64, found: Bounds, truth: &Float) {
    assert!(
        found.lower() <= *truth && *truth <= found.upper(),
        "{name}({x:e}) = {truth:.20} is not in {found:?}"
    );
    // Two neighbours of a correctly rounded result, or exact.
    let widest = if found.is_finite() { found.lower().next_up().next_up() } else { f64::INFINITY };
    assert!(found.upper() <= widest, "{name}({x:e}): {found:?} is wide");
}

#[test]
fn functions_hold_the_truth_everywhere() {
    let mut points = Random(1);
    let mut grid: Vec<f64> = EDGES.to_vec();
    for _ in 0..POINTS {
        grid.push(points.finite());
        grid.push(points.between(-750.0, 715.0));
        grid.push(points.between(-1.0, 1.0) * 2f64.powi(-(points.between(0.0, 60.0) as i32)));
        grid.push(1.0 + points.between(-1e-3, 1e-3));
    }
    for x in grid {
        let exact = Float::with_val(PRECISION, x);
        let point = Bounds::exact(x);
        holds("exp", x, point.exp(), &exact.clone().exp());
        holds("exp_m1", x, point.exp_m1(), &exact.clone().exp_m1());
        if x >= 0.0 {
            holds("sqrt", x, point.sqrt(), &exact.clone().sqrt());
            if x > 0.0 {
                holds("ln", x, point.ln(), &exact.clone().ln());
            }
        }
        if x > -1.0 {
            holds("ln_1p", x, point.ln_1p(), &exact.clone().ln_1p());
        }
    }
}

#[test]
fn powers_hold_the_truth_everywhere() {
    let mut points = Random(2);
    for _ in 0..POINTS {
        let x = points.finite().abs();
        let y = points.between(-20.0, 20.0);
        if x > 0.0 {
            let truth = Float::with_val(PRECISION, x).pow(Float::with_val(PRECISION, y));
            holds("pow", x, Bounds::exact(x).pow(y), &truth);
        }
    }
    assert_eq!(Bounds::ZERO.pow(2.5), Bounds::ZERO);
    assert_eq!(Bounds::exact(3.0).pow(1.0), Bounds::exact(3.0));
    assert_eq!(Bounds::ZERO.pow(-1.0), Bounds::WHOLE_LINE);
}

#[test]
fn intervals_hold_every_point_of_theirs() {
    let mut points = Random(3);
    for _ in 0..2_000 {
        let (a, b) = (points.between(-30.0, 30.0), points.between(-30.0, 30.0));
        let interval = Bounds::new(a.min(b), a.max(b));
        let inside = points.between(interval.lower(), interval.upper());
        let exact = Float::with_val(PRECISION, inside);
        let contains =
            |found: Bounds, truth: Float| found.lower() <= truth && truth <= found.upper();
        assert!(contains(interval.exp(), exact.clone().exp()));
        assert!(contains(interval * interval, exact.clone() * &exact));
        assert!(contains(interval.square(), exact.clone() * &exact));
        assert!(contains(interval.abs(), exact.clone().abs()));
        if interval.lower() > 0.0 {
            assert!(contains(interval.ln(), exact.clone().ln()));
            assert!(contains(interval.pow(-1.7), exact.pow(-1.7)));
        }
    }
}
