//! What comes out: noise of the scale that was charged, groups shown as often as was said,
//! half-widths that cover.
#![allow(clippy::unwrap_used, clippy::panic)]

mod error_law;

use reticent_noise::randomness::SeededRandom;
use reticent_release::{
    Contribution, Design, Exact, Grid, Groups, Noisy, Preferences, ReleasePlan, Released,
    Statistic, Totals, plan, plan_with,
};

fn design(
    statistics: Vec<Statistic>,
    groups: Groups,
    max_groups: u32,
    epsilon: f64,
    delta: Option<f64>,
) -> Design {
    Design { statistics, groups, max_groups, epsilon, delta }
}

fn steps(released: &Released, statistic: usize) -> &[i128] {
    match &released.statistics[statistic] {
        Noisy::Numbers { steps, .. } => steps,
        Noisy::Quantiles(_) => panic!("numbers were asked for"),
    }
}

/// One release of many groups with the same total is as many draws.
#[test]
fn noise_and_half_widths_are_those_of_the_plan() {
    let groups = 60_000usize;
    let grid = Grid::around_midpoint(0.0, 100.0, false).unwrap();
    let statistics = vec![
        Statistic::Count { column: None, max_rows: 3 },
        Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(3) },
        Statistic::Units,
    ];
    for (seed, (max_groups, epsilon, delta)) in
        [(1, 2.0, None), (1, 1.0, Some(1e-6)), (4, 1.0, None), (30, 1.0, Some(1e-5))]
            .into_iter()
            .enumerate()
    {
        let plan = plan(&design(
            statistics.clone(),
            Groups::Public(groups as u64),
            max_groups,
            epsilon,
            delta,
        ))
        .unwrap();
        let totals = [1000i128, -(1i128 << 80), 7];
        let exact = Exact {
            units: vec![],
            totals: totals.map(|total| Totals::Integers(vec![total; groups])).to_vec(),
        };
        let released = plan.release(&exact, &mut SeededRandom::new(seed as u64)).unwrap();
        assert_eq!(released.kept.len(), groups);
        for (statistic, total) in totals.into_iter().enumerate() {
            let step = if statistic == 1 { grid.step } else { 1.0 };
            let errors: Vec<f64> = steps(&released, statistic)
                .iter()
                .map(|&noisy| (noisy - total) as f64 * step)
                .collect();
            let (n, claimed) =
                (groups as f64, plan.statistics()[statistic].standard_deviation().unwrap());
            let square = errors.iter().map(|error| error * error).sum::<f64>() / n;
            let fourth = errors.iter().map(|error| error.powi(4)).sum::<f64>() / n;
            let deviation = ((fourth - square * square) / n).sqrt();
            let what = format!("{}: {:?}", plan.reason(), plan.statistics()[statistic].mechanism());
            // Six standard deviations of the mean square and of the mean, 12 cases each: below 1e-6
            // in all.
            assert!(
                (square - claimed * claimed).abs() < 6.0 * deviation,
                "{what}: {square} {claimed}"
            );
            assert!(
                (square - (1.04 * claimed).powi(2)).abs() > 6.0 * deviation,
                "{what}: a scale 4% off is not noticed"
            );
            assert!(
                (errors.iter().sum::<f64>() / n).abs() < 6.0 * claimed / n.sqrt(),
                "{what}: biased"
            );
            let within = |t: f64| errors.iter().filter(|error| error.abs() <= t).count() as f64 / n;
            let width = plan.statistics()[statistic].half_width().unwrap();
            // Six deviations of a share of 0.95 are 0.0054.
            assert!(
                within(width) > 0.95 - 0.0054 && within(0.93 * width - step) < 0.95 + 0.0054,
                "{what}: {}",
                within(width)
            );
        }
    }
}

