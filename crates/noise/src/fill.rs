//! Many draws at once, on all cores.

use crate::noise::Noise;
use crate::randomness::{RandomStreams, RandomnessError};
use crate::sampler::Sampler;
use std::num::NonZero;
use std::sync::Mutex;

/// Draws that one stream of random bits serves. Fixed, so that a seeded fill does not depend on the
/// number of threads.
const DRAWS_PER_STREAM: usize = 1 << 14;

/// Fills a slice with independent draws, in lattice steps, using all cores.
///
/// The slice is cut into pieces of a fixed size, and piece `i` is drawn from stream `i`: so with
/// seeded streams the result depends on the seed alone.
///
/// # Errors
/// If random bits cannot be had. The slice then holds nothing that may be released, and is set to
/// zero.
pub fn fill<N: Noise>(
    sampler: &Sampler<N>,
    out: &mut [i128],
    streams: &impl RandomStreams,
) -> Result<(), RandomnessError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    fill_with_threads(sampler, out, streams, threads)
}

/// [`fill`] with a given number of threads.
///
/// # Errors
/// As there.
pub fn fill_with_threads<N: Noise>(
    sampler: &Sampler<N>,
    out: &mut [i128],
    streams: &impl RandomStreams,
    threads: usize,
) -> Result<(), RandomnessError> {
    let pieces = out.len().div_ceil(DRAWS_PER_STREAM);
    let work = Mutex::new((0u64..).zip(out.chunks_mut(DRAWS_PER_STREAM)));
    let next_piece = || work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    let run = || -> Result<(), RandomnessError> {
        while let Some((index, piece)) = next_piece() {
            let mut random = streams.stream(index)?;
            for slot in piece {
                *slot = sampler.draw(&mut random)?;
            }
        }
        Ok(())
    };
    let outcome = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads.min(pieces)).map(|_| scope.spawn(run)).collect();
        let own = run();
        helpers.into_iter().fold(own, |outcome, helper| {
            let theirs = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome.and(theirs)
        })
    });
    if outcome.is_err() {
        out.fill(0);
    }
    outcome
}
