use super::*;
use crate::Tally;
use reticent_noise::randomness::SeededRandom;

fn domain(sizes: &[u64]) -> Domain {
    Domain::new(sizes.iter().enumerate().map(|(i, &size)| (format!("x{i}"), size))).expect("valid")
}

fn plan(domain: &Domain, text: &str, rows: u32, neighbours: Neighbours) -> LaplaceMarginalPlan {
    let workload = MarginalWorkload::parse(domain, text).expect("read");
    let unit = Contribution::new(rows, neighbours).expect("valid");
    LaplaceMarginalPlan::new(&workload, Epsilon::new(1.0).expect("valid"), unit).expect("planned")
}

fn counted(plan: &LaplaceMarginalPlan, rows: &[Vec<u64>]) -> ExactTables {
    let mut tally = Tally::new(plan.workload.domain(), plan.tables_needed()).expect("small");
    rows.iter().for_each(|row| tally.add(row).expect("a row"));
    tally.finish()
}

/// The closed form of the variance against the coefficients themselves, for every strategy.
#[test]
fn variances_are_the_squares_of_the_coefficients() {
    let domain = domain(&[4, 3, 2, 1, 5]);
    for text in ["all 1-way", "all 2-way", "all up to 3-way", "total; marginal x0, x1; marginal x1"]
    {
        let workload = MarginalWorkload::parse(&domain, text).expect("read");
        let asked: BTreeSet<Attributes> = workload.marginals().map(|(set, _)| set).collect();
        for measured in [asked, BTreeSet::from([domain.all()])] {
            let epsilon = Epsilon::new(1.0).expect("valid");
            let plan =
                LaplaceMarginalPlan::measuring(&workload, measured, epsilon, Contribution::ONE_ROW)
                    .expect("planned");
            for (set, _) in workload.marginals() {
                let square: f64 =
                    plan.coefficients(set).iter().map(|(cells, c)| cells * c * c).sum();
                let variance = plan.relative_variance(set).estimate();
                assert!((square / variance - 1.0).abs() < 1e-9, "{text}: {square} {variance}");
            }
        }
    }
}

/// Neighbours move the tables by what is charged, and the charge is reached.
#[test]
fn neighbours_move_the_tables_by_what_is_charged() {
    for (rows, neighbours, times) in [
        (1u32, Neighbours::AddRemove, 1.0),
        (3, Neighbours::AddRemove, 1.0),
        (2, Neighbours::Replace, 2.0),
    ] {
        let plan = plan(&domain(&[30, 20, 40]), "all 2-way", rows, neighbours);
        let Event::DiscreteLaplace { sensitivity, scale } = plan.event() else {
            unreachable!("discrete Laplace noise")
        };
        assert_eq!(scale, plan.scale());
        assert!(sensitivity as f64 / scale <= 1.0);
        let mut with = vec![vec![0, 0, 0]; 5];
        let mut without = with.clone();
        with.extend(vec![vec![29, 19, 39]; rows as usize]);
        if neighbours == Neighbours::Replace {
            without.extend(vec![vec![7, 8, 9]; rows as usize]);
        }
        let measured = |rows: &[Vec<u64>]| {
            plan.measure(&counted(&plan, rows), &mut SeededRandom::new(3)).expect("seeded")
        };
        let (a, b) = (measured(&with), measured(&without));
        let moved: i128 = plan
            .tables_needed()
            .iter()
            .map(|&set| {
                let pairs =
                    a.measured(set).expect("there").iter().zip(b.measured(set).expect("there"));
                pairs.map(|(a, b)| (a - b).abs()).sum::<i128>()
            })
            .sum();
        assert_eq!(moved as f64, plan.tables_needed().len() as f64 * times * f64::from(rows));
        assert_eq!(moved, i128::from(sensitivity));
    }
}

#[test]
fn one_table_is_measured_directly_and_small_domains_as_one_table() {
    let domain = domain(&[30, 2, 2]);
    let one = plan(&domain, "marginal x0", 1, Neighbours::AddRemove);
    assert_eq!(one.tables_needed(), [Attributes::NONE.with(0)]);
    // P[|N| > t] at scale 1: 2 e^-(t+1)/(1 + e^-1) is 0.027 for t = 3 and 0.073 for t = 2.
    assert_eq!(one.half_width(Attributes::NONE.with(0)), 3.0);
    let pairs = plan(&self::domain(&[2, 2, 2, 2, 2]), "all 2-way", 1, Neighbours::AddRemove);
    assert_eq!(pairs.tables_needed().len(), 1, "one table of 32 cells and not ten of 4");
}

/// Errors as stated, and the coverage of half-widths.
#[test]
fn errors_are_as_stated() {
    let sizes = [12, 9, 7];
    let domain = domain(&sizes);
    let plan = plan(&domain, "all up to 2-way", 1, Neighbours::AddRemove);
    let rows: Vec<Vec<u64>> = (0..300u64).map(|k| vec![k * k % 12, k / 3 % 9, k % 7]).collect();
    let exact = counted(&plan, &rows);
    let mut random = SeededRandom::new(31);
    let releases = 3000;
    let sets: Vec<Attributes> = plan.workload().marginals().map(|(set, _)| set).collect();
    let truth: Vec<f64> = sets
        .iter()
        .map(|set| rows.iter().filter(|row| set.iter().all(|i| row[i] == 0)).count() as f64)
        .collect();
    let (mut squares, mut missed) = (vec![0.0; sets.len()], 0.0);
    for _ in 0..releases {
        let released = plan.measure(&exact, &mut random).expect("seeded");
        let tables = released.finished(Finish::Unbiased);
        let total: f64 = tables[0].values[0];
        for (index, table) in tables.iter().enumerate() {
            let error = table.values[0] - truth[index];
            squares[index] += error * error;
            missed += f64::from(u8::from(error.abs() > table.half_width.expect("stated")));
            assert!((table.values.iter().sum::<f64>() - total).abs() < 1e-9 * (1.0 + total.abs()));
        }
    }
    for (index, &set) in sets.iter().enumerate() {
        let variance = plan.relative_variance(set).estimate() * plan.noise_variance();
        let ratio = squares[index] / f64::from(releases) / variance;
        // The square of Laplace noise deviates by sqrt(5/3000) = 4.1% at most, sums by less: six
        // deviations, a false alarm once in 5e8 seeds each; a scale that is off by 30% shows.
        assert!((ratio - 1.0).abs() < 0.25, "{set:?}: {ratio}");
    }
    assert!(missed / f64::from(releases) / (sets.len() as f64) < 0.05);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let workload = MarginalWorkload::parse(&domain(&[3, 3]), "all 2-way").expect("read");
    let none = LaplaceMarginalPlan::new(
        &workload,
        Epsilon::new(0.0).expect("zero"),
        Contribution::ONE_ROW,
    );
    assert!(none.is_err());
    let plan = plan(&domain(&[3, 3]), "all 2-way", 1, Neighbours::AddRemove);
    let other = Tally::new(&domain(&[3, 4]), [Attributes::NONE]).expect("small").finish();
    assert!(plan.measure(&other, &mut SeededRandom::new(1)).is_err());
}
