//! Plain and logarithmic sums against MPFR.

#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::log_sum::{
    LogSum, exact_log, ln_add_exp, ln_one_minus_exp, ln_one_plus_exp, ln_sub_exp, ln_sum_exp,
};
use reticent_numerics::{Big, Bounds, Enclosure, ExactSum, sum_bounds};
use rug::Float;
use rug::float::Round;

/// Holds every sum of `f64` exactly.
const EXACT: u32 = 2300;

const EDGES: [f64; 12] =
    [0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1.0, -1.0, 1e16, 1e300, -1e300, f64::MAX, f64::MIN];

fn exact_sum(terms: &[f64]) -> Float {
    terms.iter().fold(Float::new(EXACT), |sum, term| sum + term)
}

fn assert_rounded_once(terms: &[f64]) {
    let truth = exact_sum(terms);
    let bounds = sum_bounds(terms.iter().copied());
    let expected = (truth.to_f64_round(Round::Down), truth.to_f64_round(Round::Up));
    assert_eq!((bounds.lower(), bounds.upper()), expected, "{terms:?}");
}

#[test]
fn plain_sums_are_the_exact_sum_rounded_once() {
    let mut random = Random(1);
    for a in EDGES {
        for b in EDGES {
            for c in EDGES {
                assert_rounded_once(&[a, b, c, a]);
            }
        }
    }
    for round in 0..2000 {
        let count = random.bits() % 40;
        let terms: Vec<f64> = (0..count)
            .map(|_| match round % 4 {
                0 => random.finite(),
                1 => random.between(-1.0, 1.0),
                2 => f64::from_bits(random.bits() & !(0x7ff << 52)),
                _ => {
                    (random.between(-60.0, 60.0)).exp()
                        * if random.bits() & 1 == 0 { 1.0 } else { -1.0 }
                }
            })
            .collect();
        assert_rounded_once(&terms);
        // What cancels leaves nothing behind, and a last small term survives.
        let mut cancelled: Vec<f64> = terms.iter().chain(&[3e-200]).copied().collect();
        cancelled.extend(terms.iter().rev().map(|x| -x));
        assert_eq!(sum_bounds(cancelled), Bounds::exact(3e-200));
    }
}

#[test]
fn a_million_terms_cost_one_rounding() {
    let mut random = Random(2);
    let terms: Vec<f64> = (0..1_000_000).map(|_| random.unit()).collect();
    assert_rounded_once(&terms);
    let intervals = sum_bounds(terms.iter().map(|x| Bounds::new(x.next_down(), x.next_up())));
    let exact = sum_bounds(terms.iter().copied());
    assert!(intervals.lower() <= exact.lower() && exact.upper() <= intervals.upper());
    assert!(intervals.width() < 1e6 * 2.3e-16 + 4.0 * f64::EPSILON * exact.upper());
}

#[test]
fn plain_sums_overflow_and_doubt_soundly() {
    assert_eq!(sum_bounds([f64::MAX, f64::MAX]), Bounds::new(f64::MAX, f64::INFINITY));
    assert_eq!(sum_bounds([f64::MIN, -1.0]), Bounds::new(f64::NEG_INFINITY, f64::MIN));
    assert_eq!(sum_bounds([f64::MAX, f64::MAX, f64::MIN]), Bounds::exact(f64::MAX));
    assert_eq!(sum_bounds([1.0, f64::NAN]), Bounds::WHOLE_LINE);
    assert_eq!(sum_bounds([1.0, f64::INFINITY]), Bounds::WHOLE_LINE);
    assert_eq!(
        sum_bounds([Bounds::new(1.0, f64::INFINITY), Bounds::ONE]),
        Bounds::new(2.0, f64::INFINITY)
    );
    assert_eq!(sum_bounds(Vec::<f64>::new()), Bounds::ZERO);
    let mut sum = ExactSum::new();
    sum.add(f64::INFINITY);
    assert_eq!((sum.lower(), sum.upper()), (f64::INFINITY, f64::INFINITY));
    sum.add(f64::NEG_INFINITY);
    assert_eq!(sum.bounds(), Bounds::WHOLE_LINE);
}

/// Enough to tell `1 + exp(-1100)` from one, to hundreds of bits.
const BITS: u32 = 2000;

fn exp(x: f64) -> Float {
    if x == f64::NEG_INFINITY { Float::new(BITS) } else { Float::with_val(BITS, x).exp() }
}

