//! Trend filtering of every order on a road network or a grid: seconds, pieces and certified
//! duality gap for several penalties.
//!
//! `cargo run --release -p reticent-denoising --example orders [-- EDGES.csv]`, where the file has
//! a heading and the ends of an edge, counted from 1, in each line.

use reticent_denoising::graph::{Graph, NoiseDeviation, NoisyValues, Order, TrendFilter};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{Gaussian, Lattice, Sampler};
use std::error::Error;
use std::time::Instant;

fn roads(path: &str) -> Result<Graph, Box<dyn Error>> {
    let mut edges = Vec::new();
    for line in std::fs::read_to_string(path)?.lines().skip(1) {
        let (from, to) = line.split_once(',').ok_or("a line without a comma")?;
        edges.push((from.trim().parse::<usize>()? - 1, to.trim().parse::<usize>()? - 1));
    }
    let nodes = edges.iter().map(|edge| edge.0.max(edge.1) + 1).max().ok_or("no edges")?;
    Ok(Graph::new(nodes, edges)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let graph = match std::env::args().nth(1) {
        Some(path) => roads(&path)?,
        None => Graph::grid(64, 64)?,
    };
    let lattice = Lattice::for_scale(1.0)?;
    let sampler = Sampler::new(Gaussian, 1.0, lattice)?;
    let mut random = SeededRandom::new(1);
    let mut values = Vec::with_capacity(graph.node_count());
    for node in 0..graph.node_count() {
        values.push(5.0 * (node as f64 / 300.0).sin() + lattice.value(sampler.draw(&mut random)?));
    }
    let released = NoisyValues::new(&values, NoiseDeviation::Same(1.0))?;
    println!("{} nodes, {} edges", graph.node_count(), graph.edge_count());
    println!(
        "{:>9} {:>7} {:>8} {:>12} {:>8}",
        "order", "lambda", "pieces", "relative gap", "seconds"
    );
    for order in [Order::Constant, Order::Linear, Order::Quadratic] {
        for lambda in [0.5, 5.0, 50.0, 500.0] {
            let start = Instant::now();
            let fit = TrendFilter::new(&graph, order).fit(&released, lambda);
            let seconds = start.elapsed().as_secs_f64();
            match fit {
                Ok(fit) => {
                    let (pieces, gap) = (fit.degrees_of_freedom(), fit.relative_gap());
                    println!(
                        "{:>9} {lambda:>7} {pieces:>8} {gap:>12.1e} {seconds:>8.2}",
                        format!("{order:?}")
                    );
                }
                Err(error) => {
                    println!("{:>9} {lambda:>7} {error} {seconds:.2}", format!("{order:?}"))
                }
            }
        }
    }
    Ok(())
}
