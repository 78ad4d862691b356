//! Trend filtering of order 0 on a grid with a million edges: time and certified duality gap for
//! several penalties.
//!
//! `cargo run --release -p reticent-denoising --example million_edges`

use reticent_denoising::graph::{Graph, NoiseDeviation, NoisyValues, Order, TrendFilter};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{Gaussian, Lattice, Sampler};
use std::error::Error;
use std::time::Instant;

const SIDE: usize = 708;

fn main() -> Result<(), Box<dyn Error>> {
    let graph = Graph::grid(SIDE, SIDE)?;
    let lattice = Lattice::for_scale(1.0)?;
    let sampler = Sampler::new(Gaussian, 1.0, lattice)?;
    let mut random = SeededRandom::new(1);
    let mut values = Vec::with_capacity(graph.node_count());
    for node in 0..graph.node_count() {
        let centre = SIDE as f64 / 2.0;
        let radius = ((node / SIDE) as f64 - centre).hypot((node % SIDE) as f64 - centre);
        let disc = if radius < centre / 2.0 { 5.0 } else { 0.0 };
        values.push(disc + lattice.value(sampler.draw(&mut random)?));
    }
    let released = NoisyValues::new(&values, NoiseDeviation::Same(1.0))?;
    println!("{} nodes, {} edges", graph.node_count(), graph.edge_count());
    println!(
        "{:>7} {:>8} {:>12} {:>16} {:>8}",
        "lambda", "pieces", "relative gap", "risk for a value", "seconds"
    );
    for lambda in [0.2, 1.0, 3.0, 10.0] {
        let start = Instant::now();
        let fit = TrendFilter::new(&graph, Order::Constant).fit(&released, lambda)?;
        let seconds = start.elapsed().as_secs_f64();
        let risk = fit.risk_if_gaussian().after.value / graph.node_count() as f64;
        let (pieces, gap) = (fit.degrees_of_freedom(), fit.relative_gap());
        println!("{lambda:>7} {pieces:>8} {gap:>12.1e} {risk:>16.4} {seconds:>8.1}");
    }
    Ok(())
}
