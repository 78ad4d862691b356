//! Root finding against known roots, with the evaluations counted.
#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::root::{
    Direction, Range, RootError, greatest_at_most, greatest_where, least_at_most, least_where,
    monotone_root,
};
use reticent_numerics::{Bounds, Enclosure};
use std::cell::Cell;

/// The root and the number of evaluations it took.
fn counted(f: impl Fn(Bounds) -> Bounds, range: Range, direction: Direction) -> (Bounds, u32) {
    let count = Cell::new(0);
    let root = monotone_root(
        |x| {
            count.set(count.get() + 1);
            f(Bounds::exact(x))
        },
        range,
        direction,
    );
    (root.unwrap_or_else(|error| panic!("{range:?}: {error}")), count.get())
}

fn steps_apart(bounds: Bounds) -> u64 {
    assert!(bounds.lower() >= 0.0);
    bounds.upper().to_bits() - bounds.lower().to_bits()
}

#[test]
fn smooth_functions_take_about_a_dozen_evaluations() {
    type Case = (&'static str, fn(Bounds) -> Bounds, f64, f64, f64, u32);
    let cases: [Case; 8] = [
        ("x^2 - 2", |x| x.square() - Bounds::exact(2.0), 1.0, 2.0, 2f64.sqrt(), 14),
        ("exp x - 3", |x| x.exp() - Bounds::exact(3.0), 0.5, 2.0, 3f64.ln(), 14),
        ("ln x - 1", |x| x.ln() - Bounds::ONE, 1.0, 8.0, std::f64::consts::E, 14),
        ("x exp x - 1", |x| x * x.exp() - Bounds::ONE, 0.1, 2.0, 0.567_143_290_409_784, 14),
        ("x^3 - 1e-3", |x| x.powi(3) - Bounds::exact(1e-3), 0.01, 1.0, 0.1, 14),
        ("x - 1e10", |x| x - Bounds::exact(1e10), 1.0, 1e20, 1e10, 30),
        (
            "x^5 + x - 100",
            |x| x.powi(5) + x - Bounds::exact(100.0),
            0.5,
            4.0,
            2.499_203_570_440_938_5,
            18,
        ),
        ("exp x - 1e8", |x| x.exp() - Bounds::exact(1e8), 1.0, 700.0, 1e8f64.ln(), 30),
    ];
    for (name, f, low, high, expected, budget) in cases {
        let (root, count) = counted(f, Range::between(low, high), Direction::Increasing);
        println!("{name}: {root:?}, {count} evaluations, {} steps", steps_apart(root));
        assert!((root.estimate() / expected - 1.0).abs() < 1e-15, "{name}: {root:?}");
        assert!(count <= budget, "{name}: {count} evaluations");
        assert!(steps_apart(root) <= 6, "{name}: {root:?}");
    }
}

#[test]
fn random_powers_are_inverted_in_both_directions() {
    let mut random = Random(1);
    let (mut total, mut worst) = (0, 0);
    for _ in 0..2000 {
        let exponent = random.between(0.2, 6.0);
        let target = random.between(-30.0, 30.0).exp();
        let guess = target.powf(1.0 / exponent) * random.between(-3.0, 3.0).exp();
        let range = Range::POSITIVE.bracket_from(guess);
        let f = |x: Bounds| x.pow(exponent) - Bounds::exact(target);
        let (root, count) = counted(f, range, Direction::Increasing);
        let (mirrored, _) = counted(|x| -f(x), range, Direction::Decreasing);
        assert_eq!(root, mirrored);
        total += count;
        worst = worst.max(count);
        // x = target^(1/exponent), by MPFR.
        let truth = {
            use rug::ops::Pow;
            let exponent = rug::Float::with_val(200, exponent).recip();
            rug::Float::with_val(200, target).pow(exponent)
        };
        assert!(root.lower() <= truth && truth <= root.upper(), "{exponent} {target}: {root:?}");
        assert!(steps_apart(root) <= 4 + (4.0 / exponent) as u64, "{exponent} {target}: {root:?}");
    }
    println!("mean {}, worst {worst} evaluations", total as f64 / 2000.0);
    assert!(total <= 2000 * 16 && worst <= 40, "mean {}, worst {worst}", total as f64 / 2000.0);
}

#[test]
fn extreme_roots_are_found() {
    for root in [5e-324, 1e-320, 2.3e-308, 1e-300, 1.0, 1e300, f64::MAX.next_down()] {
        for range in [
            Range::POSITIVE,
            Range::EVERYWHERE,
            Range::between(0.0, f64::MAX),
            Range::POSITIVE.bracket_from(root),
        ] {
            let (found, count) = counted(|x| x - Bounds::exact(root), range, Direction::Increasing);
            assert_eq!(found, Bounds::exact(root), "{range:?}");
            assert!(count <= 140, "{root:e} in {range:?}: {count}");
            let (found, _) =
                counted(|x| x + Bounds::exact(root), Range::EVERYWHERE, Direction::Increasing);
            assert_eq!(found, Bounds::exact(-root));
        }
    }
    let (zero, _) = counted(|x| x, Range::between(-1.0, 3.0), Direction::Increasing);
    assert_eq!(zero, Bounds::ZERO);
}

#[test]
fn roots_at_the_ends_of_the_range_count() {
    let f = |x: Bounds| x - Bounds::exact(3.0);
    for range in [Range::between(3.0, 9.0), Range::between(-3.0, 3.0), Range::between(3.0, 3.0)] {
        assert_eq!(counted(f, range, Direction::Increasing).0, Bounds::exact(3.0));
    }
}

#[test]
fn flat_and_steep_functions_are_bracketed() {
    // Zero on all of [1, 2]: the stretch is the answer.
    let flat = |x: Bounds| {
        (x - Bounds::exact(2.0)).max(Bounds::ZERO) - (Bounds::ONE - x).max(Bounds::ZERO)
    };
    assert_eq!(
        counted(flat, Range::between(-5.0, 7.0), Direction::Increasing).0,
        Bounds::new(1.0, 2.0)
    );
    // All derivatives vanish at the root.
    let touching = |x: Bounds| (x - Bounds::exact(0.7)).powi(9);
    let (root, count) = counted(touching, Range::between(0.1, 2.0), Direction::Increasing);
    assert!(root.contains(0.7) && count <= 250, "{root:?}, {count}");
    let steep =
        |x: Bounds| (Bounds::exact(1e6) * (x - Bounds::exact(0.3))).exp() - Bounds::exact(1e5);
    let (root, count) = counted(steep, Range::between(0.0, 0.3005), Direction::Increasing);
    assert!(root.contains(0.3 + 1e-6 * 1e5f64.ln()) && steps_apart(root) <= 40, "{root:?}");
    println!("steep: {count} evaluations");
}

#[test]
fn a_step_is_located_between_neighbours() {
    let mut random = Random(2);
    for _ in 0..200 {
        let jump = random.between(-40.0, 40.0).exp();
        let step =
            |x: Bounds| if x.lower() < jump { Bounds::exact(-1.0) } else { Bounds::exact(1e-9) };
        let (root, count) = counted(step, Range::POSITIVE, Direction::Increasing);
        assert_eq!(root, Bounds::new(jump.next_down(), jump));
        assert!(count <= 256, "{count} evaluations");
    }
}

#[test]
fn wide_evaluations_give_the_interval_that_they_cannot_decide() {
    // x - 1 known to ±1/8: undecided on the open interval from 7/8 to 9/8.
    let f = |x: Bounds| x - Bounds::ONE + Bounds::new(-0.125, 0.125);
    let (root, count) = counted(f, Range::between(0.1, 10.0), Direction::Increasing);
    assert_eq!(root, Bounds::new(0.875, 1.125));
    println!("wide: {count} evaluations");
}

#[test]
fn noise_never_puts_an_end_on_the_wrong_side() {
    let mut random = Random(3);
    for _ in 0..2000 {
        let truth = random.between(-20.0, 20.0).exp();
        let noise = truth * random.between(-30.0, -3.0).exp();
        let seed = random.bits();
        // Enclosures of ln(x/truth) whose ends are off by a random amount that differs from x to x.
        let f = |x: Bounds| {
            let mut local = Random(seed ^ x.lower().to_bits());
            let exact = (x.lower() / truth).ln();
            Bounds::new(
                exact - local.between(0.0, noise / truth) - 1e-15,
                exact + local.between(0.0, noise / truth) + 1e-15,
            )
        };
        let (root, count) = counted(f, Range::POSITIVE.bracket_from(1.0), Direction::Increasing);
        assert!(root.lower() <= truth && truth <= root.upper(), "{truth}: {root:?}");
        assert!(
            f(Bounds::exact(root.lower())).upper() <= 0.0
                && f(Bounds::exact(root.upper())).lower() >= 0.0
        );
        assert!(root.width() <= 2.5 * noise + 1e-14 * truth, "{truth}, {noise:e}: {root:?}");
        assert!(count <= 150, "{count} evaluations");
    }
}

#[test]
fn a_function_that_is_not_monotone_still_gives_proved_ends() {
    let mut random = Random(4);
    for _ in 0..500 {
        let (amplitude, pitch) = (random.between(0.0, 4.0), random.between(1.0, 200.0));
        let f = |x: f64| {
            let value = x - 5.0 + amplitude * (pitch * x).sin();
            Bounds::new(value - 1e-9, value + 1e-9)
        };
        let root = monotone_root(f, Range::between(0.0, 10.0), Direction::Increasing).unwrap();
        let (low, high) = (f(root.lower()), f(root.upper()));
        let proved = low.upper() <= 0.0 && high.lower() >= 0.0;
        let proved_in_reverse = low.lower() >= 0.0 && high.upper() <= 0.0;
        assert!(proved || proved_in_reverse, "{root:?}: {low:?}, {high:?}");
    }
}

#[test]
fn a_domain_edge_that_proves_nothing_is_walked_away_from() {
    // 1/x is the whole line at zero.
    let f = |x: Bounds| x.ln() - Bounds::ONE / x;
    let (root, _) = counted(f, Range::between(0.0, 100.0), Direction::Increasing);
    assert!(root.contains(1.763_222_834_351_896_7) && steps_apart(root) <= 4, "{root:?}");
    let g = |x: Bounds| if x.lower() > 1e6 { Bounds::WHOLE_LINE } else { x - Bounds::exact(17.5) };
    let (root, _) = counted(g, Range::between(1.0, 1e8), Direction::Increasing);
    assert_eq!(root, Bounds::exact(17.5));
}

#[test]
fn failures_name_what_is_wrong() {
    let shifted = |by: f64| move |x: f64| Bounds::exact(x) + Bounds::exact(by);
    let unit = Range::between(0.0, 1.0);
    let same = monotone_root(shifted(1.0), unit, Direction::Increasing).unwrap_err();
    assert_eq!(same, RootError::NoSignChange { lower: 0.0, upper: 1.0 });
    assert_eq!(monotone_root(shifted(-3.0), unit, Direction::Increasing).unwrap_err(), same);
    let wrong_way = monotone_root(shifted(-0.5), unit, Direction::Decreasing).unwrap_err();
    assert_eq!(
        wrong_way,
        RootError::WrongDirection { direction: Direction::Decreasing, lower: 0.0, upper: 1.0 }
    );
    let blind = monotone_root(|_| Bounds::WHOLE_LINE, unit, Direction::Increasing).unwrap_err();
    assert_eq!(blind, RootError::Indeterminate { lower: 0.0, upper: 1.0 });
    assert!(blind.to_string().contains("too wide"));
    for (low, high) in
        [(f64::NAN, 1.0), (0.0, f64::NAN), (2.0, 1.0), (f64::INFINITY, f64::INFINITY)]
    {
        let error = monotone_root(shifted(0.0), Range::between(low, high), Direction::Increasing)
            .unwrap_err();
        assert!(matches!(error, RootError::EmptyRange { .. }), "{error}");
    }
    let guess = monotone_root(shifted(0.0), unit.bracket_from(f64::NAN), Direction::Increasing);
    assert!(matches!(guess, Err(RootError::EmptyRange { .. })));
    assert_eq!(
        least_where(|_| false, unit),
        Err(RootError::NeverProved { lower: 0.0, upper: 1.0 })
    );
    assert_eq!(
        greatest_where(|_| false, Range::between(1.0, 2.0)),
        Err(RootError::NeverProved { lower: 1.0, upper: 2.0 })
    );
}

#[test]
fn thresholds_of_predicates_are_exact_to_the_last_bit() {
    let mut random = Random(5);
    for _ in 0..500 {
        let threshold = random.between(-600.0, 600.0).exp();
        let count = Cell::new(0);
        let least = least_where(
            |x| {
                count.set(count.get() + 1);
                x >= threshold
            },
            Range::POSITIVE.bracket_from(threshold * 5.0),
        );
        assert_eq!(least, Ok(threshold));
        assert!(count.get() <= 60, "{}", count.get());
        assert_eq!(greatest_where(|x| x <= threshold, Range::EVERYWHERE), Ok(threshold));
        assert_eq!(least_where(|x| x >= -threshold, Range::EVERYWHERE), Ok(-threshold));
    }
    assert_eq!(least_where(|_| true, Range::between(0.25, 1.0)), Ok(0.25));
    assert_eq!(greatest_where(|_| true, Range::between(0.25, 1.0)), Ok(1.0));
    assert!(greatest_where(|x| x <= 0.0, Range::between(-1.0, 1.0)).unwrap().is_sign_positive());
}

#[test]
fn a_tolerance_saves_calls_and_stays_proved() {
    for tolerance in [1e-3, 1e-6, 1e-9] {
        let count = Cell::new(0);
        let range = Range::between(1.0, 1000.0).to_within(tolerance);
        let least = least_where(
            |x| {
                count.set(count.get() + 1);
                x > 77.7
            },
            range,
        )
        .unwrap();
        assert!(least > 77.7 && least <= 77.7 * (1.0 + tolerance), "{least}");
        assert!(f64::from(count.get()) <= 7.0 - tolerance.log2(), "{}", count.get());
    }
}

#[test]
fn a_tolerance_that_makes_no_sense_means_the_finest_or_the_coarsest() {
    for tolerance in [f64::NAN, -1.0, 0.0, 1e-300] {
        assert_eq!(
            least_where(|x| x >= 0.3, Range::between(0.1, 1.0).to_within(tolerance)),
            Ok(0.3)
        );
    }
    assert_eq!(
        least_where(|x| x >= 0.3, Range::between(0.1, 1.0).to_within(f64::INFINITY)),
        Ok(1.0)
    );
}

/// The tail of the Gaussian mechanism falls over hundreds of orders of magnitude: exp(-x^2/2) here.
#[test]
fn calibration_finds_the_least_scale_whose_figure_is_within_the_limit() {
    let mut random = Random(6);
    let (mut total, mut worst) = (0, 0);
    for _ in 0..1000 {
        let limit = random.between(-600.0, -0.01).exp();
        let tail = |x: Bounds| (-x.square().times_power_of_two(-1)).exp();
        let count = Cell::new(0);
        let least = least_at_most(
            |x| {
                count.set(count.get() + 1);
                tail(Bounds::exact(x))
            },
            limit,
            Range::POSITIVE.bracket_from(1.0),
        )
        .unwrap();
        total += count.get();
        worst = worst.max(count.get());
        assert!(tail(Bounds::exact(least)).upper() <= limit);
        assert!(tail(Bounds::exact(least.next_down())).upper() > limit);
        let greatest =
            greatest_at_most(|x| tail(Bounds::exact(-x)), limit, Range::between(-100.0, 0.0))
                .unwrap();
        assert_eq!(greatest, -least);
    }
    println!("calibration: mean {}, worst {worst} evaluations", f64::from(total) / 1000.0);
    assert!(total <= 1000 * 14 && worst <= 30, "mean {}, worst {worst}", f64::from(total) / 1000.0);
}
