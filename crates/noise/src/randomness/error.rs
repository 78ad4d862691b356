//! Why no random number was drawn.

use thiserror::Error;

/// A generator could not be made, or can draw no further.
///
/// None of these is worth retrying with the same generator: it stays closed. A new generator may
/// work once the operating system delivers entropy again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RandomnessError {
    /// The entropy source reported a failure.
    #[error("The operating system delivered no entropy, so no random number was drawn: {0}.")]
    EntropyUnavailable(getrandom::Error),

    /// The entropy source delivered another number of bytes than was asked for.
    #[error(
        "The entropy source delivered {delivered} bytes where a key needs {needed}, so no random \
         number was drawn."
    )]
    EntropyShort {
        /// How many bytes were delivered.
        delivered: u32,
        /// How many a key needs.
        needed: u8,
    },

    /// The delivered bytes contain zero or equal words, as from a source that is broken or a mere
    /// stub.
    #[error(
        "The entropy source delivered bytes that are plainly not random, so no random number was \
         drawn."
    )]
    EntropyImplausible,

    /// The entropy source delivered a key that this process has been given before.
    #[error("The entropy source delivered the same bytes twice, so no random number was drawn.")]
    EntropyRepeated,

    /// Without a fork handler a forked process could repeat the noise of its parent.
    #[error(
        "This process could not arrange to notice its own forks (error {code}), and a generator \
         that a fork copies \
         would repeat its noise, so no random number was drawn."
    )]
    ForkUnnoticed {
        /// What `pthread_atfork` returned.
        code: i32,
    },

    /// An earlier failure closed this generator.
    #[error(
        "This generator was closed by an earlier failure of its entropy source; make a new one."
    )]
    Closed,
}

// A word or an error travels in two registers.
const _: () = assert!(size_of::<Result<u64, RandomnessError>>() <= 16);
