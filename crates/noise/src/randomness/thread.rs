//! One generator for each thread.

use std::cell::Cell;

use super::{RandomnessError, SecureRandom};

thread_local! {
    static RANDOM: Cell<Option<Box<SecureRandom>>> = const { Cell::new(None) };
}

/// Lends `draw` the generator of the running thread, which is made at the first call.
///
/// A call from within `draw` gets another generator, with a key of its own.
///
/// # Errors
/// When the generator cannot be made, and whatever `draw` returns.
pub fn with_thread_random<T, Error>(
    draw: impl FnOnce(&mut SecureRandom) -> Result<T, Error>,
) -> Result<T, Error>
where
    Error: From<RandomnessError>,
{
    // A thread that is ending has no such slot any more; it gets a generator for this call.
    let mut random = match RANDOM.try_with(Cell::take) {
        Ok(Some(random)) => random,
        Ok(None) | Err(_) => Box::new(SecureRandom::new()?),
    };
    let drawn = draw(&mut random);
    let _ = RANDOM.try_with(|slot| slot.set(Some(random)));
    drawn
}
