//! How far a long command has come, for someone who watches.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is written anew.
const PERIOD: Duration = Duration::from_millis(200);

/// A line on standard error that shows the share done. Silent unless standard error is a terminal and the work takes a while.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: usize,
    stride: usize,
    watched: bool,
    next: Instant,
    shown: bool,
}

impl Progress {
    /// Nothing done yet. The clock is read once in `stride` steps, which makes [`Progress::reach`] cheap enough to call every time.
    pub fn new(what: &'static str, total: usize, stride: usize) -> Self {
        let next = Instant::now() + 2 * PERIOD;
        Progress { what, total, stride, watched: io::stderr().is_terminal(), next, shown: false }
    }

    /// So much is done.
    pub fn reach(&mut self, done: usize) {
        if !self.watched || !done.is_multiple_of(self.stride) || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PERIOD;
        self.shown = true;
        let percent = done as f64 / self.total.max(1) as f64 * 100.0;
        // Standard error that cannot be written to has no reader to miss it.
        let _ = write!(io::stderr(), "\r{}: {done} of {} ({percent:.0}%)", self.what, self.total);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // Back to the start of the line, and clear it.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
