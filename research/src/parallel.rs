//! Repeats on all cores, with the same result on any number of them.

use crate::{ReproductionError, Setting};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The results of `count` repeats, in their order. A repeat knows its number alone, from which it
/// takes its random bits.
pub(crate) fn repeated<T: Send>(
    setting: &Setting,
    count: u64,
    repeat: impl Fn(u64) -> Result<T, ReproductionError> + Sync,
) -> Result<Vec<T>, ReproductionError> {
    let done = AtomicUsize::new(0);
    (0..count)
        .into_par_iter()
        .map(|number| {
            let result = repeat(number);
            setting.reached(done.fetch_add(1, Ordering::Relaxed) + 1, count as usize);
            result
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_ends_the_run() {
        let setting = Setting::new(1);
        let squares = repeated(&setting, 100, |number| Ok(number * number)).expect("no error");
        assert!(
            squares.iter().enumerate().all(|(index, square)| *square == (index * index) as u64)
        );
        let failed = repeated(&setting, 100, |number| {
            if number == 57 { Err(ReproductionError::Repeats(57)) } else { Ok(number) }
        });
        assert!(matches!(failed, Err(ReproductionError::Repeats(57))));
    }
}
