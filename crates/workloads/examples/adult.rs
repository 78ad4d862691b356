//! All marginals of up to three attributes of a table with the domain of Adult: planned, counted,
//! measured and reconstructed, with the time of each.
//!
//!     cargo run --release -p reticent-workloads --example adult
//!
//! Rows are drawn from a seed: the time does not depend on what they are.

use reticent_noise::randomness::{RandomBits, SecureRandom, SeededRandom};
use reticent_workloads::{
    Contribution, Domain, GaussianBudget, MarginalPlan, MarginalWorkload, Tally,
};
use std::time::Instant;

const SIZES: [u64; 14] = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let domain = Domain::new(SIZES.iter().enumerate().map(|(i, &size)| (format!("x{i}"), size)))?;
    let workload = MarginalWorkload::parse(&domain, "all up to 3-way")?;
    let budget = GaussianBudget::zero_concentrated(0.5)?;
    let plan = MarginalPlan::new(&workload, budget, Contribution::ONE_ROW)?;
    let error = plan.expected_error();
    println!(
        "planned {} cells in {:.3} s: rmse {:.3}, at most {:.12} times the limit",
        workload.cells(),
        begun.elapsed().as_secs_f64(),
        error.rmse.upper(),
        error.ratio().unwrap_or(f64::INFINITY),
    );
    let begun = Instant::now();
    let mut tally = Tally::new(&domain, plan.tables_needed())?;
    let mut random = SeededRandom::new(1);
    let mut row = [0; SIZES.len()];
    for _ in 0..48_842 {
        for (value, size) in row.iter_mut().zip(SIZES) {
            *value = random.next_u64()? % size;
        }
        tally.add(&row)?;
    }
    let counts = tally.finish();
    println!("counted in {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let measured = plan.measure(&counts, &mut SecureRandom::new()?)?;
    println!("measured in {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let tables = measured.tables();
    println!("{} tables in {:.2} s", tables.len(), begun.elapsed().as_secs_f64());
    Ok(())
}
