//! Integrals against closed forms in MPFR, with the evaluations counted.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_numerics::quadrature::{
    Integrand, Options, integrate, integrate_convex, integrate_monotone, integrate_with_tail,
};
use reticent_numerics::root::Direction;
use reticent_numerics::{Big, Bounds, Enclosure, Wide};
use rug::Float;
use rug::float::Constant;
use rug::ops::Pow;
use std::cell::Cell;

fn float(x: f64) -> Float {
    Float::with_val(200, x)
}

/// An integrand of several, counting how often it is evaluated (at a point or on an interval).
struct Counted {
    formula: Formula,
    count: Cell<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Formula {
    /// exp(-(scale x)^power)
    Bell { scale: f64, power: u32 },
    /// x^exponent
    Power(f64),
    /// 1/(1+x)
    Reciprocal,
    /// max(x, 1/3): not differentiable inside.
    Kink,
    /// x^2 ln x, with a removable singularity that the formula does not know at zero.
    Entropy,
    /// x^n
    Monomial(u32),
    /// 1/(scale^2 + x^2), with poles near the real line.
    Lorentz(f64),
}

impl Integrand for Counted {
    fn at<E: Enclosure>(&self, x: &E) -> E {
        self.count.set(self.count.get() + 1);
        let x = x.clone();
        match self.formula {
            Formula::Bell { scale, power } => (-(x.exactly(scale) * x).powi(power)).exp(),
            Formula::Power(exponent) => x.pow(exponent),
            Formula::Reciprocal => x.exactly(1.0) / (x.exactly(1.0) + x),
            Formula::Kink => x.clone().max(x.exactly(1.0) / x.exactly(3.0)),
            Formula::Entropy => x.clone() * x.clone() * x.ln(),
            Formula::Monomial(n) => x.powi(n),
            Formula::Lorentz(scale) => {
                x.exactly(1.0) / (x.exactly(scale) * x.exactly(scale) + x.clone() * x)
            }
        }
    }
}

fn counted(formula: Formula, lower: f64, upper: f64, options: &Options) -> (Bounds, usize) {
    let integrand = Counted { formula, count: Cell::new(0) };
    let integral = integrate(&integrand, &Bounds::ZERO, lower, upper, options);
    (integral, integrand.count.get())
}

fn holds(bounds: Bounds, truth: &Float) -> bool {
    bounds.lower() <= *truth && *truth <= bounds.upper()
}

fn ln(x: f64) -> Float {
    float(x).ln()
}

/// The integral of exp(-x^power) from 0 to `upper`: the lower incomplete gamma function.
fn bell(power: u32, upper: f64) -> Float {
    let shape = float(1.0) / power;
    let lower_gamma = shape.clone().gamma() - shape.gamma_inc(&float(upper).pow(power));
    lower_gamma / power
}

#[test]
fn smooth_integrands_reach_twelve_digits_with_few_evaluations() {
    let root_pi = Float::with_val(200, Constant::Pi).sqrt();
    let cases: [(Formula, f64, f64, Float, usize); 8] = [
        (Formula::Bell { scale: 1.0, power: 2 }, 0.0, 1.0, bell(2, 1.0), 6),
        (Formula::Bell { scale: 1.0, power: 2 }, -6.0, 6.0, bell(2, 6.0) * 2, 70),
        (Formula::Bell { scale: 1.0, power: 3 }, 0.0, 3.0, bell(3, 3.0), 40),
        (Formula::Reciprocal, 0.0, 1.0, ln(2.0), 10),
        (Formula::Reciprocal, 0.0, 1e6, ln(1e6 + 1.0), 180),
        (Formula::Power(0.5), 1.0, 4.0, float(14.0) / 3, 16),
        (Formula::Bell { scale: 100.0, power: 2 }, -1.0, 1.0, root_pi / 100, 100),
        (Formula::Monomial(7), -1.0, 2.0, float(255.0) / 8, 4),
    ];
    for (formula, lower, upper, truth, budget) in cases {
        let (integral, count) = counted(formula, lower, upper, &Options::default());
        println!(
            "{formula:?} on [{lower}, {upper}]: {integral:?}, {:.1e}, {count} evaluations",
            integral.relative_width()
        );
        assert!(holds(integral, &truth), "{formula:?}: {integral:?} misses {truth}");
        assert!(integral.relative_width() <= 1e-12, "{formula:?}: {integral:?}");
        assert!(count <= budget, "{formula:?}: {count} evaluations");
    }
}

#[test]
fn singular_ends_and_kinks_are_closed_in_on() {
    let third: Float = float(1.0) / 3;
    let kink = Float::with_val(200, third.square_ref()) + (float(1.0) - third.square()) / 2;
    let cases: [(Formula, f64, Float); 4] = [
        (Formula::Power(0.5), 1.0, float(2.0) / 3),
        (Formula::Power(0.3), 1.0, float(1.0) / (float(0.3) + 1)),
        (Formula::Kink, 1.0, kink),
        (Formula::Entropy, 1.0, float(-1.0) / 9),
    ];
    for (formula, upper, truth) in cases {
        let options = Options { relative_tolerance: 1e-11, ..Options::default() };
        let (integral, count) = counted(formula, 0.0, upper, &options);
        println!(
            "{formula:?}: {integral:?}, {:.1e}, {count} evaluations",
            integral.relative_width()
        );
        assert!(holds(integral, &truth), "{formula:?}: {integral:?} misses {truth}");
        // The formula of the last one is unbounded at zero, although the function is not: that is
        // found out, and not searched for ever.
        let unbounded = matches!(formula, Formula::Entropy);
        assert!(
            integral.is_finite() != unbounded && count <= 1000,
            "{formula:?}: {count} evaluations"
        );
        assert!(unbounded || integral.relative_width() <= 1e-11, "{formula:?}: {integral:?}");
    }
}

#[test]
fn nearby_poles_only_cost_pieces() {
    for scale in [1.0, 0.1, 1e-3, 1e-6] {
        let (integral, count) = counted(Formula::Lorentz(scale), -1.0, 1.0, &Options::default());
        let truth = float(1.0 / scale).atan() * 2 / float(scale);
        // 1/scale is rounded; its effect is bounded by one ulp of it, and atan' <= 1.
        println!("{scale}: {integral:?}, {:.1e}, {count} evaluations", integral.relative_width());
        let slack = integral.upper() * 1e-16;
        assert!(
            integral.lower() - slack <= truth && truth <= integral.upper() + slack,
            "{scale}: {integral:?} {truth}"
        );
        assert!(integral.relative_width() <= 1e-12 && count <= 700, "{scale}");
    }
}

#[test]
fn every_budget_and_order_encloses_the_truth() {
    let truth = bell(2, 3.0);
    let mut last = f64::INFINITY;
    for pieces in [1, 2, 3, 5, 8, 16, 64] {
        for order in [0, 1, 2, 5, 10, 30] {
            let options = Options { pieces, order, ..Options::default() };
            let (integral, count) =
                counted(Formula::Bell { scale: 1.0, power: 2 }, 0.0, 3.0, &options);
            assert!(holds(integral, &truth), "{pieces} pieces, order {order}: {integral:?}");
            assert!(count <= 4 * pieces, "{count} evaluations for {pieces} pieces");
            if order == 10 {
                assert!(integral.width() <= last);
                last = integral.width();
            }
        }
    }
    let (loose, few) = counted(
        Formula::Bell { scale: 1.0, power: 2 },
        0.0,
        3.0,
        &Options { relative_tolerance: 0.0, absolute_tolerance: 1e-3, ..Options::default() },
    );
    let (_, many) = counted(Formula::Bell { scale: 1.0, power: 2 }, 0.0, 3.0, &Options::default());
    assert!(loose.width() <= 1e-3 && few < many, "{few}, {many}");
}

#[test]
fn many_pieces_do_not_add_up_their_roundings() {
    let truth = ln(1001.0);
    let options =
        Options { order: 2, relative_tolerance: 0.0, pieces: 30_000, ..Options::default() };
    let (integral, _) = counted(Formula::Reciprocal, 0.0, 1000.0, &options);
    println!("30000 pieces: {integral:?}, {:.1e}", integral.relative_width());
    assert!(holds(integral, &truth) && integral.relative_width() <= 1e-9, "{integral:?}");
}

#[test]
fn ends_are_oriented_and_refused() {
    let bell = Formula::Bell { scale: 1.0, power: 2 };
    let options = Options::default();
    let (forward, _) = counted(bell, 0.0, 2.0, &options);
    let (backward, _) = counted(bell, 2.0, 0.0, &options);
    assert_eq!(forward, -backward);
    assert_eq!(counted(bell, 2.0, 2.0, &options).0, Bounds::ZERO);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(counted(bell, 0.0, bad, &options).0, Bounds::WHOLE_LINE);
        assert_eq!(counted(bell, bad, 0.0, &options).0, Bounds::WHOLE_LINE);
        assert_eq!(integrate_convex(Bounds::exact, 0.0, bad, &options), Bounds::WHOLE_LINE);
        assert_eq!(
            integrate_monotone(Bounds::exact, Direction::Increasing, bad, 0.0, &options),
            Bounds::WHOLE_LINE
        );
    }
    let neighbours = counted(bell, 1.0, 1f64.next_up(), &options).0;
    assert!(
        neighbours.contains(f64::EPSILON * (-1f64).exp()) && neighbours.relative_width() < 1e-14
    );
}