/// Groups of one, few and many units, many times over.
#[test]
fn groups_are_shown_as_often_as_was_said() {
    let grid = Grid::for_values(0.0, 10.0, true).unwrap();
    let sum = Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(5) };
    let cases = [
        (vec![], 1, "optimal"),
        (vec![Statistic::Count { column: None, max_rows: 5 }], 1, "threshold"),
        (vec![sum.clone()], 1, "optimal"),
        (vec![Statistic::Units], 1, "threshold"),
        (vec![Statistic::Count { column: None, max_rows: 5 }], 60, "threshold"),
        (vec![sum], 60, "threshold"),
        (vec![Statistic::Units, Statistic::Count { column: None, max_rows: 2 }], 60, "threshold"),
    ];
    for (seed, (statistics, max_groups, rule)) in cases.into_iter().enumerate() {
        let plan = plan(&design(statistics, Groups::Found, max_groups, 1.0, Some(1e-2))).unwrap();
        let summary = plan.selection().unwrap();
        assert_eq!(summary.rule, rule, "{}", plan.reason());
        let (half, tries) = (summary.shown_at_half, 30_000usize);
        let share = |units: u64, seed: u64| {
            let exact = totals_of_units(&plan, vec![units; tries]);
            plan.release(&exact, &mut SeededRandom::new(seed)).unwrap().kept.len() as f64
                / tries as f64
        };
        let seed = 10 * seed as u64;
        // Six deviations of one half: 0.0173.
        assert!(
            share(half, seed) > 0.5 - 0.0173 && share(half - 1, seed + 1) < 0.5 + 0.0173,
            "{}",
            plan.reason()
        );
        let lone = summary.delta / f64::from(max_groups);
        assert!(
            share(u64::from(summary.rows_of_unit), seed + 2)
                <= lone + 6.0 * (lone / tries as f64).sqrt() + 1e-4,
            "a lone unit is shown too often"
        );
        assert_eq!(share(0, seed + 3), 0.0);
        assert!(share(20 * half, seed + 4) == 1.0);
    }
}

fn totals_of_units(plan: &ReleasePlan, units: Vec<u64>) -> Exact {
    let numbers = || Totals::Integers(units.iter().map(|&n| i128::from(n)).collect());
    let totals = plan.statistics().iter().map(|_| numbers()).collect();
    Exact { units, totals }
}

