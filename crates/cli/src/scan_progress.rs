//! How many rows have been read, for someone who watches a long scan.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows are shown in this many at a time: how many there are exactly is private, and a screen may
/// be watched or logged.
const SHOWN_IN: u64 = 1_000_000;

/// A line on standard error with the number of rows read, in millions. Silent unless standard error
/// is a terminal.
///
/// Whoever runs the program has the data; the line is for them. It is rounded nevertheless, and
/// wiped at the end.
#[derive(Clone, Debug)]
pub struct ScanProgress {
    bar: ProgressBar,
    rows: Arc<AtomicU64>,
}

impl ScanProgress {
    /// Nothing read yet.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} in {elapsed}") {
            bar.set_style(style);
        }
        ScanProgress { bar, rows: Arc::default() }
    }

    /// So many more rows.
    pub fn add(&self, rows: u64) {
        let before = self.rows.fetch_add(rows, Ordering::Relaxed);
        if (before + rows) / SHOWN_IN > before / SHOWN_IN {
            self.bar.set_message(format!("{} million rows read", (before + rows) / SHOWN_IN));
            self.bar.tick();
        }
    }

    /// The line goes.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
