use super::*;
use reticent_noise::randomness::SeededRandom;

fn zero_concentrated(rho: f64) -> FilterBudget {
    FilterBudget::ZeroConcentrated { rho }
}

/// Counts that are far from uniform: most rows in a few cells.
fn skewed(cells: usize, rows: u64) -> Vec<u64> {
    let mut counts = vec![0; cells];
    for row in 0..rows {
        let cell = if row % 4 == 0 { row * 7919 } else { row % 5 };
        counts[(cell % cells as u64) as usize] += 1;
    }
    counts
}

fn random_query(cells: usize, random: &mut SeededRandom) -> LinearQuery {
    let mut word = 0;
    let chosen = (0..cells).filter(|cell| {
        if cell % 64 == 0 {
            word = random.next_u64().expect("seeded");
        }
        *cell == 0 || word >> (cell % 64) & 1 == 1
    });
    LinearQuery::counting(chosen).expect("cell 0 is in it")
}

/// The statement of the session, on a small and a large budget: no answer is off by more than was
/// stated (which may fail with probability 1e-6 a session), the budget lasts, and there are no more
/// corrections than the theorem allows.
#[test]
fn no_answer_is_off_by_more_than_was_stated() {
    let cells = 128;
    let counts = skewed(cells, 40_000);
    let exact: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let budgets =
        [zero_concentrated(0.1), zero_concentrated(2.0), FilterBudget::Pure { epsilon: 2.0 }];
    for (seed, budget) in (1u64..).zip(budgets) {
        let mut random = SeededRandom::new(seed);
        let histogram = ExactHistogram::new(counts.clone());
        let mut session =
            OnlineWeights::new(histogram, budget, Contribution::ONE_ROW, 2000, 1e-6, &mut random)
                .expect("opened");
        let bounds = session.bounds();
        let mut worst: f64 = 0.0;
        for _ in 0..2000 {
            let query = random_query(cells, &mut random);
            let answer = session.answer(&query, &mut random).expect("the budget lasts");
            worst = worst.max((answer.value - query.answer(&exact)).abs());
        }
        assert!(worst <= bounds.error, "{budget:?}: {worst} {bounds:?}");
        assert!(session.updates() <= bounds.updates, "{session:?}");
        assert!(session.updates() < 2000, "some answers are free");
        assert!(session.histogram().iter().all(|count| *count >= 0.0));
    }
}

/// Where the bound says something, corrections happen and do their work: the same query is answered
/// from the hypothesis after some of them.
#[test]
fn corrections_teach_the_hypothesis() {
    let counts = vec![200_000u64, 0, 0, 0, 0, 0, 0, 0];
    let mut random = SeededRandom::new(4);
    let mut session = OnlineWeights::new(
        ExactHistogram::new(counts),
        zero_concentrated(1.0),
        Contribution::ONE_ROW,
        500,
        1e-6,
        &mut random,
    )
    .expect("opened");
    let query = LinearQuery::counting([0]).expect("a cell");
    let first = session.answer(&query, &mut random).expect("answered");
    assert!(first.measured, "an eighth is far from all");
    let mut last = first;
    for _ in 0..400 {
        last = session.answer(&query, &mut random).expect("answered");
    }
    assert!(!last.measured, "{session:?}");
    assert!((last.value - 200_000.0).abs() <= session.bounds().error, "{last:?}");
    assert!(session.updates() < 100, "{session:?}");
}

