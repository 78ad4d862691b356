use super::*;
use crate::LinearQuery;
use reticent_noise::randomness::SeededRandom;

fn budget() -> GaussianBudget {
    GaussianBudget::zero_concentrated(0.5).expect("valid")
}

fn plan(workload: &LinearWorkload) -> MatrixPlan {
    MatrixPlan::new(workload, budget(), Contribution::ONE_ROW).expect("certified")
}

/// `queries` random subsets of the cells, each cell with probability one half, and all cells at the
/// end so that each is in some query.
fn random_queries(cells: usize, queries: usize, seed: u64) -> LinearWorkload {
    let mut random = SeededRandom::new(seed);
    let mut list: Vec<LinearQuery> = (0..queries)
        .map(|_| {
            let bits: Vec<u64> = (0..cells).map(|_| random.next_u64().expect("seeded")).collect();
            let chosen = (0..cells).filter(|&cell| cell == 0 || bits[cell] & 1 == 1);
            LinearQuery::counting(chosen).expect("not empty")
        })
        .collect();
    list.push(LinearQuery::counting(0..cells).expect("all"));
    LinearWorkload::of(cells, list).expect("valid")
}

#[test]
fn prefixes_ranges_and_random_queries_are_within_one_percent_of_the_bound() {
    let mut workloads = vec![random_queries(60, 200, 1), random_queries(60, 20, 2)];
    for power in 4..=8 {
        workloads.push(LinearWorkload::prefixes(1 << power).expect("valid"));
        workloads.push(LinearWorkload::ranges(1 << power).expect("valid"));
    }
    for workload in workloads {
        let error = plan(&workload).expected_error();
        let ratio = error.ratio().expect("add/remove");
        assert!((1.0..1.01).contains(&ratio), "{} queries: {ratio}", workload.queries());
    }
}

/// One query, the total: its least error is known, 1 at `mu = 1`; the histogram itself, too.
#[test]
fn what_is_known_is_found() {
    let total = LinearWorkload::of(5, vec![LinearQuery::counting(0..5).expect("all")]);
    let error = plan(&total.expect("valid")).expected_error();
    assert!((error.rmse.upper() - 1.0).abs() < 1e-3, "{error:?}");
    let cells = (0..5).map(|cell| LinearQuery::counting([cell]).expect("one")).collect();
    let error = plan(&LinearWorkload::of(5, cells).expect("valid")).expected_error();
    assert!((error.rmse.upper() - 1.0).abs() < 1e-3, "{error:?}");
    assert!(error.limit.is_some_and(|limit| (0.999..=1.0).contains(&limit)), "{error:?}");
}

/// Marginals as a list of queries have the optimum that the closed form says.
#[test]
fn the_programme_finds_the_optimum_of_marginals() {
    use crate::{Domain, MarginalPlan, MarginalWorkload};
    let domain = Domain::new([("a", 4), ("b", 3), ("c", 2)]).expect("valid");
    let marginals = MarginalWorkload::parse(&domain, "all 2-way").expect("read");
    let closed = MarginalPlan::new(&marginals, budget(), Contribution::ONE_ROW).expect("planned");
    let digits = |cell: usize| [cell / 6, cell / 2 % 3, cell % 2];
    let sizes = [4usize, 3, 2];
    let mut queries = Vec::new();
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        for value in 0..sizes[a] * sizes[b] {
            let (of_a, of_b) = (value / sizes[b], value % sizes[b]);
            let cells = (0..24).filter(|&cell| digits(cell)[a] == of_a && digits(cell)[b] == of_b);
            queries.push(LinearQuery::counting(cells).expect("not empty"));
        }
    }
    let listed = plan(&LinearWorkload::of(24, queries).expect("valid")).expected_error();
    let closed = closed.expected_error();
    assert!((listed.rmse.upper() / closed.rmse.upper() - 1.0).abs() < 1e-3, "{listed:?}");
    assert!(listed.limit <= closed.limit.map(|limit| limit * (1.0 + 1e-9)), "{listed:?}");
    assert!(listed.limit >= closed.limit.map(|limit| limit * (1.0 - 1e-3)), "{listed:?}");
}

