//! Quantiles of the gamma distribution: each end is checked against MPFR to lie on its side.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::Bounds;
use reticent_numerics::incomplete_gamma_inverse::*;
use rug::Float;

const BITS: u32 = 250;

/// `ln Q(a, x)`, where MPFR is quick: `x` not large.
fn ln_q(a: f64, x: f64) -> Float {
    let shape = Float::with_val(BITS, a);
    let upper = Float::with_val(BITS, shape.gamma_inc_ref(&Float::with_val(BITS, x)));
    upper.ln() - shape.ln_gamma()
}

/// `ln P(a, x)` by the series without negative terms.
fn ln_p(a: f64, x: f64) -> Float {
    let (shape, point) = (Float::with_val(BITS, a), Float::with_val(BITS, x));
    let (mut term, mut sum, mut n) = (Float::with_val(BITS, 1), Float::with_val(BITS, 1), 1u32);
    while term.clone() / &sum > Float::with_val(BITS, 1) >> (BITS as i32) {
        term *= Float::with_val(BITS, &point / Float::with_val(BITS, &shape + n));
        sum += &term;
        n += 1;
    }
    Float::with_val(BITS, point.ln_ref()) * &shape
        - &point
        - Float::with_val(BITS, &shape + 1u32).ln_gamma()
        + sum.ln()
}

fn shapes(random: &mut Random) -> Vec<f64> {
    let mut shapes = vec![1.0, 0.5, 0.05, 1.0 / 3.0, 2.0, 12.5, 300.0];
    shapes.extend((0..12).map(|_| random.log_uniform(0.02, 300.0)));
    shapes
}

/// A few units in the last place of `p` or `q`, times the documented condition, which is at most
/// about `1 + 1/a` here.
fn allowed(a: f64) -> f64 {
    8.0 * f64::EPSILON * (1.0 + 1.0 / a)
}

#[test]
fn lower_quantiles_are_bracketed() {
    let random = &mut Random(21);
    for a in shapes(random) {
        let mut levels = vec![0.5, 0.25, 1e-3, 1e-250];
        levels.extend((0..12).map(|_| random.log_uniform(1e-280, 0.5)));
        for p in levels {
            let x = gamma_p_inverse(Bounds::exact(a), Bounds::exact(p));
            if x.lower() == 0.0 {
                let least = ln_p(a, f64::from_bits(1));
                assert!(
                    x.upper() == f64::from_bits(1) && least > p.ln() - 1e-10,
                    "a = {a:e}, p = {p:e}: {x:?}"
                );
                continue;
            }
            let exact = Float::with_val(BITS, p).ln();
            assert!(
                ln_p(a, x.lower()) <= exact && exact <= ln_p(a, x.upper()),
                "a = {a:e}, p = {p:e}: {x:?}"
            );
            if x.lower() > f64::MIN_POSITIVE {
                assert!(
                    x.relative_width() <= allowed(a),
                    "a = {a:e}, p = {p:e}: {x:?} is {:e} wide",
                    x.relative_width()
                );
            }
            let by_logarithm = gamma_p_inverse_of_ln(Bounds::exact(a), Bounds::exact(p.ln()));
            assert!(
                by_logarithm.relative_width() <= allowed(a) * (-p.ln()).max(1.0)
                    || x.lower() < 1e-300,
                "a = {a:e}, p = {p:e}"
            );
            let exact = Float::with_val(BITS, p.ln());
            let (low, high) = (by_logarithm.lower(), by_logarithm.upper());
            assert!(
                ln_p(a, low) <= exact && exact <= ln_p(a, high),
                "a = {a:e}, ln p = {exact:e}: {by_logarithm:?}"
            );
        }
    }
}

#[test]
fn upper_quantiles_are_bracketed_below_the_range_of_f64_too() {
    let random = &mut Random(22);
    for a in shapes(random) {
        let mut levels = vec![0.5, 0.25, 1e-3, 1e-250, 1e-320, f64::from_bits(1)];
        levels.extend((0..8).map(|_| random.log_uniform(1e-300, 0.5)));
        for q in levels {
            let x = gamma_q_inverse(Bounds::exact(a), Bounds::exact(q));
            let exact = Float::with_val(BITS, q).ln();
            assert!(
                ln_q(a, x.lower()) >= exact && exact >= ln_q(a, x.upper()),
                "a = {a:e}, q = {q:e}: {x:?}"
            );
            assert!(
                x.relative_width() <= allowed(a),
                "a = {a:e}, q = {q:e}: {x:?} is {:e} wide",
                x.relative_width()
            );
        }
        let x = gamma_q_inverse_of_ln(Bounds::exact(a), Bounds::exact(-1500.0));
        assert!(ln_q(a, x.lower()) >= -1500.0 && ln_q(a, x.upper()) <= -1500.0, "a = {a:e}: {x:?}");
        assert!(
            x.relative_width() <= allowed(a),
            "a = {a:e}: {x:?} is {:e} wide",
            x.relative_width()
        );
    }
}

