//! The process that gives inputs to a target.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::corpus;
use crate::mutation::{Random, mutated};
use crate::target::{Outcome, Subject, Target, shape};

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

/// What one input did; a panic is something that must never happen. One that was caught inside is
/// not, and where it was is something new.
pub fn outcome(subject: &mut Subject, input: &[u8]) -> Outcome {
    let take = || LAST_PANIC.lock().map(|mut last| std::mem::take(&mut *last)).unwrap_or_default();
    take();
    let mut outcome = catch_unwind(AssertUnwindSafe(|| subject(input)))
        .unwrap_or_else(|_| Err("panic".to_owned()));
    let panic = take();
    match &mut outcome {
        Err(what) if what == "panic" => *what += &format!(": {panic}"),
        Ok(seen) if !panic.is_empty() => seen.push(format!("caught: {}", shape(&panic))),
        _ => {}
    }
    outcome
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

/// Tries the corpus and then at most so many changes of it, until the time is over or something
/// happens that never must. `current` is told each input beforehand; `keep` says whether new ones
/// become part of the corpus.
///
/// # Errors
/// If the target cannot be made.
pub fn work(
    target: Target,
    seed: u64,
    (most, time): (usize, Duration),
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
    while next < first || next - first < most && start.elapsed() < time {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_and_a_caught_one_is_new() {
        remember_panics();
        let mut subject: Subject = Box::new(|input| {
            let caught = catch_unwind(|| assert!(!input.contains(&b'c'), "inside"));
            assert!(!input.contains(&b'p'), "outside");
            caught.map_or_else(|_| Ok(vec!["went on".to_owned()]), |()| Err("wrong: no".to_owned()))
        });
        let told = outcome(&mut subject, b"p").expect_err("a panic");
        assert!(told.starts_with("panic: ") && told.ends_with("outside"), "{told}");
        assert_eq!(outcome(&mut subject, b"x"), Err("wrong: no".to_owned()));
        let seen = outcome(&mut subject, b"c").expect("caught");
        assert!(seen[0] == "went on" && seen[1].ends_with("inside"), "{seen:?}");
    }
}