#[test]
fn a_tail_completes_the_line() {
    // exp(-x^2) beyond 6 lies between 0 and exp(-36)/12.
    let tail = Bounds::ZERO.hull((Bounds::exact(-36.0)).exp() / Bounds::exact(12.0));
    let integrand =
        Counted { formula: Formula::Bell { scale: 1.0, power: 2 }, count: Cell::new(0) };
    let integral = integrate_with_tail(&integrand, 0.0, 6.0, tail, &Options::default());
    let truth = Float::with_val(200, Constant::Pi).sqrt() / 2;
    assert!(holds(integral, &truth) && integral.relative_width() < 1e-12, "{integral:?}");
}

#[test]
fn monotone_values_bracket_the_integral() {
    for pieces in [1, 10, 100, 1000] {
        let count = Cell::new(0);
        let options = Options { pieces, ..Options::default() };
        let decreasing = |x: f64| {
            count.set(count.get() + 1);
            (-Bounds::exact(x).square()).exp()
        };
        let integral = integrate_monotone(decreasing, Direction::Decreasing, 0.0, 3.0, &options);
        assert!(holds(integral, &bell(2, 3.0)), "{integral:?}");
        assert!(integral.width() <= 4.0 / pieces as f64, "{pieces}: {integral:?}");
        assert!(count.get() <= pieces + 1);
        let increasing = integrate_monotone(
            |x| Bounds::exact(x).sqrt(),
            Direction::Increasing,
            0.0,
            1.0,
            &options,
        );
        assert!(holds(increasing, &(float(2.0) / 3)) && increasing.width() <= 1.3 / pieces as f64);
    }
    // A step and a function that runs the other way.
    let step = |x: f64| Bounds::exact(if x < 0.3 { 1.0 } else { 2.0 });
    let jump = integrate_monotone(step, Direction::Increasing, 0.0, 1.0, &Options::default());
    assert!(jump.contains(1.7) && jump.width() < 1e-12, "{jump:?}");
    let contradicted =
        integrate_monotone(Bounds::exact, Direction::Decreasing, 0.0, 1.0, &Options::default());
    assert_eq!(contradicted, Bounds::WHOLE_LINE);
}