/// The square-root factorisation of prefix sums (Henzinger, Upadhyay and others) in closed form:
/// its error is `sum_k (n - k) f_k^2 sum_k f_k^2` with `f_k = binom(2k, k)/4^k`, about 1.06 of
/// ours.
#[test]
fn the_optimum_is_better_than_the_square_root() {
    for n in [16usize, 64, 256] {
        let f: Vec<f64> = (0..n)
            .scan(1.0, |f, k| {
                let now = *f;
                *f *= (2 * k + 1) as f64 / (2 * k + 2) as f64;
                Some(now)
            })
            .collect();
        let columns: f64 = f.iter().map(|f| f * f).sum();
        let rows: f64 = f.iter().enumerate().map(|(k, f)| (n - k) as f64 * f * f).sum();
        let root = (rows * columns / n as f64).sqrt();
        let error = plan(&LinearWorkload::prefixes(n).expect("valid")).expected_error();
        let ratio = root / error.rmse.upper();
        assert!((1.05..1.07).contains(&ratio), "{n}: {ratio}");
    }
}

#[test]
fn the_charge_keeps_the_budget_for_every_unit() {
    let workload = LinearWorkload::prefixes(12).expect("valid");
    for rho in [1e-6, 0.1, 1.0 / 3.0, 7.0] {
        for (rows, neighbours) in
            [(1, Neighbours::AddRemove), (4, Neighbours::AddRemove), (3, Neighbours::Replace)]
        {
            let unit = Contribution::new(rows, neighbours).expect("valid");
            let budget = GaussianBudget::zero_concentrated(rho).expect("valid");
            let plan = MatrixPlan::new(&workload, budget, unit).expect("certified");
            let charged = reticent_accounting::zero_concentration(&plan.event()).expect("Gaussian");
            assert!(charged <= rho && charged > rho * (1.0 - 1e-9), "{charged:e} {rho:e}");
            assert_eq!(plan.expected_error().limit.is_some(), neighbours == Neighbours::AddRemove);
        }
    }
    let tiny = GaussianBudget::zero_concentrated(1e-19).expect("valid");
    let refused = MatrixPlan::new(&workload, tiny, Contribution::ONE_ROW).map(drop);
    assert!(refused.expect_err("too small").to_string().contains("too small to say anything"));
}

/// With the same noise, what is measured moves by no more than is charged.
#[test]
fn neighbours_move_the_measurements_by_no_more_than_is_charged() {
    let workload = random_queries(9, 30, 5);
    for (rows, neighbours) in [(1, Neighbours::AddRemove), (2, Neighbours::Replace)] {
        let unit = Contribution::new(rows, neighbours).expect("valid");
        let plan = MatrixPlan::new(&workload, budget(), unit).expect("certified");
        let measured = |counts: &[u64]| {
            let histogram = ExactHistogram::new(counts.to_vec());
            plan.measure(&histogram, &mut SeededRandom::new(8)).expect("seeded").values
        };
        let base = vec![5u64; 9];
        let mut worst: f64 = 0.0;
        for from in 0..9 {
            for to in 0..9 {
                let mut other = base.clone();
                other[from] += u64::from(rows);
                if neighbours == Neighbours::Replace {
                    other[to] -= u64::from(rows);
                }
                let (a, b) = (measured(&base), measured(&other));
                let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
                worst = worst.max(square / (plan.sigma() * plan.sigma()));
            }
        }
        assert!(worst <= plan.mu_square() * (1.0 + 1e-9), "{worst}");
        assert!(worst >= plan.mu_square() * 0.9, "{worst}: what is charged is nearly reached");
    }
}

/// Squared errors against the stated error, and coverage of the half-widths.
#[test]
fn errors_are_as_stated() {
    let workload = LinearWorkload::prefixes(16).expect("valid");
    let plan = plan(&workload);
    let counts: Vec<u64> = (0..16).map(|cell| 10 + cell * cell).collect();
    let exact = workload.answers(&counts.iter().map(|&count| count as f64).collect::<Vec<_>>());
    let histogram = ExactHistogram::new(counts);
    let mut random = SeededRandom::new(6);
    let (mut square, mut covered) = (0.0, 0.0);
    for _ in 0..3000 {
        let released = plan.measure(&histogram, &mut random).expect("seeded").answers();
        let widths = released.half_widths.expect("few queries");
        for ((answer, exact), width) in released.answers.iter().zip(&exact).zip(widths) {
            square += (answer - exact).powi(2);
            covered += f64::from(u8::from((answer - exact).abs() <= width));
        }
    }
    // Fully dependent answers would deviate by sqrt(2/3000) = 2.6% in the square, 1.3% in its root,
    // and the coverage by 0.4%: six deviations, a false alarm once in 5e8 seeds each.
    let ratio = (square / 48_000.0).sqrt() / plan.expected_error().rmse.upper();
    assert!((ratio - 1.0).abs() < 0.08, "{ratio}");
    assert!((covered / 48_000.0 - 0.95).abs() < 0.024, "{covered}");
}
