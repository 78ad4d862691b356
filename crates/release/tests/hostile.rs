//! Designs that nobody means: an error that names something, or a plan; never a panic.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::randomness::SeededRandom;
use reticent_release::{
    Contribution, Design, Exact, Grid, Groups, Noisy, ReleaseError, Statistic, Totals, plan,
};

#[test]
fn no_design_panics() {
    let grids = [
        Grid { centre: 0.0, step: 1.0, lower: 0, upper: 0 },
        Grid { centre: 1e300, step: 1e-300, lower: i64::MIN, upper: i64::MAX },
        Grid { centre: 0.0, step: 2f64.powi(-1000), lower: -(1 << 53), upper: 1 << 53 },
        Grid { centre: -5.0, step: 0.25, lower: -7, upper: 9 },
    ];
    let mut statistics: Vec<Statistic> = vec![Statistic::Units];
    for max_rows in [0, 1, u32::MAX] {
        statistics.push(Statistic::Count { column: None, max_rows });
        for grid in grids {
            statistics.push(Statistic::Sum {
                column: 0,
                grid,
                contribution: Contribution::Rows(max_rows),
            });
            for points in [vec![], vec![0.5], vec![f64::NAN], vec![0.0, 1.0, 0.5], vec![0.5; 50]] {
                statistics.push(Statistic::Quantiles { column: 0, grid, max_rows, points });
            }
        }
    }
    for (lower, upper) in [(0, 0), (i64::MIN, i64::MAX), (5, 1), (-3, 3)] {
        statistics.push(Statistic::Sum {
            column: 0,
            grid: grids[0],
            contribution: Contribution::Total { lower, upper },
        });
    }
    let (mut planned, mut refused) = (0, 0);
    for statistic in &statistics {
        for groups in [
            Groups::Public(0),
            Groups::Public(1),
            Groups::Public(1_000_000_000),
            Groups::Public(u64::MAX),
            Groups::Found,
        ] {
            for max_groups in [0, 1, 3, u32::MAX] {
                for epsilon in [0.0, f64::NAN, f64::INFINITY, 1e300, -1.0, 1e-300, 1e-9, 1.0, 700.0]
                {
                    for delta in [
                        None,
                        Some(0.0),
                        Some(1.0),
                        Some(f64::NAN),
                        Some(1e-300),
                        Some(1e-6),
                        Some(0.999),
                    ] {
                        let statistics = vec![statistic.clone()];
                        let design = Design { statistics, groups, max_groups, epsilon, delta };
                        match plan(&design) {
                            Ok(plan) => {
                                planned += 1;
                                let guarantee = plan.guarantee();
                                assert!(
                                    guarantee.epsilon <= epsilon
                                        && guarantee.delta <= delta.unwrap_or(0.0)
                                );
                                assert!(
                                    plan.statistics()[0]
                                        .half_width()
                                        .is_none_or(|width| width >= 0.0 && width.is_finite()),
                                    "{design:?}"
                                );
                                assert!(
                                    plan.statistics()[0].rank_errors().is_none_or(|errors| errors
                                        .iter()
                                        .all(|error| *error >= 0.0))
                                );
                            }
                            Err(error) => {
                                refused += 1;
                                let message = error.to_string();
                                assert!(
                                    message.len() > 20 && !message.contains("NotCertified"),
                                    "{message}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(planned > 1000 && refused > 1000, "{planned} {refused}");
}

#[test]
fn statistics_that_nobody_moves_cost_nothing() {
    let grid = Grid::around_midpoint(7.0, 7.0, false).unwrap();
    let design = Design {
        statistics: vec![Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(5) }],
        groups: Groups::Public(2),
        max_groups: 3,
        epsilon: 1.0,
        delta: None,
    };
    let plan = plan(&design).unwrap();
    assert_eq!(
        (plan.statistics()[0].mechanism(), plan.cost().event, plan.statistics()[0].half_width()),
        ("constant", None, Some(0.0))
    );
    let exact = Exact { units: vec![], totals: vec![Totals::Integers(vec![0, 0])] };
    let released = plan.release(&exact, &mut SeededRandom::new(1)).unwrap();
    assert_eq!(released.statistics, [Noisy::Numbers { steps: vec![0, 0], step: grid.step }]);
}

#[test]
fn totals_that_do_not_fit_are_refused_without_a_word_about_them() {
    let design = Design {
        statistics: vec![
            Statistic::Units,
            Statistic::Quantiles {
                column: 0,
                grid: Grid::for_values(0.0, 9.0, true).unwrap(),
                max_rows: 1,
                points: vec![0.5],
            },
        ],
        groups: Groups::Found,
        max_groups: 1,
        epsilon: 1.0,
        delta: Some(1e-6),
    };
    let plan = plan(&design).unwrap();
    let mut random = SeededRandom::new(1);
    let values = |n: usize| Totals::Values(vec![vec![(3, 77)]; n]);
    let integers = |n: usize| Totals::Integers(vec![7777; n]);
    for (units, totals) in [
        (vec![7777; 2], vec![integers(2)]),
        (vec![7777; 2], vec![integers(2), integers(2)]),
        (vec![7777; 2], vec![values(2), values(2)]),
        (vec![7777; 2], vec![integers(3), values(2)]),
        (vec![7777; 3], vec![integers(2), values(2)]),
    ] {
        let error = plan.release(&Exact { units, totals }, &mut random).unwrap_err();
        assert!(
            matches!(error, ReleaseError::Mismatch(_)) && !error.to_string().contains('7'),
            "{error}"
        );
    }
    // No groups at all is an answer, too.
    let nothing = Exact { units: vec![], totals: vec![integers(0), values(0)] };
    let released = plan.release(&nothing, &mut random).unwrap();
    assert!(
        released.kept.is_empty()
            && released.statistics[0] == Noisy::Numbers { steps: vec![], step: 1.0 }
    );
    // Values beyond a grid, and totals at the limits of integers, are clamped.
    let wild = Exact {
        units: vec![u64::MAX],
        totals: vec![
            Totals::Integers(vec![i128::MAX]),
            Totals::Values(vec![vec![(i64::MIN, u64::MAX), (i64::MAX, u64::MAX)]]),
        ],
    };
    let released = plan.release(&wild, &mut random).unwrap();
    assert_eq!(released.kept, [0]);
    assert!(
        released.statistics[1]
            .quantiles(0)
            .unwrap()
            .iter()
            .all(|value| (0.0..=9.0).contains(value))
    );
}

#[test]
fn private_numbers_are_not_printed() {
    let exact = Exact {
        units: vec![4242],
        totals: vec![Totals::Integers(vec![4242]), Totals::Values(vec![vec![(4242, 4242)]])],
    };
    assert!(!format!("{exact:?} {:?}", exact.totals).contains("42"));
}