/// Whether the truth lies inside, and the bounds within `ulps` units of the truth plus an absolute
/// error.
fn assert_tight(bounds: Bounds, truth: &Float, ulps: f64, absolute: f64, what: &str) {
    assert!(
        bounds.lower() <= *truth && *truth <= bounds.upper(),
        "{what}: {bounds:?} misses {truth:.25}"
    );
    let allowed = ulps * f64::EPSILON * truth.to_f64().abs() + absolute;
    assert!(
        !truth.is_finite() || bounds.width() <= allowed,
        "{what}: {bounds:?} is wider than {allowed:e}"
    );
}

#[test]
fn two_terms_bracket_the_truth_within_a_few_ulps() {
    let mut random = Random(3);
    for round in 0..1500 {
        let a = random.between(-800.0, 800.0);
        let b = match round % 4 {
            0 => random.between(-800.0, 800.0),
            1 => a + random.between(-2.0, 2.0),
            2 => a + random.between(-1.0, 1.0) * (-random.between(0.0, 35.0)).exp(),
            _ => a - random.between(30.0, 40.0),
        };
        let sum = Float::with_val(BITS, exp(a) + exp(b)).ln();
        assert_tight(
            ln_add_exp(exact_log(a), exact_log(b)),
            &sum,
            3.0,
            7e-16,
            &format!("{a} + {b}"),
        );
        let (a, b) = if a >= b { (a, b) } else { (b, a) };
        let difference = Float::with_val(BITS, exp(a) - exp(b)).ln();
        let bounds = ln_sub_exp(exact_log(a), exact_log(b));
        if a == b {
            assert_eq!(bounds, exact_log(f64::NEG_INFINITY));
        } else {
            // The logarithm of the factor 1 - exp(b - a) may cancel against a: its size sets the
            // error.
            let factor = 3.0 * f64::EPSILON * (difference.to_f64() - a).abs();
            assert_tight(bounds, &difference, 3.0, factor + 7e-16, &format!("{a} - {b}"));
        }
    }
}

#[test]
fn two_intervals_take_the_ends() {
    let (a, b) = (Bounds::new(-3.0, 2.0), Bounds::new(f64::NEG_INFINITY, 5.0));
    let sum = ln_add_exp(a, b);
    assert_eq!(sum.lower(), -3.0);
    assert!(sum.upper() > 5.0485 && sum.upper() < 5.0486);
    let difference = ln_sub_exp(Bounds::new(1.0, 3.0), Bounds::new(-1.0, 0.0));
    assert!((difference.lower() - 0.5413248546129181).abs() < 1e-14, "{difference:?}");
    assert!((difference.upper() - 2.981514553174114).abs() < 1e-14, "{difference:?}");
    let uncertain = ln_sub_exp(Bounds::new(0.0, 1.0), Bounds::new(0.5, 0.7));
    assert!(uncertain.lower() == f64::NEG_INFINITY && uncertain.upper() < 0.1);
    assert_eq!(ln_sub_exp(Bounds::new(0.0, 1.0), Bounds::new(1.5, 2.0)), Bounds::WHOLE_LINE);
    assert_eq!(
        ln_sub_exp(Bounds::new(0.0, 1.0), Bounds::new(1.0, 2.0)),
        exact_log(f64::NEG_INFINITY)
    );
}

#[test]
fn zeros_and_infinities_among_two_terms() {
    let (zero, one, infinite) =
        (exact_log(f64::NEG_INFINITY), exact_log(0.0), exact_log(f64::INFINITY));
    assert_eq!(ln_add_exp(zero, zero), zero);
    assert_eq!(ln_add_exp(zero, one), one);
    assert_eq!(ln_add_exp(infinite, one), infinite);
    assert_eq!(ln_add_exp(infinite, zero), infinite);
    assert_eq!(ln_sub_exp(one, zero), one);
    assert_eq!(ln_sub_exp(zero, zero), zero);
    assert_eq!(ln_sub_exp(infinite, zero), infinite);
    assert_eq!(ln_sub_exp(infinite, one).upper(), f64::INFINITY);
    assert_eq!(ln_sub_exp(Bounds::WHOLE_LINE, Bounds::WHOLE_LINE), Bounds::WHOLE_LINE);
    assert_eq!(ln_add_exp(Bounds::WHOLE_LINE, one), Bounds::new(0.0, f64::INFINITY));
    assert_eq!(exact_log(f64::NAN), Bounds::WHOLE_LINE);
    let extremes = ln_add_exp(exact_log(f64::MAX), exact_log(f64::MIN));
    assert_eq!((extremes.lower(), extremes.upper().is_infinite()), (f64::MAX, true));
    let apart = ln_sub_exp(exact_log(f64::MAX), exact_log(f64::MIN));
    assert!(apart.contains(f64::MAX));
}

