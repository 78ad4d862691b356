//! Prefix sums and ranges: the expected error of the plan beside its certified limit.
//!
//!     cargo run --release -p reticent-workloads --example prefixes -- 1024

use reticent_workloads::{Contribution, GaussianBudget, LinearWorkload, MatrixPlan};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cells = std::env::args().nth(1).map_or(Ok(256), |text| text.parse())?;
    let budget = GaussianBudget::zero_concentrated(0.5)?;
    let workloads = [
        ("prefixes", LinearWorkload::prefixes(cells)?),
        ("ranges", LinearWorkload::ranges(cells)?),
    ];
    for (name, workload) in workloads {
        let begun = Instant::now();
        let plan = MatrixPlan::new(&workload, budget, Contribution::ONE_ROW)?;
        let error = plan.expected_error();
        println!(
            "{name} of {cells} cells: rmse {:.5} at rho = 1/2, at most {:.9} times the limit; \
             {:.1} s",
            error.rmse.upper(),
            error.ratio().unwrap_or(f64::INFINITY),
            begun.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}
