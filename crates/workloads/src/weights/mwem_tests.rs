use super::*;
use reticent_noise::randomness::SeededRandom;

/// All ranges of `cells` cells.
fn ranges(cells: usize) -> Vec<LinearQuery> {
    (0..cells)
        .flat_map(|from| (from..cells).map(move |to| LinearQuery::counting(from..=to)))
        .collect::<Result<_, _>>()
        .expect("not empty")
}

fn plan(rounds: u32, selection: Selection, budget: FilterBudget) -> MwemPlan {
    MwemPlan::new(32, ranges(32), rounds, selection, budget, Contribution::ONE_ROW).expect("valid")
}

/// Two humps.
fn counts() -> Vec<u64> {
    (0..32u64).map(|cell| 2000 / (1 + (cell as i64 - 8).pow(2) as u64) + cell / 8).collect()
}

/// The mean error over all ranges falls with the rounds and is below that of the total alone.
#[test]
fn rounds_bring_the_hypothesis_to_the_data() {
    let exact: Vec<f64> = counts().iter().map(|&count| count as f64).collect();
    let error = |histogram: &[f64]| -> f64 {
        let queries = ranges(32);
        let sum: f64 = queries.iter().map(|q| (q.answer(histogram) - q.answer(&exact)).abs()).sum();
        sum / queries.len() as f64
    };
    let total: f64 = exact.iter().sum();
    let uniform = error(&[total / 32.0; 32]);
    for selection in [Selection::Exponential, Selection::PermuteAndFlip] {
        for budget in
            [FilterBudget::Pure { epsilon: 2.0 }, FilterBudget::ZeroConcentrated { rho: 0.5 }]
        {
            let run = |rounds| {
                let plan = plan(rounds, selection, budget);
                let mut random = SeededRandom::new(u64::from(rounds));
                plan.run(&ExactHistogram::new(counts()), &mut random).expect("seeded")
            };
            let (few, many) = (run(2), run(20));
            assert!(error(&few.histogram) < uniform, "{selection:?}");
            assert!(error(&many.histogram) < 0.1 * uniform, "{}", error(&many.histogram));
            assert_eq!(many.measurements.len(), 20);
            let sum: f64 = many.histogram.iter().sum();
            assert!((sum / many.total - 1.0).abs() < 1e-9);
            assert!(many.histogram.iter().all(|count| *count >= 0.0));
        }
    }
}

#[test]
fn the_event_is_complete_and_within_the_budget() {
    let pure = FilterBudget::Pure { epsilon: 1.0 };
    let rho = FilterBudget::ZeroConcentrated { rho: 0.3 };
    for selection in [Selection::Exponential, Selection::PermuteAndFlip] {
        for (budget, amount) in [(pure, 1.0), (rho, 0.3)] {
            let plan = plan(7, selection, budget);
            let cost = budget.cost(&plan.event()).expect("covered");
            assert!(cost <= amount && cost > 0.7 * amount, "{selection:?}: {cost}");
            let composition =
                reticent_accounting::Composition::new(&[plan.event()]).expect("valid");
            assert_eq!(composition.releases(), 1 + 2 * 7);
        }
    }
}

/// For the same hypothesis, utilities and measurements of neighbours differ by at most the rows of
/// a unit: whatever was decided so far, what a round looks at is as sensitive as charged.
#[test]
fn distances_of_neighbours_differ_by_the_rows_of_a_unit() {
    let queries = ranges(32);
    let (one, mut other) = (counts(), counts());
    other[3] += 2;
    for guess in [0.0, 0.49, 17.5, 803.2, 1e9] {
        for query in &queries {
            let (a, b) = (exact_count(query, &one), exact_count(query, &other));
            assert!((distance(a, guess) - distance(b, guess)).abs() <= 2.0);
        }
    }
    // Beyond 2^53, too.
    assert!((distance(1 << 60, 0.0) - distance((1 << 60) + 2, 0.0)).abs() <= 2.0);
}

#[test]
fn bad_plans_are_refused() {
    let budget = FilterBudget::Pure { epsilon: 1.0 };
    let make = |cells, queries, rounds, budget| {
        MwemPlan::new(cells, queries, rounds, Selection::Exponential, budget, Contribution::ONE_ROW)
            .map(drop)
    };
    assert!(make(4, vec![], 3, budget).is_err_and(|e| e.to_string().contains("empty")));
    assert!(make(4, ranges(4), 0, budget).is_err_and(|e| e.to_string().contains("`rounds`")));
    assert!(make(3, ranges(4), 2, budget).is_err_and(|e| e.to_string().contains("only 3")));
    assert!(make(4, ranges(4), 2, FilterBudget::Pure { epsilon: -1.0 }).is_err());
    let renyi = FilterBudget::Renyi { order: 2.0, divergence: 1.0 };
    assert!(make(4, ranges(4), 2, renyi).is_err());
    let plan = plan(2, Selection::Exponential, budget);
    let other = ExactHistogram::new(vec![1; 5]);
    assert!(plan.run(&other, &mut SeededRandom::new(1)).is_err());
}