#[test]
fn the_same_formulas_at_higher_precision() {
    let mut random = Random(4);
    for _ in 0..60 {
        let x = -(random.between(-30.0, 7.0)).exp();
        for precision in [64, 200] {
            let big = Big::exact(x, precision);
            for (ball, truth) in [
                (ln_one_minus_exp(big.clone()), (Float::with_val(BITS, 1) - exp(x)).ln()),
                (ln_one_plus_exp(big.clone()), (Float::with_val(BITS, 1) + exp(x)).ln()),
                (ln_one_plus_exp(-big), (Float::with_val(BITS, 1) + exp(-x)).ln()),
            ] {
                assert_tight(ball.bounds(), &truth, 2.0, 0.0, &format!("{x}"));
            }
        }
    }
}

#[test]
fn many_terms_stay_narrow() {
    let mut random = Random(5);
    for round in 0..60 {
        let count = if round < 50 { 1 + random.bits() % 60 } else { 1500 };
        let shift = random.between(-3000.0, 3000.0);
        let terms: Vec<f64> = (0..count)
            .map(|i| match round % 5 {
                0 => shift + random.between(-3.0, 3.0),
                1 => shift + random.between(-2000.0, 2000.0),
                // Each larger than all before: the anchor has to follow.
                2 => shift + i as f64 * 37.3,
                3 => shift - i as f64 * 0.7,
                _ if i % 3 == 0 => f64::NEG_INFINITY,
                _ => shift + random.between(-40.0, 0.0),
            })
            .collect();
        let truth = terms.iter().fold(Float::new(BITS), |sum, x| sum + exp(*x)).ln();
        if !truth.is_finite() {
            continue;
        }
        let bounds = ln_sum_exp(terms.iter().map(|x| exact_log(*x)));
        assert_tight(
            bounds,
            &truth,
            2.0,
            4e-15,
            &format!("{count} terms of kind {} about {shift}", round % 5),
        );
    }
}

/// A tiny first term sets the anchor; the result near zero does not suffer.
#[test]
fn probabilities_that_add_up_to_one() {
    for first in [-700.0, -590.0, -20.0, 0.0] {
        let mut sum = LogSum::new();
        sum.add(exact_log(first));
        let count = 3000u32;
        let term = -f64::from(count).ln();
        (0..count).for_each(|_| sum.add(exact_log(term)));
        let truth = (exp(first) + exp(term) * count).ln();
        assert_tight(sum.bounds(), &truth, 2.0, 3e-15, "probabilities");
    }
}

#[test]
fn a_hundred_thousand_terms_do_not_widen_the_sum() {
    let sum = ln_sum_exp((0..100_000).map(|i| exact_log(-1e-4 * f64::from(i))));
    // The terms as they are in f64, not the geometric series they stand for.
    let truth = (0..100_000)
        .fold(Float::new(200), |sum, i| sum + Float::with_val(200, -1e-4 * f64::from(i)).exp())
        .ln();
    assert_tight(sum, &truth, 2.0, 2e-15, "a long sum");
}

#[test]
fn sums_of_intervals_zeros_and_infinities() {
    let zero = exact_log(f64::NEG_INFINITY);
    assert_eq!(ln_sum_exp([]), zero);
    assert_eq!(ln_sum_exp([zero, zero]), zero);
    assert_eq!(ln_sum_exp([exact_log(-1234.5), zero]), exact_log(-1234.5));
    assert_eq!(
        ln_sum_exp([exact_log(5.0), exact_log(f64::INFINITY), exact_log(7.0)]),
        exact_log(f64::INFINITY)
    );
    assert_eq!(ln_sum_exp([Bounds::new(-2000.0, 0.0)]), Bounds::new(-2000.0, 0.0));
    let wide = ln_sum_exp([Bounds::new(-2000.0, 0.0), Bounds::new(-2000.0, 10.0)]);
    assert!(
        (wide.lower() - (-2000.0 + 2f64.ln())).abs() < 1e-12
            && (wide.upper() - 10.0000454).abs() < 1e-7
    );
    assert_eq!(ln_sum_exp([Bounds::WHOLE_LINE, exact_log(1.0)]), Bounds::new(1.0, f64::INFINITY));
    let far = ln_sum_exp([exact_log(-1e308), exact_log(1e308), exact_log(-1e308)]);
    assert!(far.contains(1e308) && far.width() <= 4e292);
}
