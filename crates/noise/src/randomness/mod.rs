//! The random bits on which every release rests.
//!
//! A sampler draws 64-bit words from any [`RandomBits`]. Two generators provide them:
//!
//! - [`SecureRandom`], for releases: ChaCha20 keyed by the operating system, with key erasure after
//!   every refill, a fresh key after a fork, and an error instead of a number when entropy fails;
//! - [`SeededRandom`], for tests and reproductions: the same words for the same seed, for ever. It
//!   says so in its [`Provenance`], and a release made with it carries that mark.
//!
//! [`with_thread_random`] lends a generator of the running thread; [`RandomStreams`] hands out one
//! generator for each part of a table that is filled in parallel.
//!
//! ```
//! use reticent_noise::randomness::{
//!     Provenance, RandomBits, RandomnessError, SecureRandom, with_thread_random,
//! };
//!
//! let mut random = SecureRandom::new()?;
//! assert_ne!(random.next_u64()?, random.next_u64()?);
//! assert_eq!(random.provenance(), Provenance::Secure);
//!
//! let coin = with_thread_random(|random| {
//!     Ok::<bool, RandomnessError>(random.next_u64()? >> 63 == 1)
//! })?;
//! # let _ = coin;
//! # Ok::<(), RandomnessError>(())
//! ```

mod bits;
mod entropy;
mod error;
mod fork;
mod interoperability;
mod keystream;
mod secure;
mod seeded;
mod streams;
mod thread;

pub use bits::{Provenance, RandomBits};
pub use entropy::{EntropySource, KEY_BYTES, OperatingSystem};
pub use error::RandomnessError;
pub use secure::{FastKeyErasure, SecureRandom};
pub use seeded::SeededRandom;
pub use streams::{RandomStreams, SecureStreams, SeededStreams};
pub use thread::with_thread_random;