#[test]
fn convex_values_bracket_the_integral() {
    let e = float(1.0).exp();
    for pieces in [1, 10, 100, 1000] {
        let count = Cell::new(0);
        let options = Options { pieces, ..Options::default() };
        let exponential = |x: f64| {
            count.set(count.get() + 1);
            Bounds::exact(x).exp()
        };
        let integral = integrate_convex(exponential, 0.0, 1.0, &options);
        assert!(holds(integral, &Float::with_val(200, &e - 1.0)), "{integral:?}");
        assert!(integral.width() <= 0.4 / (pieces * pieces) as f64, "{pieces}: {integral:?}");
        assert!(count.get() <= 2 * pieces + 1);
        // Ends whose midpoints are not exact.
        let (lower, upper) = (0.1, 1.7000000000000002);
        let truth = float(upper).ln() - float(lower).ln();
        let reciprocal =
            integrate_convex(|x| Bounds::ONE / Bounds::exact(x), lower, upper, &options);
        assert!(holds(reciprocal, &truth), "{reciprocal:?}");
    }
    let line = integrate_convex(Bounds::exact, 0.0, 1f64.next_up(), &Options::default());
    assert!(line.contains(0.5 + f64::EPSILON) && line.width() < 1e-14, "{line:?}");
    let adjacent = integrate_convex(Bounds::exact, 1.0, 1f64.next_up(), &Options::default());
    assert!(
        adjacent.lower() == f64::NEG_INFINITY && adjacent.upper() >= f64::EPSILON,
        "{adjacent:?}"
    );
}

