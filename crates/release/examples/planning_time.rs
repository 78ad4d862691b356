//! How long planning takes, and a release of 100,000 groups: `cargo run --release -p
//! reticent-release --example planning_time`.

use reticent_noise::randomness::SecureRandom;
use reticent_release::{Contribution, Design, Exact, Grid, Groups, Statistic, Totals, plan};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let grid = Grid::around_midpoint(0.0, 1e5, false)?;
    let sum = Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(10) };
    let squares = Statistic::Sum {
        column: 0,
        grid: grid.of_squares()?,
        contribution: Contribution::Rows(10),
    };
    let count = Statistic::Count { column: None, max_rows: 10 };
    let quantiles = Statistic::Quantiles {
        column: 0,
        grid,
        max_rows: 10,
        points: (1..10).map(|k| f64::from(k) / 10.0).collect(),
    };
    let designs = [
        ("count", vec![Statistic::Count { column: None, max_rows: 1 }], 1, None),
        ("count of rows, pure", vec![count.clone()], 1, None),
        ("count and sum, 5 groups", vec![count.clone(), sum.clone()], 5, Some(1e-6)),
        ("variance, 5 groups", vec![count.clone(), sum.clone(), squares], 5, Some(1e-6)),
        ("deciles, 5 groups", vec![count, sum, quantiles], 5, Some(1e-6)),
    ];
    println!("{:<28}{:>14}{:>14}{:>16}", "statistics", "public, ms", "found, ms", "release, ms");
    for (name, statistics, max_groups, delta) in designs {
        let groups = 100_000usize;
        let design = |groups, delta| Design {
            statistics: statistics.clone(),
            groups,
            max_groups,
            epsilon: 1.0,
            delta,
        };
        let start = Instant::now();
        let public = plan(&design(Groups::Public(groups as u64), delta))?;
        let public_time = start.elapsed();
        let start = Instant::now();
        plan(&design(Groups::Found, Some(1e-6)))?;
        let found_time = start.elapsed();
        let totals = statistics.iter().map(|statistic| match statistic {
            Statistic::Quantiles { .. } => Totals::Values(
                (0..groups).map(|_| (0..20).map(|k| (100 * k, 3)).collect()).collect(),
            ),
            _ => Totals::Integers(vec![12_345; groups]),
        });
        let exact = Exact { units: vec![], totals: totals.collect() };
        let start = Instant::now();
        public.release(&exact, &mut SecureRandom::new()?)?;
        let milliseconds = |time: std::time::Duration| 1e3 * time.as_secs_f64();
        println!(
            "{name:<28}{:>14.2}{:>14.2}{:>16.1}",
            milliseconds(public_time),
            milliseconds(found_time),
            milliseconds(start.elapsed())
        );
        println!("    {}", public.reason());
    }
    Ok(())
}