/// What ran is within the budget, by the accountant of its currency, and complete: a run of the
/// test for every correction and one under way, a measurement for every correction, the total.
#[test]
fn what_ran_is_charged_and_within_the_budget() {
    let mut random = SeededRandom::new(12);
    let rho = 0.4;
    let mut session = OnlineWeights::new(
        ExactHistogram::new(skewed(16, 100_000)),
        zero_concentrated(rho),
        Contribution::new(2, reticent_mechanisms::Neighbours::Replace).expect("valid"),
        300,
        0.01,
        &mut random,
    )
    .expect("opened");
    for _ in 0..300 {
        let query = random_query(16, &mut random);
        session.answer(&query, &mut random).expect("the budget lasts");
    }
    let count = |wanted: fn(&Event) -> bool| {
        session.spent().iter().filter(|event| wanted(event)).count() as u64
    };
    let tests = count(|event| matches!(event, Event::Approximate { delta, .. } if *delta == 0.0));
    let measured = count(|event| matches!(event, Event::DiscreteLaplace { sensitivity: 2, .. }));
    assert_eq!(measured, 1 + session.updates());
    assert!(tests == session.updates() || tests == session.updates() + 1, "{tests}");
    let all = Event::Composition { events: session.spent().to_vec() };
    assert!(reticent_accounting::zero_concentration(&all).expect("covered") <= rho);
    let query = random_query(16, &mut random);
    let refused = session.answer(&query, &mut random).expect_err("opened for 300");
    assert!(refused.to_string().contains("as many queries"), "{refused}");
}

/// Neighbours under the same decisions: as long as two sessions have released the same, what the
/// test looks at and what is measured differ by at most the rows of a unit.
#[test]
fn with_the_same_decisions_neighbours_differ_by_the_rows_of_a_unit() {
    let counts = skewed(32, 20_000);
    let mut moved = counts.clone();
    moved[0] -= 3;
    moved[9] += 3;
    let open = |counts: Vec<u64>| {
        OnlineWeights::new(
            ExactHistogram::new(counts),
            zero_concentrated(1.0),
            Contribution::new(3, reticent_mechanisms::Neighbours::Replace).expect("valid"),
            200,
            0.01,
            &mut SeededRandom::new(5),
        )
        .expect("opened")
    };
    let (mut one, mut other) = (open(counts), open(moved));
    assert_eq!(one.total(), other.total());
    let mut random = SeededRandom::new(77);
    for step in 0..200u64 {
        let query = random_query(32, &mut random);
        let distance = |session: &OnlineWeights| {
            let exact = exact_count(&query, session.histogram.counts());
            (exact, (exact - session.guess(&query)).abs())
        };
        let (a, b) = (distance(&one), distance(&other));
        assert!((a.0 - b.0).abs() <= 3 && (a.1 - b.1).abs() <= 3, "{step}");
        // The decisions of the first are replayed in the second.
        let noise = || SeededRandom::new(1000 + step);
        one.answer(&query, &mut noise()).expect("the budget lasts");
        other.hypothesis = one.hypothesis.clone();
    }
    assert!(one.updates() > 0, "{one:?}");
}

#[test]
fn what_cannot_be_answered_is_refused_and_nothing_is_spent() {
    let mut random = SeededRandom::new(1);
    let mut open = |cells: usize, budget, queries, beta| {
        let histogram = ExactHistogram::new(vec![5; cells]);
        OnlineWeights::new(histogram, budget, Contribution::ONE_ROW, queries, beta, &mut random)
    };
    let message =
        |result: Result<OnlineWeights, WorkloadError>| result.expect_err("refused").to_string();
    let rho = zero_concentrated(1.0);
    assert!(message(open(1, rho, 10, 0.1)).contains("`cells` is 1"));
    assert!(message(open(4, rho, 0, 0.1)).contains("`queries` is 0"));
    for beta in [0.0, f64::NAN, 0.6, -1.0] {
        assert!(message(open(4, rho, 10, beta)).contains("`beta`"));
    }
    let gaussian = FilterBudget::Gaussian { mu: 1.0 };
    assert!(message(open(4, gaussian, 10, 0.1)).contains("`rho`"));
    assert!(open(4, FilterBudget::Pure { epsilon: f64::NAN }, 10, 0.1).is_err());
    assert!(open(4, FilterBudget::Pure { epsilon: 0.0 }, 10, 0.1).is_err());
    let mut session = open(4, rho, 10, 0.1).expect("opened");
    let before = session.spent().len();
    let mut random = SeededRandom::new(2);
    let weighted = LinearQuery::new([(0, 2.0)]).expect("a query");
    assert!(session.answer(&weighted, &mut random).is_err());
    let beyond = LinearQuery::counting([4]).expect("a query");
    assert!(session.answer(&beyond, &mut random).is_err());
    assert_eq!(session.spent().len(), before);
    assert!(!format!("{session:?}").contains("histogram"));
}
