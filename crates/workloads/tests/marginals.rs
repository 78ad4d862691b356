//! Marginals from counts to released tables: what neighbours can tell, and what the errors are.

#![allow(clippy::unwrap_used)]

use reticent_mechanisms::Neighbours;
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_workloads::{
    Attributes, Contribution, Domain, ExactTables, Finish, GaussianBudget, MarginalMeasurements,
    MarginalPlan, MarginalWorkload, Tally,
};

fn domain(sizes: &[u64]) -> Domain {
    Domain::new(sizes.iter().enumerate().map(|(i, &size)| (format!("x{i}"), size))).unwrap()
}

fn counted(plan: &MarginalPlan, rows: &[Vec<u64>]) -> ExactTables {
    let mut tally = Tally::new(plan.workload().domain(), plan.tables_needed()).unwrap();
    rows.iter().for_each(|row| tally.add(row).unwrap());
    tally.finish()
}

fn random_row(sizes: &[u64], random: &mut SeededRandom) -> Vec<u64> {
    sizes.iter().map(|size| random.next_u64().unwrap() % size).collect()
}

/// The squared distance of two releases with the same noise, in standard deviations: with `d` the
/// difference of the contrasts, `d' (D D')^-1 d` is the squared length of `d` centred, written out
/// for each axis: `sum d_i^2 - (sum d_i)^2/n`.
fn distance(a: &MarginalMeasurements, b: &MarginalMeasurements, domain: &Domain) -> f64 {
    let mut sum = 0.0;
    for (set, sigma) in a.plan().residuals() {
        let (a, b) = (a.contrasts(set).unwrap(), b.contrasts(set).unwrap());
        let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let sizes: Vec<usize> = set.iter().map(|i| domain.sizes()[i] as usize).collect();
        // (D D')^-1 = I - 1 1'/n on each axis.
        let mut image = difference.clone();
        let mut inner = 1;
        for &size in sizes.iter().rev() {
            for chunk in image.chunks_exact_mut((size - 1) * inner) {
                for column in 0..inner {
                    let total: f64 = (0..size - 1).map(|row| chunk[row * inner + column]).sum();
                    (0..size - 1).for_each(|row| {
                        chunk[row * inner + column] -= total / size as f64;
                    });
                }
            }
            inner *= size - 1;
        }
        let square: f64 = difference.iter().zip(&image).map(|(d, i)| d * i).sum();
        sum += square / (sigma * sigma);
    }
    sum
}

/// Neighbours of every kind, on random plans: with the same noise, what is measured moves by no
/// more than is charged; and for one row under add/remove by all of it.
#[test]
fn neighbours_move_the_measurements_by_no_more_than_is_charged() {
    let mut random = SeededRandom::new(18);
    let mut closest: f64 = 0.0;
    for case in 0..60u64 {
        let sizes: Vec<u64> = (0..2 + case % 3).map(|i| 1 + (case * 7 + i * 5) % 6).collect();
        let domain = domain(&sizes);
        let text = ["all 1-way", "all 2-way", "all up to 2-way; total weight 5"][case as usize % 3];
        let workload = MarginalWorkload::parse(&domain, text).unwrap();
        let rows = 1 + (case % 4) as u32;
        let neighbours = [Neighbours::AddRemove, Neighbours::Replace][case as usize / 3 % 2];
        let plan = MarginalPlan::new(
            &workload,
            GaussianBudget::zero_concentrated(0.3).unwrap(),
            Contribution::new(rows, neighbours).unwrap(),
        )
        .unwrap();
        let others: Vec<Vec<u64>> = (0..20).map(|_| random_row(&sizes, &mut random)).collect();
        let mut worst: f64 = 0.0;
        for attempt in 0..20 {
            // A unit whose rows are all the same, or all different.
            let own = |random: &mut SeededRandom| -> Vec<Vec<u64>> {
                let first = random_row(&sizes, random);
                let same = attempt % 2 == 0;
                (0..rows)
                    .map(|_| if same { first.clone() } else { random_row(&sizes, random) })
                    .collect()
            };
            let mut with = others.clone();
            with.extend(own(&mut random));
            let mut without = others.clone();
            if neighbours == Neighbours::Replace && attempt % 3 != 0 {
                without.extend(own(&mut random));
            }
            let measured = |rows: &[Vec<u64>]| {
                plan.measure(&counted(&plan, rows), &mut SeededRandom::new(case)).unwrap()
            };
            worst = worst.max(distance(&measured(&with), &measured(&without), &domain));
        }
        assert!(worst <= plan.mu_square() * (1.0 + 1e-9), "{case}: {worst} {}", plan.mu_square());
        if neighbours == Neighbours::AddRemove {
            assert!(worst >= plan.mu_square() * (1.0 - 1e-9), "{case}: the charge is tight");
        } else {
            closest = closest.max(worst / plan.mu_square());
        }
    }
    // Power: what is charged for a replacement is reached by some replacement.
    assert!(closest > 1.0 - 1e-9, "{closest}");
}

