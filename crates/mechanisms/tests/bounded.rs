//! Golden values, errata and properties of the mechanisms for bounded queries.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    BoundedQuery, Certificate, Clamped, ContinuousExponential, Delta, Distance, Epsilon,
    GeneralizedGaussian, GeneralizedGaussianMethod, InflatedGeneralizedGaussian, Mechanism, Order,
    Scale, Sensitivity, TruncatedGeneralizedGaussian, TruncatedMethod, utility_sensitivity,
};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;
use serde_json::Value;

fn number(row: &Value, key: &str) -> f64 {
    match &row[key] {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

fn query(lower: f64, upper: f64, sensitivity: f64) -> BoundedQuery {
    BoundedQuery::new(lower, upper, Distance::new(sensitivity).unwrap()).unwrap()
}

fn order(p: f64) -> Order {
    Order::new(p).unwrap()
}

fn budget(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap()
}

fn certified(mechanism: &dyn Mechanism) -> Bounds {
    let Certificate::Epsilon(bounds) = mechanism.certificate() else {
        panic!("an epsilon was guaranteed")
    };
    bounds
}

#[test]
fn scales_are_the_reference_values() {
    let all: Value =
        serde_json::from_str(include_str!("../../../reference/trunc_gg.json")).unwrap();
    for row in all["rows"].as_array().unwrap() {
        let (p, epsilon, share) =
            (order(number(row, "p")), number(row, "eps"), number(row, "Delta_over_R"));
        let bounded = query(0.0, 1.0, share);
        let truncated = |method| {
            TruncatedGeneralizedGaussian::calibrate(
                p,
                method,
                bounded.bounds(),
                &bounded.into(),
                budget(epsilon),
            )
            .unwrap()
        };
        let mechanisms: [(Box<dyn Mechanism>, &str); 4] = [
            (Box::new(truncated(TruncatedMethod::Exact)), "b_exact"),
            (Box::new(truncated(TruncatedMethod::Paper)), "b_seed"),
            (
                Box::new(
                    ContinuousExponential::calibrate(
                        p,
                        bounded.bounds(),
                        &bounded.into(),
                        budget(epsilon),
                    )
                    .unwrap(),
                ),
                "b_tight_exponential",
            ),
            (
                Box::new(
                    InflatedGeneralizedGaussian::calibrate(
                        p,
                        bounded.bounds(),
                        &bounded.into(),
                        budget(epsilon),
                    )
                    .unwrap(),
                ),
                "b_bit_exact",
            ),
        ];
        for (mechanism, key) in mechanisms {
            let truth = number(row, key);
            let ratio = mechanism.scale() / truth - 1.0;
            // A sensitivity that is no multiple of the lattice's spacing grows by up to a step, and
            // so does the range by three.
            let spacing = mechanism.releaser().unwrap().spacing();
            let lattice = spacing * (1.0 / share + 3.0);
            assert!(
                (-1e-14..=1e-13 + lattice).contains(&ratio),
                "{key} {row}: {} is off by {ratio:e}",
                mechanism.scale()
            );
            let spent = certified(mechanism.as_ref());
            assert!(spent.upper() <= epsilon, "{key} {row} {spent:?}");
            if key == "b_exact" || key == "b_bit_exact" {
                assert!(spent.lower() >= epsilon * (1.0 - 1e-12), "{key} {row} {spent:?}");
            }
        }
    }
}

/// The loss straight from the densities, on a grid of outputs and pairs of answers.
fn loss_on_a_grid(p: f64, scale: f64, range: f64, sensitivity: f64) -> f64 {
    let density = |s: f64, y: f64| (-((y - s).abs() / scale).powf(p)).exp();
    let cells = 4000;
    let mass = |s: f64| {
        (0..cells).map(|i| density(s, (f64::from(i) + 0.5) * range / f64::from(cells))).sum::<f64>()
    };
    let mut worst = 0.0f64;
    for i in 0..=40 {
        let s = (range - sensitivity) * f64::from(i) / 40.0;
        let normaliser = (mass(s) / mass(s + sensitivity)).ln();
        for j in 0..=40 {
            let y = range * f64::from(j) / 40.0;
            let power = |s: f64| ((y - s).abs() / scale).powf(p);
            worst = worst.max((power(s) - power(s + sensitivity) + normaliser).abs());
        }
    }
    worst
}

#[test]
fn the_worst_loss_is_the_largest_on_a_grid() {
    for p in [1.0, 1.2, 1.5, 1.8, 2.0, 2.2, 3.0, 5.5] {
        for (scale, sensitivity) in [(0.2, 0.1), (0.5, 0.5), (1.0, 0.9), (2.0, 0.3)] {
            let mechanism = TruncatedGeneralizedGaussian::with_scale(
                order(p),
                query(0.0, 1.0, sensitivity),
                Scale::new(scale).unwrap(),
            )
            .unwrap();
            let (bounds, grid) =
                (certified(&mechanism), loss_on_a_grid(p, scale, 1.0, sensitivity));
            // Inner maxima lie between grid points, to second order.
            assert!(
                grid <= bounds.upper() * (1.0 + 1e-6) && grid >= bounds.lower() * (1.0 - 2e-3),
                "{p} {scale} {sensitivity}: {bounds:?} {grid}"
            );
            assert!(bounds.relative_width() < 1e-11, "{p} {scale} {sensitivity}: {bounds:?}");
        }
    }
}

/// The unclamped profile, the atom, and zero: against sums over outputs.
#[test]
fn the_inflated_profile_is_a_sum_over_outputs() {
    for (p, scale, sensitivity) in
        [(2.0, 0.5, 0.3), (3.0, 0.8, 0.5), (1.0, 0.4, 0.2), (2.0, 1.5, 1.0)]
    {
        let mechanism = InflatedGeneralizedGaussian::with_scale(
            order(p),
            query(0.0, 1.0, sensitivity),
            Scale::new(scale).unwrap(),
        )
        .unwrap();
        let free = GeneralizedGaussian::with_scale(
            order(p),
            Scale::new(scale).unwrap(),
            &Sensitivity::from(&[Distance::new(sensitivity).unwrap()][..]),
            budget(1.0),
        )
        .unwrap();
        let tail = |x: f64| {
            let within = free.usefulness(x.abs()).unwrap().estimate();
            if x >= 0.0 { 0.5 - 0.5 * within } else { 0.5 + 0.5 * within }
        };
        let spent = certified(&mechanism).upper();
        for share in [0.0, 0.2, 0.6, 0.9, 0.99] {
            let epsilon = share * spent;
            let mut worst = 0.0f64;
            for i in 0..=20 {
                let s = (1.0 - sensitivity) * f64::from(i) / 20.0;
                let cells = 400;
                let cell = |answer: f64, j: i32| {
                    tail(f64::from(j) / 400.0 - answer) - tail(f64::from(j + 1) / 400.0 - answer)
                };
                let positive = |from: f64, to: f64| (from - epsilon.exp() * to).max(0.0);
                let inside: f64 =
                    (0..cells).map(|j| positive(cell(s + sensitivity, j), cell(s, j))).sum();
                worst = worst.max(inside + positive(tail(1.0 - s - sensitivity), tail(1.0 - s)));
            }
            let bounds = mechanism.delta(epsilon).unwrap();
            assert!(
                worst <= bounds.upper() + 1e-12 && worst >= bounds.lower() - 1e-4,
                "{p} {scale} {epsilon}: {bounds:?} {worst}"
            );
            assert!(bounds.relative_width() < 1e-10, "{bounds:?}");
        }
        assert_eq!(mechanism.delta(spent).unwrap(), Bounds::ZERO);
    }
}

#[test]
fn truncated_profiles_are_sound_and_ordered() {
    let mechanism = TruncatedGeneralizedGaussian::calibrate(
        order(3.0),
        TruncatedMethod::Exact,
        query(-1.0, 3.0, 1.0).bounds(),
        &query(-1.0, 3.0, 1.0).into(),
        budget(1.0),
    )
    .unwrap();
    let mut before = 1.0;
    for i in 0..20 {
        let bounds = mechanism.delta(0.05 * f64::from(i)).unwrap();
        assert!(
            0.0 < bounds.lower() && bounds.lower() <= bounds.upper() && bounds.upper() <= before,
            "{i} {bounds:?}"
        );
        before = bounds.upper();
    }
    assert_eq!(mechanism.delta(1.0).unwrap(), Bounds::ZERO);
}

/// Eqns 7 and 8 with a nominal 0.1 at order 2 and `D = R` cost 0.1565 once the atoms count.
#[test]
fn erratum_l6_the_paper_s_scale_is_not_enough_for_inflated_bounds() {
    let bounded = query(0.0, 1.0, 1.0);
    let paper = TruncatedGeneralizedGaussian::calibrate(
        order(2.0),
        TruncatedMethod::Paper,
        bounded.bounds(),
        &bounded.into(),
        budget(0.1),
    )
    .unwrap();
    let scale = Scale::new(paper.scale()).unwrap();
    let spent =
        certified(&InflatedGeneralizedGaussian::with_scale(order(2.0), bounded, scale).unwrap());
    assert!((spent.lower() - 0.1565).abs() < 5e-5, "{spent:?}");
    assert!(certified(&paper).upper() <= 0.1);
}

/// Where the paper sees no practical solution there is a monotone root: the calibrated scale spends
/// all of epsilon.
#[test]
fn erratum_l7_the_inflated_scale_is_a_monotone_root() {
    for p in [1.0, 1.5, 2.0, 6.0] {
        let mut before = f64::INFINITY;
        for epsilon in [1e-3, 0.1, 1.0, 5.0, 50.0] {
            let mechanism = InflatedGeneralizedGaussian::calibrate(
                order(p),
                query(-2.0, 2.0, 0.5).bounds(),
                &query(-2.0, 2.0, 0.5).into(),
                budget(epsilon),
            )
            .unwrap();
            let spent = certified(&mechanism);
            assert!(
                spent.upper() <= epsilon && spent.lower() >= epsilon * (1.0 - 1e-12),
                "{p} {epsilon} {spent:?}"
            );
            assert!(mechanism.scale() < before);
            before = mechanism.scale();
        }
    }
}

/// Eqn 17's sigma for epsilon 1 and delta 0.05 is Corollary 9 at order 2. Clamped at 4.416, the
/// upper atom has a ratio above e and a mass above delta.
#[test]
fn erratum_l4_clamping_breaks_a_probabilistic_guarantee_and_keeps_an_approximate_one() {
    let calibrate = |method| {
        let one = [Distance::new(1.0).unwrap()];
        GeneralizedGaussian::calibrate(
            order(2.0),
            method,
            &Sensitivity::from(&one[..]),
            (budget(1.0), Delta::new(0.05).unwrap()),
        )
        .unwrap()
    };
    let probabilistic = calibrate(GeneralizedGaussianMethod::Probabilistic);
    let sigma = probabilistic.scale() / 2f64.sqrt();
    let mass = |distance: f64| normal_sf(Bounds::exact(distance / sigma)).estimate();
    let (with, without) = (mass(4.416 - 1.0), mass(4.416));
    assert!((with - 0.0593).abs() < 2e-4 && with > 0.05, "{with}");
    assert!(with / without > 1f64.exp(), "{}", with / without);
    assert!(Clamped::new(Box::new(probabilistic), 0.0, 4.415).is_err());

    let approximate = calibrate(GeneralizedGaussianMethod::Exact);
    let delta = approximate.delta(1.0).unwrap();
    let clamped = Clamped::new(Box::new(approximate), 0.0, 4.415).unwrap();
    assert_eq!(clamped.delta(1.0).unwrap().upper(), delta.upper());
    let releaser = clamped.releaser().unwrap();
    let mut random = reticent_noise::randomness::SeededRandom::new(1);
    assert!(
        (0..1000).all(|_| (0.0..=4.415).contains(&releaser.release(2.0, &mut random).unwrap()))
    );
}

/// Laplace noise of scale `D/epsilon`, redrawn until it falls into a wide range.
#[test]
fn erratum_l4_redrawing_costs_more_than_it_says() {
    for epsilon in [0.1f64, 1.0, 3.0] {
        let redrawn = TruncatedGeneralizedGaussian::with_scale(
            order(1.0),
            query(0.0, 1024.0, 1.0),
            Scale::new(1.0 / epsilon).unwrap(),
        )
        .unwrap();
        let cost = epsilon + (2.0 - (-epsilon).exp()).ln();
        let spent = certified(&redrawn);
        assert!(
            (spent.estimate() / cost - 1.0).abs() < 1e-11 && spent.lower() > 1.1 * epsilon,
            "{epsilon}: {spent:?} {cost}"
        );
    }
}

/// The exact utility sensitivity, and how little of epsilon the exponential mechanism spends with
/// it.
#[test]
fn erratum_l5_the_utility_sensitivity_is_exact_and_the_exponential_mechanism_loose() {
    let bounded = query(1.0, 3.0, 0.5);
    let exact = utility_sensitivity(order(3.0), bounded);
    assert!(exact.contains(8.0 - 1.5f64.powi(3)) && exact.relative_width() < 1e-14, "{exact:?}");
    // On a grid of answers and outputs nothing exceeds it.
    let mut largest = 0.0f64;
    for i in 0..=60 {
        for j in 0..=80 {
            let (s, y) = (1.5 * f64::from(i) / 60.0, 2.0 * f64::from(j) / 80.0);
            largest = largest.max(((y - s - 0.5).abs().powi(3) - (y - s).abs().powi(3)).abs());
        }
    }
    assert!(largest <= exact.upper() && largest > 0.999 * exact.lower());
    for p in [1.0, 2.0, 3.0] {
        let exponential = ContinuousExponential::calibrate(
            order(p),
            bounded.bounds(),
            &bounded.into(),
            budget(1.0),
        )
        .unwrap();
        let tight = TruncatedGeneralizedGaussian::calibrate(
            order(p),
            TruncatedMethod::Exact,
            bounded.bounds(),
            &bounded.into(),
            budget(1.0),
        )
        .unwrap();
        assert!(
            certified(&exponential).upper() < 0.95 && exponential.scale() > 1.03 * tight.scale()
        );
    }
}

#[test]
fn releases_stay_within_the_bounds() {
    let bounded = query(-0.9, 1.1, 0.25);
    let mechanisms: [Box<dyn Mechanism>; 2] = [
        Box::new(
            TruncatedGeneralizedGaussian::calibrate(
                order(2.0),
                TruncatedMethod::Exact,
                bounded.bounds(),
                &bounded.into(),
                budget(1.0),
            )
            .unwrap(),
        ),
        Box::new(
            InflatedGeneralizedGaussian::calibrate(
                order(2.0),
                bounded.bounds(),
                &bounded.into(),
                budget(1.0),
            )
            .unwrap(),
        ),
    ];
    for mechanism in mechanisms {
        let releaser = mechanism.releaser().unwrap();
        let mut random = reticent_noise::randomness::SeededRandom::new(3);
        let errors = mechanism.errors().unwrap();
        let half = mechanism.usefulness(0.4).unwrap();
        for answer in [-0.9, 0.0, 0.7, 5.0, f64::NAN] {
            let truth = if answer.is_nan() { -0.9 } else { f64::clamp(answer, -0.9, 1.1) };
            let draws: Vec<f64> =
                (0..4000).map(|_| releaser.release(answer, &mut random).unwrap()).collect();
            assert!(draws.iter().all(|y| (-0.9..=1.1).contains(y)));
            // Errors are at most 2: five standard deviations of a mean of 4000 are at most 0.16, of
            // a share 0.04.
            let mean = draws.iter().map(|y| (y - truth).abs()).sum::<f64>() / 4000.0;
            assert!(mean <= errors.mean_absolute.upper() + 0.1, "{answer} {mean} {errors:?}");
            let share = draws.iter().filter(|&y| (y - truth).abs() <= 0.4).count() as f64 / 4000.0;
            assert!(share >= half.lower() - 0.04, "{answer} {share} {half:?}");
            assert!(
                draws.iter().filter(|&y| (y - truth).abs() <= errors.quantile_95.upper()).count()
                    > 3700
            );
        }
    }
}

#[test]
fn impossible_bounds_are_refused() {
    let distance = Distance::new(1.0).unwrap();
    for (lower, upper) in [
        (0.0, 0.0),
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (0.0, f64::NAN),
        (f64::NEG_INFINITY, 0.0),
        (0.0, f64::INFINITY),
        (1e30, 1e30 + 1e15),
    ] {
        assert!(BoundedQuery::new(lower, upper, distance).is_err(), "{lower} {upper}");
    }
    let bounded = query(0.0, 1.0, 1.0);
    assert!(
        InflatedGeneralizedGaussian::calibrate(
            order(0.5),
            bounded.bounds(),
            &bounded.into(),
            budget(1.0)
        )
        .is_err()
    );
    assert!(
        InflatedGeneralizedGaussian::calibrate(
            order(2.0),
            bounded.bounds(),
            &bounded.into(),
            budget(0.0)
        )
        .is_err()
    );
    assert!(
        TruncatedGeneralizedGaussian::calibrate(
            order(2.0),
            TruncatedMethod::Exact,
            bounded.bounds(),
            &bounded.into(),
            budget(0.0)
        )
        .is_err()
    );
}

/// The profile straight from the densities: midpoint sums on a grid of pairs of answers, in both
/// directions, for all moves up to the sensitivity.
fn delta_on_a_grid(p: f64, scale: f64, sensitivity: f64, epsilon: f64) -> f64 {
    let cells = 2000;
    let density = |s: f64| {
        let values: Vec<f64> = (0..cells)
            .map(|i| (-(((f64::from(i) + 0.5) / f64::from(cells) - s).abs() / scale).powf(p)).exp())
            .collect();
        let sum: f64 = values.iter().sum();
        values.into_iter().map(|value| value / sum).collect::<Vec<f64>>()
    };
    let divergence = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).map(|(a, b)| (a - epsilon.exp() * b).max(0.0)).sum::<f64>()
    };
    let mut worst = 0.0f64;
    for (share, steps) in [(0.5, 20), (0.9, 20), (1.0, 150)] {
        let moved = share * sensitivity;
        for i in 0..=steps {
            let s = (1.0 - moved) * f64::from(i) / f64::from(steps);
            let (low, high) = (density(s), density(s + moved));
            worst = worst.max(divergence(&low, &high)).max(divergence(&high, &low));
        }
    }
    worst
}

