//! The least quantile of the error that any noise can have, beside the best noise there is: how
//! narrow the bracket is.
//!
//! `cargo run --release -p reticent-choice --example quantile_limit`, or with `-- EPSILON DELTA Q`
//! for one case.

use reticent_choice::{Metric, Query, Requirements, SharedBudget, choose};
use reticent_mechanisms::Neighbours;
use reticent_numerics::Bounds;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let asked =
        std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<f64>, _>>()?;
    let cases: Vec<(f64, f64, f64)> = match asked[..] {
        [epsilon, delta, q] => vec![(epsilon, delta, q)],
        _ => [
            (0.1, 1e-9),
            (0.1, 1e-3),
            (1.0, 1e-6),
            (1.0, 1e-2),
            (4.0, 1e-3),
            (8.0, 1e-6),
            (20.0, 1e-6),
        ]
        .into_iter()
        .flat_map(|(epsilon, delta)| [0.1, 0.5, 0.95].map(|q| (epsilon, delta, q)))
        .collect(),
    };
    println!(
        "{:>8} {:>8} {:>6} {:>12} {:>12} {:>8}  best",
        "epsilon", "delta", "q", "at least", "reached", "ratio"
    );
    for (epsilon, delta, q) in cases {
        let query = Query::scalar(1.0, Neighbours::AddRemove)?;
        let requirements = Requirements {
            query,
            budget: SharedBudget::new(epsilon, Some(delta), 1)?,
            metric: Metric::Quantile(q),
        };
        let ranking = choose(&requirements, |_| ())?;
        let (least, best) = (ranking.limit.as_ref().map_or(0.0, Bounds::lower), ranking.best());
        let reached = best.error.upper();
        println!(
            "{epsilon:>8} {delta:>8e} {q:>6} {least:>12.6} {reached:>12.6} {:>8.4}  {}",
            reached / least,
            best.name
        );
    }
    Ok(())
}
