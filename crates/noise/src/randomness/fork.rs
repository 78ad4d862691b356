//! Noticing that this process is a fork of the one that keyed a generator.
//!
//! `fork` copies memory: parent and child would draw the same noise, and the difference of two
//! noisy answers would show the difference of the true ones. Two marks tell them apart:
//!
//! - a generation, which a handler of `pthread_atfork` raises in every child of the C library's
//!   `fork`. One relaxed load reads it, so it is compared at every draw;
//! - the process id, which also changes when a system call creates the child behind the library's
//!   back. Reading it is a system call, so it is compared at every refill only.
//!
//! Noticed by neither: a child created by a bare system call until it has used up the buffer, or
//! whose process id equals its parent's because it lives in a name space of its own; and a virtual
//! machine that is resumed twice from one snapshot.

use std::sync::atomic::{AtomicU64, Ordering};

use super::RandomnessError;

/// How many times this process descends by `fork` from the one in which the handler was registered.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The generation of this process.
#[inline(always)]
pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// What tells a process from those it was forked from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessMark {
    pub(super) generation: u64,
    pub(super) id: u32,
}

impl ProcessMark {
    /// The mark of this process.
    ///
    /// # Errors
    /// When the fork handler cannot be registered: the generation would mean nothing.
    pub(super) fn of_this_process() -> Result<Self, RandomnessError> {
        register_handler()?;
        Ok(Self { generation: generation(), id: std::process::id() })
    }
}

/// Registers the handler, once in the life of the process; a failure is remembered too.
#[cfg(unix)]
fn register_handler() -> Result<(), RandomnessError> {
    static REGISTRATION: std::sync::OnceLock<libc::c_int> = std::sync::OnceLock::new();

    extern "C" fn in_the_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }

    let code = *REGISTRATION.get_or_init(|| {
        // SAFETY: `pthread_atfork` keeps the pointer for the life of the process, and a function
        // lives as long. The handler runs in the child, where only async-signal-safe operations are
        // allowed: it takes no lock, allocates nothing, cannot unwind, and touches one atomic.
        #[allow(unsafe_code)]
        unsafe {
            libc::pthread_atfork(None, None, Some(in_the_child))
        }
    });
    if code == 0 { Ok(()) } else { Err(RandomnessError::ForkUnnoticed { code }) }
}

/// There is no `fork` here.
#[cfg(not(unix))]
fn register_handler() -> Result<(), RandomnessError> {
    Ok(())
}