#[test]
fn the_exponential_distribution_has_its_quantiles() {
    // Q(1, x) = e^-x
    for x in [1e-12, 0.3, 1.0, 20.0, 700.0, 1e4, 1e6] {
        let found = gamma_q_inverse_of_ln(Bounds::ONE, Bounds::exact(-x));
        assert!(found.contains(x) && found.relative_width() < 4.0 * f64::EPSILON, "{x}: {found:?}");
    }
}

#[test]
fn far_tails_agree_with_their_asymptotic_form() {
    // Q(a, x) = x^(a-1) e^-x / Γ(a) (1 + (a-1)/x + r), |r| <= |(a-1)(a-2)|/x^2 for x > 2 a.
    for a in [0.05, 0.5, 3.0, 40.0] {
        let x = gamma_q_inverse_of_ln(Bounds::exact(a), Bounds::exact(-1e6));
        assert!(x.relative_width() < 4.0 * f64::EPSILON, "a = {a}: {x:?}");
        for (end, sign) in [(x.lower(), 1.0), (x.upper(), -1.0)] {
            let point = Float::with_val(BITS, end);
            let first = Float::with_val(BITS, a - 1.0) / &point;
            let rest = Float::with_val(BITS, (a - 1.0) * (a - 2.0)).abs()
                / Float::with_val(BITS, point.square_ref());
            let sum: Float = Float::with_val(BITS, 1) + first + rest * Float::with_val(BITS, sign);
            let ln_q = Float::with_val(BITS, point.ln_ref()) * Float::with_val(BITS, a - 1.0)
                - &point
                - Float::with_val(BITS, a).ln_gamma()
                + sum.ln();
            assert!(if sign > 0.0 { ln_q >= -1e6 } else { ln_q <= -1e6 }, "a = {a}: {x:?}");
        }
    }
}

#[test]
fn levels_above_one_half_are_taken_from_the_other_side() {
    let a = Bounds::exact(0.7);
    for small in [2f64.powi(-40), 2f64.powi(-53), 0.125] {
        assert_eq!(
            gamma_p_inverse(a, Bounds::exact(1.0 - small)),
            gamma_q_inverse(a, Bounds::exact(small))
        );
        assert_eq!(
            gamma_q_inverse(a, Bounds::exact(1.0 - small)),
            gamma_p_inverse(a, Bounds::exact(small))
        );
    }
}

#[test]
fn edges_and_intervals() {
    let a = Bounds::exact(2.5);
    assert_eq!(gamma_p_inverse(a, Bounds::ZERO), Bounds::ZERO);
    assert_eq!(gamma_q_inverse(a, Bounds::ONE), Bounds::ZERO);
    assert_eq!(gamma_p_inverse(a, Bounds::ONE), Bounds::new(f64::MAX, f64::INFINITY));
    assert_eq!(gamma_q_inverse(a, Bounds::new(0.0, 1.0)), Bounds::new(0.0, f64::INFINITY));
    assert_eq!(
        gamma_q_inverse(Bounds::new(-1.0, 1.0), Bounds::exact(0.5)),
        Bounds::new(0.0, f64::INFINITY)
    );
    assert_eq!(
        gamma_p_inverse(Bounds::exact(1e-3), Bounds::exact(1e-10)),
        Bounds::new(0.0, f64::from_bits(1))
    );

    let wide = gamma_q_inverse(Bounds::new(2.0, 3.0), Bounds::new(0.1, 0.2));
    assert_eq!(wide.lower(), gamma_q_inverse(Bounds::exact(2.0), Bounds::exact(0.2)).lower());
    assert_eq!(wide.upper(), gamma_q_inverse(Bounds::exact(3.0), Bounds::exact(0.1)).upper());
}