/// The noisy count that selects a group is the one that is shown: no group is shown with less.
#[test]
fn a_count_that_selects_is_shown_as_it_is() {
    let plan = plan(&design(vec![Statistic::Units], Groups::Found, 1, 1.0, Some(1e-4))).unwrap();
    let exact = totals_of_units(&plan, (0..3000).map(|n| n % 40).collect());
    let released = plan.release(&exact, &mut SeededRandom::new(5)).unwrap();
    let least = plan.selection().unwrap().shown_at_half;
    assert!(!released.kept.is_empty() && released.kept.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(steps(&released, 0).iter().all(|&count| count >= i128::from(least)));
    assert_eq!(plan.selection().unwrap().epsilon, 0.0);
    assert!(
        (plan.statistics()[0].scale().unwrap() - 1.0).abs() < 1e-12,
        "all of epsilon is for the count"
    );
}

#[test]
fn quantiles_are_on_the_grid_in_order_and_near() {
    let grid = Grid::for_values(0.0, 1000.0, true).unwrap();
    let points = vec![0.9, 0.1, 0.5, 0.25, 0.75];
    let statistics =
        vec![Statistic::Quantiles { column: 0, grid, max_rows: 1, points: points.clone() }];
    let plan = plan(&design(statistics, Groups::Public(200), 1, 1.0, None)).unwrap();
    let values: Vec<(i64, u64)> = (0..1000).map(|k| (k, 5)).collect();
    let exact = Exact { units: vec![], totals: vec![Totals::Values(vec![values; 200])] };
    let released = plan.release(&exact, &mut SeededRandom::new(6)).unwrap();
    let mut order: Vec<usize> = (0..5).collect();
    order.sort_by(|&a, &b| points[a].total_cmp(&points[b]));
    let errors = plan.statistics()[0].rank_errors().unwrap();
    let mut far = 0;
    for group in 0..200 {
        let found = released.statistics[0].quantiles(group).unwrap();
        assert!(found.iter().all(|value| value.fract() == 0.0 && (0.0..=1000.0).contains(value)));
        assert!(order.windows(2).all(|pair| found[pair[0]] <= found[pair[1]]), "{found:?}");
        far += (0..5)
            .filter(|&i| (found[i] * 5.0 - points[i] * 5000.0).abs() > errors[i] + 5.0)
            .count();
    }
    // At most 5% of 1000, and six deviations.
    assert!(far <= 50 + 41, "{far}");
}

/// Choice of noise where it changes.
#[test]
fn the_noise_is_the_best_for_the_reach() {
    let of = |statistics: Vec<Statistic>, max_groups, delta| {
        let plan = plan(&design(statistics, Groups::Public(1000), max_groups, 1.0, delta)).unwrap();
        (
            plan.statistics()[0].mechanism(),
            plan.statistics()[0].standard_deviation().unwrap(),
            plan.reason().to_string(),
        )
    };
    assert_eq!(of(vec![Statistic::Units], 1, None).0, "discrete-laplace");
    assert_eq!(of(vec![Statistic::Units], 1, Some(1e-6)).0, "discrete-laplace");
    assert_eq!(
        of(vec![Statistic::Count { column: None, max_rows: 10 }], 1, Some(1e-6)).0,
        "staircase"
    );
    // sqrt 2 k against sqrt k 4.22: from k = 9 on, and by more than a hundredth from 10.
    let (few, many) =
        (of(vec![Statistic::Units], 9, Some(1e-6)), of(vec![Statistic::Units], 10, Some(1e-6)));
    assert_eq!((few.0, many.0), ("discrete-laplace", "gaussian"), "{} {}", few.2, many.2);
    assert!(
        many.2.starts_with("Gaussian noise, calibrated for the Euclidean length"),
        "{}",
        many.2
    );
    // 4.2247 sqrt 10, with a twelfth for the rounding.
    let sigma_squared = 4.2246794f64.powi(2) * 10.0;
    assert!((many.1 - (sigma_squared + 1.0 / 12.0).sqrt()).abs() < 1e-5, "{}", many.1);
    // The error of OpenDP's Laplace histogram at the same budget is sqrt 2 times 10.
    assert!(many.1 < 2f64.sqrt() * 10.0);
    assert!(few.2.contains("gaussian noise would have 0.99"), "{}", few.2);
    // 14.14 against 13.36; the programme's noise has hardly less than discrete Laplace noise.
    let next = "the next best, optimal noise, has 1.06 times";
    assert!(many.2.contains(next), "{}", many.2);
}

/// The error of every other noise at the same share of the budget, by its textbook formula, is no
/// smaller than that of the plan by more than a `delta` is worth; what is measured agrees.
#[test]
fn no_other_noise_has_a_smaller_error() {
    let cases = [
        (1, 1, 1.0, 1e-6),
        (1, 1, 0.5, 1e-2),
        (1, 1, 0.01, 1e-3),
        (10, 1, 0.002, 1e-4),
        (10, 3, 6.0, 1e-6),
        (5, 4, 8.0, 1e-9),
        (3, 30, 1.0, 1e-5),
    ];
    let (mut names, groups) = (std::collections::BTreeSet::new(), 40_000usize);
    for (seed, (max_rows, max_groups, epsilon, delta)) in cases.into_iter().enumerate() {
        let statistics = vec![Statistic::Count { column: None, max_rows }];
        let public = Groups::Public(groups as u64);
        let plan = plan(&design(statistics, public, max_groups, epsilon, Some(delta))).unwrap();
        let (claimed, name) =
            (plan.statistics()[0].standard_deviation().unwrap(), plan.statistics()[0].mechanism());
        names.insert(name);
        let (s, k) = (f64::from(max_rows), f64::from(max_groups));
        let (each, part) = (epsilon / k, delta / k);
        let q = (-each / s).exp();
        let discrete_laplace = (2.0 * q).sqrt() / (1.0 - q);
        // Truncated Laplace noise, rounded: the sum of (2n + 1) P[|X| > n + 1/2].
        let (b, end) = (s / each, ((each.exp() - 1.0) / (2.0 * part)).ln_1p());
        let beyond = |x: f64| ((-x / b).exp() - (-end).exp()).max(0.0) / (1.0 - (-end).exp());
        let terms = (0..=(end * b) as u32).map(f64::from);
        let truncated: f64 = terms.map(|n| (2.0 * n + 1.0) * beyond(n + 0.5)).sum();
        for other in
            error_law::staircases(max_rows, each).chain([discrete_laplace, truncated.sqrt()])
        {
            assert!(claimed <= 1.011 * other, "{name} at {epsilon} {delta}: {claimed} {other}");
        }
        let exact = Exact { units: vec![], totals: vec![Totals::Integers(vec![1 << 70; groups])] };
        let released = plan.release(&exact, &mut SeededRandom::new(seed as u64)).unwrap();
        let errors = steps(&released, 0).iter().map(|&noisy| (noisy - (1 << 70)) as f64);
        let squares: Vec<f64> = errors.map(|error| error * error).collect();
        let n = groups as f64;
        let square = squares.iter().sum::<f64>() / n;
        let fourth = squares.iter().map(|square| square * square).sum::<f64>() / n;
        // Six standard deviations of the mean square, 7 cases: below 1e-6 in all.
        let far = 6.0 * ((fourth - square * square) / n).sqrt();
        assert!((square - claimed * claimed).abs() < far, "{name}: {square} {claimed}");
    }
    let all = ["discrete-laplace", "gaussian", "optimal", "staircase", "truncated-laplace"];
    assert!(all.iter().all(|name| names.contains(name)), "{names:?}");
}

/// Groups that are found cost a count that is asked for nothing: its error is that of public
/// groups, and groups are shown from where a threshold on Laplace noise of the same scale has them,
/// or earlier.
#[test]
fn found_groups_have_the_error_of_public_ones() {
    for (max_groups, max_rows, epsilon) in
        [(1, 1, 1.0), (5, 1, 0.1), (5, 1, 1.0), (5, 2, 1.0), (2, 10, 3.0), (40, 2, 1.0)]
    {
        let delta = 1e-6;
        let statistics = vec![Statistic::Count { column: None, max_rows }];
        let found =
            plan(&design(statistics.clone(), Groups::Found, max_groups, epsilon, Some(delta)))
                .unwrap();
        let public =
            plan(&design(statistics, Groups::Public(1000), max_groups, epsilon, Some(delta)))
                .unwrap();
        let (error, least) = (
            found.statistics()[0].standard_deviation().unwrap(),
            public.statistics()[0].standard_deviation().unwrap(),
        );
        let laplace = f64::from(max_groups * max_rows) / epsilon;
        assert!(error <= 2f64.sqrt() * laplace, "{error} of {laplace}");
        // Gaussian noise shares its delta with the threshold, which costs a few hundredths.
        let allowed = if found.statistics()[0].mechanism() == "gaussian" { 1.05 } else { 1.0 };
        assert!(error <= allowed * least, "{error} for {least}");
        let selection = found.selection().unwrap();
        assert_eq!((selection.epsilon, selection.rows_of_unit), (0.0, max_rows));
        let threshold =
            f64::from(max_rows) + laplace * (f64::from(max_groups) / (2.0 * delta)).ln();
        // The formula is of a real threshold and of real noise; integers are up to one and a half
        // above.
        assert!(selection.shown_at_half as f64 <= threshold + 1.5, "{selection:?}: {threshold}");
    }
}

/// Units select groups before rows, and rows before values.
#[test]
fn the_count_that_is_preferred_selects_groups() {
    let counts = vec![
        Statistic::Count { column: None, max_rows: 3 },
        Statistic::Count { column: None, max_rows: 3 },
    ];
    let of = |statistics: &[Statistic], select_by| {
        let design = design(statistics.to_vec(), Groups::Found, 1, 1.0, Some(1e-2));
        plan_with(&design, &Preferences { select_by, ..Preferences::default() }).unwrap()
    };
    // Groups whose first count is large and second is zero, of three rows a unit.
    let exact = |plan: &ReleasePlan| {
        let large = Totals::Integers(vec![1000; 50]);
        let totals = plan.statistics().iter().enumerate();
        let totals =
            totals.map(
                |(index, _)| if index == 0 { large.clone() } else { Totals::Integers(vec![0; 50]) },
            );
        Exact { units: vec![334; 50], totals: totals.collect() }
    };
    let shown = |plan: &ReleasePlan| {
        plan.release(&exact(plan), &mut SeededRandom::new(3)).unwrap().kept.len()
    };
    assert_eq!(shown(&of(&counts, None)), 50);
    assert_eq!(shown(&of(&counts, Some(0))), 50);
    assert!(
        shown(&of(&counts, Some(1))) <= 2,
        "a count of nothing shows groups as often as a lone unit's"
    );
    let with_units = [counts, vec![Statistic::Units]].concat();
    assert_eq!(of(&with_units, Some(0)).selection().unwrap().rows_of_unit, 1);
    // A sum is no size: it never selects.
    let grid = Grid::for_values(0.0, 10.0, true).unwrap();
    let sum = Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(1) };
    assert!(of(&[sum], Some(0)).selection().unwrap().epsilon > 0.0);
}