/// Tables agree on shared sums; errors are those that were stated: the mean of the squared errors
/// over many releases against the variance, and the coverage of the half-widths.
#[test]
fn released_tables_are_consistent_unbiased_and_as_exact_as_stated() {
    let sizes = [4, 3, 2];
    let domain = domain(&sizes);
    let workload = MarginalWorkload::parse(&domain, "all up to 2-way").unwrap();
    let budget = GaussianBudget::zero_concentrated(0.05).unwrap();
    let plan = MarginalPlan::new(&workload, budget, Contribution::ONE_ROW).unwrap();
    let mut random = SeededRandom::new(7);
    let rows: Vec<Vec<u64>> = (0..500).map(|_| random_row(&sizes, &mut random)).collect();
    let exact = counted(&plan, &rows);
    let truth = |set: Attributes| -> Vec<f64> {
        let mut counts = vec![0.0; domain.cells(set).unwrap() as usize];
        for row in &rows {
            let index = set.iter().fold(0, |index, i| index * sizes[i] + row[i]);
            counts[index as usize] += 1.0;
        }
        counts
    };
    let releases = 4000;
    let tables = plan.measure(&exact, &mut random).unwrap().tables();
    let mut squares = vec![0.0; tables.len()];
    let mut sums = vec![0.0; tables.len()];
    let mut covered = 0usize;
    for _ in 0..releases {
        let measured = plan.measure(&exact, &mut random).unwrap();
        for (index, table) in measured.tables().iter().enumerate() {
            let error = table.values[0] - truth(table.attributes)[0];
            squares[index] += error * error;
            sums[index] += error;
            covered += usize::from(error.abs() <= table.half_width.unwrap());
            let total: f64 = table.values.iter().sum();
            assert!((total - measured.total()).abs() < 1e-9 * (1.0 + total.abs()));
        }
        let finished = measured.finished(Finish::Totals);
        assert!(finished.iter().all(|table| {
            table.values.iter().sum::<f64>() == measured.total().round().max(0.0)
        }));
    }
    for (index, table) in tables.iter().enumerate() {
        let variance = plan.variance(table.attributes).unwrap().estimate();
        let (mean, square) = (sums[index] / 4000.0, squares[index] / 4000.0);
        // The mean square deviates by sqrt(2/4000) = 2.2%, the mean by sd/63: six deviations, a
        // false alarm once in 5e8 seeds each.
        assert!((square / variance - 1.0).abs() < 0.135, "{:?}: {square}", table.attributes);
        assert!((square / (1.3 * variance) - 1.0).abs() > 0.135, "no power");
        assert!(mean.abs() < 6.0 * (variance / 4000.0).sqrt(), "{:?}: {mean}", table.attributes);
    }
    // 28000 intervals, dependent within a release: at most sqrt(0.05 0.95/4000) = 0.35% each.
    let coverage = covered as f64 / (releases * tables.len()) as f64;
    assert!((coverage - 0.95).abs() < 6.0 * 0.0035, "{coverage}");
}

/// The sums that two tables share, cell by cell.
#[test]
fn pairs_agree_on_the_attribute_they_share() {
    let sizes = [5, 3, 4];
    let domain = domain(&sizes);
    let workload = MarginalWorkload::parse(&domain, "all 2-way").unwrap();
    let budget = GaussianBudget::zero_concentrated(0.5).unwrap();
    let plan = MarginalPlan::new(&workload, budget, Contribution::ONE_ROW).unwrap();
    let mut random = SeededRandom::new(4);
    let rows: Vec<Vec<u64>> = (0..100).map(|_| random_row(&sizes, &mut random)).collect();
    let tables = plan.measure(&counted(&plan, &rows), &mut random).unwrap().tables();
    let by_first = |table: usize, other: usize| -> Vec<f64> {
        tables[table].values.chunks_exact(other).map(|row| row.iter().sum()).collect()
    };
    // In the order of the sets: {0,1}, {0,2}, {1,2}.
    assert_eq!(tables[0].attributes, domain.set_of(&["x0", "x1"]).unwrap());
    for (a, b) in by_first(0, 3).iter().zip(by_first(1, 4)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn counts_of_another_domain_or_without_a_table_are_refused() {
    let workload = MarginalWorkload::parse(&domain(&[3, 3]), "all 2-way").unwrap();
    let budget = GaussianBudget::zero_concentrated(0.5).unwrap();
    let plan = MarginalPlan::new(&workload, budget, Contribution::ONE_ROW).unwrap();
    let other = Tally::new(&domain(&[3, 4]), [Attributes::NONE]).unwrap().finish();
    let random = &mut SeededRandom::new(1);
    assert!(plan.measure(&other, random).unwrap_err().to_string().contains("another domain"));
    let less = Tally::new(&domain(&[3, 3]), [Attributes::NONE]).unwrap().finish();
    assert!(plan.measure(&less, random).unwrap_err().to_string().contains("missing"));
}