/// Evaluations with an error that does not shrink must end the subdivision, not use up the budget.
#[test]
fn noise_in_the_values_ends_the_subdivision() {
    let count = Cell::new(0);
    let noisy = |x: f64| {
        count.set(count.get() + 1);
        Bounds::exact(x).exp() + Bounds::new(-1e-4, 1e-4)
    };
    let options = Options { pieces: 100_000, ..Options::default() };
    let integral = integrate_convex(noisy, 0.0, 1.0, &options);
    assert!(integral.contains(1f64.exp_m1()) && integral.width() < 1e-3, "{integral:?}");
    assert!(count.get() < 500, "{}", count.get());
}

/// How far `truth` may be from the number in `integral`, found by taking away the leading parts of
/// both until only the last digits are left.
fn distance<E: Enclosure>(integral: E, truth: Float) -> Bounds {
    let (mut rest, mut expected) = (integral, truth);
    for _ in 0..4 {
        let leading = rest.bounds().estimate();
        rest = rest.clone() - rest.exactly(leading);
        expected -= leading;
    }
    rest.bounds() - Bounds::new(expected.to_f64().next_down(), expected.to_f64().next_up())
}

#[test]
fn the_same_formulas_integrate_at_higher_precision() {
    let truth = bell(2, 1.0);
    for (formula, upper, truth) in [
        (Formula::Bell { scale: 1.0, power: 2 }, 1.0, truth),
        (Formula::Reciprocal, 3.0, ln(4.0)),
        (Formula::Bell { scale: 1.0, power: 3 }, 2.0, bell(3, 2.0)),
    ] {
        let options = Options { relative_tolerance: 1e-27, order: 40, ..Options::default() };
        let integrand = Counted { formula, count: Cell::new(0) };
        let wide = distance(
            integrate(&integrand, &Wide::from_bounds(Bounds::ZERO), 0.0, upper, &options),
            truth.clone(),
        );
        println!("{formula:?} in Wide: {wide:?}, {} evaluations", integrand.count.take());
        assert!(wide.contains(0.0) && wide.width() < 1e-26, "{formula:?}: {wide:?}");
        let options = Options { relative_tolerance: 1e-40, order: 60, ..Options::default() };
        let big =
            distance(integrate(&integrand, &Big::exact(0.0, 180), 0.0, upper, &options), truth);
        println!("{formula:?} in Big: {big:?}, {} evaluations", integrand.count.take());
        assert!(big.contains(0.0) && big.width() < 1e-39, "{formula:?}: {big:?}");
    }
}
