//! How far a long command has come, for someone who watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// A line on standard error that shows the share done, and goes at the end. Silent unless standard
/// error is a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    stride: usize,
}

impl Progress {
    /// Nothing done yet. The line is told once in `stride` steps, which makes [`Progress::reach`]
    /// cheap enough to call every time.
    pub fn new(what: &'static str, total: usize, stride: usize) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(5);
        let bar = ProgressBar::with_draw_target(Some(total as u64), target)
            .with_message(what)
            .with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{msg}: {pos} of {len} ({percent}%)") {
            bar.set_style(style);
        }
        Progress { bar, stride }
    }

    /// So much is done.
    pub fn reach(&mut self, done: usize) {
        if done.is_multiple_of(self.stride) {
            self.bar.set_position(done as u64);
        }
    }
}