/// Noise so wide that all answers are nearly equally bad, where the slope of the divergence in the
/// answer is a small remainder.
#[test]
fn profiles_of_nearly_uniform_noise_are_sharp() {
    for (p, scale) in
        [(1.0, 100.0), (1.5, 20.0), (2.0, 20.0), (2.0, 5.0), (3.0, 20.0), (4.0, 100.0), (10.0, 2.0)]
    {
        for sensitivity in [0.01, 0.3] {
            let mechanism = truncated(p, scale, sensitivity);
            let pure = certified(&mechanism).upper();
            for share in [0.0, 1e-3, 0.5, 0.99] {
                let bounds = mechanism.delta(share * pure).unwrap();
                assert!(
                    bounds.relative_width() < 2e-12,
                    "{p} {scale} {sensitivity} {share}: {bounds:?}"
                );
            }
        }
    }
}

#[test]
fn the_truncated_profile_is_the_largest_on_a_grid() {
    for p in [1.0, 1.3, 2.0, 3.0, 6.0] {
        for (scale, sensitivity) in
            [(0.2, 0.1), (0.3, 0.5), (1.0, 0.9), (0.05, 0.05), (2.0, 0.3), (0.5, 1.0)]
        {
            let mechanism = truncated(p, scale, sensitivity);
            let pure = certified(&mechanism).upper();
            for share in [0.0, 0.3, 0.7] {
                if share * pure > 700.0 {
                    continue;
                }
                let (bounds, grid) = (
                    mechanism.delta(share * pure).unwrap(),
                    delta_on_a_grid(p, scale, sensitivity, share * pure),
                );
                if bounds.upper() < 1e-100 {
                    // The smaller density is zero for a f64.
                    continue;
                }
                // The sums are coarse where the loss rises quickly from cell to cell.
                let tolerance = if pure < 20.0 { 1e-4 } else { 5e-3 };
                assert!(
                    grid <= bounds.upper() * (1.0 + tolerance)
                        && grid >= bounds.lower() * (1.0 - 5e-3),
                    "{p} {scale} {sensitivity} {share}: {bounds:?} {grid}"
                );
            }
        }
    }
}

