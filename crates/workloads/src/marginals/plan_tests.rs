use super::*;

fn domain(sizes: &[u64]) -> Domain {
    Domain::new(sizes.iter().enumerate().map(|(index, &size)| (format!("x{index}"), size)))
        .expect("valid")
}

fn half_rho() -> GaussianBudget {
    GaussianBudget::zero_concentrated(0.5).expect("valid")
}

fn plan(domain: &Domain, text: &str) -> MarginalPlan {
    let workload = MarginalWorkload::parse(domain, text).expect("read");
    MarginalPlan::new(&workload, half_rho(), Contribution::ONE_ROW).expect("planned")
}

const ADULT: [u64; 14] = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2];
const CPS: [u64; 5] = [100, 50, 7, 4, 2];
const LOANS: [u64; 12] = [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15];

/// Root mean squared errors at `rho = 1/2` of the optimum (three digits).
#[test]
fn the_optimum_of_residual_planner_is_reproduced() {
    let expected: [(&[u64], [f64; 4]); 3] = [
        (&ADULT, [3.047, 6.359, 10.515, 10.665]),
        (&CPS, [1.744, 2.035, 2.048, 2.276]),
        (&LOANS, [2.875, 5.634, 8.702, 8.876]),
    ];
    for (sizes, rmses) in expected {
        let domain = domain(sizes);
        for (text, rmse) in
            ["all 1-way", "all 2-way", "all 3-way", "all up to 3-way"].iter().zip(rmses)
        {
            let plan = plan(&domain, text);
            let error = plan.expected_error();
            assert!((error.rmse.upper() - rmse).abs() <= 5e-4, "{text}: {:?}", error.rmse);
            let ratio = error.ratio().expect("add/remove");
            assert!((1.0..1.0 + 1e-11).contains(&ratio), "{text}: {ratio}");
        }
    }
}

#[test]
fn all_triples_of_adult_are_planned_from_the_largest_tables() {
    let plan = plan(&domain(&ADULT), "all up to 3-way");
    assert_eq!(plan.residuals().count(), 1 + 14 + 91 + 364);
    assert_eq!(plan.tables_needed().len(), 364);
    assert!(plan.expected_error().rmse.is_finite());
}

/// The optimum and the variance of a cell, the plainest way: dense matrices over all cells. The
/// strategy's information matrix is `sum_S P_S/sigma_S^2` with `P_S` the Kronecker product of
/// centring matrices and rows of ones, and a cell's variance is `w' X^-1 w`.
#[test]
fn variances_are_those_of_least_squares() {
    use faer::linalg::solvers::Solve;
    let domain = domain(&[3, 2, 4]);
    let sizes = [3usize, 2, 4];
    let plan = plan(&domain, "all 2-way; total weight 3; marginal x0, x1, x2 weight 0.2");
    let digits = |cell: usize| [cell / 8, cell / 4 % 2, cell % 4];
    let information = faer::Mat::from_fn(24, 24, |row, column| {
        let (a, b) = (digits(row), digits(column));
        plan.residuals()
            .map(|(set, sigma)| {
                let entry: f64 = (0..3)
                    .filter(|&i| set.contains(i))
                    .map(|i| f64::from(u8::from(a[i] == b[i])) - 1.0 / sizes[i] as f64)
                    .product();
                entry / (sigma * sigma)
            })
            .sum::<f64>()
    });
    let factor = information.llt(faer::Side::Lower).expect("positive definite");
    for (set, _) in plan.workload().marginals() {
        let query = faer::Mat::from_fn(24, 1, |cell, _| {
            let zero = (0..3).all(|i| !set.contains(i) || digits(cell)[i] == 0);
            f64::from(u8::from(zero))
        });
        let solution = factor.solve(&query);
        let variance: f64 = (0..24).map(|cell| query[(cell, 0)] * solution[(cell, 0)]).sum();
        let ours = plan.variance(set).expect("asked for").estimate();
        assert!((ours / variance - 1.0).abs() < 1e-9, "{set:?}: {ours} {variance}");
    }
    // Every unit costs the diagonal of the information matrix.
    let cost = information[(0, 0)];
    assert!((cost / plan.mu_square() - 1.0).abs() < 1e-9, "{cost}");
}

