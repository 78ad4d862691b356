use super::*;
use crate::{Domain, Tally};
use reticent_mechanisms::Neighbours;
use reticent_noise::randomness::SeededRandom;

fn domain() -> Domain {
    Domain::new([("a", 6), ("b", 4), ("c", 3)]).expect("valid")
}

fn pairs() -> Workload {
    Workload::Marginals(MarginalWorkload::parse(&domain(), "all 2-way").expect("read"))
}

fn prefixes() -> Workload {
    Workload::Linear(CellWorkload::prefixes(&domain(), 0, |k| format!("to {k}")).expect("valid"))
}

fn pure(epsilon: f64) -> WorkloadBudget {
    WorkloadBudget::Pure { epsilon: Epsilon::new(epsilon).expect("valid") }
}

fn approximate(epsilon: f64, delta: f64) -> WorkloadBudget {
    let delta = Delta::new(delta).expect("valid");
    WorkloadBudget::Approximate { epsilon: Epsilon::new(epsilon).expect("valid"), delta }
}

const RHO: WorkloadBudget = WorkloadBudget::ZeroConcentrated { rho: 0.5 };

fn plan(workload: &Workload, budget: WorkloadBudget, method: Method) -> WorkloadPlan {
    WorkloadPlan::new(workload, budget, Contribution::ONE_ROW, method).expect("planned")
}

#[test]
fn auto_takes_what_has_the_least_error_and_says_so() {
    for workload in [pairs(), prefixes()] {
        assert!(plan(&workload, pure(1.0), Method::Auto).is_pure());
        assert!(!plan(&workload, RHO, Method::Auto).is_pure());
        for budget in [approximate(1.0, 1e-6), approximate(0.1, 1e-3), approximate(5.0, 1e-12)] {
            let error = |method| {
                plan(&workload, budget, method).expected_error().expect("stated").rmse.upper()
            };
            let best = error(Method::Gaussian).min(error(Method::Laplace));
            assert_eq!(error(Method::Auto), best);
            let reason = plan(&workload, budget, Method::Auto);
            assert!(reason.reason().contains("expected error of"), "{}", reason.reason());
        }
    }
    // Both happen: on a wide domain Laplace noise on three tables has a scale of 3.
    let wide = Domain::new([("a", 60), ("b", 40), ("c", 30)]).expect("valid");
    let wide = Workload::Marginals(MarginalWorkload::parse(&wide, "all 2-way").expect("read"));
    let small = plan(&wide, approximate(1.0, 1e-12), Method::Auto);
    let large = plan(&wide, approximate(1.0, 1e-2), Method::Auto);
    assert!(small.is_pure() && !large.is_pure());
}

#[test]
fn every_strategy_releases_what_was_asked_for() {
    let domain = domain();
    let mut tally = Tally::new(&domain, [domain.all()]).expect("small");
    for k in 0..5000u64 {
        tally.add(&[k % 6, k / 7 % 4, k * k % 3]).expect("a row");
    }
    let counts = tally.finish();
    let mut random = SeededRandom::new(5);
    for (budget, method) in [
        (pure(1.0), Method::Auto),
        (RHO, Method::Auto),
        (approximate(1.0, 1e-6), Method::Gaussian),
        (approximate(1.0, 1e-6), Method::Laplace),
    ] {
        let marginals = plan(&pairs(), budget, method);
        let release = marginals.release(&counts, Finish::Cells, &mut random).expect("released");
        assert_eq!((release.tables.len(), release.answers.len()), (3, 0));
        let widths = marginals.marginal_half_widths();
        for (table, (set, width)) in release.tables.iter().zip(widths) {
            assert_eq!(table.attributes, set);
            // Half a count more for integers.
            assert!(table.half_width >= width);
            assert!(table.values.iter().all(|value| *value >= 0.0 && value.fract() == 0.0));
        }
        assert_eq!(marginals.answers(), 24 + 18 + 12);
        let linear = plan(&prefixes(), budget, method);
        let release = linear.release(&counts, Finish::Unbiased, &mut random).expect("released");
        assert_eq!(release.answers.len(), 6);
        assert_eq!(release.answers[5].query, "to 5");
        let last = &release.answers[5];
        assert!((last.value - 5000.0).abs() < 20.0 * last.half_width.expect("stated"));
        assert!(!linear.measured().is_empty() && !marginals.measured().is_empty());
    }
    for budget in [pure(2.0), RHO] {
        let weights = plan(&prefixes(), budget, Method::Mwem { rounds: 4 });
        assert!(weights.expected_error().is_none());
        let release = weights.release(&counts, Finish::Unbiased, &mut random).expect("released");
        assert!(release.answers.iter().all(|answer| answer.half_width.is_none()));
    }
}

/// The charge of every strategy, by the accountant, is within the budget.
#[test]
fn no_strategy_costs_more_than_the_budget() {
    let unit = Contribution::new(3, Neighbours::AddRemove).expect("valid");
    for workload in [pairs(), prefixes()] {
        for method in [Method::Auto, Method::Gaussian, Method::Mwem { rounds: 3 }] {
            let Ok(plan) = WorkloadPlan::new(&workload, RHO, unit, method) else { continue };
            let rho = reticent_accounting::zero_concentration(&plan.event()).expect("covered");
            assert!(rho <= 0.5 && rho > 0.4, "{method:?}: {rho}");
        }
        for method in [Method::Auto, Method::Mwem { rounds: 3 }] {
            let Ok(plan) = WorkloadPlan::new(&workload, pure(1.0), unit, method) else { continue };
            let mut filter = reticent_accounting::Filter::new(FilterBudget::Pure { epsilon: 1.0 })
                .expect("valid");
            assert!(filter.admit(&plan.event()).is_ok(), "{method:?}");
        }
    }
}

#[test]
fn methods_that_do_not_fit_are_refused_with_what_would() {
    let refused = |workload: &Workload, budget, method| {
        WorkloadPlan::new(workload, budget, Contribution::ONE_ROW, method)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&pairs(), pure(1.0), Method::Gaussian).contains("delta"));
    assert!(refused(&pairs(), RHO, Method::Laplace).contains("epsilon"));
    assert!(refused(&pairs(), RHO, Method::Mwem { rounds: 3 }).contains("marginals"));
    let approximate = approximate(1.0, 1e-6);
    assert!(refused(&prefixes(), approximate, Method::Mwem { rounds: 3 }).contains("rho"));
    assert!(refused(&prefixes(), RHO, Method::Mwem { rounds: 0 }).contains("rounds"));
}