fn truncated(p: f64, scale: f64, sensitivity: f64) -> TruncatedGeneralizedGaussian {
    TruncatedGeneralizedGaussian::with_scale(
        order(p),
        query(0.0, 1.0, sensitivity),
        Scale::new(scale).unwrap(),
    )
    .unwrap()
}

/// From ranges that are narrow for the noise, where the answer hardly matters, to wide ones; and up
/// to the pure loss, where delta vanishes.
#[test]
fn truncated_profiles_are_sharp() {
    for p in [1.0, 1.01, 1.3, 2.0, 3.0, 6.0, 20.0] {
        for (scale, sensitivity) in [
            (5.0, 0.03),
            (2.0, 0.3),
            (0.5, 0.1),
            (0.5, 0.5),
            (0.2, 0.05),
            (0.2, 0.9),
            (0.01, 0.003),
            (1.0, 1.0),
        ] {
            let mechanism = truncated(p, scale, sensitivity);
            let pure = certified(&mechanism).upper();
            let mut before = 1.0;
            for share in [0.0, 0.1, 0.4, 0.8, 0.98, 0.999999] {
                // Next to no loss at all: see the documentation of `delta`.
                let nearly_uniform = scale > 4.0 && (share == 0.0 || p > 3.0);
                if share * pure > 700.0 || nearly_uniform {
                    continue;
                }
                let bounds = mechanism.delta(share * pure).unwrap();
                assert!(
                    bounds.upper() < 1e-300 || bounds.relative_width() <= 1e-11,
                    "{p} {scale} {sensitivity} {share}: {bounds:?}"
                );
                assert!(bounds.lower() <= before);
                before = bounds.upper();
            }
            if pure <= 700.0 {
                assert_eq!(mechanism.delta(pure).unwrap(), Bounds::ZERO);
            }
        }
    }
}

