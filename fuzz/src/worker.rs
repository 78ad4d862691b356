//! The process that gives inputs to a target.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::corpus;
use crate::mutation::{Random, mutated};
use crate::target::{Outcome, Subject, Target};

/// Where the last panic was. Most are caught inside the target, and are none of its outcomes.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Panics are remembered instead of printed.
pub fn remember_panics() {
    set_hook(Box::new(|panic| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = panic.to_string().replace('\n', " ");
        }
    }));
}

/// What one input did; a panic is something that must never happen.
pub fn outcome(subject: &mut Subject, input: &[u8]) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| subject(input))).unwrap_or_else(|_| {
        let last = LAST_PANIC.lock().map(|last| last.clone()).unwrap_or_default();
        Err(format!("panic: {last}"))
    })
}

/// What a worker did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// How many inputs were tried.
    pub inputs: u64,
    /// How many of them were new in some way.
    pub kept: u64,
    /// The input that did what must never happen, and what that was.
    pub failure: Option<(Vec<u8>, String)>,
}

/// Tries the corpus and then changes of it, until the time is over or something happens that never must.
/// `current` is told each input beforehand; `keep` says whether new ones become part of the corpus.
///
/// # Errors
/// If the target cannot be made.
pub fn work(
    target: Target,
    seed: u64,
    time: Duration,
    folder: &Path,
    keep: bool,
    mut current: impl FnMut(&[u8]),
) -> Result<Work, String> {
    let mut subject = target.subject(folder)?;
    let (mut corpus, words) = (corpus::load(target), target.words());
    let (mut random, mut known, mut work) = (Random(seed), HashSet::new(), Work::default());
    let first = corpus.len();
    let start = Instant::now();
    let mut next = 0;
    while next < first || start.elapsed() < time {
        let replayed = corpus.get(next).filter(|_| next < first).cloned();
        next += 1;
        let is_new = replayed.is_none();
        let input = replayed.unwrap_or_else(|| {
            let one = random.of(&corpus).cloned().unwrap_or_default();
            let other = random.of(&corpus).cloned().unwrap_or_default();
            mutated(&mut random, &one, &other, &words, target.is_text())
        });
        current(&input);
        work.inputs += 1;
        match outcome(&mut subject, &input) {
            Err(what) => {
                work.failure = Some((input, what));
                break;
            }
            Ok(seen) => {
                let mut unseen = false;
                for feature in seen {
                    unseen |= known.insert(feature);
                }
                if unseen && is_new {
                    work.kept += 1;
                    if keep {
                        corpus::keep(target, &input);
                    }
                    corpus.push(input);
                }
            }
        }
    }
    Ok(work)
}
