//! Noise chosen by a metric, and noise by name.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_accounting::{Accountant, BasicComposition, Composition};
use reticent_mechanisms::{Delta, Notion};
use reticent_noise::randomness::SeededRandom;
use reticent_release::{
    AnswerMetric as Metric, Contribution, Design, Exact, Grid, Groups, NoiseFamily, NoiseName,
    Noisy, Preferences, ReleasePlan, Statistic, Totals, compare, plan, plan_with,
};

fn counts(max_rows: u32, epsilon: f64, delta: Option<f64>) -> Design {
    Design {
        statistics: vec![Statistic::Count { column: None, max_rows }],
        groups: Groups::Public(50_000),
        max_groups: 1,
        epsilon,
        delta,
    }
}

fn by(metric: Metric) -> Preferences {
    Preferences { metric: Some(metric), ..Preferences::default() }
}

fn named(name: NoiseName) -> Preferences {
    Preferences { noise: NoiseFamily::Named(name), ..Preferences::default() }
}

/// The errors of one release of many groups.
fn errors(plan: &ReleasePlan, groups: usize, seed: u64) -> Vec<f64> {
    let exact = Exact { units: vec![], totals: vec![Totals::Integers(vec![1 << 70; groups])] };
    let released = plan.release(&exact, &mut SeededRandom::new(seed)).unwrap();
    let Noisy::Numbers { steps, step } = &released.statistics[0] else { panic!("numbers") };
    steps.iter().map(|&noisy| (noisy - (1 << 70)) as f64 * step).collect()
}

/// What is said of each noise is what is drawn, by every metric, whoever chose it.
#[test]
fn every_noise_has_the_error_that_the_comparison_says() {
    let groups = 50_000usize;
    let design = counts(7, 4.0, Some(1e-3));
    let metrics = [Metric::Usefulness(2.0), Metric::MeanAbsolute, Metric::RootMeanSquare];
    for metric in metrics {
        let compared = compare(&design, &by(metric)).unwrap();
        assert_eq!(compared.metric, metric.to_string());
        assert!(compared.alternatives.len() >= 9, "{compared:?}");
        assert_eq!(compared.alternatives[0].times_least, Some(1.0));
        for (seed, alternative) in compared.alternatives.iter().enumerate() {
            let name: NoiseName = alternative.mechanism.parse().unwrap();
            let preferences = Preferences { noise: NoiseFamily::Named(name), ..by(metric) };
            let plan = plan_with(&design, &preferences).unwrap();
            assert_eq!(plan.statistics()[0].mechanism(), name.as_str());
            assert!(plan.reason().contains("as it was asked for"), "{}", plan.reason());
            let guarantee = plan.guarantee();
            assert!(guarantee.epsilon <= 4.0 && guarantee.delta <= 1e-3, "{guarantee:?}");
            let measured: Vec<f64> = errors(&plan, groups, seed as u64)
                .into_iter()
                .map(|error| match metric {
                    Metric::Usefulness(t) => f64::from(u8::from(error.abs() > t)),
                    Metric::MeanAbsolute => error.abs(),
                    _ => error * error,
                })
                .collect();
            let mean = measured.iter().sum::<f64>() / groups as f64;
            let square = measured.iter().map(|x| x * x).sum::<f64>() / groups as f64;
            let deviation = ((square - mean * mean) / groups as f64).sqrt();
            let claimed = alternative.errors[0].unwrap();
            let claimed = if metric == Metric::RootMeanSquare { claimed.powi(2) } else { claimed };
            // Six deviations, about 40 cases, heavy tails among them: 1e-7 in all.
            assert!(
                (mean - claimed).abs() < 6.0 * deviation + 1e-9,
                "{metric} {name}: {mean} {claimed}"
            );
            // Power: a claim a quarter off is noticed.
            assert!((mean - 1.25 * claimed).abs() > 6.0 * deviation, "{metric} {name}: no power");
        }
    }
}

/// The noise that is chosen is the first of the comparison, but for what a delta is worth.
#[test]
fn the_metric_decides() {
    for (design, metric) in [
        (counts(7, 2.0, None), Metric::Usefulness(3.0)),
        (counts(7, 2.0, None), Metric::MeanAbsolute),
        (counts(7, 2.0, None), Metric::Quantile(0.9)),
        (counts(7, 2.0, None), Metric::Entropy),
        (counts(1, 0.01, Some(1e-2)), Metric::Usefulness(20.0)),
        (counts(1, 0.01, Some(1e-2)), Metric::Quantile(0.95)),
    ] {
        let planned = plan_with(&design, &by(metric)).unwrap();
        let compared = compare(&design, &by(metric)).unwrap();
        let own = planned.statistics()[0].mechanism();
        let line = compared.alternatives.iter().find(|one| one.mechanism == own).unwrap();
        assert!(line.times_least.is_none_or(|times| times <= 1.01), "{metric}: {own} {compared:?}");
    }
    // By different metrics the steps of the staircase are in different places.
    let design = counts(7, 2.0, None);
    let event = |metric| plan_with(&design, &by(metric)).unwrap().events();
    assert_ne!(event(Metric::Usefulness(5.0)), event(Metric::RootMeanSquare));
    // Without a metric it is the root mean square, and the same noise as by it.
    assert_eq!(event(Metric::RootMeanSquare), plan(&design).unwrap().events());
    // And more errors are small: P[|error| <= 5] is larger than with the usual noise.
    let within = |preferences: &Preferences, seed| {
        let found = errors(&plan_with(&design, preferences).unwrap(), 50_000, seed);
        found.iter().filter(|error| error.abs() <= 5.0).count()
    };
    let (chosen, usual) =
        (within(&by(Metric::Usefulness(5.0)), 1), within(&by(Metric::RootMeanSquare), 2));
    // The shares differ by 0.03 or more, 14 deviations of their difference.
    assert!(chosen > usual + 500, "{chosen} {usual}");
}

