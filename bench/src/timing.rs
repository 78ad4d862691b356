//! Times that can be compared on a noisy machine: the best of several rounds, contenders taking
//! turns.

use std::time::Instant;

/// Something to be timed: runs a number of times and returns a value that depends on all of them.
pub type Contender<'a> = Box<dyn FnMut(usize) -> f64 + 'a>;

/// The best nanoseconds per run of each contender. In every round each of them runs once, so that a
/// slow spell of the machine falls on all of them.
pub fn best_of(rounds: usize, runs: usize, contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..rounds {
        for (best, contender) in best.iter_mut().zip(contenders.iter_mut()) {
            let start = Instant::now();
            std::hint::black_box(contender(runs));
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / runs as f64);
        }
    }
    best
}