/// Section 3 prints, for truncated Gaussian noise of variance `b^2/2`, `b^2 >= A >= B` with
/// `A = 2/epsilon (2 sum R_k D_k + D_2^2)` and `B = 2/epsilon sum (2 R_k D_k + D_k^2)`. But
/// `D_2^2`, the most by which one unit moves the vector, is at most the sum of the most by which it
/// moves each coordinate: so `A <= B`, with equality only where one unit moves all of them at once
/// by the most. Of the two it is `B` that covers a release with any such moves: the losses of the
/// coordinates, added up, are within epsilon.
#[test]
fn erratum_l8_of_the_two_scales_for_truncated_gaussian_noise_the_second_is_the_larger() {
    use reticent_mechanisms::{Neighbours, Sensitivity};
    let (epsilon, range, cells) = (1.0, 10.0, 5);
    let scales = |joint: f64| {
        let crossed = 2.0 * f64::from(cells) * range;
        (2.0 / epsilon * (crossed + joint * joint), 2.0 / epsilon * (crossed + f64::from(cells)))
    };
    // A histogram: each count moves by at most 1, but never all of them.
    for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
        let (a, b) = scales(Sensitivity::histogram(neighbours).l2().unwrap());
        assert!(a < b, "the printed A >= B: {a} {b}");
    }
    // Five counts that one unit moves all at once.
    let (a, b) =
        scales(Sensitivity::per_element(&[1.0; 5], Neighbours::AddRemove).unwrap().l2().unwrap());
    assert!((a / b - 1.0).abs() < 1e-15, "{a} {b}");
    let scale = Scale::new(b.sqrt()).unwrap();
    let one = certified(
        &TruncatedGeneralizedGaussian::with_scale(order(2.0), query(0.0, range, 1.0), scale)
            .unwrap(),
    );
    assert!(f64::from(cells) * one.upper() <= epsilon, "{one:?}");
}