/// No other scale of noise does better: each residual's noise is moved up and down, and the whole
/// scaled back to the same cost.
#[test]
fn moving_any_noise_raises_the_total() {
    let domain = domain(&[5, 3, 2]);
    let best = plan(&domain, "all up to 2-way; marginal x0 weight 7");
    let least = best.expected_error().rmse.upper();
    for (set, _) in best.residuals() {
        for factor in [0.8, 0.99, 1.01, 1.3] {
            let mut other = best.clone();
            if let Some(sigma) = other.sigmas.get_mut(&set) {
                *sigma *= factor;
            }
            let mu_square = cost(&domain, &other.sigmas, Contribution::ONE_ROW).upper();
            let rmse = other.expected_error().rmse.upper() * (mu_square / best.mu_square).sqrt();
            assert!(rmse > least, "{set:?} times {factor}: {rmse} {least}");
        }
    }
}

#[test]
fn the_charge_is_never_above_the_budget_nor_below_the_cost() {
    let domain = domain(&[7, 3, 2]);
    let workload = MarginalWorkload::parse(&domain, "all up to 2-way").expect("read");
    for rho in [1e-9, 0.01, 0.1, 0.5, 1.0 / 3.0, 2.0, 100.0] {
        for (rows, neighbours) in
            [(1, Neighbours::AddRemove), (3, Neighbours::AddRemove), (2, Neighbours::Replace)]
        {
            let unit = Contribution::new(rows, neighbours).expect("valid");
            let budget = GaussianBudget::zero_concentrated(rho).expect("valid");
            let plan = MarginalPlan::new(&workload, budget, unit).expect("planned");
            let charged = reticent_accounting::zero_concentration(&plan.event()).expect("Gaussian");
            assert!(charged <= rho, "{charged:e} {rho:e}");
            assert!(2.0 * charged >= plan.mu_square(), "{charged:e}");
            assert!(2.0 * charged >= 2.0 * rho * (1.0 - 1e-12), "the budget is used");
            assert_eq!(plan.expected_error().limit.is_some(), neighbours == Neighbours::AddRemove);
        }
    }
}

#[test]
fn budgets_too_small_or_too_large_are_refused_with_a_sentence() {
    let workload = MarginalWorkload::parse(&domain(&[10, 10]), "all 2-way").expect("read");
    let with = |rho| {
        let budget = GaussianBudget::zero_concentrated(rho).expect("valid");
        MarginalPlan::new(&workload, budget, Contribution::ONE_ROW)
    };
    let message = with(1e-20).expect_err("too small").to_string();
    assert!(message.contains("too small to say anything"), "{message}");
    let message = with(1e6).map(drop).expect_err("too large").to_string();
    assert!(message.contains("1e-3 or more"), "{message}");
}

#[test]
fn attributes_of_one_value_are_no_residuals() {
    let with = plan(&domain(&[4, 1, 3]), "marginal x0, x1, x2");
    let without = plan(&domain(&[4, 3]), "marginal x0, x1");
    assert_eq!(with.residuals().count(), 4);
    assert_eq!(with.expected_error(), without.expected_error());
    assert_eq!(
        with.half_width(with.tables_needed()[0]),
        without.half_width(without.tables_needed()[0])
    );
}

/// The bound set by set is never below the worst over all sets together.
#[test]
fn the_quick_bound_for_replacement_is_above_the_exact_one() {
    let domain = domain(&[4, 2, 3]);
    let plan = plan(&domain, "all up to 3-way");
    let each: Vec<(Attributes, Bounds)> = plan
        .residuals()
        .map(|(set, sigma)| (set, p(&domain, set) / Bounds::exact(sigma).square()))
        .collect();
    let exact = replaced(&domain, &each).upper();
    let quick: f64 = each
        .iter()
        .filter(|(set, _)| !set.is_empty())
        .map(|&(set, cost)| {
            let fewest = set.iter().map(|i| domain.sizes()[i]).min().expect("not empty") as f64;
            2.0 * cost.estimate() * (1.0 + 1.0 / (fewest - 1.0))
        })
        .sum();
    assert!(exact <= quick * (1.0 + 1e-12) && exact > 0.3 * quick, "{exact} {quick}");
}