#[test]
fn distances_are_in_units_of_the_answer() {
    let grid = Grid::for_values(0.0, 1000.0, false).unwrap();
    let design = Design {
        statistics: vec![Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(1) }],
        ..counts(1, 1.0, None)
    };
    assert!(grid.step < 1e-3);
    let of = |metric| compare(&design, &by(metric)).unwrap().alternatives;
    for one in of(Metric::Usefulness(500.0)) {
        // Laplace noise of scale 1000 exceeds 500 with probability 0.607.
        let share = one.errors[0].unwrap();
        assert!((0.3..0.62).contains(&share), "{one:?}");
    }
    for one in of(Metric::MeanAbsolute) {
        assert!((500.0..1100.0).contains(&one.errors[0].unwrap()), "{one:?}");
    }
}

#[test]
fn everything_that_is_named_keeps_the_budget_in_all_groups_and_statistics() {
    let grid = Grid::around_midpoint(0.0, 10.0, true).unwrap();
    let statistics = vec![
        Statistic::Count { column: None, max_rows: 2 },
        Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(2) },
        Statistic::Quantiles { column: 0, grid, max_rows: 2, points: vec![0.5] },
    ];
    for name in NoiseName::ALL {
        // Below some epsilon no random scale is better than Laplace noise, and none is offered.
        let epsilon = if name.as_str().starts_with("random-scale-laplace") { 90.0 } else { 6.0 };
        for groups in [Groups::Public(9), Groups::Found] {
            let design = Design {
                statistics: statistics.clone(),
                groups,
                max_groups: 3,
                epsilon,
                delta: Some(1e-5),
            };
            let plan =
                plan_with(&design, &named(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            for planned in &plan.statistics()[..2] {
                assert_eq!(planned.mechanism(), name.as_str());
            }
            assert_eq!(plan.statistics()[2].mechanism(), "exponential");
            let (cost, guarantee) = (plan.cost(), plan.guarantee());
            assert!(
                guarantee.epsilon <= epsilon && guarantee.delta <= 1e-5,
                "{name}: {guarantee:?}"
            );
            if guarantee.notion == Notion::Pure {
                let composition = Composition::new(&[cost.event.unwrap()]).unwrap();
                let loss =
                    BasicComposition.epsilon(&composition, Delta::new(1e-300).unwrap()).unwrap();
                assert!(loss.upper() <= epsilon, "{name}: {loss:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |design: &Design, preferences: &Preferences| {
        plan_with(design, preferences).expect_err("refused").to_string()
    };
    let pure = counts(1, 0.5, None);
    for name in ["gaussian", "optimal", "truncated-laplace", "random-scale-gaussian"] {
        let message = refused(&pure, &named(name.parse().unwrap()));
        assert!(message.contains("give a delta"), "{name}: {message}");
    }
    // Below some epsilon no random scale is better than Laplace noise (erratum R8).
    let message = refused(&pure, &named("random-scale-laplace".parse().unwrap()));
    assert!(message.contains("random-scale-laplace") && message.contains("laplace"), "{message}");
    for metric in [Metric::Usefulness(f64::NAN), Metric::Usefulness(-1.0), Metric::Usefulness(0.0)]
    {
        assert!(refused(&pure, &by(metric)).contains("usefulness"));
    }
    assert!(refused(&pure, &by(Metric::Quantile(1.0))).contains("quantile"));
    let grid = Grid::for_values(0.0, 10.0, true).unwrap();
    let median = Statistic::Quantiles { column: 0, grid, max_rows: 1, points: vec![0.5] };
    let quantiles = Design { statistics: vec![median], ..pure };
    for preferences in [by(Metric::MeanAbsolute), named("staircase".parse().unwrap())] {
        assert!(refused(&quantiles, &preferences).contains("leave them out"));
    }
    assert_eq!(compare(&quantiles, &Preferences::default()).unwrap().alternatives, []);
    for text in ["", "max", "max:0.5", "loss:file", "expression:x^2", "usefulness", "l3"] {
        let message = text.parse::<Metric>().expect_err(text).to_string();
        assert!(message.contains("quantile:Q are accepted"), "{message}");
    }
    assert_eq!("usefulness:5".parse(), Ok(Metric::Usefulness(5.0)));
}
